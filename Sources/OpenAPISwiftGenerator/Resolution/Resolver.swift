import Spelling

/// Follows references, merges parameters, chooses names, and refuses documents that contradict themselves.
struct Resolver {
    var names: NameAssigner
    var typeOverrides: [String: String]
    var unknownMembers: UnknownMembersRule
    /// Where the settings come from.
    var locations: SettingLocations
    /// The type that contains the types of the schemas; `nil` for types of the module itself.
    var namespace: String?
    let diagnostics: Diagnostics

    /// Resolves a whole document. After an error among the diagnostics, the result is incomplete and must not be used.
    func resolve(_ document: OpenAPIDocument) -> ResolvedDocument {
        let schemas = resolveSchemas(document)
        let parameters = resolveComponents(
            document.components.parameters,
            .parameters
        )
        let headers = resolveComponents(document.components.headers, .headers)
        let requestBodies = resolveComponents(
            document.components.requestBodies,
            .requestBodies
        )
        let responses = resolveComponents(document.components.responses, .responses)
        var result = ResolvedDocument(
            title: document.title,
            servers: document.servers,
            schemas: schemas,
            parameters: parameters,
            headers: headers,
            requestBodies: requestBodies,
            responses: responses,
            operations: []
        )
        result.operations = resolveOperations(document, with: Index(of: result))
        result.schemas.hideDeprecated(usedBy: checkSchemas(of: result))
        return result
    }

    private func resolveSchemas(_ document: OpenAPIDocument) -> SchemaCatalog {
        var scope = NameScope(taken: NameScope.reserved)
        var entries: [SchemaCatalog.Entry] = []
        for (key, schema) in document.components.schemas.pairs {
            entries.append(
                SchemaCatalog.Entry(
                    key: key,
                    swiftName: claim(names.typeName(key), for: key, in: &scope, at: schema.position),
                    namespace: namespace,
                    schema: schema,
                    override: typeOverrides[key],
                    unknownMembers: unknownMembers.schemas[key] ?? unknownMembers.default
                )
            )
        }
        for key in typeOverrides.keys.sorted() where document.components.schemas[key] == nil {
            diagnostics.warn(
                "The type override for '\(key)' has no effect: there is no such schema.",
                at: locations["typeOverrides", "schemas", key],
                remedy: NearestName.question(about: key, among: document.components.schemas.keys)
            )
        }
        for key in unknownMembers.schemas.keys.sorted() where document.components.schemas[key] == nil {
            diagnostics.warn(
                "'unknownMembers' of '\(key)' has no effect: there is no such schema.",
                at: locations["unknownMembers", "schemas", key],
                remedy: NearestName.question(about: key, among: document.components.schemas.keys)
            )
        }
        return SchemaCatalog(version: document.version, entries: entries, diagnostics: diagnostics)
    }

    private func claim(
        _ name: String,
        for documentName: String,
        in scope: inout NameScope,
        at position: SourcePosition?
    ) -> String {
        let claimed = scope.claim(name)
        if claimed != name {
            diagnostics.note(
                "'\(documentName)' is named '\(claimed)' because '\(name)' is taken.",
                at: position
            )
        }
        return claimed
    }

    // MARK: Components

    private func resolveComponents<Value>(
        _ components: OrderedMap<Referenced<Value>>,
        _ kind: ComponentKind
    ) -> [ResolvedComponent<Value>] {
        var scope = NameScope(taken: NameScope.reserved)
        var result: [ResolvedComponent<Value>] = []
        // The values behind the references that were followed, nil for those without a value.
        var known: [ExactText: Value?] = [:]
        for (key, component) in components.pairs {
            let swiftName = claim(names.typeName(key), for: key, in: &scope, at: nil)
            if let value = follow(component, named: key, in: components, kind, knowing: &known) {
                result.append(ResolvedComponent(key: key, swiftName: swiftName, value: value))
            }
        }
        return result
    }

    /// The value behind a chain of component references, each of which is followed once. `nil` after an error was
    /// reported.
    private func follow<Value>(
        _ component: Referenced<Value>,
        named key: String,
        in components: OrderedMap<Referenced<Value>>,
        _ kind: ComponentKind,
        knowing known: inout [ExactText: Value?]
    ) -> Value? {
        var current = component
        var name = key
        var chain: [ExactText] = []
        var positions: [ExactText: Int] = [:]
        var value: Value?
        while true {
            if let earlier = known[ExactText(name)] {
                value = earlier
                break
            }
            positions[ExactText(name)] = chain.count
            chain.append(ExactText(name))
            guard case .reference(let reference) = current else {
                if case .inline(let inline) = current { value = inline }
                break
            }
            guard let nextName = reference.componentName(in: kind), let next = components[nextName] else {
                diagnostics.report(danglingReference(reference, kind))
                break
            }
            if let start = positions[ExactText(nextName)] {
                let circle = (chain[start...] + [chain[start]]).map { "'\($0.text)'" }
                let steps = circle.count > 6 ? circle.prefix(3) + ["…"] + circle.suffix(2) : circle[...]
                diagnostics.report(
                    diagnostics.error(
                        "The reference '\(reference.text)' closes a circle of '#/components/\(kind.rawValue)' without a value: "
                            + "\(steps.joined(separator: " → ")).",
                        at: reference.position,
                        remedy: "write the value in one of them"
                    )
                )
                break
            }
            current = next
            name = nextName
        }
        for link in chain { known[link] = .some(value) }
        return value
    }

    private func danglingReference(_ reference: Reference, _ kind: ComponentKind) -> Diagnostic {
        diagnostics.failure(
            ofReferenceAt: reference.position,
            "The reference '\(reference.text)' has no target in '#/components/\(kind.rawValue)'.",
            remedy: "add the component or correct the name"
        )
    }

    /// The components that operations refer to, by key.
    private struct Index {
        var parameters: [ExactText: ResolvedComponent<Parameter>]
        var headers: [ExactText: ResolvedComponent<Header>]
        var requestBodies: [ExactText: ResolvedComponent<RequestBody>]
        var responses: [ExactText: ResolvedComponent<Response>]

        init(of document: ResolvedDocument) {
            parameters = Index.byKey(document.parameters)
            headers = Index.byKey(document.headers)
            requestBodies = Index.byKey(document.requestBodies)
            responses = Index.byKey(document.responses)
        }

        private static func byKey<Value>(
            _ components: [ResolvedComponent<Value>]
        ) -> [ExactText: ResolvedComponent<Value>] {
            Dictionary(components.map { (ExactText($0.key), $0) }, uniquingKeysWith: { first, _ in first })
        }
    }

    private func placed<Value>(
        _ value: Referenced<Value>,
        _ components: [ExactText: ResolvedComponent<Value>],
        _ kind: ComponentKind
    ) throws(Diagnostic) -> Placed<Value> {
        switch value {
        case .inline(let value): return .inline(value)
        case .reference(let reference):
            guard let name = reference.componentName(in: kind), let component = components[ExactText(name)] else {
                throw danglingReference(reference, kind)
            }
            return .component(component)
        }
    }

    // MARK: Operations

    private func resolveOperations(_ document: OpenAPIDocument, with index: Index) -> [ResolvedOperation] {
        var result: [ResolvedOperation] = []
        var scope = OperationScope()
        for path in document.paths {
            for operation in path.operations {
                do throws(Diagnostic) {
                    result.append(try resolve(operation, of: path, in: &scope, with: index))
                } catch {
                    diagnostics.report(error)
                }
            }
        }
        return result
    }

    /// The names that operations have taken.
    private struct OperationScope {
        var types = NameScope(taken: NameScope.reserved.union(["Operations"]))
        // Methods of clients and servers use the namespace, and the module for an HTTP method without a constant.
        var methods = NameScope(taken: ["registerHandlers", "Operations", "OpenAPISwiftRuntime"])
        var identifiers: Set<ExactText> = []
    }

    private func resolve(
        _ operation: Operation,
        of path: Path,
        in scope: inout OperationScope,
        with index: Index
    ) throws(Diagnostic) -> ResolvedOperation {
        if let identifier = operation.identifier, !scope.identifiers.insert(ExactText(identifier)).inserted {
            throw diagnostics.error(
                "The operationId '\(identifier)' is used twice.",
                at: operation.position,
                remedy: "give each operation an operationId of its own"
            )
        }
        let name = operation.documentName
        let parameters = try mergeParameters(path, operation, with: index)
        try checkPlaceholders(of: operation, parameters)
        var responses: [(status: ResponseStatus, response: Placed<Response>)] = []
        for (status, response) in operation.responses {
            responses.append((status, try placed(response, index.responses, .responses)))
        }
        let isDefault: (ResponseStatus) -> Bool = { $0 == .default }
        var body: Placed<RequestBody>?
        if let value = operation.requestBody {
            body = try placed(value, index.requestBodies, .requestBodies)
        }
        return ResolvedOperation(
            typeName: claim(names.typeName(name), for: name, in: &scope.types, at: operation.position),
            methodName: claim(names.memberName(name), for: name, in: &scope.methods, at: operation.position),
            operation: operation,
            parameters: parameters,
            requestBody: body,
            responses: responses.filter { !isDefault($0.status) } + responses.filter { isDefault($0.status) }
        )
    }

    /// The parameters of the path, then those of the operation. A parameter of the operation replaces one of the path
    /// with the same name and location.
    private func mergeParameters(
        _ path: Path,
        _ operation: Operation,
        with index: Index
    ) throws(Diagnostic) -> [Placed<Parameter>] {
        var result: [Placed<Parameter>] = []
        for (parameters, isOwn) in [(path.parameters, false), (operation.parameters, true)] {
            for reference in parameters {
                let parameter = try placed(reference, index.parameters, .parameters)
                let name = parameter.value.name
                let location = parameter.value.location
                if isOwn { result.removeAll { $0.value.name.isExactly(name) && $0.value.location == location } }
                result.append(parameter)
            }
        }
        return result
    }

    private func checkPlaceholders(of operation: Operation, _ parameters: [Placed<Parameter>]) throws(Diagnostic) {
        for name in PathTemplate(operation.path).names {
            let isKnown = parameters.contains { $0.value.location == .path && $0.value.name == name }
            guard isKnown else {
                throw diagnostics.error(
                    "The path '\(operation.path)' has the placeholder '{\(name)}' but no such path parameter.",
                    at: operation.position,
                    remedy: "declare a parameter with that name and 'in: path'"
                )
            }
        }
    }

    // MARK: Schemas outside the components

    /// Checks the schemas outside of the components, and returns them.
    private func checkSchemas(of document: ResolvedDocument) -> [Schema] {
        let index = Index(of: document)
        var schemas: [Schema] = []
        schemas += document.parameters.flatMap { Resolver.schemas(of: $0.value) }
        schemas += document.headers.flatMap { Resolver.schemas(of: $0.value) }
        var content = document.requestBodies.flatMap(\.value.content)
        var responses = document.responses.map(\.value)
        for operation in document.operations {
            for case .inline(let parameter) in operation.parameters { schemas += Resolver.schemas(of: parameter) }
            if case .inline(let body)? = operation.requestBody { content += body.content }
            for (_, response) in operation.responses {
                if case .inline(let response) = response { responses.append(response) }
            }
        }
        for response in responses {
            content += response.content
        }
        schemas += content.compactMap(\.schema)
        let headers =
            responses.map(\.headers) + content.flatMap { $0.encoding.pairs.map { $0.value.headers } }
        for group in headers {
            for (_, header) in group {
                switch header {
                case .inline(let header): schemas += Resolver.schemas(of: header)
                case .reference:
                    do throws(Diagnostic) {
                        _ = try placed(header, index.headers, .headers)
                    } catch {
                        diagnostics.report(error)
                    }
                }
            }
        }
        for schema in schemas {
            document.schemas.check(schema, diagnostics: diagnostics)
        }
        return schemas
    }

    private static func schemas(of parameter: Parameter) -> [Schema] {
        (parameter.schema.map { [$0] } ?? []) + parameter.content.compactMap(\.schema)
    }

    private static func schemas(of header: Header) -> [Schema] {
        (header.schema.map { [$0] } ?? []) + header.content.compactMap(\.schema)
    }
}

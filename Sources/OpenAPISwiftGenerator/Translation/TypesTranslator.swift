/// The files of the `types` mode.
struct TypesTranslator {
    let document: ResolvedDocument
    let names: NameAssigner
    let components: OperationTranslator.TranslatedComponents
    let schemas: [Declaration]
    let operations: [TranslatedOperation]
    /// Further members of `Operations`.
    let extensionTables: [Declaration]
    /// The imports of the file without types of the document.
    let sharedImports: [SwiftImport]
    /// The imports of the files of schemas, in which the user's own types are named.
    let schemaImports: [SwiftImport]
    let imports: [SwiftImport]

    var files: [SwiftFile] {
        func files(
            _ names: [String],
            extending type: String,
            _ members: [Declaration],
            imports: [SwiftImport]? = nil
        ) -> [SwiftFile] {
            TypesTranslator.files(names, extending: type, members, imports: imports ?? self.imports)
        }
        return [SwiftFile(name: "Types.swift", imports: sharedImports, declarations: shared)]
            + files(FileNames.schemas, extending: SchemaCatalog.namespace, schemas, imports: schemaImports)
            + files(FileNames.parameters, extending: "Components.Parameters", components.parameters)
            + files(FileNames.requestBodies, extending: "Components.RequestBodies", components.requestBodies)
            + files(FileNames.responses, extending: "Components.Responses", components.responses)
            + files(FileNames.headers, extending: "Components.Headers", components.headers)
            + files(FileNames.operations, extending: "Operations", operations.map(\.declaration))
    }

    /// The names of the files, which are the same for every document.
    enum FileNames {
        static let schemas = parts("Types+Schemas")
        static let parameters: [String] = ["Types+Parameters.swift"]
        static let requestBodies: [String] = ["Types+RequestBodies.swift"]
        static let responses: [String] = ["Types+Responses.swift"]
        static let headers: [String] = ["Types+Headers.swift"]
        static let operations = parts("Types+Operations")

        static var all: [String] {
            ["Types.swift"] + schemas + parameters + requestBodies + responses + headers + operations
        }

        /// The names of four files. The compiler builds files in parallel, and needs less memory for each part than for
        /// the whole.
        private static func parts(_ name: String) -> [String] {
            (1...4).map { $0 == 1 ? "\(name).swift" : "\(name)-\($0).swift" }
        }
    }

    /// Members of a type or of the module: in one file, or in several files of about the same size if there are many.
    static func files(
        _ names: [String],
        extending type: String?,
        _ members: [Declaration],
        imports: [SwiftImport]
    ) -> [SwiftFile] {
        var rest = members[...]
        let weights = members.map(\.weight)
        let total = weights.reduce(0, +)
        let count = min(names.count, max(1, total / TypesTranslator.weightOfFile))
        var taken = 0
        return names.enumerated().map { index, name in
            let limit = index + 1 < count ? total * (index + 1) / count : total
            var part: [Declaration] = []
            while taken < limit, let member = rest.popFirst() {
                taken += weights[members.count - rest.count - 1]
                part.append(member)
            }
            guard !part.isEmpty else { return SwiftFile(name: name, imports: [], declarations: []) }
            return SwiftFile(
                name: name,
                imports: imports,
                declarations: type.map { [.type(TypeDeclaration(keyword: .extension, name: $0, members: part))] }
                    ?? part
            )
        }
    }

    /// The average weight of several files is at least this: about two thousand lines.
    private static let weightOfFile = 2000

    // MARK: Types.swift

    private var shared: [Declaration] {
        [apiProtocol, overloads, servers, componentNamespaces, operationNamespace]
    }

    private var apiProtocol: Declaration {
        let requirements: [Declaration] = operations.map { operation in
            .function(
                FunctionDeclaration(
                    documentation: OperationTranslator.documentation(of: operation.operation),
                    attributes: operation.operation.isDeprecated ? ["@available(*, deprecated)"] : [],
                    name: "func \(operation.methodName)",
                    parameters: [.init(label: "_ input", type: .named("\(operation.path).Input"))],
                    effects: "async throws",
                    result: .named("\(operation.path).Output")
                )
            )
        }
        let title = document.title.isEmpty ? "the document" : document.title
        return .type(
            TypeDeclaration(
                documentation: "The operations of \(title): called through a `Client`, implemented by a server.",
                keyword: .protocol,
                name: "APIProtocol",
                inherits: [.named("Sendable")],
                members: requirements
            )
        )
    }

    private var overloads: Declaration {
        let members: [Declaration] = operations.map { operation in
            let parameters = inputParameters(of: operation)
            let arguments = parameters.map { "\($0.label): \($0.label)" }
            return .function(
                FunctionDeclaration(
                    documentation: OperationTranslator.documentation(of: operation.operation),
                    attributes: operation.operation.isDeprecated ? ["@available(*, deprecated)"] : [],
                    name: "func \(operation.methodName)",
                    parameters: parameters,
                    effects: "async throws",
                    result: .named("\(operation.path).Output"),
                    body: [
                        .line(
                            "try await self.\(operation.methodName)(\(operation.path).Input(\(arguments.joined(separator: ", "))))"
                        )
                    ]
                )
            )
        }
        return .type(
            TypeDeclaration(
                documentation: members.isEmpty ? nil : "The operations with their input spelled out as arguments.",
                keyword: .extension,
                name: "APIProtocol",
                members: members
            )
        )
    }

    private func inputParameters(of operation: TranslatedOperation) -> [FunctionDeclaration.Parameter] {
        var result: [FunctionDeclaration.Parameter] = []
        func add(_ label: String, _ type: String, _ fields: [TranslatedParameter]) {
            let hasDefaults = fields.allSatisfy(\.type.isOptional)
            result.append(
                .init(
                    label: label,
                    type: .named("\(operation.path).Input.\(type)"),
                    defaultValue: hasDefaults ? ".init()" : nil
                )
            )
        }
        if !operation.pathFields.isEmpty { add("path", "Path", operation.pathFields) }
        if !operation.queryFields.isEmpty { add("query", "Query", operation.queryFields) }
        if operation.hasHeaders { add("headers", "Headers", operation.headerFields) }
        if !operation.cookieFields.isEmpty { add("cookies", "Cookies", operation.cookieFields) }
        if let body = operation.body {
            let isRequired = operation.isBodyRequired
            result.append(
                .init(
                    label: "body",
                    type: isRequired ? .named(body.path) : .optional(.named(body.path)),
                    defaultValue: isRequired ? nil : "nil"
                )
            )
        }
        return result
    }

    private var servers: Declaration {
        let members = document.servers.enumerated().flatMap { index, server in
            ServerDeclaration(server: server, number: index + 1, names: names).declarations
        }
        return .type(
            TypeDeclaration(
                documentation: "The servers that the document names.",
                keyword: .enumeration,
                name: "Servers",
                members: members
            )
        )
    }

    private var componentNamespaces: Declaration {
        let kinds: [(name: String, documentation: String)] = [
            ("Schemas", "Types from `#/components/schemas`."),
            ("Parameters", "Types from `#/components/parameters`."),
            ("RequestBodies", "Types from `#/components/requestBodies`."),
            ("Responses", "Types from `#/components/responses`."),
            ("Headers", "Types from `#/components/headers`."),
        ]
        return .type(
            TypeDeclaration(
                documentation: "What the document names for use by several operations.",
                keyword: .enumeration,
                name: "Components",
                members: kinds.map { name, documentation in
                    .type(TypeDeclaration(documentation: documentation, keyword: .enumeration, name: name))
                }
            )
        )
    }

    private var operationNamespace: Declaration {
        .type(
            TypeDeclaration(
                documentation: "Inputs and outputs of the operations.",
                keyword: .enumeration,
                name: "Operations",
                members: extensionTables
            )
        )
    }
}

/// One entry of `Servers` and the deprecated function beside it.
private struct ServerDeclaration {
    let server: Server
    let number: Int
    let names: NameAssigner

    var declarations: [Declaration] {
        var scope = NameScope(taken: NameScope.reserved)
        var labels = NameScope()
        var nested: [Declaration] = []
        var parameters: [FunctionDeclaration.Parameter] = []
        var oldParameters: [FunctionDeclaration.Parameter] = []
        var variables: [String] = []
        var oldVariables: [String] = []
        for variable in server.variables {
            // Two variables can have the same Swift name: `{base_path}` and `{basePath}`.
            let label = escaped(labels.claim(names.memberName(variable.name)))
            let key = stringLiteral(variable.name)
            let value = stringLiteral(variable.defaultValue)
            oldParameters.append(.init(label: label, type: .string, defaultValue: value))
            if let values = variable.allowedValues, !values.isEmpty {
                let capitalized = capitalizedWords(variable.name)
                let typeName = scope.claim(names.typeName(capitalized))
                let cases = caseNames(of: values)
                let defaultCase = zip(values, cases).first { $0.0.isExactly(variable.defaultValue) }?.1
                nested.append(
                    enumeration(of: values, cases: cases, named: typeName, documentation: variable.documentation)
                )
                parameters.append(
                    .init(
                        label: label,
                        type: .named(typeName),
                        defaultValue: defaultCase.map { ".\($0)" }
                    )
                )
                variables.append(".init(name: \(key), value: \(label).rawValue)")
                let allowed = values.map(stringLiteral).joined(separator: ", ")
                oldVariables.append(".init(name: \(key), value: \(label), allowedValues: [\(allowed)])")
            } else {
                parameters.append(.init(label: label, type: .string, defaultValue: value))
                variables.append(".init(name: \(key), value: \(label))")
                oldVariables.append(".init(name: \(key), value: \(label))")
            }
        }
        nested.append(
            function(named: "url", attributes: [], parameters: parameters, variables: variables)
        )
        return [
            .type(
                TypeDeclaration(
                    documentation: server.documentation ?? server.url,
                    keyword: .enumeration,
                    name: "Server\(number)",
                    members: nested
                )
            ),
            function(
                named: "server\(number)",
                attributes: ["@available(*, deprecated, renamed: \"Servers.Server\(number).url\")"],
                parameters: oldParameters,
                variables: oldVariables
            ),
        ]
    }

    private func function(
        named name: String,
        attributes: [String],
        parameters: [FunctionDeclaration.Parameter],
        variables: [String]
    ) -> Declaration {
        .function(
            FunctionDeclaration(
                documentation: server.documentation ?? server.url,
                attributes: attributes,
                modifiers: "static ",
                name: "func \(name)",
                parameters: parameters,
                effects: "throws",
                result: .url,
                body: [
                    .line(
                        "try .init(validatingOpenAPIServerURL: \(stringLiteral(server.url)), variables: [\(variables.joined(separator: ", "))])"
                    )
                ]
            )
        )
    }

    /// The case of each value.
    private func caseNames(of values: [String]) -> [String] {
        // The names that `RawRepresentable` uses.
        var scope = NameScope(taken: ["rawValue", "RawValue"])
        return values.map { escaped(scope.claim(names.memberName($0))) }
    }

    private func enumeration(
        of values: [String],
        cases: [String],
        named name: String,
        documentation: String?
    ) -> Declaration {
        .type(
            TypeDeclaration(
                documentation: documentation,
                keyword: .enumeration,
                name: name,
                inherits: [.string, .swift("Sendable")],
                members: zip(cases, values).map { name, value in
                    .enumCase(documentation: nil, name: name, rawValue: stringLiteral(value))
                }
            )
        )
    }

    /// The text with each word's first letter in upper case: `region-name` becomes `Region-Name`.
    private func capitalizedWords(_ text: String) -> String {
        var result = ""
        var isInWord = false
        for character in text {
            result += isInWord ? character.lowercased() : character.uppercased()
            isInWord = character.isLetter || (isInWord && (character.isNumber || character == "'"))
        }
        return result
    }
}

import Spelling

/// Reads the nodes of a document as paths, operations, components and schemas.
///
/// It looks only at the parts that the generator uses; examples and unknown extensions cost nothing.
struct DocumentReader {
    private let diagnostics: Diagnostics
    private var version: OpenAPIDocument.Version = .v31
    private var callbacks = Sightings()
    private var links = Sightings()
    /// Servers of paths and operations, other than the document's.
    private var ownServers = Sightings()
    private var reservedTexts = Sightings()
    private var serverAddresses: Set<String> = []

    /// The number of uses of a construct that is not generated, and the position of the first.
    private struct Sightings {
        var count = 0
        var first: SourcePosition?

        mutating func add(_ node: DocumentNode?) {
            guard let node, node.members?.isEmpty == false || node.elements?.isEmpty == false else { return }
            count += 1
            if first == nil { first = node.position }
        }
    }

    /// The path items of the components, by name.
    private struct PathItems {
        private var items: [ExactText: DocumentNode] = [:]

        init(_ node: DocumentNode?) {
            for member in node?.members ?? [] { items[ExactText(member.key)] = member.value }
        }

        subscript(name: String) -> DocumentNode? { items[ExactText(name)] }
    }

    init(diagnostics: Diagnostics) {
        self.diagnostics = diagnostics
    }

    /// Reads a whole document.
    ///
    /// A mistake in one component, path or operation does not hide mistakes in others: it is reported, and reading
    /// continues with the next.
    mutating func read(_ root: DocumentNode) throws(Diagnostic) -> OpenAPIDocument {
        guard root.members != nil else {
            throw diagnostics.error("A document is an object, this is \(root.kindName).", at: root.position)
        }
        version = try readVersion(of: root)
        checkRequiredKeys(of: root)
        var components = Components()
        if let node = root["components"], !node.isNull {
            let node = recovering { (reader) throws(Diagnostic) in try reader.object(node, "components") }
            if let node { components = readComponents(node) }
        }
        serverAddresses = Set((root["servers"]?.elements ?? []).compactMap { $0["url"]?.scalarText })
        var paths: [Path] = []
        if let node = root["paths"], !node.isNull {
            let pathItems = PathItems(root["components"]?["pathItems"])
            let members = recovering { (reader) throws(Diagnostic) in try reader.members(node, "paths") }
            for member in members ?? [] where !member.key.hasPrefix("x-") {
                recovering { (reader) throws(Diagnostic) in try reader.readPath(member, pathItems: pathItems) }
                    .map { paths.append($0) }
            }
        }
        var servers: [Server] = []
        let serverNodes = recovering { (reader) throws(Diagnostic) in try reader.elements(root["servers"], "servers") }
        for node in serverNodes ?? [] {
            recovering { (reader) throws(Diagnostic) in try reader.readServer(node) }.map { servers.append($0) }
        }
        noteWhatIsNotGenerated(in: root)
        return OpenAPIDocument(
            version: version,
            title: root["info"]?["title"]?.scalarText ?? "",
            servers: servers,
            paths: paths,
            components: components,
            tags: (root["tags"]?.elements ?? []).compactMap { $0["name"]?.scalarText }
        )
    }

    /// The result of reading a part of the document, or `nil` after the error was reported.
    private mutating func recovering<T>(
        _ read: (inout DocumentReader) throws(Diagnostic) -> T
    ) -> T? {
        do throws(Diagnostic) {
            return try read(&self)
        } catch {
            diagnostics.report(error)
            return nil
        }
    }

    // MARK: What has no counterpart

    /// Adds one diagnostic for each construct of the document that is not generated.
    private mutating func noteWhatIsNotGenerated(in root: DocumentNode) {
        if let node = root["webhooks"], let members = node.members, !members.isEmpty {
            diagnostics.warn(
                "Webhooks are not generated: \(members.count) left out.",
                at: node.position,
                remedy: "describe them as paths of a document of their own and generate a server from it"
            )
        }
        if callbacks.count > 0 {
            diagnostics.warn(
                "Callbacks are not generated: \(callbacks.count == 1 ? "one operation has" : "\(callbacks.count) operations have") some.",
                at: callbacks.first,
                remedy: "describe them as paths of a document of their own and generate a server from it"
            )
        }
        if ownServers.count > 0 {
            diagnostics.warn(
                "Servers of paths and operations have no effect: \(ownServers.count) left out.",
                at: ownServers.first,
                remedy: "make a client with the address of such a server, and call these operations with it"
            )
        }
        if reservedTexts.count > 0 {
            diagnostics.warn(
                "'allowReserved' has no effect: the reserved characters of \(reservedTexts.count == 1 ? "one parameter are" : "\(reservedTexts.count) parameters are") percent-encoded.",
                at: reservedTexts.first
            )
        }
        if links.count > 0 {
            diagnostics.note(
                "Links are not generated: \(links.count == 1 ? "one response has" : "\(links.count) responses have") some.",
                at: links.first
            )
        }
        if let node = root["components"]?["securitySchemes"], node.members?.isEmpty == false {
            diagnostics.note(
                "Security schemes are not generated.",
                at: node.position,
                remedy: "add credentials to requests, or check them, in a middleware"
            )
        }
    }

    /// Notes the servers of a path or an operation, unless they are those of the document.
    private mutating func noteServers(_ node: DocumentNode?) {
        let addresses = (node?.elements ?? []).compactMap { $0["url"]?.scalarText }
        if !serverAddresses.isSuperset(of: addresses) { ownServers.add(node) }
    }

    private func readVersion(of root: DocumentNode) throws(Diagnostic) -> OpenAPIDocument.Version {
        guard let node = root["openapi"] else {
            let remedy: String? =
                root["swagger"] == nil ? nil : "this is a Swagger 2.0 document; convert it to OpenAPI 3 first"
            throw diagnostics.error("The key 'openapi' is missing.", at: root.position, remedy: remedy)
        }
        switch node.scalarText {
        case "3.0.0", "3.0.1", "3.0.2", "3.0.3", "3.0.4": return .v30
        case "3.1.0", "3.1.1", "3.1.2": return .v31
        case "3.2.0": return .v32
        default:
            throw diagnostics.error(
                "OpenAPI version '\(node.scalarText ?? "")' is not known.",
                at: node.position,
                remedy: "use 3.0.0 to 3.0.4, 3.1.0 to 3.1.2 or 3.2.0"
            )
        }
    }

    /// Reports what a whole document must have.
    private mutating func checkRequiredKeys(of root: DocumentNode) {
        if root["info"]?.members == nil {
            let problem = root["info"].map { "'info' must be an object, this is \($0.kindName)." }
            diagnostics.warn(
                problem ?? "The key 'info' is missing.",
                at: root["info"]?.position ?? root.position,
                remedy: "say what the document describes: info: {title: …, version: …}"
            )
        }
        let needed: [String] = version == .v30 ? ["paths"] : ["paths", "components", "webhooks"]
        guard !needed.contains(where: { root[$0] != nil }) else { return }
        let known = ["openapi", "info", "servers", "security", "tags", "externalDocs", "jsonSchemaDialect"] + needed
        let question = (root.members ?? []).lazy
            .filter { !known.contains($0.key) && !$0.key.hasPrefix("x-") }
            .compactMap { member in
                NearestName.of(member.key, among: needed).map { "did you mean '\($0)' by '\(member.key)'?" }
            }.first
        diagnostics.report(
            diagnostics.error(
                version == .v30
                    ? "The key 'paths' is missing."
                    : "The document has neither 'paths' nor 'components' nor 'webhooks'.",
                at: root.position,
                remedy: question ?? "write 'paths: {}' for a document without paths"
            )
        )
    }

    // MARK: Shapes

    private func object(_ node: DocumentNode, _ what: String) throws(Diagnostic) -> DocumentNode {
        guard node.members != nil else {
            throw diagnostics.error("'\(what)' must be an object, this is \(node.kindName).", at: node.position)
        }
        return node
    }

    private func members(_ node: DocumentNode, _ what: String) throws(Diagnostic) -> [DocumentNode.Member] {
        guard let members = node.members else {
            throw diagnostics.error("'\(what)' must be an object, this is \(node.kindName).", at: node.position)
        }
        return members
    }

    private func elements(_ node: DocumentNode?, _ what: String) throws(Diagnostic) -> [DocumentNode] {
        guard let node, !node.isNull else { return [] }
        guard let elements = node.elements else {
            throw diagnostics.error("'\(what)' must be an array, this is \(node.kindName).", at: node.position)
        }
        return elements
    }

    private func reference(in node: DocumentNode) throws(Diagnostic) -> Reference? {
        guard let target = node["$ref"] else { return nil }
        guard let text = target.string else {
            throw diagnostics.error("A '$ref' is text, this is \(target.kindName).", at: target.position)
        }
        return Reference(text: text, position: target.position)
    }

    private func text(_ node: DocumentNode?) -> String? {
        guard var text: Substring = node?.string.map({ $0[...] }) else { return nil }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text.isEmpty ? nil : String(text)
    }

    // MARK: Servers, paths and operations

    private mutating func readServer(_ node: DocumentNode) throws(Diagnostic) -> Server {
        guard let url = node["url"]?.string else {
            throw diagnostics.error("A server needs a 'url'.", at: node.position)
        }
        var variables: [Server.Variable] = []
        for member in node["variables"]?.members ?? [] {
            guard let value = member.value["default"]?.scalarText else {
                throw diagnostics.error(
                    "The server variable '\(member.key)' needs a 'default'.",
                    at: member.value.position
                )
            }
            variables.append(
                Server.Variable(
                    name: member.key,
                    defaultValue: value,
                    allowedValues: readAllowedValues(member, default: value),
                    documentation: text(member.value["description"])
                )
            )
        }
        return Server(
            url: url,
            documentation: text(node["description"]),
            variables: variables,
            position: node.position
        )
    }

    /// The allowed values of a server variable, always with the default; `nil` where any value is allowed.
    private mutating func readAllowedValues(_ variable: DocumentNode.Member, default value: String) -> [String]? {
        guard let node = variable.value["enum"], !node.isNull else { return nil }
        guard let elements = node.elements, !elements.isEmpty else {
            diagnostics.warn(
                "The 'enum' of the server variable '\(variable.key)' has no effect: it must be a list of at least one value"
                    + "\(node.elements == nil ? ", this is \(node.kindName)" : "").",
                at: node.position,
                remedy: "list the allowed values, or leave 'enum' out to allow any"
            )
            return nil
        }
        var values: [String] = []
        var seen = KeySet()
        for element in elements {
            guard let text = element.scalarText else {
                diagnostics.warn(
                    "A value of the server variable '\(variable.key)' is left out: it must be text, this is \(element.kindName).",
                    at: element.position
                )
                continue
            }
            guard seen.insert(text) else {
                diagnostics.warn(
                    "The value '\(text)' of the server variable '\(variable.key)' appears twice, the second is dropped.",
                    at: element.position
                )
                continue
            }
            values.append(text)
        }
        guard seen.insert(value) else { return values }
        diagnostics.warn(
            "The default '\(value)' of the server variable '\(variable.key)' is not among its values, it is added.",
            at: node.position
        )
        return values + [value]
    }

    private mutating func readPath(
        _ member: DocumentNode.Member,
        pathItems: PathItems
    ) throws(Diagnostic) -> Path {
        var node = try object(member.value, member.key)
        var steps = 0
        while let reference = try reference(in: node) {
            steps += 1
            guard steps < 100 else {
                throw diagnostics.error(
                    "The path '\(member.key)' refers to '\(reference.text)', which leads back to itself.",
                    at: reference.position,
                    remedy: "refer to a path item with operations"
                )
            }
            guard let name = reference.componentName(in: .pathItems), let target = pathItems[name],
                let members = target.members
            else {
                throw diagnostics.failure(
                    ofReferenceAt: reference.position,
                    "The path '\(member.key)' refers to '\(reference.text)', which is not a path item component.",
                    remedy: "refer to an entry of '#/components/pathItems/', or to another file"
                )
            }
            // Members beside the reference take precedence.
            let own: [DocumentNode.Member] = (node.members ?? []).filter { $0.key != "$ref" }
            let keys = Set(own.map(\.key))
            node = DocumentNode(
                content: .object(own + members.filter { !keys.contains($0.key) }),
                position: target.position
            )
        }
        var template = member.key
        if !template.hasPrefix("/") {
            diagnostics.warn(
                "The path '\(template)' does not begin with a slash, one is added.",
                at: member.value.position
            )
            template = "/\(template)"
        }
        if let problem = PathTemplate(template).problem {
            throw diagnostics.error(
                "The path '\(template)' is not a template: \(problem).",
                at: member.value.position,
                remedy: "write a placeholder as '{name}'"
            )
        }
        noteServers(node["servers"])
        return Path(
            template: template,
            position: member.value.position,
            parameters: try readParameters(node["parameters"]),
            operations: readOperations(node, path: template)
        )
    }

    private mutating func readOperations(_ item: DocumentNode, path: String) -> [Operation] {
        var result: [Operation] = []
        func add(_ method: String, _ node: DocumentNode, _ reader: inout DocumentReader) {
            let operation = reader.recovering { (reader) throws(Diagnostic) in
                try reader.readOperation(node, method: method, path: path)
            }
            if let operation { result.append(operation) }
        }
        for entry in item.members ?? [] {
            switch entry.key {
            case _ where PathItemMethods.common.contains(entry.key):
                add(entry.key.uppercased(), entry.value, &self)
            case "query", "additionalOperations":
                guard version == .v32 else {
                    diagnostics.warn(
                        "'\(entry.key)' of a path needs OpenAPI 3.2 and is left out.",
                        at: entry.value.position,
                        remedy: "write 'openapi: 3.2.0'",
                        foundIn: path
                    )
                    continue
                }
                guard entry.key == "additionalOperations" else {
                    add("QUERY", entry.value, &self)
                    continue
                }
                let others = recovering { (reader) throws(Diagnostic) in
                    try reader.members(entry.value, "additionalOperations")
                }
                for other in others ?? [] {
                    recovering { (reader) throws(Diagnostic) in try reader.checkMethod(other) }
                        .map { add(other.key, other.value, &self) }
                }
            default: break
            }
        }
        return result
    }

    /// Checks the key of an additional operation: it is the method as it is sent, and not one of the fixed methods.
    private func checkMethod(_ operation: DocumentNode.Member) throws(Diagnostic) {
        let others = Set("#!$%&'*+-.^_`|~")
        let isToken = operation.key.allSatisfy { character in
            character.isASCII && (character.isLetter || character.isNumber) || others.contains(character)
        }
        guard isToken, !operation.key.isEmpty else {
            throw diagnostics.error(
                "'\(operation.key)' is not a method.",
                at: operation.value.position,
                remedy: "name the operation by the method that is sent, such as COPY"
            )
        }
        let key = operation.key.lowercased()
        guard operation.key != key.uppercased() || !PathItemMethods.all.contains(key) else {
            throw diagnostics.error(
                "The method \(operation.key) is not an additional method.",
                at: operation.value.position,
                remedy: "describe the operation as '\(key)' of the path"
            )
        }
    }

    private mutating func readParameters(_ node: DocumentNode?) throws(Diagnostic) -> [Referenced<Parameter>] {
        var result: [Referenced<Parameter>] = []
        for element in try elements(node, "parameters") {
            result.append(try readParameter(element))
        }
        return result
    }

    private mutating func readOperation(
        _ node: DocumentNode,
        method: String,
        path: String
    ) throws(Diagnostic) -> Operation {
        let node = try object(node, "\(method.lowercased()) \(path)")
        callbacks.add(node["callbacks"])
        noteServers(node["servers"])
        var responses: [(status: ResponseStatus, response: Referenced<Response>)] = []
        for member in try members(
            node["responses"] ?? DocumentNode(content: .object([]), position: node.position),
            "responses"
        )
        where !member.key.hasPrefix("x-") {
            guard let status = readStatus(member.key) else {
                throw diagnostics.error("'\(member.key)' is not a response status.", at: member.value.position)
            }
            responses.append((status, try readResponse(member.value)))
        }
        guard !responses.isEmpty else {
            throw diagnostics.error(
                "The operation \(method) \(path) has no response.",
                at: node.position,
                remedy: "document at least one response"
            )
        }
        var body: Referenced<RequestBody>?
        if let entry = node["requestBody"] { body = try readRequestBody(entry) }
        return Operation(
            method: method,
            path: path,
            identifier: try identifier(node["operationId"]),
            position: node.position,
            summary: text(node["summary"]),
            documentation: text(node["description"]),
            isDeprecated: node["deprecated"]?.bool ?? false,
            tags: try elements(node["tags"], "tags").compactMap(\.scalarText),
            parameters: try readParameters(node["parameters"]),
            requestBody: body,
            responses: responses,
            extensions: Dictionary(
                (node.members ?? []).filter { $0.key.hasPrefix("x-") }.map { ($0.key, $0.value) },
                uniquingKeysWith: { first, _ in first }
            )
        )
    }

    /// The name of an operation. Any scalar is accepted, because YAML reads some words as booleans or numbers.
    private func identifier(_ node: DocumentNode?) throws(Diagnostic) -> String? {
        guard let node, !node.isNull else { return nil }
        guard let text = node.scalarText else {
            throw diagnostics.error("An 'operationId' is text, this is \(node.kindName).", at: node.position)
        }
        return text.isEmpty ? nil : text
    }

    private func readStatus(_ key: String) -> ResponseStatus? {
        if key == "default" { return .default }
        if key.utf8.count == 3, let code = Int(key), (100...999).contains(code) { return .code(code) }
        if key.utf8.count == 3, key.lowercased().hasSuffix("xx"), let digit = key.first?.wholeNumberValue,
            (1...5).contains(digit)
        {
            return .range(digit)
        }
        return nil
    }

    private mutating func readParameter(_ node: DocumentNode) throws(Diagnostic) -> Referenced<Parameter> {
        let node = try object(node, "parameter")
        if let reference = try reference(in: node) { return .reference(reference) }
        guard let name = node["name"]?.scalarText else {
            throw diagnostics.error("A parameter needs a 'name'.", at: node.position)
        }
        guard let location = node["in"]?.string.flatMap(Parameter.Location.init(rawValue:)) else {
            throw diagnostics.error(
                "The parameter '\(name)' needs an 'in' of path, query, header or cookie.",
                at: node.position
            )
        }
        guard location != .querystring || version == .v32 else {
            throw diagnostics.error(
                "The location 'querystring' of the parameter '\(name)' exists in OpenAPI 3.2 alone.",
                at: node.position,
                remedy: "write 'openapi: 3.2.0'"
            )
        }
        if location == .query, node["allowReserved"]?.bool == true { reservedTexts.add(node) }
        return .inline(
            Parameter(
                name: name,
                location: location,
                position: node.position,
                documentation: text(node["description"]),
                isRequired: node["required"]?.bool ?? (location == .path),
                isDeprecated: node["deprecated"]?.bool ?? false,
                style: node["style"]?.string,
                explode: node["explode"]?.bool,
                schema: try node["schema"].map { (node) throws(Diagnostic) in try readSchema(node) },
                content: try readContent(node["content"])
            )
        )
    }

    private mutating func readHeader(_ node: DocumentNode) throws(Diagnostic) -> Referenced<Header> {
        let node = try object(node, "header")
        if let reference = try reference(in: node) { return .reference(reference) }
        return .inline(
            Header(
                position: node.position,
                documentation: text(node["description"]),
                isRequired: node["required"]?.bool ?? false,
                isDeprecated: node["deprecated"]?.bool ?? false,
                style: node["style"]?.string,
                explode: node["explode"]?.bool,
                schema: try node["schema"].map { (node) throws(Diagnostic) in try readSchema(node) },
                content: try readContent(node["content"])
            )
        )
    }

    private mutating func readContent(_ node: DocumentNode?) throws(Diagnostic) -> [MediaType] {
        guard let node, !node.isNull else { return [] }
        var result: [MediaType] = []
        for member in try members(node, "content") {
            guard MediaTypeName(member.key) != nil else {
                throw diagnostics.error(
                    "'\(member.key)' is not a media type.",
                    at: member.value.position,
                    remedy: "write type/subtype"
                )
            }
            var encoding: OrderedMap<PartEncoding> = .init()
            if let entry = member.value["encoding"], !entry.isNull {
                for part in try members(entry, "encoding") {
                    encoding[part.key] = PartEncoding(
                        contentType: part.value["contentType"]?.string,
                        style: part.value["style"]?.string,
                        explode: part.value["explode"]?.bool,
                        headers: try readHeaders(part.value["headers"])
                    )
                }
            }
            result.append(
                MediaType(
                    name: member.key,
                    position: member.value.position,
                    schema: try member.value["schema"].map { (node) throws(Diagnostic) in try readSchema(node) },
                    encoding: encoding
                )
            )
        }
        return result
    }

    private mutating func readRequestBody(_ node: DocumentNode) throws(Diagnostic) -> Referenced<RequestBody> {
        let node = try object(node, "requestBody")
        if let reference = try reference(in: node) { return .reference(reference) }
        return .inline(
            RequestBody(
                position: node.position,
                documentation: text(node["description"]),
                isRequired: node["required"]?.bool ?? false,
                content: try readContent(node["content"])
            )
        )
    }

    private mutating func readHeaders(
        _ node: DocumentNode?
    ) throws(Diagnostic) -> [(name: String, header: Referenced<Header>)] {
        var headers: [(name: String, header: Referenced<Header>)] = []
        guard let node, !node.isNull else { return headers }
        for member in try members(node, "headers") {
            headers.append((member.key, try readHeader(member.value)))
        }
        return headers
    }

    private mutating func readResponse(_ node: DocumentNode) throws(Diagnostic) -> Referenced<Response> {
        let node = try object(node, "response")
        links.add(node["links"])
        if let reference = try reference(in: node) { return .reference(reference) }
        return .inline(
            Response(
                position: node.position,
                documentation: text(node["description"]),
                headers: try readHeaders(node["headers"]),
                content: try readContent(node["content"])
            )
        )
    }

    // MARK: Components

    private mutating func readComponents(_ node: DocumentNode) -> Components {
        Components(
            schemas: readComponents(node, .schemas) { (reader, node) throws(Diagnostic) in try reader.readSchema(node)
            },
            parameters: readComponents(node, .parameters) { (reader, node) throws(Diagnostic) in
                try reader.readParameter(node)
            },
            requestBodies: readComponents(node, .requestBodies) { (reader, node) throws(Diagnostic) in
                try reader.readRequestBody(node)
            },
            responses: readComponents(node, .responses) { (reader, node) throws(Diagnostic) in
                try reader.readResponse(node)
            },
            headers: readComponents(node, .headers) { (reader, node) throws(Diagnostic) in try reader.readHeader(node) }
        )
    }

    /// The components of one kind; those with an error are reported and left out.
    private mutating func readComponents<Value>(
        _ node: DocumentNode,
        _ kind: ComponentKind,
        _ read: (inout DocumentReader, DocumentNode) throws(Diagnostic) -> Value
    ) -> OrderedMap<Value> {
        var components = OrderedMap<Value>()
        guard let entry = node[kind.rawValue], !entry.isNull else { return components }
        let members: [DocumentNode.Member] =
            recovering { (reader) throws(Diagnostic) in try reader.members(entry, kind.rawValue) } ?? []
        for member in members {
            components[member.key] = recovering { (reader) throws(Diagnostic) in try read(&reader, member.value) }
        }
        return components
    }

    // MARK: Schemas

    private mutating func readSchema(_ node: DocumentNode) throws(Diagnostic) -> Schema {
        switch node.content {
        case .bool(let value): return Schema(.init(position: node.position, boolean: value))
        case .object: break
        default: throw diagnostics.error("A schema must be an object, this is \(node.kindName).", at: node.position)
        }
        if let reference = try reference(in: node) {
            return Schema(
                .init(
                    position: node.position,
                    reference: reference,
                    documentation: text(node["description"]),
                    isDeprecated: node["deprecated"]?.bool ?? false
                )
            )
        }
        warnOfMismatches(in: node)
        let types = readTypes(node)
        var kinds = types.compactMap(Schema.Kind.init(rawValue:))
        let isNull = types == ["null"]
        if types.isEmpty { kinds = impliedKinds(node) }
        for type in types where type != "null" && Schema.Kind(rawValue: type) == nil {
            diagnostics.warn("The type '\(type)' is not known, any value is accepted.", at: node.position)
        }
        let compositions = try readCompositions(of: node, kinds: kinds)
        return Schema(
            .init(
                position: node.position,
                kinds: compositions.isObject ? [.object] : kinds,
                isNullable: (node["nullable"]?.bool ?? false) || types.contains("null"),
                isNull: isNull,
                format: node["format"]?.string,
                contentEncoding: node["contentEncoding"]?.string,
                contentMediaType: node["contentMediaType"]?.string,
                enumeration: readEnumeration(node) ?? node["x-extensible-enum"]?.elements,
                isExtensible: readEnumeration(node) == nil && node["x-extensible-enum"]?.elements != nil,
                valueDocumentation: readValueDocumentation(node["x-enumDescriptions"]),
                properties: compositions.hasProperties ? try readProperties(node["properties"]) : [],
                required: (node["required"]?.elements ?? []).compactMap(\.scalarText) + compositions.required,
                additionalProperties: try readAdditionalProperties(node["additionalProperties"]),
                items: try node["items"].map { (node) throws(Diagnostic) in try readSchema(node) },
                hasPrefixItems: node["prefixItems"] != nil,
                allOf: compositions.allOf,
                anyOf: compositions.anyOf,
                oneOf: compositions.oneOf,
                hasNot: node["not"] != nil,
                discriminator: readDiscriminator(node["discriminator"]),
                documentation: text(node["description"]) ?? text(node["title"]),
                isDeprecated: node["deprecated"]?.bool ?? false
            )
        )
    }

    /// Adds a warning for each key of a schema that has no effect because its value has the wrong JSON type.
    private mutating func warnOfMismatches(in node: DocumentNode) {
        for member in node.members ?? [] {
            let expected: String
            switch member.key {
            case "required", "enum", "x-extensible-enum":
                guard member.value.elements == nil else { continue }
                expected = "an array"
            case "nullable", "deprecated", "readOnly", "writeOnly":
                guard member.value.bool == nil else { continue }
                expected = "a boolean"
            case "format", "pattern":
                guard member.value.string == nil else { continue }
                expected = "a string"
            case "type":
                guard member.value.string == nil, member.value.elements == nil, !member.value.isNull else { continue }
                expected = "a string or an array"
            case "discriminator":
                guard member.value["propertyName"]?.string == nil else { continue }
                expected = "an object with a 'propertyName'"
            default: continue
            }
            if member.value.isNull { continue }
            diagnostics.warn(
                "'\(member.key)' has no effect: it must be \(expected), this is \(member.value.kindName).",
                at: member.value.position
            )
        }
    }

    private func readTypes(_ node: DocumentNode) -> [String] {
        guard let entry = node["type"] else { return [] }
        if let elements = entry.elements { return elements.map { $0.isNull ? "null" : $0.string ?? "" } }
        if entry.isNull { return ["null"] }
        return entry.string.map { [$0] } ?? []
    }

    /// The type that the other keys of a schema without `type` imply, such as `properties`.
    private func impliedKinds(_ node: DocumentNode) -> [Schema.Kind] {
        let objectKeys: [String] = ["properties", "additionalProperties", "minProperties", "maxProperties"]
        let arrayKeys: [String] = ["items", "prefixItems", "minItems", "maxItems", "uniqueItems"]
        if objectKeys.contains(where: { node[$0] != nil }) || node["required"]?.elements != nil { return [.object] }
        if arrayKeys.contains(where: { node[$0] != nil }) { return [.array] }
        return []
    }

    private func readEnumeration(_ node: DocumentNode) -> [DocumentNode]? {
        if let values = node["enum"]?.elements { return values }
        if version != .v30, let value = node["const"] { return [value] }
        return nil
    }

    private func readValueDocumentation(_ node: DocumentNode?) -> [String: String] {
        var result: [String: String] = [:]
        for member in node?.members ?? [] { result[member.key] = text(member.value) }
        return result
    }

    private mutating func readProperties(_ node: DocumentNode?) throws(Diagnostic) -> [Schema.Property] {
        guard let node, !node.isNull else { return [] }
        var result: [Schema.Property] = []
        for member in try members(node, "properties") {
            result.append(Schema.Property(name: member.key, schema: try readSchema(member.value)))
        }
        return result
    }

    private mutating func readAdditionalProperties(
        _ node: DocumentNode?
    ) throws(Diagnostic) -> Schema.AdditionalProperties {
        guard let node, !node.isNull else { return .unspecified }
        if let allowed = node.bool { return allowed ? .allowed : .forbidden }
        return .schema(try readSchema(node))
    }

    /// The compositions of a schema.
    private struct Compositions {
        var allOf: [Schema]?
        var anyOf: [Schema]?
        var oneOf: [Schema]?
        /// The members that a member of `allOf` requires of the properties beside it.
        var required: [String] = []
        /// Whether the schema is an object with properties and without members beside them.
        var isObject = false
        /// Whether the schema keeps its properties.
        var hasProperties = true
    }

    /// Reads `allOf`, `anyOf` and `oneOf`.
    ///
    /// Beside properties, members that only constrain these do not become types, such as `anyOf: [{required: [a]},
    /// {required: [b]}]`. The others stay: those of `allOf` or of `anyOf` as they are, everything else as members of
    /// `allOf`, so that a value has them all.
    private mutating func readCompositions(
        of node: DocumentNode,
        kinds: [Schema.Kind]
    ) throws(Diagnostic) -> Compositions {
        let isBesideProperties =
            node["properties"]?.members?.isEmpty == false
            && ["allOf", "anyOf", "oneOf"].contains { node[$0]?.elements != nil }
        guard isBesideProperties, kinds.isEmpty || kinds.contains(.object) else {
            if isBesideProperties {
                diagnostics.warn(
                    "'properties' has no effect: the type is '\(kinds[0].rawValue)'.",
                    at: node["properties"]?.position ?? node.position
                )
            }
            return Compositions(
                allOf: try readSchemas(node["allOf"]),
                anyOf: try readSchemas(node["anyOf"]),
                oneOf: try readSchemas(node["oneOf"]),
                hasProperties: !isBesideProperties
            )
        }
        var result = Compositions()
        var all: [Schema] = []
        for member in try elements(node["allOf"], "allOf") {
            if constrainsOnly(member) {
                result.required += (member["required"]?.elements ?? []).compactMap(\.scalarText)
            } else {
                all.append(try readSchema(member))
            }
        }
        let any = try readAlternatives(node["anyOf"], "anyOf")
        let one = try readAlternatives(node["oneOf"], "oneOf")
        if all.isEmpty, one.isEmpty, !any.isEmpty, !any.contains(where: \.isNull) {
            result.anyOf = any
            return result
        }
        if !any.isEmpty { all.append(Schema(.init(position: node.position, anyOf: any))) }
        if !one.isEmpty {
            let discriminator = readDiscriminator(node["discriminator"])
            all.append(Schema(.init(position: node.position, oneOf: one, discriminator: discriminator)))
        }
        result.allOf = all.isEmpty ? nil : all
        result.isObject = all.isEmpty
        return result
    }

    /// The members of `anyOf` or `oneOf` that say what a value is; none if one of them accepts every value.
    private mutating func readAlternatives(
        _ node: DocumentNode?,
        _ keyword: String
    ) throws(Diagnostic) -> [Schema] {
        var result: [Schema] = []
        for member in try elements(node, keyword) where !constrainsOnly(member) {
            result.append(try readSchema(member))
        }
        return result
    }

    /// The keys of a schema that describe no value of their own.
    private static let constraints: Set<String> = [
        "required", "not", "minProperties", "maxProperties", "dependentRequired", "propertyNames", "title",
        "description", "deprecated", "example", "examples", "externalDocs", "$comment",
    ]

    /// Whether a schema only says more about an object that is described elsewhere.
    private func constrainsOnly(_ node: DocumentNode) -> Bool {
        guard let members = node.members else { return false }
        return members.allSatisfy { member in
            if member.key == "type" { return member.value.string == "object" }
            return Self.constraints.contains(member.key) || member.key.hasPrefix("x-")
        }
    }

    private mutating func readSchemas(_ node: DocumentNode?) throws(Diagnostic) -> [Schema]? {
        guard let node, !node.isNull else { return nil }
        var result: [Schema] = []
        for element in try elements(node, "allOf, anyOf or oneOf") {
            result.append(try readSchema(element))
        }
        return result
    }

    private func readDiscriminator(_ node: DocumentNode?) -> Schema.Discriminator? {
        guard let node, let name = node["propertyName"]?.string else { return nil }
        var mapping: [Schema.Discriminator.Mapping] = []
        for member in node["mapping"]?.members ?? [] {
            guard let target = member.value.string else { continue }
            mapping.append(.init(value: member.key, target: target, position: member.value.position))
        }
        return Schema.Discriminator(propertyName: name, mapping: mapping)
    }
}

/// Translates parameters, bodies, responses and operations into declarations, and into the values from which the
/// translators of client and server work.
struct OperationTranslator {
    let document: ResolvedDocument
    let names: NameAssigner
    /// Translates the schemas found on the way.
    let types: SchemaTranslator
    let diagnostics: Diagnostics
    /// Says how text becomes JSON.
    let shapes: ParameterShapes

    /// Components of kinds other than schema.
    struct TranslatedComponents: Sendable {
        var parameters: [Declaration] = []
        var headers: [Declaration] = []
        var requestBodies: [Declaration] = []
        var responses: [Declaration] = []
        /// Component schemas that are enums of parts.
        var schemas: [Declaration] = []
        /// By the key of the component schema.
        var multipart: [ExactText: TranslatedMultipart] = [:]
        var parameterTypes: [ExactText: SwiftType] = [:]
        var headerTypes: [ExactText: SwiftType] = [:]
        var bodies: [ExactText: TranslatedBody] = [:]
        /// By key, in document order.
        var responseParts: OrderedMap<TranslatedResponse> = .init()
    }

    var components = TranslatedComponents()
    /// The types that several operations declare in the same way.
    var shared = SharedDeclarations()
    /// The types of path parameters that the configuration names.
    var pathTypes: PathTypes
    /// The keys of the component schemas that are enums of parts.
    let multipartSchemas: Set<ExactText>

    init(
        document: ResolvedDocument,
        names: NameAssigner,
        types: SchemaTranslator,
        multipartSchemas: Set<ExactText>,
        pathTypes: [String: [String]]
    ) {
        self.multipartSchemas = multipartSchemas
        self.document = document
        self.names = names
        self.types = types
        diagnostics = types.diagnostics
        shapes = ParameterShapes(schemas: types.schemas, diagnostics: types.diagnostics)
        self.pathTypes = PathTypes(
            pathTypes,
            parameterTypes: document.parameters.map(\.swiftName),
            diagnostics: diagnostics
        )
    }

    mutating func translate(_ resolved: ResolvedOperation) -> TranslatedOperation {
        let path = "Operations.\(resolved.typeName)"
        let inputPath = "\(path).Input"
        var pathScope = DeclarationScope(path: "\(inputPath).Path")
        var queryScope = DeclarationScope(path: "\(inputPath).Query")
        var headerScope = DeclarationScope(path: "\(inputPath).Headers")
        var cookieScope = DeclarationScope(path: "\(inputPath).Cookies")
        let parameters = parameters(of: resolved)
        let pathFields = fields(of: parameters, at: .path, in: &pathScope)
        checkPlaceholders(of: resolved.operation, pathFields)
        var queryFields = fields(of: parameters, at: .query, in: &queryScope)
        queryFields += fields(of: parameters, at: .querystring, in: &queryScope)
        let headerFields = fields(of: parameters, at: .header, in: &headerScope)
        let cookieFields = fields(of: parameters, at: .cookie, in: &cookieScope)

        var inputScope = DeclarationScope(path: inputPath)
        let body = requestBody(of: resolved, in: &inputScope)
        let isBodyRequired: Bool = resolved.requestBody?.value.isRequired ?? false

        var outputScope = DeclarationScope(path: "\(path).Output")
        var responses: [TranslatedResponse] = []
        for (status, response) in resolved.responses {
            responses.append(translate(response, status: status, in: &outputScope))
        }
        let acceptable = acceptableTypes(of: responses)

        pathTypes.declare(pathFields, nested: pathScope.declarations, of: resolved.operation, sharing: &shared)
        var input = InputDeclaration(path: path)
        input.addGroup("path", "Path", fields: pathFields, nested: pathScope.declarations, sharing: &shared)
        input.addGroup("query", "Query", fields: queryFields, nested: queryScope.declarations, sharing: &shared)
        input.addGroup(
            "headers",
            "Headers",
            fields: headerFields,
            nested: headerScope.declarations,
            accept: acceptable.isEmpty
                ? nil
                : isOnlyJSON(acceptable) ? .runtime("JSONContentType") : .named("\(path).AcceptableContentType"),
            sharing: &shared
        )
        input.addGroup("cookies", "Cookies", fields: cookieFields, nested: cookieScope.declarations, sharing: &shared)
        input.addBody(body, isRequired: isBodyRequired, nested: inputScope.declarations)

        var members: [Declaration] = [
            .property(
                PropertyDeclaration(
                    modifiers: "static ",
                    name: "id",
                    type: .string,
                    body: [.line(stringLiteral(resolved.operation.documentName))]
                )
            ),
            input.declaration,
            OutputDeclaration(responses: responses).declaration(nested: outputScope.declarations),
        ]
        if isOnlyJSON(acceptable) {
            members.append(
                .alias(
                    documentation: nil,
                    name: "AcceptableContentType",
                    target: .runtime("JSONContentType")
                )
            )
        } else if !acceptable.isEmpty {
            let key = acceptable.flatMap { [$0.name, $0.mediaType] }
            let first = shared.first("accept \(key)", at: "\(path).AcceptableContentType")
            members.append(
                first.map { .alias(documentation: nil, name: "AcceptableContentType", target: .named($0)) }
                    ?? AcceptableContentDeclaration(types: acceptable).declaration
            )
        }
        return TranslatedOperation(
            path: path,
            methodName: resolved.methodName,
            operation: resolved.operation,
            pathFields: pathFields,
            queryFields: queryFields,
            headerFields: headerFields,
            cookieFields: cookieFields,
            body: body,
            isBodyRequired: isBodyRequired,
            responses: responses,
            acceptable: acceptable,
            declaration: .type(
                TypeDeclaration(
                    documentation: OperationTranslator.documentation(of: resolved.operation),
                    keyword: .enumeration,
                    name: resolved.typeName,
                    members: members
                )
            )
        )
    }

    /// Reports each placeholder whose parameter was left out. Without its value, requests would have a wrong path.
    private func checkPlaceholders(of operation: Operation, _ fields: [TranslatedParameter]) {
        for name in PathTemplate(operation.path).names where !fields.contains(where: { $0.key == name }) {
            diagnostics.report(
                diagnostics.error(
                    "The operation \(operation.method) \(operation.path) has no form for its path parameter '\(name)'.",
                    at: operation.position,
                    remedy: "describe the parameter by a schema of text, numbers, arrays or objects, in the style "
                        + "'simple', 'label' or 'matrix'"
                )
            )
        }
    }

    /// The summary and the description of an operation, and its method and path.
    static func documentation(of operation: Operation) -> String {
        [operation.summary, operation.documentation, remark(of: operation)].compactMap { $0 }.joined(separator: "\n\n")
    }

    static func remark(of operation: Operation) -> String {
        "- Remark: HTTP `\(operation.method) \(operation.path)`."
    }

    /// Whether the runtime's enum has exactly these content types.
    private func isOnlyJSON(_ acceptable: [(name: String, mediaType: String)]) -> Bool {
        acceptable.count == 1 && acceptable[0].name == "json" && acceptable[0].mediaType == "application/json"
    }

    private func acceptableTypes(of responses: [TranslatedResponse]) -> [(name: String, mediaType: String)] {
        var seen: Set<String> = []
        var scope = NameScope(taken: ["other"])
        var result: [(name: String, mediaType: String)] = []
        for item in responses.flatMap({ $0.body?.cases ?? [] }) where seen.insert(item.mediaType.essence).inserted {
            // Parameters of the media type are part of the name, as they are for the body. They are not part of the
            // header field, because content types are chosen without them.
            result.append((scope.claim(names.contentName(item.mediaType)), item.mediaType.essence))
        }
        return result
    }

}

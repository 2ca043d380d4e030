/// The file of the `server` mode.
struct ServerTranslator {
    let components: OperationTranslator.TranslatedComponents
    let operations: [TranslatedOperation]
    /// How multipart bodies are written and read.
    let multipart: [Declaration]
    let imports: [SwiftImport]
    /// Whether `ContextualAPIProtocol` is declared.
    let hasHandlerContext: Bool

    var file: SwiftFile {
        var declarations = [registration]
        if hasHandlerContext { declarations += contextualProtocol }
        declarations += deprecatedCalls
        for operation in operations {
            declarations.append(coding(of: operation))
        }
        let used = Set(operations.flatMap(\.responses).filter(\.isComponent).map(\.path))
        for (_, response) in components.responseParts.pairs
        where response.hasOwnType && used.contains(response.path) {
            declarations.append(encoder(of: response))
        }
        return SwiftFile(name: "Server.swift", imports: imports, declarations: declarations + multipart)
    }

    // MARK: Registration

    private var registration: Declaration {
        var body: [Statement] = operations.isEmpty ? [] : serverStatements
        for operation in operations {
            body.append(.line("try server.register("))
            body.append(.line("    on: transport,"))
            body += arguments(of: operation, handle: "(handler: Self, input: \(operation.path).Input)")
        }
        return .type(
            TypeDeclaration(
                keyword: .extension,
                name: "APIProtocol",
                members: [
                    .function(
                        FunctionDeclaration(
                            documentation: """
                                Registers a handler for each operation on a transport.
                                - Parameters:
                                  - transport: What receives requests.
                                \(Self.serverParametersDocumentation)
                                """,
                            name: "func registerHandlers",
                            parameters: [Self.transportParameter] + Self.serverParameters,
                            effects: "throws",
                            body: body
                        )
                    )
                ]
            )
        )
    }

    private static let transportParameter = FunctionDeclaration.Parameter(
        label: "on transport",
        type: .any(.runtime("ServerTransport"))
    )

    private static let serverParameters: [FunctionDeclaration.Parameter] = [
        .init(label: "serverURL", type: .url, defaultValue: ".defaultOpenAPIServerURL"),
        .init(label: "configuration", type: .runtime("Configuration"), defaultValue: ".init()"),
        .init(label: "middlewares", type: .array(.any(.runtime("ServerMiddleware"))), defaultValue: "[]"),
    ]

    private static let serverParametersDocumentation = """
          - serverURL: The address whose path comes before the paths of the document.
          - configuration: How values are written.
          - middlewares: What sees each request and response on its way, outermost first.
        """

    /// Statements that create the runtime's server in the variable `server`.
    private var serverStatements: [Statement] {
        [
            .line("let server: OpenAPISwiftRuntime.UniversalServer<Self> = .init("),
            .line("    serverURL: serverURL,"),
            .line("    handler: self,"),
            .line("    configuration: configuration,"),
            .line("    middlewares: middlewares"),
            .line(")"),
        ]
    }

    /// The lines of the arguments that describe an operation to the runtime's server, and of the closing parenthesis.
    private func arguments(of operation: TranslatedOperation, handle parameters: String) -> [Statement] {
        let path = operation.path
        let values = parameters.contains("context:") ? "input, context: context" : "input"
        return [
            .line("    operationID: \(path).id,"),
            .line("    method: \(Snippets.method(operation.operation.method)),"),
            .line("    path: \(stringLiteral(operation.operation.path)),"),
            .line("    decode: \(path).decode,"),
            .line(
                "    handle: { \(parameters) async throws -> \(path).Output in try await \(call(of: operation, values)) },"
            ),
            .line("    encode: \(path).encode"),
            .line(")"),
        ]
    }

    private func call(of operation: TranslatedOperation, _ values: String) -> String {
        operation.operation.isDeprecated
            ? "deprecatedCalls().\(operation.methodName)(handler, \(values))"
            : "handler.\(operation.methodName)(\(values))"
    }

    // MARK: Handlers with a context

    /// A protocol like `APIProtocol` whose methods take a context, and the code that registers its handlers.
    private var contextualProtocol: [Declaration] {
        let contextType: [Declaration] = [
            .text([
                "/// A value that belongs to one request and that every handler is given, such as the authenticated caller.",
                "associatedtype Context: Swift.Sendable",
            ])
        ]
        let requirements: [Declaration] = operations.map { operation in
            .function(
                FunctionDeclaration(
                    documentation: OperationTranslator.documentation(of: operation.operation),
                    attributes: operation.operation.isDeprecated ? ["@available(*, deprecated)"] : [],
                    name: "func \(operation.methodName)",
                    parameters: [
                        .init(label: "_ input", type: .named("\(operation.path).Input")),
                        .init(label: "context", type: .named("Context")),
                    ],
                    effects: "async throws",
                    result: .named("\(operation.path).Output")
                )
            )
        }
        let documentation = "The operations as a server implements them whose handlers take a value of the request."
        return [
            .type(
                TypeDeclaration(
                    documentation: documentation,
                    keyword: .protocol,
                    name: "ContextualAPIProtocol",
                    inherits: [.swift("Sendable")],
                    members: contextType + requirements
                )
            ),
            .type(
                TypeDeclaration(
                    keyword: .extension,
                    name: "ContextualAPIProtocol",
                    members: [contextualRegistration, contextualOperations]
                )
            ),
        ]
    }

    private var contextualRegistration: Declaration {
        .function(
            FunctionDeclaration(
                documentation: """
                    Registers a handler for each operation on a transport.
                    - Parameters:
                      - transport: What receives requests.
                    \(Self.serverParametersDocumentation)
                      - context: Makes the context of each request, after the middlewares and before the request is read.
                    """,
                name: "func registerHandlers",
                parameters: [Self.transportParameter] + Self.serverParameters + [
                    .init(
                        label: "context",
                        type: .modified(
                            .escaping,
                            .member(.runtime("ServerOperation", .named("Context")), "ContextProvider")
                        )
                    )
                ],
                effects: "throws",
                body: [
                    .block(
                        "for operation in try self.operations(serverURL: serverURL, configuration: configuration, middlewares: middlewares)",
                        [.line("try operation.register(on: transport, context: context)")]
                    )
                ]
            )
        )
    }

    private var contextualOperations: Declaration {
        let list: SwiftType = .array(.runtime("ServerOperation", .named("Context")))
        var body: [Statement] = operations.isEmpty ? [] : serverStatements
        body.append(.line("\(operations.isEmpty ? "let" : "var") operations: \(list.text) = []"))
        for operation in operations {
            let mayThrow = !Snippets.isNamedMethod(operation.operation.method)
            body.append(.line("operations.append(\(mayThrow ? "try " : "")server.operation("))
            body += arguments(
                of: operation,
                handle: "(handler: Self, input: \(operation.path).Input, context: Context)"
            )
            body[body.count - 1] = .line("))")
        }
        body.append(.line("return operations"))
        return .function(
            FunctionDeclaration(
                documentation: """
                    The operations with their handlers, for a program that routes requests itself and calls
                    `respond(to:body:metadata:context:)`.
                    - Parameters:
                    \(Self.serverParametersDocumentation)
                    """,
                name: "func operations",
                parameters: Self.serverParameters,
                effects: "throws",
                result: list,
                body: body
            )
        )
    }

    // MARK: Deprecated operations

    /// Declarations with which a server calls deprecated operations without a warning.
    ///
    /// A deprecated function can call another one without a warning. It can itself be called without a warning through
    /// a protocol that is not deprecated.
    private var deprecatedCalls: [Declaration] {
        var requirements: [String] = []
        var functions: [String] = []
        func add(_ head: String, calling call: String) {
            requirements.append("    \(head)")
            functions += ["    @available(*, deprecated)", "    \(head) {", "        try await \(call)", "    }"]
        }
        for operation in operations where operation.operation.isDeprecated {
            let name = operation.methodName
            let path = operation.path
            add(
                "static func \(name)<API: APIProtocol>(_ handler: API, _ input: \(path).Input) async throws -> \(path).Output",
                calling: "handler.\(name)(input)"
            )
            guard hasHandlerContext else { continue }
            add(
                "static func \(name)<API: ContextualAPIProtocol>(_ handler: API, _ input: \(path).Input, context: API.Context) async throws -> \(path).Output",
                calling: "handler.\(name)(input, context: context)"
            )
        }
        guard !requirements.isEmpty else { return [] }
        return [
            .text(["private protocol DeprecatedCalls {"] + requirements + ["}"]),
            .text(["private enum DeprecatedCallers: DeprecatedCalls {"] + functions + ["}"]),
            .text(["private func deprecatedCalls() -> any DeprecatedCalls.Type {", "    DeprecatedCallers.self", "}"]),
        ]
    }

    // MARK: Requests

    /// The extension of an operation that reads its input and writes its output.
    private func coding(of operation: TranslatedOperation) -> Declaration {
        .type(
            TypeDeclaration(
                keyword: .extension,
                name: operation.path,
                members: [inputDecoder(of: operation), outputEncoder(of: operation)]
            )
        )
    }

    private func inputDecoder(of operation: TranslatedOperation) -> Declaration {
        var body: [Statement] = []
        var arguments: [String] = []
        let input = "\(operation.path).Input"
        if !operation.pathFields.isEmpty {
            body += reads(operation.pathFields, into: "path", as: "\(input).Path") { field in
                "try request.path(\(stringLiteral(field.key)), \(field.shape), \(Snippets.typeArgument(field.type))"
                    + "\(field.isPrefixed ? field.styleArguments : ""))"
            }
            arguments.append("path: path")
        }
        if !operation.queryFields.isEmpty {
            body += reads(operation.queryFields, into: "query", as: "\(input).Query") { field in
                field.isQueryString
                    ? readQueryString(field) : read(field, from: "query")
            }
            arguments.append("query: query")
        }
        if operation.hasHeaders {
            body += headers(of: operation)
            arguments.append("headers: headers")
        }
        if !operation.cookieFields.isEmpty {
            body += reads(operation.cookieFields, into: "cookies", as: "\(input).Cookies") {
                (field: TranslatedParameter) in
                read(field, from: "cookie")
            }
            arguments.append("cookies: cookies")
        }
        if let requestBody = operation.body {
            if operation.isBodyRequired {
                body += bodyReads(requestBody, from: "request")
            } else {
                let reads: [Statement] = bodyReads(requestBody, from: "request").map { statement in
                    // The variable is declared before the condition.
                    if case .line(let text) = statement, text.hasPrefix("let body: ") {
                        guard let equals = text.firstIndex(of: "=") else { return .line("") }
                        return .line("body \(text[equals...])")
                    }
                    return statement
                }
                body.append(.line("var body: \(requestBody.path)? = nil"))
                body.append(
                    .block(
                        "if request.hasBody",
                        reads.filter { if case .line("") = $0 { false } else { true } }
                    )
                )
            }
            arguments.append("body: body")
        }
        body.append(.line("return Input(\(arguments.joined(separator: ", ")))"))
        return .function(
            FunctionDeclaration(
                attributes: ["@Sendable"],
                access: .fileprivate,
                modifiers: "static ",
                name: "func decode",
                parameters: [.init(label: "_ request", type: .runtime("ServerRequest"))],
                effects: "throws",
                result: .named("Input"),
                body: body
            )
        )
    }

    /// An expression that reads a parameter that has a style.
    private func read(_ field: TranslatedParameter, from location: String) -> String {
        "try request.\(field.type.isOptional ? "parameter" : "requiredParameter")(.\(location), \(stringLiteral(field.key)), \(field.shape), \(Snippets.typeArgument(field.type.unwrapped))\(field.styleArguments))"
    }

    /// An expression that reads the whole query.
    private func readQueryString(_ field: TranslatedParameter) -> String {
        let call: String
        switch (field.isJSON, field.type.isOptional) {
        case (true, true): call = "jsonQuery"
        case (true, false): call = "requiredJSONQuery"
        case (false, true): call = "formQuery"
        case (false, false): call = "requiredFormQuery"
        }
        let shape = field.isJSON ? "" : "\(field.shape), "
        return
            "try request.\(call)(\(stringLiteral(field.key)), \(shape)\(Snippets.typeArgument(field.type.unwrapped))\(field.memberStyles))"
    }

    private func reads(
        _ fields: [TranslatedParameter],
        into name: String,
        as type: String,
        _ read: (TranslatedParameter) -> String
    ) -> [Statement] {
        var statements: [Statement] = [.line("let \(name) = \(type)(")]
        for (index, field) in fields.enumerated() {
            statements.append(
                .line("    \(escaped(field.name)): \(read(field))\(index + 1 < fields.count ? "," : "")")
            )
        }
        statements.append(.line(")"))
        return statements
    }

    private func headers(of operation: TranslatedOperation) -> [Statement] {
        let type = "\(operation.path).Input.Headers"
        guard !operation.acceptable.isEmpty else {
            return headerReads(operation.headerFields, from: "request", as: type)
        }
        var statements = headerReads(operation.headerFields, from: "request", as: type)
        statements.removeLast()
        if !operation.headerFields.isEmpty, case .line(let text)? = statements.popLast() {
            statements.append(.line("\(text),"))
        }
        statements.append(.line("    accept: try request.accept()"))
        statements.append(.line(")"))
        return statements
    }

    // MARK: Responses

    private func outputEncoder(of operation: TranslatedOperation) -> Declaration {
        var cases = operation.responses.map(encoding)
        if !operation.hasDefault {
            cases.append(
                .label(
                    "case .undocumented(let statusCode, let payload):",
                    [.line("response.setUndocumented(statusCode, payload)")]
                )
            )
        }
        return .function(
            FunctionDeclaration(
                attributes: ["@Sendable"],
                access: .fileprivate,
                modifiers: "static ",
                name: "func encode",
                parameters: [
                    .init(label: "_ output", type: .named("Output")),
                    .init(label: "into response", type: .inout(.runtime("ServerResponse"))),
                ],
                effects: "throws",
                body: [.block("switch output", cases)]
            )
        )
    }

    /// The case of a response with the statements that write it.
    private func encoding(of response: TranslatedResponse) -> Statement {
        let name = escaped(response.caseName)
        let status: String
        var bindings: [String] = []
        if case .code(let code) = response.status {
            status = String(code)
        } else {
            status = "statusCode"
            bindings.append("let statusCode")
        }
        bindings.append(response.isEmpty ? "_" : "let value")
        let pattern: String =
            bindings == ["_"] ? "case .\(name):" : "case .\(name)(\(bindings.joined(separator: ", "))):"
        if response.isEmpty { return .label(pattern, [.line("response.setStatus(\(status))")]) }
        if response.isJSONResponse { return .label(pattern, [.line("try response.set(\(status), value)")]) }
        let write: [Statement] =
            response.isComponent
            ? [.line("try value.encode(into: &response)")] : payloadWrites(of: response, "value")
        return .label(pattern, [.line("response.setStatus(\(status))")] + write)
    }

    /// Statements that write the parts of a response.
    private func payloadWrites(of response: TranslatedResponse, _ payload: String) -> [Statement] {
        var statements: [Statement] = response.headers.map { field in
            .line(addHeader(field, of: "\(payload).headers.\(escaped(field.name))", to: "response"))
        }
        guard let body = response.body else { return statements }
        if body.isJSONBody {
            statements.append(.line("try response.setBody(\(payload).body)"))
            return statements
        }
        let cases: [Statement] = body.cases.map { item in
            .label("case .\(escaped(item.name))(let value):", [.line(setBody(item, of: "response"))])
        }
        statements.append(.block("switch \(payload).body", cases))
        return statements
    }

    /// The extension of a response component that writes it, for all operations that share it.
    private func encoder(of response: TranslatedResponse) -> Declaration {
        .type(
            TypeDeclaration(
                keyword: .extension,
                name: response.path,
                members: [
                    .function(
                        FunctionDeclaration(
                            access: .fileprivate,
                            name: "func encode",
                            parameters: [
                                .init(label: "into response", type: .inout(.runtime("ServerResponse")))
                            ],
                            effects: "throws",
                            body: payloadWrites(of: response, "self")
                        )
                    )
                ]
            )
        )
    }
}

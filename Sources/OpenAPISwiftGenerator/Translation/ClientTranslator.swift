/// The file of the `client` mode.
struct ClientTranslator {
    let components: OperationTranslator.TranslatedComponents
    let operations: [TranslatedOperation]
    /// How multipart bodies are written and read.
    let multipart: [Declaration]
    let imports: [SwiftImport]
    /// The operations that have a second method, which leaves reading the body of a success to the caller.
    let bufferedResponses: OperationSelection

    var file: SwiftFile {
        var declarations: [Declaration] = [client]
        for operation in operations {
            declarations.append(coding(of: operation))
        }
        let used = Set(operations.flatMap(\.responses).filter(\.isComponent).map(\.path))
        for (_, response) in components.responseParts.pairs
        where response.hasOwnType && used.contains(response.path) {
            declarations.append(decoder(of: response))
        }
        return SwiftFile(name: "Client.swift", imports: imports, declarations: declarations + multipart)
    }

    // MARK: The client

    private var client: Declaration {
        var members: [Declaration] = [
            .property(
                PropertyDeclaration(
                    access: .private,
                    isConstant: true,
                    name: "__client",
                    type: .runtime("UniversalClient")
                )
            ),
            .function(
                FunctionDeclaration(
                    documentation: """
                        Creates a client.
                        - Parameters:
                          - serverURL: The address of the server; the members of `Servers` hold those of the document.
                          - configuration: How values are written.
                          - transport: What carries requests.
                          - middlewares: What sees each request and response on its way, outermost first.
                        """,
                    name: "init",
                    parameters: [
                        .init(label: "serverURL", type: .url),
                        .init(
                            label: "configuration",
                            type: .runtime("Configuration"),
                            defaultValue: ".init()"
                        ),
                        .init(label: "transport", type: .any(.runtime("ClientTransport"))),
                        .init(
                            label: "middlewares",
                            type: .array(.any(.runtime("ClientMiddleware"))),
                            defaultValue: "[]"
                        ),
                    ],
                    body: [
                        .line("self.__client = .init("),
                        .line("    serverURL: serverURL,"),
                        .line("    configuration: configuration,"),
                        .line("    transport: transport,"),
                        .line("    middlewares: middlewares"),
                        .line(")"),
                    ]
                )
            ),
        ]
        for operation in operations {
            members.append(method(of: operation))
            if isBuffered(operation) { members.append(bufferedMethod(of: operation)) }
        }
        return .type(
            TypeDeclaration(
                documentation: "Calls the operations over a transport.",
                keyword: .structure,
                name: "Client",
                inherits: [.named("APIProtocol")],
                members: members
            )
        )
    }

    private func method(of operation: TranslatedOperation) -> Declaration {
        call(
            operation,
            documentation: OperationTranslator.documentation(of: operation.operation),
            label: "_",
            output: "Output",
            send: "send",
            decode: "decode"
        )
    }

    private func bufferedMethod(of operation: TranslatedOperation) -> Declaration {
        call(
            operation,
            documentation: """
                Calls `\(operation.methodName)` and leaves the body of a success to the caller, in memory and not read.

                \(OperationTranslator.remark(of: operation.operation))
                """,
            label: "buffering",
            output: Self.bufferedOutput,
            send: "sendBuffered",
            decode: "decodeBuffered"
        )
    }

    private func call(
        _ operation: TranslatedOperation,
        documentation: String,
        label: String,
        output: String,
        send: String,
        decode: String
    ) -> Declaration {
        let path = operation.path
        return .function(
            FunctionDeclaration(
                documentation: documentation,
                attributes: operation.operation.isDeprecated ? ["@available(*, deprecated)"] : [],
                name: "func \(operation.methodName)",
                parameters: [.init(label: "\(label) input", type: .named("\(path).Input"))],
                effects: "async throws",
                result: .named("\(path).\(output)"),
                body: [
                    .line("try await self.__client.\(send)("),
                    .line("    input,"),
                    .line("    operationID: \(path).id,"),
                    .line("    method: \(Snippets.method(operation.operation.method)),"),
                    .line("    encode: \(path).encode,"),
                    .line("    decode: \(path).\(decode)"),
                    .line(")"),
                ]
            )
        )
    }

    // MARK: Reading and writing

    /// The extension of an operation that writes its input and reads its output.
    private func coding(of operation: TranslatedOperation) -> Declaration {
        var members = [inputEncoder(of: operation), outputDecoder(of: operation)]
        if isBuffered(operation) { members += [bufferedOutput(of: operation), bufferedOutputDecoder(of: operation)] }
        return .type(TypeDeclaration(keyword: .extension, name: operation.path, members: members))
    }

    // MARK: Responses whose body the caller reads

    private static let bufferedOutput = "BufferedOutput"

    private func isBuffered(_ operation: TranslatedOperation) -> Bool {
        switch bufferedResponses {
        case .all: operation.isBufferable
        case .named(let names): operation.isBufferable && names.contains(operation.operation.documentName)
        }
    }

    private func bufferedOutput(of operation: TranslatedOperation) -> Declaration {
        OutputDeclaration(
            name: Self.bufferedOutput,
            conformance: .swift("Sendable"),
            otherCase: .enumCase(
                documentation: "Any other response, as the usual call returns it.",
                name: "other",
                values: [AssociatedValue(.named("Output"))]
            ),
            responses: operation.responses.filter(\.isBufferable).map(\.buffered)
        )
        .declaration(nested: [])
    }

    private func bufferedOutputDecoder(of operation: TranslatedOperation) -> Declaration {
        // Exact statuses come before the range, in any order of the document. An exact status whose body is not left to
        // the caller needs a case only where the range includes it.
        var exact: [Statement] = []
        var range: [Statement] = []
        let other = [Statement.line("return .other(try decode(response))")]
        let hasRange = operation.responses.contains { $0.isBufferable && $0.status == .range(2) }
        for response in operation.responses {
            switch (response.status, response.isBufferable) {
            case (.code(let code), true): exact.append(.label("case \(code):", bufferedResult(response, "")))
            case (.code(let code), false): if hasRange { exact.append(.label("case \(code):", other)) }
            case (.range, true):
                range.append(.label("case 200...299:", bufferedResult(response, "statusCode: response.statusCode, ")))
            case (.range, false), (.default, _): break
            }
        }
        return .function(
            FunctionDeclaration(
                access: .fileprivate,
                modifiers: "static ",
                name: "func decodeBuffered",
                parameters: [
                    .init(label: "_ response", type: .runtime("ClientResponse")),
                    .init(label: "_ call", type: .runtime("BufferedBody.Call")),
                ],
                effects: "throws",
                result: .named(Self.bufferedOutput),
                body: [
                    .block("switch response.statusCode", exact + range + [.label("default:", other)])
                ]
            )
        )
    }

    /// Statements that return the case of a response whose body is left to the caller.
    private func bufferedResult(_ response: TranslatedResponse, _ statusCode: String) -> [Statement] {
        let hasHeaders = !response.headers.isEmpty
        let contentType = stringLiteral(response.body?.cases.first?.mediaType.normalized ?? "")
        let headers = hasHeaders ? "headers" : "response.headerFields"
        let buffered = "try response.buffered(\(contentType), headers: \(headers), for: call)"
        return (hasHeaders ? headerReads(response.headers, from: "response", as: "\(response.path).Headers") : [])
            + [.line("return .\(escaped(response.caseName))(\(statusCode)\(buffered))")]
    }

    // MARK: Requests

    private func inputEncoder(of operation: TranslatedOperation) -> Declaration {
        var body: [Statement] = []
        for part in PathTemplate(operation.operation.path).parts {
            switch part {
            case .literal(let text): body.append(.line("request.addPath(\(stringLiteral(text)))"))
            case .placeholder(let name):
                guard let field = operation.pathFields.first(where: { $0.key == name }) else {
                    // The operation has an error.
                    continue
                }
                let value = argument(field, "input.path.\(field.access)")
                let style =
                    field.isJSON
                    ? ", style: .json"
                    : field.isPrefixed ? ", named: \(stringLiteral(field.key))\(field.styleArguments)" : ""
                body.append(.line("try request.addPath(parameter: \(value)\(style))"))
            }
        }
        for field in operation.queryFields {
            let value = argument(field, "input.query.\(field.access)")
            if field.isQueryString {
                let call = field.isJSON ? "setJSONQuery" : "setFormQuery"
                body.append(.line("try request.\(call)(\(value)\(field.memberStyles))"))
            } else {
                body.append(
                    .line("try request.add(.query, \(stringLiteral(field.key)), \(value)\(field.styleArguments))")
                )
            }
        }
        for field in operation.headerFields {
            body.append(.line(addHeader(field, of: "input.headers.\(field.access)", to: "request")))
        }
        for field in operation.cookieFields {
            let value = argument(field, "input.cookies.\(field.access)")
            body.append(.line("try request.add(.cookie, \(stringLiteral(field.key)), \(value)\(field.styleArguments))"))
        }
        if !operation.acceptable.isEmpty { body.append(.line("request.setAccept(input.headers.accept)")) }
        if let requestBody = operation.body { body += setBody(requestBody, isRequired: operation.isBodyRequired) }
        return .function(
            FunctionDeclaration(
                access: .fileprivate,
                modifiers: "static ",
                name: "func encode",
                parameters: [
                    .init(label: "_ input", type: .named("Input")),
                    .init(label: "into request", type: .inout(.runtime("ClientRequest"))),
                ],
                effects: "throws",
                body: body
            )
        )
    }

    private func setBody(_ requestBody: TranslatedBody, isRequired: Bool) -> [Statement] {
        if requestBody.isJSONBody {
            return [
                .line(
                    isRequired
                        ? "try request.setBody(input.body)" : "if let body = input.body { try request.setBody(body) }"
                )
            ]
        }
        var cases: [Statement] = requestBody.cases.map { item in
            .label(
                "case .\(escaped(item.name))(let value)\(isRequired ? "" : "?"):",
                [.line(OpenAPISwiftGenerator.setBody(item, of: "request"))]
            )
        }
        if !isRequired { cases.append(.label("case nil:", [.line("break")])) }
        return [.block("switch input.body", cases)]
    }

    // MARK: Responses

    private func outputDecoder(of operation: TranslatedOperation) -> Declaration {
        // Exact statuses come before ranges, in any order of the document.
        var exact: [Statement] = []
        var ranges: [Statement] = []
        var last: [Statement] = [
            .line("return .undocumented(statusCode: response.statusCode, response.undocumentedPayload)")
        ]
        for response in operation.responses {
            let statusCode = "statusCode: response.statusCode, "
            switch response.status {
            case .code(let code): exact.append(.label("case \(code):", result(response, "")))
            case .range(let digit):
                ranges.append(.label("case \(digit)00...\(digit)99:", result(response, statusCode)))
            case .default: last = result(response, statusCode)
            }
        }
        let cases = exact + ranges
        return .function(
            FunctionDeclaration(
                access: .fileprivate,
                modifiers: "static ",
                name: "func decode",
                parameters: [.init(label: "_ response", type: .runtime("ClientResponse"))],
                effects: "throws",
                result: .named("Output"),
                body: cases.isEmpty
                    ? last : [.block("switch response.statusCode", cases + [.label("default:", last)])]
            )
        )
    }

    /// Statements that return the case of a response.
    private func result(_ response: TranslatedResponse, _ statusCode: String) -> [Statement] {
        let name = escaped(response.caseName)
        if response.isEmpty { return [.line("return .\(name)(\(statusCode).init())")] }
        if response.isJSONResponse {
            return [.line("return .\(name)(\(statusCode)try response.jsonResponse())")]
        }
        if response.isComponent {
            return [.line("return .\(name)(\(statusCode)try \(response.path).decode(from: response))")]
        }
        let (reads, arguments) = payloadReads(of: response)
        return reads + [.line("return .\(name)(\(statusCode)\(response.path)(\(arguments)))")]
    }

    /// Statements that read the parts of a response, and the arguments that create its payload from these parts.
    private func payloadReads(of response: TranslatedResponse) -> (statements: [Statement], arguments: String) {
        var statements: [Statement] = []
        var arguments: [String] = []
        if !response.headers.isEmpty {
            statements += headerReads(response.headers, from: "response", as: "\(response.path).Headers")
            arguments.append("headers: headers")
        }
        if let body = response.body {
            statements += bodyReads(body, from: "response")
            arguments.append("body: body")
        }
        return (statements, arguments.joined(separator: ", "))
    }

    /// The extension of a response component that reads it, for all operations that share it.
    private func decoder(of response: TranslatedResponse) -> Declaration {
        let (reads, arguments) = payloadReads(of: response)
        return .type(
            TypeDeclaration(
                keyword: .extension,
                name: response.path,
                members: [
                    .function(
                        FunctionDeclaration(
                            access: .fileprivate,
                            modifiers: "static ",
                            name: "func decode",
                            parameters: [.init(label: "from response", type: .runtime("ClientResponse"))],
                            effects: "throws",
                            result: .ownType,
                            body: reads + [.line("return Self(\(arguments))")]
                        )
                    )
                ]
            )
        )
    }
}

// MARK: What client and server share

/// A value as an argument of an encoding function. A closure follows when the type's own conformance cannot write it.
func argument(_ field: TranslatedParameter, _ value: String) -> String {
    let type: SwiftType = field.type.unwrapped
    return type.needsClosure ? "\(value), \(Snippets.writerClosure(type))" : value
}

/// A statement that adds a header field.
func addHeader(_ field: TranslatedParameter, of value: String, to message: String) -> String {
    let function: String = field.isJSON ? "addJSONHeader" : "addHeader"
    return "try \(message).\(function)(\(stringLiteral(field.key)), \(argument(field, value)))"
}

/// A statement that sets the body to `value`.
func setBody(_ item: TranslatedBody.Case, of message: String) -> String {
    let closure: String = item.type.needsClosure ? ", \(Snippets.writerClosure(item.type))" : ""
    let contentType: String = item.mediaType.normalized
    switch item.coding {
    case .json:
        return
            "try \(message).setJSONBody(value, contentType: \(stringLiteral(item.mediaType.withCharset))\(closure))"
    case .form:
        return "try \(message).setFormBody(value, contentType: \(stringLiteral(contentType))\(closure)\(item.styles))"
    case .multipart, .raw:
        if let parts = item.multipart { return parts.write(to: message, contentType: contentType) }
        return "try \(message).setBody(value, contentType: \(stringLiteral(contentType)))"
    }
}

/// Statements that read header fields into `headers`.
func headerReads(_ fields: [TranslatedParameter], from message: String, as type: String) -> [Statement] {
    var statements: [Statement] = [.line("let headers: \(type) = .init(")]
    for (index, field) in fields.enumerated() {
        let function: String
        switch (field.isJSON, field.type.isOptional) {
        case (true, true): function = "jsonHeader"
        case (true, false): function = "requiredJsonHeader"
        case (false, true): function = "header"
        case (false, false): function = "requiredHeader"
        }
        let read = Snippets.call(
            "try \(message).\(function)",
            [stringLiteral(field.key)] + (field.isJSON ? [] : [field.shape]),
            reading: field.type.unwrapped,
            isOptional: field.type.isOptional
        )
        statements.append(.line("    \(escaped(field.name)): \(read)\(index + 1 < fields.count ? "," : "")"))
    }
    statements.append(.line(")"))
    return statements
}

/// Statements that read a body into `body`.
func bodyReads(_ body: TranslatedBody, from message: String) -> [Statement] {
    if body.isJSONBody { return [.line("let body: \(body.path) = try \(message).jsonBody()")] }
    let names: [String] = body.cases.map { stringLiteral($0.mediaType.normalized) }
    func value(_ item: TranslatedBody.Case) -> String {
        switch item.coding {
        case .json: return Snippets.call("try \(message).json", reading: item.type)
        case .form: return "try \(message).form(\(item.shape), \(Snippets.typeArgument(item.type))\(item.styles))"
        case .multipart, .raw: return item.multipart?.read(from: message) ?? "try \(message).rawBody()"
        }
    }
    if body.cases.count == 1, let item = body.cases.first {
        return [
            .line("try \(message).requireContentType(\(names[0]))"),
            .line("let body: \(body.path) = .\(escaped(item.name))(\(value(item)))"),
        ]
    }
    var cases: [Statement] = []
    for (index, item) in body.cases.enumerated() {
        let label = index + 1 < body.cases.count ? "case \(index):" : "default:"
        cases.append(.label(label, [.line("body = .\(escaped(item.name))(\(value(item)))")]))
    }
    return [
        .line("let body: \(body.path)"),
        .block("switch try \(message).matchContentType([\(names.joined(separator: ", "))])", cases),
    ]
}

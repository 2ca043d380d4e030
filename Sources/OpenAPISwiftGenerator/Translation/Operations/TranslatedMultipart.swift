/// A multipart body: the enum of its parts.
struct TranslatedMultipart: Sendable {
    struct Part: Sendable {
        /// The name on the wire.
        var name: String
        var caseName: String
        /// The full name of the payload.
        var payload: String
        var headers: [TranslatedParameter]
        var body: Body
        /// The case of `MultipartRequirements.Occurrence`.
        var occurrence: String
    }

    /// The bytes of a part.
    struct Body: Sendable {
        var mediaType: MediaTypeName
        var type: SwiftType
    }

    /// What happens to parts that the document does not name.
    enum Others: Sendable {
        case undocumented
        case other
        case refused
        case typed(Body)

        /// The case of the enum.
        var caseName: String? {
            switch self {
            case .undocumented: "undocumented"
            case .other: "other"
            case .refused: nil
            case .typed: "additionalProperties"
            }
        }
    }

    /// The full name of the enum.
    var path: String
    var parts: [Part]
    var others: Others
}

// MARK: Reading and writing

extension TranslatedMultipart {
    /// An expression that reads the parts of a message.
    func read(from message: String) -> String {
        "try \(message).multipart(\(path).partRequirements(), { (part: OpenAPISwiftRuntime.MultipartPartReader) throws -> \(path) in try \(path).decode(part: part) })"
    }

    /// A statement that sets the parts of a message.
    func write(to message: String, contentType: String) -> String {
        "try \(message).setMultipartBody(value, contentType: \(stringLiteral(contentType)), \(path).partRequirements(), { (part: \(path), writer: inout OpenAPISwiftRuntime.MultipartPartWriter) throws -> Swift.Void in try part.encode(part: &writer) })"
    }

    /// The extensions with which a file writes some multipart bodies and reads others.
    static func extensions(writing written: [TranslatedBody], reading read: [TranslatedBody]) -> [Declaration] {
        let all = (written + read).flatMap(\.cases).compactMap(\.multipart)
        let writtenPaths: Set<String> = Set(written.flatMap(\.cases).compactMap(\.multipart?.path))
        let readPaths: Set<String> = Set(read.flatMap(\.cases).compactMap(\.multipart?.path))
        var seen: Set<String> = []
        return all.filter { seen.insert($0.path).inserted }.map { body in
            var members: [Declaration] = [body.requirements]
            if readPaths.contains(body.path) { members.append(body.decoder) }
            if writtenPaths.contains(body.path) { members.append(body.encoder) }
            return .type(TypeDeclaration(keyword: .extension, name: body.path, members: members))
        }
    }

    private var requirements: Declaration {
        let list = parts.map { "(name: \(stringLiteral($0.name)), occurrence: .\($0.occurrence))" }
            .joined(separator: ", ")
        let isClosed: Bool = if case .refused = others { true } else { false }
        return .function(
            FunctionDeclaration(
                access: .fileprivate,
                modifiers: "static ",
                name: "func partRequirements",
                result: .runtime("MultipartRequirements"),
                body: [.line(".init([\(list)], allowsOtherParts: \(!isClosed))")]
            )
        )
    }

    private var decoder: Declaration {
        var cases: [Statement] = parts.map { part in
            var lines: [Statement] = [
                .line("try part.requireContentType(\(stringLiteral(part.body.mediaType.normalized)))")
            ]
            var arguments: [String] = []
            if !part.headers.isEmpty {
                lines += headerReads(part.headers, from: "part", as: "\(part.payload).Headers")
                arguments.append("headers: headers")
            }
            arguments.append("body: \(part.body.read)")
            lines.append(.line("let payload: \(part.payload) = .init(\(arguments.joined(separator: ", ")))"))
            lines.append(
                .line("return .\(escaped(part.caseName))(.init(payload: payload, filename: part.filename))")
            )
            return .label("case \(stringLiteral(part.name)):", lines)
        }
        let last: [Statement]
        switch others {
        case .undocumented, .other: last = [.line("return .\(others.caseName ?? "")(part.rawPart)")]
        case .refused:
            last = [.line("throw part.unexpectedPart()")]
        case .typed(let body):
            last = [
                .line("try part.requireContentType(\(stringLiteral(body.mediaType.normalized)))"),
                .line(
                    "return .additionalProperties(.init(payload: \(body.read), filename: part.filename, name: part.name))"
                ),
            ]
        }
        if cases.isEmpty {
            cases = last
        } else {
            cases = [.block("switch part.name", cases + [.label("default:", last)])]
        }
        return .function(
            FunctionDeclaration(
                access: .fileprivate,
                modifiers: "static ",
                name: "func decode",
                parameters: [.init(label: "part", type: .runtime("MultipartPartReader"))],
                effects: "throws",
                result: .ownType,
                body: cases
            )
        )
    }

    private var encoder: Declaration {
        var cases: [Statement] = parts.map { part in
            var lines: [Statement] = [.line("writer.setName(\(stringLiteral(part.name)), filename: part.filename)")]
            lines += part.headers.map { field in
                .line(addHeader(field, of: "part.payload.headers.\(escaped(field.name))", to: "writer"))
            }
            lines.append(.line(part.body.write("part.payload.body")))
            return .label("case .\(escaped(part.caseName))(let part):", lines)
        }
        switch others {
        case .undocumented, .other:
            cases.append(
                .label("case .\(others.caseName ?? "")(let part):", [.line("writer.setRawPart(part)")])
            )
        case .refused: break
        case .typed(let body):
            cases.append(
                .label(
                    "case .additionalProperties(let part):",
                    [
                        .line("writer.setName(part.name, filename: part.filename)"),
                        .line(body.write("part.payload")),
                    ]
                )
            )
        }
        return .function(
            FunctionDeclaration(
                access: .fileprivate,
                name: "func encode",
                parameters: [.init(label: "part writer", type: .inout(.runtime("MultipartPartWriter")))],
                effects: "throws",
                body: [.block("switch self", cases)]
            )
        )
    }
}

extension TranslatedMultipart.Body {
    /// An expression that reads the body of `part`.
    fileprivate var read: String {
        mediaType.coding == .json ? Snippets.call("try part.json", reading: type) : "try part.rawBody()"
    }

    /// A statement that sets the body of `writer`.
    fileprivate func write(_ value: String) -> String {
        guard mediaType.coding == .json else {
            return "try writer.setBody(\(value), contentType: \(stringLiteral(mediaType.normalized)))"
        }
        let closure = type.needsClosure ? ", \(Snippets.writerClosure(type))" : ""
        return "try writer.setJSONBody(\(value), contentType: \(stringLiteral(mediaType.withCharset))\(closure))"
    }
}

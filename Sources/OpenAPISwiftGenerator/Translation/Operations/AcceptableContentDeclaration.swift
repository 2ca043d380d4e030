/// `AcceptableContentType` of an operation: a case for each media type of its responses, and one for any other.
struct AcceptableContentDeclaration {
    var types: [(name: String, mediaType: String)]

    var declaration: Declaration {
        var members: [Declaration] = types.map { name, mediaType in
            .enumCase(documentation: nil, name: escaped(name))
        }
        members.append(.enumCase(documentation: nil, name: "other", values: [AssociatedValue(.string)]))
        let fromText: [Statement] =
            types.map { name, mediaType in
                .label("case \(stringLiteral(mediaType)):", [.line("self = .\(escaped(name))")])
            } + [.label("default:", [.line("self = .other(rawValue)")])]
        let toText: [Statement] =
            types.map { name, mediaType in
                .label("case .\(escaped(name)):", [.line("return \(stringLiteral(mediaType))")])
            } + [.label("case .other(let text):", [.line("return text")])]
        members.append(
            .function(
                FunctionDeclaration(
                    name: "init?",
                    parameters: [.init(label: "rawValue", type: .string)],
                    body: [.block("switch rawValue.lowercased()", fromText)]
                )
            )
        )
        members.append(
            .property(
                PropertyDeclaration(name: "rawValue", type: .string, body: [.block("switch self", toText)])
            )
        )
        let all = types.map { ".\(escaped($0.name))" }
        members.append(
            .property(
                PropertyDeclaration(
                    modifiers: "static ",
                    name: "allCases",
                    type: .array(.ownType),
                    body: [.line("[\(all.joined(separator: ", "))]")]
                )
            )
        )
        return .type(
            TypeDeclaration(
                keyword: .enumeration,
                name: "AcceptableContentType",
                inherits: [.runtime("AcceptableProtocol")],
                members: members
            )
        )
    }
}

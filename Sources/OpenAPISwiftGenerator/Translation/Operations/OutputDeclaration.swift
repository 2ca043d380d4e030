/// `Output` of an operation: a case and a throwing property for each response.
struct OutputDeclaration {
    var name = "Output"
    var conformance: SwiftType = .runtime("OperationValue")
    /// The case for all other responses. If it is `nil`, there is a case for undocumented responses, unless the
    /// document describes every status.
    var otherCase: Declaration?
    let responses: [TranslatedResponse]

    func declaration(nested: [Declaration]) -> Declaration {
        var members = nested
        for response in responses {
            let name = escaped(response.caseName)
            switch response.status {
            case .code:
                members.append(
                    .enumCase(
                        documentation: response.documentation,
                        name: name,
                        values: [AssociatedValue(response.payload)]
                    )
                )
                if response.isEmpty {
                    members.append(
                        .property(
                            PropertyDeclaration(
                                modifiers: "static ",
                                name: name,
                                type: .ownType,
                                body: [.line(".\(name)(.init())")]
                            )
                        )
                    )
                }
            case .range, .default:
                members.append(
                    .enumCase(
                        documentation: response.documentation,
                        name: name,
                        values: [AssociatedValue(.int, label: "statusCode"), AssociatedValue(response.payload)]
                    )
                )
            }
        }
        let hasDefault = responses.contains { $0.status == .default }
        if let otherCase {
            members.append(otherCase)
        } else if !hasDefault {
            members.append(
                .enumCase(
                    documentation: "A response that the document does not describe.",
                    name: "undocumented",
                    values: [
                        AssociatedValue(.int, label: "statusCode"), AssociatedValue(.runtime("UndocumentedPayload")),
                    ]
                )
            )
        }
        for response in responses {
            members.append(getter(for: response, isOnly: hasDefault && responses.count == 1))
        }
        return .type(
            TypeDeclaration(
                keyword: .enumeration,
                name: name,
                inherits: [conformance],
                members: members
            )
        )
    }

    private func getter(for response: TranslatedResponse, isOnly: Bool) -> Declaration {
        let name = escaped(response.caseName)
        let pattern: String
        switch response.status {
        case .code: pattern = "case .\(name)(let response)"
        case .range, .default: pattern = "case .\(name)(_, let response)"
        }
        var cases: [Statement] = [.label("\(pattern):", [.line("return response")])]
        if !isOnly {
            cases.append(
                .label(
                    "default:",
                    [
                        .line(
                            "throw OpenAPISwiftRuntime.unexpectedResponse(expected: \(stringLiteral(response.caseName)), found: self)"
                        )
                    ]
                )
            )
        }
        return .property(
            PropertyDeclaration(
                name: name,
                type: response.payload,
                effects: "throws",
                body: [.block("switch self", cases)]
            )
        )
    }
}

/// The enum of a body: a case and a throwing property for each media type.
struct BodyDeclaration {
    var name: String
    /// The types of its cases that are declared inside of it.
    var nested: [Declaration]
    var cases: [TranslatedBody.Case]

    var declaration: Declaration {
        var members = nested
        for item in self.cases {
            members.append(
                .enumCase(
                    documentation: "`\(item.contentType)`",
                    name: escaped(item.name),
                    values: [AssociatedValue(item.type)]
                )
            )
        }
        for item in self.cases {
            var cases: [Statement] = [.label("case .\(escaped(item.name))(let body):", [.line("return body")])]
            if self.cases.count > 1 {
                cases.append(
                    .label(
                        "default:",
                        [
                            .line(
                                "throw OpenAPISwiftRuntime.unexpectedBody(expected: \(stringLiteral(item.name)), found: self)"
                            )
                        ]
                    )
                )
            }
            members.append(
                .property(
                    PropertyDeclaration(
                        name: escaped(item.name),
                        type: item.type,
                        effects: "throws",
                        body: [.block("switch self", cases)]
                    )
                )
            )
        }
        return .type(
            TypeDeclaration(
                keyword: .enumeration,
                name: name,
                inherits: [.runtime("OperationValue")],
                members: members
            )
        )
    }
}

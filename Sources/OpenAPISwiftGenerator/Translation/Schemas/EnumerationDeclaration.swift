/// The type of an enumeration.
struct EnumerationDeclaration {
    struct Case {
        /// The name of the case, as it is written.
        var name: String
        var literal: String
        var documentation: String?
    }

    var name: String
    var documentation: String?
    /// `Swift.String` or `Swift.Int`.
    var rawType: SwiftType
    var cases: [Case]
    /// Whether it also holds values that the document does not list.
    var isOpen: Bool

    var declaration: Declaration { .type(isOpen ? openType : closedType) }

    private var closedType: TypeDeclaration {
        var members: [Declaration] = cases.map { item in
            .enumCase(documentation: item.documentation, name: item.name, rawValue: item.literal)
        }
        members.append(Snippets.readingInitializer(body: [.line("self = try reader.readEnumeration(Self.self)")]))
        members.append(Snippets.writingMethod(body: [.line("writer.write(self.rawValue)")]))
        return TypeDeclaration(
            documentation: documentation,
            keyword: .enumeration,
            name: name,
            inherits: [
                rawType, .swift("Codable"), .swift("Hashable"), .swift("Sendable"), .swift("CaseIterable"),
                .streamingJSON("JSONReadable"), .streamingJSON("JSONWritable"),
            ],
            members: members
        )
    }

    private var openType: TypeDeclaration {
        var members: [Declaration] = [
            .property(PropertyDeclaration(name: "rawValue", type: rawType)),
            .function(
                FunctionDeclaration(
                    documentation: "Creates a value, whether the document lists it or not.",
                    name: "init",
                    parameters: [.init(label: "rawValue", type: rawType)],
                    body: [.line("self.rawValue = rawValue")]
                )
            ),
        ]
        if rawType == .string {
            // Not inherited from the runtime's protocol: files that do not import the runtime can use literals, too.
            members.append(
                .function(
                    FunctionDeclaration(
                        documentation: "Creates a value, whether the document lists it or not.",
                        name: "init",
                        parameters: [.init(label: "stringLiteral value", type: rawType)],
                        body: [.line("self.rawValue = value")]
                    )
                )
            )
        }
        members += cases.map { item in
            .property(
                PropertyDeclaration(
                    documentation: item.documentation,
                    modifiers: "static ",
                    name: item.name,
                    type: .ownType,
                    body: [.line("Self(rawValue: \(item.literal))")]
                )
            )
        }
        let all = cases.map { "Self.\($0.name)" }.joined(separator: ", ")
        members.append(
            .property(
                PropertyDeclaration(
                    documentation: "The values that the document lists.",
                    modifiers: "static ",
                    name: "allCases",
                    type: .array(.ownType),
                    body: [.line("[\(all)]")]
                )
            )
        )
        return TypeDeclaration(
            documentation: documentation,
            keyword: .structure,
            name: name,
            inherits: [.runtime(rawType == .string ? "OpenStringEnumeration" : "OpenEnumeration")],
            members: members
        )
    }
}

/// A case of `oneOf`.
struct OneOfAlternative {
    var name: String
    var type: SwiftType
    /// The values of the discriminator that choose it.
    var tags: [String]
    /// Whether reading it can lead back to this composition before a byte is read. Without a discriminator it is not
    /// tried.
    var leadsBack = false
}

/// The enum of `oneOf`: a case for each member. It is read by a discriminator, or else as the first member that
/// reads the JSON.
struct OneOfDeclaration {
    var name: String
    var documentation: String?
    /// The types of its members that are declared inside of it.
    var nested: [Declaration]
    var alternatives: [OneOfAlternative]
    /// The property whose value chooses, by its name in Swift and its key.
    var discriminator: (name: String, key: String)?
    /// Whether cases hold their values in boxes.
    var isIndirect: Bool

    var declaration: Declaration {
        var members = nested
        for alternative in alternatives {
            members.append(
                .enumCase(
                    documentation: nil,
                    name: escaped(alternative.name),
                    values: [AssociatedValue(alternative.type)]
                )
            )
        }
        var read: [Statement] = []
        if let discriminator {
            let property = stringLiteral(discriminator.key)
            members.append(.codingKeys([discriminator]))
            if alternatives.contains(where: \.leadsBack) { read += Snippets.guardingRecursion(in: name) }
            read.append(
                .line("let tag: Swift.String = try reader.peekDiscriminator(\(property), in: \(stringLiteral(name)))")
            )
            var cases: [Statement] = alternatives.map { alternative in
                let tags = alternative.tags.map(stringLiteral)
                return .label(
                    "case \(tags.joined(separator: ", ")):",
                    [.line("self = .\(escaped(alternative.name))(\(Snippets.read(alternative.type)))")]
                )
            }
            cases.append(
                .label("default:", [.line("throw reader.unknownDiscriminator(tag, in: \(stringLiteral(name)))")])
            )
            read.append(.block("switch tag", cases))
        } else {
            for alternative in alternatives where !alternative.leadsBack {
                let value = Snippets.call("reader.attempt", reading: alternative.type, isOptional: true)
                read.append(
                    .block(
                        "if let value: \(alternative.type.text) = \(value)",
                        [.line("self = .\(escaped(alternative.name))(value)"), .line("return")]
                    )
                )
            }
            read.append(.line("throw reader.noMatch(in: \(stringLiteral(name)))"))
        }
        members.append(Snippets.readingInitializer(body: read))
        let cases: [Statement] = alternatives.enumerated().map { index, alternative in
            .label(
                "case .\(escaped(alternative.name))(let value):",
                [
                    .line("if writer.collects([\(index), value]) { return }"),
                    .line(Snippets.write(alternative.type, "value")),
                ]
            )
        }
        members.append(Snippets.writingMethod(body: [.block("switch self", cases)]))
        return .type(
            TypeDeclaration(
                documentation: documentation,
                keyword: isIndirect ? .indirectEnumeration : .enumeration,
                name: name,
                inherits: Snippets.valueConformances,
                members: members
            )
        )
    }
}

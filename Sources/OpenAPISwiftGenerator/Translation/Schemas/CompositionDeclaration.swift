/// A member of `allOf` or `anyOf`.
struct CompositionPart {
    var name: String
    var type: SwiftType
    var isObjectLike: Bool
    /// Whether it keeps all members of the object, including those of the other parts.
    var isFreeForm: Bool
    var isBoxed: Bool
    /// Whether reading tries it; trying a composition inside itself would never end.
    var isTried: Bool
}

/// The struct of `allOf`: a value for each member, all of which read the same JSON.
struct AllOfDeclaration {
    var name: String
    var documentation: String?
    var attributes: [String]
    /// The types of its members that are declared inside of it.
    var nested: [Declaration]
    var parts: [CompositionPart]

    var declaration: Declaration {
        let fields = StoredProperty.all(of: parts, areOptional: false)
        var members = nested
        for field in fields { members += field.declarations }
        members.append(StoredProperty.initializer(of: name, fields))
        var read: [Statement] = [.line("let start: StreamingJSON.JSONReader.Position = reader.position")]
        for (index, field) in fields.enumerated() {
            if index > 0 { read.append(.line("reader.rewind(to: start)")) }
            let value = Snippets.read(field.type)
            read.append(.line("self.\(field.storageName) = \(field.stored(value))"))
        }
        if fields.count < 2 { read.removeFirst() }
        members.append(Snippets.readingInitializer(body: read))
        var write: [Statement] = [StoredProperty.collecting(fields)]
        if let first = parts.first(where: { !$0.isObjectLike }) {
            write.append(.line(Snippets.write(first.type, "self.\(first.name)")))
        } else if let only = parts.first, parts.count == 1 {
            write.append(.line(Snippets.write(only.type, "self.\(only.name)")))
        } else {
            write.append(parts.merging)
        }
        members.append(Snippets.writingMethod(body: write))
        return .type(
            TypeDeclaration(
                documentation: documentation,
                attributes: attributes,
                keyword: .structure,
                name: name,
                inherits: Snippets.valueConformances,
                members: members
            )
        )
    }
}

/// The struct of `anyOf`: an optional value for each member, at least one of which reads the JSON.
struct AnyOfDeclaration {
    var name: String
    var documentation: String?
    var attributes: [String]
    /// The types of its members that are declared inside of it.
    var nested: [Declaration]
    var parts: [CompositionPart]

    var declaration: Declaration {
        let fields = StoredProperty.all(of: parts, areOptional: true)
        var members = nested
        for field in fields { members += field.declarations }
        members.append(StoredProperty.initializer(of: name, fields))
        var read: [Statement] = [
            .line("let start: StreamingJSON.JSONReader.Position = reader.position"),
            .line("var isMatched: Swift.Bool = false"),
        ]
        for (index, field) in fields.enumerated() {
            let type = field.type.unwrapped
            guard parts[index].isTried else {
                read.append(.line("let v\(index): \(type.text)? = nil"))
                continue
            }
            let value = Snippets.call("reader.attempt", reading: type, isOptional: true)
            read.append(.line("let v\(index): \(type.text)? = \(value)"))
            read.append(.line("if v\(index) != nil { isMatched = true }"))
            read.append(.line("reader.rewind(to: start)"))
        }
        read.append(.line("try reader.endAttempts(matched: isMatched, in: \(stringLiteral(name)))"))
        for (index, field) in fields.enumerated() {
            read.append(.line("self.\(field.storageName) = \(field.stored("v\(index)"))"))
        }
        members.append(Snippets.readingInitializer(body: read))
        var write: [Statement] = [StoredProperty.collecting(fields)]
        for part in parts where !part.isObjectLike {
            write.append(
                .block(
                    "if let value: \(part.type.text) = self.\(part.name)",
                    [.line(Snippets.write(part.type, "value")), .line("return")]
                )
            )
        }
        let objects = parts.filter(\.isObjectLike)
        if objects.isEmpty {
            write.append(.line("writer.failEmpty(\(stringLiteral(name)))"))
        } else {
            write.append(objects.merging)
        }
        members.append(Snippets.writingMethod(body: write))
        return .type(
            TypeDeclaration(
                documentation: documentation,
                attributes: attributes,
                keyword: .structure,
                name: name,
                inherits: Snippets.valueConformances,
                members: members
            )
        )
    }
}

extension StoredProperty {
    /// The properties of a composition.
    fileprivate static func all(of parts: [CompositionPart], areOptional: Bool) -> [StoredProperty] {
        parts.map { part in
            StoredProperty(
                key: part.name,
                name: part.name,
                type: areOptional ? part.type.asOptional : part.type,
                isBoxed: part.isBoxed,
                documentation: nil,
                isDeprecated: false
            )
        }
    }

    /// Passes all members to a writer that compares values, also those members that are not written.
    fileprivate static func collecting(_ fields: [StoredProperty]) -> Statement {
        let values = fields.map { "self.\(escaped($0.name))" }
        return .line("if writer.collects([\(values.joined(separator: ", "))]) { return }")
    }
}

extension [CompositionPart] {
    /// Writes parts as one object. If several parts write the same key, the last one counts. So the parts that keep all
    /// members as they were read come first.
    fileprivate var merging: Statement {
        let ordered = filter(\.isFreeForm) + filter { !$0.isFreeForm }
        let values = ordered.map { "self.\($0.name)" }
        return .line("writer.writeMerged([\(values.joined(separator: ", "))])")
    }
}

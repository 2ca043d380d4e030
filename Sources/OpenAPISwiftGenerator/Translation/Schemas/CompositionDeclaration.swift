/// A member of `allOf` or `anyOf`.
struct CompositionPart {
    var name: String
    var type: SwiftType
    var isObjectLike: Bool
    /// Whether it keeps all members of the object, including those of the other parts.
    var isFreeForm: Bool
    var isBoxed: Bool
    /// Whether reading it can lead back to this composition before a byte is read. As a member of `anyOf` it is not
    /// tried.
    var leadsBack: Bool
}

/// The struct of `allOf` or `anyOf`: a value for each member, all of which read the same JSON, after the properties beside
/// the composition.
struct CompositionDeclaration {
    enum Form {
        case allOf
        /// The values are optional, and at least one of them reads the JSON.
        case anyOf
    }

    var form: Form
    var name: String
    var documentation: String?
    var attributes: [String]
    /// The properties beside the composition, with those of all members in one object.
    var own: ObjectDeclaration?
    /// The types of its members that are declared inside of it.
    var nested: [Declaration]
    var parts: [CompositionPart]

    var declaration: Declaration {
        let values = StoredProperty.all(of: parts, areOptional: form == .anyOf)
        let (read, write) =
            switch form {
            case .allOf: (readingAll(values), writingAll)
            case .anyOf: (readingAny(values), writingAny)
            }
        var members = nested
        let fields = (own?.fields ?? []) + values
        let stored = fields + (own?.additional.map { [$0] } ?? [])
        for field in stored { members += field.declarations }
        members.append(StoredProperty.initializer(of: name, fields, additional: own?.additional))
        if let own { members += own.keys }
        members.append(Snippets.readingInitializer(body: read))
        members.append(Snippets.writingMethod(body: [StoredProperty.collecting(stored)] + write))
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

    /// Notes where the value begins, and reads the properties beside the composition.
    private var readingOwn: [Statement] {
        guard let own else { return [Snippets.start] }
        return own.variables + [Snippets.start] + own.reading + [.line("reader.rewind(to: start)")]
    }

    private func readingAll(_ fields: [StoredProperty]) -> [Statement] {
        var read: [Statement] = parts.contains(where: \.leadsBack) ? Snippets.guardingRecursion(in: name) : []
        if fields.count > 1 || own != nil { read += readingOwn }
        for (index, field) in fields.enumerated() {
            if index > 0 { read.append(.line("reader.rewind(to: start)")) }
            let value = Snippets.read(field.type)
            read.append(.line("self.\(field.storageName) = \(field.stored(value))"))
        }
        return read
    }

    private func readingAny(_ fields: [StoredProperty]) -> [Statement] {
        // The names are not those of the variables for properties.
        let variable = own == nil ? "v" : "part"
        var read: [Statement] = readingOwn + [.line("var isMatched: Swift.Bool = false")]
        for (index, field) in fields.enumerated() {
            let type = field.type.unwrapped
            guard !parts[index].leadsBack else {
                read.append(.line("let \(variable)\(index): \(type.text)? = nil"))
                continue
            }
            let value = Snippets.call("reader.attempt", reading: type, isOptional: true)
            read.append(.line("let \(variable)\(index): \(type.text)? = \(value)"))
            read.append(.line("if \(variable)\(index) != nil { isMatched = true }"))
            read.append(.line("reader.rewind(to: start)"))
        }
        read.append(.line("try reader.endAttempts(matched: isMatched, in: \(stringLiteral(name)))"))
        for (index, field) in fields.enumerated() {
            read.append(.line("self.\(field.storageName) = \(field.stored("\(variable)\(index)"))"))
        }
        return read
    }

    private var writingAll: [Statement] {
        if let own { return writing(own, parts.map { .line(Snippets.write($0.type, "self.\($0.name)")) }) }
        if let first = parts.first(where: { !$0.isObjectLike }) {
            return [.line(Snippets.write(first.type, "self.\(first.name)"))]
        }
        if let only = parts.first, parts.count == 1 {
            return [.line(Snippets.write(only.type, "self.\(only.name)"))]
        }
        return [parts.merging]
    }

    /// Writes the properties and the other parts as one object. If several have a key, the properties count: they come
    /// last.
    private func writing(_ own: ObjectDeclaration, _ parts: [Statement]) -> [Statement] {
        [.line("writer.beginOpenObject()")] + parts + own.writing + [.line("writer.endOpenObject()")]
    }

    private var writingAny: [Statement] {
        if let own {
            let parts = parts.map { part in
                Statement.block(
                    "if let value: \(part.type.text) = self.\(part.name)",
                    [.line(Snippets.write(part.type, "value"))]
                )
            }
            return writing(own, parts)
        }
        let others = parts.filter { !$0.isObjectLike }.map { part in
            Statement.block(
                "if let value: \(part.type.text) = self.\(part.name)",
                [.line(Snippets.write(part.type, "value")), .line("return")]
            )
        }
        let objects = parts.filter(\.isObjectLike)
        return others + [objects.isEmpty ? .line("writer.failEmpty(\(stringLiteral(name)))") : objects.merging]
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
        let values = fields.map(\.access)
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

/// The struct of an object: its properties, and how it is read and written.
struct ObjectDeclaration {
    var name: String
    var documentation: String?
    var attributes: [String] = []
    /// The types of its properties that are declared inside of it.
    var nested: [Declaration]
    var fields: [StoredProperty]
    /// The property for the members that have no property of their own.
    var additional: StoredProperty?
    /// Whether a member without a property is an error, when there is no property for such members.
    var refusesOthers: Bool

    var declaration: Declaration {
        var members = nested
        members += properties
        members.append(StoredProperty.initializer(of: name, fields, additional: additional))
        members += keys
        members.append(Snippets.readingInitializer(body: variables + (needsStart ? [Snippets.start] : []) + reading))
        members.append(Snippets.writingMethod(body: writing))
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

    private var properties: [Declaration] {
        (fields + (additional.map { [$0] } ?? [])).flatMap(\.declarations)
    }

    /// The keys for programs, and the table for reading.
    var keys: [Declaration] {
        fields.isEmpty ? [] : [.codingKeys(fields.map { ($0.name, $0.key) }), keyTable(of: tabled)]
    }

    /// The properties in the order of the table. A type that keeps unknown members has a table with the required members
    /// first: see the runtime's `MemberKeeper`.
    private var tabled: [StoredProperty] {
        additional?.keeps == nil
            ? fields : fields.filter { !$0.type.isOptional } + fields.filter(\.type.isOptional)
    }

    /// Whether reading needs the position of the object's beginning, in ``Snippets/start``.
    private var needsStart: Bool { fields.contains { !$0.type.isOptional } }

    private func keyTable(of fields: [StoredProperty]) -> Declaration {
        let keys = fields.map { stringLiteral($0.key) }
        return .property(
            PropertyDeclaration(
                access: .private,
                modifiers: "static ",
                isConstant: true,
                name: "__keys",
                type: .streamingJSON("JSONKeys"),
                initialValue: ".init(\(keys.joined(separator: ", ")))"
            )
        )
    }

    /// The variables into which members are read.
    var variables: [Statement] {
        var body: [Statement] = []
        let fields = tabled
        for (index, field) in fields.enumerated() {
            body.append(.line("var v\(index): \(field.type.asOptional.text) = nil"))
        }
        if let keeps = additional?.keeps {
            let required = fields.filter { !$0.type.isOptional }
            let style = keeps == .keepAll ? ", keepsMismatches: true" : ""
            let arguments = "requiredCount: \(required.count)\(style)"
            body.append(.line("var keeper: OpenAPISwiftRuntime.MemberKeeper = .init(\(arguments))"))
        } else if let additional {
            body.append(.line("var additional: \(additional.type.text) = .init()"))
        }
        return body
    }

    /// Reads the object and sets the properties.
    var reading: [Statement] {
        let fields = tabled
        let required = fields.indices.filter { !fields[$0].type.isOptional }
        var body: [Statement] = [.line("reader.beginMembers()")]
        let other: Statement = .line(unknownKeyStatement)
        let isKept: Bool = additional?.keeps != nil
        if fields.isEmpty {
            body.append(
                isKept ? .line("keeper.keepMembers(of: &reader)") : .block("while reader.nextMember()", [other])
            )
        } else {
            var cases: [Statement] = fields.enumerated().map { index, field in
                .label("case \(index):", [.line(Snippets.readMember(field.type, into: "v\(index)"))])
            }
            cases.append(.label("default:", [other]))
            let next =
                isKept ? "keeper.nextMember(of: &reader, in: Self.__keys)" : "reader.nextMember(in: Self.__keys)"
            body.append(
                .block(
                    "while let key: Swift.Int = \(next)",
                    [.block("switch key", cases)]
                )
            )
        }
        body.append(.line("try reader.endMembers()"))
        if !required.isEmpty {
            let bindings = required.map { "let v\($0)" }
            let keys = required.map { stringLiteral(fields[$0].key) }
            body.append(
                .block(
                    "guard \(bindings.joined(separator: ", ")) else",
                    [
                        .line(
                            "throw reader.missingMember(of: [\(keys.joined(separator: ", "))], since: start, in: \(stringLiteral(name)))"
                        )
                    ]
                )
            )
        }
        for (index, field) in fields.enumerated() {
            body.append(.line("self.\(field.storageName) = \(field.stored("v\(index)"))"))
        }
        if let additional {
            body.append(.line("self.\(escaped(additional.name)) = \(isKept ? "keeper.members" : "additional")"))
        }
        return body
    }

    /// What the reader does with a member that has no property.
    private var unknownKeyStatement: String {
        guard let additional else {
            return refusesOthers ? "reader.refuseMember(in: \(stringLiteral(name)))" : "reader.skipMember()"
        }
        guard additional.keeps == nil else { return "break" }
        if case .dictionary(let value) = additional.type, value.needsClosure {
            return "reader.readMember(into: &additional, \(Snippets.readerClosure(value)))"
        }
        return "reader.readMember(into: &additional)"
    }

    /// Writes the object.
    var writing: [Statement] {
        if let additional, additional.keeps != nil { return keeping(unknown: additional) }
        var body: [Statement] = [.line("writer.\(additional == nil ? "beginObject" : "beginOpenObject")()")]
        let sorted = fields.sorted { left, right in
            left.key.unicodeScalars.lexicographicallyPrecedes(right.key.unicodeScalars)
        }
        for field in sorted {
            body.append(.line(Snippets.writeMember(field.key, field.type, field.access)))
        }
        if let additional {
            var closure = ""
            if case .dictionary(let value) = additional.type, value.needsClosure {
                closure = ", \(Snippets.writerClosure(value))"
            }
            body.append(.line("writer.members(self.\(escaped(additional.name))\(closure))"))
        }
        body.append(.line("writer.\(additional == nil ? "endObject" : "endOpenObject")()"))
        return body
    }

    /// Writes the properties in the order of the document, and then the unknown members in the order in which they were
    /// read.
    private func keeping(unknown: StoredProperty) -> [Statement] {
        let members = "self.\(escaped(unknown.name))"
        var body: [Statement] = [.line("writer.beginObject(keeping: \(members))")]
        for field in fields {
            body.append(.line(Snippets.writeMember(field.key, field.type, field.access)))
        }
        body.append(.line("writer.endObject(keeping: \(members))"))
        return body
    }
}

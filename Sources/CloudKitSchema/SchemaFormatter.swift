import CloudKitModel

extension SchemaDocument {
    /// The canonical form of the file.
    ///
    /// Keywords are in upper case, each field and each grant has its own line, types are in one column, and names have
    /// quotes only where they need them. Comments, single empty lines and the order of everything stay.
    ///
    /// ```swift
    /// print(try SchemaDocument(parsing: "define schema record type Note(title string queryable);").formatted())
    /// // DEFINE SCHEMA
    /// //
    /// //     RECORD TYPE Note (
    /// //         title STRING QUERYABLE
    /// //     );
    /// ```
    ///
    /// - Returns: The text, which ends with a line end.
    public func formatted() -> String {
        var formatter = SchemaFormatter()
        formatter.write(self)
        return formatter.text
    }
}

extension ContainerSchema: CustomStringConvertible {
    /// The schema in the schema language, in its canonical form.
    ///
    /// A record type that has neither fields nor grants is written with `"___recordID" REFERENCE`, since the language
    /// has no empty types.
    public var description: String {
        func name(_ text: String) -> SchemaDocument.Name { SchemaDocument.Name(text: text, range: 0..<0) }
        let types = recordTypes.map { type in
            let recordID = Field(name: SystemField.recordID.rawValue, type: SystemField.recordID.type)
            let fields = type.fields.isEmpty && type.grants.isEmpty ? [recordID] : type.fields
            let items: [SchemaDocument.Item.Kind] =
                fields.map { .field(name($0.name), $0.type, $0.indexes) }
                + type.grants.map { .grant($0.permissions, roles: [name($0.role)]) }
            return SchemaDocument.Statement.Kind.recordType(
                name(type.name),
                items: items.map { SchemaDocument.Item(kind: $0, comments: SchemaDocument.Comments()) }
            )
        }
        let statements = roles.map { .role(name($0)) } + types
        return SchemaDocument(
            bytes: [],
            header: SchemaDocument.Comments(),
            statements: statements.map {
                SchemaDocument.Statement(kind: $0, comments: SchemaDocument.Comments(followsEmptyLine: true))
            },
            closingComments: []
        ).formatted()
    }
}

/// Writes the canonical form.
private struct SchemaFormatter {
    private(set) var text = ""

    mutating func write(_ document: SchemaDocument) {
        write(document.header.leading, indent: 0, isFirst: true)
        write("DEFINE SCHEMA", document.header.trailing, indent: 0)
        var isFirst = true
        for statement in document.statements {
            // An empty line comes before each record type, and before the first role.
            let isRole = if case .role = statement.kind { true } else { false }
            let leads = isFirst || !isRole || (statement.comments.leading.first?.followsEmptyLine ?? false)
            if leads || statement.comments.followsEmptyLine && statement.comments.leading.isEmpty { text += "\n" }
            write(statement)
            isFirst = false
        }
        if !document.closingComments.isEmpty {
            text += "\n"
            write(document.closingComments, indent: 1, isFirst: true)
        }
    }

    private mutating func write(_ statement: SchemaDocument.Statement) {
        write(statement.comments.leading, indent: 1, isFirst: true)
        switch statement.kind {
        case .role(let name):
            write("CREATE ROLE \(spelling(name));", statement.comments.trailing, indent: 1)
        case .recordType(let name, let items):
            write("RECORD TYPE \(spelling(name)) (", statement.openingComments, indent: 1)
            write(items)
            write(statement.closingComments, indent: 2, isFirst: false)
            write(");", statement.comments.trailing, indent: 1)
        }
    }

    private mutating func write(_ items: [SchemaDocument.Item]) {
        let nameWidth = items.map { item in
            if case .field(let name, _, _) = item.kind { spelling(name).count } else { 0 }
        }.max()
        // A grant to several roles becomes several grants.
        var lines: [[String]] = items.map { self.lines(of: $0, nameWidth: nameWidth ?? 0) }
        for index in lines.indices.dropLast() { lines[index] = lines[index].map { $0 + "," } }
        if let last = lines.indices.last {
            lines[last] = lines[last].dropLast().map { $0 + "," } + lines[last].suffix(1)
        }
        let commentColumn = zip(items, lines).filter { !$0.0.comments.trailing.isEmpty }.compactMap(\.1.last?.count)
            .max()
        for (position, (item, lines)) in zip(items, lines).enumerated() {
            write(item.comments.leading, indent: 2, isFirst: position == 0)
            if position > 0, item.comments.followsEmptyLine { text += "\n" }
            for line in lines.dropLast() { write(line, [], indent: 2) }
            write(lines.last ?? "", item.comments.trailing, indent: 2, commentColumn: commentColumn ?? 0)
        }
    }

    /// The lines of a field or a grant, without commas. A field has one line, a grant one for each role.
    private func lines(of item: SchemaDocument.Item, nameWidth: Int) -> [String] {
        switch item.kind {
        case .field(let name, let type, let indexes):
            let name = spelling(name)
            let words = [type.description] + indexes.names
            return [name + padding(nameWidth - name.count + 1) + words.joined(separator: " ")]
        case .grant(let permissions, let roles):
            return roles.map { "GRANT \(permissions.names.joined(separator: ", ")) TO \(spelling($0, isRole: true))" }
        }
    }

    /// The name, in quotes where it is a keyword or has characters that a name without quotes cannot have. Roles always
    /// have quotes, as in Apple's exports.
    private func spelling(_ name: SchemaDocument.Name, isRole: Bool = false) -> String {
        let isPlain = name.text.isSchemaIdentifier && !SchemaKeyword.all.contains(name.text.uppercased())
        return isPlain && !isRole ? name.text : "\"\(name.text)\""
    }

    /// Writes a line, and the comments after it.
    private mutating func write(
        _ line: String,
        _ comments: [SchemaComment],
        indent: Int,
        commentColumn: Int = 0
    ) {
        text += padding(indent * 4) + line
        if !comments.isEmpty {
            text += padding(max(commentColumn - line.count, 0) + 2) + comments.map(\.text).joined(separator: "  ")
        }
        text += "\n"
    }

    /// Writes comments on lines of their own.
    private mutating func write(_ comments: [SchemaComment], indent: Int, isFirst: Bool) {
        for (index, comment) in comments.enumerated() {
            if comment.followsEmptyLine, index > 0 || !isFirst { text += "\n" }
            text += padding(indent * 4) + comment.text + "\n"
        }
    }

    private func padding(_ count: Int) -> String { String(repeating: " ", count: max(count, 0)) }
}

/// The keywords of the schema language.
enum SchemaKeyword {
    static let all: Set<String> = Set(
        ["DEFINE", "SCHEMA", "CREATE", "ROLE", "RECORD", "TYPE", "GRANT", "TO", "LIST"]
            + ContainerSchema.Permissions.spellings.map(\.name) + FieldIndexes.spellings.map(\.name)
            + SchemaFieldType.Element.allCases.flatMap { $0.rawValue.split(separator: " ").map(String.init) }
    )
}

extension String {
    /// Whether the text is a name of the service with dots, such as `cloudkit.share`, the record type of shares, or its
    /// field `cloudkit.title`. Schema files have them in quotes (exports of apps with shares).
    package var isServiceName: Bool {
        let parts = split(separator: ".", omittingEmptySubsequences: false)
        return parts.count > 1 && parts[0] == "cloudkit" && parts.allSatisfy { String($0).isSchemaIdentifier }
    }

    /// Whether the text is a letter, followed by letters, digits and underscores, all in ASCII.
    package var isSchemaIdentifier: Bool {
        func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }
        guard let first = utf8.first, isLetter(first) else { return false }
        return utf8.allSatisfy { isLetter($0) || (48...57).contains($0) || $0 == UInt8(ascii: "_") }
    }
}

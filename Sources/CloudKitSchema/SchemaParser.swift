import CloudKitModel

/// Reads the schema language: Apple's grammar, keywords in any case.
struct SchemaParser {
    private let bytes: [UInt8]
    private var lexer: SchemaLexer
    private var token: SchemaToken
    /// The token after ``token``. It shows whether `grant` begins a grant or is the name of a field.
    private var following: SchemaToken
    /// The comments of the statement or item that is being read.
    private var comments = SchemaDocument.Comments()

    init(_ bytes: [UInt8]) throws(SchemaSyntaxError) {
        self.bytes = bytes
        lexer = SchemaLexer(bytes)
        token = try lexer.next()
        following = try lexer.next()
    }

    mutating func document() throws(SchemaSyntaxError) -> SchemaDocument {
        begin()
        try keyword("DEFINE", "A schema begins with DEFINE SCHEMA")
        try keyword("SCHEMA", "A schema begins with DEFINE SCHEMA")
        let header = end()
        var statements: [SchemaDocument.Statement] = []
        while token.kind != .end { statements.append(try statement()) }
        return SchemaDocument(
            bytes: bytes,
            header: header,
            statements: statements,
            closingComments: token.comments
        )
    }
}

// MARK: - Statements and items

extension SchemaParser {
    private mutating func statement() throws(SchemaSyntaxError) -> SchemaDocument.Statement {
        begin()
        let kind: SchemaDocument.Statement.Kind
        var (openingComments, closingComments): ([SchemaComment], [SchemaComment]) = ([], [])
        if isKeyword("CREATE") {
            try advance()
            try keyword("ROLE", "Expected ROLE after CREATE")
            kind = .role(try name("a role"))
        } else {
            let expectation = "Expected RECORD TYPE or CREATE ROLE"
            try keyword("RECORD", expectation)
            try keyword("TYPE", expectation)
            let name = try name("a record type")
            try sign("(", "Expected ( before the fields of \(name.text)")
            openingComments = takeCommentsBehindLastToken()
            let outer = comments
            var items: [SchemaDocument.Item] = []
            repeat {
                let (item, isLast, closing) = try item(of: name.text)
                items.append(item)
                if isLast {
                    closingComments = closing
                    break
                }
            } while true
            comments = outer
            kind = .recordType(name, items: items)
        }
        guard token.kind == .sign(UInt8(ascii: ";")) else { throw unexpected("Expected ; after the statement") }
        try advance()
        return SchemaDocument.Statement(
            kind: kind,
            comments: end(),
            openingComments: openingComments,
            closingComments: closingComments
        )
    }

    /// A field or a grant with the comma or the parenthesis that ends it.
    private mutating func item(
        of type: String
    ) throws(SchemaSyntaxError) -> (SchemaDocument.Item, isLast: Bool, closingComments: [SchemaComment]) {
        begin()
        let kind: SchemaDocument.Item.Kind
        if isKeyword("GRANT"), Self.permission(following) != nil {
            try advance()
            kind = try grant()
        } else if token.kind == .sign(UInt8(ascii: ")")) {
            throw unexpected("Expected a field or a GRANT; the last one has no comma behind it")
        } else {
            let name = try name("a field")
            kind = .field(name, try fieldType(), try indexes())
        }
        guard token.kind == .sign(UInt8(ascii: ",")) || token.kind == .sign(UInt8(ascii: ")")) else {
            throw unexpected("Expected a comma before the next field or GRANT of \(type), or ) after the last one")
        }
        let isLast = token.kind == .sign(UInt8(ascii: ")"))
        var closingComments: [SchemaComment] = []
        if isLast {
            comments.trailing += takeCommentsBehindLastToken()
            closingComments = token.comments
            token.comments = []
        }
        try advance()
        // Comments after the parenthesis belong to the statement.
        return (SchemaDocument.Item(kind: kind, comments: isLast ? comments : end()), isLast, closingComments)
    }

    private mutating func grant() throws(SchemaSyntaxError) -> SchemaDocument.Item.Kind {
        var permissions: ContainerSchema.Permissions = []
        while let permission = Self.permission(token) {
            permissions.formUnion(permission)
            try advance()
            guard token.kind == .sign(UInt8(ascii: ",")) else { break }
            try advance()
            guard Self.permission(token) != nil else { throw unexpected("Expected READ, CREATE or WRITE") }
        }
        try keyword("TO", "Expected TO and a role after the permissions")
        var roles = [try name("a role")]
        // Another role or the next item follows a comma. A field has a type after its name, a role has none.
        while token.kind == .sign(UInt8(ascii: ",")), try isRoleAfterComma() {
            try advance()
            roles.append(try name("a role"))
        }
        return .grant(permissions, roles: roles)
    }

    /// Whether a comma or a parenthesis comes after the name that follows the comma.
    private func isRoleAfterComma() throws(SchemaSyntaxError) -> Bool {
        var lexer = lexer
        switch try lexer.next().kind {
        case .sign(UInt8(ascii: ",")), .sign(UInt8(ascii: ")")): return true
        default: return false
        }
    }

    private mutating func fieldType() throws(SchemaSyntaxError) -> SchemaFieldType {
        guard isKeyword("LIST") else { return SchemaFieldType(try element()) }
        try advance()
        try sign("<", "Expected < and the type of the elements after LIST")
        let element = try element()
        try sign(">", "Expected > after the type of the elements")
        return .list(of: element)
    }

    private mutating func element() throws(SchemaSyntaxError) -> SchemaFieldType.Element {
        var words: [String] = []
        func isType(_ words: [String]) -> Bool {
            SchemaFieldType.Element(rawValue: words.joined(separator: " ")) != nil
        }
        if isKeyword("ENCRYPTED") {
            try advance()
            guard case .word(let text) = token.kind, isType(["ENCRYPTED", text.uppercased()]) else {
                throw unexpected("Expected BYTES, DOUBLE, INT64, LOCATION, STRING or TIMESTAMP after ENCRYPTED")
            }
            words = ["ENCRYPTED", text.uppercased()]
        } else {
            guard case .word(let text) = token.kind, isType([text.uppercased()]) else {
                throw unexpected("Expected a type such as STRING")
            }
            words = [text.uppercased()]
        }
        try advance()
        if words == ["NUMBER"], isKeyword("PREFERRED") {
            try advance()
            try keyword("AS", "Expected AS after PREFERRED")
            guard case .word(let text) = token.kind, isType(["NUMBER", "PREFERRED", "AS", text.uppercased()]) else {
                throw unexpected("Expected INT64 or DOUBLE")
            }
            words += ["PREFERRED", "AS", text.uppercased()]
            try advance()
        }
        guard let element = SchemaFieldType.Element(rawValue: words.joined(separator: " ")) else {
            throw unexpected("Expected a type such as STRING")
        }
        return element
    }

    private mutating func indexes() throws(SchemaSyntaxError) -> FieldIndexes {
        var indexes: FieldIndexes = []
        while case .word(let text) = token.kind {
            guard let index = FieldIndexes.spellings.first(where: { $0.name == text.uppercased() })?.index else {
                throw unexpected("Expected QUERYABLE, SORTABLE, SEARCHABLE or a comma")
            }
            guard !indexes.contains(index) else { throw unexpected("Expected each index once") }
            indexes.formUnion(index)
            try advance()
        }
        return indexes
    }
}

// MARK: - Tokens

extension SchemaParser {
    /// Starts to collect the comments of a statement or an item.
    private mutating func begin() {
        comments = SchemaDocument.Comments(
            leading: token.comments,
            followsEmptyLine: token.followsEmptyLine
        )
        token.comments = []
    }

    /// The comments that were collected, and those after the last token on its line.
    private mutating func end() -> SchemaDocument.Comments {
        comments.trailing += takeCommentsBehindLastToken()
        return comments
    }

    private mutating func takeCommentsBehindLastToken() -> [SchemaComment] {
        let count = token.comments.prefix(while: \.endsLine).count
        defer { token.comments.removeFirst(count) }
        return Array(token.comments.prefix(count))
    }

    private mutating func advance() throws(SchemaSyntaxError) {
        // A comment in the middle of an item can follow the item only if it does not take the rest of the line.
        for comment in token.comments {
            if comment.takesLine { comments.leading.append(comment) } else { comments.trailing.append(comment) }
        }
        token = following
        if token.kind != .end { following = try lexer.next() }
    }

    private static func permission(_ token: SchemaToken) -> ContainerSchema.Permissions? {
        guard case .word(let text) = token.kind else { return nil }
        return ContainerSchema.Permissions.spellings.first { $0.name == text.uppercased() }?.permission
    }

    private func isKeyword(_ keyword: String) -> Bool {
        guard case .word(let text) = token.kind else { return false }
        return text.uppercased() == keyword
    }

    private mutating func keyword(_ keyword: String, _ expectation: String) throws(SchemaSyntaxError) {
        guard isKeyword(keyword) else { throw unexpected(expectation) }
        try advance()
    }

    private mutating func sign(_ sign: Unicode.Scalar, _ expectation: String) throws(SchemaSyntaxError) {
        guard token.kind == .sign(UInt8(ascii: sign)) else { throw unexpected(expectation) }
        try advance()
    }

    private mutating func name(_ what: String) throws(SchemaSyntaxError) -> SchemaDocument.Name {
        let text: String
        switch token.kind {
        case .word(let word):
            if word.hasPrefix("_") {
                throw unexpected("The name of \(what) that begins with _ stands in double quotes")
            }
            if word.first?.isNumber == true {
                throw unexpected("Expected the name of \(what), which begins with a letter")
            }
            text = word
        case .quoted(let name): text = name
        case .sign, .end: throw unexpected("Expected the name of \(what)")
        }
        let name = SchemaDocument.Name(text: text, range: token.range)
        try advance()
        return name
    }

    private func unexpected(_ expectation: String) -> SchemaSyntaxError {
        let found =
            switch token.kind {
            case .end: "the end of the file"
            default: "\"\(String(decoding: bytes[token.range], as: UTF8.self))\""
            }
        return SchemaSyntaxError("\(expectation), not \(found)", at: token.range, in: bytes)
    }
}

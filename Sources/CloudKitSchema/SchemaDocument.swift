import CloudKitModel

/// A schema file: the schema with the comments of its text.
///
/// ```swift
/// let document = try SchemaDocument(parsing: text)
/// print(document.schema.recordTypes.map(\.name))  // ["Note"]
/// print(document.formatted())                     // the canonical form, with the comments
/// for problem in document.problems() { print(problem) }
/// // line 4, column 9: "title" has two definitions in Note.
/// //           title INT64,
/// //           ^^^^^
/// ```
public struct SchemaDocument: Sendable {
    /// `CREATE ROLE …` or `RECORD TYPE …`.
    struct Statement {
        enum Kind {
            case role(Name)
            case recordType(Name, items: [Item])
        }

        var kind: Kind
        var comments: Comments
        /// The comments after the opening parenthesis, on the same line.
        var openingComments: [SchemaComment] = []
        /// The comments between the last item and the closing parenthesis.
        var closingComments: [SchemaComment] = []
    }

    /// A field or a grant.
    struct Item {
        enum Kind {
            case field(Name, SchemaFieldType, FieldIndexes)
            /// Apple's grammar allows one role in a grant, but some published files have several.
            case grant(ContainerSchema.Permissions, roles: [Name])
        }

        var kind: Kind
        var comments: Comments
    }

    /// A name and its bytes in the text.
    struct Name {
        var text: String
        var range: Range<Int>
    }

    /// The comments of a statement or an item.
    struct Comments {
        /// The comments above, on lines of their own.
        var leading: [SchemaComment] = []
        /// The comments after the statement or item, on the same line.
        var trailing: [SchemaComment] = []
        /// Whether there is an empty line between the leading comments and the statement or item.
        var followsEmptyLine = false
    }

    private let bytes: [UInt8]
    /// The comments of `DEFINE SCHEMA`.
    let header: Comments
    let statements: [Statement]
    /// The comments after the last statement.
    let closingComments: [SchemaComment]

    /// Reads a schema file.
    ///
    /// Keywords are read in any case. Where only a name can follow, a keyword such as `type` is read as a name.
    ///
    /// - Parameter text: The text of the file.
    /// - Throws: A ``SchemaSyntaxError`` for the first place that does not follow the language.
    public init(parsing text: String) throws {
        var parser = try SchemaParser(Array(text.utf8))
        self = try parser.document()
    }

    init(bytes: [UInt8], header: Comments, statements: [Statement], closingComments: [SchemaComment]) {
        self.bytes = bytes
        self.header = header
        self.statements = statements
        self.closingComments = closingComments
    }

    /// The schema, without comments.
    public var schema: ContainerSchema {
        var schema = ContainerSchema()
        for statement in statements {
            switch statement.kind {
            case .role(let name): schema.roles.append(name.text)
            case .recordType(let name, let items):
                var type = ContainerSchema.RecordType(name: name.text)
                for item in items {
                    switch item.kind {
                    case .field(let name, let fieldType, let indexes):
                        type.fields.append(ContainerSchema.Field(name: name.text, type: fieldType, indexes: indexes))
                    case .grant(let permissions, let roles):
                        type.grants += roles.map { ContainerSchema.Grant(permissions, to: $0.text) }
                    }
                }
                schema.recordTypes.append(type)
            }
        }
        return schema
    }

    /// Everything in the file that breaks a rule of schemas, with its location.
    ///
    /// - Returns: The problems; empty for a schema that the service can import.
    public func problems() -> [SchemaProblem] {
        schema.violations().map { violation in
            SchemaProblem(violation.message, range(of: violation.subject).map { SchemaLocation($0, in: bytes) })
        }
    }

    /// The range of a part of ``schema`` in the text.
    private func range(of subject: SchemaViolation.Subject) -> Range<Int>? {
        var roles: [Name] = []
        var types: [(name: Name, items: [Item])] = []
        for statement in statements {
            switch statement.kind {
            case .role(let name): roles.append(name)
            case .recordType(let name, let items): types.append((name, items))
            }
        }
        func names(of type: Int, _ names: (Item.Kind) -> [Name]) -> [Name] {
            types[type].items.flatMap { names($0.kind) }
        }
        switch subject {
        case .role(let index): return roles[index].range
        case .recordType(let index): return types[index].name.range
        case .field(let type, let index):
            return names(of: type) { if case .field(let name, _, _) = $0 { [name] } else { [] } }[index].range
        case .grant(let type, let index):
            return names(of: type) { if case .grant(_, let roles) = $0 { roles } else { [] } }[index].range
        }
    }
}

extension ContainerSchema {
    /// Reads a schema file; ``SchemaDocument`` keeps its comments as well.
    ///
    /// - Parameter text: The text of the file.
    /// - Throws: A ``SchemaSyntaxError`` for the first place that does not follow the language.
    public init(parsing text: String) throws {
        self = try SchemaDocument(parsing: text).schema
    }
}

import CloudKitSchema
import GRDB
package import MistKit

/// A field of a record type as the store keeps it.
package struct StoredField: Sendable {
    /// Its number in `mist_field` and `mist_edit`.
    package let id: FieldID
    /// Its declaration in the record type.
    package let schema: RecordSchema.Field
    /// Its type; `nil` for a type that fields of a model cannot have.
    let knownType: FieldType.Known?
    /// The column, quoted.
    let column: String
    /// The column with the action of a reference, quoted; `nil` for other types.
    let actionColumn: String?
    /// The number of the field that replaced this one, where this is the former name of a renamed field.
    let successor: FieldID?
    /// How its values are sealed in the column; `nil` where they are plain.
    let sealing: FieldSealing?

    init(
        id: FieldID,
        schema: RecordSchema.Field,
        successor: FieldID? = nil,
        sealing: FieldSealing? = nil
    ) {
        self.id = id
        self.schema = schema
        self.successor = successor
        self.sealing = sealing
        knownType = schema.type.known
        column = quoted(schema.name)
        actionColumn = schema.type == .reference ? quoted("_\(schema.name)_action") : nil
    }

    package var name: String { schema.name }
    package var type: FieldType { schema.type }

    /// Whether queries cannot use its values.
    var isEncrypted: Bool { schema.isEncrypted || sealing != nil }

    /// The SQLite type of the column, and the result of `typeof` for its values.
    var storage: (type: String, typeof: String) {
        switch knownType?.form {
        case .wholeNumber: ("INTEGER", "integer")
        case .number: ("REAL", "real")
        case .base64: ("BLOB", "blob")
        case .text, .object, .list, nil: ("TEXT", "text")
        }
    }

    /// The definitions of its columns. A statement of another program that writes a value that no field of the type can
    /// have fails, and SQLite's message has the name of the constraint.
    var definitions: [String] {
        if let sealing { return [Self.sealedDefinition(of: name, in: column, isText: sealing.isText)] }
        var checks = ["CHECK (typeof(\(column)) IN ('\(storage.typeof)', 'null'))"]
        switch knownType?.form {
        case .number: checks.append(check("\(name) is a finite number", "abs(\(column)) < 9e999"))
        case .list: checks.append(jsonCheck("array"))
        case .object where actionColumn == nil: checks.append(jsonCheck("object"))
        case .wholeNumber, .base64, .text, .object, nil: break
        }
        let action = actionColumn.map { column in
            "\(column) INTEGER \(check("the action of \(name) is 0, 1 or 2", "\(column) IN (0, 1, 2)"))"
        }
        return ["\(column) \(storage.type) \(checks.joined(separator: " "))"] + [action].compactMap(\.self)
    }

    /// The name of the constraint of a column with sealed values. `StoreRepair` recognises such a column by it.
    static func sealedConstraint(of name: String) -> String { "\(name) is sealed with the key of the store" }

    /// The definition of a column with sealed values. A statement of another program that writes a plain value fails.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - column: The column, quoted.
    ///   - isText: Whether the sealed values are texts.
    /// - Returns: The definition.
    static func sealedDefinition(of name: String, in column: String, isText: Bool) -> String {
        let types = isText ? ("TEXT", "text") : ("BLOB", "blob")
        return """
            \(column) \(types.0) CONSTRAINT \(quoted(sealedConstraint(of: name))) \
            CHECK (typeof(\(column)) IN ('\(types.1)', 'null'))
            """
    }

    private func check(_ sentence: String, _ condition: String) -> String {
        "CONSTRAINT \(quoted(sentence)) CHECK (\(condition))"
    }

    private func jsonCheck(_ type: String) -> String {
        check(
            "\(name) is a JSON \(type)",
            "CASE WHEN json_valid(\(column)) THEN json_type(\(column)) = '\(type)' ELSE \(column) IS NULL END"
        )
    }

    /// The columns that hold its value.
    var columns: [String] { [column] + (actionColumn.map { [$0] } ?? []) }
}

/// The table of a record type: a column for each field, and the system fields in columns that begin with an underscore.
///
/// ```sql
/// CREATE TABLE "Todo" (
///   _id INTEGER PRIMARY KEY AUTOINCREMENT, _zone INTEGER NOT NULL DEFAULT 1, _recordName TEXT NOT NULL DEFAULT (…),
///   _createdTimestamp INTEGER, _createdUser INTEGER, _modifiedTimestamp INTEGER, _modifiedUser INTEGER, _changeTag TEXT,
///   "title" TEXT CHECK (typeof("title") IN ('text', 'null')), …,
///   UNIQUE (_zone, _recordName)
/// )
/// ```
///
/// Names of fields begin with a letter, so they cannot equal the names of the store's own columns.
package struct RecordTable: Sendable {
    /// The version of the columns and triggers that this library writes. A program replaces triggers of older
    /// generations only.
    static let generation: Int64 = 3

    /// The type's number in `mist_type`.
    package let id: TableID
    package let recordType: String
    package let fields: [StoredField]
    /// The positions of the fields by name.
    let positions: [String: Int]
    /// The table's name, quoted.
    let name: String
    /// The columns of all fields, in their order.
    let fieldColumns: [String]
    /// The position of each field's first column in `fieldColumns`.
    let offsets: [Int]
    /// Statements that run for each record.
    let statements: Statements

    /// SQL that is built once for each table.
    struct Statements: Sendable {
        /// Adds a row with all of its columns.
        let insert: String
        /// Gives a row if the file has anything under a name (`?2`) in a zone (`?1`).
        let isKnown: String
        /// The columns of a ``LocalRow``.
        let rowColumns: String
        /// The columns of a ``RowReader``: the name, the times, the change tag, the zone, the JSON of the fields that
        /// have no column, and the other fields. A small index of the records that have fields without a column makes
        /// that lookup cheap.
        let typedColumns: String
    }

    init(id: TableID, recordType: String, fields: [StoredField]) {
        self.id = id
        self.recordType = recordType
        self.fields = fields
        assetFields = fields.filter { $0.knownType == .asset }
        sealedFields = fields.filter { $0.sealing != nil }
        hasCounters = fields.contains { $0.schema.merge == .counter }
        hasFormers = fields.contains { $0.successor != nil }
        positions = Dictionary(uniqueKeysWithValues: fields.enumerated().map { ($1.name, $0) })
        let quotedType = quoted(recordType)
        name = quotedType
        fieldColumns = fields.flatMap(\.columns)
        var next = 0
        offsets = fields.map { field in
            defer { next += field.columns.count }
            return next
        }
        let system = [
            "_zone", "_recordName", "_createdTimestamp", "_createdUser", "_modifiedTimestamp", "_modifiedUser",
            "_changeTag",
        ]
        let all = system + fieldColumns
        let parameters = all.map { _ in "?" }.joined(separator: ", ")
        statements = Statements(
            insert: "INSERT INTO \(name) (\(all.joined(separator: ", "))) VALUES (\(parameters))",
            isKnown: """
                SELECT 1 FROM \(name) WHERE _zone = ?1 AND _recordName = ?2
                UNION ALL \(KnownVersions.named("?2", in: "?1"))
                UNION ALL \(Tombstones.named("?2", in: "?1"))
                UNION ALL \(SentOperations.named("?2", in: "?1"))
                LIMIT 1
                """,
            rowColumns: (["_id", "_zone", "_recordName", "_createdTimestamp", "_modifiedTimestamp"] + fieldColumns)
                .joined(separator: ", "),
            typedColumns: ([
                "_recordName", "_createdTimestamp", "_modifiedTimestamp", "_changeTag", "_zone",
                KnownVersions.other(of: id),
            ] + fieldColumns.map { "\(quotedType).\($0)" }).joined(separator: ", ")
        )
    }

    subscript(name: String) -> StoredField? { positions[name].map { fields[$0] } }

    /// The field with a number; `nil` for one that only a newer program knows.
    func field(_ id: FieldID) -> StoredField? { fields.first { $0.id == id } }

    /// The fields that hold a file. A field that holds a list of files is not among them: the store keeps no files of it.
    let assetFields: [StoredField]

    /// Whether the records are those of users, which the service makes.
    var holdsUsers: Bool { recordType == ContainerSchema.userType }

    /// The fields whose values are sealed.
    let sealedFields: [StoredField]

    /// Whether a field of the type is a counter.
    let hasCounters: Bool

    /// Whether fields were renamed.
    let hasFormers: Bool

    /// The former fields of a renamed field.
    func formers(of field: StoredField) -> [StoredField] { fields.filter { $0.successor == field.id } }

    /// The field with the reference to the record above.
    package var parentField: StoredField? { fields.first { $0.schema.isParent } }

    /// The indexes of references, for cascades: of the references to the record above, and of those with the action
    /// `DELETE_SELF`.
    ///
    /// In the name of an index, a dot separates type and field, since no name has a dot. So the type `A_B` with the
    /// field `C` and the type `A` with the field `B_C` have indexes of different names.
    var referenceIndexes: [String] {
        fields.filter { $0.type == .reference }.map { field in
            let condition = field.schema.isParent ? "" : " WHERE \(field.actionColumn ?? "NULL") = 1"
            return """
                CREATE INDEX IF NOT EXISTS \(quoted("mist_link_\(recordType).\(field.name)")) \
                ON \(name) (\(field.column), _zone)\(condition)
                """
        }
    }

    /// An SQL expression for a random UUID, the form of the names that the service chooses.
    private static let randomName = """
        (printf('%s-%s-4%s-A%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2), \
        substr(hex(randomblob(2)), 2), hex(randomblob(6))))
        """

    /// The definition of the table.
    ///
    /// - Parameter zone: The zone of rows that do not name a zone.
    /// - Returns: The statement that creates the table.
    func definition(defaultZone zone: ZoneRowID) -> String {
        let own = fields.flatMap(\.definitions).map { ",\n    \($0)" }.joined()
        // Only the names that the service gives to users begin with an underscore.
        let isOwnName = holdsUsers ? "" : " AND substr(_recordName, 1, 1) <> '_'"
        return """
            CREATE TABLE \(name) (
                _id INTEGER PRIMARY KEY AUTOINCREMENT,
                _zone INTEGER NOT NULL DEFAULT \(zone),
                _recordName TEXT NOT NULL DEFAULT \(Self.randomName) CHECK (
                    length(_recordName) BETWEEN 1 AND 255\(isOwnName)
                    AND _recordName NOT GLOB '*[^ -~]*'
                ),
                _createdTimestamp INTEGER, _createdUser INTEGER,
                _modifiedTimestamp INTEGER, _modifiedUser INTEGER,
                -- The version of the service that the row was last equal to, as in mist_record; for reading.
                _changeTag TEXT\(own),
                UNIQUE (_zone, _recordName)
            )
            """
    }
}

/// A name in the double quotes of SQL.
func quoted(_ name: String) -> String {
    "\"" + name.replacing("\"", with: "\"\"") + "\""
}

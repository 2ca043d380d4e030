import GRDB
package import MistKit

/// A field of a record type as the store keeps it.
package struct StoredField: Sendable {
    /// Its number in `mist_field` and `mist_edit`.
    package let id: Int64
    /// What the record type says of it.
    package let schema: RecordSchema.Field
    /// Its type, where fields of a model can have it.
    let knownType: FieldType.Known?

    init(id: Int64, schema: RecordSchema.Field) {
        self.id = id
        self.schema = schema
        knownType = schema.type.known
    }

    package var name: String { schema.name }
    package var type: FieldType { schema.type }

    /// The column, quoted.
    var column: String { quoted(name) }

    /// The column with the action of a reference, quoted; `nil` for other types.
    var actionColumn: String? { type == .reference ? quoted("_\(name)_action") : nil }

    /// The type of SQLite for the column, and what `typeof` may answer for its values.
    var storage: (type: String, typeof: String) {
        switch knownType?.form {
        case .wholeNumber: ("INTEGER", "integer")
        case .number: ("REAL", "real")
        case .base64: ("BLOB", "blob")
        case .text, .object, .list, nil: ("TEXT", "text")
        }
    }

    /// The definitions of its columns.
    var definitions: [String] {
        ["\(column) \(storage.type) CHECK (typeof(\(column)) IN ('\(storage.typeof)', 'null'))"]
            + (actionColumn.map { ["\($0) INTEGER"] } ?? [])
    }

    /// The columns that hold its value.
    var columns: [String] { [column] + (actionColumn.map { [$0] } ?? []) }
}

/// The table of a record type: a column for each field, and the system fields in columns that begin with an underscore.
///
/// ```sql
/// CREATE TABLE "Todo" (
///   _id INTEGER PRIMARY KEY AUTOINCREMENT, _zone INTEGER NOT NULL DEFAULT 1, _recordName TEXT NOT NULL DEFAULT (…),
///   _createdTimestamp INTEGER, _createdUser INTEGER, _modifiedTimestamp INTEGER, _modifiedUser INTEGER,
///   "title" TEXT CHECK (typeof("title") IN ('text', 'null')), …,
///   UNIQUE (_zone, _recordName)
/// )
/// ```
///
/// Names of fields begin with a letter, so they cannot meet those of the store.
package struct RecordTable: Sendable {
    /// The version of the columns and triggers that this library writes. A program replaces triggers of older generations only.
    static let generation: Int64 = 1

    /// The type's number in `mist_type`.
    package let id: Int64
    package let recordType: String
    package let fields: [StoredField]
    /// The positions of the fields by name.
    let positions: [String: Int]

    var name: String { quoted(recordType) }

    init(id: Int64, recordType: String, fields: [StoredField]) {
        self.id = id
        self.recordType = recordType
        self.fields = fields
        positions = Dictionary(uniqueKeysWithValues: fields.enumerated().map { ($1.name, $0) })
    }

    subscript(name: String) -> StoredField? { positions[name].map { fields[$0] } }

    /// The field with the reference to the record above.
    package var parentField: StoredField? { fields.first { $0.schema.isParent } }

    /// The indexes of references, for cascades: every link to the record above, and those that go with their target.
    var referenceIndexes: [String] {
        fields.filter { $0.type == .reference }.map { field in
            let condition = field.schema.isParent ? "" : " WHERE \(field.actionColumn ?? "NULL") = 1"
            return """
                CREATE INDEX IF NOT EXISTS \(quoted("mist_link_\(recordType)_\(field.name)")) \
                ON \(name) (\(field.column), _zone)\(condition)
                """
        }
    }

    /// A random UUID in SQL, as the service would choose one.
    private static let randomName = """
        (printf('%s-%s-4%s-A%s-%s', hex(randomblob(4)), hex(randomblob(2)), substr(hex(randomblob(2)), 2), \
        substr(hex(randomblob(2)), 2), hex(randomblob(6))))
        """

    /// The definition of the table.
    ///
    /// - Parameter zone: The zone of rows that do not name a zone.
    /// - Returns: The statement that creates the table.
    func definition(defaultZone zone: Int64) -> String {
        let own = fields.flatMap(\.definitions).map { ",\n    \($0)" }.joined()
        return """
            CREATE TABLE \(name) (
                _id INTEGER PRIMARY KEY AUTOINCREMENT,
                _zone INTEGER NOT NULL DEFAULT \(zone),
                _recordName TEXT NOT NULL DEFAULT \(Self.randomName) CHECK (
                    length(_recordName) BETWEEN 1 AND 255
                    AND substr(_recordName, 1, 1) <> '_'
                    AND _recordName NOT GLOB '*[^ -~]*'
                ),
                _createdTimestamp INTEGER, _createdUser INTEGER,
                _modifiedTimestamp INTEGER, _modifiedUser INTEGER\(own),
                UNIQUE (_zone, _recordName)
            )
            """
    }
}

/// A name in double quotes, as SQL has it.
func quoted(_ name: String) -> String {
    "\"" + name.replacing("\"", with: "\"\"") + "\""
}

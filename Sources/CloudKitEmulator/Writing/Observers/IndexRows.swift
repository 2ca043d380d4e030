import CloudKitModel
import GRDB
import SearchWords
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rows of the tables `entry`, `location_entry` and `word`, by which queries find the records of a zone.
struct IndexRows {
    let db: Database
    let zone: Int64

    /// Updates the index from a record's old content to its new content.
    func update(for change: RecordChange) throws {
        guard let type = change.type else { return }
        let (old, new, record) = (change.old, change.new, change.row.id)
        var rows: [(field: Int64, value: OrderedValue)] = []
        for (name, field) in type.fields where !field.kind.isEncrypted {
            let (before, after) = (old?.fields[name], new?.fields[name])
            // Swift strings are equal when they are canonically equivalent, but the rows hold their bytes. So equal
            // texts are compared again by their index values.
            let holdsText = field.kind.element == .string || field.kind.element == .reference
            if !holdsText, old != nil, new != nil, before == after { continue }
            if field.kind == FieldKind(.location) {
                try indexLocation(after?.locationValue, over: before?.locationValue, field: field.id, record: record)
                continue
            }
            if field.hasWords { try indexWords(of: after, over: before, field: field.id, record: record) }
            let present = old == nil ? [] : OrderedValue.values(of: before, in: field.kind)
            let wanted = new == nil ? [] : OrderedValue.values(of: after, in: field.kind)
            let (presentSet, wantedSet) = (Set(present), Set(wanted))
            for value in present where !wantedSet.contains(value) {
                try db.run(
                    "DELETE FROM entry WHERE field = ? AND zone = ? AND value = ? AND record = ?",
                    [field.id, zone, value, record]
                )
            }
            for value in wanted where !presentSet.contains(value) { rows.append((field.id, value)) }
        }
        try insert(rows[...], of: record)
    }

    /// Writes rows of `entry`, several in one statement.
    private func insert(_ rows: ArraySlice<(field: Int64, value: OrderedValue)>, of record: Int64) throws {
        let rowsOfStatement = 16
        var rest = rows
        while !rest.isEmpty {
            let chunk = rest.prefix(rowsOfStatement)
            rest = rest.dropFirst(rowsOfStatement)
            var arguments: [DatabaseValue] = []
            arguments.reserveCapacity(4 * chunk.count)
            for row in chunk {
                arguments.append(row.field.databaseValue)
                arguments.append(zone.databaseValue)
                arguments.append(row.value.databaseValue)
                arguments.append(record.databaseValue)
            }
            try db.run(Self.insertions[chunk.count - 1], SQLArguments(arguments))
        }
    }

    /// The statements that insert 1, 2, … 16 rows.
    private static let insertions = (1...16).map { count in
        "INSERT INTO entry VALUES " + Array(repeating: "(?, ?, ?, ?)", count: count).joined(separator: ", ")
    }

    private func indexWords(of new: FieldValue?, over old: FieldValue?, field: Int64, record: Int64) throws {
        let (present, wanted) = (Self.words(of: old), Self.words(of: new))
        for word in present.subtracting(wanted) {
            try db.run(
                "DELETE FROM word WHERE field = ? AND zone = ? AND word = ? AND record = ?",
                [field, zone, word, record]
            )
        }
        for word in wanted.subtracting(present) {
            // An earlier version, which knows no words, may have changed the text meanwhile.
            try db.run("INSERT OR IGNORE INTO word VALUES (?, ?, ?, ?)", [field, zone, word, record])
        }
    }

    /// The words of a value, by which searches find it.
    private static func words(of value: FieldValue?) -> Set<String> {
        guard case .string(let text)? = value?.plain else { return [] }
        return Set(searchWords(in: text).map(OrderedValue.prefix))
    }

    private func indexLocation(_ new: Location?, over old: Location?, field: Int64, record: Int64) throws {
        if new?.latitude == old?.latitude, new?.longitude == old?.longitude { return }
        if let old {
            try db.run(
                """
                DELETE FROM location_entry
                WHERE field = ? AND zone = ? AND latitude = ? AND longitude = ? AND record = ?
                """,
                [field, zone, old.latitude, old.longitude, record]
            )
        }
        if let new {
            try db.run(
                "INSERT INTO location_entry VALUES (?, ?, ?, ?, ?)",
                [field, zone, new.latitude, new.longitude, record]
            )
        }
    }

    func erase(_ schema: Schema) throws {
        for field in schema.types.values.flatMap(\.fields.values) {
            try db.run("DELETE FROM entry WHERE field = ? AND zone = ?", [field.id, zone])
            try db.run("DELETE FROM location_entry WHERE field = ? AND zone = ?", [field.id, zone])
            try db.run("DELETE FROM word WHERE field = ? AND zone = ?", [field.id, zone])
        }
    }
}

extension IndexRows {
    /// Creates the table of words, and fills it with those of the records of an older file.
    static func createWords(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE word (
                    field INTEGER NOT NULL, zone INTEGER NOT NULL, word TEXT NOT NULL, record INTEGER NOT NULL,
                    PRIMARY KEY (field, zone, word, record)
                ) WITHOUT ROWID;
                """
        )
        for container in try db.values("SELECT id FROM container", as: Int64.self) {
            for type in try Schema.load(container: container, from: db).types.values {
                let fields = type.fields.values.filter(\.hasWords)
                guard !fields.isEmpty else { continue }
                let records = try Row.fetchCursor(
                    db,
                    sql: "SELECT id, zone, body FROM record WHERE type = ? AND deleted = 0",
                    arguments: [type.id]
                )
                while let row = try records.next() {
                    guard let body: Data = row[2] else { continue }
                    let content = try JSONReader.read(Record.self, from: [UInt8](body))
                    let rows = IndexRows(db: db, zone: row[1])
                    for field in fields {
                        let value = content.fields[field.name]
                        try rows.indexWords(of: value, over: nil, field: field.id, record: row[0])
                    }
                }
            }
        }
    }
}

extension Schema.Field {
    /// Whether searches for words can find records by this field.
    var hasWords: Bool { kind == FieldKind(.string) }

    /// Adds an index row for this field, which is new in its type, to all records of the type.
    func indexAbsence(inRecordsOf type: Schema.RecordType, container: Int64, _ db: Database) throws {
        guard kind.isSortable else { return }
        try db.run(
            """
            INSERT INTO entry (field, zone, value, record)
            SELECT ?, record.zone, ?, record.id
            FROM database JOIN zone ON zone.database = database.id
            CROSS JOIN record INDEXED BY record_created_order ON record.zone = zone.id
            WHERE database.container = ? AND record.type = ? AND record.deleted = 0
            """,
            [id, OrderedValue.absent, container, type.id]
        )
    }
}

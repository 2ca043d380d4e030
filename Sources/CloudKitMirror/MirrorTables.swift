import CloudKitModel
import Foundation
import GRDB
import MistStore

/// A record of CloudKit, and not of GRDB.
typealias Record = CloudKitModel.Record

/// The table of a record type in a mirror: a row for each record, a column for each field.
final class MirrorTable {
    /// The columns that each table has, with their SQLite types.
    static let systemColumns = [
        // The ID of the record in `mirror_record`.
        ("mirror_id", "INTEGER PRIMARY KEY"),
        ("recordName", "TEXT NOT NULL"), ("zone", "TEXT NOT NULL"), ("zoneOwner", "TEXT"), ("changeTag", "TEXT"),
        ("created", "TEXT"), ("createdBy", "TEXT"), ("modified", "TEXT"), ("modifiedBy", "TEXT"), ("parent", "TEXT"),
        ("share", "TEXT"),
    ]

    let id: Int64
    let recordType: String
    /// The table's name: the record type, unless another table has it.
    let name: String
    /// The position of each field's column among all columns.
    private var positions: [String: Int] = [:]
    private var columns: [String]
    private var texts: [UInt8] = []
    private var insertion: Statement?
    private var deletion: Statement?

    init(id: Int64, recordType: String, name: String) {
        self.id = id
        self.recordType = recordType
        self.name = name
        columns = Self.systemColumns.map(\.0)
    }

    /// Adds a column that the file has.
    func add(_ column: String, for field: String) {
        positions[field] = columns.count
        columns.append(column)
        insertion = nil
    }

    /// Releases the compiled statements, so that the file can be closed.
    func releaseStatements() {
        (insertion, deletion) = (nil, nil)
    }

    /// Adds the row of a record, and columns for fields that have none.
    func insert(_ record: Record, id: Int64, in zone: MirrorZone, _ db: Database) throws {
        var values = [ColumnValue](repeating: .null, count: columns.count)
        values[0] = .integer(id)
        values[1] = .text(record.recordName ?? "")
        values[2] = .text(zone.name)
        values[3] = zone.ownerValue
        values[4] = .init(record.recordChangeTag)
        values[5] = record.created.map { MirrorColumn.value(of: $0.timestamp) } ?? .null
        values[6] = .init(record.created?.userRecordName)
        values[7] = record.modified.map { MirrorColumn.value(of: $0.timestamp) } ?? .null
        values[8] = .init(record.modified?.userRecordName)
        values[9] = .init(record.parent?.recordName)
        values[10] = .init(record.share?.recordName)
        for (name, value) in record.fields {
            if let position = positions[name] {
                values[position] = MirrorColumn.value(of: value)
            } else if let type = MirrorColumn.type(of: value) {
                try addColumn(for: name, type: type, db)
                values.append(MirrorColumn.value(of: value))
            }
        }
        let statement = try insertion ?? db.makeStatement(sql: insertionSQL)
        insertion = statement
        try statement.execute(values, texts: &texts)
    }

    /// Removes the row of a record.
    func delete(_ id: Int64, _ db: Database) throws {
        let sql = "DELETE FROM \(name.quotedDatabaseIdentifier) WHERE mirror_id = ?"
        let statement = try deletion ?? db.makeStatement(sql: sql)
        deletion = statement
        try statement.execute([.integer(id)], texts: &texts)
    }

    /// Removes the rows of records that the bookkeeping is about to forget.
    func delete(_ recordsSQL: String, _ arguments: [ColumnValue], _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                DELETE FROM \(name.quotedDatabaseIdentifier)
                WHERE mirror_id IN (SELECT id FROM mirror_record \(recordsSQL))
                """
        )
        try statement.bind(arguments)
        try statement.execute()
    }

    /// Makes the index of record names, with which queries follow references.
    ///
    /// It is made at the end of the first run: sorting all names once takes a fraction of the time of adding each.
    func createIndex(_ db: Database) throws {
        let table = name.quotedDatabaseIdentifier
        try db.execute(sql: "CREATE INDEX IF NOT EXISTS mirror_index_\(id) ON \(table) (recordName)")
    }

    private var insertionSQL: String {
        """
        INSERT INTO \(name.quotedDatabaseIdentifier) (\(columns.map(\.quotedDatabaseIdentifier).joined(separator: ", ")))
        VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
        """
    }

    /// Adds a column for a field.
    ///
    /// SQLite does not distinguish upper and lower case in names. A column whose name is taken gets a number at its
    /// end.
    private func addColumn(for field: String, type: String, _ db: Database) throws {
        let column = field.unused(among: columns)
        let definition = "\(column.quotedDatabaseIdentifier) \(type)"
        try db.execute(sql: "ALTER TABLE \(name.quotedDatabaseIdentifier) ADD COLUMN \(definition)")
        try db.execute(
            sql: "INSERT INTO mirror_column (type, field, columnName) VALUES (?, ?, ?)",
            arguments: [id, field, column]
        )
        add(column, for: field)
    }
}

/// The tables of all record types of a mirror.
final class MirrorTables {
    private var byType: [String: MirrorTable] = [:]
    private var byID: [Int64: MirrorTable] = [:]

    /// All tables.
    var all: [MirrorTable] { Array(byID.values) }

    /// Reads which tables and columns the file has.
    init(_ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT id, recordType, tableName FROM mirror_type") {
            add(MirrorTable(id: row["id"], recordType: row["recordType"], name: row["tableName"]))
        }
        // In the order in which they were added, which is the order of the columns.
        for row in try Row.fetchAll(db, sql: "SELECT type, field, columnName FROM mirror_column ORDER BY rowid") {
            byID[row["type"]]?.add(row["columnName"], for: row["field"])
        }
    }

    subscript(id: Int64) -> MirrorTable? { byID[id] }

    /// The table of a record type, which is made where the file does not have it.
    func table(of recordType: String, _ db: Database) throws -> MirrorTable {
        if let table = byType[recordType] { return table }
        let lowercase = recordType.lowercased()
        // The first prefix is that of SQLite's own tables, the second that of the bookkeeping.
        let isReserved = lowercase.hasPrefix("sqlite_") || lowercase.hasPrefix("mirror_")
        let name = (isReserved ? "type_" + recordType : recordType).unused(among: byID.values.map(\.name))
        let columns = MirrorTable.systemColumns
            .map { "\($0.0.quotedDatabaseIdentifier) \($0.1)" }.joined(separator: ", ")
        try db.execute(sql: "CREATE TABLE \(name.quotedDatabaseIdentifier) (\(columns))")
        try db.execute(
            sql: "INSERT INTO mirror_type (recordType, tableName) VALUES (?, ?)",
            arguments: [recordType, name]
        )
        let table = MirrorTable(id: db.lastInsertedRowID, recordType: recordType, name: name)
        add(table)
        return table
    }

    private func add(_ table: MirrorTable) {
        byType[table.recordType] = table
        byID[table.id] = table
    }
}

extension ColumnValue {
    init(_ text: String?) {
        self = text.map { .text($0) } ?? .null
    }
}

extension String {
    /// The name, or if it is taken, the name with `_2`, `_3` and so on; upper and lower case count as the same.
    func unused(among names: some Sequence<String>) -> String {
        let taken = Set(names.map { $0.lowercased() })
        guard taken.contains(lowercased()) else { return self }
        var number = 2
        while taken.contains("\(self)_\(number)".lowercased()) { number += 1 }
        return "\(self)_\(number)"
    }
}

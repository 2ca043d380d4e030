package import CloudKitModel
package import GRDB
import MistKit
import SQLiteTables
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// CloudKit's record. GRDB has a type of the same name.
typealias Record = CloudKitModel.Record

/// A row of a record type's table.
package struct LocalRow: Sendable {
    /// `_id`
    package let id: RecordRowID
    /// `mist_zone.id`
    package let zone: ZoneRowID
    package let name: String
    /// The fields that have a value.
    package var fields: [String: FieldValue]
    /// The fields whose column holds a value that no field of the type can have, because another program wrote it.
    var misfits: [String: Misfit] = [:]
    var created: Int64?
    var modified: Int64?

    /// The values for the recovery log: those of the row, with edits in place of them where there are some. Values that
    /// no field can have are text.
    func receipt(_ edits: [String: FieldValue?] = [:]) -> [String: FieldValue?] {
        var values = fields.mapValues { Optional($0) }.merging(edits) { $1 }
        for (name, misfit) in misfits { values[name] = .string(misfit.value.receipt) }
        return values
    }
}

/// The value of a column that no field of the type can have.
struct Misfit: Hashable, Sendable {
    let value: ColumnValue
    let reason: ColumnError
}

extension RecordTable {
    /// The rows that match a condition. A value that no field can have is among the row's ``LocalRow/misfits``, and
    /// hides neither the row nor the others.
    ///
    /// - Parameters:
    ///   - condition: The SQL after `WHERE`.
    ///   - values: The values of its parameters.
    ///   - db: The connection.
    /// - Returns: The rows, in the order of the condition.
    /// - Throws: A `DatabaseError` when the file fails.
    func rows(_ condition: String, _ values: [ColumnValue], _ db: Database) throws -> [LocalRow] {
        let statement = try db.cachedStatement(sql: "SELECT \(statements.rowColumns) FROM \(name) WHERE \(condition)")
        try statement.bind(values)
        var rows: [LocalRow] = []
        let cursor = try Row.fetchCursor(statement)
        while try cursor.next() != nil { rows.append(row(statement)) }
        return rows
    }

    /// All rows, in the order of their names.
    package func allRows(_ db: Database) throws -> [LocalRow] {
        try rows("true ORDER BY _recordName", [], db)
    }

    func row(id: RecordRowID, _ db: Database) throws -> LocalRow? {
        try rows("_id = ?", [ColumnValue(id)], db).first
    }

    package func row(named name: String, in zone: ZoneRowID, _ db: Database) throws -> LocalRow? {
        try rows("_zone = ? AND _recordName = ?", [ColumnValue(zone), .text(name)], db).first
    }

    /// The statement's current row.
    private func row(_ statement: Statement) -> LocalRow {
        func column(_ index: Int) -> ColumnValue {
            ColumnValue(sqliteStatement: statement.sqliteStatement, index: CInt(index))
        }
        var row = LocalRow(
            id: RecordRowID(column(0).integer ?? 0),
            zone: ZoneRowID(column(1).integer ?? 0),
            name: column(2).text ?? "",
            fields: [:],
            created: column(3).integer,
            modified: column(4).integer
        )
        var index = 5
        for field in fields {
            let value = column(index)
            let action = field.actionColumn == nil ? ColumnValue.null : column(index + 1)
            index += field.columns.count
            guard value != .null else { continue }
            do throws(ColumnError) {
                let plain = try field.sealing?.opened(value, of: row.name) ?? value
                row.fields[field.name] = try plain.fieldValue(as: try field.columnType(), action: action)
            } catch {
                row.misfits[field.name] = Misfit(value: value, reason: error)
            }
        }
        return row
    }

    // MARK: Writing

    /// Adds a row.
    ///
    /// - Returns: Its `_id`.
    @discardableResult
    package func insert(
        _ fields: [String: ColumnPair],
        named name: String,
        in zone: ZoneRowID,
        at time: Int64,
        _ db: Database
    ) throws -> RecordRowID {
        let present = self.fields.filter { fields[$0.name] != nil }
        let columns = ["_zone", "_recordName", "_createdTimestamp", "_modifiedTimestamp"] + present.flatMap(\.columns)
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO \(self.name) (\(columns.joined(separator: ", "))) \
                VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
                """
        )
        let values = try present.flatMap { field in
            try fields[field.name].map { try $0.values(of: field, named: name) } ?? []
        }
        try statement.bind([ColumnValue(zone), .text(name), .integer(time), .integer(time)] + values)
        try statement.execute()
        return db.lastInserted(RecordRowID.self)
    }

    /// Sets fields of a row.
    package func update(_ id: RecordRowID, _ fields: [String: ColumnPair], at time: Int64?, _ db: Database) throws {
        let present = self.fields.filter { fields[$0.name] != nil }
        var assignments = present.flatMap(\.columns).map { "\($0) = ?" }
        if time != nil { assignments.append("_modifiedTimestamp = ?") }
        guard !assignments.isEmpty else { return }
        let statement = try db.cachedStatement(
            sql: "UPDATE \(name) SET \(assignments.joined(separator: ", ")) WHERE _id = ?"
        )
        let sealed = try sealedFields.isEmpty ? nil : sealedValues(of: id, present.filter { $0.sealing != nil }, db)
        var values = try present.flatMap { field -> [ColumnValue] in
            guard let pair = fields[field.name] else { return [] }
            guard let sealing = field.sealing else { return pair.values(of: field) }
            let present = sealed?.values[field.name] ?? .null
            return [try sealing.sealed(pair.value, over: present, of: sealed?.recordName ?? "")]
        }
        if let time { values.append(.integer(time)) }
        try statement.bind(values + [ColumnValue(id)])
        try statement.execute()
    }

    /// The present content of sealed columns, with the name of the record; `nil` where none is asked for, or where there
    /// is no such row.
    private func sealedValues(
        of id: RecordRowID,
        _ fields: [StoredField],
        _ db: Database
    ) throws -> (recordName: String, values: [String: ColumnValue])? {
        guard !fields.isEmpty else { return nil }
        let columns = fields.map(\.column).joined(separator: ", ")
        let statement = try db.cachedStatement(sql: "SELECT _recordName, \(columns) FROM \(name) WHERE _id = ?")
        try statement.bind([ColumnValue(id)])
        let cursor = try Row.fetchCursor(statement)
        return try withExtendedLifetime(cursor) {
            guard try cursor.next() != nil else { return nil }
            func column(_ index: Int) -> ColumnValue {
                ColumnValue(sqliteStatement: statement.sqliteStatement, index: CInt(index))
            }
            let values = fields.enumerated().map { ($1.name, column($0 + 1)) }
            return (column(0).text ?? "", Dictionary(uniqueKeysWithValues: values))
        }
    }

    /// The name of the record of a row, with which its values are sealed.
    func recordName(of id: RecordRowID, _ db: Database) throws -> String? {
        try db.value("SELECT _recordName FROM \(name) WHERE _id = ?", [id], as: String.self)
    }

    package func delete(_ id: RecordRowID, _ db: Database) throws {
        try db.run("DELETE FROM \(name) WHERE _id = ?", [id])
    }

    /// Fields in the form of their columns.
    ///
    /// - Parameters:
    ///   - fields: The values. Fields that the type does not have are left out.
    ///   - name: The name of the record, for errors.
    ///   - zone: The zone of the record.
    /// - Returns: The values of the columns, by the names of the fields.
    /// - Throws: A ``StoreError`` for the first value that does not fit: `value`, or `link` for a reference to another
    ///   zone.
    package func columnPairs(of fields: [String: FieldValue], named name: String, in zone: ZoneID) throws -> [String:
        ColumnPair]
    {
        var pairs: [String: ColumnPair] = [:]
        for field in self.fields {
            guard let value = fields[field.name] else { continue }
            do {
                pairs[field.name] = try ColumnPair(value, of: field, in: zone)
            } catch {
                let code: StoreError.Code = if case .otherZone = error { .link } else { .value }
                throw StoreError(
                    code,
                    error.description,
                    recordType: recordType,
                    recordName: name,
                    fieldName: field.name
                )
            }
        }
        return pairs
    }
}

/// The values of a field's columns: the value, and the action where the field is a reference.
package struct ColumnPair: Hashable, Sendable {
    var value: ColumnValue
    var action = ColumnValue.null

    static let null = ColumnPair(value: .null)

    init(value: ColumnValue) {
        self.value = value
    }

    init(_ value: FieldValue?, of field: StoredField, in zone: ZoneID) throws(ColumnError) {
        self.value = try ColumnValue(value, as: try field.columnType(), in: zone)
        if field.type == .reference { action = try ColumnValue(actionOf: value) }
    }

    /// The plain values.
    fileprivate func values(of field: StoredField) -> [ColumnValue] {
        field.actionColumn == nil ? [value] : [value, action]
    }

    /// The values as they are in the columns of a new row.
    func values(of field: StoredField, named recordName: String) throws -> [ColumnValue] {
        guard let sealing = field.sealing else { return values(of: field) }
        return [try sealing.sealed(value, of: recordName)]
    }
}

extension StoredField {
    func columnType() throws(ColumnError) -> FieldType.Known {
        guard let knownType else { throw .otherType(type, expected: .string) }
        return knownType
    }

    /// The value of the service's version in the form of a column, as a field's. A value that no field of the type can
    /// have is never that of the service, and counts as absent.
    func serviceValue(_ value: ColumnValue) -> FieldValue? {
        (try? value.fieldValue(as: columnType())) ?? nil
    }
}

extension ColumnValue {
    init(_ number: Int64?) { self = number.map { .integer($0) } ?? .null }
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ bytes: Data?) { self = bytes.map { .blob($0) } ?? .null }

    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
    var blob: Data? { if case .blob(let value) = self { value } else { nil } }
}

extension CloudKitModel.Record {
    /// Makes a record of a row, with the tag and the fields without a column of the service's version.
    init(_ row: LocalRow, of table: RecordTable, _ known: KnownVersion?, in zone: ZoneID?) {
        self.init(
            recordType: table.recordType,
            recordName: row.name,
            recordChangeTag: known?.tag,
            created: row.created.map { Stamp(timestamp: ColumnValue.date($0)) },
            modified: row.modified.map { Stamp(timestamp: ColumnValue.date($0)) },
            zoneID: zone
        )
        for field in table.fields {
            if let value = row.fields[field.name] { fields[field.name] = value.linked(in: zone) }
        }
        for (name, value) in known?.other ?? [:] where table[name] == nil { fields[name] = value }
    }
}

/// The fields of a record that have no column, as JSON.
package enum OtherFields {
    package static func read(_ text: String) throws -> [String: FieldValue] {
        let fields = try JSONReader.read(Record.Fields.self, from: text)
        return Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }

    static func text(_ fields: [String: FieldValue]) throws -> String? {
        guard !fields.isEmpty else { return nil }
        let sorted = Record.Fields(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        return String(decoding: try JSONWriter.bytes(of: sorted), as: UTF8.self)
    }
}

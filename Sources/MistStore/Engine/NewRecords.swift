import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records of a feed whose names this file has never met. There is nothing to merge, so each costs a lookup and two
/// inserts.
///
/// A first pull consists of such records, and so do most changes of other devices.
extension RemoteChanges {
    /// Whether the file has nothing under a name: no row, no version, no delete, and no operation that was sent. Of a
    /// type with renamed fields, a merge decides which name counts.
    func isUnknown(_ name: String, _ table: RecordTable, in zone: StoredZone) throws -> Bool {
        guard !table.hasFormers else { return false }
        let statement = try db.cachedStatement(sql: table.statements.isKnown)
        try statement.bind([ColumnValue(zone.id), .text(name)])
        return try Row.fetchCursor(statement).next() == nil
    }

    /// Adds a record that the file has nothing of.
    ///
    /// - Parameters:
    ///   - record: The service's record, of the table's type.
    ///   - name: Its name.
    ///   - table: The table.
    ///   - zone: Its zone.
    /// - Throws: A `DatabaseError` when the file fails.
    func add(_ record: Record, named name: String, to table: RecordTable, in zone: StoredZone) throws {
        var values = [ColumnValue](repeating: .null, count: table.fieldColumns.count)
        var other: [String: FieldValue] = [:]
        var bytes: Data?
        for (fieldName, value) in record.fields where !value.isNull {
            if fieldName == EditTimes.fieldName, case .bytes(let data) = value.plain {
                bytes = data
            } else if let position = table.positions[fieldName],
                let pair = try? ColumnPair(value, of: table.fields[position], in: zone.zoneID)
            {
                let offset = table.offsets[position]
                values[offset] = try table.fields[position].sealing?.sealed(pair.value, of: name) ?? pair.value
                if table.fields[position].actionColumn != nil { values[offset + 1] = pair.action }
            } else {
                other[fieldName] = value
            }
        }
        let stamps = try Stamps(of: record, users)
        noteTimes(bytes.flatMap { EditTimes($0) } ?? EditTimes(), ofVersion: stamps.modified ?? 0)
        try db.run(
            table.statements.insert,
            binding: [
                ColumnValue(zone.id), .text(name), ColumnValue(stamps.created), ColumnValue(stamps.creator),
                ColumnValue(stamps.modified), ColumnValue(stamps.modifier), ColumnValue(stamps.tag),
            ] + values
        )
        let row = db.lastInserted(RecordRowID.self)
        if let model = file.models[table.recordType] {
            var readable = record
            for name in other.keys where table.positions[name] != nil { readable.fields[name] = nil }
            if model.misfit(of: readable) != nil { try unreadableRows.note(row, of: table.id) }
        }
        try knownVersions.store(
            record,
            named: name,
            stamps,
            times: bytes,
            other: other,
            in: table,
            row: row,
            zone: zone
        )
    }
}

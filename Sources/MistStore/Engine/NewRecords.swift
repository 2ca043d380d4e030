import CloudKitModel
import GRDB
import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records of a feed whose names this file has never met. There is nothing to merge, so each costs a lookup and two
/// inserts.
///
/// A first pull consists of such records, and so do most changes of other devices.
extension SyncEngine.Transaction {
    /// Adds a record if the file has nothing under its name: no row, no version, no delete, and no operation that was
    /// sent.
    ///
    /// - Parameters:
    ///   - record: The service's record, of the table's type.
    ///   - name: Its name.
    ///   - table: The table.
    ///   - zone: Its zone.
    /// - Returns: Whether it was added. If not, nothing was changed, and a merge decides.
    /// - Throws: A `DatabaseError` when the file fails.
    func addIfUnknown(_ record: Record, named name: String, into table: RecordTable, in zone: ZoneRow) throws -> Bool {
        // The merge decides which name of a renamed field counts.
        guard !table.hasFormers, try !isKnown(name, table, in: zone) else { return false }
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
                values[offset] = pair.value
                if table.fields[position].actionColumn != nil { values[offset + 1] = pair.action }
            } else {
                other[fieldName] = value
            }
        }
        let stamps = try stamps(of: record)
        hear(bytes.flatMap { EditTimes($0) } ?? EditTimes(), ofVersion: record.modified?.milliseconds ?? 0)
        let system = [stamps.created, stamps.creator, stamps.modified, stamps.modifier].map { ColumnValue($0) }
        try db.run(
            table.statements.insert,
            binding: [.integer(zone.id), .text(name)] + system + [ColumnValue(stamps.tag)] + values
        )
        let row = db.lastInsertedRowID
        if let model = file.models[table.recordType] {
            var readable = record
            for name in other.keys where table.positions[name] != nil { readable.fields[name] = nil }
            if model.misfit(of: readable) != nil { try noteUnreadable(row, table) }
        }
        try storeVersion(
            of: record,
            named: name,
            stamps,
            times: bytes,
            other,
            in: table,
            row: row,
            zone: zone
        )
        return true
    }

    private func isKnown(_ name: String, _ table: RecordTable, in zone: ZoneRow) throws -> Bool {
        let statement = try db.cachedStatement(sql: table.statements.isKnown)
        try statement.bind([.integer(zone.id), .text(name)])
        return try Row.fetchCursor(statement).next() != nil
    }
}

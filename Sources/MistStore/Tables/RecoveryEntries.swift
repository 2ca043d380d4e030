import CloudKitModel
import GRDB
import MistKit

/// The recovery log, `mist_recovery`: the values of this device that lost, with the reason.
struct RecoveryEntries: TableOwner {
    static let definition = """
        -- Values that lost, with the reason.
        CREATE TABLE mist_recovery (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            time INTEGER NOT NULL,
            scope INTEGER NOT NULL,
            zone TEXT NOT NULL,
            owner TEXT NOT NULL,
            type TEXT NOT NULL,
            name TEXT NOT NULL,
            reason TEXT NOT NULL,
            -- JSON of the fields that lost.
            fields TEXT NOT NULL,
            size INTEGER NOT NULL
        );
        """

    let scope: DatabaseScope
    let db: Database

    /// Writes values that lost into the log. A field that was cleared is written as a null.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - fields: The values.
    ///   - type: The record's type.
    ///   - name: Its name.
    ///   - zone: Its zone.
    ///   - now: When they lost.
    /// - Throws: A `DatabaseError` when the file fails.
    func add(
        _ reason: LossReason,
        _ fields: [String: FieldValue?],
        of type: String,
        _ name: String,
        in zone: StoredZone,
        at now: MachineTime
    ) throws {
        let text = try OtherFields.text(fields.mapValues { $0 ?? .null }) ?? "{}"
        try db.run(
            """
            INSERT INTO mist_recovery (time, scope, zone, owner, type, name, reason, fields, size)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                now, scope.number, zone.zoneID.zoneName, zone.zoneID.owner ?? "", type, name, reason.rawValue, text,
                text.utf8.count,
            ]
        )
    }

    /// The entries of the scope, the latest first.
    func latest(_ limit: Int) throws -> [RecoveredValues] {
        try db.rows("SELECT * FROM mist_recovery WHERE scope = ? ORDER BY id DESC LIMIT ?", [scope.number, limit])
            .map(RecoveredValues.init)
    }

    /// Removes entries from before a time, and the oldest entries while the log is too large.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - bytes: The most bytes of the values in the log.
    /// - Throws: A `DatabaseError` when the file fails.
    func trim(before time: MachineTime, toBytes bytes: Int64) throws {
        try db.run("DELETE FROM mist_recovery WHERE time < ?", [time])
        while let size = try db.value("SELECT sum(size) FROM mist_recovery", as: Int64.self), size > bytes {
            try db.run("DELETE FROM mist_recovery WHERE id = (SELECT min(id) FROM mist_recovery)")
        }
    }
}

extension RecoveredValues {
    fileprivate init(_ row: Row) throws {
        let owner: String = row["owner"]
        self.init(
            id: row["id"],
            time: ColumnValue.date(row["time"] as MachineTime),
            recordType: row["type"],
            recordName: row["name"],
            zoneID: ZoneID(zoneName: row["zone"], ownerRecordName: owner.isEmpty ? nil : owner),
            reason: LossReason(rawValue: row["reason"]),
            fields: CloudKitModel.Record.Fields(
                try OtherFields.read(row["fields"]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            )
        )
    }
}

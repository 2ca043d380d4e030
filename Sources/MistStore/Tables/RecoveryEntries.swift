import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

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
            size INTEGER NOT NULL,
            \(provision)
        );
        """

    /// 1: the record had no edits, and it is not decided yet whether the entry is kept.
    private static let provision = "is_provisional INTEGER NOT NULL DEFAULT 0"

    static func update(from format: Int64) -> [String] {
        format < 5 ? ["ALTER TABLE mist_recovery ADD COLUMN \(provision)"] : []
    }

    let scope: DatabaseScope
    let db: Database
    let sealer: FieldSealer?

    /// The contents of files that entries of the log refer to, as a query of one column.
    static let contents = """
        SELECT value FROM mist_recovery, json_tree(mist_recovery.fields) WHERE json_tree.key = '\(Asset.contentKey)'
        """

    /// Writes values that lost into the log. A field that was cleared is written as a null.
    ///
    /// - Parameters:
    ///   - reason: The reason.
    ///   - fields: The values.
    ///   - type: The record's type.
    ///   - name: Its name.
    ///   - zone: Its zone.
    ///   - now: When they lost.
    ///   - isProvisional: Whether it is decided later if the entry is kept.
    /// - Throws: A `DatabaseError` when the file fails.
    func add(
        _ reason: LossReason,
        _ fields: [String: FieldValue?],
        of type: String,
        _ name: String,
        in zone: StoredZone,
        at now: MachineTime,
        isProvisional: Bool = false
    ) throws {
        let values = fields.mapValues { $0 ?? .null }
        let text = try OtherFields.text(try sealer.sealed(values, of: type, for: .recovery(type, name))) ?? "{}"
        try db.run(
            """
            INSERT INTO mist_recovery (time, scope, zone, owner, type, name, reason, fields, size, is_provisional)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                now, scope.number, zone.zoneID.zoneName, zone.zoneID.owner ?? "", type, name, reason.rawValue, text,
                text.utf8.count, isProvisional,
            ]
        )
    }

    /// Seals the entries of all scopes again, with the encrypted fields that are known now.
    ///
    /// - Parameters:
    ///   - sealer: The sealer.
    ///   - isSealed: Whether they are sealed already.
    ///   - db: The connection.
    /// - Throws: A `DatabaseError` when the file fails.
    static func seal(_ sealer: FieldSealer, isSealed: Bool, _ db: Database) throws {
        for id in try Int64.fetchAll(db, sql: "SELECT id FROM mist_recovery") {
            guard let row = try db.row("SELECT type, name, fields FROM mist_recovery WHERE id = ?", [id]) else {
                continue
            }
            let subject = SealedSubject.recovery(row["type"], row["name"])
            let stored = try OtherFields.read(row["fields"])
            let fields = isSealed ? try sealer.opened(stored, for: subject) : stored
            let text = try OtherFields.text(try sealer.sealed(fields, of: row["type"], for: subject)) ?? "{}"
            try db.run(
                "UPDATE mist_recovery SET fields = ?, size = ? WHERE id = ?",
                [text, text.utf8.count, id]
            )
        }
    }

    /// The entries of the scope, the latest first.
    func latest(_ limit: Int) throws -> [RecoveredValues] {
        try db.rows(
            "SELECT * FROM mist_recovery WHERE scope = ? AND NOT is_provisional ORDER BY id DESC LIMIT ?",
            [scope.number, limit]
        ).map { try RecoveredValues($0, sealer) }
    }

    /// The entries of the scope by reason: their number, the time of the first one, and their bytes.
    func summary() throws -> [(reason: String, entries: Int, since: MachineTime, bytes: Int64)] {
        try db.rows(
            """
            SELECT reason, count(*) AS entries, min(time) AS since, sum(size) AS bytes FROM mist_recovery
            WHERE scope = ? GROUP BY reason ORDER BY reason
            """,
            [scope.number]
        ).map { ($0["reason"], $0["entries"], $0["since"], $0["bytes"]) }
    }

    /// Keeps or removes the entries of the scope that were not decided yet.
    func decideProvisional(keeps: Bool) throws {
        let change = keeps ? "UPDATE mist_recovery SET is_provisional = 0" : "DELETE FROM mist_recovery"
        try db.run("\(change) WHERE scope = ? AND is_provisional", [scope.number])
    }

    /// Removes entries from before a time, and the oldest entries while the log is too large.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - bytes: The most bytes of the values in the log.
    /// - Throws: A `DatabaseError` when the file fails.
    func trim(before time: MachineTime, toBytes bytes: Int64) throws {
        try db.run("DELETE FROM mist_recovery WHERE time < ?", [time])
        guard let size = try db.value("SELECT sum(size) FROM mist_recovery", as: Int64.self), size > bytes else {
            return
        }
        try db.run(
            """
            DELETE FROM mist_recovery WHERE id <= (
                SELECT max(id) FROM (SELECT id, sum(size) OVER (ORDER BY id DESC) AS total FROM mist_recovery)
                WHERE total > ?
            )
            """,
            [bytes]
        )
    }
}

extension RecoveredValues {
    fileprivate init(_ row: Row, _ sealer: FieldSealer?) throws {
        let fields = try sealer.opened(
            try OtherFields.read(row["fields"]),
            for: .recovery(row["type"], row["name"])
        )
        let owner: String = row["owner"]
        self.init(
            id: row["id"],
            time: ColumnValue.date(row["time"] as MachineTime),
            recordType: row["type"],
            recordName: row["name"],
            zoneID: ZoneID(zoneName: row["zone"], ownerRecordName: owner.isEmpty ? nil : owner),
            reason: LossReason(rawValue: row["reason"]),
            fields: CloudKitModel.Record.Fields(
                fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            )
        )
    }
}

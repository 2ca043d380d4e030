import CloudKitModel
import GRDB
import MistKit
import SQLiteTables
import StreamingJSON

/// The files to upload and to download, `mist_transfer`. A record whose file is to be uploaded is not sent before that.
///
/// A program without the table does not miss it, so it needs no new format.
struct Transfers: TableOwner {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_transfer (
            direction TEXT NOT NULL,
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            field INTEGER NOT NULL,
            type INTEGER NOT NULL,
            -- The content to upload, or the service's signature of what is to be downloaded. Where the record has another
            -- file by now, the row has no effect.
            file TEXT NOT NULL,
            size INTEGER,
            -- The result of an upload, with its receipt, until the record was sent.
            asset TEXT,
            -- Tried again at this time, after a failure.
            until INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            -- Sealed where the file is: the service may quote a value.
            message TEXT,
            -- Not without row numbers: SQLite reports no changes of such a table to observations.
            PRIMARY KEY (direction, zone, name, field)
        )
        """

    let scope: DatabaseScope
    let db: Database
    let sealer: FieldSealer?
}

/// Which file is transferred: from or to which field of which record.
package struct TransferKey: Hashable, Sendable {
    /// The direction of a transfer.
    package enum Direction: String, CaseIterable, Hashable, Sendable { case upload, download }

    package let direction: Direction
    package let zone: ZoneRowID
    package let name: String
    package let field: FieldID
}

/// A row of `mist_transfer`.
struct TransferRow {
    let key: TransferKey
    let type: TableID
    let file: String
    let size: Int64?
    let until: MachineTime?
    let attempts: Int64
    let message: String?
}

// MARK: - SQL for others

extension Transfers {
    /// A row if the current row of a type's table is not sent before a file was transferred: its uploads; and the
    /// downloads of a copy, which are uploaded with it.
    static let awaitingFile = """
        SELECT 1 FROM mist_transfer AS transfer
        WHERE transfer.zone = _zone AND transfer.name = _recordName AND transfer.asset IS NULL
            AND (transfer.direction = '\(TransferKey.Direction.upload.rawValue)'
                OR NOT EXISTS (\(KnownVersions.acknowledged("_recordName", in: "_zone"))))
        """
}

// MARK: - Verbs

extension Transfers {
    /// Lets a file be transferred. A transfer of another file of the field ends.
    func want(_ key: TransferKey, of type: TableID, _ file: String, size: Int64?) throws {
        try db.run(
            """
            INSERT INTO mist_transfer (direction, zone, name, field, type, file, size) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (direction, zone, name, field) DO UPDATE SET
                type = excluded.type, file = excluded.file, size = excluded.size, asset = NULL, until = NULL,
                attempts = 0, message = NULL
            WHERE file <> excluded.file OR type <> excluded.type OR asset IS NOT NULL
            """,
            [key.direction.rawValue, key.zone, key.name, key.field, type, file, size]
        )
    }

    /// The uploaded asset with its receipt; `nil` where the content was not uploaded for this field.
    func uploaded(_ key: TransferKey, _ content: ContentHash) throws -> Asset? {
        try db.value(
            """
            SELECT asset FROM mist_transfer WHERE direction = ? AND zone = ? AND name = ? AND field = ? AND file = ?
                AND asset IS NOT NULL
            """,
            [key.direction.rawValue, key.zone, key.name, key.field, content.rawValue],
            as: String.self
        ).flatMap { try? JSONReader.read(from: $0) }
    }

    /// Keeps the result of an upload until the record is sent.
    func setUploaded(_ asset: Asset, _ key: TransferKey) throws {
        let text = String(decoding: try JSONWriter.bytes(of: asset), as: UTF8.self)
        try db.run(
            """
            UPDATE mist_transfer SET asset = ?, until = NULL, message = NULL
            WHERE direction = ? AND zone = ? AND name = ? AND field = ?
            """,
            [text, key.direction.rawValue, key.zone, key.name, key.field]
        )
    }

    /// Lets a transfer wait after a failure.
    func delay(_ key: TransferKey, until: MachineTime, because message: String) throws {
        try db.run(
            """
            UPDATE mist_transfer SET until = ?, message = ?, attempts = attempts + 1
            WHERE direction = ? AND zone = ? AND name = ? AND field = ?
            """,
            [
                until, try sealer.sealed(message: message, of: key.name), key.direction.rawValue, key.zone, key.name,
                key.field,
            ]
        )
    }

    /// Seals the messages of a file that was not sealed.
    func sealMessages() throws {
        for row in try db.rows("SELECT rowid, name, message FROM mist_transfer WHERE typeof(message) = 'text'") {
            let (name, message): (String, String) = (row["name"], row["message"])
            try db.run(
                "UPDATE mist_transfer SET message = ? WHERE rowid = ?",
                [try sealer.sealed(message: message, of: name), row["rowid"] as Int64]
            )
        }
    }

    func forget(_ key: TransferKey) throws {
        try db.run(
            "DELETE FROM mist_transfer WHERE direction = ? AND zone = ? AND name = ? AND field = ?",
            [key.direction.rawValue, key.zone, key.name, key.field]
        )
    }

    /// Forgets the receipts of a record's uploads: they were used, or refused.
    ///
    /// - Returns: Whether there were any.
    func forgetReceipts(of name: String, in zone: ZoneRowID) throws -> Bool {
        try db.run(
            "DELETE FROM mist_transfer WHERE direction = ? AND zone = ? AND name = ? AND asset IS NOT NULL",
            binding: [.text(TransferKey.Direction.upload.rawValue), ColumnValue(zone), .text(name)]
        )
        return db.changesCount > 0
    }

    /// The uploads that ended, and whose records were not sent yet.
    func receipts() throws -> [TransferRow] {
        try db.rows(
            "SELECT * FROM mist_transfer WHERE asset IS NOT NULL AND zone IN (\(Zones.ids(in: "?")))",
            [scope.number]
        ).compactMap(transfer)
    }

    /// Lets all transfers of the scope that wait after a failure be tried again.
    func retryAll() throws {
        try db.run(
            "UPDATE mist_transfer SET until = NULL WHERE until IS NOT NULL AND zone IN (\(Zones.ids(in: "?")))",
            [scope.number]
        )
    }

    /// The next transfers of the scope in some directions, those of small files first.
    func due(
        _ directions: [TransferKey.Direction] = TransferKey.Direction.allCases,
        at now: MachineTime,
        limit: Int
    ) throws -> [TransferRow] {
        let names = directions.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return try db.rows(
            """
            SELECT * FROM mist_transfer WHERE asset IS NULL AND (until IS NULL OR until <= ?)
                AND direction IN (\(names)) AND zone IN (\(Zones.ids(in: "?")))
            ORDER BY attempts, size LIMIT ?
            """,
            [now, scope.number, limit]
        ).compactMap(transfer)
    }

    /// Forgets the transfers of zones that are gone.
    func removeOrphans() throws {
        try db.run("DELETE FROM mist_transfer WHERE zone NOT IN (\(Zones.ids))")
    }

    /// When the next transfer that waits is tried again.
    func earliestRetry(after now: MachineTime) throws -> MachineTime? {
        try db.value(
            "SELECT min(until) FROM mist_transfer WHERE zone IN (\(Zones.ids(in: "?"))) AND until > ?",
            [scope.number, now],
            as: MachineTime.self
        )
    }

    /// The transfer of a key.
    func row(_ key: TransferKey) throws -> TransferRow? {
        try db.row(
            "SELECT * FROM mist_transfer WHERE direction = ? AND zone = ? AND name = ? AND field = ?",
            [key.direction.rawValue, key.zone, key.name, key.field]
        ).flatMap(transfer)
    }

    /// All transfers of the scope that are still to be made.
    func open() throws -> [TransferRow] {
        try db.rows(
            """
            SELECT * FROM mist_transfer WHERE asset IS NULL AND zone IN (\(Zones.ids(in: "?")))
            ORDER BY direction, name, field
            """,
            [scope.number]
        ).compactMap(transfer)
    }

    /// Reads a row; `nil` for a direction of a later version.
    private func transfer(_ row: Row) -> TransferRow? {
        guard let direction = TransferKey.Direction(rawValue: row["direction"]) else { return nil }
        let name: String = row["name"]
        let message: DatabaseValue = row["message"]
        return TransferRow(
            key: TransferKey(direction: direction, zone: row["zone"], name: name, field: row["field"]),
            type: row["type"],
            file: row["file"],
            size: row["size"],
            until: row["until"],
            attempts: row["attempts"],
            message: message.isNull ? nil : sealer.opened(message: message, of: name)
        )
    }
}

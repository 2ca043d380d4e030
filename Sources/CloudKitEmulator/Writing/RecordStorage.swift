import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes the rows of the table `record` of one zone, with one user and one time for all of them.
struct RecordStorage {
    let db: Database
    let zone: Int64
    let now: Int64
    /// The user's record name, and its row in `identity`.
    let user: String?
    private let userID: Int64?

    init(_ context: DatabaseContext, zone: Int64) throws {
        db = context.db
        self.zone = zone
        now = context.now
        user = context.user
        userID = try context.user.map { user in
            try context.db.run("INSERT OR IGNORE INTO identity (name) VALUES (?)", [user])
            return try context.db.value("SELECT id FROM identity WHERE name = ?", [user], as: Int64.self) ?? 0
        }
    }

    /// Writes a record. A live record of that name keeps its row; the row of a deleted one is replaced.
    func save(_ name: String, type: Int64, body: [UInt8], sequence: Int64, over row: RecordRow?) throws -> RecordRow {
        if let row, !row.isDeleted {
            try update(row.id, body: body, sequence: sequence)
            return RecordRow(
                id: row.id,
                zone: zone,
                name: name,
                type: type,
                sequence: sequence,
                isDeleted: false,
                created: row.created,
                creator: row.creator,
                modified: now,
                modifier: user,
                body: nil
            )
        }
        if let row { try db.run("DELETE FROM record WHERE id = ?", [row.id]) }
        try db.run(
            """
            INSERT INTO record (zone, name, type, sequence, created, creator, modified, modifier, body)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [zone, name, type, sequence, now, userID, now, userID, Data(body)]
        )
        return RecordRow(
            id: db.lastInsertedRowID,
            zone: zone,
            name: name,
            type: type,
            sequence: sequence,
            isDeleted: false,
            created: now,
            creator: user,
            modified: now,
            modifier: user,
            body: nil
        )
    }

    /// Writes the body of a live record.
    func update(_ id: Int64, body: [UInt8], sequence: Int64) throws {
        try db.run(
            "UPDATE record SET sequence = ?, modified = ?, modifier = ?, body = ? WHERE id = ?",
            [sequence, now, userID, Data(body), id]
        )
    }

    /// Deletes a record. Its row stays in the zone's feed.
    func tombstone(_ id: Int64, sequence: Int64) throws {
        try db.run(
            "UPDATE record SET sequence = ?, deleted = 1, modified = ?, modifier = ?, body = NULL WHERE id = ?",
            [sequence, now, userID, id]
        )
    }
}

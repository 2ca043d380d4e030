import CloudKitModel
import GRDB

/// The zones of shared databases: zones of other users, in which the caller accepted a share.
extension DatabaseContext {
    private static let columns = """
        zone.id, shared_zone.name, zone.sequence, shared_zone.database_sequence, shared_zone.deleted, shared_zone.owner
        """

    /// A zone of another user that is shared with the caller.
    func sharedZone(_ zoneID: ZoneID, owner: String) throws -> ZoneRow? {
        try db.row(
            """
            SELECT \(Self.columns) FROM shared_zone JOIN zone ON zone.id = shared_zone.zone
            WHERE shared_zone.database = ? AND shared_zone.name = ? AND shared_zone.owner = ?
                AND shared_zone.deleted = 0
            """,
            [databaseID, zoneID.zoneName, owner]
        ).map(ZoneRow.init)
    }

    /// Every zone that is shared with the caller, in creation order.
    func sharedZones() throws -> [ZoneRow] {
        try db.rows(
            """
            SELECT \(Self.columns) FROM shared_zone JOIN zone ON zone.id = shared_zone.zone
            WHERE shared_zone.database = ? AND shared_zone.deleted = 0 ORDER BY zone.id
            """,
            [databaseID]
        ).map(ZoneRow.init)
    }

    /// The shared zones that changed after a point of the database's history.
    ///
    /// - Parameters:
    ///   - position: The point.
    ///   - includingDeleted: Whether zones that are no longer shared are among them.
    ///   - limit: The most zones to return.
    /// - Returns: The zones in the order of their last change.
    /// - Throws: An ``EmulatorError`` where the storage cannot be read.
    func changedSharedZones(
        since position: Int64,
        includingDeleted: Bool,
        limit: Int
    ) throws -> [ZoneRow] {
        try db.rows(
            """
            SELECT shared_zone.zone, shared_zone.name, coalesce(zone.sequence, 0), shared_zone.database_sequence,
                shared_zone.deleted, shared_zone.owner
            FROM shared_zone LEFT JOIN zone ON zone.id = shared_zone.zone
            WHERE shared_zone.database = ? AND shared_zone.database_sequence > ?
                AND (shared_zone.deleted = 0 OR ?)
            ORDER BY shared_zone.database_sequence LIMIT ?
            """,
            [databaseID, position, includingDeleted, limit]
        ).map(ZoneRow.init)
    }

    /// Gives a changed zone the next number in the feed of each shared database that shows it.
    func noteChangeForParticipants(of zone: ZoneRow) throws {
        guard !zone.isDefault else { return }
        let sql = "SELECT database FROM shared_zone WHERE zone = ? AND deleted = 0"
        for database: Int64 in try db.values(sql, [zone.id]) { try touch(zone.id, inShared: database) }
    }

    /// Puts a zone into a participant's shared database.
    func show(_ zone: ZoneRow, owner: String, to user: String) throws {
        let key = Self.ownerKey(of: .shared, for: user)
        try db.run("INSERT OR IGNORE INTO database (container, owner) VALUES (?, ?)", [containerID, key])
        // An earlier zone of that name that is no longer shared leaves the feed: this zone replaces it.
        try db.run(
            """
            DELETE FROM shared_zone WHERE name = ? AND owner = ? AND deleted = 1
                AND database = (SELECT id FROM database WHERE container = ? AND owner = ?)
            """,
            [zone.name, owner, containerID, key]
        )
        try db.run(
            """
            INSERT OR IGNORE INTO shared_zone (database, zone, name, owner, database_sequence)
            SELECT id, ?, ?, ?, 0 FROM database WHERE container = ? AND owner = ?
            """,
            [zone.id, zone.name, owner, containerID, key]
        )
    }

    /// Takes a zone out of a participant's shared database, unless they see something else in it.
    func hide(_ zone: Int64, from user: String) throws {
        let other = try db.row(
            "SELECT 1 FROM participation WHERE user = ? AND zone = ? AND ended IS NULL",
            [user, zone]
        )
        let database = try db.value(
            "SELECT id FROM database WHERE container = ? AND owner = ?",
            [containerID, Self.ownerKey(of: .shared, for: user)],
            as: Int64.self
        )
        guard other == nil, let database else { return }
        try db.run("UPDATE shared_zone SET deleted = 1 WHERE database = ? AND zone = ?", [database, zone])
        try touch(zone, inShared: database)
    }

    /// Removes all shares of a zone, before the whole zone is removed.
    func eraseShares(of zone: ZoneRow) throws {
        let sql = "SELECT DISTINCT user FROM participation WHERE zone = ? AND ended IS NULL"
        let users: [String] = try db.values(sql, [zone.id])
        try db.run("DELETE FROM participation WHERE zone = ?", [zone.id])
        for user in users { try hide(zone.id, from: user) }
        try db.run("DELETE FROM share_member WHERE record IN (SELECT id FROM record WHERE zone = ?)", [zone.id])
        try db.run("DELETE FROM share WHERE zone = ?", [zone.id])
        try db.run("DELETE FROM parent_link WHERE zone = ?", [zone.id])
    }

    private func touch(_ zone: Int64, inShared database: Int64) throws {
        try db.run("UPDATE database SET sequence = sequence + 1 WHERE id = ?", [database])
        try db.run(
            """
            UPDATE shared_zone SET database_sequence = (SELECT sequence FROM database WHERE id = ?)
            WHERE database = ? AND zone = ?
            """,
            [database, database, zone]
        )
    }

    /// The changes of a zone of another user that a participant sees, in order: records that were written or became
    /// visible, and records that are no longer visible.
    ///
    /// A page goes on after the position of `start` and, among the records that became visible there, after its `top`.
    func sharedFeed(
        from start: SyncToken,
        of zone: ZoneRow,
        user: String,
        types: [Int64]?,
        limit: Int
    ) throws -> [(row: RecordRow, position: Int64, isGone: Bool)] {
        let condition =
            types.map { " AND (gone OR record.type IN (\($0.map(String.init).joined(separator: ","))))" } ?? ""
        // Several shares may have shown one record, one after the other. Then the last point counts, and at the same
        // point visible wins over gone.
        let sql = """
            SELECT \(RecordRow.columns), seen.point / 2, 1 - seen.point % 2 AS gone
            FROM (
                SELECT share_member.record AS record, max(
                    CASE WHEN participation.ended IS NOT NULL OR share_member.left_at IS NOT NULL
                    THEN 2 * min(coalesce(participation.ended, share_member.left_at),
                                 coalesce(share_member.left_at, participation.ended))
                    ELSE 1 + 2 * max(record.sequence, share_member.entered, participation.accepted) END
                ) AS point
                FROM participation JOIN share_member ON share_member.share = participation.share
                JOIN record ON record.id = share_member.record
                WHERE participation.user = ? AND participation.zone = ?
                GROUP BY share_member.record
            ) AS seen
            JOIN record ON record.id = seen.record
            WHERE (seen.point / 2, record.id) > (?, ?)\(condition) AND (? OR NOT gone)
            ORDER BY seen.point / 2, record.id LIMIT ?
            """
        let arguments: SQLArguments = [user, zone.id, start.position, start.top, start.position > 0, limit]
        return try Array(RecordRowCursor(sql, arguments, db).map { ($0.record, $0.row[11], $0.row[12]) })
    }
}

import CloudKitModel
import GRDB

extension RecordWriter {
    /// Updates the hierarchy of a custom zone after a write: the parent of the record, and the share to which it and
    /// all records below it belong.
    func updateMembership(for change: RecordChange) throws {
        guard !zone.isDefault else { return }
        let row = change.row
        guard let new = change.new else {
            try removeFromHierarchy(row)
            return try endShare(ofDeleted: row)
        }
        if let replaced = change.replacedRow, hasShares {
            // The shares of the deleted record with this name now have the new record, so that participants see one
            // history.
            try db.run("UPDATE OR REPLACE share_member SET record = ? WHERE record = ?", [row.id, replaced])
        }
        let parent = new.parent?.recordName
        if let parent {
            try db.run(
                "INSERT OR REPLACE INTO parent_link (record, zone, name) VALUES (?, ?, ?)",
                [row.id, zone.id, parent]
            )
        } else if change.old?.parent != nil {
            try db.run("DELETE FROM parent_link WHERE record = ?", [row.id])
        }
        guard hasShares else { return }
        try setMembership(of: row.id, named: row.name, in: share(ofRecord: row.name, parent: parent))
    }

    /// Takes a deleted record out of the hierarchy. The records below it stay, and no longer belong to a share because
    /// of it.
    private func removeFromHierarchy(_ row: RecordRow) throws {
        try db.run("DELETE FROM parent_link WHERE record = ?", [row.id])
        guard hasShares else { return }
        try leave(row.id)
        let zoneShare = try ShareRow.fetch(ofZone: zone.id, db)?.id
        for child in try children(of: row.name) where child.share == nil {
            try setMembership(of: child.id, named: child.name, in: zoneShare)
        }
    }

    /// The share that a record with this parent belongs to.
    func share(ofRecord name: String, parent: String?) throws -> Int64? {
        if let share = try ShareRow.fetch(ofZone: zone.id, db) { return share.id }
        if let share = try ShareRow.fetch(ofRoot: name, zone: zone.id, db) { return share.id }
        if let own = try ShareRow.fetch(named: name, zone: zone.id, db) { return own.id }
        return try parent.flatMap { try share(ofMember: $0) }
    }

    /// The share that a live record belongs to, by its name.
    func share(ofMember name: String) throws -> Int64? {
        try db.value(
            """
            SELECT share_member.share FROM record JOIN share_member ON share_member.record = record.id
            WHERE record.zone = ? AND record.name = ? AND record.deleted = 0 AND share_member.left_at IS NULL
            """,
            [zone.id, name],
            as: Int64.self
        )
    }

    /// Makes a record, and all records below it, belong to a share, or to no share when `share` is `nil`. Records below
    /// the root of another share stay in that share.
    func setMembership(of record: Int64, named name: String, in share: Int64?) throws {
        let present = try ShareRow.id(ofMember: record, db)
        // This also ends the recursion for a circle of parents.
        guard present != share else { return }
        if present != nil { try leave(record) }
        if let share {
            try db.run(
                "INSERT OR REPLACE INTO share_member (record, share, entered, left_at) VALUES (?, ?, ?, NULL)",
                [record, share, zone.sequence]
            )
        }
        for child in try children(of: name) where child.share == nil {
            try setMembership(of: child.id, named: child.name, in: share)
        }
    }

    /// The records whose parent has this name, each with the share that it is the root of.
    func children(of name: String) throws -> [(id: Int64, name: String, share: Int64?)] {
        try db.rows(
            """
            SELECT record.id, record.name, share.id FROM parent_link
            JOIN record ON record.id = parent_link.record
            LEFT JOIN share ON share.zone = record.zone AND share.root = record.name
            WHERE parent_link.zone = ? AND parent_link.name = ? AND record.deleted = 0
            """,
            [zone.id, name]
        ).map { ($0[0], $0[1], $0[2]) }
    }

    private func leave(_ record: Int64) throws {
        try db.run("UPDATE share_member SET left_at = ? WHERE record = ? AND left_at IS NULL", [zone.sequence, record])
    }
}

import CloudKitModel
import GRDB

extension RecordWriter {
    /// Notes a record's place in the hierarchy after it was saved: what is above it, and which share it belongs to now,
    /// with all records below it.
    func place(_ row: RecordRow, parent: String?, over oldParent: String?) throws {
        guard !zone.isDefault else { return }
        if let parent {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO parent_link (record, zone, name) VALUES (?, ?, ?)")
                .execute(arguments: [row.id, zone.id, parent])
        } else if oldParent != nil {
            try db.cachedStatement(sql: "DELETE FROM parent_link WHERE record = ?").execute(arguments: [row.id])
        }
        guard hasShares else { return }
        try setMembership(of: row.id, named: row.name, in: share(ofRecord: row.name, parent: parent))
    }

    /// Takes a record that is gone out of the hierarchy; those below it stay, and belong to no share through it.
    func displace(_ row: RecordRow) throws {
        guard !zone.isDefault else { return }
        try db.cachedStatement(sql: "DELETE FROM parent_link WHERE record = ?").execute(arguments: [row.id])
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
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT share_member.share FROM record JOIN share_member ON share_member.record = record.id
                    WHERE record.zone = ? AND record.name = ? AND record.deleted = 0 AND share_member.left_at IS NULL
                    """
            ),
            arguments: [zone.id, name]
        )
    }

    /// Makes a record, and all below it, belong to a share; `nil` is none. What is below the root of another share stays
    /// there.
    func setMembership(of record: Int64, named name: String, in share: Int64?) throws {
        let present = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT share FROM share_member WHERE record = ? AND left_at IS NULL"),
            arguments: [record]
        )
        // A circle of parents ends here as well.
        guard present != share else { return }
        if present != nil { try leave(record) }
        if let share {
            try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO share_member (record, share, entered, left_at) VALUES (?, ?, ?, NULL)"
            ).execute(arguments: [record, share, zone.sequence])
        }
        for child in try children(of: name) where child.share == nil {
            try setMembership(of: child.id, named: child.name, in: share)
        }
    }

    /// The records whose parent has this name, each with the share that it is the root of.
    func children(of name: String) throws -> [(id: Int64, name: String, share: Int64?)] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT record.id, record.name, share.id FROM parent_link
                    JOIN record ON record.id = parent_link.record
                    LEFT JOIN share ON share.zone = record.zone AND share.root = record.name
                    WHERE parent_link.zone = ? AND parent_link.name = ? AND record.deleted = 0
                    """
            ),
            arguments: [zone.id, name]
        ).map { ($0[0], $0[1], $0[2]) }
    }

    private func leave(_ record: Int64) throws {
        try db.cachedStatement(sql: "UPDATE share_member SET left_at = ? WHERE record = ? AND left_at IS NULL")
            .execute(arguments: [zone.sequence, record])
    }
}

/// What a participant may see and do in zones that others share with them.
struct SharedAccess {
    let user: String
    /// The shares that the participant accepted, with what they may do there.
    let shares: [Int64: SharePermission]
    private let db: Database

    init(user: String, zones: [ZoneRow], _ db: Database) throws {
        self.user = user
        self.db = db
        var shares: [Int64: SharePermission] = [:]
        for zone in zones {
            for row in try Row.fetchAll(
                db.cachedStatement(
                    sql: "SELECT share, permission FROM participation WHERE user = ? AND zone = ? AND ended IS NULL"
                ),
                arguments: [user, zone.id]
            ) {
                shares[row[0]] = SharePermission(rawValue: row[1])
            }
        }
        self.shares = shares
    }

    /// What the participant may do with a record; `nil` where they do not see it.
    func permission(on record: Int64) throws -> SharePermission? {
        let share = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT share FROM share_member WHERE record = ? AND left_at IS NULL"),
            arguments: [record]
        )
        return share.flatMap { shares[$0] }
    }

    func sees(_ record: Int64) throws -> Bool {
        try permission(on: record) != nil
    }
}

extension DatabaseContext {
    /// What restricts a caller to parts of zones: `nil` in databases that are wholly the caller's to see.
    func sharedAccess(to zones: [ZoneRow]) throws -> SharedAccess? {
        guard address.scope == .shared, let user else { return nil }
        return try SharedAccess(user: user, zones: zones, db)
    }
}

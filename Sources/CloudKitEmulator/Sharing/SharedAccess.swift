import CloudKitModel
import GRDB

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
            for row in try db.rows(
                "SELECT share, permission FROM participation WHERE user = ? AND zone = ? AND ended IS NULL",
                [user, zone.id]
            ) {
                shares[row[0]] = SharePermission(rawValue: row[1])
            }
        }
        self.shares = shares
    }

    /// What the participant may do with a record; `nil` where they do not see it.
    func permission(on record: Int64) throws -> SharePermission? {
        try ShareRow.id(ofMember: record, db).flatMap { shares[$0] }
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

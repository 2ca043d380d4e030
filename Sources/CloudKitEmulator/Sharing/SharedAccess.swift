import CloudKitModel
import GRDB

/// The access of a participant to zones that other users share with them.
struct SharedAccess {
    let user: String
    /// The shares that the participant accepted, with the participant's permission in each.
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

    /// The participant's permission for a record; `nil` where they do not see it.
    func permission(on record: Int64) throws -> SharePermission? {
        try ShareRow.id(ofMember: record, db).flatMap { shares[$0] }
    }

    func sees(_ record: Int64) throws -> Bool {
        try permission(on: record) != nil
    }
}

extension DatabaseContext {
    /// The access of the caller to parts of zones; `nil` in public and private databases, where sharing restricts
    /// nothing.
    func sharedAccess(to zones: [ZoneRow]) throws -> SharedAccess? {
        guard address.scope == .shared, let user else { return nil }
        return try SharedAccess(user: user, zones: zones, db)
    }
}

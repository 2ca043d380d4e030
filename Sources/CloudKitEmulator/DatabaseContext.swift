import CloudKitModel
import GRDB

/// A transaction of a request: the row numbers of its container and database, and the database connection.
struct DatabaseContext {
    let request: RequestContext
    let db: Database
    let containerID: Int64
    let databaseID: Int64
    /// The number of the database's changes so far; sync tokens of the database count them.
    let sequence: Int64

    var emulator: CloudKitEmulator { request.emulator }
    var configuration: EmulatorConfiguration { request.configuration }
    var identifiers: IdentifierSource { request.identifiers }
    var address: DatabaseAddress { request.database }
    var now: Int64 { request.now }
    var user: String? { request.user }

    /// The owner of the zones, as zone IDs of replies name it.
    var ownerRecordName: String {
        address.scope == .public ? Self.defaultOwner : user ?? Self.defaultOwner
    }

    /// The name that stands for the caller as the owner of a zone.
    static let defaultOwner = "_defaultOwner"

    /// The text in `database.owner`. It differs for the private and the shared database of one user.
    static func ownerKey(of scope: DatabaseScope, for user: String?) -> String {
        switch scope {
        case .public: ""
        case .private: user ?? ""
        case .shared: "shared with " + (user ?? "")
        }
    }

    /// The record types of the container.
    func schema() throws -> Schema {
        try emulator.schemas.schema(of: containerID, in: db)
    }
}

// MARK: - Finding and creating the database

extension DatabaseContext {
    /// Finds the database of a request; `nil` when no request has created it.
    init?(_ request: RequestContext, _ db: Database) throws {
        let address = request.database
        let row = try db.row(
            """
            SELECT container.id, database.id, database.sequence FROM container
            JOIN database ON database.container = container.id
            WHERE container.identifier = ? AND container.environment = ? AND database.owner = ?
            """,
            [
                address.container,
                address.environment.rawValue,
                Self.ownerKey(of: address.scope, for: request.user),
            ]
        )
        guard let row else { return nil }
        self.init(request: request, db: db, containerID: row[0], databaseID: row[1], sequence: row[2])
    }

    /// Creates the database of a request.
    ///
    /// - Throws: `NOT_FOUND` for a container that is not registered, where the configuration asks for that.
    static func create(_ request: RequestContext, _ db: Database) throws -> DatabaseContext {
        let address = request.database
        if request.configuration.containers == .registeredOnly {
            let registered = try db.row("SELECT 1 FROM registered_container WHERE identifier = ?", [address.container])
            guard registered != nil else {
                throw EmulatorError(.notFound, "there is no container '\(address.container)'")
            }
        }
        let environment = address.environment.rawValue
        try db.run(
            "INSERT OR IGNORE INTO container (identifier, environment) VALUES (?, ?)",
            [address.container, environment]
        )
        try db.run(
            """
            INSERT OR IGNORE INTO database (container, owner)
            SELECT id, ? FROM container WHERE identifier = ? AND environment = ?
            """,
            [ownerKey(of: address.scope, for: request.user), address.container, environment]
        )
        guard let context = try DatabaseContext(request, db) else {
            throw EmulatorError(.internalError, "the new database is missing")
        }
        if address.scope != .shared {
            try db.run(
                "INSERT OR IGNORE INTO zone (database, name) VALUES (?, ?)",
                [context.databaseID, ZoneID.default.zoneName]
            )
        }
        return context
    }
}

// MARK: - Zones

extension DatabaseContext {
    /// The zone that a request names; the default zone when it names none.
    ///
    /// - Throws: `ZONE_NOT_FOUND`; `BAD_REQUEST` for a zone ID with a control character, and for a zone ID in the shared
    ///   database that names no owner.
    func zone(_ zoneID: ZoneID?) throws -> ZoneRow {
        let zoneID = zoneID ?? .default
        let owner = zoneID.owner
        if zoneID.zoneName.hasControlCharacters || owner?.hasControlCharacters ?? false {
            throw EmulatorError.controlCharacter(in: "a zone ID")
        }
        switch address.scope {
        case .shared:
            guard let owner else {
                // Observed live.
                throw EmulatorError.badRequest("zoneID needs to have ownerRecordName field for calls to sharedb")
            }
            guard let zone = try sharedZone(zoneID, owner: owner) else {
                throw EmulatorError.zoneNotFound(zoneID)
            }
            return zone
        case .private where owner != nil && owner != Self.defaultOwner && owner != ownerRecordName:
            throw EmulatorError.zoneNotFound(zoneID)
        default: break
        }
        let rows = try ZoneRow.fetch(
            where: "database = ? AND name = ? AND deleted = 0",
            [databaseID, zoneID.zoneName],
            db
        )
        guard let zone = rows.first else { throw EmulatorError.zoneNotFound(zoneID) }
        return zone
    }

    /// Every zone of the database that is not deleted, the default zone first and the others in creation order.
    func zones() throws -> [ZoneRow] {
        if address.scope == .shared { return try sharedZones() }
        return try ZoneRow.fetch(where: "database = ? AND deleted = 0 ORDER BY id", [databaseID], db)
    }

    /// Gives a changed zone the next number of the database's feed.
    func noteChange(of zone: ZoneRow) throws {
        // The database of the zone. For a shared zone it is not the caller's.
        try db.run(
            "UPDATE database SET sequence = sequence + 1 WHERE id = (SELECT database FROM zone WHERE id = ?)",
            [zone.id]
        )
        try db.run(
            """
            UPDATE zone SET sequence = ?,
                database_sequence = (SELECT sequence FROM database WHERE database.id = zone.database)
            WHERE id = ?
            """,
            [zone.sequence, zone.id]
        )
        try noteChangeForParticipants(of: zone)
    }
}

import CloudKitModel
import GRDB

/// A database that a caller stands in: the rows behind an address.
struct Ground {
    let address: DatabaseAddress
    let caller: Caller
    let container: Int64
    let database: Int64
    /// How many changes the database has seen; the database token counts them.
    let sequence: Int64

    /// The owner of the zones, as zone IDs of replies name it.
    var ownerRecordName: String {
        address.scope == .public ? Self.defaultOwner : caller.userRecordName ?? Self.defaultOwner
    }

    /// Stands for the caller wherever a zone's owner is asked for.
    static let defaultOwner = "_defaultOwner"

    /// The text in `database.owner`: a person's private and shared database are told apart by it.
    static func ownerKey(of scope: DatabaseScope, for caller: Caller) -> String {
        switch scope {
        case .public: ""
        case .private: caller.userRecordName ?? ""
        case .shared: "shared with " + (caller.userRecordName ?? "")
        }
    }
}

/// A record zone: the row behind a zone ID.
struct ZoneRow {
    let id: Int64
    let name: String
    /// How many records were written in the zone: the source of change tags, and the order of its change feed.
    var sequence: Int64
    /// When the zone last changed, in the database's count.
    var databaseSequence: Int64
    var isDeleted = false
    /// Whose zone it is, where that is not the caller.
    var owner: String?

    var isDefault: Bool { name == ZoneID.default.zoneName }

    init(_ row: Row) {
        id = row[0]
        name = row[1]
        sequence = row[2]
        databaseSequence = row[3]
        isDeleted = row[4]
        if row.count > 5 { owner = row[5] }
    }

    func ownerRecordName(in ground: Ground) -> String { owner ?? ground.ownerRecordName }

    func zoneID(in ground: Ground) -> ZoneID {
        ZoneID(
            zoneName: name,
            ownerRecordName: ownerRecordName(in: ground),
            zoneType: isDefault ? .defaultZone : .regularCustomZone
        )
    }
}

// MARK: - Finding the ground

extension CloudKitEmulator {
    /// Reads within a database. Container and database come into being when they are first named.
    func read<Value>(
        _ address: DatabaseAddress,
        as caller: Caller,
        _ body: (Database, Ground) throws -> Value
    ) throws(EmulatorError) -> Value {
        try authorize(caller, on: address.scope)
        try noteVisit(of: caller, at: address)
        let value = try read { db throws -> Value? in
            guard let ground = try self.ground(address, as: caller, in: db) else { return nil }
            return try body(db, ground)
        }
        if let value { return value }
        return try write { db in
            try body(db, try self.makeGround(address, as: caller, in: db))
        }
    }

    /// Writes within a database, in one transaction. Container and database come into being when they are first named.
    func write<Value>(
        _ address: DatabaseAddress,
        as caller: Caller,
        _ body: (Database, Ground) throws -> Value
    ) throws(EmulatorError) -> Value {
        do {
            return try writeUnwrapped(address, as: caller, body)
        } catch {
            throw EmulatorError(wrapping: error)
        }
    }

    /// The same, with whatever error `body` throws.
    func writeUnwrapped<Value>(
        _ address: DatabaseAddress,
        as caller: Caller,
        _ body: (Database, Ground) throws -> Value
    ) throws -> Value {
        try authorize(caller, on: address.scope)
        try noteVisit(of: caller, at: address)
        return try writeUnwrapped { db in
            let ground = try self.ground(address, as: caller, in: db) ?? makeGround(address, as: caller, in: db)
            return try body(db, ground)
        }
    }

    /// Who may use which database at all. What they may do there is asked record by record.
    func authorize(_ caller: Caller, on scope: DatabaseScope) throws(EmulatorError) {
        guard scope != .public else { return }
        switch caller {
        case .user: return
        case .anonymous: throw .authenticationRequired
        case .serverKey:
            let code = configuration.unsettled.serverKeyOnPrivateDatabase
            throw EmulatorError(code, EmulatorError.authenticationFailed.reason)
        }
    }

    func ground(_ address: DatabaseAddress, as caller: Caller, in db: Database) throws -> Ground? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT container.id, database.id, database.sequence FROM container
                    JOIN database ON database.container = container.id
                    WHERE container.identifier = ? AND container.environment = ? AND database.owner = ?
                    """
            ),
            arguments: [
                address.container,
                address.environment.rawValue,
                Ground.ownerKey(of: address.scope, for: caller),
            ]
        )
        return row.map { row in
            Ground(address: address, caller: caller, container: row[0], database: row[1], sequence: row[2])
        }
    }

    func makeGround(_ address: DatabaseAddress, as caller: Caller, in db: Database) throws -> Ground {
        if configuration.containers == .registeredOnly {
            let registered = try Row.fetchOne(
                db,
                sql: "SELECT 1 FROM registered_container WHERE identifier = ?",
                arguments: [address.container]
            )
            guard registered != nil else {
                throw EmulatorError(.notFound, "there is no container '\(address.container)'")
            }
        }
        let environment = address.environment.rawValue
        try db.execute(
            sql: "INSERT OR IGNORE INTO container (identifier, environment) VALUES (?, ?)",
            arguments: [address.container, environment]
        )
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO database (container, owner)
                SELECT id, ? FROM container WHERE identifier = ? AND environment = ?
                """,
            arguments: [Ground.ownerKey(of: address.scope, for: caller), address.container, environment]
        )
        guard let ground = try ground(address, as: caller, in: db) else {
            throw EmulatorError(.internalError, "the database that was just made is not there")
        }
        if address.scope != .shared {
            try db.execute(
                sql: "INSERT OR IGNORE INTO zone (database, name) VALUES (?, ?)",
                arguments: [ground.database, ZoneID.default.zoneName]
            )
        }
        return ground
    }

    /// The zone that a request names; the default zone when it names none.
    ///
    /// - Throws: `ZONE_NOT_FOUND`, or the `BAD_REQUEST` of a zone ID in the shared database that names no owner.
    func zone(_ zoneID: ZoneID?, of ground: Ground, in db: Database) throws -> ZoneRow {
        let zoneID = zoneID ?? .default
        let owner = zoneID.owner
        switch ground.address.scope {
        case .shared:
            guard let owner else {
                // Observed live.
                throw EmulatorError.badRequest("zoneID needs to have ownerRecordName field for calls to sharedb")
            }
            guard let zone = try sharedZone(zoneID, owner: owner, of: ground, in: db) else {
                throw EmulatorError.zoneNotFound(zoneID)
            }
            return zone
        case .private where owner != nil && owner != Ground.defaultOwner && owner != ground.ownerRecordName:
            throw EmulatorError.zoneNotFound(zoneID)
        default: break
        }
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT id, name, sequence, database_sequence, deleted FROM zone
                    WHERE database = ? AND name = ? AND deleted = 0
                    """
            ),
            arguments: [ground.database, zoneID.zoneName]
        )
        guard let row else { throw EmulatorError.zoneNotFound(zoneID) }
        return ZoneRow(row)
    }

    /// Every zone of the database that is not deleted, the default zone first and the others as they were made.
    func zones(of ground: Ground, in db: Database) throws -> [ZoneRow] {
        if ground.address.scope == .shared { return try sharedZones(of: ground, in: db) }
        return try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, name, sequence, database_sequence, deleted FROM zone
                    WHERE database = ? AND deleted = 0 ORDER BY id
                    """
            ),
            arguments: [ground.database]
        ).map(ZoneRow.init)
    }

    /// Notes that a zone changed: gives the database's feed its next number.
    func noteChange(of zone: ZoneRow, in ground: Ground, _ db: Database) throws {
        // The zone's own database, which is not the caller's where the zone is shared.
        try db.cachedStatement(
            sql: "UPDATE database SET sequence = sequence + 1 WHERE id = (SELECT database FROM zone WHERE id = ?)"
        ).execute(arguments: [zone.id])
        try db.cachedStatement(
            sql: """
                UPDATE zone SET sequence = ?,
                    database_sequence = (SELECT sequence FROM database WHERE database.id = zone.database)
                WHERE id = ?
                """
        ).execute(arguments: [zone.sequence, zone.id])
        try noteChangeForParticipants(of: zone, db)
    }
}

extension CloudKitEmulator {
    /// Makes a container known. Needed only where ``EmulatorConfiguration/containers`` says so.
    ///
    /// - Throws: An ``EmulatorError``: `INTERNAL_ERROR` when the storage fails.
    public func registerContainer(_ identifier: String) throws {
        try write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO registered_container VALUES (?)",
                arguments: [identifier]
            )
        }
    }
}

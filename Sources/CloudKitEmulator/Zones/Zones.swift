public import CloudKitModel
import GRDB

/// The zones of a database, with a token to ask for changes from.
public struct ZonePage: Hashable, Sendable {
    /// The zones, or why one of them could not be given.
    public var zones: [ZoneResult]
    /// The point in the database's history at which the zones were so: `syncToken`, or `metaSyncToken` of `zones/changes`.
    public var syncToken: String
    /// Whether the next page has more.
    public var moreComing: Bool

    /// Makes a page.
    public init(zones: [ZoneResult], syncToken: String, moreComing: Bool = false) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}

extension CloudKitEmulator {
    /// Lists the zones of a database (`zones/list`): the default zone, then the others in the order of their making.
    ///
    /// The shared database has the zones in which the caller accepted a share, and no default zone.
    ///
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED`, `ACCESS_DENIED`.
    public func listZones(in address: DatabaseAddress, as caller: Caller) throws -> ZonePage {
        try read(address, as: caller) { db, ground in
            ZonePage(
                zones: try zones(of: ground, in: db).map { .zone(description(of: $0, in: ground)) },
                syncToken: tokenKey.text(of: .database(ground.database, at: ground.sequence))
            )
        }
    }

    /// Looks up zones by ID (`zones/lookup`).
    ///
    /// - Returns: One result for each ID, in order; `ZONE_NOT_FOUND` where there is no such zone.
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED`, `ACCESS_DENIED`.
    public func lookupZones(
        _ zoneIDs: [ZoneID],
        in address: DatabaseAddress,
        as caller: Caller
    ) throws -> [ZoneResult] {
        try read(address, as: caller) { db, ground in
            try zoneIDs.map { zoneID in
                try result(for: zoneID) {
                    .zone(description(of: try zone(zoneID, of: ground, in: db), in: ground))
                }
            }
        }
    }

    /// Creates and deletes zones (`zones/modify`). Every operation is tried, in order; one for each zone.
    ///
    /// Only private databases have custom zones.
    ///
    /// - Returns: One result for each operation, in order. A zone that was deleted comes back with `deleted`.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for another database, for too many operations and for two on one zone;
    ///   `AUTHENTICATION_REQUIRED`, `ACCESS_DENIED`.
    public func modifyZones(
        _ operations: [ZoneOperation],
        in address: DatabaseAddress,
        as caller: Caller
    ) throws -> [ZoneResult] {
        guard address.scope == .private else { throw EmulatorError.notApplicable(in: address.scope) }
        guard operations.count <= configuration.limits.operationsPerRequest else {
            throw EmulatorError.badRequest(
                "a request has at most \(configuration.limits.operationsPerRequest) operations"
            )
        }
        var names = Set<String>()
        for operation in operations where !names.insert(operation.zone.zoneID.zoneName).inserted {
            throw EmulatorError.badRequest("more than one operation on zone '\(operation.zone.zoneID.zoneName)'")
        }
        return try write(address, as: caller) { db, ground in
            return try operations.map { operation in
                let zoneID = operation.zone.zoneID
                return try result(for: zoneID) {
                    switch operation.operationType {
                    case .create: return .zone(try createZone(zoneID, in: ground, db))
                    case .delete: return .zone(try deleteZone(zoneID, in: ground, db))
                    default:
                        throw EmulatorError.badRequest("unknown operation '\(operation.operationType)'")
                    }
                }
            }
        }
    }

    private func createZone(_ zoneID: ZoneID, in ground: Ground, _ db: Database) throws -> Zone {
        if let existing = try? zone(zoneID, of: ground, in: db) {
            switch configuration.unsettled.createExistingZone {
            case .succeeds: return description(of: existing, in: ground)
            case .exists: throw EmulatorError(.exists, "zone '\(zoneID.zoneName)' already exists")
            }
        }
        let owner = zoneID.owner
        guard owner == nil || owner == Ground.defaultOwner || owner == ground.ownerRecordName else {
            throw EmulatorError(.accessDenied, "zones can be created only in the caller's own database")
        }
        guard isValidName(zoneID.zoneName) else {
            throw EmulatorError.badRequest("'\(zoneID.zoneName)' is not a valid zone name")
        }
        guard try zones(of: ground, in: db).count < configuration.limits.zonesPerDatabase else {
            throw EmulatorError.badRequest(
                "a database has at most \(configuration.limits.zonesPerDatabase) zones"
            )
        }
        // A zone of that name which was deleted leaves the feed: the new zone takes its place there, under a new
        // row number, by which tokens of the old one are known.
        try db.execute(
            sql: "DELETE FROM zone WHERE database = ? AND name = ?",
            arguments: [ground.database, zoneID.zoneName]
        )
        try db.execute(
            sql: "INSERT INTO zone (database, name) VALUES (?, ?)",
            arguments: [ground.database, zoneID.zoneName]
        )
        let created = try zone(zoneID, of: ground, in: db)
        try noteChange(of: created, in: ground, db)
        try Announcement(self, of: created, in: ground, db)?.announce([], schema: nil)
        return description(of: created, in: ground)
    }

    private func deleteZone(_ zoneID: ZoneID, in ground: Ground, _ db: Database) throws -> Zone {
        let zone = try zone(zoneID, of: ground, in: db)
        guard !zone.isDefault else {
            throw EmulatorError.badRequest("the default zone cannot be deleted")
        }
        // Who shared the zone is to be told as well, and shares it no more afterwards.
        let announcement = try Announcement(self, of: zone, in: ground, db)
        try eraseRecords(of: zone, in: ground, db)
        try db.execute(sql: "UPDATE zone SET deleted = 1 WHERE id = ?", arguments: [zone.id])
        try noteChange(of: zone, in: ground, db)
        try announcement?.announce([], schema: nil)
        return Zone(zoneID: zone.zoneID(in: ground), isDeleted: true)
    }

    /// The zone dictionary of a reply. Custom zones take atomic batches; the default zone does not.
    func description(of zone: ZoneRow, in ground: Ground) -> Zone {
        Zone(
            zoneID: zone.zoneID(in: ground),
            syncToken: tokenKey.text(of: .zone(zone, of: ground, at: zone.sequence)),
            isAtomic: !zone.isDefault
        )
    }

    /// Turns a refusal within `body` into the item's error.
    func result(for zoneID: ZoneID, _ body: () throws -> ZoneResult) throws -> ZoneResult {
        do {
            return try body()
        } catch let error as EmulatorError {
            return .failure(
                ZoneError(
                    zoneID: zoneID,
                    serverErrorCode: error.serverErrorCode,
                    reason: error.reason,
                    retryAfter: error.retryAfter
                )
            )
        }
    }

    /// Whether a client may give a record or a zone this name: ASCII, at most 255 characters, no `_` in front.
    func isValidName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= configuration.limits.nameLength
            && name.utf8.first != UInt8(ascii: "_") && name.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    }
}

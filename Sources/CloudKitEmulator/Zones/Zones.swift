import CloudKitModel
package import CloudKitWebServices
import GRDB

extension RequestContext {
    /// Lists the zones of a database (`zones/list`): the default zone, then the others in creation order.
    ///
    /// The shared database has the zones in which the caller accepted a share, and no default zone. Zones have only
    /// their zone ID, unless ``EmulatorConfiguration/Unsettled/zonesInList`` says otherwise.
    ///
    /// - Throws: An ``EmulatorError``: `NOT_FOUND` for a container that is not registered, with
    ///   ``EmulatorConfiguration/Containers/registeredOnly``.
    package func listZones() throws -> Components.Schemas.ListZonesResponse {
        try read { context in
            Components.Schemas.ListZonesResponse(
                zones: try context.zones().map { zone in
                    switch configuration.unsettled.zonesInList {
                    case .identifiers: .success(Zone(zoneID: zone.zoneID(in: context)))
                    case .whole: .success(context.description(of: zone))
                    }
                },
                moreComing: false,
                syncToken: emulator.tokenKey.text(of: .database(context.databaseID, at: context.sequence))
            )
        }
    }

    /// Looks up zones by ID (`zones/lookup`).
    ///
    /// - Returns: One result for each ID, in order; `ZONE_NOT_FOUND` where there is no such zone.
    /// - Throws: An ``EmulatorError``: `NOT_FOUND` for a container that is not registered, with
    ///   ``EmulatorConfiguration/Containers/registeredOnly``.
    package func lookupZones(
        _ request: Components.Schemas.LookupZonesRequest
    ) throws -> Components.Schemas.LookupZonesResponse {
        let zones = try read { context in
            try request.zones.map { zoneID in
                try ZoneResult(zoneID.withoutNulls) { context.description(of: try context.zone(zoneID)) }
            }
        }
        return Components.Schemas.LookupZonesResponse(zones: zones)
    }

    /// Creates and deletes zones (`zones/modify`). Every operation is tried, in order. A zone can have only one
    /// operation.
    ///
    /// Only private databases have custom zones.
    ///
    /// - Returns: One result for each operation, in order. The result for a deleted zone has `deleted`. A zone ID of
    ///   another owner is `ACCESS_DENIED`, or `ZONE_NOT_FOUND` for a deletion.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for another database, for too many operations and for two on one
    ///   zone.
    package func modifyZones(
        _ request: Components.Schemas.ModifyZonesRequest
    ) throws -> Components.Schemas.ModifyZonesResponse {
        let operations = request.operations
        guard database.scope == .private else { throw EmulatorError.notApplicable(in: database.scope) }
        try configuration.limits.check(operations.count, of: "operations")
        var names = Set<String>()
        for operation in operations where !names.insert(operation.zone.zoneID.zoneName).inserted {
            throw EmulatorError.badRequest("more than one operation on zone '\(operation.zone.zoneID.zoneName)'")
        }
        let zones = try write { context in
            try operations.map { operation in
                let zoneID = operation.zone.zoneID
                return try ZoneResult(zoneID.withoutNulls) {
                    switch operation.operationType {
                    case .create: try context.createZone(zoneID)
                    case .delete: try context.deleteZone(zoneID)
                    default: throw EmulatorError.badRequest("unknown operation '\(operation.operationType)'")
                    }
                }
            }
        }
        return Components.Schemas.ModifyZonesResponse(zones: zones)
    }
}

extension DatabaseContext {
    fileprivate func createZone(_ zoneID: ZoneID) throws -> Zone {
        if let existing = try? zone(zoneID) {
            switch configuration.unsettled.createExistingZone {
            case .succeeds: return description(of: existing)
            case .exists: throw EmulatorError(.exists, "zone '\(zoneID.zoneName)' already exists")
            }
        }
        let owner = zoneID.owner
        guard owner == nil || owner == Self.defaultOwner || owner == ownerRecordName else {
            throw EmulatorError(.accessDenied, "zones can be created only in the caller's own database")
        }
        guard configuration.limits.allowsName(zoneID.zoneName) else {
            throw EmulatorError.badRequest("'\(zoneID.zoneName)' is not a valid zone name")
        }
        guard try zones().count < configuration.limits.zonesPerDatabase else {
            throw EmulatorError.badRequest(
                "a database has at most \(configuration.limits.zonesPerDatabase) zones"
            )
        }
        // A deleted zone of that name leaves the feed. The new zone has a new row number, so its tokens differ from
        // those of the old one.
        try db.run("DELETE FROM zone WHERE database = ? AND name = ?", [databaseID, zoneID.zoneName])
        try db.run("INSERT INTO zone (database, name) VALUES (?, ?)", [databaseID, zoneID.zoneName])
        let created = try zone(zoneID)
        try noteChange(of: created)
        try PushFanout(for: created, in: self)?.send([], schema: nil)
        return description(of: created)
    }

    fileprivate func deleteZone(_ zoneID: ZoneID) throws -> Zone {
        let zone = try zone(zoneID)
        guard !zone.isDefault else {
            throw EmulatorError.badRequest("the default zone cannot be deleted")
        }
        // Participants are notified as well. They are looked up before their participation ends with the zone.
        let fanout = try PushFanout(for: zone, in: self)
        try eraseRecords(of: zone)
        try db.run("UPDATE zone SET deleted = 1 WHERE id = ?", [zone.id])
        try noteChange(of: zone)
        try fanout?.send([], schema: nil)
        return Zone(zoneID: zone.zoneID(in: self), deleted: true)
    }

    /// The zone dictionary of a reply. Custom zones support atomic batches; the default zone does not.
    func description(of zone: ZoneRow) -> Zone {
        Zone(
            zoneID: zone.zoneID(in: self),
            syncToken: syncToken(of: zone),
            isAtomic: !zone.isDefault
        )
    }
}

extension EmulatorConfiguration.Limits {
    /// Whether a client may give a record or a zone this name: ASCII, at most 255 characters, no `_` in front.
    func allowsName(_ name: String) -> Bool {
        name.utf8.first != UInt8(ascii: "_") && allowsNameOfService(name)
    }

    /// Whether the service may give a record this name.
    func allowsNameOfService(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= nameLength && name.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    }
}

extension EmulatorConfiguration {
    /// Whether a record may be created under this name.
    func allowsRecordName(_ name: String) -> Bool {
        acceptsRecordsOfService ? limits.allowsNameOfService(name) : limits.allowsName(name)
    }
}

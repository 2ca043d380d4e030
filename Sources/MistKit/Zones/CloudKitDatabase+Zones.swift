import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitDatabase {
    /// Fetches all zones of the database.
    ///
    /// ```swift
    /// let zones = try await service.privateDatabase.fetchZones()
    /// // GET /database/1/iCloud.com.example/development/private/zones/list
    /// ```
    ///
    /// - Returns: The zones; the default zone is one of them.
    /// - Throws: ``CloudKitError``, also where the service lists an error in place of a zone.
    public func fetchZones() async throws -> [Zone] {
        let reply = try await service.reply(to: Operations.ListZones.id) { client in
            let response = try await client.listZones(
                path: path
            ).ok
            return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
        }
        var zones: [Zone] = []
        for result in reply.body {
            zones.append(try Result(result, in: reply.origin).get())
        }
        return zones
    }

    /// Fetches one zone.
    ///
    /// - Parameter zoneID: The zone's name; in the shared database with its owner's.
    /// - Returns: The zone.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/zoneNotFound`` where there is no such zone.
    public func fetchZone(_ zoneID: ZoneID) async throws -> Zone {
        try await fetchZones([zoneID])[0].get()
    }

    /// Fetches zones.
    ///
    /// ```swift
    /// let results = try await database.fetchZones([ZoneID(zoneName: "Notes")])
    /// // POST /database/1/iCloud.com.example/development/private/zones/lookup
    /// // {"zones":[{"zoneName":"Notes"}]}
    /// ```
    ///
    /// - Parameter zoneIDs: The zones' names, as many as you like; more than 200 are asked for in several requests.
    /// - Returns: One result per name, in their order.
    /// - Throws: A ``CloudKitError``: the error of the first request, when none was answered.
    public func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, CloudKitError>] {
        try await BatchSender<ZoneID, Zone>(
            items: zoneIDs,
            service: service,
            about: { error, zoneID in error.about(zoneID) },
            send: { (batch, call) async throws(CloudKitError) in
                let reply = try await call.reply(to: Operations.LookupZones.id) { client in
                    let response = try await client.lookupZones(
                        path: path,
                        body: .json(.init(zones: batch))
                    ).ok
                    return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
                }
                return ZoneResults.align(reply, with: batch)
            }
        ).results()
    }

    /// Makes a zone in the private database.
    ///
    /// ```swift
    /// let zone = try await service.privateDatabase.createZone("Notes")
    /// // POST /database/1/iCloud.com.example/development/private/zones/modify
    /// // {"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}}]}
    /// ```
    ///
    /// - Parameter zoneName: The name: ASCII, at most 255 characters, and no `_` in front.
    /// - Returns: The zone.
    /// - Throws: ``CloudKitError``. Whether the service complains about a zone that is there already is not documented; if it
    ///   does, the code is ``CloudKitError/Code-swift.struct/exists``.
    @discardableResult
    public func createZone(_ zoneName: String) async throws -> Zone {
        try await createZones([zoneName])[0].get()
    }

    /// Makes zones in the private database.
    ///
    /// - Parameter zoneNames: The names, as many as you like; more than 200 are sent in several requests.
    /// - Returns: One result per name, in their order.
    /// - Throws: A ``CloudKitError``: the error of the first request, when none was answered.
    public func createZones(_ zoneNames: [String]) async throws -> [Result<Zone, CloudKitError>] {
        try await modifyZones(zoneNames.map { ZoneOperation(.create, zone: Zone(zoneID: ZoneID(zoneName: $0))) })
    }

    /// Deletes a zone **with all the records in it**.
    ///
    /// - Parameter zoneID: The zone's name.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/zoneNotFound`` where there is no such zone.
    public func deleteZone(_ zoneID: ZoneID) async throws {
        _ = try await deleteZones([zoneID])[0].get()
    }

    /// Deletes zones **with all the records in them**.
    ///
    /// ```swift
    /// let results = try await database.deleteZones([ZoneID(zoneName: "Notes")])
    /// // POST /database/1/iCloud.com.example/development/private/zones/modify
    /// // {"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Notes"}}}]}
    /// ```
    ///
    /// - Parameter zoneIDs: The zones' names, as many as you like; more than 200 are sent in several requests.
    /// - Returns: One result per name, in their order.
    /// - Throws: A ``CloudKitError``: the error of the first request, when none was answered.
    public func deleteZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, CloudKitError>] {
        try await modifyZones(zoneIDs.map { ZoneOperation(.delete, zone: Zone(zoneID: $0)) })
    }

    private func modifyZones(
        _ operations: [ZoneOperation]
    ) async throws(CloudKitError) -> [Result<Zone, CloudKitError>] {
        if let index = operations.firstIndex(where: { $0.zone.zoneID.zoneName.isEmpty }) {
            throw .invalidArgument("The zone name at index \(index) is empty.")
        }
        return try await BatchSender<ZoneOperation, Zone>(
            items: operations,
            service: service,
            lostReplies: lostZoneWrites(),
            about: { error, operation in error.about(operation.zone.zoneID) },
            send: { (batch, call) async throws(CloudKitError) in
                let reply = try await call.reply(to: Operations.ModifyZones.id) { client in
                    let response = try await client.modifyZones(
                        path: path,
                        body: .json(.init(operations: batch))
                    ).ok
                    return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
                }
                return ZoneResults.align(reply, with: batch.map(\.zone.zoneID))
            }
        ).results()
    }

    /// What to do with zones whose reply was lost: one that is there was made, one that is gone was deleted.
    private func lostZoneWrites() -> LostReplies<ZoneOperation, Zone> {
        LostReplies(
            mayRepeat: { [.create, .delete].contains($0.operationType) },
            looksFirst: { _ in false },
            mayMeanDone: { operation, error in
                operation.operationType == .create
                    ? error.code == .exists || error.code == .conflict
                    : error.code == .zoneNotFound || error.code == .notFound
            },
            done: { operations in
                guard let zones = try? await fetchZones(operations.map(\.zone.zoneID)) else {
                    return operations.map { _ in nil }
                }
                return zip(operations, zones).map { operation, fetched in
                    switch (operation.operationType, fetched) {
                    case (.create, .success(let zone)): zone
                    case (.delete, .failure(let error)) where error.code == .zoneNotFound || error.code == .notFound:
                        operation.zone
                    default: nil
                    }
                }
            }
        )
    }
}

extension CloudKitError {
    /// The same error for one zone of the request.
    fileprivate func about(_ zoneID: ZoneID) -> CloudKitError {
        var error = self
        error.item = item ?? .zone(name: zoneID.zoneName)
        return error
    }
}

/// Which result of a response belongs to which zone of the request.
enum ZoneResults {
    static func align(_ reply: Reply<[ZoneResult]>, with zoneIDs: [ZoneID]) -> [Result<Zone, CloudKitError>] {
        let results = reply.body
        let inOrder =
            results.count == zoneIDs.count
            && zip(results, zoneIDs).allSatisfy { result, zoneID in
                result.zoneID?.isSame(as: zoneID) ?? true
            }
        if inOrder { return zip(results, zoneIDs).map { Result($0, requested: $1, in: reply.origin) } }
        return zoneIDs.map { zoneID in
            if let result = results.first(where: { $0.zoneID?.isSame(as: zoneID) == true }) {
                return Result(result, requested: zoneID, in: reply.origin)
            }
            var error = CloudKitError(
                code: .unexpectedResponse,
                message:
                    "The response holds no result for this zone (\(results.count) results for \(zoneIDs.count) zones)."
            )
            error.item = .zone(name: zoneID.zoneName)
            return .failure(error.from(reply.origin))
        }
    }
}

extension ZoneResult {
    fileprivate var zoneID: ZoneID? {
        switch self {
        case .zone(let zone): zone.zoneID
        case .failure(let error): error.id
        }
    }
}

extension Result where Success == Zone, Failure == CloudKitError {
    init(_ result: ZoneResult, requested zoneID: ZoneID? = nil, in origin: ResponseOrigin) {
        switch result {
        case .zone(let zone):
            self = .success(zone)
        case .failure(let error):
            let name = (error.id ?? zoneID)?.zoneName
            self = .failure(CloudKitError(error.response, item: name.map { .zone(name: $0) }).from(origin))
        }
    }
}

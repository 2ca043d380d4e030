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
    /// - Throws: A ``CloudKitError``, also where the service lists an error instead of a zone.
    public func fetchZones() async throws -> [Zone] {
        let reply = try await service.reply(to: Operations.ListZones.id) { client in
            let response = try await client.listZones(
                path: path
            ).ok
            return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
        }
        return try reply.body.map { try $0.result(requested: nil, in: reply.origin).get() }
    }

    /// Fetches one zone.
    ///
    /// - Parameter zoneID: The zone's name; in the shared database also its owner's name.
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
    /// - Parameter zoneIDs: The zones' names, any number; more than 200 are fetched in several requests.
    /// - Returns: One result for each name, in the order of the names.
    /// - Throws: A ``CloudKitError``: the error of the first request, when none was answered.
    public func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, CloudKitError>] {
        try await service.inBatches(of: zoneIDs, named: \.self) { (batch, call) async throws(CloudKitError) in
            try await call.reply(to: Operations.LookupZones.id) { client in
                let response = try await client.lookupZones(
                    path: path,
                    body: .json(.init(zones: batch))
                ).ok
                return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
            }
        }
    }

    /// Creates a zone in the private database.
    ///
    /// ```swift
    /// let zone = try await service.privateDatabase.createZone("Notes")
    /// // POST /database/1/iCloud.com.example/development/private/zones/modify
    /// // {"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}}]}
    /// ```
    ///
    /// - Parameter zoneName: The name: ASCII, at most 255 characters, and not beginning with `_`.
    /// - Returns: The zone.
    /// - Throws: A ``CloudKitError``. It is not documented whether the service refuses a zone that exists already; if
    ///   it does, the code is ``CloudKitError/Code-swift.struct/exists``.
    @discardableResult
    public func createZone(_ zoneName: String) async throws -> Zone {
        try await createZones([zoneName])[0].get()
    }

    /// Creates zones in the private database.
    ///
    /// - Parameter zoneNames: The names, any number; more than 200 are sent in several requests.
    /// - Returns: One result for each name, in the order of the names.
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
    /// - Parameter zoneIDs: The zones' names, any number; more than 200 are sent in several requests.
    /// - Returns: One result for each name, in the order of the names.
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
        return try await service.inBatches(
            of: operations,
            named: \.zone.zoneID,
            lostReplies: lostZoneWrites(),
            send: requestModifyZones
        )
    }

    /// Sends one request of `zones/modify`.
    package func requestModifyZones(
        _ operations: [ZoneOperation],
        in call: CallContext
    ) async throws(CloudKitError) -> Reply<[ZoneResult]> {
        try await call.reply(to: Operations.ModifyZones.id) { client in
            let response = try await client.modifyZones(path: path, body: .json(.init(operations: operations))).ok
            return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
        }
    }

    /// Decides about zones whose response was lost: a zone that exists was created, a zone that is missing was deleted.
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

extension Zone: NamedBatchItem {
    package static func isSame(_ zoneID: ZoneID, _ other: ZoneID) -> Bool { zoneID.isSame(as: other) }
    package static func errorItem(_ zoneID: ZoneID) -> CloudKitError.Item { .zone(name: zoneID.zoneName) }
}

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
    public func fetchZones() async throws(CloudKitError) -> [Zone] {
        let reply = try await service.call("listZones") { client in
            let response = try await client.listZones(
                path: path
            ).ok
            return Reply(
                try response.body.json.zones ?? [],
                operation: "listZones",
                requestUUID: response.headers.xAppleRequestUUID
            )
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
    /// - Throws: ``CloudKitError/Code-swift.struct/zoneNotFound`` where there is no such zone.
    public func fetchZone(_ zoneID: ZoneID) async throws(CloudKitError) -> Zone {
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
    /// - Parameter zoneIDs: The zones' names.
    /// - Returns: One result per name, in their order.
    /// - Throws: The error of the request, when it fails as a whole.
    public func fetchZones(_ zoneIDs: [ZoneID]) async throws(CloudKitError) -> [Result<Zone, CloudKitError>] {
        guard !zoneIDs.isEmpty else { return [] }
        let reply = try await service.call("lookupZones") { client in
            let response = try await client.lookupZones(
                path: path,
                body: .json(.init(zones: zoneIDs))
            ).ok
            return Reply(
                try response.body.json.zones ?? [],
                operation: "lookupZones",
                requestUUID: response.headers.xAppleRequestUUID
            )
        }
        return ZoneResults.align(reply, with: zoneIDs)
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
    public func createZone(_ zoneName: String) async throws(CloudKitError) -> Zone {
        try await createZones([zoneName])[0].get()
    }

    /// Makes zones in the private database.
    ///
    /// - Parameter zoneNames: The names.
    /// - Returns: One result per name, in their order.
    /// - Throws: The error of the request, when it fails as a whole.
    public func createZones(_ zoneNames: [String]) async throws(CloudKitError) -> [Result<Zone, CloudKitError>] {
        try await modifyZones(zoneNames.map { ZoneOperation(.create, zone: Zone(zoneID: ZoneID(zoneName: $0))) })
    }

    /// Deletes a zone **with all the records in it**.
    ///
    /// - Parameter zoneID: The zone's name.
    /// - Throws: ``CloudKitError/Code-swift.struct/zoneNotFound`` where there is no such zone.
    public func deleteZone(_ zoneID: ZoneID) async throws(CloudKitError) {
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
    /// - Parameter zoneIDs: The zones' names.
    /// - Returns: One result per name, in their order.
    /// - Throws: The error of the request, when it fails as a whole.
    public func deleteZones(_ zoneIDs: [ZoneID]) async throws(CloudKitError) -> [Result<Zone, CloudKitError>] {
        try await modifyZones(zoneIDs.map { ZoneOperation(.delete, zone: Zone(zoneID: $0)) })
    }

    private func modifyZones(
        _ operations: [ZoneOperation]
    ) async throws(CloudKitError) -> [Result<Zone, CloudKitError>] {
        guard !operations.isEmpty else { return [] }
        if let index = operations.firstIndex(where: { $0.zone.zoneID.zoneName.isEmpty }) {
            throw .invalidArgument("The zone name at index \(index) is empty.")
        }
        let reply = try await service.call("modifyZones") { client in
            let response = try await client.modifyZones(
                path: path,
                body: .json(.init(operations: operations))
            ).ok
            return Reply(
                try response.body.json.zones ?? [],
                operation: "modifyZones",
                requestUUID: response.headers.xAppleRequestUUID
            )
        }
        return ZoneResults.align(reply, with: operations.map(\.zone.zoneID))
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
        case .failure(let error): error.zoneID
        }
    }
}

extension Result where Success == Zone, Failure == CloudKitError {
    init(_ result: ZoneResult, requested zoneID: ZoneID? = nil, in origin: ResponseOrigin) {
        switch result {
        case .zone(let zone):
            self = .success(zone)
        case .failure(let error):
            let name = (error.zoneID ?? zoneID)?.zoneName
            self = .failure(CloudKitError(error.response, item: name.map { .zone(name: $0) }).from(origin))
        }
    }
}

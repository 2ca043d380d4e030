import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func fetchDatabaseChanges(
        _ input: Operations.FetchDatabaseChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchDatabaseChanges.Output {
        let request = try input.body.json
        let page = try context.fetchDatabaseChanges(
            since: request.syncToken,
            resultsLimit: request.resultsLimit?.count
        )
        let reply = Components.Schemas.FetchDatabaseChangesResponse(
            zones: page.zones,
            syncToken: page.syncToken,
            moreComing: page.moreComing
        )
        return .ok(.init(body: .json(reply)))
    }

    func fetchZoneListChanges(
        _ input: Operations.FetchZoneListChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchZoneListChanges.Output {
        let request = try input.body.json
        let page = try context.fetchZoneListChanges(
            since: request.metaSyncToken,
            resultsLimit: request.resultsLimit?.count
        )
        let reply = Components.Schemas.FetchZoneListChangesResponse(
            zones: page.zones,
            metaSyncToken: page.syncToken,
            moreComing: page.moreComing
        )
        return .ok(.init(body: .json(reply)))
    }

    func fetchZoneChanges(
        _ input: Operations.FetchZoneChanges.Input,
        context: RequestContext
    ) throws -> Operations.FetchZoneChanges.Output {
        let request = try input.body.json
        let results = try context.fetchZoneChanges(request.zones.map { ZoneChangesRequest($0, defaults: request) })
        return .ok(.init(body: .json(.init(zones: results.map { .init($0) }))))
    }
}

extension ZoneChangesRequest {
    /// The request for one zone: the zone's own keys, with those of the whole request as defaults. The flag for numbers
    /// has two spellings, that of CloudKit JS and that of Apple's page.
    fileprivate init(
        _ zone: Components.Schemas.ZoneChangesRequest,
        defaults: Components.Schemas.FetchZoneChangesRequest
    ) {
        self.init(
            zoneID: zone.zoneID,
            syncToken: zone.syncToken ?? defaults.syncToken,
            reverse: zone.reverse ?? defaults.reverse ?? false,
            desiredKeys: zone.desiredKeys ?? defaults.desiredKeys,
            numbersAsStrings: zone.numbersAsStrings ?? zone.numberAsStrings
                ?? defaults.numbersAsStrings ?? defaults.numberAsStrings ?? false,
            resultsLimit: (zone.resultsLimit ?? defaults.resultsLimit)?.count,
            desiredRecordTypes: zone.desiredRecordTypes ?? defaults.desiredRecordTypes
        )
    }
}

extension Components.Schemas.ZoneChanges {
    fileprivate init(_ result: Result<ZoneChangesPage, ZoneError>) {
        switch result {
        case .success(let changes):
            self.init(
                zoneID: changes.zoneID,
                records: changes.records,
                syncToken: changes.syncToken,
                moreComing: changes.moreComing,
                reverse: changes.reverse ? true : nil
            )
        case .failure(let error):
            self.init(
                zoneID: error.id,
                serverErrorCode: error.serverErrorCode.rawValue,
                reason: error.reason,
                retryAfter: error.retryAfter
            )
        }
    }
}

import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func listZones(
        _ input: Operations.ListZones.Input,
        context: RequestContext
    ) async throws -> Operations.ListZones.Output {
        let page = try context.listZones()
        let reply = Components.Schemas.ListZonesResponse(
            zones: page.zones,
            moreComing: page.moreComing,
            syncToken: page.syncToken
        )
        return .ok(.init(body: .json(reply)))
    }

    func lookupZones(
        _ input: Operations.LookupZones.Input,
        context: RequestContext
    ) async throws -> Operations.LookupZones.Output {
        let request = try input.body.json
        let zones = try context.lookupZones(
            request.zones
        )
        return .ok(.init(body: .json(.init(zones: zones))))
    }

    func modifyZones(
        _ input: Operations.ModifyZones.Input,
        context: RequestContext
    ) async throws -> Operations.ModifyZones.Output {
        let request = try input.body.json
        let zones = try context.modifyZones(
            request.operations
        )
        return .ok(.init(body: .json(.init(zones: zones))))
    }

    func fetchZoneListChanges(
        _ input: Operations.FetchZoneListChanges.Input,
        context: RequestContext
    ) async throws -> Operations.FetchZoneListChanges.Output {
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
}

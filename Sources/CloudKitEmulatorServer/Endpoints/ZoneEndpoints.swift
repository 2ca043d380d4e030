import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func listZones(_ input: Operations.ListZones.Input) async throws -> Operations.ListZones.Output {
        let page = try emulator.listZones(
            in: DatabaseAddress(input.path),
            as: caller
        )
        let reply = Components.Schemas.ListZonesResponse(
            zones: page.zones,
            moreComing: page.moreComing,
            syncToken: page.syncToken
        )
        return .ok(.init(body: .json(reply)))
    }

    func lookupZones(_ input: Operations.LookupZones.Input) async throws -> Operations.LookupZones.Output {
        let request = try input.body.json
        let zones = try emulator.lookupZones(
            request.zones,
            in: DatabaseAddress(input.path),
            as: caller
        )
        return .ok(.init(body: .json(.init(zones: zones))))
    }

    func modifyZones(_ input: Operations.ModifyZones.Input) async throws -> Operations.ModifyZones.Output {
        let request = try input.body.json
        let zones = try emulator.modifyZones(
            request.operations,
            in: DatabaseAddress(input.path),
            as: caller
        )
        return .ok(.init(body: .json(.init(zones: zones))))
    }

    func fetchZoneListChanges(
        _ input: Operations.FetchZoneListChanges.Input
    ) async throws -> Operations.FetchZoneListChanges.Output {
        let request = try input.body.json
        let page = try emulator.fetchZoneListChanges(
            since: request.metaSyncToken,
            in: DatabaseAddress(input.path),
            resultsLimit: request.resultsLimit?.count,
            as: caller
        )
        let reply = Components.Schemas.FetchZoneListChangesResponse(
            zones: page.zones,
            metaSyncToken: page.syncToken,
            moreComing: page.moreComing
        )
        return .ok(.init(body: .json(reply)))
    }
}

import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func listZones(
        _ input: Operations.ListZones.Input,
        context: RequestContext
    ) throws -> Operations.ListZones.Output {
        let page = try context.listZones()
        return .ok(.init(body: .json(.init(zones: page.zones, moreComing: page.moreComing, syncToken: page.syncToken))))
    }

    func lookupZones(
        _ input: Operations.LookupZones.Input,
        context: RequestContext
    ) throws -> Operations.LookupZones.Output {
        try .ok(.init(body: .json(.init(zones: context.lookupZones(input.body.json.zones)))))
    }

    func modifyZones(
        _ input: Operations.ModifyZones.Input,
        context: RequestContext
    ) throws -> Operations.ModifyZones.Output {
        try .ok(.init(body: .json(.init(zones: context.modifyZones(input.body.json.operations)))))
    }
}

import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func listSubscriptions(
        _ input: Operations.ListSubscriptions.Input,
        context: RequestContext
    ) throws -> Operations.ListSubscriptions.Output {
        try .ok(.init(body: .json(.init(subscriptions: context.listSubscriptions()))))
    }

    func lookupSubscriptions(
        _ input: Operations.LookupSubscriptions.Input,
        context: RequestContext
    ) throws -> Operations.LookupSubscriptions.Output {
        let names = try input.body.json.subscriptions.map(\.subscriptionID)
        return try .ok(.init(body: .json(.init(subscriptions: context.lookupSubscriptions(names)))))
    }

    func modifySubscriptions(
        _ input: Operations.ModifySubscriptions.Input,
        context: RequestContext
    ) throws -> Operations.ModifySubscriptions.Output {
        try .ok(.init(body: .json(.init(subscriptions: context.modifySubscriptions(input.body.json.operations)))))
    }
}

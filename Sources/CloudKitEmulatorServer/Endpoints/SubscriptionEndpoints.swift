import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func listSubscriptions(
        _ input: Operations.ListSubscriptions.Input,
        context: RequestContext
    ) async throws -> Operations.ListSubscriptions.Output {
        let subscriptions = try context.listSubscriptions()
        return .ok(.init(body: .json(.init(subscriptions: subscriptions))))
    }

    func lookupSubscriptions(
        _ input: Operations.LookupSubscriptions.Input,
        context: RequestContext
    ) async throws -> Operations.LookupSubscriptions.Output {
        let request = try input.body.json
        let subscriptions = try context.lookupSubscriptions(
            request.subscriptions.map(\.subscriptionID)
        )
        return .ok(.init(body: .json(.init(subscriptions: subscriptions))))
    }

    func modifySubscriptions(
        _ input: Operations.ModifySubscriptions.Input,
        context: RequestContext
    ) async throws -> Operations.ModifySubscriptions.Output {
        let request = try input.body.json
        let subscriptions = try context.modifySubscriptions(
            request.operations
        )
        return .ok(.init(body: .json(.init(subscriptions: subscriptions))))
    }
}

import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func listSubscriptions(
        _ input: Operations.ListSubscriptions.Input
    ) async throws -> Operations.ListSubscriptions.Output {
        let subscriptions = try emulator.listSubscriptions(
            in: DatabaseAddress(input.path),
            as: caller
        )
        return .ok(.init(body: .json(.init(subscriptions: subscriptions))))
    }

    func lookupSubscriptions(
        _ input: Operations.LookupSubscriptions.Input
    ) async throws -> Operations.LookupSubscriptions.Output {
        let request = try input.body.json
        let subscriptions = try emulator.lookupSubscriptions(
            request.subscriptions.map(\.subscriptionID),
            in: DatabaseAddress(input.path),
            as: caller
        )
        return .ok(.init(body: .json(.init(subscriptions: subscriptions))))
    }

    func modifySubscriptions(
        _ input: Operations.ModifySubscriptions.Input
    ) async throws -> Operations.ModifySubscriptions.Output {
        let request = try input.body.json
        let subscriptions = try emulator.modifySubscriptions(
            request.operations,
            in: DatabaseAddress(input.path),
            as: caller
        )
        return .ok(.init(body: .json(.init(subscriptions: subscriptions))))
    }
}

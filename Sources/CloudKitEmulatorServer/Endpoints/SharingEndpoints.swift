import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func resolveShares(
        _ input: Operations.ResolveShares.Input,
        context: RequestContext
    ) async throws -> Operations.ResolveShares.Output {
        let request = try input.body.json
        let results = try context.resolveShares(
            request.shortGUIDs
        )
        return .ok(.init(body: .json(.init(results: results))))
    }

    func acceptShares(
        _ input: Operations.AcceptShares.Input,
        context: RequestContext
    ) async throws -> Operations.AcceptShares.Output {
        let request = try input.body.json
        let results = try context.acceptShares(
            request.shortGUIDs
        )
        return .ok(.init(body: .json(.init(results: results))))
    }
}

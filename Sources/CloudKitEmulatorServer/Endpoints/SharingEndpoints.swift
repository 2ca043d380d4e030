import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func resolveShares(_ input: Operations.ResolveShares.Input) async throws -> Operations.ResolveShares.Output {
        let request = try input.body.json
        let results = try emulator.resolveShares(
            request.shortGUIDs,
            in: DatabaseAddress(input.path),
            as: caller
        )
        return .ok(.init(body: .json(.init(results: results))))
    }

    func acceptShares(_ input: Operations.AcceptShares.Input) async throws -> Operations.AcceptShares.Output {
        let request = try input.body.json
        let results = try emulator.acceptShares(
            request.shortGUIDs,
            in: DatabaseAddress(input.path),
            as: caller
        )
        return .ok(.init(body: .json(.init(results: results))))
    }
}

import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func resolveShares(
        _ input: Operations.ResolveShares.Input,
        context: RequestContext
    ) throws -> Operations.ResolveShares.Output {
        try .ok(.init(body: .json(.init(results: context.resolveShares(input.body.json.shortGUIDs)))))
    }

    func acceptShares(
        _ input: Operations.AcceptShares.Input,
        context: RequestContext
    ) throws -> Operations.AcceptShares.Output {
        try .ok(.init(body: .json(.init(results: context.acceptShares(input.body.json.shortGUIDs)))))
    }
}

import CloudKitEmulator
import CloudKitWebServices

/// The endpoints that are not served. Nothing is routed to these handlers: the paths below are as unknown as any other.
extension Endpoints {
    private static let unserved = [
        "/subscriptions/list", "/subscriptions/lookup", "/subscriptions/modify",
        "/assets/upload", "/assets/rereference",
        "/tokens/create", "/tokens/register",
    ]

    /// Whether the path of the document is one that is not served.
    static func isUnserved(_ path: String) -> Bool {
        unserved.contains { path.hasSuffix($0) }
    }
}

extension EndpointHandlers {
    func listSubscriptions(
        _ input: Operations.ListSubscriptions.Input
    ) async throws -> Operations.ListSubscriptions.Output {
        throw EmulatorError.noHandler
    }

    func lookupSubscriptions(
        _ input: Operations.LookupSubscriptions.Input
    ) async throws -> Operations.LookupSubscriptions.Output {
        throw EmulatorError.noHandler
    }

    func modifySubscriptions(
        _ input: Operations.ModifySubscriptions.Input
    ) async throws -> Operations.ModifySubscriptions.Output {
        throw EmulatorError.noHandler
    }

    func requestAssetUploads(
        _ input: Operations.RequestAssetUploads.Input
    ) async throws -> Operations.RequestAssetUploads.Output {
        throw EmulatorError.noHandler
    }

    func rereferenceAssets(
        _ input: Operations.RereferenceAssets.Input
    ) async throws -> Operations.RereferenceAssets.Output {
        throw EmulatorError.noHandler
    }

    func createDeviceToken(
        _ input: Operations.CreateDeviceToken.Input
    ) async throws -> Operations.CreateDeviceToken.Output {
        throw EmulatorError.noHandler
    }

    func registerDeviceToken(
        _ input: Operations.RegisterDeviceToken.Input
    ) async throws -> Operations.RegisterDeviceToken.Output {
        throw EmulatorError.noHandler
    }
}

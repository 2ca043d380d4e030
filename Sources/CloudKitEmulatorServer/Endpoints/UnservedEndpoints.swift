import CloudKitEmulator
import CloudKitWebServices

/// The endpoints that are not served. Nothing is routed to these handlers: the paths below are as unknown as any other.
extension Endpoints {
    private static let unserved = [
        "/assets/upload", "/assets/rereference",
    ]

    /// Whether the path of the document is one that is not served.
    static func isUnserved(_ path: String) -> Bool {
        unserved.contains { path.hasSuffix($0) }
    }
}

extension EndpointHandlers {
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
}

import CloudKitEmulator
import HTTPTypes
import OpenAPISwiftRuntime
import ServiceLifecycle

/// The web courier: holds a request of a device until there is a push for it.
///
/// The service's courier is a host of its own, whose address is in the response of `tokens/create`. A response holds
/// one push, and then the client sends the next request. A response without bytes only keeps the connection alive
/// (CloudKit JS, observed live).
struct Courier {
    static let methods: [HTTPRequest.Method] = [.get, .options]

    private let emulator: CloudKitEmulator
    private let configuration: CloudKitEmulatorServer.Configuration

    init(_ emulator: CloudKitEmulator, _ configuration: CloudKitEmulatorServer.Configuration) {
        self.emulator = emulator
        self.configuration = configuration
    }

    /// Responds with the next push, or without a body when no push comes within the timeout or before the server stops.
    ///
    /// - Throws: `NOT_FOUND` for an address that belongs to no device, or no longer to one.
    func answer(courierID: String) async throws -> (HTTPResponse, HTTPBody?) {
        let push: [UInt8]?
        do {
            push = try await cancelWhenGracefulShutdown { try await nextPush(courierID) }
        } catch is CancellationError where Task.isShuttingDownGracefully {
            push = nil
        }
        return (HTTPResponse(status: .ok), push.map { HTTPBody($0) })
    }

    private func nextPush(_ courierID: String) async throws -> [UInt8]? {
        // A push that waits already is taken without starting the timeout.
        if let push = try emulator.takePush(forCourier: courierID) { return push }
        return try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            group.addTask { try await emulator.nextPush(forCourier: courierID) }
            group.addTask {
                try await configuration.clock.sleep(for: configuration.courierTimeout)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { return nil }
            if first != nil { return first }
            // A push that came at the same moment was already taken out of the queue, and must not get lost.
            group.cancelAll()
            while let result = await group.nextResult() {
                if case .success(let push?) = result { return push }
            }
            return nil
        }
    }
}

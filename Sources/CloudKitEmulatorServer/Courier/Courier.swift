import CloudKitEmulator
import HTTPTypes
import OpenAPISwiftRuntime

/// The web courier: holds a request of a device until there is a push for it.
///
/// The service's courier is a host of its own, whose address `tokens/create` gives. Its answer is one push, after which the client
/// asks again; an answer without bytes only keeps the connection alive (CloudKit JS, observed live).
struct Courier {
    /// The part of the path before a device's secret.
    static let path = "/web-courier/"

    private let emulator: CloudKitEmulator
    private let configuration: CloudKitEmulatorServer.Configuration

    init(_ emulator: CloudKitEmulator, _ configuration: CloudKitEmulatorServer.Configuration) {
        self.emulator = emulator
        self.configuration = configuration
    }

    /// Answers with the next push, or with nothing when none comes for a while.
    ///
    /// - Throws: `NOT_FOUND` for an address that is not or no longer a device's.
    func answer(courierID: String) async throws -> (HTTPResponse, HTTPBody?) {
        let push = try await nextPush(courierID)
        return (HTTPResponse(status: .ok), push.map { HTTPBody($0) })
    }

    private func nextPush(_ courierID: String) async throws -> [UInt8]? {
        // What waits already needs no clock.
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
            // A push that came in the same moment was taken out of the queue, and must not get lost.
            group.cancelAll()
            while let result = await group.nextResult() {
                if case .success(let push?) = result { return push }
            }
            return nil
        }
    }
}

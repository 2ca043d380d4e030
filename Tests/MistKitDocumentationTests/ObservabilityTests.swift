import HTTPTypes
import Logging
import MistKit
import MistTesting
import OpenAPISwiftRuntime
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Counts the requests of each operation.
final class RequestCounter: ClientMiddleware {
    private let counts = Mutex<[String: Int]>([:])

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        counts.withLock { $0[operationID, default: 0] += 1 }
        return try await next(request, body, baseURL)
    }

    subscript(operation: String) -> Int { counts.withLock { $0[operation] ?? 0 } }
}

/// The Swift of "Observability".
@Suite(.serialized)
struct ObservabilityTests {
    @Test func aLoggerOfTheServicesOwn() async throws {
        try await withCloudKitEmulator { emulator in
            var logger = Logger(label: "com.example.notes.cloudkit")
            logger.logLevel = .debug
            var configuration = emulator.serviceConfiguration
            configuration.logger = logger
            let service = CloudKitService(
                containerIdentifier: emulator.containerIdentifier,
                apiToken: emulator.apiToken,
                configuration: configuration
            )
            let zones = try await service.publicDatabase.fetchZones()
            #expect(zones.count == 1)
        }
    }

    @Test func aMiddlewareSeesEachRequest() async throws {
        try await withCloudKitEmulator { emulator in
            let counter = RequestCounter()
            var configuration = emulator.serviceConfiguration
            configuration.middlewares = [counter]
            let service = CloudKitService(
                containerIdentifier: emulator.containerIdentifier,
                apiToken: emulator.apiToken,
                configuration: configuration
            )
            _ = try await service.publicDatabase.fetchZones()
            print(counter["listZones"])  // 1
            #expect(counter["listZones"] == 1)
        }
    }
}

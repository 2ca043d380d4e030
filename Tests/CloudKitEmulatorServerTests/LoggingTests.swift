import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import HTTPTypes
import Logging
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime
import Synchronization
import Testing

/// The server's log of requests.
@Suite(.serialized)
struct LoggingTests {
    private static let container = "iCloud.test.mistkit"
    private static let path = "/database/1/\(container)/development/private/zones/list"

    @Test func aRequestIsLoggedWithoutItsCredentials() async throws {
        let log = Log()
        var logger = Logger(label: "test") { _ in LogKeeper(log: log) }
        logger.logLevel = .trace
        let emulator = try CloudKitEmulator()
        let apiToken = try emulator.registerAPIToken(for: Self.container)
        let webAuthToken = try emulator.issueWebAuthToken(for: emulator.createUser())
        let server = try CloudKitEmulatorServer(emulator, configuration: .init(logger: logger))
        let query = "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(percentEncoded(webAuthToken))"
        var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: Self.path + query)
        request.headerFields[.keyID] = nil

        var secrets = [apiToken, webAuthToken, percentEncoded(webAuthToken)]
        try await server.withRunningServer { address in
            for path in [Self.path + query, Self.path + query + "x"] {
                request.path = path
                for transport in [server, AsyncHTTPClientTransport()] as [any ClientTransport] {
                    let (response, body) = try await transport.send(
                        request,
                        body: nil,
                        baseURL: address,
                        operationID: "listZones"
                    )
                    if let body { _ = try await [UInt8](collecting: body, upTo: .max) }
                    if let token = response.headerFields[.nextWebAuthToken] { secrets.append(token) }
                }
            }
        }
        let lines = log.lines
        #expect(lines.filter { $0.hasPrefix("GET \(Self.path) status=200 uuid=") }.count == 2)
        #expect(lines.filter { $0.hasPrefix("GET \(Self.path) status=421 uuid=") }.count == 2)
        for secret in secrets { #expect(!lines.contains { $0.contains(secret) }) }
    }

    @Test func theEndpointsJoinAnExistingServer() async throws {
        let emulator = try CloudKitEmulator()
        let apiToken = try emulator.registerAPIToken(for: Self.container)
        let transport = InProcessTransport()
        try CloudKitEmulatorServer(emulator).register(on: transport)
        let base = try #require(URL(string: "http://cloudkit.test"))
        var statuses: [Int] = []
        for (method, path) in [
            (.get, Self.path), (.post, Self.path), (.options, Self.path), (.get, "/elsewhere"),
        ] as [(HTTPRequest.Method, String)] {
            let path = path.replacingOccurrences(of: "private", with: "public") + "?ckAPIToken=\(apiToken)"
            let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
            statuses.append(try await transport.send(request, body: nil, baseURL: base, operationID: "").0.status.code)
        }
        #expect(statuses == [200, 200, 200, 404])
    }
}

/// The lines of a log.
private final class Log: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    func append(_ line: String) {
        state.withLock { $0.append(line) }
    }
}

/// Keeps all log messages of any level.
private struct LogKeeper: LogHandler {
    let log: Log
    var logLevel = Logger.Level.trace
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = event.metadata ?? [:]
        let parts = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        log.append("\(event.message)\(parts.joined())")
    }
}

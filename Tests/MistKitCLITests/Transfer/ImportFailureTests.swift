import ArgumentParser
import CloudKitEmulatorServer
import Foundation
import HTTPTypes
import Logging
import MistKit
import OpenAPISwiftRuntime
import Synchronization
import Testing

@testable import MistKitCLI

/// Imports whose service goes away in the middle of a step, which sends several requests.
struct ImportFailureTests {
    /// A transport whose connection fails from a number of requests on that change records.
    private final class UnreliableTransport: ClientTransport {
        private let transport: any ClientTransport
        private let rest: Mutex<Int>

        init(_ transport: any ClientTransport, changes: Int) {
            self.transport = transport
            rest = Mutex(changes)
        }

        func send(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String
        ) async throws -> (HTTPResponse, HTTPBody?) {
            if request.path?.contains("/records/modify") == true {
                let mayPass = rest.withLock { rest in
                    rest -= 1
                    return rest >= 0
                }
                guard mayPass else {
                    throw TransportError(code: .connectionFailed, message: "The connection was refused.")
                }
            }
            return try await transport.send(request, body: body, baseURL: baseURL, operationID: operationID)
        }
    }

    private let folder: URL
    private let file: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("import-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        file = folder.appendingPathComponent("notes.ndjson")
    }

    /// The connection of the folder's embedded emulator, over which only some requests can change records.
    private func connection(changes: Int) throws -> ServiceConnection {
        let embedded = try EmbeddedEmulator(
            folder: folder.appendingPathComponent("data").path,
            container: EmbeddedEmulator.defaultContainer,
            configuration: .init(logger: ServiceConnection.logger(verbose: false))
        )
        var configuration = CloudKitService.Configuration(
            transport: UnreliableTransport(embedded.server, changes: changes),
            logger: ServiceConnection.logger(verbose: false)
        )
        configuration.retryPolicy = .never
        let service = CloudKitService(
            containerIdentifier: embedded.container,
            tokenManager: WebAuthTokenManager(
                apiToken: embedded.account.apiToken,
                webAuthToken: try embedded.webAuthToken()
            ),
            configuration: configuration
        )
        return ServiceConnection(service: service, scope: .private, destination: .embedded(embedded), identity: .user)
    }

    private func write(_ lines: [String]) throws {
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    }

    private func importFile(_ options: String..., over connection: ServiceConnection) async throws {
        try await ImportRecordsCommand.asyncParse([file.path, "--type", "Note"] + options).run(over: connection)
    }

    private var failedLines: String? {
        try? String(contentsOf: folder.appendingPathComponent("notes.ndjson.failed"), encoding: .utf8)
    }

    @Test(arguments: [0, 1, 2, 3, 5])
    func linesThatWereNotSentAreSentByTheNextRun(afterChanges changes: Int) async throws {
        try write((0..<1500).map { $0 % 3 == 0 ? "{}" : #"{"recordName":"n\#($0)"}"# })
        let error = await #expect(throws: CloudKitError.self) {
            try await importFile(over: connection(changes: changes))
        }
        #expect(error?.code == .network && error?.item == nil)
        #expect(error.map { CommandError($0).code } == .tryAgain)
        #expect(FileManager.default.fileExists(atPath: file.path + ".journal"))
        #expect(failedLines == nil)
        let whole = try connection(changes: .max)
        try await importFile(over: whole)
        #expect(try await whole.database.count(matching: Query<Record>(recordType: "Note")) == 1500)
        #expect(failedLines == nil)
        #expect(!FileManager.default.fileExists(atPath: file.path + ".journal"))
    }

    /// A line that the service refused in the step that failed is refused and counted once by the next run, also where
    /// the reason is that its record exists: the next run does not take the record for one that the first run saved.
    @Test func linesThatWereRefusedBeforeTheFailureAreCountedOnce() async throws {
        try write([#"{"recordName":"n3"}"#])
        try await importFile(over: connection(changes: .max))
        var lines = (0..<800).map { #"{"recordName":"n\#($0)"}"# }
        lines[7] = "no record"
        try write(lines)
        await #expect(throws: CloudKitError.self) {
            try await importFile("--existing", "fail", over: connection(changes: 2))
        }
        #expect(failedLines == nil)
        let whole = try connection(changes: .max)
        let error = await #expect(throws: CommandError.self) {
            try await importFile("--existing", "fail", over: whole)
        }
        #expect(error?.message == "2 of 800 records failed.")
        #expect(failedLines == "{\"recordName\":\"n3\"}\nno record\n")
        #expect(try await whole.database.count(matching: Query<Record>(recordType: "Note")) == 799)
    }
}

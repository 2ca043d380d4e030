import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MistMutationQueue
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Peated
import PeatedOffline
import PeatedStub
import Synchronization
import Testing

/// The network of a machine: requests go over HTTP, unless it is offline.
final class Network: ClientTransport {
    private struct State {
        var isOffline = false
        var before: (@Sendable (_ operation: String) async -> Void)?
    }

    private let http = AsyncHTTPClientTransport()
    private let state = Mutex(State())

    func setOffline(_ isOffline: Bool) { state.withLock { $0.isOffline = isOffline } }

    /// Runs a closure before each request is sent.
    func before(_ body: @escaping @Sendable (_ operation: String) async -> Void) { state.withLock { $0.before = body } }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        await state.withLock { $0.before }?(operationID)
        if state.withLock({ $0.isOffline }) {
            throw TransportError(code: .connectionFailed, message: "The machine is offline.")
        }
        return try await http.send(request, body: body, baseURL: baseURL, operationID: operationID)
    }
}

/// A machine with a folder, and the stub, over HTTP on a port of this machine.
struct Machine {
    let stub: PeatedStub
    let url: URL
    let accounts: Accounts
    let network = Network()
    /// The tastings of this machine are `local-1`, `local-2`, and so on.
    private let lastNumber = Counter()

    private final class Counter: Sendable {
        private let value = Mutex(0)
        func next() -> Int {
            value.withLock { value in
                value += 1
                return value
            }
        }
    }

    var settings: Notebook.Settings {
        var settings = Notebook.Settings()
        settings.pieceSize = 100_000
        // A second attempt follows at once.
        settings.queue.random = { 0 }
        settings.makeID = { [lastNumber] in "local-\(lastNumber.next())" }
        return settings
    }

    static func run(_ body: @escaping @Sendable (Machine) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "peated-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let stub = PeatedStub()
        let router = Router()
        try stub.register(on: HummingbirdTransport(router), serverURL: Servers.Server1.url())
        try await Application(router: router).test(.live) { server in
            let port = try #require(server.port)
            let url = try #require(URL(string: "http://localhost:\(port)/v1"))
            try await body(Machine(stub: stub, url: url, accounts: Accounts(folder: folder)))
        }
    }

    /// Signs a user in.
    @discardableResult
    func signIn(_ user: String = "ada") async throws -> Notebook {
        try await accounts.signIn(
            url,
            email: "\(user)@example.com",
            password: "peat",
            transport: network,
            settings: settings
        )
    }

    /// The program after a restart.
    func restart(_ change: (inout Notebook.Settings) -> Void = { _ in }) throws -> Notebook {
        var settings = settings
        change(&settings)
        let account = try #require(try accounts.current())
        return try Notebook(account, in: accounts, transport: network, settings: settings)
    }

    /// A file with a picture.
    func picture(_ number: Int, size: Int = 250_000) throws -> (file: URL, bytes: Data) {
        let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: ($0 + number) &* 2_654_435_761 >> 7) })
        let file = accounts.folder.appending(path: "\(number).jpg")
        try FileManager.default.createDirectory(at: accounts.folder, withIntermediateDirectories: true)
        try bytes.write(to: file)
        return (file, bytes)
    }

    /// What the stub was asked for since the last call, without what is not about changes.
    func changes(since start: Int = 0) async -> [String] {
        await stub.log.dropFirst(start).filter { line in
            ["addT", "removeT", "getUpload", "continueUpload"].contains { line.hasPrefix($0) }
        }
    }

    /// The notes of all tastings that were added to the stub, the oldest first.
    func added() async -> [String] { await stub.tastings.dropFirst(45).map { "\($0.author.id): \($0.notes ?? "")" } }
}

extension Notebook {
    /// A feed as text: the identifier of each tasting, and what the queue does about it.
    func lines(_ filter: FeedFilter, _ count: Int = .max) async throws -> [String] {
        NotebookLines.feed(try await feed(filter), count: count)
    }

    /// The queue as text, without identifiers.
    func queueLines() async throws -> [String] {
        NotebookLines.queue(try await mutations(), try await status(), now: Date()).map { line in
            line.hasPrefix("queue: ") ? line : String(line.dropFirst(10))
        }
    }
}

import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Peated
import PeatedStub
import Synchronization

/// A client of a stub in this process, with everything that tests look at.
struct TestBench {
    let stub = PeatedStub()
    let store = MemoryCredentialStore()
    let transport: ObservedTransport
    let peated: PeatedClient

    /// Creates a bench. `intercept` can delay a request, and respond to it instead of the stub; `nil` passes it on to
    /// the stub.
    init(
        intercept: @escaping ObservedTransport.Intercept = { _ in nil }
    ) throws {
        let serverURL = try Servers.Server1.url()
        let server = InProcessTransport()
        try stub.register(on: server, serverURL: serverURL)
        transport = ObservedTransport(server: server, intercept: intercept)
        peated = PeatedClient(serverURL: serverURL, credentials: store, transport: transport)
    }

    /// A bench whose user is logged in.
    static func loggedIn(intercept: @escaping ObservedTransport.Intercept = { _ in nil }) async throws -> TestBench {
        let bench = try TestBench(intercept: intercept)
        try await bench.peated.logIn(email: "ada@example.com", password: "peat")
        return bench
    }
}

/// Sends requests to a server, and keeps a log of them.
actor ObservedTransport: ClientTransport {
    typealias Answer = (HTTPResponse, HTTPBody?)
    typealias Intercept = @Sendable (_ operation: String) async throws -> Answer?

    private let server: InProcessTransport
    private let intercept: Intercept
    /// One line for each request that got a response: the operation and the status.
    private(set) var log: [String] = []

    init(server: InProcessTransport, intercept: @escaping Intercept) {
        self.server = server
        self.intercept = intercept
    }

    func send(_ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String) async throws -> Answer {
        let answer: Answer
        if let intercepted = try await intercept(operationID) {
            answer = intercepted
        } else {
            answer = try await server.send(request, body: body, baseURL: baseURL, operationID: operationID)
        }
        log.append("\(operationID) \(answer.0.status.code)")
        waiters.removeAll { count, waiter in
            guard log.count >= count else { return false }
            waiter.resume()
            return true
        }
        return answer
    }

    private var waiters: [(count: Int, waiter: CheckedContinuation<Void, Never>)] = []

    /// Returns when at least `count` requests got a response.
    func answered(_ count: Int) async {
        if log.count >= count { return }
        await withCheckedContinuation { waiters.append((count, $0)) }
    }
}

/// A signal that is sent once. It wakes all tasks that wait for it.
final class Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    func send() {
        continuation.finish()
    }

    func wait() async {
        for await _ in stream {}
    }
}

/// Counts down, for things that have to fail `count` times.
final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) {
        left = Mutex(count)
    }

    /// Whether the count was not used up yet.
    func next() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
}

/// The outcome of a call as text, which a test can compare.
func outcome(_ call: () async throws -> some Sendable) async -> String {
    do {
        _ = try await call()
        return "success"
    } catch {
        switch error as? PeatedError {
        case .unauthorized(let message): return "unauthorized: \(message)"
        case .validation(let message, let fields): return "validation: \(message) \(fields)"
        case .server(let status, let message, let wait):
            return "server: \(status) \(message)\(wait.map { " after \($0)" } ?? "")"
        case .decoding: return "decoding"
        case .network(let error): return "network: \(error.code)"
        case .local: return "local"
        case .cancelled: return "cancelled"
        case nil: return "no PeatedError: \(error)"
        }
    }
}

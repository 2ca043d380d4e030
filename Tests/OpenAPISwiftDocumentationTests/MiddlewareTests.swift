import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Synchronization
import Testing

/// Adds a token to each request, and asks for a new one when the server refuses it.
struct BearerToken: ClientMiddleware {
    var tokens: TokenStore

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request = request
        let token = try await tokens.current()
        request.headerFields[.authorization] = "Bearer \(token)"
        let (response, responseBody) = try await next(request, body, baseURL)

        // A body that can be read once cannot be sent twice.
        guard response.status == .unauthorized, body?.iterationBehavior != .single else {
            return (response, responseBody)
        }
        request.headerFields[.authorization] = "Bearer \(try await tokens.renewed(after: token))"
        return try await next(request, body, baseURL)
    }
}

/// One token for all requests. Requests that are refused at the same time wait for one renewal.
actor TokenStore {
    private let fetch: @Sendable () async throws -> String
    private var task: Task<String, any Error>?

    init(fetch: @escaping @Sendable () async throws -> String) {
        self.fetch = fetch
    }

    func current() async throws -> String {
        let task = self.task ?? Task { try await fetch() }
        self.task = task
        do {
            return try await task.value
        } catch {
            if self.task == task { self.task = nil }
            throw error
        }
    }

    func renewed(after refused: String) async throws -> String {
        let used = task
        if try await used?.value == refused, task == used { task = nil }
        return try await current()
    }
}

/// Writes a line for each request. It leaves out header fields and the query, which may hold credentials.
struct Log: ClientMiddleware {
    var write: @Sendable (String) -> Void

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        do {
            let (response, responseBody) = try await next(request, body, baseURL)
            write("\(operationID): \(response.status.code)")
            return (response, responseBody)
        } catch {
            write("\(operationID): \(error)")
            throw error
        }
    }
}

/// Repeats requests that the server has not handled: no connection, or a status that says so.
struct Retry: ClientMiddleware {
    var attempts = 3
    var pause: @Sendable (_ attempt: Int) async throws -> Void = { try await Task.sleep(for: .seconds(1 << $0)) }

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let attempts = body?.iterationBehavior == .single ? 1 : attempts
        for attempt in 1..<max(attempts, 1) {
            do {
                let (response, responseBody) = try await next(request, body, baseURL)
                guard response.status == .tooManyRequests || response.status == .serviceUnavailable else {
                    return (response, responseBody)
                }
            } catch let error as ClientError {
                let cause = error.underlyingError as? TransportError
                guard cause?.code == .connectionFailed else { throw error }
            }
            try await pause(attempt)
        }
        return try await next(request, body, baseURL)
    }
}

/// Adds the name of the server to each response.
struct ServerName: ServerMiddleware {
    var name: String

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var (response, responseBody) = try await next(request, body, metadata)
        response.headerFields[.server] = name
        return (response, responseBody)
    }
}

struct MiddlewareTests {
    @Test func aRefusedTokenIsRenewedOnce() async throws {
        let transport = InProcessTransport()
        let keys = Keys(names: ["Bearer 2": "Ada"])
        try Archive().registerHandlers(
            on: transport,
            middlewares: [ErrorHandlingMiddleware(), ServerName(name: "birds")],
            context: { call in try keys.caller(of: call.request) }
        )
        let fetched = Mutex(0)
        let lines = Mutex<[String]>([])
        let serverURL = URL.defaultOpenAPIServerURL
        let tokens = TokenStore {
            fetched.withLock { count in
                count += 1
                return String(count)
            }
        }
        let log = Log { line in lines.withLock { $0.append(line) } }

        let client = Client(
            serverURL: serverURL,
            transport: transport,
            middlewares: [Retry(), BearerToken(tokens: tokens), log]
        )

        let sighting = try await client.getSighting(path: .init(id: "17")).ok.body.json
        #expect(sighting.observer == .person(.init(kind: "person", name: "Ada")))
        #expect(lines.withLock { $0 } == ["getSighting: 401", "getSighting: 200"])

        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask { _ = try await tokens.renewed(after: "2") }
            }
            try await group.waitForAll()
        }
        #expect(fetched.withLock { $0 } == 3)
    }

    @Test func aRequestThatWasNotHandledIsRepeated() async throws {
        let calls = Mutex(0)
        let busy = Reply { _ in
            let count = calls.withLock { count in
                count += 1
                return count
            }
            if count == 1 { throw TransportError(code: .connectionFailed, message: "no server") }
            return (HTTPResponse(status: count == 2 ? .serviceUnavailable : .noContent), nil)
        }
        let retry = Retry(attempts: 3, pause: { _ in })
        let client = Client(serverURL: .defaultOpenAPIServerURL, transport: busy, middlewares: [retry])
        _ = try await client.removeSighting(path: .init(id: "17")).noContent
        #expect(calls.withLock { $0 } == 3)
    }
}

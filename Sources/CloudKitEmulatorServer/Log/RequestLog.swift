import CloudKitEmulator
import CloudKitEmulatorAdministration
import HTTPTypes
import OpenAPISwiftRuntime
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The requests of clients that were answered lately. When it is full, a new request takes the place of the oldest.
///
/// An entry holds the values that the server has anyway. They become text, without credentials, when someone looks.
final class RequestLog: Sendable {
    /// A request and its answer.
    struct Entry: Sendable {
        /// The number of the request since the start, from 1, in the order of the answers.
        var number = 0
        var time: Date
        var request: HTTPRequest
        /// The template of the path, where its placeholders stand for credentials.
        var pathWithoutCredentials: String?
        /// The end of the path, for endpoints of CloudKit Web Services.
        var isEndpoint: Bool
        var trace: RequestTrace
        var duration: Duration = .zero
        /// `nil` where the connection broke without a response.
        var response: HTTPResponse?
        var bodies: Bodies?
    }

    /// The bodies of a request and its reply; each is `nil` where it is not kept.
    struct Bodies: Sendable {
        var request: ArraySlice<UInt8>?
        var reply: ArraySlice<UInt8>?

        var count: Int { (request?.count ?? 0) + (reply?.count ?? 0) }
    }

    private struct State {
        var entries: [Entry] = []
        var total = 0
        /// The number of the oldest request whose bodies are kept, and the bytes of all that are kept.
        var oldestWithBodies = 1
        var bytes = 0
    }

    /// The bytes of a body above which it is not kept: 1 MiB.
    static let maximumBodySize = 1 << 20
    private let capacity: Int
    private let maximumBytes: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - capacity: How many requests are kept, at least 1.
    ///   - maximumBytes: How many bytes of bodies are kept. The oldest bodies are given up first.
    init(capacity: Int, maximumBytes: Int = 16 << 20) {
        self.capacity = max(capacity, 1)
        self.maximumBytes = maximumBytes
    }

    /// Adds a request.
    ///
    /// - Returns: The request with its number.
    func add(_ entry: Entry) -> Entry {
        var entry = entry
        state.withLock { state in
            state.total += 1
            entry.number = state.total
            let position = (entry.number - 1) % capacity
            if state.entries.count < capacity {
                state.entries.append(entry)
            } else {
                if state.oldestWithBodies <= entry.number - capacity {
                    state.bytes -= state.entries[position].bodies?.count ?? 0
                    state.oldestWithBodies = entry.number - capacity + 1
                }
                state.entries[position] = entry
            }
            state.bytes += entry.bodies?.count ?? 0
            while state.bytes > maximumBytes, state.oldestWithBodies <= entry.number {
                let oldest = (state.oldestWithBodies - 1) % capacity
                state.bytes -= state.entries[oldest].bodies?.count ?? 0
                state.entries[oldest].bodies = nil
                state.oldestWithBodies += 1
            }
        }
        return entry
    }

    /// The latest requests, the newest first, and the number of all.
    func latest(_ limit: Int) -> (total: Int, entries: [Entry]) {
        state.withLock { state in
            let numbers = max(state.total - min(limit, state.entries.count), 0)..<state.total
            return (state.total, numbers.reversed().map { state.entries[$0 % capacity] })
        }
    }

    /// A request; `nil` where it is no longer kept.
    func entry(_ number: Int) -> Entry? {
        state.withLock { state in
            guard number > 0, number <= state.total, number > state.total - state.entries.count else { return nil }
            return state.entries[(number - 1) % capacity]
        }
    }
}

extension CloudKitEmulatorServer {
    /// Answers a request, and keeps it in the list of the latest requests.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - route: Its route. Requests of the administration, and those for files of the page, are not kept.
    ///   - answer: Answers it, and notes what it finds out; there is nothing to note without a log.
    /// - Returns: The response. Where the request names whom to act as, the response has its number.
    /// - Throws: The error of `answer`, for a connection that breaks. The request is kept without a status.
    func logged(
        _ request: HTTPRequest,
        at route: ServerRoutes.Match,
        _ answer: (RequestTrace?) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
        guard let requestLog, !route.isAdministration, !route.isPage else { return try await answer(nil) }
        let start = ContinuousClock.now
        let trace = RequestTrace()
        var entry = RequestLog.Entry(
            time: emulator.present,
            request: request,
            pathWithoutCredentials: route.pathWithoutCredentials,
            isEndpoint: route.isEndpoint,
            trace: trace
        )
        func add(_ response: HTTPResponse?, _ reply: HTTPBody?) -> RequestLog.Entry {
            entry.response = response
            entry.duration = ContinuousClock.now - start
            metrics.add(
                operation: route.operationID,
                status: response?.status.code,
                duration: entry.duration,
                isFaulted: trace.contents.fault != nil
            )
            if route.isEndpoint {
                func kept(_ bytes: ArraySlice<UInt8>?) -> ArraySlice<UInt8>? {
                    bytes.flatMap { $0.count <= RequestLog.maximumBodySize ? $0 : nil }
                }
                entry.bodies = .init(request: kept(trace.contents.body), reply: kept(reply?.bufferedBytes))
            }
            let entry = requestLog.add(entry)
            events.send { .request(entry.summary) }
            return entry
        }
        do {
            var (response, body) = try await answer(trace)
            let number = add(response, body).number
            if asksForNumber(request) { response.headerFields[.loggedRequest] = "\(number)" }
            return (response, body)
        } catch {
            _ = add(nil, nil)
            throw error
        }
    }

    /// Whether the sender of a request may know its number in the log: the page, and who has the secret.
    private func asksForNumber(_ request: HTTPRequest) -> Bool {
        if request.headerFields[.actAs] != nil { return true }
        guard let authorization = request.headerFields[.authorization] else { return false }
        return configuration.administration?.secret.isCarried(by: authorization) == true
    }
}

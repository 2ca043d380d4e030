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
final class RequestLog: Sendable {
    private struct State {
        var requests: [Components.Schemas.AnsweredRequest] = []
        /// The position of the oldest request, once the list is full.
        var oldest = 0
        var total = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: How many requests are kept, at least 1.
    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    /// Adds a request.
    func add(_ request: Components.Schemas.AnsweredRequest) {
        var request = request
        state.withLock { state in
            state.total += 1
            request.number = state.total
            if state.requests.count < capacity { return state.requests.append(request) }
            state.requests[state.oldest] = request
            state.oldest = (state.oldest + 1) % capacity
        }
    }

    /// The latest requests, the newest first, and the number of all.
    func latest(_ limit: Int) -> Components.Schemas.RequestList {
        let (requests, oldest, total) = state.withLock { ($0.requests, $0.oldest, $0.total) }
        let ordered = requests[oldest...] + requests[..<oldest]
        return .init(total: total, requests: Array(ordered.suffix(limit).reversed()))
    }
}

extension CloudKitEmulatorServer {
    /// Answers a request, and keeps it in the list of the latest requests.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - route: Its route. Requests of the administration are not kept.
    ///   - answer: Answers it.
    /// - Returns: The response.
    /// - Throws: The error of `answer`, for a connection that breaks. The request is kept without a status.
    func logged(
        _ request: HTTPRequest,
        at route: ServerRoutes.Match,
        _ answer: () async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
        guard let requestLog, !route.isAdministration else { return try await answer() }
        let start = ContinuousClock.now
        var entry = Components.Schemas.AnsweredRequest(
            number: 0,
            timestamp: emulator.present.milliseconds,
            method: request.method.rawValue,
            path: route.pathWithoutCredentials ?? String((request.path ?? "/").prefix { $0 != "?" }.prefix(1024)),
            milliseconds: 0
        )
        func add(_ response: HTTPResponse?) {
            entry.status = response?.status.code
            entry.requestUUID = response?.headerFields[.requestUUID]
            entry.milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
            requestLog.add(entry)
        }
        do {
            let (response, body) = try await answer()
            add(response)
            return (response, body)
        } catch {
            add(nil)
            throw error
        }
    }
}

import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Synchronization

/// A transport to an emulator's asset host with faults that a test chooses.
final class AssetTransport: ClientTransport {
    /// The fault of one request.
    enum Fault: Sendable {
        /// The connection breaks after this number of bytes of the response's body.
        case cutAfter(Int)
        /// The response's body ends after this number of bytes as if it were complete.
        case endAfter(Int)
        /// There is no connection.
        case network
        /// The request is carried out, and the response is lost.
        case lostReply
        /// The host responds with this status only.
        case status(Int)
        /// The host responds with this body only.
        case answer(String)
        /// The host does not respond.
        case hang
        /// No more bytes arrive after this number of bytes of the response's body.
        case hangAfter(Int)
    }

    private struct State {
        var faults: [Fault] = []
        var sent: [HTTPRequest] = []
        var ignoresRanges = false
        var hidesLength = false
        var underWay = 0
        var mostAtATime = 0
    }

    private let base: any ClientTransport
    private let state = Mutex(State())
    private let hangs = AsyncStream<Void>.makeStream()

    init(_ base: any ClientTransport) {
        self.base = base
    }

    /// The faults of the next requests, in order. Later requests have no fault.
    var faults: [Fault] {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }
    /// Whether the response to every request has the whole file.
    var ignoresRanges: Bool {
        get { state.withLock { $0.ignoresRanges } }
        set { state.withLock { $0.ignoresRanges = newValue } }
    }
    /// Whether responses do not announce their length.
    var hidesLength: Bool {
        get { state.withLock { $0.hidesLength } }
        set { state.withLock { $0.hidesLength = newValue } }
    }
    var sent: [HTTPRequest] { state.withLock { $0.sent } }
    /// Method and path of the requests.
    var requests: [String] { sent.map { "\($0.method) \($0.path ?? "")" } }
    /// The ranges that downloads requested.
    var ranges: [String?] { sent.filter { $0.method == .get }.map { $0.headerFields[.range] } }
    /// The number of requests without a response so far.
    var underWay: Int { state.withLock { $0.underWay } }
    var mostAtATime: Int { state.withLock { $0.mostAtATime } }

    /// Waits until a request hangs.
    func hung() async {
        var iterator = hangs.stream.makeAsyncIterator()
        await iterator.next()
    }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request = request
        let (fault, ignoresRanges, hidesLength) = state.withLock { state in
            state.sent.append(request)
            state.underWay += 1
            state.mostAtATime = max(state.mostAtATime, state.underWay)
            return (
                state.faults.isEmpty ? nil : state.faults.removeFirst(), state.ignoresRanges, state.hidesLength
            )
        }
        defer { state.withLock { $0.underWay -= 1 } }
        if ignoresRanges { request.headerFields[.range] = nil }
        switch fault {
        case .network: throw TransportError(code: .connectionFailed, message: "no connection")
        case .status(let code): return (HTTPResponse(status: .init(code: code)), nil)
        case .answer(let text):
            if let body { for try await _ in body {} }
            return (HTTPResponse(status: .ok), HTTPBody(text))
        case .hang: try await hang()
        case .cutAfter, .endAfter, .hangAfter, .lostReply, nil: break
        }
        var (response, responseBody) = try await base.send(
            request,
            body: body,
            baseURL: baseURL,
            operationID: operationID
        )
        if hidesLength { response.headerFields[.contentLength] = nil }
        switch fault {
        case .lostReply: throw TransportError(code: .connectionLost, message: "the connection was lost")
        case .cutAfter(let count): responseBody = responseBody.map { stopping($0, after: count, .cut) }
        case .endAfter(let count): responseBody = responseBody.map { stopping($0, after: count, .end) }
        case .hangAfter(let count): responseBody = responseBody.map { stopping($0, after: count, .hang) }
        default: break
        }
        return (response, responseBody)
    }

    private func hang() async throws {
        hangs.continuation.yield()
        let (never, continuation) = AsyncStream<Void>.makeStream()
        for await _ in never {}
        withExtendedLifetime(continuation) {}
        throw CancellationError()
    }

    private enum Ending {
        case cut
        case end
        case hang
    }

    private func stopping(_ body: HTTPBody, after count: Int, _ ending: Ending) -> HTTPBody {
        HTTPBody(
            Stopping(body: body, count: count) {
                switch ending {
                case .cut: throw TransportError(code: .connectionLost, message: "the connection was lost")
                case .end: return
                case .hang: try await self.hang()
                }
            },
            length: .unknown,
            iterationBehavior: .single
        )
    }

    private struct Stopping: AsyncSequence, Sendable {
        let body: HTTPBody
        let count: Int
        let atEnd: @Sendable () async throws -> Void

        struct AsyncIterator: AsyncIteratorProtocol {
            var chunks: HTTPBody.Iterator
            var rest: Int
            let atEnd: @Sendable () async throws -> Void

            mutating func next() async throws -> ArraySlice<UInt8>? {
                guard rest > 0 else {
                    try await atEnd()
                    return nil
                }
                guard let chunk = try await chunks.next()?.prefix(rest) else { return nil }
                rest -= chunk.count
                return chunk
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(chunks: body.makeAsyncIterator(), rest: count, atEnd: atEnd)
        }
    }
}

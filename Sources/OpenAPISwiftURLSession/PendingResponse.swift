import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Passes the events of a session to the responses that they belong to.
final class Delegate: NSObject, URLSessionDataDelegate {
    let responses = Mutex<[Int: PendingResponse]>([:])

    private func pendingResponse(of task: URLSessionTask) -> PendingResponse? {
        responses.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(pendingResponse(of: task)?.redirects == .follow ? request : nil)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        pendingResponse(of: dataTask)?.receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        pendingResponse(of: dataTask)?.receive(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let pending = responses.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        // For a redirect that is not followed, the delegate may not have been called with the response.
        if error == nil, let response = task.response { pending?.receive(response) }
        pending?.end(error)
    }

    #if !canImport(FoundationNetworking)
        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            // A body that can be read only once cannot be sent again after a redirect.
            completionHandler(pendingResponse(of: task)?.bodyAgain())
        }
    #endif
}

/// A request and its response, between a session's delegate and the reader of the body.
final class PendingResponse: Sendable {
    /// The number of unread bytes of a response above which the connection is paused, where the platform can pause it.
    private static let highWater = 1 << 20

    private struct State {
        var response: HTTPURLResponse?
        var chunks: [HTTPBody.ByteChunk] = []
        /// The number of chunks that were read.
        var readCount = 0
        var size = 0
        var isPaused = false
        var isOver = false
        var error: (any Error)?
        /// The continuations that wait for the head and for a chunk.
        var headWaiter: CheckedContinuation<Void, Never>?
        var chunkWaiter: CheckedContinuation<Void, Never>?
        var task: WeakTask?
        #if !canImport(FoundationNetworking)
            var body: UploadStream?
        #endif
    }

    let server: String
    let redirects: URLSessionTransport.Redirects
    /// The number of unread bytes of a response above which it fails, where the connection cannot be paused.
    private let limit: Int
    private let state = Mutex(State())

    init(server: String, redirects: URLSessionTransport.Redirects, limit: Int) {
        self.server = server
        self.redirects = redirects
        self.limit = limit
    }

    var task: WeakTask? {
        get { state.withLock { $0.task } }
        set { state.withLock { $0.task = newValue } }
    }

    #if !canImport(FoundationNetworking)
        var body: UploadStream? {
            get { state.withLock { $0.body } }
            set { state.withLock { $0.body = newValue } }
        }

        func bodyAgain() -> InputStream? {
            guard let again = body?.again() else { return nil }
            body = again
            again.start()
            return again.input
        }
    #endif

    // MARK: - From the session

    func receive(_ response: URLResponse) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.response == nil, let response = response as? HTTPURLResponse else { return nil }
            state.response = response
            return state.headWaiter.take()
        }
        waiter?.resume()
    }

    func receive(_ data: Data) {
        guard !data.isEmpty else { return }
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isOver else { return nil }
            state.chunks.append(ArraySlice(data))
            state.size += data.count
            #if canImport(FoundationNetworking)
                if state.size > limit {
                    state.isOver = true
                    state.error = UnreadResponse(limit: limit)
                }
            #else
                if state.size > Self.highWater, !state.isPaused {
                    state.isPaused = true
                    state.task?.task?.suspend()
                }
            #endif
            return state.chunkWaiter.take()
        }
        waiter?.resume()
        if state.withLock({ $0.error is UnreadResponse }) { task?.task?.cancel() }
    }

    func end(_ error: (any Error)?) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>?] in
            if !state.isOver { state.error = error }
            state.isOver = true
            return [state.headWaiter.take(), state.chunkWaiter.take()]
        }
        for waiter in waiters { waiter?.resume() }
    }

    // MARK: - To the caller

    /// Waits for the head of the response.
    func head(upload: UploadStream?, cancel: () -> Void) async throws -> HTTPURLResponse {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state -> Bool in
                if state.response != nil || state.isOver { return true }
                state.headWaiter = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
        let (response, error) = state.withLock { ($0.response, $0.error) }
        if let error = upload?.error {
            cancel()
            throw error
        }
        if let response, error == nil || !Task.isCancelled { return response }
        try Task.checkCancellation()
        throw TransportError(wrapping: error ?? URLError(.badServerResponse), server: server)
    }

    /// The next bytes of the body; nil at its end.
    func next() async throws -> HTTPBody.ByteChunk? {
        while true {
            let (chunk, isOver, error) = state.withLock { state -> (HTTPBody.ByteChunk?, Bool, (any Error)?) in
                guard state.readCount < state.chunks.count else { return (nil, state.isOver, state.error) }
                let chunk = state.chunks[state.readCount]
                state.chunks[state.readCount] = []
                state.readCount += 1
                if state.readCount == state.chunks.count {
                    state.chunks.removeAll(keepingCapacity: true)
                    state.readCount = 0
                }
                state.size -= chunk.count
                if state.isPaused, state.size <= Self.highWater / 2 {
                    state.isPaused = false
                    state.task?.task?.resume()
                }
                return (chunk, false, nil)
            }
            if let chunk { return chunk }
            if isOver {
                guard let error else { return nil }
                try Task.checkCancellation()
                throw TransportError(wrapping: error, server: server)
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isThere = state.withLock { state -> Bool in
                        if state.readCount < state.chunks.count || state.isOver { return true }
                        state.chunkWaiter = continuation
                        return false
                    }
                    if isThere { continuation.resume() }
                }
            } onCancel: {
                task?.task?.cancel()
            }
        }
    }

    /// Converts a response of URLSession to one of the runtime.
    func response(
        _ urlResponse: HTTPURLResponse,
        to request: HTTPRequest,
        cancel: @escaping @Sendable () -> Void
    ) throws -> (HTTPResponse, HTTPBody?) {
        guard (100...999).contains(urlResponse.statusCode) else {
            throw TransportError(
                code: .connectionLost,
                message: "\(server) responded with \(urlResponse.statusCode), which is not an HTTP status."
            )
        }
        var response = HTTPResponse(status: .init(code: urlResponse.statusCode))
        for (name, value) in urlResponse.allHeaderFields {
            guard let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String else {
                continue
            }
            response.headerFields.append(HTTPField(name: name, value: value))
        }
        guard response.mayHaveBody(toRequest: request) else {
            return (response, nil)
        }
        var length = HTTPBody.Length.unknown
        if response.headerFields[.contentEncoding] == nil, let text = response.headerFields[.contentLength] {
            length = Int64(text).map { .known($0) } ?? .unknown
        }
        return (response, HTTPBody(Chunks(response: self, cancel: cancel), length: length, iterationBehavior: .single))
    }
}

/// The unread bytes of a response exceed the limit.
private struct UnreadResponse: Error {
    var limit: Int
}

/// The chunks of a response. When the iterator is released before the end, the request is cancelled.
private struct Chunks: AsyncSequence, Sendable {
    let response: PendingResponse
    let cancel: @Sendable () -> Void

    final class AsyncIterator: AsyncIteratorProtocol {
        private let chunks: Chunks

        init(_ chunks: Chunks) {
            self.chunks = chunks
        }

        deinit {
            // This has no effect on a task that has ended.
            chunks.cancel()
        }

        func next() async throws -> HTTPBody.ByteChunk? {
            try await chunks.response.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }
}

/// A weak reference to a task, which its session keeps.
struct WeakTask: Sendable {
    private final class Box: Sendable {
        weak let task: URLSessionTask?

        init(_ task: URLSessionTask) {
            self.task = task
        }
    }

    private let box: Box

    init(_ task: URLSessionTask) {
        box = Box(task)
    }

    var task: URLSessionTask? { box.task }
}

extension TransportError {
    /// Creates the error for an error of URLSession.
    init(wrapping error: any Error, server: String) {
        if let error = error as? UnreadResponse {
            self.init(
                code: .connectionLost,
                message: """
                    The response of \(server) was read so slowly that more than \(error.limit) bytes of it waited in memory; raise \
                    maximumBufferedBodySize, or use AsyncHTTPClientTransport, which holds the server back.
                    """
            )
            return
        }
        let (code, message): (Code, String) =
            switch (error as? URLError)?.code {
            case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
                .internationalRoamingOff, .callIsActive, .dataNotAllowed:
                (
                    .connectionFailed,
                    "Could not connect to \(server); see that the server runs there and can be reached from this machine."
                )
            case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
                .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
                .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
                (.connectionFailed, "\(server) accepted the connection but no secure one came about.")
            case .timedOut:
                (.timedOut, "\(server) did not answer within the timeout of the transport.")
            case .badURL, .unsupportedURL:
                (.invalidURL, "The URL of the server is not one to send to.")
            default:
                (.connectionLost, "The connection to \(server) broke before the response was complete.")
            }
        self.init(code: code, message: message, cause: error)
    }
}

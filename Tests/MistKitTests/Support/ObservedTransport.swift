import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Synchronization

/// A transport that counts the requests that it passes on to another one.
final class ObservedTransport: ClientTransport {
    struct Counts: Sendable {
        /// The number of operations under way; an operation ends with its response body.
        var underWay = 0
        /// The largest number of operations that were under way at a time.
        var most = 0
        /// The sizes of the bodies that were sent, in bytes.
        var sizes: [Int] = []
    }

    private let inner: any ClientTransport
    private let state = Mutex(Counts())
    private let awaited: Int

    /// - Parameters:
    ///   - inner: Sends the requests.
    ///   - awaited: The number of requests that have to arrive before the first is sent, so that they overlap on any
    ///     machine.
    init(_ inner: any ClientTransport, holdingUntil awaited: Int = 0) {
        self.inner = inner
        self.awaited = awaited
    }

    var counts: Counts { state.withLock { $0 } }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let bytes = if let body { try await [UInt8](collecting: body, upTo: .max) } else { [UInt8]() }
        state.withLock {
            $0.sizes.append(bytes.count)
            $0.underWay += 1
            $0.most = max($0.most, $0.underWay)
        }
        defer { state.withLock { $0.underWay -= 1 } }
        while counts.most < awaited { await Task.yield() }
        let (response, responseBody) = try await inner.send(
            request,
            body: bytes.isEmpty ? nil : HTTPBody(bytes),
            baseURL: baseURL,
            operationID: operationID
        )
        // Reads the whole body, so that the end of the operation is known.
        guard let responseBody else { return (response, nil) }
        return (response, HTTPBody(try await [UInt8](collecting: responseBody, upTo: .max)))
    }
}

/// Waits for a condition that other tasks are about to fulfil.
func eventually(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Peated

/// What goes wrong with a stub. "Changes" are tastings, toasts and pieces of pictures.
package struct StubFaults: Sendable {
    /// How long each response takes.
    package var delay = Duration.zero
    /// The number of changes that are made, and whose responses are then lost.
    package var lostReplies = 0
    /// The number of changes that get the status 503.
    package var failures = 0
    /// Whether each change arrives twice, as from a proxy that repeats requests.
    package var repeatsChanges = false
    /// Whether no token is renewed.
    package var refusesRenewals = false
    /// How long an access token is valid, in seconds; `nil` for no limit.
    package var tokenLifetime: TimeInterval?

    package init() {}

    /// What goes wrong with one request.
    struct Next {
        var delay: Duration
        var fails = false
        var isLost = false
        var isRepeated = false
    }

    private static let changes = [
        Operations.AddTasting.id, Operations.AddToast.id, Operations.RemoveToast.id, Operations.ContinueUpload.id,
    ]

    mutating func next(of operation: String) -> Next {
        var next = Next(delay: delay)
        guard Self.changes.contains(operation) else { return next }
        next.isRepeated = repeatsChanges
        if failures > 0 {
            failures -= 1
            next.fails = true
        } else if lostReplies > 0 {
            lostReplies -= 1
            next.isLost = true
        }
        return next
    }
}

/// Lets things go wrong on the way to the stub and back.
struct FaultMiddleware: ServerMiddleware {
    let stub: PeatedStub

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let fault = await stub.nextFault(of: operationID)
        if fault.delay > .zero { try await Task.sleep(for: fault.delay) }
        if fault.fails {
            await stub.note("\(operationID) 503")
            return (HTTPResponse(status: .serviceUnavailable), nil)
        }
        var body = body
        if fault.isRepeated, let single = body {
            let bytes = try await Data(collecting: single, upTo: StubState.largestImage)
            body = HTTPBody(bytes)
            _ = try await next(request, body, metadata)
        }
        let (response, responseBody) = try await next(request, body, metadata)
        guard fault.isLost else {
            await stub.note("\(operationID) \(response.status.code)")
            return (response, responseBody)
        }
        await stub.note("\(operationID) lost")
        // The connection breaks in the middle of the body.
        let broken = AsyncThrowingStream<ArraySlice<UInt8>, any Error> { continuation in
            continuation.yield([UInt8(ascii: "{")])
            continuation.finish(throwing: TransportError(code: .connectionLost, message: "The response is lost."))
        }
        return (response, HTTPBody(broken, length: .known(1000)))
    }
}

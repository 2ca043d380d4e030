import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks the web courier for pushes. The courier holds each request until there is a push.
///
/// Requests to the courier have no credentials: the address is enough. So the address is a secret, and no log line
/// contains it.
struct CourierClient: Sendable {
    static let operation = "pollCourier"

    private let transport: any ClientTransport
    private let retrier: Retrier

    init(_ service: CloudKitService) {
        transport = service.connection.pipeline.transport
        retrier = service.retrier.withoutThrottle
    }

    /// Waits for a push.
    ///
    /// - Returns: The push; `nil` when the courier only kept the connection alive.
    func poll(_ token: DeviceToken) async throws(CloudKitError) -> PushPayload? {
        guard let url = token.courierURL, let host = url.host(), let scheme = url.scheme,
            let server = URL(string: "\(scheme)://\(host)\(url.port.map { ":\($0)" } ?? "")")
        else {
            throw .invalidArgument("This push token has no courier's address to wait at: its pushes go to a device.")
        }
        let path = url.path(percentEncoded: true)
        let target = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
        let bytes: [UInt8]
        do throws(FailedAttempt) {
            (_, bytes) = try await transport.collectResponse(
                to: HTTPRequest(method: .get, scheme: nil, authority: nil, path: target),
                nil,
                server,
                operation: Self.operation
            )
        } catch {
            let failure = error.error
            retrier.logger.debug("CloudKit's courier failed", metadata: ["code": "\(failure.code)"])
            throw failure
        }
        retrier.logger.debug("CloudKit's courier answered", metadata: ["bytes": "\(bytes.count)"])
        guard bytes.contains(where: { !" \r\n\t".utf8.contains($0) }) else { return nil }
        do {
            return try JSONReader.read(PushPayload.self, from: bytes)
        } catch {
            throw CloudKitError(error, operation: Self.operation)
        }
    }

    /// Starts to count the failures in a row.
    func beginFailures() -> RetryBudget { retrier.begin(measuring: .pauses) }

    /// Counts a failure, and waits before another request.
    ///
    /// - Throws: The error, when too many failed in a row.
    func waitForAnotherAttempt(after error: CloudKitError, _ failures: RetryBudget) async throws(CloudKitError) {
        failures.addFailure()
        try await retrier.waitForAnotherAttempt(after: error, within: failures, .poll)
    }

    /// Waits before the next request after an empty response, because a courier may send empty responses without a
    /// delay.
    func pauseAfterNothing() async throws(CloudKitError) {
        // CloudKit JS waits for the same time.
        try await retrier.pause(.milliseconds(10), operation: Self.operation)
    }

    /// Whether the courier does not know the token, or does not know it any more.
    static func isUnknownToken(_ error: CloudKitError) -> Bool {
        switch error.httpStatus?.code {
        case 401, 403, 404, 410: true
        default: false
        }
    }

    /// Whether the transport's timeout ended the request. That is not a failure, since the request is meant to wait.
    static func isTimeout(_ error: CloudKitError) -> Bool {
        error.code == .network && (error.cause as? TransportError)?.code == .timedOut
    }
}

import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks the web courier for pushes: one request, which the courier holds until there is one.
///
/// The address is all that the courier wants to know; no credentials are sent there. It is a secret, so no log line has it.
struct Courier: Sendable {
    static let operation = "pollCourier"

    /// CloudKit JS waits as long before it asks again.
    static let pauseAfterNothing = Duration.milliseconds(10)

    private let transport: any ClientTransport
    private let retrier: Retrier

    init(_ service: CloudKitService) {
        transport = service.transport
        retrier = service.retrier
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
        do {
            let (_, body) = try await FailureMiddleware().intercept(
                HTTPRequest(method: .get, scheme: nil, authority: nil, path: target),
                body: nil,
                baseURL: server,
                operationID: Self.operation
            ) { [transport] request, body, baseURL in
                try await transport.send(request, body: body, baseURL: baseURL, operationID: Self.operation)
            }
            bytes = body?.bufferedBytes.map(Array.init) ?? []
        } catch {
            let failure = CloudKitError(error, operation: Self.operation)
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

    /// How long to wait after failures in a row; `nil` to give up. The brake is for the service: the courier is another host.
    func delay(afterFailure failures: Int, _ error: CloudKitError, waited: Duration) -> Duration? {
        // What is no push may be a proxy's page, and gone the next time.
        guard failures < retrier.policy.maximumAttempts, error.code == .decoding || error.fate != .final else {
            return nil
        }
        let backoff = retrier.policy.backoff(afterAttempt: failures, random: retrier.random())
        let delay = (error.retryAfter ?? .zero) + backoff
        return waited + delay <= retrier.policy.deadline ? delay : nil
    }

    func pause(_ duration: Duration) async throws(CloudKitError) {
        do {
            try await retrier.clock.sleep(for: duration)
        } catch {
            throw .cancelled(operation: Self.operation)
        }
    }

    /// Whether the courier does not know the token, or knows it no more.
    static func isUnknownToken(_ error: CloudKitError) -> Bool {
        switch error.httpStatus?.code {
        case 401, 403, 404, 410: true
        default: false
        }
    }

    /// Whether nothing came for as long as the transport waits: no failure of a request that is meant to wait.
    static func isTimeout(_ error: CloudKitError) -> Bool {
        error.code == .network && (error.cause as? TransportError)?.code == .timedOut
    }
}

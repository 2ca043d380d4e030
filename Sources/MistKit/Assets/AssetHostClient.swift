import HTTPTypes
import Logging
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends requests to the asset host, which stores the files.
///
/// These requests are separate from other requests. The asset host needs its own connections: it shares IP addresses
/// and certificates with the service, and answers 421 on a connection that was made for the service. The URLs of files
/// are secrets and work without credentials. So no middleware sees the requests, a log shows only the host of a URL,
/// and bodies are not collected.
struct AssetHostClient: Sendable {
    let transport: any ClientTransport
    /// Decides when a failed transfer continues.
    let retrier: Retrier

    /// An address of the host, in the two parts that a transport takes. It is not changed, because it is signed.
    struct Address: Sendable {
        let server: URL
        let target: String

        /// Splits an address. The placeholder for a file name is sent percent-encoded, which was observed to work.
        init?(_ text: String) {
            guard let scheme = text.firstRange(of: "://") else { return nil }
            let end = text[scheme.upperBound...].firstIndex { $0 == "/" || $0 == "?" } ?? text.endIndex
            guard ["http", "https"].contains(text[..<scheme.lowerBound].lowercased()),
                let server = URL(string: String(text[..<end])), server.host() != nil
            else { return nil }
            self.server = server
            let target = String(text[end...]).replacing("${f}", with: "$%7Bf%7D")
            self.target = target.hasPrefix("/") ? target : "/" + target
        }
    }

    /// Sends one request.
    ///
    /// - Returns: The successful response, and its body as it arrives.
    /// - Throws: A ``CloudKitError``; for an expired address its code is `assetAddressExpired`.
    func send(
        _ method: HTTPRequest.Method,
        to address: Address,
        headerFields: HTTPFields,
        body: HTTPBody? = nil,
        operation: String
    ) async throws(CloudKitError) -> (HTTPResponse, HTTPBody?) {
        let request = HTTPRequest(
            method: method,
            scheme: nil,
            authority: nil,
            path: address.target,
            headerFields: headerFields
        )
        let response: HTTPResponse
        let responseBody: HTTPBody?
        do {
            (response, responseBody) = try await transport.send(
                request,
                body: body,
                baseURL: address.server,
                operationID: operation
            )
        } catch {
            let failure = CloudKitError.transport(error, operation: operation)
            log(operation, address, "\(failure.code)")
            throw failure
        }
        log(operation, address, "\(response.status.code)")
        guard response.status.kind == .successful else { throw .assetHost(response, operation: operation) }
        return (response, responseBody)
    }

    private func log(_ operation: String, _ address: Address, _ outcome: String) {
        retrier.logger.debug(
            "Asset host answered",
            metadata: [
                "operation": "\(operation)", "host": "\(address.server.host() ?? "")", "outcome": "\(outcome)",
            ]
        )
    }

    /// Starts to count the failures of a transfer. The count starts again whenever the transfer makes progress.
    func beginFailures() -> RetryBudget { retrier.begin(measuring: .sinceFirstFailure) }

    /// Counts a failure, and waits before another attempt.
    ///
    /// - Throws: The error, when there is no other attempt.
    func waitForAnotherAttempt(after error: CloudKitError, _ failures: RetryBudget) async throws(CloudKitError) {
        failures.addFailure()
        try await retrier.waitForAnotherAttempt(after: error, within: failures, .transfer)
    }
}

extension CloudKitError {
    /// A refusal of the asset host: only an HTTP status. No status is about signing in.
    fileprivate static func assetHost(_ response: HTTPResponse, operation: String) -> CloudKitError {
        let status = response.status.code
        var error =
            switch status {
            case 403, 404, 410:
                CloudKitError(
                    code: .assetAddressExpired,
                    message: """
                        The address of the file is no longer good, or the file is gone. Fetch the record again: it has a new \
                        address, good for about an hour. An address to upload to is good for 15 minutes and one file.
                        """
                )
            case 413:
                CloudKitError(
                    code: .limitExceeded,
                    message:
                        "The file is longer than the asset host takes. Apple's pages name 15 MB and 50 MB as the limit."
                )
            case 421:
                CloudKitError(
                    code: .misdirectedRequest,
                    message: """
                        The asset host says that this connection is not for it. It shares addresses with the service, and needs \
                        connections of its own: give the service an assetTransport that nothing else uses. This is not about \
                        signing in.
                        """
                )
            case 429:
                CloudKitError(
                    code: .throttled,
                    message: "Too many requests to the asset host. Transfer fewer files at a time."
                )
            case 408, 500...599:
                CloudKitError(code: .serviceUnavailable, message: "The asset host is not available. Try again later.")
            default:
                CloudKitError(
                    code: .unexpectedResponse,
                    message:
                        "The response is not one of the asset host. It may come from a proxy or a sign-in page of this network."
                )
            }
        error.httpStatus = response.status
        error.operation = operation
        error.retryAfter = Duration(retryAfter: response.headerFields)
        return error
    }
}

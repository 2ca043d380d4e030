import HTTPTypes
import Logging
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One line for each attempt and one for its end.
///
/// It writes only what it lists here. The query and the header fields are never among it, as credentials are in them,
/// nor are bodies, as people's data is in them: there is nothing to switch off.
struct LoggingMiddleware: ClientMiddleware {
    let logger: Logger
    let clock: any Clock<Duration>

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        guard logger.logLevel <= .debug else { return try await next(request, body, baseURL) }
        logger.trace(
            "CloudKit request",
            metadata: [
                "operation": "\(operationID)",
                "attempt": "\(Attempts.current?.number ?? 1)",
                "method": "\(request.method)",
                "path": "\(request.path?.prefix { $0 != "?" } ?? "")",
                "host": "\(baseURL.host() ?? "")",
                "bytes": "\(Self.size(of: body))",
            ]
        )
        let stopwatch = clock.stopwatch()
        do {
            let (response, responseBody) = try await next(request, body, baseURL)
            log(operationID, response.status, nil, response.headerFields[.requestUUID], stopwatch(), responseBody)
            return (response, responseBody)
        } catch {
            let failure = CloudKitError(error, operation: operationID)
            log(operationID, failure.httpStatus, failure.code, failure.requestUUID, stopwatch(), nil)
            throw error
        }
    }

    private func log(
        _ operationID: String,
        _ status: HTTPResponse.Status?,
        _ code: CloudKitError.Code?,
        _ uuid: String?,
        _ duration: Duration,
        _ body: HTTPBody?
    ) {
        var metadata: Logger.Metadata = [
            "operation": "\(operationID)",
            "attempt": "\(Attempts.current?.number ?? 1)",
            "duration": "\(duration.inSeconds)",
        ]
        if let status { metadata["status"] = "\(status.code)" }
        // These two are the server's texts, and a server can repeat what it was sent.
        if let code { metadata["code"] = "\(Redactor.current.redact(code.description))" }
        if let uuid { metadata["request"] = "\(Redactor.current.redact(uuid))" }
        if let body { metadata["bytes"] = "\(Self.size(of: body))" }
        logger.debug(code == nil ? "CloudKit answered" : "CloudKit request failed", metadata: metadata)
    }

    private static func size(of body: HTTPBody?) -> String {
        switch body?.length {
        case .known(let count): "\(count)"
        case .unknown: "unknown"
        case nil: "0"
        }
    }
}

import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloudKitService {
    /// The same service for a caller with its own retries: each request is sent once, and does not wait for the
    /// throttle.
    ///
    /// - Parameter noteDate: Gets the header field `Date` of each response, also of a failure, in seconds since 1970.
    /// - Returns: The service.
    package func withoutRepetition(noteDate: @escaping @Sendable (Int) -> Void) -> CloudKitService {
        var service = self
        service.connection = connection.withoutRepetition(noteDate: noteDate)
        return service
    }
}

/// Notes the time at which the service has sent each response.
struct DateNotingTransport: ClientTransport {
    let transport: any ClientTransport
    let noteDate: @Sendable (Int) -> Void

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let reply = try await transport.send(request, body: body, baseURL: baseURL, operationID: operationID)
        if let seconds = reply.0.headerFields[.date].flatMap(secondsOfHTTPDate) { noteDate(seconds) }
        return reply
    }
}

extension CloudKitService {
    /// A number that changes with each sign-in and sign-out, as ``TokenManager/signIns``.
    package var signIns: UInt64 { connection.pipeline.tokenManager.signIns }
}

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

    /// The same service for one session.
    ///
    /// - Parameter session: The session for which requests are sent: ``signIns``. A request that would get the credentials
    ///   of another session is not sent, and fails with ``CloudKitError/Code-swift.struct/cancelled``.
    /// - Returns: The service.
    package func inSession(_ session: UInt64) -> CloudKitService {
        var service = self
        service.connection = connection.inSession(session)
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

/// Gives requests the credentials of one session, and no others.
struct SessionTokenManager: TokenManager {
    let manager: any TokenManager
    /// The session: ``TokenManager/signIns`` when the request was decided on.
    let session: UInt64

    func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        try await manager.authenticate(&request)
        // The number only grows, so the credentials are those of the session if it has not changed until now.
        guard manager.signIns != session else { return }
        let error = CloudKitError(
            code: .cancelled,
            message: "Another user may have signed in before the request was sent. It was not sent."
        )
        // The manager releases what it has reserved for the request.
        _ = try? await manager.recover(from: error, request: request)
        throw error
    }

    func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {
        await manager.didReceive(response, to: request)
    }

    var sendsOneAtATime: Bool { manager.sendsOneAtATime }
    var signIns: UInt64 { manager.signIns }

    func recover(from error: CloudKitError, request: OutgoingRequest) async throws(CloudKitError) -> Bool {
        try await manager.recover(from: error, request: request)
    }
}

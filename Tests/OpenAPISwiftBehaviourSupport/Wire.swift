package import HTTPTypes
package import OpenAPISwiftRuntime
import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A transport that keeps the last request and always responds with the same response.
package final class Wire: ClientTransport {
    private let response: HTTPResponse
    private let body: HTTPBody?
    private let sent = Mutex<Message?>(nil)

    package init(_ status: Int = 204, _ fields: HTTPFields = [:], _ body: HTTPBody? = nil) {
        response = HTTPResponse(status: .init(code: status), headerFields: fields)
        self.body = body
    }

    /// A response with a JSON body.
    package convenience init(_ status: Int = 200, json: String) {
        self.init(status, [.contentType: "application/json"], HTTPBody(json))
    }

    package func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let message = try await Message(
            start: "\(request.method) \(request.path ?? "")",
            request.headerFields,
            body
        )
        sent.withLock { $0 = message }
        return (response, self.body)
    }

    /// The last request.
    package var request: Message {
        get throws {
            guard let message = sent.withLock({ $0 }) else { throw Missing(what: "a request") }
            return message
        }
    }

    /// Whether nothing was sent.
    package var isSilent: Bool { sent.withLock { $0 == nil } }

    /// The path and query of the last request.
    package var target: String {
        get throws { try String(request.start.drop { $0 != " " }.dropFirst()) }
    }
}

/// Responds to one request in its HTTP form, with the handlers that a closure registers.
package func answer(
    _ method: HTTPRequest.Method,
    _ target: String,
    _ fields: HTTPFields,
    _ body: HTTPBody?,
    register: (InProcessTransport) throws -> Void
) async throws -> Message {
    let transport = InProcessTransport()
    try register(transport)
    let (response, body) = try await transport.send(
        HTTPRequest(method: method, scheme: nil, authority: nil, path: target, headerFields: fields),
        body: body,
        baseURL: .defaultOpenAPIServerURL,
        operationID: ""
    )
    return try await Message(start: String(response.status.code), response.headerFields, body)
}

/// Keeps the input of a handler.
package final class Kept<Input: Sendable>: Sendable {
    private let input = Mutex<Input?>(nil)

    package init() {}

    package var value: Input? {
        get { input.withLock { $0 } }
        set { input.withLock { $0 = newValue } }
    }
}

extension Date {
    /// 14 November 2023, 22:13:20 UTC.
    package static let november = Date(timeIntervalSince1970: 1_700_000_000)
}

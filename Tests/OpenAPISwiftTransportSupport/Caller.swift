package import Foundation
package import HTTPTypes
package import OpenAPISwiftRuntime

/// Sends requests to a server.
package struct Caller: Sendable {
    package var transport: any ClientTransport
    package var baseURL: URL

    package init(transport: any ClientTransport, baseURL: URL) {
        self.transport = transport
        self.baseURL = baseURL
    }

    package func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        fields: HTTPFields = [:],
        body: HTTPBody? = nil
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
        return try await transport.send(request, body: body, baseURL: baseURL, operationID: "test")
    }

    /// Sends a request and reads the whole response.
    package func answer(
        _ method: HTTPRequest.Method,
        _ path: String,
        fields: HTTPFields = [:],
        body: HTTPBody? = nil
    ) async throws -> Answer {
        let (response, body) = try await send(method, path, fields: fields, body: body)
        let text: String? = if let body { try await String(collecting: body, upTo: 1 << 20) } else { nil }
        return Answer(status: response.status.code, text: text, fields: response.headerFields)
    }
}

/// A response and its whole body.
package struct Answer: Equatable {
    package var status: Int
    package var text: String?
    package var fields: HTTPFields

    /// Status and body, for tests that do not compare header fields.
    package var summary: String { text.map { "\(status) \($0)" } ?? "\(status)" }
}

import Foundation
import HTTPTypes
import OpenAPISwiftRuntime

/// Responds to every request with the same JSON.
struct FixedReply: ClientTransport {
    static let requestUUID = "uuid-1"

    let body: [UInt8]

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let fields: HTTPFields = [.contentType: "application/json", .requestUUID: Self.requestUUID]
        return (HTTPResponse(status: .ok, headerFields: fields), HTTPBody(self.body))
    }
}

extension HTTPField.Name {
    fileprivate static let requestUUID = Self("X-Apple-Request-UUID")!
}

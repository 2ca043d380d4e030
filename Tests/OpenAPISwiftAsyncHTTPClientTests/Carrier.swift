import Foundation
import HTTPTypes
import Hummingbird
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Testing

/// The ways from a client to handlers: in the same process, over a socket, and over one whose end cancels handlers.
enum Carrier: CaseIterable, CustomTestStringConvertible {
    case inProcess
    case socket
    case watchedSocket

    var testDescription: String {
        switch self {
        case .inProcess: "in the same process"
        case .socket: "over a socket"
        case .watchedSocket: "over a socket that is watched"
        }
    }

    /// Registers handlers, starts to serve them, and stops when the closure returns.
    func withServer<Result>(
        path: String = "",
        handlers: (any ServerTransport) throws -> Void,
        _ body: (Caller) async throws -> Result
    ) async throws -> Result {
        switch self {
        case .inProcess:
            let transport = InProcessTransport()
            try handlers(transport)
            let url = try #require(URL(string: "http://server.test\(path)"))
            return try await body(Caller(transport: transport, baseURL: url))
        case .socket:
            return try await withServer(on: Router(), path: path, handlers: handlers, body)
        case .watchedSocket:
            return try await withServer(
                on: Router(context: OperationRequestContext.self),
                path: path,
                handlers: handlers,
                body
            )
        }
    }

    private func withServer<Context: RequestContext, Result>(
        on router: Router<Context>,
        path: String,
        handlers: (any ServerTransport) throws -> Void,
        _ body: (Caller) async throws -> Result
    ) async throws -> Result where Context.Source == ApplicationRequestContextSource {
        try handlers(HummingbirdTransport(router))
        return try await withRunningServer(of: router) { url in
            let url = try #require(URL(string: "\(url.absoluteString)\(path)"))
            return try await body(Caller(transport: AsyncHTTPClientTransport(), baseURL: url))
        }
    }
}

/// Sends requests to a server.
struct Caller: Sendable {

    var transport: any ClientTransport
    var baseURL: URL

    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        fields: HTTPFields = [:],
        body: HTTPBody? = nil
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
        return try await transport.send(request, body: body, baseURL: baseURL, operationID: "test")
    }

    /// Sends a request and reads the whole response.
    func answer(
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
struct Answer: Equatable {

    var status: Int
    var text: String?
    var fields: HTTPFields

    /// Status and body, where fields do not matter.
    var summary: String { text.map { "\(status) \($0)" } ?? "\(status)" }
}

extension HTTPField.Name {
    static var many: Self { HTTPField.Name("x-many")! }
}

import Foundation
import HTTPTypes
import Hummingbird
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import OpenAPISwiftTransportSupport
import Testing

/// The connections from a client to handlers: in the same process, over a socket, and over a socket whose end cancels
/// handlers.
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
        return try await withRunningServer(of: router, limits: ServerLimits(shutdownTimeout: .zero)) { url in
            let url = try #require(URL(string: "\(url.absoluteString)\(path)"))
            return try await body(Caller(transport: AsyncHTTPClientTransport(), baseURL: url))
        }
    }
}

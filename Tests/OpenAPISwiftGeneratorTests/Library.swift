import HTTPTypes
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An implementation of the generated API. A test sets the operations that it expects; all others throw an error.
struct Library: APIProtocol {
    var list: @Sendable (Operations.ListBooks.Input) async throws -> Operations.ListBooks.Output = { _ in
        throw UnexpectedCall()
    }
    var add: @Sendable (Operations.AddBook.Input) async throws -> Operations.AddBook.Output = { _ in
        throw UnexpectedCall()
    }
    var read: @Sendable (Operations.ReadPage.Input) async throws -> Operations.ReadPage.Output = { _ in
        throw UnexpectedCall()
    }
    var write: @Sendable (Operations.WritePage.Input) async throws -> Operations.WritePage.Output = { _ in
        throw UnexpectedCall()
    }
    var find: @Sendable (Operations.locate.Input) async throws -> Operations.locate.Output = { _ in
        throw UnexpectedCall()
    }
    var enrol: @Sendable (Operations.Enrol.Input) async throws -> Operations.Enrol.Output = { _ in
        throw UnexpectedCall()
    }
    var sendCover: @Sendable (Operations.SendCover.Input) async throws -> Operations.SendCover.Output = { _ in
        throw UnexpectedCall()
    }
    var fillShelf: @Sendable (Operations.FillShelf.Input) async throws -> Operations.FillShelf.Output = { _ in
        throw UnexpectedCall()
    }
    var search: @Sendable (Operations.Search.Input) async throws -> Operations.Search.Output = { _ in
        throw UnexpectedCall()
    }

    struct UnexpectedCall: Error {}

    func listBooks(_ input: Operations.ListBooks.Input) async throws -> Operations.ListBooks.Output {
        try await list(input)
    }

    func addBook(_ input: Operations.AddBook.Input) async throws -> Operations.AddBook.Output {
        try await add(input)
    }

    func readPage(_ input: Operations.ReadPage.Input) async throws -> Operations.ReadPage.Output {
        try await read(input)
    }

    func writePage(_ input: Operations.WritePage.Input) async throws -> Operations.WritePage.Output {
        try await write(input)
    }

    func removePage(_ input: Operations.RemovePage.Input) async throws -> Operations.RemovePage.Output {
        .noContent
    }

    func locate(_ input: Operations.locate.Input) async throws -> Operations.locate.Output {
        try await find(input)
    }

    func enrol(_ input: Operations.Enrol.Input) async throws -> Operations.Enrol.Output {
        try await enrol(input)
    }

    func search(_ input: Operations.Search.Input) async throws -> Operations.Search.Output {
        try await search(input)
    }

    func sendCover(_ input: Operations.SendCover.Input) async throws -> Operations.SendCover.Output {
        try await sendCover(input)
    }

    func fillShelf(_ input: Operations.FillShelf.Input) async throws -> Operations.FillShelf.Output {
        try await fillShelf(input)
    }

    /// A client that calls this implementation in the same process.
    func client(
        configuration: Configuration = .init(),
        middlewares: [any ClientMiddleware] = [],
        serverMiddlewares: [any ServerMiddleware] = [ErrorHandlingMiddleware()]
    ) throws -> Client {
        let transport = InProcessTransport()
        let url: URL = try Servers.Server1.url()
        try registerHandlers(
            on: transport,
            serverURL: url,
            configuration: configuration,
            middlewares: serverMiddlewares
        )
        return Client(
            serverURL: url,
            configuration: configuration,
            transport: transport,
            middlewares: middlewares
        )
    }
}

/// A transport that always responds with one response, and keeps the request.
actor CannedTransport: ClientTransport {
    private let response: HTTPResponse
    private let body: HTTPBody?
    private(set) var request: HTTPRequest?
    private(set) var requestBody: String?

    init(status: Int, headerFields: HTTPFields = [:], body: HTTPBody? = nil) {
        response = HTTPResponse(status: .init(code: status), headerFields: headerFields)
        self.body = body
    }

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        self.request = request
        if let body { requestBody = try await String(collecting: body, upTo: 1 << 20) }
        return (response, self.body)
    }

    nonisolated func client() throws -> Client {
        Client(serverURL: try Servers.Server1.url(), transport: self)
    }
}

/// A server transport that keeps handlers by method and path, for requests that no client would send.
final class RawTransport: ServerTransport {
    nonisolated(unsafe) private var handlers: [String: ServerTransport.Handler] = [:]

    func register(_ handler: @escaping ServerTransport.Handler, method: HTTPRequest.Method, path: String) throws {
        handlers["\(method.rawValue) \(path)"] = handler
    }

    var routes: [String] { handlers.keys.sorted() }

    func send(
        _ method: HTTPRequest.Method,
        _ route: String,
        path: String? = nil,
        headerFields: HTTPFields = [:],
        body: HTTPBody? = nil,
        parameters: [String: Substring] = [:]
    ) async throws -> (HTTPResponse, String?) {
        let handler: ServerTransport.Handler = try #require(handlers["\(method.rawValue) \(route)"])
        let request = HTTPRequest(
            method: method,
            scheme: nil,
            authority: nil,
            path: path ?? route,
            headerFields: headerFields
        )
        let (response, body) = try await handler(request, body, ServerRequestMetadata(pathParameters: parameters))
        guard let body else { return (response, nil) }
        return (response, try await String(collecting: body, upTo: 1 << 20))
    }
}

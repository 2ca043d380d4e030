import Foundation
import HTTPTypes
import Hummingbird
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests with Foundation's URLSession.
struct URLSessionTransport: ClientTransport {
    var session: URLSession = .shared

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        // The path of the server's URL comes before that of the operation, both percent-encoded as they are.
        var path = baseURL.path(percentEncoded: true)
        if path.hasSuffix("/") { path.removeLast() }
        guard let url = URL(string: path + (request.path ?? ""), relativeTo: baseURL) else {
            throw TransportError(code: .invalidURL, message: "\(baseURL) is not the address of a server.")
        }
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = request.method.rawValue
        for field in request.headerFields {
            urlRequest.addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
        if let body { urlRequest.httpBody = try await Data(collecting: body, upTo: 100_000_000) }

        let (data, urlResponse) = try await session.data(for: urlRequest)
        guard let httpResponse = urlResponse as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        var fields = HTTPFields()
        for (name, value) in httpResponse.allHeaderFields {
            if let name = HTTPField.Name("\(name)") { fields[name] = "\(value)" }
        }
        let response = HTTPResponse(status: .init(code: httpResponse.statusCode), headerFields: fields)
        return (response, data.isEmpty ? nil : HTTPBody(data))
    }
}

/// Answers every request by one closure.
struct Reply: ClientTransport {
    var answer: @Sendable (HTTPRequest) async throws -> (HTTPResponse, HTTPBody?)

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await answer(request)
    }
}

/// Lists the operations of a service instead of serving them.
final class RouteList: ServerTransport {
    private(set) var routes: [String] = []

    func register(_ handler: @escaping Handler, method: HTTPRequest.Method, path: String) throws {
        routes.append("\(method) \(path)")
    }
}

@Suite(.serialized)
struct TransportTests {
    @Test func requestsGoThroughASocket() async throws {
        let router = Router()
        let server = HummingbirdTransport(router)
        try Observatory().registerHandlers(on: server, serverURL: URL(string: "/v1") ?? .defaultOpenAPIServerURL)
        try await withRunningServer(of: router) { url in
            let serverURL = url.appending(path: "v1")
            let clients = [
                Client(serverURL: serverURL, transport: URLSessionTransport()),
                Client(serverURL: serverURL, transport: AsyncHTTPClientTransport()),
            ]
            for (index, client) in clients.enumerated() {
                var sighting = Components.Schemas.Sighting.wren
                sighting.id = "pond/\(index)"
                _ = try await client.addSighting(body: .json(sighting)).created
                #expect(try await client.getSighting(path: .init(id: sighting.id)).ok.body.json == sighting)
            }
        }
    }

    @Test func transportsAreTold() throws {
        let list = RouteList()
        try Observatory().registerHandlers(on: list, serverURL: URL(string: "/v1") ?? .defaultOpenAPIServerURL)
        #expect(list.routes.contains("GET /v1/sightings/{id}"))
    }

    private func configured() throws {
        let transport = AsyncHTTPClientTransport(configuration: .init(timeout: .seconds(20)))
        let client = Client(serverURL: try Servers.Server1.url(), transport: transport)
        _ = client
    }
}

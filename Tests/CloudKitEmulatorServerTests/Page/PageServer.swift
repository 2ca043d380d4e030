import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import Foundation
import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

@testable import CloudKitEmulatorServer

/// An emulator's server with an administration and a page, and a browser that has opened the printed address.
struct PageServer {
    static let container = "iCloud.com.example.app"
    static let address = "http://127.0.0.1:8181"
    /// The body of a request that creates the note `n`.
    static let create =
        #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"n","fields":{"title":{"value":"Milk"}}}}]}"#
    let server: CloudKitEmulatorServer
    let emulator: CloudKitEmulator
    let user: String
    let access: PageAccess
    /// The value of the field `Cookie` of the browser.
    private(set) var cookie = ""

    init(
        password: String? = nil,
        isReadOnly: Bool = false,
        storage: EmulatorStorage = .memory,
        _ change: (inout CloudKitEmulatorServer.Configuration) -> Void = { _ in }
    ) async throws {
        emulator = try CloudKitEmulator(storage: storage)
        user = try emulator.createUser()
        access = PageAccess(password: password)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = CloudKitEmulatorServer.Configuration(logger: logger)
        configuration.administration = .init(container: Self.container, version: "1.2.3")
        configuration.page = .init(
            files: PageFiles(["index.html": "<!doctype html>", "records/table.js": "export {}", "style.css": ""]),
            access: access,
            isReadOnly: isReadOnly,
            profileUser: user
        )
        change(&configuration)
        server = try CloudKitEmulatorServer(emulator, configuration: configuration)
        guard password == nil else { return }
        let secret = access.secret.revealDigits()
        let opened = try await send(.get, "/?secret=\(secret)&x=1", page: nil)
        #expect(opened.status == .seeOther && opened.headerFields[.location] == "/?x=1")
        cookie = try #require(opened.headerFields[.setCookie]?.split(separator: ";").first.map(String.init))
    }

    /// The fields of a request of the page itself.
    var ownPage: HTTPFields { [.cookie: cookie, .origin: Self.address, .secFetchSite: "same-origin"] }

    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String? = nil,
        type: String = "application/json",
        page: HTTPFields?,
        as identity: String? = nil
    ) async throws -> PageReply {
        var request = HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:8181", path: path)
        request.headerFields = page ?? [:]
        if body != nil { request.headerFields[.contentType] = type }
        request.headerFields[.actAs] = identity
        let (response, reply) = try await server.respond(to: request, body: body.map { HTTPBody($0) })
        let bytes = if let reply { try await [UInt8](collecting: reply, upTo: .max) } else { [] as [UInt8] }
        return PageReply(status: response.status, headerFields: response.headerFields, bytes: bytes)
    }

    /// Asks the administration as the page.
    func administer(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String? = nil,
        type: String = "application/json"
    ) async throws -> PageReply {
        try await send(method, "/_emulator" + path, body, type: type, page: ownPage)
    }

    /// Asks CloudKit Web Services as the page.
    func ask(
        _ endpoint: String,
        in scope: DatabaseScope = .private,
        environment: ContainerEnvironment = .development,
        as identity: String = "user",
        _ body: String = "{}"
    ) async throws -> PageReply {
        let path = "/database/1/\(Self.container)/\(environment.rawValue)/\(scope.rawValue)/\(endpoint)"
        return try await send(.post, path, body, page: ownPage, as: identity)
    }

    /// The latest request of the log with its bodies.
    func latestRequest() async throws -> Components.Schemas.LoggedRequest {
        let list = try await administer(.get, "/requests?limit=1")
        let number = try #require(list.json["requests"]?[0]?["number"]?.int64Value)
        return try await administer(.get, "/requests/\(number)").read(Components.Schemas.LoggedRequest.self)
    }
}

/// A response with its bytes.
struct PageReply {
    var status: HTTPResponse.Status
    var headerFields: HTTPFields
    var bytes: [UInt8]

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var json: JSONValue { (try? JSONReader.read(JSONValue.self, from: bytes)) ?? .null }

    func read<Value: JSONReadable>(_ type: Value.Type) throws -> Value {
        try JSONReader.read(type, from: bytes)
    }
}

import CloudKitEmulatorAdministration
import CloudKitModel
import CloudKitSchema
import Foundation
import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

@testable import CloudKitEmulator
@testable import CloudKitEmulatorServer

/// The administration of an emulator, over HTTP and through the generated client.
struct AdministrationTests {
    private typealias Server = CloudKitEmulatorServer
    private static let container = "iCloud.com.example.app"

    /// In milliseconds since 1970.
    private let beforeTheStart: Int64 = Self.now
    private let server: Server
    private let secret: String

    /// The present time in milliseconds since 1970.
    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    init() throws {
        server = try Self.server()
        secret = try #require(server.configuration.administration).secret.revealDigits()
    }

    private static func server(
        keptRequests: Int = 1000,
        _ change: (inout Server.Configuration) throws -> Void = { _ in }
    ) throws -> Server {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = Server.Configuration(logger: logger)
        configuration.administration = .init(container: container, version: "1.2.3", keptRequests: keptRequests)
        try change(&configuration)
        return try Server(CloudKitEmulator(), configuration: configuration)
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        to server: Server? = nil,
        authorization: String?,
        _ headerFields: HTTPFields = [:],
        _ text: String? = nil
    ) async throws -> RawResponse {
        var request = HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:8181", path: path)
        request.headerFields = headerFields
        request.headerFields[.authorization] = authorization
        let (response, body) = try await (server ?? self.server).respond(to: request, body: text.map { HTTPBody($0) })
        let bytes = if let body { try await [UInt8](collecting: body, upTo: .max) } else { [] as [UInt8] }
        return RawResponse(status: response.status, headerFields: response.headerFields, body: bytes)
    }

    private func problem(of response: RawResponse) throws -> Components.Schemas.Problem {
        try JSONReader.read(Components.Schemas.Problem.self, from: response.body)
    }

    // MARK: Access

    @Test func nothingIsAnsweredWithoutTheSecret() async throws {
        // These say nothing that is private, as the document says.
        let open = [Operations.CheckHealth.id, Operations.CheckPageSession.id, Operations.OpenPageSession.id]
        let operations = try AdministrationHost.operations().filter { !open.contains($0.id) }
            .map { ($0.method, $0.path) }
        let others: [(HTTPRequest.Method, String)] = [
            (.get, "/_emulator"), (.get, "/_emulator/"), (.get, "/_emulator/nonsense"), (.options, "/_emulator/start"),
            (.put, "/_emulator/start"), (.get, "/_emulator?x=\(secret)"),
        ]
        let other = StartSecret().revealDigits()
        let wrong = [
            nil, "", "Bearer", "Bearer ", "Bearer x", "Bearer \(other)", "Bearer \(secret)0", secret, "Basic \(secret)",
            "Bearer \(secret.dropLast())", "Bearer \(secret) \(secret)", "Bearer \(secret.uppercased())x",
        ]
        for (method, path) in operations + others {
            for authorization in wrong {
                let response = try await send(method, path, authorization: authorization)
                #expect(response.status == .unauthorized, "\(method) \(path) \(authorization ?? "-")")
                #expect(response.headerFields[.wwwAuthenticate] == "Bearer")
                #expect(response.headerFields[.cacheControl] == "no-store")
                #expect(try problem(of: response).code == .unauthorized)
                #expect(!response.text.contains(secret))
            }
        }
        for authorization in ["Bearer \(secret)", "bearer  \(secret)"] {
            #expect(try await send(.get, "/_emulator/start", authorization: authorization).status == .ok)
        }
    }

    @Test(arguments: [AllowedOrigins.loopback, .any])
    func noPageOfAnotherOriginGetsIn(_ origins: AllowedOrigins) async throws {
        let server = try Self.server { $0.allowedOrigins = origins }
        let secret = try #require(server.configuration.administration).secret.revealDigits()
        let pages: [HTTPFields] = [
            [.origin: "https://evil.example"], [.origin: "null"], [.origin: "http://localhost:3000"],
            [.origin: "http://127.0.0.1:3000"], [.origin: "http://127.0.0.1"], [.origin: "https://127.0.0.1:8181"],
            [.secFetchSite: "cross-site"], [.secFetchSite: "same-site"],
            [.origin: "http://evil.example:8181", .secFetchSite: "same-origin"],
        ]
        for page in pages {
            for method in [HTTPRequest.Method.get, .options, .delete] {
                for authorization in [nil, "Bearer \(secret)"] {
                    let path = "/_emulator/faults"
                    let response = try await send(method, path, to: server, authorization: authorization, page)
                    #expect(response.status == .forbidden, "\(method) \(page)")
                    #expect(try problem(of: response).code == .foreignPage)
                    let names = response.headerFields.map(\.name.canonicalName)
                    #expect(!names.contains { $0.hasPrefix("access-control-") }, "\(names)")
                }
            }
        }
        let own: HTTPFields = [.origin: "http://127.0.0.1:8181", .secFetchSite: "same-origin"]
        let response = try await send(.get, "/_emulator/faults", to: server, authorization: "Bearer \(secret)", own)
        #expect(response.status == .ok)
        #expect(response.headerFields[.accessControlAllowOrigin] == nil)
    }

    @Test(.enabled(if: canRun("curl", ["--version"]), "curl"))
    func aNameThatIsNotTheServersIsRefused() async throws {
        try await server.withRunningServer { address in
            let ask = ["--silent", "--header", "Authorization: Bearer \(secret)", "\(address)/_emulator/start"]
            let known = try await run("curl", ask)
            #expect(known.output.contains("\"version\":\"1.2.3\""))
            let other = try await run("curl", ["--header", "Host: rebound.example"] + ask)
            #expect(other.output.hasPrefix(#"{"code":"foreignHost","message":"The host 'rebound.example' is not"#))
            let without = try await run("curl", ["--silent", "\(address)/_emulator/start"])
            #expect(without.output.hasPrefix(#"{"code":"unauthorized""#))
        }
    }

    @Test func aSecretIsNewAtEachStartAndDoesNotPrint() throws {
        let secrets = (0..<4).map { _ in StartSecret() }
        #expect(Set(secrets.map { $0.revealDigits() }).count == 4)
        for secret in secrets {
            #expect(secret.revealDigits().wholeMatch(of: /[0-9a-f]{64}/) != nil)
            var dumped = ""
            dump(secret, to: &dumped)
            for text in ["\(secret)", String(reflecting: secret), dumped] {
                #expect(!text.contains(secret.revealDigits()), "\(text)")
            }
        }
    }

    @Test func anEmulatorOfATestHasNoAdministration() async throws {
        try await withCloudKitEmulator { emulator in
            let reply = try await emulator.send(.get, "/_emulator/start", as: .anonymous)
            #expect(reply.refusal == "404 NOT_FOUND could not find handler for endpoint")
        }
    }

    // MARK: The document

    private static var document: String {
        get throws {
            let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
            return try String(contentsOf: package.appendingPathComponent("OpenAPI/emulator.yaml"), encoding: .utf8)
        }
    }

    @Test func theServerServesTheRoutesOfTheDocument() throws {
        var described: Set<String> = []
        var path = ""
        for line in try Self.document.split(separator: "\n") {
            if let found = line.wholeMatch(of: /\ \ (\/\S+):/) { path = String(found.1) }
            if let found = line.wholeMatch(of: /\ {4}(get|put|post|delete|patch|head):/) {
                described.insert("\(found.1.uppercased()) \(path)")
            }
        }
        let served = server.routes.all.filter { Server.Administration.serves($0.path) }
            .map { "\($0.method) \($0.path)" }
        #expect(described.count > 10)
        #expect(Set(served) == described)
        let plain = try ServerRoutes(servesAdministration: false).all
        #expect(!plain.contains { Server.Administration.serves($0.path) })
        #expect(plain.count + served.count == server.routes.all.count)
    }

    @Test func theDocumentNamesTheFaults() throws {
        let schema = try #require(try Self.document.split(separator: "    FaultKind:").last)
        let list = try #require(schema.split(separator: "enum:").dropFirst().first)
        let names = list.split(separator: "\n").prefix { $0.hasPrefix("        - ") }.map { String($0.dropFirst(10)) }
        #expect(names == FaultRule.faultNames)
    }

    // MARK: Failures

    private struct Mistake: Sendable {
        var request: (HTTPRequest.Method, String)
        var type: String?
        var body: String?
        var status: Int
        var code: Components.Schemas.ProblemCode
        var message: String
        var offset: Int?
    }

    private static let schemaPath = "/_emulator/containers/\(container)/development/schema"
    private static let mistakes = [
        Mistake(request: (.get, "/_emulator/nonsense"), status: 404, code: .notFound, message: "no such path"),
        Mistake(request: (.put, "/_emulator/start"), status: 405, code: .methodNotAllowed, message: "has GET only"),
        Mistake(
            request: (.get, "/_emulator/containers/c/prod/schema"),
            status: 400,
            code: .invalidRequest,
            message: "'prod' is not a value"
        ),
        Mistake(
            request: (.get, "/_emulator/containers/\(String(repeating: "c", count: 256))/production/schema"),
            status: 400,
            code: .invalidRequest,
            message: "longer than 255"
        ),
        Mistake(request: (.get, "/_emulator/requests?limit=0"), status: 400, code: .invalidRequest, message: "'limit'"),
        Mistake(request: (.get, "/_emulator/requests?limit=x"), status: 400, code: .invalidRequest, message: "'limit'"),
        Mistake(
            request: (.put, schemaPath),
            type: "application/json",
            body: "{}",
            status: 415,
            code: .unsupportedType,
            message: "text/plain"
        ),
        Mistake(
            request: (.put, schemaPath),
            type: "text/plain",
            status: 400,
            code: .invalidRequest,
            message: "no body"
        ),
        Mistake(
            request: (.put, schemaPath),
            type: "text/plain",
            body: "DEFINE SCHEMA\nRECORD TYPE Note (title STRNG);",
            status: 400,
            code: .invalidSchema,
            message: "line 2, column 25: Expected a type",
            offset: 38
        ),
        Mistake(
            request: (.post, schemaPath + "/validation"),
            type: "text/plain",
            body: "DEFINE SCHEMA RECORD TYPE A (x STRING); RECORD TYPE A (x STRING);",
            status: 400,
            code: .invalidSchema,
            message: "breaks rules"
        ),
        Mistake(
            request: (.put, "/_emulator/containers/c/production/schema"),
            type: "text/plain",
            body: "DEFINE SCHEMA",
            status: 409,
            code: .refused,
            message: "by a deployment"
        ),
        Mistake(
            request: (.put, "/_emulator/faults"),
            type: "application/json",
            body: #"[{"fault":"loseReply"},]"#,
            status: 400,
            code: .invalidRequest,
            message: "byte 23",
            offset: 23
        ),
        Mistake(
            request: (.put, "/_emulator/faults"),
            type: "application/json",
            body: #"[{"fault":"loseReply"},{"fault":"hang","bytes":1}]"#,
            status: 400,
            code: .invalidRule,
            message: "Rule 2 has the key \"bytes\""
        ),
        Mistake(
            request: (.post, "/_emulator/users"),
            type: "application/json",
            body: #"{"givenName":1}"#,
            status: 400,
            code: .invalidRequest,
            message: "givenName",
            offset: 13
        ),
        Mistake(
            request: (.post, "/_emulator/users/_nobody/sessions"),
            status: 404,
            code: .notFound,
            message: "no user '_nobody'"
        ),
        Mistake(
            request: (.post, "/_emulator/containers/c/development/reset"),
            type: "application/json",
            body: #"{"confirmation":"delete production of c"}"#,
            status: 400,
            code: .unconfirmed,
            message: "delete development of c"
        ),
        Mistake(
            request: (.post, "/_emulator/containers/c/schema/reset"),
            type: "application/json",
            body: "{}",
            status: 400,
            code: .invalidRequest,
            message: "confirmation"
        ),
    ]

    @Test(arguments: mistakes.indices)
    func mistakesAreExplained(_ index: Int) async throws {
        let mistake = Self.mistakes[index]
        var fields: HTTPFields = [:]
        fields[.contentType] = mistake.type
        let (method, path) = mistake.request
        let response = try await send(method, path, authorization: "Bearer \(secret)", fields, mistake.body)
        let problem = try problem(of: response)
        #expect(response.status.code == mistake.status, "\(problem)")
        #expect(problem.code == mistake.code && problem.message.contains(mistake.message), "\(problem)")
        if let offset = mistake.offset { #expect(problem.offset == offset, "\(problem)") }
        #expect(server.faults.rules.isEmpty)
    }

    @Test func aBodyHasALimit() async throws {
        let server = try Self.server { $0.maximumBodySize = 10 }
        let secret = try #require(server.configuration.administration).secret.revealDigits()
        let fields: HTTPFields = [.contentType: "text/plain"]
        let text = "DEFINE SCHEMA;"
        let long = try await send(.put, Self.schemaPath, to: server, authorization: "Bearer \(secret)", fields, text)
        #expect(long.status == .contentTooLarge)
        #expect(try problem(of: long).code == .tooLong)
        // Without the secret, nothing is read.
        let unread = try await send(.put, Self.schemaPath, to: server, authorization: nil, fields, text)
        #expect(unread.status == .unauthorized)
    }

    // MARK: The generated client

    private struct Secret: ClientMiddleware {
        let secret: String

        func intercept(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String,
            next: Next
        ) async throws -> (HTTPResponse, HTTPBody?) {
            var request = request
            request.headerFields[.authorization] = "Bearer \(secret)"
            return try await next(request, body, baseURL)
        }
    }

    private func withClient(_ body: (Client) async throws -> Void) async throws {
        try await server.withRunningServer { address in
            try await body(
                Client(
                    serverURL: address,
                    transport: AsyncHTTPClientTransport(),
                    middlewares: [Secret(secret: secret)]
                )
            )
        }
    }

    @Test func aSchemaIsImportedValidatedDeployedAndReset() async throws {
        try await withClient { client in
            let container = Self.container
            let schema = "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);"
            let smaller = "DEFINE SCHEMA RECORD TYPE Note (rating INT64);"
            func text(_ environment: Components.Schemas.Environment) async throws -> String {
                let reply = try await client.exportSchema(path: .init(container: container, environment: environment))
                return try await String(collecting: reply.ok.body.plainText, upTo: .max)
            }
            let development = Components.Schemas.Environment.development
            let imported = try await client.importSchema(
                path: .init(container: container, environment: development),
                body: .plainText(HTTPBody(schema))
            ).ok.body.json
            #expect(imported.changes.map(\.text) == ["+ record type Note (title)"])
            #expect(try await text(.development).contains("title STRING QUERYABLE"))
            #expect(try await !text(.production).contains("Note"))

            let notes = DatabaseAddress(container, .development, .private)
            let user = try server.emulator.createUser()
            let record = Record(recordType: "Note", fields: ["title": "Milk"])
            _ = try server.emulator.request(in: notes, as: .user(user))
                .modify([RecordOperation(.create, record: record)])
            let validation = try await client.validateSchema(
                path: .init(container: container, environment: development),
                body: .plainText(HTTPBody(smaller))
            ).ok.body.json
            #expect(validation.changes.contains { $0.refusal == "production does not drop fields" })
            #expect(validation.obstacle?.contains("1 record has values of it") == true, "\(validation)")
            let refused = try await client.importSchema(
                path: .init(container: container, environment: development),
                body: .plainText(HTTPBody(smaller))
            ).conflict.body.json
            #expect(refused.code == .refused && refused.message == validation.obstacle.map { "\($0)." })
            #expect(try await text(.development).contains("title STRING QUERYABLE"))

            let deployed = try await client.deploySchema(path: .init(container: container)).ok.body.json
            #expect(deployed.changes.map(\.text) == ["+ record type Note (title)"])
            #expect(try await text(.production) == text(.development))
            let later = try await client.validateSchema(
                path: .init(container: container, environment: .production),
                body: .plainText(HTTPBody("DEFINE SCHEMA"))
            ).ok.body.json
            #expect(later.obstacle == "! record type Note is dropped: production does not drop record types")
            let reset = try await client.resetSchema(
                path: .init(container: container),
                body: .json(.init(confirmation: "delete development of \(container)"))
            ).ok.body.json
            #expect(reset.changes.isEmpty)
            #expect(try await client.countRecords().ok.body.json.counts.isEmpty)
        }
    }

    @Test func usersAreCreatedListedAndSignedIn() async throws {
        try await withClient { client in
            #expect(try await client.listUsers().ok.body.json.users.isEmpty)
            let account = Components.Schemas.NewUser(
                givenName: "Mei",
                emailAddress: "mei@example.com",
                discoverable: false
            )
            let user = try await client.createUser(body: .json(account)).ok.body.json
            #expect(try await client.listUsers().ok.body.json.users == [user])
            #expect(user.givenName == "Mei" && user.emailAddress == "mei@example.com" && !user.discoverable)
            let session = try await client.createSession(path: .init(userRecordName: user.userRecordName)).ok.body.json
            let apiToken = String(repeating: "a", count: 64)
            try server.emulator.registerAPIToken(apiToken, for: Self.container, in: .production)
            var credentials = Credentials()
            (credentials.apiToken, credentials.webAuthToken) = (apiToken, session.webAuthToken)
            let caller = try server.emulator.authenticate(credentials, for: Self.container, in: .production).caller
            #expect(caller == .user(user.userRecordName))
            let lifetime = Double(session.expiresTimestamp) / 1000 - Date().timeIntervalSince1970
            #expect((lifetime - 14 * 24 * 60 * 60).magnitude < 60)
        }
    }

    @Test func recordsAreCountedAndDeleted() async throws {
        try await withClient { client in
            let user = try server.emulator.createUser()
            let operation = RecordOperation(.create, record: Record(recordType: "Note"))
            for (scope, count) in [(DatabaseScope.private, 2), (.public, 1)] {
                let database = DatabaseAddress(Self.container, .development, scope)
                _ = try server.emulator.request(in: database, as: .user(user))
                    .modify(Array(repeating: operation, count: count))
            }
            func count(_ database: Components.Schemas.StoredDatabase, _ owner: String?, _ records: Int)
                -> Components.Schemas.RecordCount
            {
                .init(
                    container: Self.container,
                    environment: .development,
                    database: database,
                    ownerRecordName: owner,
                    zoneName: "_defaultZone",
                    recordType: "Note",
                    records: records
                )
            }
            let counts = try await client.countRecords().ok.body.json.counts
            #expect(counts == [count(._public, nil, 1), count(._private, user, 2)])
            let deleted = try await client.resetContents(
                path: .init(container: Self.container, environment: .development),
                body: .json(.init(confirmation: "delete development of \(Self.container)"))
            ).ok.body.json
            #expect(deleted.deletedRecords == 3)
            #expect(try await client.countRecords().ok.body.json.counts.isEmpty)
            #expect(try server.emulator.listUsers() == [user])
            let schema = try server.emulator.schema(of: Self.container, in: .development)
            #expect(schema[recordType: "Note"] != nil)
        }
    }

    @Test func faultsAreOrderedAndDoNotReachTheAdministration() async throws {
        try await withClient { client in
            let rule: JSONValue = ["fault": "emptyReply", "status": 503, "calls": "all"]
            let states = try await client.replaceFaultRules(body: .json([rule])).ok.body.json
            #expect(states.rules.map(\.rule) == [rule] && states.rules.map(\.matchedRequests) == [0])
            let path = "/database/1/\(Self.container)/development/public/zones/list"
            let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1", path: path)
            #expect(try await server.respond(to: request, body: nil).0.status == .serviceUnavailable)
            #expect(try await client.listFaultRules().ok.body.json.rules.map(\.matchedRequests) == [1])
            _ = try await client.removeFaultRules().noContent
            #expect(try await client.listFaultRules().ok.body.json.rules.isEmpty)
            #expect(try await server.respond(to: request, body: nil).0.status != .serviceUnavailable)
        }
    }

    // MARK: The start, and the requests

    @Test func theStartIsDescribed() async throws {
        try await withClient { client in
            let start = try await client.fetchStart().ok.body.json
            #expect(start.version == "1.2.3" && start.container == Self.container)
            #expect(start.address.hasPrefix("http://127.0.0.1:"))
            #expect(start.storage == .init(kind: .memory))
            #expect((beforeTheStart...Self.now).contains(start.startedTimestamp))
            let switches = start.switches.additionalProperties
            #expect(switches["unsettled.createOnExisting"] == "conflict")
            #expect(switches["unsettled.expiredToken"] == "CHANGE_TOKEN_EXPIRED")
            #expect(switches["limits.operationsPerRequest"] == "200")
        }
    }

    @Test func theLatestRequestsAreKeptWithoutCredentials() async throws {
        let server = try Self.server(keptRequests: 3)
        let secret = try #require(server.configuration.administration).secret.revealDigits()
        func request(_ path: String) async throws {
            _ = try await send(.get, path, to: server, authorization: nil)
        }
        func list(_ query: String = "") async throws -> Components.Schemas.RequestList {
            let path = "/_emulator/requests" + query
            let response = try await send(.get, path, to: server, authorization: "Bearer \(secret)")
            return try JSONReader.read(Components.Schemas.RequestList.self, from: response.body)
        }
        #expect(try await list() == .init(total: 0, requests: []))
        try await request("/first")
        let zones = "/database/1/c/development/public/zones/list"
        try await request(zones + "?ckAPIToken=secret&ckWebAuthToken=secret")
        try await request("/web-courier/secret")
        server.faults.add(FaultRule(.loseRequest))
        try? await request("/lost")
        let list3 = try await list()
        #expect(list3.total == 4)
        #expect(list3.requests.map(\.number) == [4, 3, 2])
        #expect(list3.requests.map(\.path) == ["/lost", "/web-courier/{courier}", zones])
        #expect(list3.requests.map(\.status) == [nil, 404, 401])
        #expect(list3.requests[2].requestUUID?.count == 36)
        #expect(list3.requests.allSatisfy { $0.milliseconds >= 0 && $0.method == "GET" })
        #expect(try await list("?limit=1").requests == [list3.requests[0]])
    }
}

import CloudKitEmulatorAdministration
package import CloudKitEmulatorServer
package import CloudKitModel
package import HTTPTypes
package import MistKit
package import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Serves the console's page in front of a service that does not serve it: Apple's, or an emulator elsewhere.
///
/// The page asks CloudKit Web Services at its own origin, without credentials. The proxy adds those of the identity that
/// the page names, and sends the request on. Keys, tokens and addresses of files stay in this process: the page gets
/// addresses of the proxy in their place.
///
/// Where the administration of an emulator is known, the proxy passes its requests on, too. Otherwise the page finds out
/// that there is none, and hides what needs it.
package struct ConsoleProxy: Sendable {
    /// Someone whom the page can act as.
    package struct Identity: Sendable {
        /// The value of `X-MistKit-Act-As`: `user`, `nobody` or `server`.
        package var value: String
        /// A name for people.
        package var title: String
        /// The databases that it can use.
        package var databases: [DatabaseScope]
        /// Adds the credentials.
        package var credentials: any TokenManager

        /// Makes an identity.
        package init(_ value: String, title: String, databases: [DatabaseScope], credentials: any TokenManager) {
            self.value = value
            self.title = title
            self.databases = databases
            self.credentials = credentials
        }
    }

    /// The service behind the page.
    package struct Service: Sendable {
        /// Its address, without a slash at the end.
        package var address: URL
        /// Whether it is Apple's service, or another one without an administration.
        package var isCloudKit: Bool
        /// The container that the page shows first.
        package var container: String
        /// The environment that the page shows first.
        package var environment: ContainerEnvironment
        /// Whom the page can act as, in the order to offer them.
        package var identities: [Identity]
        /// The secret of an emulator's administration; `nil` where there is none.
        package var administrationSecret: String?
        /// Sends the requests.
        package var transport: any ClientTransport

        /// Makes a service.
        package init(
            address: URL,
            isCloudKit: Bool,
            container: String,
            environment: ContainerEnvironment,
            identities: [Identity],
            administrationSecret: String? = nil,
            transport: any ClientTransport
        ) {
            self.address = address
            self.isCloudKit = isCloudKit
            self.container = container
            self.environment = environment
            self.identities = identities
            self.administrationSecret = administrationSecret
            self.transport = transport
        }

        /// The service in a line of text.
        package var title: String {
            "\(container) of \(address.absoluteString)\(administrationSecret == nil ? "" : ", an emulator")"
        }
    }

    /// Who may use the page.
    package let access: PageAccess
    /// The service behind the page.
    package let service: Service
    let readOnly: Set<ContainerEnvironment>
    let version: String
    let files = FileLinks()

    /// The number of bytes of a request's or a reply's body above which it is refused: 64 MiB.
    static let maximumBodySize = 64 << 20
    /// Where the addresses of files lead.
    static let filesPath = "/files/"

    /// Makes a proxy. It does nothing until it runs.
    ///
    /// - Parameters:
    ///   - service: The service behind the page.
    ///   - access: Who may use the page.
    ///   - readOnly: The environments in which writes are refused.
    ///   - version: The version of the program.
    package init(_ service: Service, access: PageAccess, readOnly: Set<ContainerEnvironment>, version: String) {
        self.service = service
        self.access = access
        self.readOnly = readOnly
        self.version = version
    }

    /// Answers one request of the browser.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: Its body.
    /// - Returns: The response.
    /// - Throws: Only `CancellationError`, and the error of a request whose client is gone.
    package func respond(to request: HTTPRequest, body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        do {
            return try await answer(request, body)
        } catch let problem as ConsoleProblem {
            return problem.response(to: request)
        } catch let error as TransportError {
            try Task.checkCancellation()
            return ConsoleProblem(
                .badGateway,
                .internalError,
                "\(service.address.absoluteString) does not answer: \(error.message)"
            ).response(to: request)
        } catch let error as CloudKitError {
            return ConsoleProblem(.badGateway, .internalError, error.message).response(to: request)
        }
    }

    private func answer(_ request: HTTPRequest, _ body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        let path = (request.path ?? "/").prefix { $0 != "?" }
        if request.method == .get || request.method == .head, let file = PageFiles.console.respond(to: request, access)
        {
            return file
        }
        switch (request.method, path) {
        case (.get, "/_emulator/health"): return try reply(Components.Schemas.Health(status: .ok, version: version))
        case (.get, "/_emulator/page/session"): return try reply(session(request))
        case (.post, "/_emulator/page/session"): return try await openSession(request, body)
        default: break
        }
        guard access.isOpen(for: request) else {
            throw ConsoleProblem(
                .unauthorized,
                .unauthorized,
                "This needs the session of the page: open the address that the command printed."
            )
        }
        if path == "/_emulator/page", request.method == .get { return try reply(description) }
        if path == "/_emulator/page/session", request.method == .delete {
            access.close()
            return (HTTPResponse(status: .noContent), nil)
        }
        if path.hasPrefix("/_emulator/") { return try await administration(request, body) }
        if path.hasPrefix("/database/") { return try await records(request, body) }
        if path.hasPrefix(Self.filesPath) { return try await file(request, body) }
        throw ConsoleProblem(.notFound, .notFound, "The console has no such path.")
    }

    // MARK: The page

    private func session(_ request: HTTPRequest) -> Components.Schemas.PageSession {
        .init(isOpen: access.isOpen(for: request), needsPassword: access.needsPassword)
    }

    private func openSession(_ request: HTTPRequest, _ body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        guard request.comesFromOwnPage else {
            throw ConsoleProblem(.forbidden, .foreignPage, "No page of another origin may use the console.")
        }
        guard let given = try? JSONReader.read(Components.Schemas.PagePassword.self, from: Array(await bytes(of: body)))
        else { throw ConsoleProblem(.badRequest, .invalidRequest, "The body is not the JSON that is expected.") }
        switch access.open(password: given.password, for: request, at: Date()) {
        case .opened(let cookie):
            var response = HTTPResponse(status: .noContent)
            response.headerFields[.setCookie] = cookie
            return (response, nil)
        case .wrong: throw ConsoleProblem(.unauthorized, .wrongPassword, "This is not the password.")
        case .tooMany:
            throw ConsoleProblem(
                .tooManyRequests,
                .tooManyAttempts,
                "The password was wrong too often. Try again in a minute."
            )
        }
    }

    private var description: Components.Schemas.Page {
        .init(
            version: version,
            service: service.isCloudKit ? .cloudKit : .emulator,
            address: service.address.absoluteString,
            container: service.container,
            environment: service.environment == .production ? .production : .development,
            administration: service.administrationSecret != nil,
            readOnlyEnvironments: ContainerEnvironment.allCases.filter(readOnly.contains).map {
                $0 == .production ? .production : .development
            },
            identities: identities
        )
    }

    private var identities: [Components.Schemas.PageIdentity] {
        let own = service.identities.map { identity in
            Components.Schemas.PageIdentity(
                value: identity.value,
                title: identity.title,
                databases: identity.databases.map { scope in
                    switch scope {
                    case .public: ._public
                    case .private: ._private
                    case .shared: .shared
                    }
                }
            )
        }
        guard service.administrationSecret != nil else { return own }
        // An emulator lets the console act as everyone, without credentials.
        let others = [("nobody", "Nobody"), ("server", "Server key")].filter { value, _ in
            !own.contains { $0.value == value }
        }
        return own + others.map { .init(value: $0, title: $1, databases: [._public]) }
    }

    private func reply(_ value: some JSONWritable) throws -> (HTTPResponse, HTTPBody?) {
        var response = HTTPResponse(status: .ok)
        response.headerFields[.contentType] = "application/json; charset=utf-8"
        response.headerFields[.cacheControl] = "no-store"
        response.headerFields[.xContentTypeOptions] = "nosniff"
        return (response, HTTPBody(try JSONWriter.bytes(of: value)))
    }

    // MARK: The administration

    private func administration(_ request: HTTPRequest, _ body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        guard let secret = service.administrationSecret else {
            throw ConsoleProblem(.notFound, .notFound, "The service behind the console has no administration.")
        }
        guard request.method == .get || !changesReadOnly(request) else {
            throw ConsoleProblem(.forbidden, .readOnly, "The page only reads: it was started with --read-only.")
        }
        var forwarded = Self.forwarded(request)
        forwarded.headerFields[.authorization] = "Bearer \(secret)"
        let (response, reply) = try await send(forwarded, body, operationID: "administration")
        return (Self.returned(response), reply)
    }

    /// Whether a request of the administration changes something where the page only reads. A change that names no
    /// environment is one of all.
    private func changesReadOnly(_ request: HTTPRequest) -> Bool {
        guard !readOnly.isEmpty else { return false }
        let path = request.path ?? "/"
        return !path.contains("/development/") || readOnly.contains(.development)
    }

    // MARK: Records

    private func records(_ request: HTTPRequest, _ body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        // /database/1/{container}/{environment}/{database}/{entity}/{action}
        let target = request.path ?? "/"
        let path = target.prefix { $0 != "?" }
        let parts = path.split(separator: "/")
        guard parts.count >= 7, parts[1] == "1", let environment = ContainerEnvironment(rawValue: String(parts[3])),
            !path.contains("..")
        else { throw ConsoleProblem(.notFound, .notFound, "The console has no such path.") }
        if readOnly.contains(environment), !PageRequests.readingPaths.contains(where: { path.hasSuffix($0) }) {
            throw ConsoleProblem(
                .forbidden,
                .readOnly,
                "The console only reads in \(environment.rawValue). --allow-writes lets it write."
            )
        }
        let value = request.headerFields[.actAs] ?? ""
        let bytes = try await bytes(of: body)
        var forwarded = Self.forwarded(request)
        if let secret = service.administrationSecret {
            // With the secret, the reply has the number of the request in the log.
            forwarded.headerFields[.authorization] = "Bearer \(secret)"
        }
        guard let identity = service.identities.first(where: { $0.value == value }) else {
            guard service.administrationSecret != nil, !value.isEmpty else {
                throw ConsoleProblem(
                    .unauthorized,
                    .unauthorized,
                    "There is no identity '\(value.prefix(255))' to act as."
                )
            }
            forwarded.headerFields[.actAs] = value
            let (response, reply) = try await send(forwarded, HTTPBody(bytes), operationID: "records")
            return try await rewritten(response, reply, for: request)
        }
        let content = request.method == .get ? nil : HTTPBody(bytes)
        var outgoing = OutgoingRequest(
            forwarded,
            body: content,
            baseURL: service.address,
            operationID: "console"
        )
        try await identity.credentials.authenticate(&outgoing)
        forwarded.path = outgoing.subpath
        forwarded.headerFields = outgoing.headerFields
        let (response, reply) = try await send(forwarded, content, operationID: "console")
        await identity.credentials.didReceive(response, to: outgoing)
        return try await rewritten(response, reply, for: request)
    }

    /// The reply for the page. Addresses of files lead to the proxy, and no token is in it.
    private func rewritten(
        _ response: HTTPResponse,
        _ reply: HTTPBody?,
        for request: HTTPRequest
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var response = Self.returned(response)
        let bytes = try await bytes(of: reply)
        response.headerFields[.contentLength] = nil
        guard let value = try? JSONReader.read(JSONValue.self, from: Array(bytes)) else {
            // A page of a proxy in between, for example. It is shown as text.
            response.headerFields[.contentType] = "text/plain; charset=utf-8"
            return (response, HTTPBody(bytes))
        }
        let address = request.serverAddress + Self.filesPath
        return (response, HTTPBody(try JSONWriter.bytes(of: rewritten(value, address))))
    }

    /// The members of replies that are addresses of files, and those that are credentials.
    private static let addresses: Set<String> = ["downloadURL", "url"]
    private static let credentials: Set<String> = [
        "webcourierURL", "apnsToken", "webAuthToken", "ckWebAuthToken", "ckSession",
    ]

    private func rewritten(_ value: JSONValue, _ address: String) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map { rewritten($0, address) })
        case .object(let members):
            var result = members
            for (name, member) in members {
                result[name] = rewritten(member, address)
                guard case .string(let text) = member else { continue }
                if Self.addresses.contains(name), let link = files.link(to: text) {
                    result[name] = .string(address + link)
                } else if Self.credentials.contains(name) {
                    result[name] = .string("<redacted>")
                }
            }
            return .object(result)
        default: return value
        }
    }

    // MARK: Files

    private func file(_ request: HTTPRequest, _ body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        let target = request.path ?? "/"
        guard let url = files.address(of: target.dropFirst(Self.filesPath.count)) else {
            throw ConsoleProblem(.notFound, .notFound, "This address of a file is not valid, or no longer.")
        }
        let isUpload = request.method == .post
        guard isUpload || request.method == .get else {
            throw ConsoleProblem(.methodNotAllowed, .methodNotAllowed, "Files have GET and POST only.")
        }
        guard let (base, path) = Self.split(url) else {
            throw ConsoleProblem(.notFound, .notFound, "This address of a file is not valid.")
        }
        var forwarded = HTTPRequest(method: request.method, scheme: nil, authority: nil, path: path)
        forwarded.headerFields[.contentType] = isUpload ? request.headerFields[.contentType] : nil
        forwarded.headerFields[.range] = request.headerFields[.range]
        let (response, reply) = try await service.transport.send(
            forwarded,
            body: isUpload ? HTTPBody(try await bytes(of: body)) : nil,
            baseURL: base,
            operationID: "file"
        )
        var returned = Self.returned(response)
        if !isUpload { returned.headerFields[.contentType] = "application/octet-stream" }
        // What users stored is shown as a picture or saved, and never opened as a page of this origin.
        returned.headerFields[.contentSecurityPolicy] = "sandbox; default-src 'none'"
        returned.headerFields[.xContentTypeOptions] = "nosniff"
        return (returned, reply)
    }

    private static func split(_ text: String) -> (base: URL, path: String)? {
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "https:" || parts[0] == "http:", parts[1].isEmpty,
            let base = URL(string: "\(parts[0])//\(parts[2])")
        else { return nil }
        return (base, "/" + parts[3])
    }

    // MARK: Messages

    private func send(
        _ request: HTTPRequest,
        _ body: HTTPBody?,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await service.transport.send(request, body: body, baseURL: service.address, operationID: operationID)
    }

    private func bytes(of body: HTTPBody?) async throws -> ArraySlice<UInt8> {
        guard let body else { return [] }
        do {
            return try await ArraySlice(collecting: body, upTo: Self.maximumBodySize)
        } catch let error as HTTPBodyError where error.code == .tooManyBytes {
            throw ConsoleProblem(
                .contentTooLarge,
                .tooLong,
                "The body is longer than \(Self.maximumBodySize) bytes."
            )
        }
    }

    /// The request without what belongs to the browser's connection: its cookie above all.
    private static func forwarded(_ request: HTTPRequest) -> HTTPRequest {
        var forwarded = HTTPRequest(method: request.method, scheme: nil, authority: nil, path: request.path)
        for name in [HTTPField.Name.contentType, .accept] {
            forwarded.headerFields[name] = request.headerFields[name]
        }
        return forwarded
    }

    /// The header fields of replies that the page gets.
    private static let returnedFields: [HTTPField.Name] = [
        .contentType, .contentLength, .contentRange, .retryAfter, .requestUUID, .loggedRequest,
    ]

    private static func returned(_ response: HTTPResponse) -> HTTPResponse {
        var returned = HTTPResponse(status: response.status)
        for name in returnedFields { returned.headerFields[name] = response.headerFields[name] }
        returned.headerFields[.cacheControl] = "no-store"
        return returned
    }
}

/// The failure of a request to the proxy itself.
struct ConsoleProblem: Error {
    let status: HTTPResponse.Status
    let problem: Components.Schemas.Problem

    init(_ status: HTTPResponse.Status, _ code: Components.Schemas.ProblemCode, _ message: String) {
        self.status = status
        problem = .init(code: code, message: message)
    }

    /// The response: for CloudKit Web Services with the members of their failures, too.
    func response(to request: HTTPRequest) -> (HTTPResponse, HTTPBody?) {
        var response = HTTPResponse(status: status)
        response.headerFields[.contentType] = "application/json; charset=utf-8"
        response.headerFields[.cacheControl] = "no-store"
        var members: [String: JSONValue] = [
            "code": .string(problem.code.rawValue), "message": .string(problem.message),
        ]
        if (request.path ?? "").hasPrefix("/database/") {
            members["serverErrorCode"] = .string(
                status == .unauthorized
                    ? "AUTHENTICATION_FAILED" : status == .forbidden ? "ACCESS_DENIED" : "BAD_REQUEST"
            )
            members["reason"] = .string(problem.message)
        }
        let bytes = (try? JSONWriter.bytes(of: JSONValue.object(members))) ?? []
        return (response, HTTPBody(bytes))
    }
}

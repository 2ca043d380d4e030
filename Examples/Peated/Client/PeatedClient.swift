import Foundation
import OpenAPISwiftRuntime

/// A user of the service.
public typealias User = Components.Schemas.User
/// A whisky.
public typealias Bottle = Components.Schemas.Bottle
/// The values of a new bottle.
public typealias NewBottle = Components.Schemas.NewBottle
/// The tasting of a bottle by a user.
public typealias Tasting = Components.Schemas.Tasting
/// The values of a new tasting.
public typealias NewTasting = Components.Schemas.NewTasting
/// A filter of the feed by author.
public typealias FeedFilter = Components.Schemas.FeedFilter
/// A page of the feed, and where the next one begins.
public typealias FeedPage = Components.Schemas.TastingPage

/// The client library of the service. Its users see no paths, no status codes and no tokens.
///
/// ```swift
/// let peated = PeatedClient(serverURL: url, transport: AsyncHTTPClientTransport())
/// try await peated.logIn(email: "ada@example.com", password: "slàinte")
/// for try await tasting in peated.feed(.friends) { print(tasting.bottle.name, tasting.notes ?? "") }
/// ```
///
/// Every method throws only `PeatedError`.
public struct PeatedClient: Sendable {
    let api: Client
    private let authenticator: Authenticator

    /// Creates a client.
    /// - Parameters:
    ///   - serverURL: The address of the service.
    ///   - credentials: The store of the tokens, for the lifetime of the client or between runs of the program.
    ///   - transport: The transport: a network client, or handlers in this process.
    public init(
        serverURL: URL,
        credentials: any CredentialStore = MemoryCredentialStore(),
        transport: any ClientTransport
    ) {
        // This client sends no token, so that the renewal of tokens does not wait for itself.
        let open = Client(serverURL: serverURL, transport: transport, middlewares: [ProblemMiddleware()])
        authenticator = Authenticator(store: credentials) { refreshToken in
            let session = try await open.refresh(body: .json(.init(refreshToken: refreshToken))).ok.body.json
            return Credentials(session)
        }
        // The first middleware is the outermost. A 401 reaches the second one first, and becomes an error only if the
        // retry fails with 401, too.
        api = Client(
            serverURL: serverURL,
            transport: transport,
            middlewares: [ProblemMiddleware(), BearerTokenMiddleware(authenticator: authenticator)]
        )
    }
}

// MARK: Sessions

extension PeatedClient {
    /// Begins a session with a password.
    @discardableResult
    public func logIn(email: String, password: String) async throws(PeatedError) -> User {
        try await begin { try await api.login(body: .json(.init(email: email, password: password))).ok.body.json }
    }

    /// Begins a session with the code that Google's sign-in page returned.
    @discardableResult
    public func logIn(googleCode: String) async throws(PeatedError) -> User {
        try await begin { try await api.loginWithGoogle(body: .json(.init(code: googleCode))).ok.body.json }
    }

    /// Ends the session: removes the tokens from the store.
    public func logOut() async throws(PeatedError) {
        try await PeatedError.wrap { try await authenticator.set(nil) }
    }

    private func begin(
        _ logIn: () async throws -> Components.Schemas.Session
    ) async throws(PeatedError) -> User {
        try await PeatedError.wrap {
            let session = try await logIn()
            try await authenticator.set(Credentials(session))
            return session.user
        }
    }
}

// MARK: Reading

extension PeatedClient {
    /// The user who is logged in.
    public func currentUser() async throws(PeatedError) -> User {
        try await PeatedError.wrap { try await api.getCurrentUser().ok.body.json }
    }

    /// The user with an identifier.
    public func user(_ id: String) async throws(PeatedError) -> User {
        try await PeatedError.wrap { try await api.getUser(path: .init(userId: id)).ok.body.json }
    }

    /// The bottle with an identifier.
    public func bottle(_ id: String) async throws(PeatedError) -> Bottle {
        try await PeatedError.wrap { try await api.getBottle(path: .init(bottleId: id)).ok.body.json }
    }

    /// The tasting with an identifier.
    public func tasting(_ id: String) async throws(PeatedError) -> Tasting {
        try await PeatedError.wrap { try await api.getTasting(path: .init(tastingId: id)).ok.body.json }
    }

    /// Bottles in the order of their names. `matching` has words that the names contain.
    public func bottles(matching words: String? = nil, pageSize: Int? = nil) -> Pages<Bottle> {
        Pages { [api] cursor in
            let query = Operations.ListBottles.Input.Query(query: words, cursor: cursor, limit: pageSize)
            let page = try await api.listBottles(query: query).ok.body.json
            return (page.results, page.nextCursor)
        }
    }

    /// Tastings, the newest first.
    public func feed(_ filter: FeedFilter = .global, pageSize: Int? = nil) -> Pages<Tasting> {
        Pages { [api] cursor in
            let query = Operations.GetFeed.Input.Query(filter: filter, cursor: cursor, limit: pageSize)
            let page = try await api.getFeed(query: query).ok.body.json
            return (page.results, page.nextCursor)
        }
    }

    /// One page of the feed, for programs that keep pages and cursors.
    ///
    /// - Parameters:
    ///   - filter: Whose tastings.
    ///   - cursor: The cursor of the page before; `nil` for the first page.
    ///   - size: The most tastings of the page.
    /// - Returns: The page.
    /// - Throws: A `PeatedError`.
    public func feedPage(
        _ filter: FeedFilter,
        after cursor: String? = nil,
        size: Int? = nil
    ) async throws(PeatedError) -> FeedPage {
        try await PeatedError.wrap {
            let query = Operations.GetFeed.Input.Query(filter: filter, cursor: cursor, limit: size)
            return try await api.getFeed(query: query).ok.body.json
        }
    }
}

// MARK: Writing

extension PeatedClient {
    /// Adds a bottle to the service.
    public func add(_ bottle: NewBottle) async throws(PeatedError) -> Bottle {
        try await PeatedError.wrap { try await api.addBottle(body: .json(bottle)).created.body.json }
    }

    /// Adds a tasting.
    ///
    /// - Parameters:
    ///   - tasting: The tasting.
    ///   - key: The idempotency key. Two calls with one key add one tasting, and return it both times.
    /// - Returns: The tasting, with the service's identifier.
    /// - Throws: A `PeatedError`.
    @discardableResult
    public func add(_ tasting: NewTasting, key: String? = nil) async throws(PeatedError) -> Tasting {
        try await PeatedError.wrap {
            try await api.addTasting(headers: .init(idempotencyKey: key), body: .json(tasting)).created.body.json
        }
    }

    /// Adds a toast of the user to a tasting. A second toast to the same tasting changes nothing.
    @discardableResult
    public func toast(_ tastingID: String, key: String? = nil) async throws(PeatedError) -> Tasting {
        try await PeatedError.wrap {
            try await api.addToast(path: .init(tastingId: tastingID), headers: .init(idempotencyKey: key)).ok.body.json
        }
    }

    /// Removes the user's toast from a tasting.
    @discardableResult
    public func removeToast(from tastingID: String, key: String? = nil) async throws(PeatedError) -> Tasting {
        try await PeatedError.wrap {
            try await api.removeToast(path: .init(tastingId: tastingID), headers: .init(idempotencyKey: key))
                .ok.body.json
        }
    }

    /// Adds a picture to one of the user's own tastings. The file is read while it is sent.
    @discardableResult
    public func upload(
        imageAt file: URL,
        caption: String? = nil,
        to tastingID: String
    ) async throws(PeatedError) -> Tasting {
        // Whether the file can be read is checked before anything is sent.
        let size = try await PeatedError.wrap { try FileHandle(forReadingFrom: file).seekToEnd() }
        let image = HTTPBody(FileChunks(file: file), length: .known(Int64(size)), iterationBehavior: .multiple)
        return try await upload(image, fileName: file.lastPathComponent, caption: caption, to: tastingID)
    }

    /// Adds a picture to one of the user's own tastings.
    ///
    /// If the access token has expired, the request has to be sent twice. That is not possible with an image that can
    /// be read only once: then the error is `unauthorized`, the session is renewed, and the next upload succeeds.
    @discardableResult
    public func upload(
        _ image: HTTPBody,
        fileName: String = "image.jpg",
        caption: String? = nil,
        to tastingID: String
    ) async throws(PeatedError) -> Tasting {
        typealias Part = Operations.UploadImage.Input.Body.MultipartFormPayload
        var parts: [Part] = [.image(.init(payload: .init(body: image), filename: fileName))]
        if let caption { parts.append(.caption(.init(payload: .init(body: HTTPBody(caption))))) }

        let form: MultipartBody<Part>
        switch image.iterationBehavior {
        case .multiple: form = MultipartBody(parts)
        case .single: form = MultipartBody(AsyncStream(parts))
        }
        return try await PeatedError.wrap {
            try await api.uploadImage(path: .init(tastingId: tastingID), body: .multipartForm(form)).ok.body.json
        }
    }
}

extension AsyncStream where Element: Sendable {
    fileprivate init(_ elements: [Element]) {
        self.init { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
    }
}

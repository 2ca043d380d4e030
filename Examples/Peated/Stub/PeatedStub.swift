import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Peated

/// The service with all its rules: for tests of the client, and to try the program.
///
/// It begins with some users, whose password is `peat`, five bottles and 45 tastings. With a file, it has everything
/// again after it was killed.
package actor PeatedStub {
    var state: StubState
    private let file: URL?
    /// What goes wrong.
    package var faults: StubFaults

    /// The number of requests to renew tokens.
    package internal(set) var refreshCount = 0
    /// The operations that were asked for, each with the status that was sent; `lost` for a response that was not.
    package private(set) var log: [String] = []

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - file: Where its state is kept; `nil` for a service that forgets it.
    ///   - faults: What goes wrong.
    /// - Throws: An error where the file cannot be read.
    package init(file: URL, faults: StubFaults = StubFaults()) throws {
        self.file = file
        self.faults = faults
        let isThere = FileManager.default.fileExists(atPath: file.path)
        state = isThere ? try JSONDecoder().decode(StubState.self, from: Data(contentsOf: file)) : .initial
    }

    /// Makes a service in memory.
    package init() {
        file = nil
        faults = StubFaults()
        state = .initial
    }

    /// Registers the operations, with the check of the access token.
    package nonisolated func register(on transport: any ServerTransport, serverURL: URL) throws {
        try registerHandlers(
            on: transport,
            serverURL: serverURL,
            middlewares: [FaultMiddleware(stub: self), ErrorHandlingMiddleware()],
            context: { call in try await self.caller(of: call) }
        )
    }

    /// Changes what goes wrong.
    package func setFaults(_ change: (inout StubFaults) -> Void) { change(&faults) }

    /// The pictures, by their identifiers.
    package var images: [String: Data] { state.images }

    /// All tastings, the oldest first, as no one in particular sees them.
    package var tastings: [Tasting] { state.tastings.map { seen($0, by: Caller()) } }

    /// Adds a tasting, as if its author had sent it.
    @discardableResult
    package func addTasting(of author: String, notes: String) throws -> Tasting {
        try insert(NewTasting(bottleId: "b1", notes: notes), by: Caller(id: author))
    }

    /// Removes a tasting, as its author does on another machine.
    package func removeTasting(_ id: String) { state.tastings.removeAll { $0.tasting.id == id } }

    /// Makes every access token expire, as the service does after some minutes.
    package func expireAccessTokens() {
        state.accessTokens = [:]
    }

    /// Makes all tokens invalid, as the service does for stolen accounts.
    package func revokeAll() {
        state.accessTokens = [:]
        state.refreshTokens = [:]
    }

    /// Writes the state, before the response is sent.
    func save() throws {
        guard let file else { return }
        try JSONEncoder().encode(state).write(to: file, options: .atomic)
    }

    func note(_ line: String) { log.append(line) }

    /// What goes wrong with the next request.
    func nextFault(of operation: String) -> StubFaults.Next { faults.next(of: operation) }
}

/// An error response in the form of the document.
struct Refusal: Error, HTTPResponseConvertible {
    var httpStatus: HTTPResponse.Status
    var problem: Components.Schemas.Problem

    init(_ status: HTTPResponse.Status, _ message: String, fields: [String: [String]]? = nil) {
        httpStatus = status
        problem = .init(message: message, fields: fields.map { .init(additionalProperties: $0) })
    }

    static var badCursor: Refusal {
        Refusal(.unprocessableContent, "The page cannot be found.", fields: ["cursor": ["is not one of this listing"]])
    }

    var httpHeaderFields: HTTPFields { [.contentType: "application/json"] }
    var httpBody: HTTPBody? { (try? JSONEncoder().encode(problem)).map { HTTPBody($0) } }
}

/// The user who sends a request. It is the context of every operation.
package struct Caller: Sendable {
    /// The identifier of the user; empty for the operations that need no access token.
    var id: String

    package init(id: String = "") { self.id = id }
}

// MARK: Support

extension PeatedStub {
    /// Finds the user of the access token. Refuses a request without a valid token, unless the operation needs none.
    func caller(of call: ServerCall) throws -> Caller {
        let open = [Operations.Login.id, Operations.LoginWithGoogle.id, Operations.Refresh.id]
        if open.contains(call.operationID) { return Caller() }
        guard let authorization = call.request.headerFields[.authorization], authorization.hasPrefix("Bearer "),
            let token = state.accessTokens[String(authorization.dropFirst("Bearer ".count))],
            Date().timeIntervalSince(token.issued) < faults.tokenLifetime ?? .infinity
        else { throw Refusal(.unauthorized, "The access token is missing or has expired.") }
        return Caller(id: token.user)
    }

    func makeID() -> String {
        state.lastNumber += 1
        return "n\(state.lastNumber)"
    }

    func session(of user: User) throws -> Components.Schemas.Session {
        let access = "access-\(makeID())"
        let refresh = "refresh-\(makeID())"
        state.accessTokens[access] = StubState.AccessToken(user: user.id, issued: Date())
        state.refreshTokens[refresh] = user.id
        try save()
        return .init(user: user, accessToken: access, refreshToken: refresh)
    }

    func user(_ id: String) throws -> User {
        guard let user = state.users.first(where: { $0.id == id }) else {
            throw Refusal(.notFound, "There is no user \(id).")
        }
        return user
    }

    func bottle(_ id: String) throws -> Bottle {
        guard let bottle = state.bottles.first(where: { $0.id == id }) else {
            throw Refusal(.notFound, "There is no bottle \(id).")
        }
        return bottle
    }

    func index(of tasting: String) throws -> Int {
        guard let index = state.tastings.firstIndex(where: { $0.tasting.id == tasting }) else {
            throw Refusal(.notFound, "There is no tasting \(tasting).")
        }
        return index
    }

    /// A tasting as the caller sees it.
    func seen(_ stored: StubState.StoredTasting, by caller: Caller) -> Tasting {
        var tasting = stored.tasting
        tasting.toasts = stored.toastedBy.count
        tasting.hasToasted = stored.toastedBy.contains(caller.id)
        return tasting
    }

    func page<Element>(
        of all: [Element],
        from cursor: String?,
        limit: Int?
    ) throws -> (results: [Element], next: String?) {
        guard let start = Int(cursor ?? "0"), (0...all.count).contains(start) else {
            throw Refusal.badCursor
        }
        let end = min(start + max(1, min(limit ?? 20, 100)), all.count)
        return (Array(all[start..<end]), end < all.count ? String(end) : nil)
    }
}

import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Peated

/// The service with all its rules, in memory: for tests of the client, and to try the program.
///
/// It begins with some users, whose password is `peat`, five bottles and 45 tastings.
package actor PeatedStub {
    private var users: [User]
    private var bottles: [Bottle]
    /// Oldest first.
    private var tastings: [StoredTasting]
    private var accessTokens: [String: String] = [:]
    private var refreshTokens: [String: String] = [:]
    private var lastNumber = 0

    /// The number of requests to renew tokens.
    package private(set) var refreshCount = 0
    /// The pictures, by tasting.
    package private(set) var images: [String: Data] = [:]

    private struct StoredTasting {
        var tasting: Tasting
        var toastedBy: Set<String> = []
    }

    package init() {
        users = [
            User(id: "ada", username: "ada", displayName: "Ada"),
            User(id: "bob", username: "bob", displayName: "Bob"),
        ]
        bottles = [
            Bottle(id: "b1", name: "10", brand: "Ardbeg", category: .singleMalt, statedAge: 10),
            Bottle(id: "b2", name: "16", brand: "Lagavulin", category: .singleMalt, statedAge: 16),
            Bottle(id: "b3", name: "Black Label", brand: "Johnnie Walker", category: .blend, statedAge: 12),
            Bottle(id: "b4", name: "Rare Breed", brand: "Wild Turkey", category: .bourbon),
            Bottle(id: "b5", name: "Straight Rye", brand: "Pikesville", category: .rye, statedAge: 6),
        ]
        tastings = []
        for number in 1...45 {
            let tasting = Tasting(
                id: "t\(number)",
                bottle: bottles[number % bottles.count],
                author: users[number % users.count],
                notes: "Dram no. \(number)",
                rating: Double(number % 11) / 2,
                tags: [],
                toasts: 0,
                hasToasted: false,
                createdAt: Date(timeIntervalSince1970: 1_700_000_000 + Double(number) * 3600)
            )
            tastings.append(StoredTasting(tasting: tasting))
        }
    }

    /// Registers the operations, with the check of the access token.
    package nonisolated func register(on transport: any ServerTransport, serverURL: URL) throws {
        try registerHandlers(
            on: transport,
            serverURL: serverURL,
            middlewares: [ErrorHandlingMiddleware()],
            context: { call in try await self.caller(of: call) }
        )
    }

    /// Makes every access token expire, as the service does after some minutes.
    package func expireAccessTokens() {
        accessTokens = [:]
    }

    /// Makes all tokens invalid, as the service does for stolen accounts.
    package func revokeAll() {
        accessTokens = [:]
        refreshTokens = [:]
    }
}

/// An error response in the form of the document.
struct Refusal: Error, HTTPResponseConvertible {
    var httpStatus: HTTPResponse.Status
    var problem: Components.Schemas.Problem

    init(_ status: HTTPResponse.Status, _ message: String, fields: [String: [String]]? = nil) {
        httpStatus = status
        problem = .init(message: message, fields: fields.map { .init(additionalProperties: $0) })
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

// MARK: The operations

extension PeatedStub: ContextualAPIProtocol {
    package func login(
        _ input: Operations.Login.Input,
        context: Caller
    ) throws -> Operations.Login.Output {
        let login = try input.body.json
        var problems: [String: [String]] = [:]
        if !login.email.contains("@") { problems["email"] = ["is not an e-mail address"] }
        if login.password.isEmpty { problems["password"] = ["is empty"] }
        guard problems.isEmpty else { throw Refusal(.badRequest, "The login is incomplete.", fields: problems) }
        guard let user = users.first(where: { "\($0.id)@example.com" == login.email }), login.password == "peat" else {
            throw Refusal(.unauthorized, "The e-mail address or the password is wrong.")
        }
        return .ok(.init(body: .json(session(of: user))))
    }

    package func loginWithGoogle(
        _ input: Operations.LoginWithGoogle.Input,
        context: Caller
    ) throws -> Operations.LoginWithGoogle.Output {
        guard try input.body.json.code == "google-code-of-bob" else {
            throw Refusal(.unauthorized, "Google does not know the code.")
        }
        return .ok(.init(body: .json(session(of: users[1]))))
    }

    package func refresh(
        _ input: Operations.Refresh.Input,
        context: Caller
    ) throws -> Operations.Refresh.Output {
        refreshCount += 1
        guard let id = refreshTokens.removeValue(forKey: try input.body.json.refreshToken),
            let user = users.first(where: { $0.id == id })
        else { throw Refusal(.unauthorized, "The refresh token was used before or has expired.") }
        return .ok(.init(body: .json(session(of: user))))
    }

    package func getCurrentUser(
        _ input: Operations.GetCurrentUser.Input,
        context: Caller
    ) throws -> Operations.GetCurrentUser.Output {
        .ok(.init(body: .json(try user(context.id))))
    }

    package func getUser(
        _ input: Operations.GetUser.Input,
        context: Caller
    ) throws -> Operations.GetUser.Output {
        .ok(.init(body: .json(try user(input.path.userId))))
    }

    package func listBottles(
        _ input: Operations.ListBottles.Input,
        context: Caller
    ) throws -> Operations.ListBottles.Output {
        let words = (input.query.query ?? "").lowercased().split(separator: " ")
        let found = bottles.filter { bottle in
            let name = "\(bottle.brand) \(bottle.name)".lowercased()
            return words.allSatisfy { name.contains($0) }
        }
        let sorted = found.sorted { ($0.brand, $0.name) < ($1.brand, $1.name) }
        let (results, next) = try page(of: sorted, from: input.query.cursor, limit: input.query.limit)
        return .ok(.init(body: .json(.init(results: results, nextCursor: next))))
    }

    package func addBottle(
        _ input: Operations.AddBottle.Input,
        context: Caller
    ) throws -> Operations.AddBottle.Output {
        let new = try input.body.json
        var problems: [String: [String]] = [:]
        if new.name.isEmpty { problems["name"] = ["is empty"] }
        if new.brand.isEmpty { problems["brand"] = ["is empty"] }
        if let age = new.statedAge, age < 0 { problems["statedAge"] = ["is negative"] }
        guard problems.isEmpty else { throw Refusal(.badRequest, "The bottle is incomplete.", fields: problems) }
        let bottle = Bottle(
            id: makeID(),
            name: new.name,
            brand: new.brand,
            category: new.category,
            statedAge: new.statedAge
        )
        bottles.append(bottle)
        return .created(.init(body: .json(bottle)))
    }

    package func getBottle(
        _ input: Operations.GetBottle.Input,
        context: Caller
    ) throws -> Operations.GetBottle.Output {
        .ok(.init(body: .json(try bottle(input.path.bottleId))))
    }

    package func getFeed(
        _ input: Operations.GetFeed.Input,
        context: Caller
    ) throws -> Operations.GetFeed.Output {
        let wanted = tastings.reversed().filter { stored in
            switch input.query.filter ?? .global {
            case .global: true
            case .own: stored.tasting.author.id == context.id
            case .friends: stored.tasting.author.id != context.id
            }
        }
        let (results, next) = try page(
            of: wanted.map { seen($0, by: context) },
            from: input.query.cursor,
            limit: input.query.limit
        )
        return .ok(.init(body: .json(.init(results: results, nextCursor: next))))
    }

    package func addTasting(
        _ input: Operations.AddTasting.Input,
        context: Caller
    ) throws -> Operations.AddTasting.Output {
        let new = try input.body.json
        if let rating = new.rating, !(0...5).contains(rating) {
            throw Refusal(.badRequest, "The tasting is not valid.", fields: ["rating": ["is not from 0 to 5"]])
        }
        let tasting = Tasting(
            id: makeID(),
            bottle: try bottle(new.bottleId),
            author: try user(context.id),
            notes: new.notes,
            rating: new.rating,
            tags: new.tags ?? [],
            toasts: 0,
            hasToasted: false,
            createdAt: new.createdAt ?? Date()
        )
        tastings.append(StoredTasting(tasting: tasting))
        return .created(.init(body: .json(tasting)))
    }

    package func getTasting(
        _ input: Operations.GetTasting.Input,
        context: Caller
    ) throws -> Operations.GetTasting.Output {
        .ok(.init(body: .json(seen(tastings[try index(of: input.path.tastingId)], by: context))))
    }

    package func addToast(
        _ input: Operations.AddToast.Input,
        context: Caller
    ) throws -> Operations.AddToast.Output {
        let index = try index(of: input.path.tastingId)
        tastings[index].toastedBy.insert(context.id)
        return .ok(.init(body: .json(seen(tastings[index], by: context))))
    }

    package func removeToast(
        _ input: Operations.RemoveToast.Input,
        context: Caller
    ) throws -> Operations.RemoveToast.Output {
        let index = try index(of: input.path.tastingId)
        tastings[index].toastedBy.remove(context.id)
        return .ok(.init(body: .json(seen(tastings[index], by: context))))
    }

    package func uploadImage(
        _ input: Operations.UploadImage.Input,
        context: Caller
    ) async throws -> Operations.UploadImage.Output {
        let id = input.path.tastingId
        guard tastings[try index(of: id)].tasting.author.id == context.id else {
            throw Refusal(.forbidden, "The tasting is another user's.")
        }
        // Parts are read in the order in which they arrive, and while they arrive.
        var image = Data()
        for try await part in try input.body.multipartForm {
            switch part {
            case .image(let part): image = try await Data(collecting: part.payload.body, upTo: 10_000_000)
            case .caption(let part): _ = try await String(collecting: part.payload.body, upTo: 1000)
            case .undocumented(let part): _ = try await Data(collecting: part.body, upTo: 1000)
            }
        }
        images[id] = image
        let index = try index(of: id)
        tastings[index].tasting.imageUrl = "/images/\(id).jpg"
        return .ok(.init(body: .json(seen(tastings[index], by: context))))
    }
}

// MARK: Support

extension PeatedStub {
    /// Finds the user of the access token. Refuses a request without a valid token, unless the operation needs none.
    private func caller(of call: ServerCall) throws -> Caller {
        let open = [Operations.Login.id, Operations.LoginWithGoogle.id, Operations.Refresh.id]
        if open.contains(call.operationID) { return Caller() }
        guard let authorization = call.request.headerFields[.authorization], authorization.hasPrefix("Bearer "),
            let id = accessTokens[String(authorization.dropFirst("Bearer ".count))]
        else { throw Refusal(.unauthorized, "The access token is missing or has expired.") }
        return Caller(id: id)
    }

    private func makeID() -> String {
        lastNumber += 1
        return "n\(lastNumber)"
    }

    private func session(of user: User) -> Components.Schemas.Session {
        let access = "access-\(makeID())"
        let refresh = "refresh-\(makeID())"
        accessTokens[access] = user.id
        refreshTokens[refresh] = user.id
        return .init(user: user, accessToken: access, refreshToken: refresh)
    }

    private func user(_ id: String) throws -> User {
        guard let user = users.first(where: { $0.id == id }) else {
            throw Refusal(.notFound, "There is no user \(id).")
        }
        return user
    }

    private func bottle(_ id: String) throws -> Bottle {
        guard let bottle = bottles.first(where: { $0.id == id }) else {
            throw Refusal(.notFound, "There is no bottle \(id).")
        }
        return bottle
    }

    private func index(of tasting: String) throws -> Int {
        guard let index = tastings.firstIndex(where: { $0.tasting.id == tasting }) else {
            throw Refusal(.notFound, "There is no tasting \(tasting).")
        }
        return index
    }

    /// A tasting as the caller sees it.
    private func seen(_ stored: StoredTasting, by caller: Caller) -> Tasting {
        var tasting = stored.tasting
        tasting.toasts = stored.toastedBy.count
        tasting.hasToasted = stored.toastedBy.contains(caller.id)
        return tasting
    }

    private func page<Element>(
        of all: [Element],
        from cursor: String?,
        limit: Int?
    ) throws -> (results: [Element], next: String?) {
        guard let start = Int(cursor ?? "0"), (0...all.count).contains(start) else {
            throw Refusal(.badRequest, "The page cannot be found.", fields: ["cursor": ["is not one of this listing"]])
        }
        let end = min(start + max(1, min(limit ?? 20, 100)), all.count)
        return (Array(all[start..<end]), end < all.count ? String(end) : nil)
    }
}

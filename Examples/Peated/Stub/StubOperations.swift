import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Peated

extension PeatedStub: ContextualAPIProtocol {
    package func login(
        _ input: Operations.Login.Input,
        context: Caller
    ) throws -> Operations.Login.Output {
        let login = try input.body.json
        var problems: [String: [String]] = [:]
        if !login.email.contains("@") { problems["email"] = ["is not an e-mail address"] }
        if login.password.isEmpty { problems["password"] = ["is empty"] }
        guard problems.isEmpty else {
            throw Refusal(.unprocessableContent, "The login is incomplete.", fields: problems)
        }
        guard let user = state.users.first(where: { "\($0.id)@example.com" == login.email }), login.password == "peat"
        else {
            throw Refusal(.unauthorized, "The e-mail address or the password is wrong.")
        }
        return .ok(.init(body: .json(try session(of: user))))
    }

    package func loginWithGoogle(
        _ input: Operations.LoginWithGoogle.Input,
        context: Caller
    ) throws -> Operations.LoginWithGoogle.Output {
        guard try input.body.json.code == "google-code-of-bob" else {
            throw Refusal(.unauthorized, "Google does not know the code.")
        }
        return .ok(.init(body: .json(try session(of: state.users[1]))))
    }

    package func refresh(
        _ input: Operations.Refresh.Input,
        context: Caller
    ) throws -> Operations.Refresh.Output {
        refreshCount += 1
        guard !faults.refusesRenewals,
            let id = state.refreshTokens.removeValue(forKey: try input.body.json.refreshToken),
            let user = state.users.first(where: { $0.id == id })
        else { throw Refusal(.unauthorized, "The refresh token was used before or has expired.") }
        return .ok(.init(body: .json(try session(of: user))))
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
        let found = state.bottles.filter { bottle in
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
        guard problems.isEmpty else {
            throw Refusal(.unprocessableContent, "The bottle is incomplete.", fields: problems)
        }
        let bottle = Bottle(
            id: makeID(),
            name: new.name,
            brand: new.brand,
            category: new.category,
            statedAge: new.statedAge
        )
        state.bottles.append(bottle)
        try save()
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
        let wanted = Array(state.tastings.reversed()).filter { stored in
            switch input.query.filter ?? .global {
            case .global: true
            case .own: stored.tasting.author.id == context.id
            case .friends: stored.tasting.author.id != context.id
            }
        }
        // The cursor is the last tasting of the page before, so that a tasting which is added moves no page.
        var start = wanted.startIndex
        if let cursor = input.query.cursor {
            guard let last = wanted.firstIndex(where: { $0.tasting.id == cursor }) else { throw Refusal.badCursor }
            start = last + 1
        }
        let page = wanted[start...].prefix(max(1, min(input.query.limit ?? 20, 100)))
        let next = page.endIndex < wanted.endIndex ? page.last?.tasting.id : nil
        let results = page.map { seen($0, by: context) }
        return .ok(.init(body: .json(.init(results: results, nextCursor: next))))
    }

    package func addTasting(
        _ input: Operations.AddTasting.Input,
        context: Caller
    ) throws -> Operations.AddTasting.Output {
        let new = try input.body.json
        let tasting = try once(input.headers.idempotencyKey, by: context) { try insert(new, by: context) }
        return .created(.init(body: .json(tasting)))
    }

    package func getTasting(
        _ input: Operations.GetTasting.Input,
        context: Caller
    ) throws -> Operations.GetTasting.Output {
        .ok(.init(body: .json(seen(state.tastings[try index(of: input.path.tastingId)], by: context))))
    }

    package func addToast(
        _ input: Operations.AddToast.Input,
        context: Caller
    ) throws -> Operations.AddToast.Output {
        let tasting = try once(input.headers.idempotencyKey, by: context) {
            let index = try index(of: input.path.tastingId)
            state.tastings[index].toastedBy.insert(context.id)
            return seen(state.tastings[index], by: context)
        }
        return .ok(.init(body: .json(tasting)))
    }

    package func removeToast(
        _ input: Operations.RemoveToast.Input,
        context: Caller
    ) throws -> Operations.RemoveToast.Output {
        let tasting = try once(input.headers.idempotencyKey, by: context) {
            let index = try index(of: input.path.tastingId)
            state.tastings[index].toastedBy.remove(context.id)
            return seen(state.tastings[index], by: context)
        }
        return .ok(.init(body: .json(tasting)))
    }

    package func uploadImage(
        _ input: Operations.UploadImage.Input,
        context: Caller
    ) async throws -> Operations.UploadImage.Output {
        let id = input.path.tastingId
        guard state.tastings[try index(of: id)].tasting.author.id == context.id else {
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
        state.images[id] = image
        let index = try index(of: id)
        state.tastings[index].tasting.setImage(id)
        try save()
        return .ok(.init(body: .json(seen(state.tastings[index], by: context))))
    }

    package func getUpload(
        _ input: Operations.GetUpload.Input,
        context: Caller
    ) throws -> Operations.GetUpload.Output {
        .ok(.init(body: .json(upload(input.path.digest, of: context))))
    }

    package func continueUpload(
        _ input: Operations.ContinueUpload.Input,
        context: Caller
    ) async throws -> Operations.ContinueUpload.Output {
        guard case .binary(let body) = input.body else { throw Refusal(.badRequest, "The body has no bytes.") }
        let piece = try await Data(collecting: body, upTo: StubState.largestImage)
        try receive(piece, input.path.digest, at: input.query.offset, of: input.query.size, by: context)
        return .ok(.init(body: .json(upload(input.path.digest, of: context))))
    }

    package func getImage(
        _ input: Operations.GetImage.Input,
        context: Caller
    ) throws -> Operations.GetImage.Output {
        guard let image = state.images[input.path.imageId] else {
            throw Refusal(.notFound, "There is no picture \(input.path.imageId).")
        }
        return .ok(.init(body: .jpeg(HTTPBody(image))))
    }
}

import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Handlers that get a context for each request: `handlerContext: true`.
struct HandlerContextTests {
    private func transport(
        answering media: @escaping ContextualService<String>.MediaHandler,
        middlewares: [any ServerMiddleware] = [ErrorHandlingMiddleware()],
        context: @escaping ServerOperation<String>.ContextProvider
    ) throws -> InProcessTransport {
        let transport = InProcessTransport()
        try ContextualService(media: media)
            .registerHandlers(on: transport, middlewares: middlewares, context: context)
        return transport
    }

    private func answer(
        _ body: HTTPBody,
        middlewares: [any ServerMiddleware] = [ErrorHandlingMiddleware()],
        _ media: @escaping ContextualService<String>.MediaHandler,
        context: @escaping ServerOperation<String>.ContextProvider
    ) async throws -> Message {
        let request = HTTPRequest(
            method: .post,
            scheme: nil,
            authority: nil,
            path: "/media",
            headerFields: [.contentType: "image/png", .authorization: "Ada"]
        )
        let (response, body) = try await transport(answering: media, middlewares: middlewares, context: context)
            .send(request, body: body, baseURL: .defaultOpenAPIServerURL, operationID: "")
        return try await Message(start: String(response.status.code), response.headerFields, body)
    }

    @Test func theHandlerIsGivenTheContextOfItsRequest() async throws {
        let given = Mutex("")
        let message = try await answer("png") { _, context in
            given.withLock { $0 = context }
            return .noContent
        } context: { call in
            "\(call.request.headerFields[.authorization] ?? "no one") calls \(call.operationID) by \(call.request.method)"
        }
        #expect(message == Message(start: "204"))
        #expect(given.withLock { $0 } == "Ada calls send_media by POST")
    }

    @Test func theContextKnowsThePathParameters() async throws {
        let transport = InProcessTransport()
        let seen = Mutex("")
        try ContextualService<Int>().registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()]) { call in
            seen.withLock { $0 = "\(call.metadata)" }
            return 1
        }
        let client = Client(serverURL: .defaultOpenAPIServerURL, transport: transport)
        _ = try await client.getV1AccountThings(path: .init(account: "a b"))
        #expect(seen.withLock { $0 } == "path parameters: [account: a b]")
    }

    // MARK: Failures

    @Test func anErrorOfTheContextSaysHowToAnswer() async throws {
        let message = try await answer("png") { _, _ in
            .noContent
        } context: { _ in
            throw NoKey()
        }
        #expect(message == Message(start: "401", fields: ["www-authenticate": "Key"], body: "no key"))
    }

    @Test func anyOtherErrorOfTheContextIsAnErrorOfTheServer() async throws {
        struct NoDatabase: Error {}
        let noticing = Noticing()
        let message = try await answer("png", middlewares: [ErrorHandlingMiddleware(), noticing]) { _, _ in
            .noContent
        } context: { _ in
            throw NoDatabase()
        }
        #expect(message == Message(start: "500"))
        let error = noticing.error.withLock { $0 } as? ServerError
        #expect(error?.causeDescription == "The context could not be made")
        #expect(error?.underlyingError is NoDatabase)
        #expect(error?.httpStatus == .internalServerError)
        #expect(error?.operationInput == nil)
    }

    // MARK: Middlewares and bodies

    @Test func middlewaresComeBeforeTheContext() async throws {
        let letIn = Rewriting { request, _ in request.headerFields[.authorization]?.append(", let in") }
        let message = try await answer("png", middlewares: [letIn]) { _, context in
            #expect(context == "Ada, let in")
            return .noContent
        } context: { call in
            call.request.headerFields[.authorization] ?? ""
        }
        #expect(message == Message(start: "204"))
    }

    @Test func aBodyIsLeftToTheHandlerAsItArrives() async throws {
        let message = try await answer(.dripping("png")) { input, _ in
            guard case .image_Ast_(let body) = input.body else { throw UnexpectedCall() }
            #expect(body.iterationBehavior == .single)
            #expect(try await text(body) == "png")
            return .noContent
        } context: { call in
            "\(call.body == nil)"
        }
        #expect(message == Message(start: "204"))
    }

    @Test func aMiddlewareMakesTheBodyReadableForContextAndHandler() async throws {
        let collecting = Rewriting { _, body in body = HTTPBody(try await text(body)) }
        let message = try await answer(.dripping("png"), middlewares: [collecting]) { input, context in
            guard case .image_Ast_(let body) = input.body else { throw UnexpectedCall() }
            #expect(try await text(body) == context)
            return .noContent
        } context: { call in
            try await text(call.body)
        }
        #expect(message == Message(start: "204"))
    }

    // MARK: Operations as values

    @Test func operationsAreCalledWithAContext() async throws {
        let service = ContextualService<String> { _, context in
            #expect(context == "of the caller's own")
            return .noContent
        }
        let operations = try service.operations(serverURL: .init(string: "https://example.com/v1")!)
        #expect(
            operations.map { "\($0.id): \($0.method) \($0.path)" } == [
                "get-user.post: GET /v1/users/{user_id}/posts/{post-id}.json",
                "get/v1/{account}/things: GET /v1/v1/{account}/things", "HTTPSConnection: GET /v1/connections",
                "doIt: POST /v1/connections", "send_media: POST /v1/media", "sendParts: POST /v1/parts",
                "exchange: POST /v1/sample",
            ]
        )
        let sendMedia = try #require(operations.first { $0.id == Operations.SendMedia.id })
        let (response, _) = try await sendMedia.respond(
            to: HTTPRequest(
                method: .post,
                scheme: nil,
                authority: nil,
                path: "/v1/media",
                headerFields: [.contentType: "image/png"]
            ),
            body: "png",
            metadata: ServerRequestMetadata(),
            context: "of the caller's own"
        )
        #expect(response.status == .noContent)
    }
}

/// An error that defines its response.
private struct NoKey: Error, HTTPResponseConvertible {
    var httpStatus: HTTPResponse.Status { .unauthorized }
    var httpHeaderFields: HTTPFields { [.wwwAuthenticate: "Key"] }
    var httpBody: HTTPBody? { "no key" }
}

/// Keeps the last error.
private final class Noticing: ServerMiddleware {
    let error = Mutex<(any Error)?>(nil)

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        do {
            return try await next(request, body, metadata)
        } catch {
            self.error.withLock { $0 = error }
            throw error
        }
    }
}

/// Changes requests before they are passed on.
private struct Rewriting: ServerMiddleware {
    var change: @Sendable (inout HTTPRequest, inout HTTPBody?) async throws -> Void

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request = request
        var body = body
        try await change(&request, &body)
        return try await next(request, body, metadata)
    }
}

/// A service with handlers for two of its operations.
private struct ContextualService<Context: Sendable>: ContextualAPIProtocol {
    typealias MediaHandler =
        @Sendable (Operations.SendMedia.Input, Context) async throws -> Operations.SendMedia.Output

    var media: MediaHandler = { _, _ in throw UnexpectedCall() }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func getUser_post(
        _ input: Operations.GetUser_post.Input,
        context: Context
    ) async throws -> Operations.GetUser_post.Output {
        throw UnexpectedCall()
    }

    func getV1AccountThings(
        _ input: Operations.GetV1AccountThings.Input,
        context: Context
    ) async throws -> Operations.GetV1AccountThings.Output {
        .undocumented(statusCode: 204, .init())
    }

    func httpsConnection(
        _ input: Operations.HTTPSConnection.Input,
        context: Context
    ) async throws -> Operations.HTTPSConnection.Output {
        throw UnexpectedCall()
    }

    func performIt(_ input: Operations.performIt.Input, context: Context) async throws -> Operations.performIt.Output {
        throw UnexpectedCall()
    }

    func sendMedia(_ input: Operations.SendMedia.Input, context: Context) async throws -> Operations.SendMedia.Output {
        try await media(input, context)
    }

    func sendParts(_ input: Operations.SendParts.Input, context: Context) async throws -> Operations.SendParts.Output {
        throw UnexpectedCall()
    }

    func exchange(_ input: Operations.Exchange.Input, context: Context) async throws -> Operations.Exchange.Output {
        throw UnexpectedCall()
    }
}

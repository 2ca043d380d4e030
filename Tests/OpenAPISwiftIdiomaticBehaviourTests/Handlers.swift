import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A closure that responds to the calls of one operation.
typealias Handler<Input, Output> = @Sendable (Input) async throws -> Output

/// An operation was called for which the test has no handler.
struct UnexpectedCall: Error {}

@Sendable private func unexpected<Input, Output>(_ input: Input) async throws -> Output {
    throw UnexpectedCall()
}

/// The handlers of a server. A test sets those of the operations that it uses.
struct Handlers: Sendable {
    var getPost: Handler<Operations.GetUser_post.Input, Operations.GetUser_post.Output> = unexpected
    var getThings: Handler<Operations.GetV1AccountThings.Input, Operations.GetV1AccountThings.Output> = unexpected
    var connect: Handler<Operations.HTTPSConnection.Input, Operations.HTTPSConnection.Output> = unexpected
    var performIt: Handler<Operations.performIt.Input, Operations.performIt.Output> = unexpected
    var sendMedia: Handler<Operations.SendMedia.Input, Operations.SendMedia.Output> = unexpected
    var sendParts: Handler<Operations.SendParts.Input, Operations.SendParts.Output> = unexpected
    var exchange: Handler<Operations.Exchange.Input, Operations.Exchange.Output> = unexpected

    /// A client that calls these handlers in the same process.
    func client() throws -> Client {
        let transport = InProcessTransport()
        try Service(handlers: self).registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        return Client(serverURL: .defaultOpenAPIServerURL, transport: transport)
    }

    /// Responds to one request in its HTTP form.
    func answer(
        _ method: HTTPRequest.Method,
        _ target: String,
        _ fields: HTTPFields = [:],
        _ body: HTTPBody? = nil
    ) async throws -> Message {
        try await OpenAPISwiftBehaviourSupport.answer(method, target, fields, body) { transport in
            try Service(handlers: self).registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        }
    }
}

/// Implements the generated protocol with the handlers.
struct Service: APIProtocol {
    var handlers: Handlers

    // swift-format-ignore: AlwaysUseLowerCamelCase
    func getUser_post(_ input: Operations.GetUser_post.Input) async throws -> Operations.GetUser_post.Output {
        try await handlers.getPost(input)
    }

    func getV1AccountThings(
        _ input: Operations.GetV1AccountThings.Input
    ) async throws -> Operations.GetV1AccountThings.Output {
        try await handlers.getThings(input)
    }

    func httpsConnection(_ input: Operations.HTTPSConnection.Input) async throws -> Operations.HTTPSConnection.Output {
        try await handlers.connect(input)
    }

    func performIt(_ input: Operations.performIt.Input) async throws -> Operations.performIt.Output {
        try await handlers.performIt(input)
    }

    func sendMedia(_ input: Operations.SendMedia.Input) async throws -> Operations.SendMedia.Output {
        try await handlers.sendMedia(input)
    }

    func sendParts(_ input: Operations.SendParts.Input) async throws -> Operations.SendParts.Output {
        try await handlers.sendParts(input)
    }

    func exchange(_ input: Operations.Exchange.Input) async throws -> Operations.Exchange.Output {
        try await handlers.exchange(input)
    }
}

extension Wire {
    func client(configuration: Configuration = .init()) -> Client {
        Client(serverURL: .defaultOpenAPIServerURL, configuration: configuration, transport: self)
    }
}

/// The input that the server reads from a request before it calls the handler.
func received<Input: Sendable, Output>(
    _ operation: WritableKeyPath<Handlers, Handler<Input, Output>>,
    _ method: HTTPRequest.Method,
    _ target: String,
    _ fields: HTTPFields = [:],
    _ body: HTTPBody? = nil
) async throws -> Input {
    let kept = Kept<Input>()
    var handlers = Handlers()
    handlers[keyPath: operation] = { input in
        kept.value = input
        throw UnexpectedCall()
    }
    let answer: Message = try await handlers.answer(method, target, fields, body)
    return try #require(kept.value, "The handler was not called, the answer is \(answer)")
}

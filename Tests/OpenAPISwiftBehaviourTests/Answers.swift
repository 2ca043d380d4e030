import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Wire {
    func client(configuration: Configuration = .init()) -> Client {
        Client(serverURL: .defaultOpenAPIServerURL, configuration: configuration, transport: self)
    }
}

extension Handlers {
    /// Responds to one request in its HTTP form.
    func answer(
        _ method: HTTPRequest.Method,
        _ target: String,
        _ fields: HTTPFields = [:],
        _ body: HTTPBody? = nil,
        configuration: Configuration = .init(),
        middlewares: [any ServerMiddleware] = [ErrorHandlingMiddleware()]
    ) async throws -> Message {
        try await OpenAPISwiftBehaviourSupport.answer(method, target, fields, body) { transport in
            try Service(handlers: self).registerHandlers(
                on: transport,
                configuration: configuration,
                middlewares: middlewares
            )
        }
    }
}

/// The input that the server reads from a request before it calls the handler.
func received<Input: Sendable, Output>(
    _ operation: WritableKeyPath<Handlers, Handler<Input, Output>>,
    _ method: HTTPRequest.Method,
    _ target: String,
    _ fields: HTTPFields = [:],
    _ body: HTTPBody? = nil,
    configuration: Configuration = .init(),
    middlewares: [any ServerMiddleware] = []
) async throws -> Input {
    let kept = Kept<Input>()
    var handlers = Handlers()
    handlers[keyPath: operation] = { input in
        kept.value = input
        throw UnexpectedCall()
    }
    let answer: Message = try await handlers.answer(
        method,
        target,
        fields,
        body,
        configuration: configuration,
        middlewares: [ErrorHandlingMiddleware()] + middlewares
    )
    return try #require(kept.value, "The handler was not called, the answer is \(answer)")
}

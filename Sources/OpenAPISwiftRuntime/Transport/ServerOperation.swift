public import HTTPTypes

/// An operation of a generated server whose handler takes a context.
///
/// A context is a value that belongs to one request and does not come from the document: the authenticated caller, a
/// database connection, a trace. The configuration key `handlerContext` makes the generator declare
/// `ContextualAPIProtocol`, whose methods take one:
///
/// ```swift
/// struct Archive: ContextualAPIProtocol {
///     func getSighting(
///         _ input: Operations.GetSighting.Input,
///         context: Caller
///     ) async throws -> Operations.GetSighting.Output { … }
/// }
/// ```
///
/// `registerHandlers(on:serverURL:configuration:middlewares:context:)` makes the context of each request with a
/// closure. A program that routes requests itself, or must know the context outside of the handler too, takes
/// `operations(serverURL:configuration:middlewares:)` instead and calls ``respond(to:body:metadata:context:)`` with a
/// value.
public struct ServerOperation<Context: Sendable>: Sendable {
    /// Makes the context of a call.
    ///
    /// The type says `@concurrent` so that it means the same in every module, whatever the isolation a module gives to
    /// its asynchronous function types by default.
    public typealias ContextProvider = @concurrent @Sendable (ServerCall) async throws -> Context

    typealias Run =
        @Sendable (HTTPRequest, HTTPBody?, ServerRequestMetadata, ContextSource<Context>) async throws -> (
            HTTPResponse, HTTPBody?
        )

    /// The name of the operation in the document.
    public let id: String

    /// The method of the operation.
    public let method: HTTPRequest.Method

    /// The path of the operation as in the document, below the path of the server's URL: `/pets/{petId}`.
    public let path: String

    private let run: Run

    init(id: String, method: HTTPRequest.Method, path: String, run: @escaping Run) {
        self.id = id
        self.method = method
        self.path = path
        self.run = run
    }

    /// Answers one request: runs the middlewares, reads the request, calls the handler and writes the response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The body of the request, or nil if it has none. It is not read before the handler asks for it.
    ///   - metadata: The values of the placeholders in ``path``.
    ///   - context: The value that the handler is given.
    /// - Returns: The response and its body.
    /// - Throws: A ``ServerError``, unless a middleware turns it into a response.
    public func respond(
        to request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        context: Context
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await run(request, body, metadata, .value(context))
    }

    /// Registers the operation on a transport.
    ///
    /// - Parameters:
    ///   - transport: What receives requests.
    ///   - context: Makes the context of each call, inside of the middlewares and before the request is read. What it
    ///     throws is treated as an error of the handler: one that conforms to ``HTTPResponseConvertible`` says how to
    ///     answer.
    /// - Throws: What the transport throws.
    public func register(on transport: any ServerTransport, context: @escaping ContextProvider) throws {
        try register(on: transport, context: .provider(context))
    }

    func register(on transport: any ServerTransport, context: ContextSource<Context>) throws {
        let run = run
        try transport.register(
            { (request, body, metadata) in try await run(request, body, metadata, context) },
            method: method,
            path: path
        )
    }
}

/// A call of an operation as it reached the server, after the middlewares and before the request is read.
///
/// A body that can be read only once must be left to the handler. To look into it, for a signature over its bytes for
/// instance, put a middleware around the operations that collects it and passes on `HTTPBody(bytes)`, which can be read
/// any number of times.
public struct ServerCall: Sendable {
    /// The name of the operation in the document.
    public var operationID: String

    /// The request.
    public var request: HTTPRequest

    /// The body of the request, or nil if it has none.
    public var body: HTTPBody?

    /// The path parameters of the request.
    public var metadata: ServerRequestMetadata
}

/// Where the context of a call comes from.
enum ContextSource<Context: Sendable>: Sendable {
    case value(Context)
    case provider(ServerOperation<Context>.ContextProvider)
}

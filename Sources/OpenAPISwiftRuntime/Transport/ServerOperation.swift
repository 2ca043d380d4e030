public import HTTPTypes

/// An operation of a generated server whose handler takes a context.
///
/// A context is a value that belongs to one request and that the document does not describe: the authenticated caller,
/// a database connection, a trace. With the configuration key `handlerContext`, the generator declares
/// `ContextualAPIProtocol`, whose methods take a context:
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
/// `registerHandlers(on:serverURL:configuration:middlewares:context:)` creates the context of each request with a
/// closure. A program that routes requests itself, or needs the context outside of the handler, too, uses
/// `operations(serverURL:configuration:middlewares:)` instead, and calls ``respond(to:body:metadata:context:)`` with a
/// value.
public struct ServerOperation<Context: Sendable>: Sendable {
    /// Creates the context of a call.
    ///
    /// The type is `@concurrent`, so that it means the same in every module: the default isolation of asynchronous
    /// function types depends on the module.
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
    ///   - context: The context that the handler receives.
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
    ///   - transport: The transport that receives requests.
    ///   - context: Creates the context of each call, inside of the middlewares and before the request is read. An
    ///     error that it throws is treated as an error of the handler. If the error conforms to
    ///     ``HTTPResponseConvertible``, it decides the response.
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
/// Do not read a body that can be read only once: the handler needs it. If you need its bytes, to check a signature for
/// instance, use a middleware that collects the body and passes on `HTTPBody(bytes)`, which can be read any number of
/// times.
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

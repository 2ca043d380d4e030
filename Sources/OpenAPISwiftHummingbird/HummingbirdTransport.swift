public import HTTPTypes
public import Hummingbird
import NIOCore
public import OpenAPISwiftRuntime
import Synchronization

/// Serves the operations of a generated server with Hummingbird.
///
/// ```swift
/// let router = Router()
/// let transport = HummingbirdTransport(router)
/// try PetStore().registerHandlers(on: transport, serverURL: URL(string: "/v1")!)
/// router.get("health") { _, _ in HTTPResponse.Status.ok }
///
/// try await Application(router: router).runService()
/// // GET /v1/pets/a%2Fb   is answered by the handler of getPet, with the petId "a/b"
/// // GET /health          is answered by Hummingbird
/// ```
///
/// The transport adds one middleware to the router. Requests for registered operations end there; all others go on to Hummingbird. As
/// with any middleware of Hummingbird, those added to the router before the transport see the requests of operations, and those added
/// after it do not. A path that is known here with another method is answered by 405 and `allow`, unless Hummingbird has a route for it.
///
/// Bodies stream both ways: a request is handed over while it is still arriving, as fast as the handler reads it, and a response is read
/// as fast as the client takes it. How much of a request is brought into memory is `maximumBufferedBytes` of the handlers' configuration;
/// a body that streams is the handler's to limit. What a handler leaves unread is passed over, and the connection serves the next request.
///
/// When a client goes away, the tasks of handler and response body are cancelled if the context of the router is a
/// ``ConnectionRequestContext``. With other contexts the handler's next read of the request throws, and a response body is given up at
/// its next chunk.
///
/// An error that no middleware handled is Hummingbird's to answer: by 500, or as the error itself says if it is an `HTTPResponseError`.
public struct HummingbirdTransport<Context: RequestContext>: ServerTransport, Sendable {

    private let routes = Routes()

    /// Creates a transport on a router.
    /// - Parameter router: The router that gets the transport's middleware.
    public init(_ router: Router<Context>) {
        router.add(middleware: OperationMiddleware<Context>(routes: routes))
    }

    /// Registers the handler of an operation.
    /// - Parameters:
    ///   - handler: What answers the request.
    ///   - method: The method of the operation.
    ///   - path: The path of the operation; placeholders such as `{petId}` may stand anywhere in a segment.
    /// - Throws: `RouteError` if the path is not a template or has a handler for the method already.
    public func register(_ handler: @escaping Handler, method: HTTPRequest.Method, path: String) throws {
        try routes.router.withLock { router in
            try router.add(handler, method: method, template: path)
        }
    }
}

/// The handlers, shared between the transport they are registered on and the middleware that calls them.
private final class Routes: Sendable {
    let router = Mutex(PathRouter<ServerTransport.Handler>())
}

private struct OperationMiddleware<Context: RequestContext>: RouterMiddleware {

    let routes: Routes

    func handle(
        _ request: Request,
        context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let router = routes.router.withLock { $0 }
        switch router.match(request.method, request.head.path ?? "/") {
        case .found(let handler, let template, let parameters):
            context.coreContext.endpointPath.value = template
            let metadata = ServerRequestMetadata(pathParameters: parameters)
            guard let channel = (context as? any ConnectionRequestContext)?.channel else {
                return try await answer(request, metadata: metadata, by: handler)
            }
            let connection = await Connection.of(channel)
            return try await connection.withCancellationOnClose {
                try await answer(request, metadata: metadata, by: handler, on: connection)
            }
        case .methodNotAllowed(let allowed):
            do {
                return try await next(request, context)
            } catch let error as HTTPError where error.status == .notFound && context.endpointPath == "NotFound" {
                // Hummingbird knows no route for the request either.
                let methods = allowed.map(\.rawValue).joined(separator: ", ")
                return Response(status: .methodNotAllowed, headers: [.allow: methods])
            }
        case .notFound:
            return try await next(request, context)
        }
    }

    private func answer(
        _ request: Request,
        metadata: ServerRequestMetadata,
        by handler: ServerTransport.Handler,
        on connection: Connection? = nil
    ) async throws -> Response {
        do {
            let (response, body) = try await handler(request.head, HTTPBody(of: request), metadata)
            return Response(response, body: body, to: request.head, on: connection)
        } catch let error as ServerError {
            // An error of Hummingbird's own knows its response.
            throw error.underlyingError as? any HTTPResponseError ?? error
        }
    }
}

extension HTTPBody {

    /// The body of a request, or nil if it has none.
    ///
    /// Clients announce the length 0 with requests that have no body, so an empty body counts only if it has a type.
    fileprivate convenience init?(of request: Request) {
        let fields = request.headers
        let length = fields[.contentLength].flatMap { Int64($0) }
        guard length ?? 0 > 0 || fields[.contentType] != nil || fields[.transferEncoding] != nil else { return nil }
        if length == 0 {
            self.init()
        } else {
            self.init(
                request.body.map { ArraySlice($0.readableBytesView) },
                length: length.map { .known($0) } ?? .unknown,
                iterationBehavior: .single
            )
        }
    }
}

extension Response {

    fileprivate init(_ response: HTTPResponse, body: HTTPBody?, to request: HTTPRequest, on connection: Connection?) {
        guard response.mayHaveBody(toRequest: request) else {
            let length = response.headerFields[.contentLength]
            self.init(status: response.status, headers: response.headerFields)
            // Without this Hummingbird would announce the length 0.
            headers[.contentLength] = request.method == .head ? length : nil
            return
        }
        self.init(status: response.status, headers: response.headerFields, body: Self.body(body, on: connection))
    }

    private static func body(_ body: HTTPBody?, on connection: Connection?) -> ResponseBody {
        guard let body else { return ResponseBody() }
        if let bytes = body.bufferedBytes {
            return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        }
        var length: Int?
        if case .known(let known) = body.length { length = Int(exactly: known) }
        return ResponseBody(contentLength: length) { writer in
            guard let connection else {
                try await writer.write(chunksOf: body, on: nil)
                return
            }
            // Only the task has the writer until it ends, and its end is awaited.
            nonisolated(unsafe) let shared = writer
            try await connection.withCancellationOnClose {
                var writer = shared
                try await writer.write(chunksOf: body, on: connection.eventLoop)
            }
        }
    }
}

extension ResponseBodyWriter {

    /// Writes a whole body, as fast as the connection and the event loop behind it take the chunks.
    @concurrent mutating func write(chunksOf body: HTTPBody, on eventLoop: (any EventLoopGroup)?) async throws {
        var count = 0
        for try await chunk in body {
            try await write(ByteBuffer(bytes: chunk))
            count += chunk.count
            // Chunks that come faster than the loop runs would pile up before it can say that the connection takes no more.
            if count >= 1 << 20 {
                count = 0
                try await eventLoop?.any().submit {}.get()
            }
        }
        // A stream that ends because it was cancelled is not the whole body.
        try Task.checkCancellation()
        try await finish(nil)
    }
}

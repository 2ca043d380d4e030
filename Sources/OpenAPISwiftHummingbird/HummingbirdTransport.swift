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
/// The transport adds one middleware to the router. It handles the requests for registered operations, and passes all
/// others on to Hummingbird. As usual in Hummingbird, middlewares that were added to the router before the transport
/// see the requests for operations, and those added after it do not. If a path is registered only with other methods,
/// the response is 405 with `allow`, unless Hummingbird has a route for the request.
///
/// Bodies stream both ways: a handler reads a request while it is still arriving, and a response is read as fast as the
/// client receives it. `maximumBufferedBytes` of the handlers' configuration limits how much of a request is collected
/// in memory; a handler has to limit a streamed body itself. Bytes that a handler does not read are skipped, and the
/// connection serves the next request.
///
/// When a client closes the connection, the tasks of handler and response body are cancelled if the context of the
/// router is a ``ConnectionRequestContext``. With other contexts, the handler's next read of the request throws, and a
/// response body ends at its next chunk.
///
/// Hummingbird responds to an error that no middleware handled: with 500, or with the error's own response if it is an
/// `HTTPResponseError`.
public struct HummingbirdTransport<Context: RequestContext>: ServerTransport, Sendable {

    private let routes = Routes()

    /// Creates a transport on a router.
    /// - Parameter router: The router that gets the transport's middleware.
    public init(_ router: Router<Context>) {
        router.add(middleware: OperationMiddleware<Context>(routes: routes))
    }

    /// Registers the handler of an operation.
    /// - Parameters:
    ///   - handler: The function that handles the request.
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
            return try await Connection.of(channel).withCancellationOnClose {
                try await answer(request, metadata: metadata, by: handler, on: channel)
            }
        case .methodNotAllowed(let allowed):
            do {
                return try await next(request, context)
            } catch let error as HTTPError where error.status == .notFound && context.endpointPath == "NotFound" {
                // Hummingbird has no route for the request either.
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
        on channel: (any Channel)? = nil
    ) async throws -> Response {
        do {
            let (response, body) = try await handler(request.head, HTTPBody(of: request), metadata)
            return Response(response, body: body, to: request.head, on: channel)
        } catch let error as ServerError {
            // An error of Hummingbird describes its own response.
            throw error.underlyingError as? any HTTPResponseError ?? error
        }
    }
}

import CloudKitEmulator
import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime

/// The endpoints that are served, by path.
struct Endpoints: Sendable {
    struct Route: Sendable {
        var method: HTTPRequest.Method
        var path: String
    }

    /// Every method and path that is answered.
    private(set) var routes: [Route] = []
    private var router = PathRouter<ServerTransport.Handler>()

    init(of handlers: EndpointHandlers) throws {
        let registrations = Registrations()
        // The service's own replies are spaced out for people; nobody who reads them by program will miss that.
        try handlers.registerHandlers(on: registrations, configuration: Configuration(jsonEncodingOptions: []))
        for (handler, method, path) in registrations.all {
            try add(handler, method, path)
            // A list answers POST with the body `{}`, too: so Apple's web apps ask (recorded for zones/list). With
            // users/discover that is another operation.
            let hasPost = registrations.all.contains { $0.path == path && $0.method == .post }
            if method == .get, !hasPost { try add({ try await handler($0.asGet, nil, $2) }, .post, path) }
        }
        for path in Set(routes.map(\.path)).sorted() { routes.append(Route(method: .options, path: path)) }
    }

    private mutating func add(
        _ handler: @escaping ServerTransport.Handler,
        _ method: HTTPRequest.Method,
        _ path: String
    ) throws {
        try router.add(handler, method: method, template: path)
        routes.append(Route(method: method, path: path))
    }

    /// Finds what answers a request; for OPTIONS, whatever answers its path.
    func find(_ request: HTTPRequest) throws(Refusal) -> (ServerTransport.Handler, ServerRequestMetadata) {
        let path = request.path ?? "/"
        var match = router.match(request.method, path)
        if request.method == .options, case .methodNotAllowed(let allowed) = match, let other = allowed.first {
            match = router.match(other, path)
        }
        switch match {
        case .found(let handler, _, let parameters) where parameters["version"] == "1":
            return (handler, ServerRequestMetadata(pathParameters: parameters))
        case .methodNotAllowed(let allowed):
            throw .methodNotAllowed(allowed: allowed)
        case .notFound where Self.isMisplacedToken(path):
            throw .methodNotAllowed(allowed: [])
        case .found, .notFound:
            throw Refusal(EmulatorError.noHandler)
        }
    }

    /// Whether the path is where Apple's page has the device tokens: below `/database`, where nothing but OPTIONS is taken
    /// (observed live).
    private static func isMisplacedToken(_ path: String) -> Bool {
        let parts = path.prefix { $0 != "?" }.split(separator: "/")
        return parts.first == "database" && parts.dropLast().last == "tokens"
            && ["create", "register"].contains(parts.last)
    }

    /// Collects what generated code registers.
    private final class Registrations: ServerTransport {
        var all: [(handler: Handler, method: HTTPRequest.Method, path: String)] = []

        func register(_ handler: @escaping Handler, method: HTTPRequest.Method, path: String) {
            all.append((handler, method, path))
        }
    }
}

extension HTTPRequest {
    /// Takes from the request what the service does not mind and generated code does.
    ///
    /// The service insists on no content type and always answers in JSON. It ignores query items without a value, and it
    /// takes the `True` of Python for `true` (recorded: `remapEnums=True&getCurrentSyncToken=True`).
    mutating func relaxForGeneratedCode() {
        headerFields[.accept] = nil
        headerFields[.contentType] = "application/json"
        guard let path, let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return }
        var isChanged = false
        let items = path.queryItems.compactMap { item -> Substring? in
            let value = item.firstIndex(of: UInt8(ascii: "=")).map { item[$0...] }
            guard let value, !value.elementsEqual("=True".utf8), !value.elementsEqual("=False".utf8) else {
                isChanged = true
                return value.map { Substring(item.dropLast($0.count)) + String(Substring($0)).lowercased() }
            }
            return Substring(item)
        }
        if isChanged { self.path = path[...mark] + items.joined(separator: "&") }
    }

    fileprivate var asGet: HTTPRequest {
        var request = self
        request.method = .get
        return request
    }
}

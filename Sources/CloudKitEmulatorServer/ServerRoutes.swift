import CloudKitEmulator
import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime

/// The destinations of the server's requests, by method and path.
struct ServerRoutes: Sendable {
    /// The part of the server that answers the requests to a path.
    enum Destination: Sendable {
        /// An operation of the document.
        case operation(ServerOperation<RequestContext>)
        /// The path that Apple's page gives for device tokens. The service accepts only OPTIONS there (observed live).
        case misplacedToken
        case assetUpload
        case assetDownload
        case signInPage
        case courier
        /// A file of the console's page.
        case page
        /// An operation of the administration; `nil` for a path that it does not have.
        case administration(ServerOperation<AdministrationHost>?)
    }

    /// The result of ``match(_:)``.
    struct Match: Sendable {
        /// `nil` for a path that is not served.
        var destination: Destination?
        /// The values of the path's placeholders.
        var parameters: [String: Substring] = [:]
        /// The methods that are served at the path, where the request has another method; `nil` otherwise.
        var allowedMethods: [HTTPRequest.Method]?
        /// The template of the path, where its placeholders stand for credentials: the address of a file or a push.
        var pathWithoutCredentials: String?

        /// Whether the answer can take long: that of a query of records, and of requests about all records.
        var canTakeLong: Bool {
            switch destination {
            case .operation(let operation): operation.id == Operations.QueryRecords.id
            case .administration: true
            default: false
            }
        }

        /// Whether the request is for the web courier, where it waits for a push.
        var isCourier: Bool {
            guard case .courier = destination else { return false }
            return true
        }

        /// Whether the request is for the administration.
        var isAdministration: Bool {
            guard case .administration = destination else { return false }
            return true
        }

        /// The operation of CloudKit Web Services; `nil` for other requests.
        var operationID: String? {
            guard case .operation(let operation) = destination else { return nil }
            return operation.id
        }

        /// Whether the request is for an operation of CloudKit Web Services.
        var isEndpoint: Bool { operationID != nil }

        /// Whether the request is for a file of the console's page.
        var isPage: Bool {
            guard case .page = destination else { return false }
            return true
        }

        /// Whether users may also make the request who restricted the access to their data.
        var isForRestrictedUsers: Bool {
            guard case .operation(let operation) = destination else { return false }
            return [Operations.RestrictUser.id, Operations.UnrestrictUser.id].contains(operation.id)
        }
    }

    /// Every method and path that is served.
    private(set) var all: [(method: HTTPRequest.Method, path: String)] = []
    private var router = PathRouter<Destination>()
    private let servesAdministration: Bool

    /// - Parameters:
    ///   - servesAdministration: Whether the paths of the administration are among the routes.
    ///   - page: The paths of the console's page.
    /// - Throws: `RouteError` if two routes had the same method and path, which is not the case.
    init(servesAdministration: Bool, page: [String] = []) throws {
        self.servesAdministration = servesAdministration
        // The service's replies are indented. These are not, which makes no difference to a program. The service
        // requires no content type, always responds with JSON, ignores query items without a value, and reads the
        // `True` of Python as `true` (recorded: `remapEnums=True&getCurrentSyncToken=True`).
        let operations = try EndpointHandlers().operations(
            configuration: Configuration(jsonEncodingOptions: [], lenientReading: .all)
        )
        for operation in operations {
            try add(.operation(operation), [operation.method], operation.path)
            // Lists also answer POST with the body `{}`, which Apple's web apps send (recorded for zones/list). POST to
            // users/discover is another operation.
            let hasPost = operations.contains { $0.path == operation.path && $0.method == .post }
            if operation.method == .get, !hasPost { try add(.operation(operation), [.post], operation.path) }
            // Apple's page has POST, which needs no body. CloudKit JS 1.2.0 sends GET.
            if operation.id == Operations.LookupContacts.id { try add(.operation(operation), [.get], operation.path) }
        }
        for path in Set(all.map(\.path)).sorted() { all.append((.options, path)) }
        for end in ["create", "register"] {
            try add(.misplacedToken, [.options], "/database/{version}/{container}/{environment}/tokens/\(end)")
            try add(
                .misplacedToken,
                [.options],
                "/database/{version}/{container}/{environment}/{database}/tokens/\(end)"
            )
        }
        try add(.assetUpload, AssetHost.uploadMethods, AssetHost.uploadPath)
        try add(.assetDownload, AssetHost.downloadMethods, AssetHost.downloadPath)
        try add(.signInPage, [.get, .head, .post], SignInPage.path)
        try add(.courier, Courier.methods, CloudKitEmulator.courierPath + "{courier}")
        for path in page { try add(.page, [.get, .head], path) }
        guard servesAdministration else { return }
        for operation in try AdministrationHost.operations() {
            try add(.administration(operation), [operation.method], operation.path)
        }
    }

    private mutating func add(
        _ destination: Destination,
        _ methods: [HTTPRequest.Method],
        _ path: String
    ) throws(RouteError) {
        for method in methods {
            try router.add(destination, method: method, template: path)
            all.append((method, path))
        }
    }

    /// Finds the destination of a request.
    func match(_ request: HTTPRequest) -> Match {
        let path = request.path ?? "/"
        var match = router.match(request.method, path)
        var allowed: [HTTPRequest.Method]?
        if case .methodNotAllowed(let methods) = match, let method = methods.first {
            match = router.match(method, path)
            allowed = methods
        }
        guard case .found(let destination, let template, var parameters) = match, parameters["version"] ?? "1" == "1",
            !parameters.values.contains(where: \.hasControlCharacters)
        else {
            let isAdministration = servesAdministration && CloudKitEmulatorServer.Administration.serves(path)
            return Match(destination: isAdministration ? .administration(nil) : nil)
        }
        // A client in Python has its documented constants `DEVELOPMENT` and `PRODUCTION` in the path.
        parameters["environment"] = parameters["environment"].map { Substring($0.lowercased()) }
        var result = Match(destination: destination, parameters: parameters, allowedMethods: allowed)
        switch destination {
        case .assetUpload, .assetDownload, .courier: result.pathWithoutCredentials = template
        case .operation, .misplacedToken, .signInPage, .page, .administration: break
        }
        return result
    }
}

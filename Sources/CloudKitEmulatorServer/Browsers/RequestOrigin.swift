import CloudKitEmulator
import CloudKitModel
import HTTPTypes

/// Where a request comes from, as far as its browser says. A page cannot change these header fields.
enum RequestOrigin: Hashable {
    /// A program, or a page that did not need to say its origin.
    case program
    /// A page whose origin is allowed, or that is the server's own.
    case allowed(String)
    /// A page whose origin is not allowed.
    case foreign(String)
    /// A page of another site that loads the address as if it were a picture, a script or a link. Browsers leave out
    /// the origin of such a page.
    case foreignSite

    /// Reads the origin of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - allowed: The origins that are allowed beside that of the server.
    init(of request: HTTPRequest, allowing allowed: AllowedOrigins) {
        if let origin = request.headerFields[.origin] {
            self = request.goes(toOrigin: origin) || allowed.allows(origin) ? .allowed(origin) : .foreign(origin)
        } else {
            self = request.headerFields[.secFetchSite] == "cross-site" ? .foreignSite : .program
        }
    }

    /// Refuses the requests of foreign pages. The service's words are not known.
    func check() throws(EmulatorError) {
        switch self {
        case .program, .allowed: return
        case .foreign(let origin):
            throw EmulatorError(
                .accessDenied,
                """
                pages of '\(origin.prefix(255))' may not use this server; allow the origin with --allow-origin, or \
                Configuration.allowedOrigins
                """
            )
        case .foreignSite:
            throw EmulatorError(.accessDenied, "a page of another site may not load this address without fetch")
        }
    }
}

extension HTTPRequest {
    /// Whether an origin is that of the address to which the request was sent.
    func goes(toOrigin origin: String) -> Bool {
        WebOrigin(origin).map { $0 == WebOrigin(serverAddress) } ?? false
    }
}

extension HTTPField.Name {
    static let secFetchSite = Self("Sec-Fetch-Site")!
    static let referer = Self("Referer")!
}

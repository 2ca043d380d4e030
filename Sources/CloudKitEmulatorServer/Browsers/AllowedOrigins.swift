/// The web pages that may use a server, by the origin of the page.
///
/// An origin is the scheme, host and port of a page, such as `https://app.example` or `http://localhost:3000`. Browsers
/// add it to requests to other hosts. The server refuses requests of pages whose origin is not allowed, and does not
/// let them read its responses. Requests of programs carry no origin.
///
/// An API token of the service has the same setting. Here one list counts for all tokens of a server.
///
/// ```swift
/// var configuration = CloudKitEmulatorServer.Configuration()
/// configuration.allowedOrigins = try AllowedOrigins(["https://app.example"])
/// // Origin: https://app.example    Access-Control-Allow-Origin: https://app.example
/// // Origin: http://localhost:3000  Access-Control-Allow-Origin: http://localhost:3000
/// // Origin: https://other.example  403 ACCESS_DENIED
/// ```
public struct AllowedOrigins: Hashable, Sendable {
    /// The origins of this machine: `localhost`, names that end in `.localhost`, `127.0.0.1` and the like, and `[::1]`,
    /// with any port. This is the default. No other machine can make a page with such an origin.
    public static let loopback = AllowedOrigins(origins: [], allowsAny: false)

    /// Every origin. Any page that the user visits, and that learns an API token, may then send requests.
    public static let any = AllowedOrigins(origins: [], allowsAny: true)

    private var origins: Set<WebOrigin>
    private var allowsAny: Bool

    private init(origins: Set<WebOrigin>, allowsAny: Bool) {
        self.origins = origins
        self.allowsAny = allowsAny
    }

    /// Allows some origins beside those of this machine.
    ///
    /// - Parameter origins: The origins, such as `https://app.example`, without a path. `null` stands for pages without
    ///   an origin of their own, such as files of a disk, and `*` for every origin.
    /// - Throws: An ``OriginError`` for a text that is not an origin.
    public init(_ origins: [String]) throws {
        self = .loopback
        for text in origins where text != "*" {
            guard let origin = WebOrigin(text) else { throw OriginError(text: text) }
            self.origins.insert(origin)
        }
        allowsAny = origins.contains("*")
    }

    /// Whether pages of an origin may use the server.
    func allows(_ text: String) -> Bool {
        if allowsAny { return true }
        guard let origin = WebOrigin(text) else { return false }
        return origin.host.map(HostName.isLoopback) ?? false || origins.contains(origin)
    }
}

/// A text is not an origin.
public struct OriginError: Error, Hashable, CustomStringConvertible {
    /// The text.
    public let text: String

    /// What is wrong, and what an origin looks like.
    public var description: String {
        "\"\(text)\" is not an origin; give a scheme, a host and perhaps a port, such as https://app.example"
    }
}

/// An origin of a web page, as browsers send it in the field `Origin`.
struct WebOrigin: Hashable {
    var scheme: String
    /// `nil` for the origin `null`, which every page without an origin of its own has.
    var host: String?
    /// `nil` for the port of the scheme.
    var port: UInt16?

    init?(_ text: String) {
        if text == "null" {
            scheme = "null"
            return
        }
        let parts = text.lowercased().split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0]), let name = HostName(String(parts[1])) else {
            return nil
        }
        scheme = String(parts[0])
        host = name.host
        port = name.port == (scheme == "http" ? 80 : 443) ? nil : name.port
    }

    /// The origin of an address.
    init?(ofAddress address: String) {
        let end = address.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
        self.init(end.joined(separator: "/"))
    }

    /// The origin as browsers write it.
    var text: String {
        guard let host else { return "null" }
        return "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "")
    }
}

import HTTPTypes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The target of a request, read from its address, for the texts of errors.
struct RequestTarget: Hashable {
    var server: String
    var container: String
    var environment: String
    /// The database; `nil` for the operations of a container, such as `tokens/create`.
    var scope: DatabaseScope?

    /// Reads `/database/1/<container>/<environment>/<database>/…`, or `/device/1/<container>/<environment>/…`; `nil` for any other path.
    ///
    /// - Parameters:
    ///   - request: The request; its path may have a query.
    ///   - baseURL: The server.
    init?(_ request: HTTPRequest, baseURL: URL) {
        let path = request.path?.prefix { $0 != "?" } ?? ""
        let parts = path.split(separator: "/").map(String.init)
        guard parts.count >= 4, parts[0] == "database" || parts[0] == "device" else { return nil }
        let port = baseURL.port.map { ":\($0)" } ?? ""
        server = (baseURL.host ?? "") + port
        container = parts[2]
        environment = parts[3]
        scope = parts.count > 4 && parts[0] == "database" ? DatabaseScope(rawValue: parts[4]) : nil
    }
}

extension RequestTarget: CustomStringConvertible {
    /// `the container iCloud.com.example.app (development) at api.apple-cloudkit.com`
    var description: String { "the container \(container) (\(environment)) at \(server)" }
}

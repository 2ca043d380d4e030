package import HTTPTypes
package import OpenAPISwiftRuntime

extension CloudKitEmulatorServer {
    /// The console's page, which a server serves at `/`, and what the page may do.
    package struct ServedPage: Sendable {
        /// The files of the page.
        package var files: PageFiles
        /// Who may use the page.
        package var access: PageAccess
        /// Whether the writes of the page are refused.
        package var isReadOnly: Bool
        /// The user whom the value `user` of `X-MistKit-Act-As` names.
        package var profileUser: String?

        /// Makes a page.
        ///
        /// - Parameters:
        ///   - files: The files of the page.
        ///   - access: Who may use the page.
        ///   - isReadOnly: Whether the writes of the page are refused.
        ///   - profileUser: The user record name of the folder's user.
        package init(files: PageFiles, access: PageAccess, isReadOnly: Bool = false, profileUser: String? = nil) {
            self.files = files
            self.access = access
            self.isReadOnly = isReadOnly
            self.profileUser = profileUser
        }
    }
}

/// The files of the console's page, by path. They have no data, so everyone may read them.
package struct PageFiles: Sendable {
    private let files: [String: StaticString]

    /// - Parameter files: The text of each file, by its path below the page's folder, such as `records/table.js`.
    package init(_ files: [String: StaticString]) {
        self.files = files
    }

    /// The paths of addresses: `/` for `index.html`, and each file.
    package var paths: [String] { files.keys.map { "/\($0)" } + (files["index.html"] == nil ? [] : ["/"]) }

    /// The page asks nothing of other hosts, runs no script but its own files, and cannot be put into a frame. Where the
    /// browser knows trusted types, no text becomes markup.
    package static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob: data:",
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// Answers a request for a file, or for the printed address.
    ///
    /// - Parameters:
    ///   - request: The request, GET or HEAD.
    ///   - access: Opens the session of the printed address.
    /// - Returns: The response; `nil` for a path that is not a file.
    package func respond(to request: HTTPRequest, _ access: PageAccess) -> (HTTPResponse, HTTPBody?)? {
        let target = request.path ?? "/"
        let path = target.prefix { $0 != "?" }
        let name = path == "/" ? "index.html" : String(path.dropFirst())
        guard let text = files[name] else { return nil }
        var response = HTTPResponse(status: .ok)
        response.headerFields[.cacheControl] = "no-store"
        response.headerFields[.xContentTypeOptions] = "nosniff"
        response.headerFields[.contentSecurityPolicy] = Self.contentSecurityPolicy
        response.headerFields[.crossOriginResourcePolicy] = "same-origin"
        response.headerFields[.crossOriginOpenerPolicy] = "same-origin"
        response.headerFields[.referrerPolicy] = "same-origin"
        let items = target.queryItems.map { String(Substring($0)) }
        if path == "/", let item = items.first(where: { $0.hasPrefix(Self.secretItem) }) {
            let others = items.filter { !$0.hasPrefix(Self.secretItem) }
            let secret = String(item.dropFirst(Self.secretItem.count))
            response.status = .seeOther
            response.headerFields[.location] = "/" + (others.isEmpty ? "" : "?" + others.joined(separator: "&"))
            response.headerFields[.setCookie] = access.open(secret: secret, for: request)
            return (response, nil)
        }
        response.headerFields[.contentType] = Self.contentType(of: name)
        let compressed = CompressedBytes(text.withUTF8Buffer { Array($0) }, for: request.headerFields[.acceptEncoding])
        response.headerFields[.vary] = "Accept-Encoding"
        response.headerFields[.contentEncoding] = compressed.encoding
        response.headerFields[.contentLength] = "\(compressed.bytes.count)"
        return (response, request.method == .head ? nil : HTTPBody(compressed.bytes))
    }

    /// The query item of the printed address that has the secret.
    package static let secretItem = "secret="

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        case "json": "application/json"
        default: "text/plain; charset=utf-8"
        }
    }
}

extension HTTPField.Name {
    package static let actAs = Self("X-MistKit-Act-As")!
    package static let loggedRequest = Self("X-MistKit-Request")!
    package static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
    package static let referrerPolicy = Self("Referrer-Policy")!
}

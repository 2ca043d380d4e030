public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension URL {
    /// The URL of a server at the root of its host: `/`.
    public static let defaultOpenAPIServerURL: URL = {
        var components = URLComponents()
        components.path = "/"
        return components.url ?? URL(filePath: "/")
    }()

    /// Creates the URL of a server from the text in a document.
    ///
    /// ```swift
    /// try URL(validatingOpenAPIServerURL: "https://example.com/v1")
    /// try URL(validatingOpenAPIServerURL: "/v1")
    /// ```
    /// - Parameter string: An absolute URL, or a path.
    /// - Throws: ``InvalidServerURLError`` if the text is not a URL.
    public init(validatingOpenAPIServerURL string: String) throws {
        guard let url = URL(string: string) else { throw InvalidServerURLError(text: string) }
        self = url
    }
}

/// An error about a text that is not the URL of a server.
///
/// On a server, it becomes a response with status 404.
public struct InvalidServerURLError: Error, HTTPResponseConvertible, Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public var text: String

    /// Creates the error.
    /// - Parameter text: The text.
    public init(text: String) {
        self.text = text
    }

    /// 404: no server has such an address.
    public var httpStatus: HTTPResponse.Status { .notFound }

    /// The text, and what to use instead.
    public var description: String {
        "'\(text)' is not the URL of a server; use an absolute URL such as https://example.com/v1, or a path such as /v1."
    }
}

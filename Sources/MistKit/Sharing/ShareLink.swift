#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The link that opens a share.
///
/// ```swift
/// let link = try ShareLink("https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw#Holidays")
/// link.shortGUID  // "02aPe3Jgy3COgyPaWfUJPyfFw"
/// try await service.accept(link)
/// ```
///
/// The link names neither the container nor the environment: the program that follows it has to know them.
public struct ShareLink: Hashable, Sendable {
    /// The last part of the link's path. Requests name a share only by this part; its first three characters route the
    /// request.
    public let shortGUID: String

    /// Makes a link from a record's `shortGUID`.
    ///
    /// - Parameter shortGUID: The short GUID of a share or its root record, as the service gave it.
    public init(shortGUID: String) {
        self.shortGUID = shortGUID
    }

    /// Reads a link, or a bare short GUID.
    ///
    /// - Parameter text: A text such as `https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw#Holidays`. The host and
    ///   everything after the short GUID are ignored.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` for a text that does not end
    ///   in a short GUID.
    public init(_ text: String) throws {
        let path = text.prefix { $0 != "#" && $0 != "?" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard
            let last = parts.last, last.count > 3,
            last.utf8.allSatisfy({ $0 < 128 && Character(UnicodeScalar($0)).isShortGUIDCharacter }),
            parts.count == 1 || parts.dropLast().last == "share"
        else {
            throw CloudKitError.invalidArgument(
                """
                '\(text)' is not a link to a share. A link is like https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw; \
                its last part alone will do as well.
                """
            )
        }
        shortGUID = String(last)
    }

    /// Reads a link.
    ///
    /// - Parameter url: The link as a person or an app got it.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` for a URL that is not a link
    ///   to a share.
    public init(_ url: URL) throws {
        try self.init(url.absoluteString)
    }

    /// The link as Apple writes it: `https://www.icloud.com/share/` and the short GUID.
    public var url: URL? {
        URL(string: "https://www.icloud.com/share/\(shortGUID)")
    }
}

extension ShareLink: CustomStringConvertible {
    /// The link's text.
    public var description: String { "https://www.icloud.com/share/\(shortGUID)" }
}

extension Character {
    fileprivate var isShortGUIDCharacter: Bool { isLetter || isNumber || self == "-" || self == "_" }
}

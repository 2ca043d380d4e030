/// How far a program followed the changes of a zone: keep it, and ask next time for what came after it.
///
/// A token belongs to one zone. It is opaque, can be used more than once, and is no credential.
public struct ZoneChangeToken: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The text to store, as the service sent it; never empty.
    public let text: String

    /// Makes a token of a text that was stored; `nil` for an empty one, whose meaning to the service is not known.
    ///
    /// - Parameter text: The text of a token.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// The same as ``text``.
    public var description: String { text }
}

/// How far a program followed the changes of a database: keep it, and ask next time for what came after it.
///
/// It is no token of a zone; the service takes neither for the other. It is opaque, can be used more than once, and is
/// no credential.
public struct DatabaseChangeToken: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The text to store, as the service sent it; never empty.
    public let text: String

    /// Makes a token of a text that was stored; `nil` for an empty one, whose meaning to the service is not known.
    ///
    /// - Parameter text: The text of a token.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// The same as ``text``.
    public var description: String { text }
}

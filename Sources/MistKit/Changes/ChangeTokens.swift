/// How far a program has followed the changes of a zone. Store it, and pass it next time to get the later changes.
///
/// A token belongs to one zone. It is opaque, can be used more than once, and is not a credential.
public struct ZoneChangeToken: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The text to store, as the service sent it; never empty.
    public let text: String

    /// Makes a token from a stored text; `nil` for an empty text, whose meaning to the service is not known.
    ///
    /// - Parameter text: The text of a token.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// The same as ``text``.
    public var description: String { text }
}

/// How far a program has followed the changes of a database. Store it, and pass it next time to get the later changes.
///
/// It is different from the token of a zone: the service accepts neither instead of the other. It is opaque, can be
/// used more than once, and is not a credential.
public struct DatabaseChangeToken: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The text to store, as the service sent it; never empty.
    public let text: String

    /// Makes a token from a stored text; `nil` for an empty text, whose meaning to the service is not known.
    ///
    /// - Parameter text: The text of a token.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// The same as ``text``.
    public var description: String { text }
}

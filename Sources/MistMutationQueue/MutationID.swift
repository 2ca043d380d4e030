#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The identifier of a mutation, which is also its idempotency key.
///
/// The queue chooses it when the mutation is added, and sends the mutation under it every time. So a service that keeps
/// the keys that it has seen does not do a mutation twice, also where its first answer was lost.
///
/// ```swift
/// request.headerFields[.idempotencyKey] = sending.id.rawValue  // Idempotency-Key: 0d0a8f6e-…
/// ```
public struct MutationID: RawRepresentable, Hashable, Sendable, Codable {
    /// The text, a random UUID in lower case unless the program has chosen another one.
    public let rawValue: String

    /// Makes an identifier of a text.
    ///
    /// - Parameter rawValue: The text. It must not occur twice in a file, and has no NUL.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Makes a random identifier.
    public static func random() -> MutationID { MutationID(rawValue: UUID().uuidString.lowercased()) }
}

extension MutationID: CustomStringConvertible {
    /// The text.
    public var description: String { rawValue }
}

/// An identifier that this machine chose for something, until the service chooses another one.
///
/// A program that writes before it sends needs names for things that the service does not know yet. Give such a name
/// this type wherever a mutation has it. When the service answers with its own identifier,
/// ``MutationEffects/adopt(_:as:)`` puts it into all mutations that wait, in the transaction of the answer.
///
/// ```swift
/// struct Toast: Codable, Sendable {
///     var tasting: ProvisionalID  // "local-7" when it is added, "4711" when it is sent
/// }
/// ```
///
/// In JSON it is a string.
public struct ProvisionalID: RawRepresentable, Hashable, Sendable {
    /// The identifier.
    public var rawValue: String

    /// Makes an identifier of a text.
    public init(rawValue: String) { self.rawValue = rawValue }
}

extension ProvisionalID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Makes an identifier of a literal.
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// The identifier.
    public var description: String { rawValue }
}

extension ProvisionalID: Codable {
    /// Reads a string. The queue's own decoder gives the service's identifier in place of one that it replaces.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        let adopted = decoder.userInfo[AdoptedIdentifiers.key] as? AdoptedIdentifiers
        self.init(rawValue: adopted?.services[text] ?? text)
    }

    /// Writes a string. The queue's own encoder notes it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
        (encoder.userInfo[NamedIdentifiers.key] as? NamedIdentifiers)?.add(rawValue)
    }
}

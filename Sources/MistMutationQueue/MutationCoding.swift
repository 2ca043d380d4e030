import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The identifiers of the service for those that a mutation was written with.
struct AdoptedIdentifiers: Sendable {
    /// The key under which a decoder has them.
    static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "MistMutationQueue.adopted") }

    let services: [String: String]
}

/// The provisional identifiers that a mutation names, found while it is encoded.
final class NamedIdentifiers: Sendable {
    /// The key under which an encoder has them.
    static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "MistMutationQueue.named") }

    private let found = Mutex<Set<String>>([])

    func add(_ identifier: String) { found.withLock { _ = $0.insert(identifier) } }

    var all: Set<String> { found.withLock { $0 } }
}

extension [CodingUserInfoKey: any Sendable] {
    fileprivate subscript(key: CodingUserInfoKey?) -> (any Sendable)? {
        get { key.flatMap { self[$0] } }
        set { if let key { self[key] = newValue } }
    }
}

extension [CodingUserInfoKey: Any] {
    subscript(key: CodingUserInfoKey?) -> Any? { key.flatMap { self[$0] } }
}

/// A mutation as the file has it: JSON, with the provisional identifiers in it.
struct EncodedMutation: Hashable, Sendable {
    let json: Data
    let names: Set<String>

    /// Encodes a mutation. Keys are sorted, so that equal mutations have equal bytes.
    init(_ mutation: some Encodable) throws {
        let named = NamedIdentifiers()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.userInfo[NamedIdentifiers.key] = named
        json = try encoder.encode(mutation)
        names = named.all
    }

    /// Decodes a mutation of the program's present version.
    static func decode<Mutation: Decodable>(
        _ type: Mutation.Type,
        from json: Data,
        adopting services: [String: String]
    ) throws -> Mutation {
        let decoder = JSONDecoder()
        decoder.userInfo[AdoptedIdentifiers.key] = AdoptedIdentifiers(services: services)
        return try decoder.decode(type, from: json)
    }
}

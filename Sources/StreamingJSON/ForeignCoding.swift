import Synchronization

/// The values of one JSON tree that a decoder or encoder of another library codes with its own strategy, such as dates.
///
/// The tree of such a coder has null, booleans, numbers, strings, arrays and objects only: a date is what the coder's
/// strategy makes of it. A type that reads or writes such a value finds this object as the `userInfo` of its reader or
/// writer, and asks it.
package final class ForeignValues: Sendable {
    /// What is known of a value.
    package enum Result<T> {
        /// The coder's value.
        case value(T)
        /// The coder has no value of the type for this JSON.
        case none
        /// The coder was not asked yet. The tree is read again once it was, so any value will do until then.
        case pending
    }

    private struct State {
        var written: [any Encodable & Sendable] = []
        var read: [JSONValue: (any Sendable)?] = [:]
        var wanted: [JSONValue: any (Decodable & Sendable).Type] = [:]
    }

    private let state = Mutex(State())
    /// The beginning of the strings that stand for values. It is random, so that no other string begins with it.
    private let prefix = "StreamingJSON-\(UInt64.random(in: .min ... .max))-\(UInt64.random(in: .min ... .max))-"

    init() {}

    // MARK: Writing

    /// The string to write for a value. The encoder encodes the value instead.
    package func placeholder(for value: some Encodable & Sendable) -> String {
        state.withLock { state in
            state.written.append(value)
            return "\(prefix)\(state.written.count - 1)"
        }
    }

    fileprivate func value(of placeholder: String) -> (any Encodable & Sendable)? {
        guard placeholder.hasPrefix(prefix), let index = Int(placeholder.dropFirst(prefix.count)) else { return nil }
        return state.withLock { $0.written.indices.contains(index) ? $0.written[index] : nil }
    }

    // MARK: Reading

    /// What the decoder makes of a scalar.
    package func value<T: Decodable & Sendable>(_ type: T.Type, for scalar: JSONValue) -> Result<T> {
        state.withLock { state in
            guard let known = state.read[scalar] else {
                state.wanted[scalar] = type
                return .pending
            }
            return (known as? T).map { .value($0) } ?? .none
        }
    }

    /// Asks the decoder for the values that were looked for in vain, and returns whether there were any.
    func resolve(_ tree: JSONValue, from decoder: any Decoder) throws -> Bool {
        let wanted = state.withLock { state in
            defer { state.wanted = [:] }
            return state.wanted
        }
        guard !wanted.isEmpty else { return false }
        var resolver = Resolver(wanted: wanted)
        try resolver.visit(tree, in: decoder)
        for (scalar, _) in wanted {
            let value = resolver.found[scalar]
            state.withLock { $0.read[scalar] = .some(value) }
        }
        return true
    }

    /// Walks through the containers of a decoder beside the tree that was read from them.
    private struct Resolver {
        let wanted: [JSONValue: any (Decodable & Sendable).Type]
        var found: [JSONValue: any Sendable] = [:]

        mutating func visit(_ tree: JSONValue, in decoder: any Decoder) throws {
            switch tree {
            case .object(let members): try visit(members, in: decoder.container(keyedBy: JSONValue.MemberKey.self))
            case .array(let elements):
                var container = try decoder.unkeyedContainer()
                try visit(elements, in: &container)
            default:
                guard let type = wanted[tree] else { return }
                let container = try decoder.singleValueContainer()
                found[tree] = try? container.decode(type)
            }
        }

        private mutating func visit(
            _ members: [String: JSONValue],
            in container: KeyedDecodingContainer<JSONValue.MemberKey>
        ) throws {
            for (name, value) in members {
                let key = JSONValue.MemberKey(stringValue: name)
                switch value {
                case .object(let members):
                    try visit(members, in: container.nestedContainer(keyedBy: JSONValue.MemberKey.self, forKey: key))
                case .array(let elements):
                    var nested = try container.nestedUnkeyedContainer(forKey: key)
                    try visit(elements, in: &nested)
                default:
                    guard let type = wanted[value], found[value] == nil else { continue }
                    found[value] = try? container.decode(type, forKey: key)
                }
            }
        }

        private mutating func visit(
            _ elements: [JSONValue],
            in container: inout any UnkeyedDecodingContainer
        ) throws {
            for element in elements {
                switch element {
                case .object(let members):
                    try visit(members, in: container.nestedContainer(keyedBy: JSONValue.MemberKey.self))
                case .array(let elements):
                    var nested = try container.nestedUnkeyedContainer()
                    try visit(elements, in: &nested)
                default:
                    if let type = wanted[element], found[element] == nil, let value = try? container.decode(type) {
                        found[element] = value
                    } else {
                        _ = try container.decode(JSONValue.self)
                    }
                }
            }
        }
    }
}

/// A tree, of which some strings stand for values that the encoder encodes with its own strategy.
struct ForeignTree: Encodable {
    let tree: JSONValue
    let values: ForeignValues

    func encode(to encoder: any Encoder) throws {
        switch tree {
        case .object(let members):
            var container = encoder.container(keyedBy: JSONValue.MemberKey.self)
            for (key, value) in members {
                try container.encode(
                    ForeignTree(tree: value, values: values),
                    forKey: JSONValue.MemberKey(stringValue: key)
                )
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(ForeignTree(tree: element, values: values)) }
        case .string(let text):
            guard let value = values.value(of: text) else { return try tree.encode(to: encoder) }
            var container = encoder.singleValueContainer()
            try container.encode(value)
        default: try tree.encode(to: encoder)
        }
    }
}

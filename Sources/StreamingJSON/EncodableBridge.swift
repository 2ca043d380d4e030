extension JSONWriter {
    /// Writes a value with its `Encodable` conformance.
    ///
    /// This is for users' own types inside of generated ones, and is much slower than ``JSONWritable``. Values inside
    /// of the value, at any depth, whose types are ``JSONWritable`` are written with that conformance. If encoding
    /// fails, the writer fails with ``JSONError/Code/invalidValue``. A type can implement ``JSONWritable`` with its
    /// `Encodable` conformance:
    ///
    /// ```swift
    /// extension Money: JSONWritable {
    ///     func write(json writer: inout JSONWriter) { writer.writeEncodable(self) }
    /// }
    /// ```
    ///
    /// - Parameter value: The value.
    public mutating func writeEncodable(_ value: some Encodable) {
        do {
            let node = TreeNode()
            let encoder = TreeEncoder(node: node, codingPath: [], json: userInfo)
            // A `JSONBackedCodable` encodes itself as JSON, so its JSON writer is called directly. The `write(json:)`
            // of any other type may have called this method, and must not be called again.
            if value is any JSONBackedCodable { try encoder.encode(value) } else { try value.encode(to: encoder) }
            node.write(json: &self)
        } catch {
            fail(
                error as? JSONError
                    ?? JSONError(code: .invalidValue, message: "a value cannot be encoded: \(error)")
            )
            writeNull()
        }
    }
}

/// A value that is being encoded. The members of an object keep their order.
private final class TreeNode: JSONWritable {
    enum Content {
        case none
        case leaf(any JSONWritable)
        case array([TreeNode])
        case object([(String, TreeNode)])
    }

    var content = Content.none

    func write(json writer: inout JSONWriter) {
        switch content {
        case .none: writer.writeNull()
        case .leaf(let value): value.write(json: &writer)
        case .array(let elements):
            writer.beginArray()
            for element in elements {
                element.write(json: &writer)
            }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for (key, value) in members {
                writer.key(key)
                value.write(json: &writer)
            }
            writer.endObject()
        }
    }

    /// Turns the content into an empty array, unless it is an array already.
    func becomeArray() {
        if case .array = content { return }
        content = .array([])
    }

    /// Turns the content into an empty object, unless it is an object already.
    func becomeObject() {
        if case .object = content { return }
        content = .object([])
    }

    /// Adds an element to an array and returns its node.
    func append() -> TreeNode {
        let node = TreeNode()
        if case .array(var elements) = content {
            content = .none
            elements.append(node)
            content = .array(elements)
        }
        return node
    }

    /// Adds a member to an object and returns its node. A member with the same key is replaced.
    func member(_ key: String) -> TreeNode {
        let node = TreeNode()
        if case .object(var members) = content {
            content = .none
            if let index = members.firstIndex(where: { $0.0 == key }) {
                members[index].1 = node
            } else {
                members.append((key, node))
            }
            content = .object(members)
        }
        return node
    }

    var count: Int {
        if case .array(let elements) = content { elements.count } else { 0 }
    }
}

/// An encoder into one node.
struct TreeEncoder: Encoder {
    fileprivate let node: TreeNode
    let codingPath: [any CodingKey]
    /// The `userInfo` of the writer.
    let json: (any AnyObject & Sendable)?
    var userInfo: [CodingUserInfoKey: Any] { .init(json: json) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeObject()
        return KeyedEncodingContainer(TreeKeyedEncodingContainer(node: node, codingPath: codingPath, json: json))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeArray()
        return TreeUnkeyedEncodingContainer(node: node, codingPath: codingPath, json: json)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }
}

extension TreeEncoder: SingleValueEncodingContainer {
    func encodeNil() { node.content = .none }
    func encode(_ value: Bool) { node.content = .leaf(value) }
    func encode(_ value: String) { node.content = .leaf(value) }
    func encode(_ value: Double) { node.content = .leaf(value) }
    func encode(_ value: Float) { node.content = .leaf(value) }
    func encode(_ value: Int) { node.content = .leaf(value) }
    func encode(_ value: Int8) { node.content = .leaf(value) }
    func encode(_ value: Int16) { node.content = .leaf(value) }
    func encode(_ value: Int32) { node.content = .leaf(value) }
    func encode(_ value: Int64) { node.content = .leaf(value) }
    func encode(_ value: UInt) { node.content = .leaf(value) }
    func encode(_ value: UInt8) { node.content = .leaf(value) }
    func encode(_ value: UInt16) { node.content = .leaf(value) }
    func encode(_ value: UInt32) { node.content = .leaf(value) }
    func encode(_ value: UInt64) { node.content = .leaf(value) }

    func encode<T: Encodable>(_ value: T) throws {
        if let writable = value as? any JSONWritable {
            node.content = .leaf(writable)
        } else {
            try value.encode(to: self)
        }
    }
}

private struct TreeKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: TreeNode
    let codingPath: [any CodingKey]
    let json: (any AnyObject & Sendable)?

    private func encoder(for key: any CodingKey) -> TreeEncoder {
        TreeEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key], json: json)
    }

    func encodeNil(forKey key: Key) { encoder(for: key).encodeNil() }
    func encode(_ value: Bool, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: String, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: Double, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: Float, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: Int, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: Int8, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: Int16, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: Int32, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: Int64, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) { encoder(for: key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) { encoder(for: key).encode(value) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try encoder(for: key).encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder(for: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder(for: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder(for: TreeKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder(for: key) }
}

private struct TreeUnkeyedEncodingContainer: UnkeyedEncodingContainer {
    let node: TreeNode
    let codingPath: [any CodingKey]
    let json: (any AnyObject & Sendable)?

    var count: Int { node.count }

    private func next() -> TreeEncoder {
        let key = TreeKey(count)
        return TreeEncoder(node: node.append(), codingPath: codingPath + [key], json: json)
    }

    func encodeNil() { next().encodeNil() }
    func encode(_ value: Bool) { next().encode(value) }
    func encode(_ value: String) { next().encode(value) }
    func encode(_ value: Double) { next().encode(value) }
    func encode(_ value: Float) { next().encode(value) }
    func encode(_ value: Int) { next().encode(value) }
    func encode(_ value: Int8) { next().encode(value) }
    func encode(_ value: Int16) { next().encode(value) }
    func encode(_ value: Int32) { next().encode(value) }
    func encode(_ value: Int64) { next().encode(value) }
    func encode(_ value: UInt) { next().encode(value) }
    func encode(_ value: UInt8) { next().encode(value) }
    func encode(_ value: UInt16) { next().encode(value) }
    func encode(_ value: UInt32) { next().encode(value) }
    func encode(_ value: UInt64) { next().encode(value) }
    func encode<T: Encodable>(_ value: T) throws { try next().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        next().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    func superEncoder() -> any Encoder { next() }
}

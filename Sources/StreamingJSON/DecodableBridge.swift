extension JSONReader {
    /// Reads a value with its `Decodable` conformance.
    ///
    /// This is for users' own types inside of generated ones. It builds a ``JSONValue`` and is much slower than
    /// ``read(_:)``. Values inside of the value, at any depth, whose types are ``JSONReadable`` are read with that
    /// conformance. So a type can implement ``JSONReadable`` with its `Decodable` conformance:
    ///
    /// ```swift
    /// extension Money: JSONReadable {
    ///     init(json reader: inout JSONReader) throws(JSONError) { self = try reader.readDecodable() }
    /// }
    /// ```
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: ``JSONError/Code/typeMismatch``, ``JSONError/Code/missingKey`` or ``JSONError/Code/invalidValue``
    ///   for the errors of `Decodable`, whose coding path is in the message.
    public mutating func readDecodable<T: Decodable>(_ type: T.Type = T.self) throws(JSONError) -> T {
        let start = position
        let value = try read(JSONValue.self)
        do {
            let decoder = TreeDecoder(value: value, codingPath: [], json: userInfo)
            // A `JSONBackedCodable` decodes itself as JSON, so its JSON reader is called directly. The `init(json:)` of
            // any other type may have called this method, and must not be called again.
            return T.self is any JSONBackedCodable.Type ? try decoder.unwrap(T.self) : try T(from: decoder)
        } catch {
            rewind(to: start)
            skipWhitespace()
            throw jsonError(for: error)
        }
    }

    private func jsonError(for failure: any Error) -> JSONError {
        func describe(_ context: DecodingError.Context) -> String {
            let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
            return path.isEmpty ? context.debugDescription : "\(context.debugDescription) (at \(path))"
        }
        switch failure {
        case let failure as JSONError:
            return failure.offset == nil ? error(failure.code, failure.message) : failure
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            return error(.typeMismatch, describe(context))
        case DecodingError.keyNotFound(let key, let context):
            return error(.missingKey, "\(describe(context)): \(key.stringValue)")
        case DecodingError.dataCorrupted(let context):
            return error(.invalidValue, describe(context))
        default:
            return error(.invalidValue, "\(failure)")
        }
    }
}

/// A decoder over one value.
struct TreeDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    /// The `userInfo` of the reader.
    let json: (any AnyObject & Sendable)?
    var userInfo: [CodingUserInfoKey: Any] { .init(json: json) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: JSONValue].self, "an object") }
        return KeyedDecodingContainer(TreeKeyedContainer(members: members, codingPath: codingPath, json: json))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self, "an array") }
        return TreeUnkeyedContainer(elements: elements, codingPath: codingPath, json: json)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        self
    }

    /// Decodes a whole value, with its own `init(json:)` if it has one.
    func unwrap<T: Decodable>(_ type: T.Type) throws -> T {
        if T.self == JSONValue.self, let value = value as? T {
            return value
        }
        if let readable = T.self as? any JSONReadable.Type, let value = try read(readable) as? T {
            return value
        }
        return try T(from: self)
    }

    private func read<R: JSONReadable>(_ type: R.Type) throws -> R {
        do {
            return try JSONReader.read(type, from: JSONWriter.bytes(of: value), options: .init(userInfo: json))
        } catch {
            let context = DecodingError.Context(
                codingPath: codingPath,
                debugDescription: error.message,
                underlyingError: error
            )
            throw error.code == .typeMismatch ? .typeMismatch(type, context) : DecodingError.dataCorrupted(context)
        }
    }

    func mismatch(_ type: Any.Type, _ expected: String) -> DecodingError {
        let found =
            switch value {
            case .null: "null"
            case .bool: "a boolean"
            case .integer, .unsignedInteger, .double: "a number"
            case .string: "a string"
            case .array: "an array"
            case .object: "an object"
            }
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "expected \(expected), found \(found)"
        )
        return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func integer<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
        let exact: I?
        switch value {
        case .integer(let value): exact = I(exactly: value)
        case .unsignedInteger(let value): exact = I(exactly: value)
        case .double(let value): exact = I(exactly: value)
        default: throw mismatch(type, "a whole number")
        }
        guard let exact else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: codingPath, debugDescription: "the number does not fit into \(type)")
            )
        }
        return exact
    }
}

extension TreeDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let value) = value else { throw mismatch(type, "true or false") }
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let value) = value else { throw mismatch(type, "a string") }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard let value = value.doubleValue else { throw mismatch(type, "a number") }
        return value
    }

    func decode(_ type: Float.Type) throws -> Float {
        guard let value = value.doubleValue else { throw mismatch(type, "a number") }
        return Float(value)
    }

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try unwrap(type) }
}

/// A coding key that is not a key of an object: an index of an array, or `super`.
struct TreeKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ index: Int) {
        stringValue = "\(index)"
        intValue = index
    }

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init?(intValue: Int) {
        self.init(intValue)
    }
}

private struct TreeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    let codingPath: [any CodingKey]
    let json: (any AnyObject & Sendable)?

    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func decoder(for key: any CodingKey) throws -> TreeDecoder {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(codingPath: codingPath, debugDescription: "a key is missing")
            )
        }
        return TreeDecoder(value: value, codingPath: codingPath + [key], json: json)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(for: key).decodeNil() }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(for: key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder(for: key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder(for: key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder(for: key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder(for: key).integer(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder(for: key).integer(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder(for: key).integer(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder(for: key).integer(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder(for: key).integer(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder(for: key).integer(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder(for: key).integer(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder(for: key).integer(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder(for: key).integer(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder(for: key).integer(type) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(for: key).unwrap(type) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(for: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(for: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        let key = TreeKey(stringValue: "super")
        return TreeDecoder(value: members["super"] ?? .null, codingPath: codingPath + [key], json: json)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        TreeDecoder(value: members[key.stringValue] ?? .null, codingPath: codingPath + [key], json: json)
    }
}

private struct TreeUnkeyedContainer: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let codingPath: [any CodingKey]
    let json: (any AnyObject & Sendable)?
    private(set) var currentIndex = 0

    init(elements: [JSONValue], codingPath: [any CodingKey], json: (any AnyObject & Sendable)?) {
        self.elements = elements
        self.codingPath = codingPath
        self.json = json
    }

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    /// Runs `body` with a decoder of the next element, and moves on when it succeeds.
    private mutating func next<R>(_ type: Any.Type, _ body: (TreeDecoder) throws -> R) throws -> R {
        let path = codingPath + [TreeKey(currentIndex)]
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(codingPath: path, debugDescription: "the array has no more elements")
            )
        }
        let result = try body(TreeDecoder(value: elements[currentIndex], codingPath: path, json: json))
        currentIndex += 1
        return result
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type) { try $0.decode(type) } }
    mutating func decode(_ type: String.Type) throws -> String { try next(type) { try $0.decode(type) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try next(type) { try $0.decode(type) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try next(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next(type) { try $0.integer(type) } }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next(type) { try $0.unwrap(type) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next(type) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next([JSONValue].self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next(JSONValue.self) { $0 }
    }
}

public import StreamingJSON

/// A value that the document does not describe: null, a Boolean, a number, text, a list or an object.
///
/// ```swift
/// let value: OpenAPIValueContainer = "blue"
/// let list = try OpenAPIValueContainer(unvalidatedValue: [1, "two", nil] as [(any Sendable)?])
/// // [1,"two",null]
/// ```
///
/// Two containers are equal when they hold the same JSON.
public struct OpenAPIValueContainer: Sendable {
    /// The value: nil, `Bool`, `Int`, `Double`, `String`, `[(any Sendable)?]` or `[String: (any Sendable)?]`.
    public var value: (any Sendable)?

    init(validatedValue value: (any Sendable)?) {
        self.value = value
    }

    /// Creates a container from a Swift value.
    /// - Parameter unvalidatedValue: nil, `NSNull`, a Boolean, an `Int`, a `Double`, a string, an `NSNumber` that holds
    ///   one of these, or arrays and dictionaries of these.
    /// - Throws: `EncodingError` if the value holds anything else.
    public init(unvalidatedValue: (any Sendable)? = nil) throws {
        self.init(validatedValue: try FreeFormValue.validating(unvalidatedValue))
    }
}

/// An object whose keys and values the document does not describe.
///
/// ```swift
/// let extras = try OpenAPIObjectContainer(unvalidatedValue: ["colour": "blue", "size": 3])
/// // {"colour":"blue","size":3}
/// ```
public struct OpenAPIObjectContainer: Sendable {
    /// The members, with values as in ``OpenAPIValueContainer/value``.
    public var value: [String: (any Sendable)?]

    init(validatedValue value: [String: (any Sendable)?]) {
        self.value = value
    }

    /// Creates an empty object.
    public init() {
        self.init(validatedValue: [:])
    }

    /// Creates an object from Swift values.
    /// - Parameter unvalidatedValue: The members.
    /// - Throws: `EncodingError` if a value is not one that ``OpenAPIValueContainer`` can hold.
    public init(unvalidatedValue: [String: (any Sendable)?]) throws {
        self.init(validatedValue: try unvalidatedValue.mapValues(FreeFormValue.validating))
    }
}

/// A list whose elements the document does not describe.
///
/// ```swift
/// let list = try OpenAPIArrayContainer(unvalidatedValue: [1, "two", nil])
/// // [1,"two",null]
/// ```
public struct OpenAPIArrayContainer: Sendable {
    /// The elements, with values as in ``OpenAPIValueContainer/value``.
    public var value: [(any Sendable)?]

    init(validatedValue value: [(any Sendable)?]) {
        self.value = value
    }

    /// Creates an empty list.
    public init() {
        self.init(validatedValue: [])
    }

    /// Creates a list from Swift values.
    /// - Parameter unvalidatedValue: The elements.
    /// - Throws: `EncodingError` if a value is not one that ``OpenAPIValueContainer`` can hold.
    public init(unvalidatedValue: [(any Sendable)?]) throws {
        self.init(validatedValue: try unvalidatedValue.map(FreeFormValue.validating))
    }
}

// MARK: - Literals

extension OpenAPIValueContainer: ExpressibleByBooleanLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral
{
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) {
        self.init(validatedValue: value)
    }

    /// Creates a text.
    public init(stringLiteral value: String) {
        self.init(validatedValue: value)
    }

    /// Creates a null.
    public init(nilLiteral: ()) {
        self.init(validatedValue: nil)
    }

    /// Creates a whole number.
    public init(integerLiteral value: Int) {
        self.init(validatedValue: value)
    }

    /// Creates a number.
    public init(floatLiteral value: Double) {
        self.init(validatedValue: value)
    }
}

// MARK: - Equality

extension OpenAPIValueContainer: Hashable {
    /// Tells whether both hold the same JSON.
    public static func == (lhs: OpenAPIValueContainer, rhs: OpenAPIValueContainer) -> Bool {
        FreeFormValue.areEqual(lhs.value, rhs.value)
    }

    /// Hashes the JSON.
    public func hash(into hasher: inout Hasher) {
        FreeFormValue.hash(value, into: &hasher)
    }
}

extension OpenAPIObjectContainer: Hashable {
    /// Tells whether both hold the same JSON.
    public static func == (lhs: OpenAPIObjectContainer, rhs: OpenAPIObjectContainer) -> Bool {
        FreeFormValue.areEqual(lhs.value, rhs.value)
    }

    /// Hashes the JSON.
    public func hash(into hasher: inout Hasher) {
        FreeFormValue.hash(value, into: &hasher)
    }
}

extension OpenAPIArrayContainer: Hashable {
    /// Tells whether both hold the same JSON.
    public static func == (lhs: OpenAPIArrayContainer, rhs: OpenAPIArrayContainer) -> Bool {
        FreeFormValue.areEqual(lhs.value, rhs.value)
    }

    /// Hashes the JSON.
    public func hash(into hasher: inout Hasher) {
        FreeFormValue.hash(value, into: &hasher)
    }
}

// MARK: - Codable

extension OpenAPIValueContainer: Codable {
    /// Reads any value. The types are tried in this order: null, Boolean, whole number, number, text, list, object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self.init(validatedValue: nil)
        } else if let value = try? container.decode(Bool.self) {
            self.init(validatedValue: value)
        } else if let value = try? container.decode(Int.self) {
            self.init(validatedValue: value)
        } else if let value = try? container.decode(Double.self) {
            self.init(validatedValue: value)
        } else if let value = try? container.decode(String.self) {
            self.init(validatedValue: value)
        } else if let value = try? container.decode([OpenAPIValueContainer].self) {
            self.init(validatedValue: value.map(\.value))
        } else if let value = try? container.decode([String: OpenAPIValueContainer].self) {
            self.init(validatedValue: value.mapValues(\.value))
        } else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "The value is neither null, Boolean, number, text, list nor object."
            )
        }
    }

    /// Writes the value.
    ///
    /// Several objects that are encoded into the same encoder become one object, and several lists one list.
    public func encode(to encoder: any Encoder) throws {
        switch FreeFormValue.Form(value) {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value): try value.encode(to: encoder)
        case .integer(let value): try value.encode(to: encoder)
        case .double(let value): try value.encode(to: encoder)
        case .string(let value): try value.encode(to: encoder)
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(OpenAPIValueContainer(validatedValue: element)) }
        case .object(let members):
            var container = encoder.container(keyedBy: FreeFormValue.Key.self)
            for (key, member) in members {
                try container.encode(OpenAPIValueContainer(validatedValue: member), forKey: .init(stringValue: key))
            }
        case .unsupported(let value): throw FreeFormValue.unsupported(value, codingPath: encoder.codingPath)
        }
    }
}

extension OpenAPIObjectContainer: Codable {
    /// Reads an object.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.singleValueContainer().decode([String: OpenAPIValueContainer].self)
        self.init(validatedValue: members.mapValues(\.value))
    }

    /// Writes the object.
    public func encode(to encoder: any Encoder) throws {
        try OpenAPIValueContainer(validatedValue: value).encode(to: encoder)
    }
}

extension OpenAPIArrayContainer: Codable {
    /// Reads a list.
    public init(from decoder: any Decoder) throws {
        let elements = try decoder.singleValueContainer().decode([OpenAPIValueContainer].self)
        self.init(validatedValue: elements.map(\.value))
    }

    /// Writes the list.
    public func encode(to encoder: any Encoder) throws {
        try OpenAPIValueContainer(validatedValue: value).encode(to: encoder)
    }
}

// MARK: - What the three containers share

private enum FreeFormValue {
    /// The JSON type of a value.
    enum Form {
        case null
        case bool(Bool)
        case integer(Int)
        case double(Double)
        case string(String)
        case array([(any Sendable)?])
        case object([String: (any Sendable)?])
        case unsupported(any Sendable)

        init(_ value: (any Sendable)?) {
            guard let value else {
                self = .null
                return
            }
            // Types of Swift are checked first, without the conversions that a cast tries.
            let type = type(of: value)
            if type == String.self, let string = value as? String {
                self = .string(string)
            } else if type == Int.self, let integer = value as? Int {
                self = .integer(integer)
            } else if type == Double.self, let double = value as? Double {
                self = .double(double)
            } else if let bool = value as? Bool, Form.isBoolean(value) {
                self = .bool(bool)
            } else {
                switch value {
                case let integer as Int: self = .integer(integer)
                case let double as Double: self = .double(double)
                case let string as String: self = .string(string)
                case let array as [(any Sendable)?]: self = .array(array)
                case let object as [String: (any Sendable)?]: self = .object(object)
                // Foundation's null. It is compared by name, so that Foundation is not linked.
                default: self = Form.typeName(of: value) == "NSNull" ? .null : .unsupported(value)
                }
            }
        }

        /// Whether a value that converts to `Bool` is a Boolean. Foundation's numbers 1 and 0 convert as well, but its
        /// Booleans have a different class. The class is compared by name, so that Foundation is not linked.
        private static func isBoolean(_ value: any Sendable) -> Bool {
            type(of: value) == Bool.self || typeName(of: value) == "__NSCFBoolean"
        }

        private static func typeName(of value: any Sendable) -> String {
            String(describing: type(of: value))
        }
    }

    /// The key of a member of an object.
    struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    static func validating(_ value: (any Sendable)?) throws -> (any Sendable)? {
        switch Form(value) {
        case .null: return nil
        case .bool(let value): return value
        case .integer(let value): return value
        case .double(let value): return value
        case .string(let value): return value
        case .array(let elements): return try elements.map(validating)
        case .object(let members): return try members.mapValues(validating)
        case .unsupported(let value as OpenAPIValueContainer): return value.value
        case .unsupported(let value): throw unsupported(value, codingPath: [])
        }
    }

    static func unsupported(_ value: any Sendable, codingPath: [any CodingKey]) -> EncodingError {
        let context = EncodingError.Context(
            codingPath: codingPath,
            debugDescription:
                "A value of type \(type(of: value)) has no JSON form here; use null, Bool, Int, Double, String, "
                + "or arrays and dictionaries of them."
        )
        return .invalidValue(value, context)
    }

    static func areEqual(_ lhs: (any Sendable)?, _ rhs: (any Sendable)?) -> Bool {
        switch (Form(lhs), Form(rhs)) {
        case (.null, .null): true
        case (.bool(let lhs), .bool(let rhs)): lhs == rhs
        case (.integer(let lhs), .integer(let rhs)): lhs == rhs
        case (.double(let lhs), .double(let rhs)): lhs == rhs
        case (.string(let lhs), .string(let rhs)): lhs == rhs
        case (.array(let lhs), .array(let rhs)): lhs.count == rhs.count && zip(lhs, rhs).allSatisfy(areEqual)
        case (.object(let lhs), .object(let rhs)):
            lhs.count == rhs.count
                && lhs.allSatisfy { key, value in
                    rhs[key].map { areEqual(value, $0) } ?? false
                }
        default: false
        }
    }

    static func hash(_ value: (any Sendable)?, into hasher: inout Hasher) {
        switch Form(value) {
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let value):
            hasher.combine(value.count)
            for element in value { hash(element, into: &hasher) }
        case .object(let value):
            hasher.combine(value.count)
            var members = 0
            for (key, value) in value {
                var member = Hasher()
                member.combine(key)
                hash(value, into: &member)
                members ^= member.finalize()
            }
            hasher.combine(members)
        case .null, .unsupported: hasher.combine(0)
        }
    }
}

// MARK: - JSON

extension OpenAPIValueContainer: JSONReadable, JSONWritable {
    /// Reads any value. A number becomes an `Int` if it is whole and in range.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(validatedValue: try FreeFormValue.read(from: &reader))
    }

    /// Writes the value.
    public func write(json writer: inout JSONWriter) {
        FreeFormValue.write(value, to: &writer)
    }
}

extension OpenAPIObjectContainer: JSONReadable, JSONWritable {
    /// Reads an object.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(validatedValue: try FreeFormValue.readObject(from: &reader))
    }

    /// Writes the object.
    public func write(json writer: inout JSONWriter) {
        FreeFormValue.write(value, to: &writer)
    }
}

extension OpenAPIArrayContainer: JSONReadable, JSONWritable {
    /// Reads a list.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(validatedValue: try FreeFormValue.readArray(from: &reader))
    }

    /// Writes the list.
    public func write(json writer: inout JSONWriter) {
        FreeFormValue.write(value, to: &writer)
    }
}

extension FreeFormValue {
    static func read(from reader: inout JSONReader) throws(JSONError) -> (any Sendable)? {
        switch try reader.peekKind() {
        case .null:
            try reader.readNull()
            return nil
        case .bool: return try reader.readBool()
        case .number: return try readNumber(from: &reader)
        case .string: return try reader.readString()
        case .array: return try readArray(from: &reader)
        case .object: return try readObject(from: &reader)
        }
    }

    static func readNumber(from reader: inout JSONReader) throws(JSONError) -> any Sendable {
        let start = reader.position
        do {
            return try reader.readInteger(Int.self)
        } catch {
            reader.rewind(to: start)
            return try reader.readDouble()
        }
    }

    static func readArray(from reader: inout JSONReader) throws(JSONError) -> [(any Sendable)?] {
        var elements: [(any Sendable)?] = []
        try reader.beginArray()
        while try reader.nextElement() {
            elements.append(try read(from: &reader))
        }
        return elements
    }

    static func readObject(from reader: inout JSONReader) throws(JSONError) -> [String: (any Sendable)?] {
        var members: [String: (any Sendable)?] = [:]
        try reader.beginObject()
        while let key = try reader.nextKey() {
            members.updateValue(try read(from: &reader), forKey: key)
        }
        return members
    }

    static func write(_ value: (any Sendable)?, to writer: inout JSONWriter) {
        switch Form(value) {
        case .null: writer.writeNull()
        case .bool(let value): writer.write(value)
        case .integer(let value): writer.write(value)
        case .double(let value): writer.write(value)
        case .string(let value): writer.write(value)
        case .array(let elements):
            writer.beginArray()
            for element in elements { write(element, to: &writer) }
            writer.endArray()
        case .object(let members):
            // Keys are sorted, so that equal values have equal bytes.
            writer.beginObject()
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                writer.key(key)
                write(value, to: &writer)
            }
            writer.endObject()
        case .unsupported(let value):
            let message = "A value of type \(type(of: value)) has no JSON form here."
            writer.fail(JSONError(code: .notRepresentable, message: message))
        }
    }
}

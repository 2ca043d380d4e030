/// Any JSON value as a tree, for JSON without a Swift type of its own.
///
/// ```swift
/// let value: JSONValue = ["name": "Mist", "sizes": [1, 2.5], "parent": nil]
/// value["sizes"]?[0]?.int64Value  // 1
/// ```
///
/// A number without fraction and exponent is an ``integer(_:)``, or an ``unsignedInteger(_:)`` beyond `Int64.max`.
/// Every other number is a ``double(_:)``. For numbers with more digits than a `Double` holds, use ``JSONRawValue``.
public enum JSONValue: Hashable, Sendable, JSONReadable, JSONWritable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A whole number larger than `Int64.max`; smaller ones are always an ``integer(_:)``.
    case unsignedInteger(UInt64)
    /// A number with a fraction or an exponent, or larger than 64 bits.
    case double(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. If a key occurs several times, the last value counts.
    case object([String: JSONValue])

    /// Reads any one value.
    ///
    /// Fails with ``JSONError/Code/numberOutOfRange`` for a number beyond all finite doubles.
    public init(json reader: inout JSONReader) throws(JSONError) {
        switch try reader.peekKind() {
        case .null:
            try reader.readNull()
            self = .null
        case .bool: self = .bool(try reader.readBool())
        case .string: self = .string(try reader.readString())
        case .number: self = try reader.readNumber()
        case .array: self = .array(try reader.read())
        case .object: self = .object(try reader.read())
        }
    }

    /// Writes the value.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .null: writer.writeNull()
        case .bool(let value): writer.write(value)
        case .integer(let value): writer.write(value)
        case .unsignedInteger(let value): writer.write(value)
        case .double(let value): writer.write(value)
        case .string(let value): writer.write(value)
        case .array(let elements): writer.write(elements)
        case .object(let members): writer.write(members)
        }
    }

    /// The member of an object, or `nil` for other values and other keys.
    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The element of an array, or `nil` for other values and indices out of bounds.
    public subscript(index: Int) -> JSONValue? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The value of a boolean.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The value of a string.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The value of a number that is whole and fits, in any spelling.
    public var int64Value: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The value of any number, the nearest one for large integers.
    public var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsignedInteger(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The elements of an array.
    public var arrayValue: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of an object.
    public var objectValue: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }
}

extension JSONReader {
    /// Reads a number; its spelling decides the case.
    fileprivate mutating func readNumber() throws(JSONError) -> JSONValue {
        let first = position
        let number = try scanNumber()
        if number.isInteger {
            let last = position
            rewind(to: first)
            let whole = try readWholeNumber()
            if let value = whole.value(as: Int64.self) {
                return .integer(value)
            }
            if let value = whole.value(as: UInt64.self) {
                return .unsignedInteger(value)
            }
            rewind(to: last)
        }
        rewind(to: first)
        return .double(try readDouble())
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) {
        self = .null
    }

    /// A boolean.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// A whole number.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// A number.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }

    /// A string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    /// An object. If a key occurs several times, the last value counts.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(Dictionary(members) { _, last in last })
    }
}

extension JSONValue: Codable {
    struct MemberKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            nil
        }
    }

    /// Decodes any one value.
    ///
    /// Fails as `decoder` does. With a decoder that ignores the spelling of numbers, `1.0` becomes an ``integer(_:)``.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? TreeDecoder {
            self = decoder.value
            return
        }
        if let container = try? decoder.container(keyedBy: MemberKey.self) {
            var members: [String: JSONValue] = [:]
            for key in container.allKeys {
                members[key.stringValue] = try container.decode(JSONValue.self, forKey: key)
            }
            self = .object(members)
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd {
                elements.append(try container.decode(JSONValue.self))
            }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsignedInteger(value)
        } else {
            self = .double(try container.decode(Double.self))
        }
    }

    /// Encodes the value: null, a boolean, a number, a string, an array or an object.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: MemberKey.self)
            for (key, value) in members {
                try container.encode(value, forKey: MemberKey(stringValue: key))
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements {
                try container.encode(element)
            }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .unsignedInteger(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            default: try container.encodeNil()
            }
        }
    }
}

/// One JSON value, kept as its bytes.
///
/// Use it for values that must stay unchanged: values of unknown shape, or numbers with more digits than a Swift type
/// can hold. The bytes are always well-formed JSON.
public struct JSONRawValue: Hashable, Sendable, JSONReadable, JSONWritable, CustomStringConvertible {
    /// The value in UTF-8, unchanged.
    public let bytes: [UInt8]

    /// Keeps bytes without a check. They must be one JSON value without white space around it, as a writer gives them.
    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Checks that bytes are one JSON value and keeps them.
    ///
    /// - Parameter bytes: One JSON value, with white space around it or not.
    /// - Throws: A ``JSONError`` if the bytes are not exactly one JSON value.
    public init(parsing bytes: [UInt8]) throws(JSONError) {
        self = try JSONReader.read(from: bytes)
    }

    /// Checks that a text is one JSON value and keeps it.
    ///
    /// - Parameter text: One JSON value, with white space around it or not.
    /// - Throws: A ``JSONError`` if the text is not exactly one JSON value.
    public init(parsing text: String) throws(JSONError) {
        self = try JSONReader.read(from: text)
    }

    /// Keeps the JSON of a value.
    ///
    /// - Parameter value: The value.
    /// - Throws: The writer's error when the value has no form in JSON.
    public init<T: JSONWritable>(_ value: T) throws(JSONError) {
        self.init(unchecked: try JSONWriter.bytes(of: value))
    }

    /// Reads any one value.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readRawValue()
    }

    /// Writes the bytes unchanged.
    public func write(json writer: inout JSONWriter) {
        writer.writeRaw(self)
    }

    /// Reads a value of another type from the bytes.
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: ``JSONError`` as the type's own ``JSONReadable/init(json:)`` does.
    public func read<T: JSONReadable>(_ type: T.Type = T.self) throws(JSONError) -> T {
        try JSONReader.read(type, from: bytes, options: JSONReader.Options(maximumDepth: .max))
    }

    /// The kind of the value.
    public var kind: JSONReader.Kind {
        switch bytes.first {
        case ASCII.leftBrace: .object
        case ASCII.leftBracket: .array
        case ASCII.quote: .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    /// The value as text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether two values have the same meaning: white space, the order of keys, and the spelling of strings and
    /// numbers do not matter.
    public static func == (left: JSONRawValue, right: JSONRawValue) -> Bool {
        left.bytes == right.bytes || left.meaning == right.meaning
    }

    /// Feeds the meaning of the value to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(meaning)
    }

    private var meaning: Meaning? {
        try? read(Meaning.self)
    }
}

/// A value without its spelling.
private indirect enum Meaning: Hashable, JSONReadable {
    case null
    case bool(Bool)
    /// The digits without zeros at their ends, times ten to a power.
    case number(isNegative: Bool, digits: [UInt8], exponent: Int)
    // Bytes, because two Swift strings with different bytes are equal if they are canonically equivalent.
    case string([UInt8])
    case array([Meaning])
    case object([[UInt8]: Meaning])

    init(json reader: inout JSONReader) throws(JSONError) {
        switch try reader.peekKind() {
        case .null:
            try reader.readNull()
            self = .null
        case .bool: self = .bool(try reader.readBool())
        case .number:
            let (isNegative, digits, exponent) = try reader.readDecimal()
            self = .number(isNegative: isNegative, digits: digits, exponent: exponent)
        case .string: self = .string(Array(try reader.readString().utf8))
        case .array: self = .array(try reader.read())
        case .object:
            var members: [[UInt8]: Meaning] = [:]
            try reader.beginObject()
            while let key = try reader.nextKey() {
                members[Array(key.utf8)] = try reader.read()
            }
            self = .object(members)
        }
    }
}

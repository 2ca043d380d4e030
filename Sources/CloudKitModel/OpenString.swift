public import StreamingJSON

/// A set of strings that the service may extend at any time: known members are static, unknown ones are kept as they came.
///
/// ```swift
/// let code: ServerErrorCode = "BRAND_NEW_CODE"  // never fails
/// ```
public protocol OpenString: RawRepresentable<String>, Hashable, Sendable, JSONBackedCodable,
    ExpressibleByStringLiteral, CustomStringConvertible
{
    /// Makes the member that is spelled `rawValue` on the wire.
    init(rawValue: String)
}

extension OpenString {
    /// Makes the member that is spelled like the literal on the wire.
    public init(stringLiteral value: String) {
        self.init(rawValue: value)
    }

    /// Reads a JSON string; every string is a member.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(rawValue: try reader.readRepeatedString())
    }

    /// Writes the wire spelling as a JSON string.
    public func write(json writer: inout JSONWriter) {
        writer.write(rawValue)
    }

    /// The wire spelling.
    public var description: String { rawValue }
}

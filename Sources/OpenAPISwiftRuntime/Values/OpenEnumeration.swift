public import StreamingJSON

/// An enumeration that can also hold values that the document does not list.
///
/// The generator declares such types if its configuration has `enumerations: open`, and for schemas with
/// `x-extensible-enum`.
///
/// ```swift
/// switch book.genre {
/// case .novel: shelve(book)
/// default: print("a genre of later: \(book.genre.rawValue)")
/// }
/// ```
public protocol OpenEnumeration: RawRepresentable, CaseIterable, Codable, Hashable, Sendable, JSONReadable, JSONWritable
where RawValue: Codable & Hashable & Sendable & JSONReadable & JSONWritable {
    /// Creates a value, whether the document lists it or not.
    init(rawValue: RawValue)
}

extension OpenEnumeration {
    /// Reads a raw value.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(rawValue: try reader.read(RawValue.self))
    }

    /// Writes the raw value.
    public func write(json writer: inout JSONWriter) {
        rawValue.write(json: &writer)
    }
}

/// An enumeration of strings that can also hold strings that the document does not list.
///
/// ```swift
/// let genre: Components.Schemas.Genre = "space opera"  // whether the document lists it or not
/// print("\(genre)")                                     // space opera
/// ```
public protocol OpenStringEnumeration: OpenEnumeration, ExpressibleByStringLiteral, CustomStringConvertible
where RawValue == String {}

extension OpenStringEnumeration {
    /// Reads a string; every string is a value.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(rawValue: try reader.readRepeatedString())
    }

    /// The raw value.
    public var description: String { rawValue }
}

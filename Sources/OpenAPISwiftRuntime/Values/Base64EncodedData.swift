public import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Bytes that are base64 text in JSON.
///
/// ```swift
/// let seal: Base64EncodedData = [0x48, 0x69]
/// // "SGk="
/// ```
///
/// Writing uses the standard alphabet with padding and no line breaks. Reading ignores characters outside of the
/// alphabet and requires correct padding.
public struct Base64EncodedData: Sendable, Hashable {
    /// The bytes.
    public var data: ArraySlice<UInt8>

    /// Creates a value of some bytes.
    /// - Parameter data: The bytes.
    public init(_ data: ArraySlice<UInt8>) {
        self.data = data
    }

    /// Creates a value of some bytes.
    /// - Parameter data: The bytes.
    public init(_ data: some Sequence<UInt8>) {
        self.init(ArraySlice(data))
    }
}

extension Base64EncodedData: ExpressibleByArrayLiteral {
    /// Creates a value of the bytes of a literal.
    public init(arrayLiteral elements: UInt8...) {
        self.init(elements)
    }
}

extension Base64EncodedData: Codable {
    /// Reads base64 text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "The text is not base64, or its padding is wrong."
            )
        }
        self.init(data)
    }

    /// Writes base64 text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(data).base64EncodedString())
    }
}

extension Base64EncodedData: JSONReadable, JSONWritable {
    /// Reads base64 text.
    public init(json reader: inout JSONReader) throws(JSONError) {
        // `JSONReader.readBase64()` differs: it refuses characters outside of the alphabet, and accepts missing
        // padding.
        let text = try reader.readString()
        guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            throw reader.error(.invalidValue, "the text is not base64, or its padding is wrong")
        }
        self.init(data)
    }

    /// Writes base64 text.
    public func write(json writer: inout JSONWriter) {
        writer.writeBase64(data)
    }
}

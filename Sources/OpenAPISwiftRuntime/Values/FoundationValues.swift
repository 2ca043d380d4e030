public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// The types of Foundation that users most often name in type overrides. Another type needs two lines in its module to
// be `JSONReadable` and `JSONWritable`: `JSONReader.readDecodable(_:)` and `JSONWriter.writeEncodable(_:)`.

extension UUID: JSONReadable, JSONWritable {
    /// Reads the text of a UUID, in capitals or not.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let text = try reader.readString()
        guard let value = UUID(uuidString: text) else {
            throw reader.error(.invalidValue, "'\(text)' is not a UUID")
        }
        self = value
    }

    /// Writes the text in capitals, as `Codable` does.
    public func write(json writer: inout JSONWriter) {
        writer.write(uuidString)
    }
}

extension URL: JSONReadable, JSONWritable {
    /// Reads the text of a URL.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let text = try reader.readString()
        guard let value = URL(string: text) else {
            throw reader.error(.invalidValue, "'\(text)' is not a URL")
        }
        self = value
    }

    /// Writes the whole URL as text.
    public func write(json writer: inout JSONWriter) {
        writer.write(absoluteString)
    }
}

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How a generated client or server writes and reads values.
///
/// ```swift
/// let client = Client(
///     serverURL: try Servers.Server1.url(),
///     configuration: Configuration(dateTranscoder: .iso8601WithFractionalSeconds),
///     transport: transport
/// )
/// // {"created":"2026-01-18T10:04:11.250Z"}
/// ```
public struct Configuration: Sendable {

    /// How dates are written and read, in bodies, parameters and headers alike.
    public var dateTranscoder: any DateTranscoder

    /// How JSON bodies are laid out.
    public var jsonEncodingOptions: JSONEncodingOptions

    /// What makes the boundaries of multipart bodies that are sent.
    public var multipartBoundaryGenerator: any MultipartBoundaryGenerator

    /// What writes and reads XML bodies, if there are any.
    public var xmlCoder: (any CustomCoder)?

    /// Creates a configuration.
    /// - Parameters:
    ///   - dateTranscoder: How dates are written and read.
    ///   - jsonEncodingOptions: How JSON bodies are laid out.
    ///   - multipartBoundaryGenerator: What makes the boundaries of multipart bodies that are sent.
    ///   - xmlCoder: What writes and reads XML bodies, if there are any.
    public init(
        dateTranscoder: any DateTranscoder = .iso8601,
        jsonEncodingOptions: JSONEncodingOptions = [.sortedKeys, .prettyPrinted],
        multipartBoundaryGenerator: any MultipartBoundaryGenerator = .random,
        xmlCoder: (any CustomCoder)? = nil
    ) {
        self.dateTranscoder = dateTranscoder
        self.jsonEncodingOptions = jsonEncodingOptions
        self.multipartBoundaryGenerator = multipartBoundaryGenerator
        self.xmlCoder = xmlCoder
    }
}

/// Writes and reads values in a format that the runtime does not know, such as XML.
public protocol CustomCoder: Sendable {

    /// Writes a value.
    /// - Parameter value: The value to write.
    /// - Returns: The bytes of the body.
    /// - Throws: If the value cannot be written.
    func customEncode<T: Encodable>(_ value: T) throws -> Data

    /// Reads a value.
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - data: The bytes of the body.
    /// - Returns: The value.
    /// - Throws: If the bytes are not such a value.
    func customDecode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

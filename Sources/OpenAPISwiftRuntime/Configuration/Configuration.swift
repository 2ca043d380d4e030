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
    public var dateTranscoder: any DateTranscoder {
        get { dates.transcoder }
        set { dates = DateCoding(transcoder: newValue) }
    }

    /// The date transcoder in the form that readers and writers carry.
    private(set) var dates: DateCoding

    /// How JSON bodies are laid out.
    public var jsonEncodingOptions: JSONEncodingOptions

    /// The generator of the boundaries of multipart bodies that are sent.
    public var multipartBoundaryGenerator: any MultipartBoundaryGenerator

    /// The coder of XML bodies, if there are any.
    public var xmlCoder: (any CustomCoder)?

    /// The maximum size, in bytes, of a received body that is collected in memory: JSON and URL-encoded forms.
    ///
    /// A longer body is refused: a client throws, and a server responds with 413 when ``ErrorHandlingMiddleware`` is
    /// installed. The limit applies neither to bodies that a middleware has already collected nor to streamed bodies.
    public var maximumBufferedBytes: Int

    /// How the values of header fields that the document describes are encoded.
    public var headerValueEncoding: HeaderValueEncoding

    /// The deviations from the document that a server accepts in requests. A client ignores this property.
    public var lenientReading: LenientReading

    /// Creates a configuration.
    /// - Parameters:
    ///   - dateTranscoder: How dates are written and read.
    ///   - jsonEncodingOptions: How JSON bodies are laid out.
    ///   - multipartBoundaryGenerator: The generator of the boundaries of multipart bodies that are sent.
    ///   - xmlCoder: The coder of XML bodies, if there are any.
    ///   - maximumBufferedBytes: The maximum size, in bytes, of a received body that is collected in memory. The
    ///     default is 64 MiB.
    ///   - headerValueEncoding: How the values of header fields that the document describes are encoded.
    ///   - lenientReading: The deviations from the document that a server accepts in requests; none by default.
    public init(
        dateTranscoder: any DateTranscoder = .iso8601,
        jsonEncodingOptions: JSONEncodingOptions = [.sortedKeys, .prettyPrinted],
        multipartBoundaryGenerator: any MultipartBoundaryGenerator = .random,
        xmlCoder: (any CustomCoder)? = nil,
        maximumBufferedBytes: Int = 64 * 1024 * 1024,
        headerValueEncoding: HeaderValueEncoding = .percentEncoded,
        lenientReading: LenientReading = []
    ) {
        dates = DateCoding(transcoder: dateTranscoder)
        self.jsonEncodingOptions = jsonEncodingOptions
        self.multipartBoundaryGenerator = multipartBoundaryGenerator
        self.xmlCoder = xmlCoder
        self.maximumBufferedBytes = maximumBufferedBytes
        self.headerValueEncoding = headerValueEncoding
        self.lenientReading = lenientReading
    }
}

extension Configuration {
    /// Creates a configuration.
    /// - Parameters:
    ///   - dateTranscoder: How dates are written and read.
    ///   - multipartBoundaryGenerator: The generator of the boundaries of multipart bodies that are sent.
    @available(*, deprecated, message: "Use the initialiser with all parameters.")
    @_disfavoredOverload
    public init(
        dateTranscoder: any DateTranscoder = .iso8601,
        multipartBoundaryGenerator: any MultipartBoundaryGenerator = .random
    ) {
        self.init(
            dateTranscoder: dateTranscoder,
            multipartBoundaryGenerator: multipartBoundaryGenerator,
            xmlCoder: Optional<any CustomCoder>.none,
            maximumBufferedBytes: 64 * 1024 * 1024
        )
    }

    /// Creates a configuration.
    /// - Parameters:
    ///   - dateTranscoder: How dates are written and read.
    ///   - multipartBoundaryGenerator: The generator of the boundaries of multipart bodies that are sent.
    ///   - xmlCoder: The coder of XML bodies, if there are any.
    @available(*, deprecated, message: "Use the initialiser with all parameters.")
    @_disfavoredOverload
    public init(
        dateTranscoder: any DateTranscoder = .iso8601,
        multipartBoundaryGenerator: any MultipartBoundaryGenerator = .random,
        xmlCoder: (any CustomCoder)? = nil
    ) {
        self.init(
            dateTranscoder: dateTranscoder,
            multipartBoundaryGenerator: multipartBoundaryGenerator,
            xmlCoder: xmlCoder,
            maximumBufferedBytes: 64 * 1024 * 1024
        )
    }
}

/// How the values of header fields are encoded.
public enum HeaderValueEncoding: Sendable {
    /// Everything except letters, digits and `-._~` is percent-encoded, as in code of Apple's generator.
    ///
    /// ```
    /// location: https%3A%2F%2Fexample.com%2F
    /// ```
    case percentEncoded

    /// Values are sent unchanged, as OpenAPI says since version 3.1.1 and as other programs expect.
    ///
    /// ```
    /// location: https://example.com/
    /// ```
    /// A value that a header field cannot hold is refused, for example one with a line break. A comma in one of several
    /// values is refused, too.
    case plain
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
    /// - Throws: If the bytes are not a value of the type.
    func customDecode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

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

    /// The date transcoder as readers and writers carry it.
    private(set) var dates: DateCoding

    /// How JSON bodies are laid out.
    public var jsonEncodingOptions: JSONEncodingOptions

    /// The generator of the boundaries of multipart bodies that are sent.
    public var multipartBoundaryGenerator: any MultipartBoundaryGenerator

    /// The coder of XML bodies, if there are any.
    public var xmlCoder: (any CustomCoder)?

    /// How many bytes of a received body are brought into memory to be read as a whole: JSON, and URL-encoded forms.
    ///
    /// The body of a longer one is refused: a client throws, a server answers with 413 when ``ErrorHandlingMiddleware``
    /// is installed. Bodies that a middleware has in memory already are always read, and bodies that stream have no
    /// limit.
    public var maximumBufferedBytes: Int

    /// How the values of header fields that the document describes are spelled.
    public var headerValueEncoding: HeaderValueEncoding

    /// Creates a configuration.
    /// - Parameters:
    ///   - dateTranscoder: How dates are written and read.
    ///   - jsonEncodingOptions: How JSON bodies are laid out.
    ///   - multipartBoundaryGenerator: What makes the boundaries of multipart bodies that are sent.
    ///   - xmlCoder: What writes and reads XML bodies, if there are any.
    ///   - maximumBufferedBytes: How many bytes of a received body are brought into memory to be read as a whole; 64
    ///     MiB.
    ///   - headerValueEncoding: How the values of header fields that the document describes are spelled.
    public init(
        dateTranscoder: any DateTranscoder = .iso8601,
        jsonEncodingOptions: JSONEncodingOptions = [.sortedKeys, .prettyPrinted],
        multipartBoundaryGenerator: any MultipartBoundaryGenerator = .random,
        xmlCoder: (any CustomCoder)? = nil,
        maximumBufferedBytes: Int = 64 * 1024 * 1024,
        headerValueEncoding: HeaderValueEncoding = .percentEncoded
    ) {
        dates = DateCoding(transcoder: dateTranscoder)
        self.jsonEncodingOptions = jsonEncodingOptions
        self.multipartBoundaryGenerator = multipartBoundaryGenerator
        self.xmlCoder = xmlCoder
        self.maximumBufferedBytes = maximumBufferedBytes
        self.headerValueEncoding = headerValueEncoding
    }
}

extension Configuration {
    /// Creates a configuration.
    /// - Parameters:
    ///   - dateTranscoder: How dates are written and read.
    ///   - multipartBoundaryGenerator: What makes the boundaries of multipart bodies that are sent.
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
    ///   - multipartBoundaryGenerator: What makes the boundaries of multipart bodies that are sent.
    ///   - xmlCoder: What writes and reads XML bodies, if there are any.
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

/// How the values of header fields are spelled.
public enum HeaderValueEncoding: Sendable {
    /// Everything but letters, digits and `-._~` is percent-encoded, as code of Apple's generator does.
    ///
    /// ```
    /// location: https%3A%2F%2Fexample.com%2F
    /// ```
    case percentEncoded

    /// Values stand as they are, as OpenAPI has it since version 3.1.1 and as every other program expects.
    ///
    /// ```
    /// location: https://example.com/
    /// ```
    /// A value that a header field cannot hold, with a line break for example, is refused, and so is a comma in one of
    /// several values.
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
    /// - Throws: If the bytes are not such a value.
    func customDecode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

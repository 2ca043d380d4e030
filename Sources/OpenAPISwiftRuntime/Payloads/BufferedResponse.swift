public import StreamingJSON

/// A response whose body is in memory. The caller reads the body into a type of its own.
///
/// The configuration key `bufferedResponses` gives the generated client a second method for an operation. This method
/// reads the whole response except the body of a success:
///
/// ```swift
/// let page = try await client.listSightings(buffering: .init()).ok
/// print(page.headers.xTotalCount)
/// let names = try page.body.json(SpeciesNames.self)
/// ```
public struct BufferedResponse<Headers: Sendable>: Sendable {
    /// The header fields: of the generated type, or `HTTPFields` where the document describes none.
    public var headers: Headers

    /// The body.
    public var body: BufferedBody

    /// Creates a response, for tests of code that reads one.
    /// - Parameters:
    ///   - headers: The header fields.
    ///   - body: The body.
    public init(headers: Headers, body: BufferedBody) {
        self.headers = headers
        self.body = body
    }
}

/// The body of a response, in memory and not read yet.
public struct BufferedBody: Sendable, CustomStringConvertible {
    /// All bytes of the body.
    public let bytes: ArraySlice<UInt8>

    private let call: Call

    init(bytes: ArraySlice<UInt8>, call: Call) {
        self.bytes = bytes
        self.call = call
    }

    /// Creates a body, for tests of code that reads one.
    /// - Parameters:
    ///   - bytes: All bytes of the body.
    ///   - operationID: The name of the operation in errors.
    ///   - configuration: How dates are read.
    public init(_ bytes: ArraySlice<UInt8>, operationID: String, configuration: Configuration = Configuration()) {
        let call = ClientCall(operationID: operationID, input: (), baseURL: nil)
        self.init(bytes: bytes, call: Call(call, configuration: configuration))
    }

    /// Reads the body as one JSON value.
    ///
    /// Every call of this method parses the bytes again.
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: A ``ClientError``, as from the usual method: it names the operation. Its underlying error is a
    ///   `JSONError` with the offset and the path of the value that cannot be read.
    public func json<T: JSONReadable>(_ type: T.Type = T.self) throws -> T {
        try json { (reader) throws(JSONError) in try T(json: &reader) }
    }

    /// Reads the body as one JSON value that a closure reads.
    ///
    /// - Parameter read: Reads exactly one value.
    /// - Returns: What `read` returns.
    /// - Throws: A ``ClientError``, as ``json(_:)-(T.Type)`` does.
    public func json<T>(_ read: (inout JSONReader) throws(JSONError) -> T) throws -> T {
        do {
            return try call.configuration.readJSON(bytes, read)
        } catch {
            throw call.call.unreadableResponse(error)
        }
    }

    /// The number of bytes. The bytes themselves are left out, because they can be private.
    public var description: String { "\(bytes.count) bytes" }

    /// The call that the body answers, for errors of reading it, and how values are read.
    @_spi(Generated) public final class Call: Sendable {
        let call: ClientCall
        let configuration: Configuration

        init(_ call: ClientCall, configuration: Configuration) {
            self.call = call
            self.configuration = configuration
        }
    }
}

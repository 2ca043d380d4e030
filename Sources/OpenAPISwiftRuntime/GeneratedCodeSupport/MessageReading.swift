public import HTTPTypes
public import StreamingJSON

/// A message that generated code reads: a request on the server, a response in the client.
@_spi(Generated) public protocol ReadableMessage {
    /// The header fields.
    var headerFields: HTTPFields { get }
    /// The body, if there is one.
    var body: HTTPBody? { get set }
    /// How values are read.
    var configuration: Configuration { get }
    /// Whether a message whose body has one documented content type may name another.
    var mayHaveAnyContentType: Bool { get }
}

extension ReadableMessage {
    /// `false`: a message is held to the document.
    @_spi(Generated) public var mayHaveAnyContentType: Bool { false }
}

extension ReadableMessage {
    // MARK: Content types

    /// Checks the message's content type against the only one that is documented.
    @_spi(Generated) public func requireContentType(_ documented: String) throws {
        _ = try matchContentType([documented])
    }

    /// The index of the documented content type that fits the message's best.
    ///
    /// A message without a content type, or with one that cannot be read, counts as the first.
    @_spi(Generated) public func matchContentType(_ documented: [String]) throws -> Int {
        // The boundary of a multipart body is in its content type.
        if mayHaveAnyContentType, documented.count == 1, !documented[0].lowercased().hasPrefix("multipart/") {
            return 0
        }
        guard let field = headerFields.value(of: .contentType) else { return 0 }
        // The common cases, spelled as this module writes them.
        if let index = documented.firstIndex(of: field) { return index }
        for charset in ["; charset=utf-8", "; charset=UTF-8"] {
            let count = field.utf8.count - charset.utf8.count
            if let index = documented.firstIndex(where: { $0.utf8.count == count && field == $0 + charset }) {
                return index
            }
        }
        guard let received = ContentType(field), !received.isWildcard else { return 0 }
        var best: (index: Int, score: Int)?
        for (index, text) in documented.enumerated() {
            guard let score = ContentType(text)?.score(of: received) else { continue }
            if score > (best?.score ?? -1) { best = (index, score) }
        }
        guard let best else { throw GeneratedCodeError.unexpectedContentType(field, expected: documented) }
        return best.index
    }

    // MARK: Bodies

    /// The body as a stream.
    @_spi(Generated) public func rawBody() throws -> HTTPBody {
        guard let body else { throw GeneratedCodeError.missingBody }
        return body
    }

    /// All bytes of the body, up to the limit of the configuration.
    ///
    /// There is no limit for bytes that are in memory already.
    private func collectedBody() async throws -> ArraySlice<UInt8> {
        guard let body else { throw GeneratedCodeError.missingBody }
        if let bytes = body.bufferedBytes { return bytes }
        do {
            return try await ArraySlice(collecting: body, upTo: configuration.maximumBufferedBytes)
        } catch let error as HTTPBodyError where error.code == .tooManyBytes {
            throw GeneratedCodeError.bodyTooLarge(limit: configuration.maximumBufferedBytes)
        }
    }

    /// The body as one JSON value.
    @_spi(Generated) public func json<T: JSONReadable>(_ type: T.Type = T.self) throws -> T {
        try json { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// The body as one JSON value that a closure reads.
    @_spi(Generated) public func json<T>(_ read: (inout JSONReader) throws(JSONError) -> T) throws -> T {
        try configuration.readJSON(bufferedBody(), read)
    }

    /// All bytes of the body. Throws `BodyIsStillToCome` if they are not in memory yet.
    func bufferedBody() throws -> ArraySlice<UInt8> {
        guard let body else { throw GeneratedCodeError.missingBody }
        guard let bytes = body.bufferedBytes else { throw BodyIsStillToCome() }
        return bytes
    }

    /// Decodes the message with a function; collects the body and decodes again if the function needs the whole body.
    ///
    /// Generated code decodes synchronously, because the compiler takes long for asynchronous functions. Only the
    /// function knows whether it needs the whole body. If it does, it is called a second time, with a collected body. A
    /// body that is passed on as a stream stays a stream.
    @_spi(Generated) public func decoded<Value>(_ decode: (Self) throws -> Value) async throws -> Value {
        do {
            return try decode(self)
        } catch is BodyIsStillToCome {
            return try decode(await withBufferedBody())
        }
    }

    private func withBufferedBody() async throws -> Self {
        var message = self
        message.body = HTTPBody(try await collectedBody())
        return message
    }

    // MARK: Header fields

    /// A header field that may be missing.
    @_spi(Generated) public func header<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type = T.self
    ) throws -> T? {
        // A string needs no conversion to JSON and back.
        if case .string = shape, T.self == String.self { return try field(name).map { decodedHeader($0[...]) } as? T }
        return try header(name, shape) { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// A header field that may be missing, read with a closure.
    @_spi(Generated) public func header<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T? {
        guard let text = try field(name) else { return nil }
        return try ParameterDecoder.read(
            ParameterDecoder.delimited(text[...], shape, named: name) { decodedHeader($0) },
            shape,
            named: name,
            dates: configuration.dates,
            read
        )
    }

    /// A required header field.
    @_spi(Generated) public func requiredHeader<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type = T.self
    ) throws -> T {
        try header(name, shape, type).required(name, in: "header field")
    }

    /// A required header field, read with a closure.
    @_spi(Generated) public func requiredHeader<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        try header(name, shape, read).required(name, in: "header field")
    }

    /// A header field that holds JSON and may be missing.
    @_spi(Generated) public func jsonHeader<T: JSONReadable>(_ name: String, _ type: T.Type = T.self) throws -> T? {
        try jsonHeader(name) { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// A header field that holds JSON and may be missing, read with a closure.
    @_spi(Generated) public func jsonHeader<T>(
        _ name: String,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T? {
        guard let text = try field(name) else { return nil }
        let bytes = Array(text.utf8)
        do {
            return try configuration.readJSON(bytes[...], read)
        } catch {
            throw GeneratedCodeError.malformedParameter(name, error)
        }
    }

    /// A required header field that holds JSON.
    @_spi(Generated) public func requiredJsonHeader<T: JSONReadable>(_ name: String, _ type: T.Type = T.self) throws
        -> T
    {
        try jsonHeader(name, type).required(name, in: "header field")
    }

    /// A required header field that holds JSON, read with a closure.
    @_spi(Generated) public func requiredJsonHeader<T>(
        _ name: String,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        try jsonHeader(name, read).required(name, in: "header field")
    }

    /// The text of a header field's value, or of one of its values.
    private func decodedHeader(_ value: Substring) -> String {
        let text = ContentType.trimmed(value)
        return switch configuration.headerValueEncoding {
        case .percentEncoded: PercentEncoding.decode(text)
        case .plain: String(text)
        }
    }

    private func field(_ name: String) throws -> String? {
        guard let name = HTTPField.Name(name) else { return nil }
        return headerFields.value(of: name)
    }
}

extension HTTPFields {
    /// The same value as from the subscript, but without a copy if there is only one field of the name.
    fileprivate func value(of name: HTTPField.Name) -> String? {
        guard let first = firstIndex(where: { $0.name == name }) else { return nil }
        guard self[(first + 1)...].contains(where: { $0.name == name }) else { return self[first].value }
        return self[name]
    }
}

extension Configuration {
    /// Reads one JSON value with a closure.
    func readJSON<T>(
        _ bytes: ArraySlice<UInt8>,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> T {
        try JSONReader.withReader(over: bytes.span, options: .init(dates: dates), read)
    }
}

/// Thrown inside of decoding: it needs all bytes of a body that is still a stream.
private struct BodyIsStillToCome: Error {}

public import HTTPTypes
public import StreamingJSON

/// A message that generated code writes: a request in the client, a response on the server.
@_spi(Generated) public protocol WritableMessage {
    /// The header fields so far.
    var headerFields: HTTPFields { get set }
    /// The body so far.
    var body: HTTPBody? { get set }
    /// How values are written.
    var configuration: Configuration { get }
    /// Throws for a content type that the other side does not accept.
    func checkContentType(_ contentType: String) throws
}

extension WritableMessage {
    // MARK: Header fields

    /// Adds a header field unless the value is `nil`.
    @_spi(Generated) public mutating func addHeader<T: JSONWritable>(_ name: String, _ value: T?) throws {
        try addHeader(name, value) { value, writer in value.write(json: &writer) }
    }

    /// Adds a header field, whose value a closure writes, unless the value is `nil`.
    @_spi(Generated) public mutating func addHeader<T>(
        _ name: String,
        _ value: T?,
        _ write: (T, inout JSONWriter) -> Void
    ) throws {
        guard let value, let field = HTTPField.Name(name) else { return }
        let parts = try ParameterEncoder.value(of: value, dates: configuration.dates, write)
        switch configuration.headerValueEncoding {
        case .percentEncoded: headerFields[field] = try ParameterEncoder.simple(parts, named: name)
        case .plain:
            var isList = true
            if case .text = parts { isList = false }
            headerFields[field] = try ParameterEncoder.simple(parts, named: name) { text in
                guard HTTPField.isValidValue(text), !isList || !text.utf8.contains(UInt8(ascii: ",")) else {
                    throw GeneratedCodeError.inexpressibleParameter(name, in: "header field")
                }
                return text
            }
        }
    }

    /// Adds a header field as JSON unless the value is `nil`.
    @_spi(Generated) public mutating func addJSONHeader<T: JSONWritable>(_ name: String, _ value: T?) throws {
        try addJSONHeader(name, value) { value, writer in value.write(json: &writer) }
    }

    /// Adds a header field as JSON, which a closure writes, unless the value is `nil`.
    @_spi(Generated) public mutating func addJSONHeader<T>(
        _ name: String,
        _ value: T?,
        _ write: (T, inout JSONWriter) -> Void
    ) throws {
        guard let value, let field = HTTPField.Name(name) else { return }
        let bytes = try configuration.json(
            value,
            options: [.sortedKeys, .wholeDoublesWithoutFraction],
            write
        )
        headerFields[field] = String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Bodies

    /// Sets the body to a stream.
    @_spi(Generated) public mutating func setBody(_ body: HTTPBody, contentType: String) throws {
        try checkContentType(contentType)
        self.body = body
        setContentType(contentType)
        if case .known(let length) = body.length { headerFields[.contentLength] = String(length) }
    }

    /// Sets the type of the body.
    ///
    /// A documented range such as `image/*` cannot be sent as a content type. If a type was set before, it stays. If
    /// not, `*/*` is sent as `application/octet-stream`, and for other ranges no content type is sent.
    private mutating func setContentType(_ contentType: String) {
        guard contentType.utf8.contains(UInt8(ascii: "*")), ContentType(contentType)?.isWildcard == true else {
            headerFields[.contentType] = contentType
            return
        }
        if headerFields[.contentType] == nil, contentType.hasPrefix("*") {
            headerFields[.contentType] = "application/octet-stream"
        }
    }

    /// Sets the body to a JSON value.
    @_spi(Generated) public mutating func setJSONBody<T: JSONWritable>(_ value: T, contentType: String) throws {
        try setJSONBody(value, contentType: contentType) { value, writer in
            value.write(json: &writer)
        }
    }

    /// Sets the body to a JSON value that a closure writes.
    @_spi(Generated) public mutating func setJSONBody<T>(
        _ value: T,
        contentType: String,
        _ write: (T, inout JSONWriter) -> Void
    ) throws {
        let bytes = try configuration.json(value, options: configuration.jsonWriterOptions, write)
        try setBody(HTTPBody(bytes), contentType: contentType)
    }
}

extension Configuration {
    /// The options of the JSON writer that correspond to ``jsonEncodingOptions``.
    fileprivate var jsonWriterOptions: JSONWriter.Options {
        var options: JSONWriter.Options = [.wholeDoublesWithoutFraction, .emptyLinesInEmptyContainers]
        if jsonEncodingOptions.contains(.prettyPrinted) { options.insert(.prettyPrinted) }
        if jsonEncodingOptions.contains(.sortedKeys) { options.insert(.sortedKeys) }
        if !jsonEncodingOptions.contains(.withoutEscapingSlashes) { options.insert(.escapingSlashes) }
        return options
    }

    /// The JSON of a value that a closure writes.
    fileprivate func json<T>(
        _ value: T,
        options: JSONWriter.Options,
        _ write: (T, inout JSONWriter) -> Void
    ) throws -> [UInt8] {
        var writer = JSONWriter(options: options, userInfo: dates)
        write(value, &writer)
        return try writer.finish()
    }
}

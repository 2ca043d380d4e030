public import HTTPTypes
import StreamingJSON

/// A part of a multipart body that generated code reads.
@_spi(Generated) public struct MultipartPartReader: ReadableMessage, Sendable {
    /// The part as it arrived.
    public private(set) var rawPart: MultipartRawPart
    /// How values are read.
    public let configuration: Configuration

    /// The header fields of the part.
    public var headerFields: HTTPFields { rawPart.headerFields }
    /// The bytes of the part.
    public var body: HTTPBody? {
        get { rawPart.body }
        set { rawPart.body = newValue ?? HTTPBody() }
    }
    /// The name of the part.
    public var name: String? { rawPart.name }
    /// The name of the file that the bytes come from.
    public var filename: String? { rawPart.filename }

    /// The error for a part that the document does not name, where it allows no others.
    public func unexpectedPart() -> MultipartError {
        MultipartError(code: .unexpectedPart, message: "The document does not name this part.")
    }
}

/// A part of a multipart body that generated code writes.
@_spi(Generated) public struct MultipartPartWriter: WritableMessage {
    /// The header fields so far.
    public var headerFields: HTTPFields = [:]
    /// The bytes so far.
    public var body: HTTPBody?
    /// How values are written.
    public let configuration: Configuration

    init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Any content type may be sent.
    public func checkContentType(_ contentType: String) throws {}

    /// Sets the name of the part and the name of its file.
    public mutating func setName(_ name: String?, filename: String?) {
        let part = MultipartRawPart(name: name, filename: filename, headerFields: headerFields, body: HTTPBody())
        headerFields = part.headerFields
    }

    /// Sets all of a part that the document does not describe.
    public mutating func setRawPart(_ part: MultipartRawPart) {
        headerFields = part.headerFields
        body = part.body
    }

    var rawPart: MultipartRawPart {
        MultipartRawPart(headerFields: headerFields, body: body ?? HTTPBody())
    }
}

extension ReadableMessage {
    /// The body as parts, which are read as they arrive.
    ///
    /// An error in the body is thrown to the reader of the parts; a content type without a boundary is thrown at once.
    @_spi(Generated) public func multipart<Part: Sendable>(
        _ requirements: MultipartRequirements,
        _ decode: @escaping @Sendable (MultipartPartReader) throws -> Part
    ) throws -> MultipartBody<Part> {
        guard let body else { throw GeneratedCodeError.missingBody }
        let boundary = try MultipartBoundary(ofContentType: headerFields[.contentType])
        return MultipartBody(
            DecodedParts(
                parts: ReceivedParts(body: body, boundary: boundary),
                requirements: requirements,
                configuration: configuration,
                decode: decode
            ),
            iterationBehavior: body.iterationBehavior
        )
    }
}

extension WritableMessage {
    /// Sets the body to parts, which are written as they are sent.
    ///
    /// An error in the parts is thrown to the reader of the body. A part whose length is known says it in
    /// `content-length`.
    @_spi(Generated) public mutating func setMultipartBody<Part: Sendable>(
        _ parts: MultipartBody<Part>,
        contentType: String,
        _ requirements: MultipartRequirements,
        _ encode: @escaping @Sendable (Part, inout MultipartPartWriter) throws -> Void
    ) throws {
        try checkContentType(contentType)
        let boundary = try MultipartBoundary(configuration.multipartBoundaryGenerator.makeBoundary())
        let configuration = configuration
        let chunks = SentParts(parts: parts, boundary: boundary, requirements: requirements) { part in
            var writer = MultipartPartWriter(configuration: configuration)
            try encode(part, &writer)
            if case .known(let length)? = writer.body?.length { writer.headerFields[.contentLength] = String(length) }
            return writer.rawPart
        }
        body = HTTPBody(chunks, length: .unknown, iterationBehavior: parts.iterationBehavior)
        headerFields[.contentType] = "\(contentType); boundary=\(boundary.parameterValue)"
    }
}

/// The parts of a received body, decoded by generated code.
private struct DecodedParts<Part: Sendable>: AsyncSequence, Sendable {
    typealias Element = Part
    typealias Failure = any Error

    let parts: ReceivedParts
    let requirements: MultipartRequirements
    let configuration: Configuration
    let decode: @Sendable (MultipartPartReader) throws -> Part

    struct Iterator: AsyncIteratorProtocol {
        var parts: ReceivedParts.Iterator
        var seen: SeenParts
        let configuration: Configuration
        let decode: @Sendable (MultipartPartReader) throws -> Part

        mutating func next() async throws -> Part? {
            try await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Part? {
            guard let part = try await parts.next(isolation: actor) else {
                try seen.finish()
                return nil
            }
            try seen.add(part)
            do {
                return try await MultipartPartReader(rawPart: part, configuration: configuration).decoded(decode)
            } catch let error as JSONError {
                throw GeneratedCodeError.malformedPart(part.name, error)
            }
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(
            parts: parts.makeAsyncIterator(),
            seen: SeenParts(by: requirements),
            configuration: configuration,
            decode: decode
        )
    }
}

import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime

/// A message as generated code writes it, without client or server.
struct SentMessage: WritableMessage {

    var headerFields: HTTPFields = [:]
    var body: HTTPBody?
    var configuration = Configuration(multipartBoundaryGenerator: .constant)

    func checkContentType(_ contentType: String) throws {}
}

/// A message as generated code reads it.
struct ReceivedMessage: ReadableMessage, Sendable {

    var headerFields: HTTPFields = [:]
    var body: HTTPBody?
    var configuration = Configuration()

    /// A multipart body that arrives in chunks.
    init(boundary: String, _ chunks: Arriving<ArraySlice<UInt8>>) {
        headerFields[.contentType] = "multipart/form-data; boundary=\(boundary)"
        body = HTTPBody(chunks, length: .unknown, iterationBehavior: .multiple)
    }

    init(contentType: String, body: HTTPBody?) {
        headerFields[.contentType] = contentType
        self.body = body
    }

    /// The message that was sent.
    init(_ message: SentMessage) {
        headerFields = message.headerFields
        body = message.body
    }
}

/// A part whose bytes were read.
struct ReadPart: Hashable, Sendable, CustomStringConvertible {

    var name: String?
    var filename: String?
    var headerFields: HTTPFields
    var bytes: [UInt8]

    init(_ part: MultipartRawPart) async throws {
        name = part.name
        filename = part.filename
        headerFields = part.headerFields
        bytes = try await Array(collecting: part.body, upTo: .max)
    }

    var description: String {
        "\(name ?? "-") \(filename ?? "-") \(headerFields) \(String(decoding: bytes, as: UTF8.self).debugDescription)"
    }
}

extension ReceivedMessage {

    /// The raw parts, with any names.
    func rawParts(_ requirements: MultipartRequirements = MultipartRequirements()) throws -> MultipartBody<
        MultipartRawPart
    > {
        try multipart(requirements) { part in part.rawPart }
    }

    /// All parts with their bytes.
    func readParts() async throws -> [ReadPart] {
        try await rawParts().read()
    }
}

extension MultipartBody<MultipartRawPart> {

    /// All parts with their bytes.
    func read() async throws -> [ReadPart] {
        var parts: [ReadPart] = []
        for try await part in self { parts.append(try await ReadPart(part)) }
        return parts
    }
}

extension SentMessage {

    /// A message of raw parts.
    init(
        _ parts: MultipartBody<MultipartRawPart>,
        _ requirements: MultipartRequirements = MultipartRequirements(),
        boundary: String? = nil
    ) throws {
        if let boundary {
            configuration.multipartBoundaryGenerator = ConstantMultipartBoundaryGenerator(boundary: boundary)
        }
        try setMultipartBody(parts, contentType: "multipart/form-data", requirements) { part, writer in
            writer.setRawPart(part)
        }
    }

    var text: String {
        get async throws { try await String(collecting: body ?? HTTPBody(), upTo: .max) }
    }
}

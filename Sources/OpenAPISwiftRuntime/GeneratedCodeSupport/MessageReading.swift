public import HTTPTypes
public import StreamingJSON

/// A message that generated code takes apart: a request on the server, a response in the client.
@_spi(Generated) public protocol ReadableMessage {
    /// The header fields.
    var headerFields: HTTPFields { get }
    /// The body, if there is one.
    var body: HTTPBody? { get }
    /// How values are read.
    var configuration: Configuration { get }
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
        guard let field = headerFields[.contentType] else { return 0 }
        // The common case, spelled as we write it ourselves.
        if let index = documented.firstIndex(of: field) { return index }
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

    /// The body as one JSON value.
    @_spi(Generated) public func json<T: JSONReadable>(_ type: T.Type) async throws -> T {
        try await json { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// The body as one JSON value that a closure reads.
    @_spi(Generated) public func json<T>(
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) async throws -> T {
        guard let body else { throw GeneratedCodeError.missingBody }
        let bytes: ArraySlice<UInt8>
        if let buffered = body.bufferedBytes {
            bytes = buffered
        } else {
            bytes = try await ArraySlice(collecting: body, upTo: .max)
        }
        return try CurrentConfiguration.$dateTranscoder.withValue(configuration.dateTranscoder) {
            let input: ArraySlice<UInt8> = bytes
            return try JSONReader.withReader(over: input.span) { (reader: inout JSONReader) throws(JSONError) -> T in
                try read(&reader)
            }
        }
    }

    // MARK: Header fields

    /// A header field that may be missing.
    @_spi(Generated) public func header<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type
    ) throws -> T? {
        try header(name, shape) { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// A header field that may be missing, read by a closure.
    @_spi(Generated) public func header<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T? {
        guard let text = try field(name) else { return nil }
        return try ParameterDecoder.read(
            ParameterDecoder.simple(text, shape),
            shape,
            named: name,
            dates: configuration.dateTranscoder,
            read
        )
    }

    /// A header field that must be there.
    @_spi(Generated) public func requiredHeader<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type
    ) throws -> T {
        guard let value = try header(name, shape, type) else {
            throw GeneratedCodeError.missingParameter(name, in: "header field")
        }
        return value
    }

    /// A header field that must be there, read by a closure.
    @_spi(Generated) public func requiredHeader<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        guard let value = try header(name, shape, read) else {
            throw GeneratedCodeError.missingParameter(name, in: "header field")
        }
        return value
    }

    /// A header field that holds JSON and may be missing.
    @_spi(Generated) public func jsonHeader<T: JSONReadable>(_ name: String, _ type: T.Type) throws -> T? {
        try jsonHeader(name) { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// A header field that holds JSON and may be missing, read by a closure.
    @_spi(Generated) public func jsonHeader<T>(
        _ name: String,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T? {
        guard let text = try field(name) else { return nil }
        let bytes: [UInt8] = Array(text.utf8)
        do {
            return try CurrentConfiguration.$dateTranscoder.withValue(configuration.dateTranscoder) {
                try JSONReader.withReader(over: bytes.span) { (reader: inout JSONReader) throws(JSONError) -> T in
                    try read(&reader)
                }
            }
        } catch {
            throw GeneratedCodeError.malformedParameter(name, error)
        }
    }

    /// A header field that holds JSON and must be there.
    @_spi(Generated) public func requiredJsonHeader<T: JSONReadable>(_ name: String, _ type: T.Type) throws -> T {
        guard let value = try jsonHeader(name, type) else {
            throw GeneratedCodeError.missingParameter(name, in: "header field")
        }
        return value
    }

    /// A header field that holds JSON and must be there, read by a closure.
    @_spi(Generated) public func requiredJsonHeader<T>(
        _ name: String,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        guard let value = try jsonHeader(name, read) else {
            throw GeneratedCodeError.missingParameter(name, in: "header field")
        }
        return value
    }

    private func field(_ name: String) throws -> String? {
        guard let name = HTTPField.Name(name) else { return nil }
        return headerFields[name]
    }
}

/// A content type taken apart for comparison.
struct ContentType {
    private var type: Substring
    private var subtype: Substring
    private var parameters: [(name: String, value: Substring)] = []

    init?(_ text: String) {
        let parts: [Substring] = text.split(separator: ";")
        guard let name = parts.first else { return nil }
        let halves: [Substring] = name.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        type = ContentType.trimmed(halves[0])
        subtype = ContentType.trimmed(halves[1])
        guard !type.isEmpty, !subtype.isEmpty else { return nil }
        for part in parts.dropFirst() {
            let sides: [Substring] = part.split(separator: "=", maxSplits: 1)
            guard sides.count == 2 else { continue }
            parameters.append((ContentType.trimmed(sides[0]).lowercased(), ContentType.trimmed(sides[1])))
        }
    }

    var isWildcard: Bool { type == "*" || subtype == "*" }

    /// How well a received type fits this documented one; `nil` when it does not.
    func score(of received: ContentType) -> Int? {
        if type == "*" { return 0 }
        guard type.lowercased() == received.type.lowercased() else { return nil }
        if subtype == "*" { return 1 }
        guard subtype.lowercased() == received.subtype.lowercased() else { return nil }
        for parameter in parameters {
            let isFound: Bool = received.parameters.contains {
                $0.name == parameter.name && $0.value.lowercased() == parameter.value.lowercased()
            }
            guard isFound else { return nil }
        }
        return 2 + parameters.count
    }

    /// Whether an entry of an Accept header admits a content type.
    static func accepts(_ entry: Substring, _ contentType: ContentType) -> Bool {
        guard var accepted = ContentType(String(entry)) else { return false }
        accepted.parameters = []
        return accepted.score(of: contentType) != nil
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text: Substring = text
        while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
        while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return text
    }
}

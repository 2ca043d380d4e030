public import StreamingJSON

extension WritableMessage {

    /// Sets the body to the members of a value, URL-encoded, in the order of their names.
    @_spi(Generated) public mutating func setFormBody<T: JSONWritable>(_ value: T, contentType: String) throws {
        try setFormBody(value, contentType: contentType) { (value: T, writer: inout JSONWriter) in
            value.write(json: &writer)
        }
    }

    /// Sets the body to the members of a value that a closure writes, URL-encoded, in the order of their names.
    @_spi(Generated) public mutating func setFormBody<T>(
        _ value: T,
        contentType: String,
        _ write: (T, inout JSONWriter) -> Void
    ) throws {
        let parts: ParameterValue = try ParameterEncoder.value(
            of: value,
            named: "body",
            dates: configuration.dateTranscoder,
            write
        )
        guard case .members = parts else { throw GeneratedCodeError.notForm }
        let text: String = try ParameterEncoder.query(parts, named: "body", style: .form, explode: true)
        // Every other plus is encoded, and every `%20` is a space: a percent sign of the value is `%25`.
        let bytes: [UInt8] = FormText.pluses(in: text)
        try setBody(HTTPBody(bytes), contentType: contentType)
    }
}

extension ReadableMessage {

    /// The body as the members of a value, URL-encoded.
    @_spi(Generated) public func form<T: JSONReadable>(_ shape: ParameterShape, _ type: T.Type) async throws -> T {
        try await form(shape) { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// The body as the members of a value that a closure reads, URL-encoded.
    ///
    /// Of a member that the shape does not make an array, the first value counts. Members that the shape does not know are ignored.
    @_spi(Generated) public func form<T>(
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) async throws -> T {
        guard let body else { throw GeneratedCodeError.missingBody }
        let bytes: ArraySlice<UInt8> = try await ArraySlice(collecting: body, upTo: .max)
        return try ParameterDecoder.read(
            .members(try FormText.members(of: bytes)),
            shape,
            named: "body",
            dates: configuration.dateTranscoder,
            read
        )
    }
}

/// The text of URL-encoded forms.
private enum FormText {

    static func pluses(in text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest: Substring.UTF8View = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.starts(with: "20".utf8) {
                bytes.append(UInt8(ascii: "+"))
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// The members in the order of their first values.
    static func members(of bytes: ArraySlice<UInt8>) throws -> [(name: String, values: [String])] {
        var members: [(name: String, values: [String])] = []
        var indices: [String: Int] = [:]
        for item in bytes.split(separator: UInt8(ascii: "&")) {
            guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else {
                throw GeneratedCodeError.malformedForm(String(decoding: item.prefix(60), as: UTF8.self))
            }
            let name: String = decode(item[..<equals])
            let value: String = decode(item[(equals + 1)...])
            if let index = indices[name] {
                members[index].values.append(value)
            } else {
                indices[name] = members.count
                members.append((name, [value]))
            }
        }
        return members
    }

    private static func decode(_ bytes: ArraySlice<UInt8>) -> String {
        let spaced: [UInt8] = bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(decoding: PercentEncoding.decode(spaced), as: UTF8.self)
    }
}

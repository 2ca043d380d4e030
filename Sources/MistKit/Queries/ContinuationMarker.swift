import StreamingJSON

/// Finds the marker of the next page of a query, without reading the records.
///
/// In every response that was observed, the marker is before or after the records, with only other strings beside it.
///
/// - Parameter body: The body of a response.
/// - Returns: The marker; `nil` if there is no marker. In a body that is not valid JSON it may be any text; reading
///   that body fails later.
func continuationMarker(atEdgeOf body: ArraySlice<UInt8>) -> String? {
    markerBeforeRecords(in: body) ?? markerAfterRecords(in: body)
}

private let markerKey = "continuationMarker"
private let markerKeys = JSONKeys("continuationMarker")

private func markerBeforeRecords(in body: ArraySlice<UInt8>) -> String? {
    var marker: String?
    try? JSONReader.withReader(over: body.span) { (reader) throws(JSONError) in
        try reader.beginObject()
        while let key = try reader.nextKey(in: markerKeys), try reader.peekKind() == .string {
            let text = try reader.readString()
            if key == 0 {
                marker = text
                break
            }
        }
        // The reader stops in the middle of the body. Without this error it would throw one itself, after a search for
        // the path.
        throw JSONError(code: .trailingData, message: "", path: "")
    }
    return marker
}

private func markerAfterRecords(in body: ArraySlice<UInt8>) -> String? {
    var end = ObjectEnd(body)
    while let member = end?.removeLastMember() {
        if member.key.dropFirst().dropLast().elementsEqual(markerKey.utf8) {
            return try? JSONReader.read(String.self, from: member.value)
        }
    }
    return nil
}

/// The end of an object's JSON, read backwards.
///
/// In valid JSON, a string right before the last brace is the last value, and each quote within a string has a
/// backslash before it.
private struct ObjectEnd {
    private var rest: ArraySlice<UInt8>

    init?(_ body: ArraySlice<UInt8>) {
        rest = body
        guard skip(UInt8(ascii: "}")) else { return nil }
    }

    /// The last member with its quotes, if it is a string without a quote in it.
    mutating func removeLastMember() -> (key: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard let value = string(), skip(UInt8(ascii: ":")), let key = string() else { return nil }
        _ = skip(UInt8(ascii: ","))
        return (key, value)
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        while let last = rest.last, last == 0x20 || last == 0x0A || last == 0x0D || last == 0x09 {
            rest = rest.dropLast()
        }
        guard rest.last == byte else { return false }
        rest = rest.dropLast()
        return true
    }

    private mutating func string() -> ArraySlice<UInt8>? {
        let all = rest
        guard skip(quote), let start = rest.lastIndex(of: quote) else { return nil }
        let text = all[start...rest.endIndex]
        rest = rest[..<start]
        return rest.last == UInt8(ascii: "\\") ? nil : text
    }
}

private let quote = UInt8(ascii: "\"")

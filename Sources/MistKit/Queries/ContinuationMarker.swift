import StreamingJSON

/// Where the next page of a query begins, as the body of a response says it: found without taking the records apart.
///
/// - Parameter body: The body.
/// - Returns: The marker; `nil` after the last page. Of a body that is no good JSON it is anything: reading that one fails.
func continuationMarker(in body: ArraySlice<UInt8>) -> String? {
    var end = ObjectEnd(rest: body)
    if let member = end.lastMember(), member.key.elementsEqual(markerKey.utf8) {
        return String(decoding: member.value, as: UTF8.self)
    }
    let marker = try? JSONReader.withReader(over: body.span) { (reader) throws(JSONError) -> String? in
        var marker: String?
        try reader.beginObject()
        while let key = try reader.nextKey(in: markerKeys) {
            if key == 0, try reader.peekKind() == .string {
                marker = try reader.readString()
            } else {
                try reader.skipValue()
            }
        }
        return marker
    }
    return marker.flatMap { $0 }
}

private let markerKey = "continuationMarker"
private let markerKeys = JSONKeys("continuationMarker")

/// The end of an object's JSON, read backwards. Where the JSON is good the last string before the last brace is the last value.
private struct ObjectEnd {
    var rest: ArraySlice<UInt8>

    /// The last member, if it is a string and neither it nor its key has an escape in it.
    mutating func lastMember() -> (key: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard
            skip(UInt8(ascii: "}")),
            let value = string(),
            skip(UInt8(ascii: ":")),
            let key = string()
        else { return nil }
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
        guard skip(quote), let start = rest.lastIndex(of: quote) else { return nil }
        let text = rest[(start + 1)...]
        rest = rest[..<start]
        return text.contains(backslash) || rest.last == backslash ? nil : text
    }
}

private let quote = UInt8(ascii: "\"")
private let backslash = UInt8(ascii: "\\")

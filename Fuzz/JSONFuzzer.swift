// The fuzz target of StreamingJSON; Scripts/fuzz-json compiles it into one module with the library and runs it.

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // The span is libFuzzer's own memory and has exactly its size, so that the address sanitizer reports the first byte
    // that is read beyond it.
    let input = UnsafeBufferPointer(start: start, count: count).span
    let options = JSONReader.Options(maximumDepth: 64)

    let raw = attempt { () throws(JSONError) in try JSONReader.read(JSONRawValue.self, from: input, options: options) }
    let value = attempt { () throws(JSONError) in try JSONReader.read(JSONValue.self, from: input, options: options) }
    let walked = attempt { () throws(JSONError) in try JSONReader.read(Walk.self, from: input, options: options) }
    for case .failure(let error) in [raw.map { _ in }, value.map { _ in }, walked.map { _ in }] {
        promise(error.offset.map { (0...count).contains($0) } == true, "the offset is in the input")
        promise(error.path?.hasPrefix("$") == true, "the path begins at the root")
    }

    switch (raw, value) {
    case (.success(let raw), .success(let value)):
        promise(walked.map(\.value) == .success(value), "going back and forth reads the same value")
        promise(
            attempt { () throws(JSONError) in try raw.read(JSONValue.self) } == .success(value),
            "raw bytes are the value"
        )
        promise(raw == raw && raw.kind == jsonKind(of: value), "a raw value equals itself")
        let spellings: [JSONWriter.Options] = [[], [.prettyPrinted, .escapingSlashes], .sortedKeys]
        for spelling in spellings {
            let again = attempt { () throws(JSONError) in
                try JSONReader.read(
                    JSONValue.self,
                    from: JSONWriter.bytes(of: value, options: spelling),
                    options: options
                )
            }
            promise(again == .success(value), "what is written reads as the same value")
        }
    case (.success, .failure(let error)):
        promise(error.code == .numberOutOfRange, "only a number can be skipped that cannot be read")
    case (.failure(let skipping), .failure(let reading)):
        promise(
            reading.code == .numberOutOfRange || (reading.code == skipping.code && reading.offset == skipping.offset),
            "skipping and reading fail at the same place"
        )
    case (.failure, .success):
        promise(false, "skipping checks as much as reading")
    }

    // The input may differ from the expected types in every way.
    _ = attempt { () throws(JSONError) in try JSONReader.read([String: [Int?]].self, from: input, options: options) }
    _ = attempt { () throws(JSONError) in try JSONReader.read([[String]].self, from: input, options: options) }
    _ = attempt { () throws(JSONError) in try JSONReader.read([UInt64].self, from: input, options: options) }
    _ = attempt { () throws(JSONError) in try JSONReader.read([Float].self, from: input, options: options) }
    _ = attempt { () throws(JSONError) in try JSONReader.read([Int128].self, from: input, options: options) }
    _ = attempt { () throws(JSONError) in
        try JSONReader.withReader(over: input) { (reader) throws(JSONError) in try reader.readBase64() }
    }
    return 0
}

/// Reads a tree with every kind of step that the reader has.
private struct Walk: JSONReadable {
    private static let keys = JSONKeys(
        "a",
        "value",
        "type",
        "records",
        "a long key of the table",
        "é",
        "",
        "\"",
        "\u{1F600}"
    )
    private static let taggedKeys = JSONKeys("value", "type")
    var value: JSONValue

    init(json reader: inout JSONReader) throws(JSONError) {
        let kind = try reader.peekKind()
        switch kind {
        case .object:
            let start = reader.position
            if let tagged = try reader.readTagged(Self.taggedKeys, Self.keys, firstKeys: Self.keys) {
                try Self.check(tagged, from: &reader, startingAt: start)
            }
            reader.rewind(to: start)
            var members: [String: JSONValue] = [:]
            try reader.beginObject()
            while let index = try reader.nextKey(in: Self.keys) {
                let key = try reader.lastKey()
                promise(
                    index == JSONKeys.unknown || Self.keys[index].utf8.elementsEqual(key.utf8),
                    "the table has the key"
                )
                let place = reader.position
                try reader.skipValue()
                let end = reader.position
                reader.rewind(to: place)
                let shared = try reader.readRepeated { (reader) throws(JSONError) in
                    Box(try reader.read(JSONValue.self))
                }
                reader.rewind(to: place)
                members[key] = try reader.read(Walk.self).value
                promise(members[key] == shared.value, "an object met before is the same object")
                promise(reader.position.offset == end.offset, "skipping and reading end at the same byte")
            }
            value = .object(members)
        case .array:
            var elements: [JSONValue] = []
            try reader.beginArray()
            while try reader.nextElement() {
                elements.append(try reader.read(Walk.self).value)
            }
            value = .array(elements)
        case .string:
            let place = reader.position
            let text = try reader.readString()
            reader.rewind(to: place)
            let shared = try reader.readRepeatedString()
            promise(shared.utf8.elementsEqual(text.utf8), "sharing memory changes nothing")
            reader.rewind(to: place)
            let index = try reader.readString(in: Self.keys)
            promise(
                index == JSONKeys.unknown || Self.keys[index].utf8.elementsEqual(text.utf8),
                "the table has the string"
            )
            value = .string(text)
        default:
            let isNull = try reader.readNullIfPresent()
            promise(isNull == (kind == .null), "null is null")
            value = kind == .null ? .null : try reader.read()
        }
    }
}

extension Walk {
    /// Compares a value that was read in one go with the result of reading it step by step.
    fileprivate static func check(
        _ tagged: JSONReader.Tagged,
        from reader: inout JSONReader,
        startingAt start: JSONReader.Position
    ) throws(JSONError) {
        var tag = tagged.tag
        if tag == nil {
            // The reader is still before the value, an object of which only the first key is known.
            try reader.skipValue()
            tag = try reader.endTagged(taggedKeys, keys)
        }
        guard let tag else { return }
        let end = reader.position
        reader.rewind(to: start)
        let whole = try reader.read(JSONValue.self)
        promise(whole["type"]?.stringValue == keys[tag], "the tag is the type")
        promise(reader.position.offset == end.offset, "a tagged value ends where the object does")
        reader.rewind(to: tagged.position)
        let value = try reader.read(Walk.self).value
        switch tagged.token {
        case .string(let text):
            promise(
                value.stringValue?.utf8.elementsEqual(reader.string(of: text).utf8) == true,
                "the token is the text"
            )
        case .number(let number):
            promise(number.int64.map { .integer($0) == value } ?? true, "the token is the integer")
            promise(number.double.map { $0 == value.doubleValue } ?? true, "the token is the number")
        case .other(let other):
            promise(jsonKind(of: value) == other, "the token is of the kind")
        }
        if tagged.firstKey != JSONKeys.unknown {
            promise(value[keys[tagged.firstKey]] != nil, "the first key is a key of the value")
        }
    }
}

private final class Box {
    let value: JSONValue

    init(_ value: JSONValue) {
        self.value = value
    }
}

private func jsonKind(of value: JSONValue) -> JSONReader.Kind {
    switch value {
    case .null: .null
    case .bool: .bool
    case .integer, .unsignedInteger, .double: .number
    case .string: .string
    case .array: .array
    case .object: .object
    }
}

private func attempt<T>(_ body: () throws(JSONError) -> T) -> Result<T, JSONError> {
    do {
        return .success(try body())
    } catch {
        return .failure(error)
    }
}

private func promise(_ condition: Bool, _ promise: StaticString) {
    if !condition {
        fatalError("broken promise: \(promise)")
    }
}

package import StreamingJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

// The fast path of typed records, which know the type of each field. A field dictionary of the usual shape, with the value before the
// type and nothing else, is read directly into that type, and no `FieldValue` is made. For every other shape these functions return
// `nil` with the reader in front of the dictionary; then the caller reads a `FieldValue`, which knows all shapes.

extension FieldValue {
    /// Reads `{"value":"…","type":"STRING"}`.
    package static func fastString(from reader: inout JSONReader) throws(JSONError) -> String? {
        guard let text = try reader.readTaggedText(keys, Tag.keys, as: Tag.string.rawValue, spelled: .string) else {
            return nil
        }
        return reader.string(of: text)
    }

    /// Reads `{"value":1,"type":"INT64"}`.
    package static func fastInt64(from reader: inout JSONReader) throws(JSONError) -> Int64? {
        try fastNumber(.int64, .int64, from: &reader, \.int64)
    }

    /// Reads `{"value":1.5,"type":"DOUBLE"}`.
    package static func fastDouble(from reader: inout JSONReader) throws(JSONError) -> Double? {
        try fastNumber(.double, .double, from: &reader) { $0.isExact ? $0.double : nil }
    }

    /// Reads `{"value":1686106171024,"type":"TIMESTAMP"}`.
    package static func fastDate(from reader: inout JSONReader) throws(JSONError) -> Date? {
        try fastNumber(.timestamp, .timestamp, from: &reader) { $0.int64.map { Date(wireMilliseconds: $0) } }
    }

    @inline(__always)
    private static func fastNumber<Value>(
        _ tag: Tag,
        _ spelling: JSONReader.TaggedSpelling,
        from reader: inout JSONReader,
        _ value: (JSONReader.Number) -> Value?
    ) throws(JSONError) -> Value? {
        let start = reader.position
        guard let number = try reader.readTaggedNumber(keys, Tag.keys, as: tag.rawValue, spelled: spelling) else {
            return nil
        }
        if let value = value(number) { return value }
        reader.rewind(to: start)
        return nil
    }

    /// Reads `{"value":"AAEC","type":"BYTES"}`.
    package static func fastBytes(from reader: inout JSONReader) throws(JSONError) -> Data? {
        let start = reader.position
        guard let text = try reader.readTaggedText(keys, Tag.keys, as: Tag.bytes.rawValue, spelled: .bytes) else {
            return nil
        }
        var isExact = true
        if let value = bytes(of: .string(text), from: reader, isExact: &isExact) { return value }
        reader.rewind(to: start)
        return nil
    }

    /// Reads `{"value":{"latitude":…,"longitude":…},"type":"LOCATION"}`.
    package static func fastLocation(from reader: inout JSONReader) -> Location? {
        fastValue(.location, .location, from: &reader) { (json) throws(JSONError) in try Location(json: &json) }
    }

    /// Reads `{"value":{"recordName":…,"action":…},"type":"REFERENCE"}`.
    package static func fastReference(from reader: inout JSONReader) -> Reference? {
        fastValue(.reference, .reference, from: &reader) { (json) throws(JSONError) in try Reference(json: &json) }
    }

    /// Reads `{"value":{"fileChecksum":…},"type":"ASSETID"}`.
    package static func fastAsset(from reader: inout JSONReader) -> Asset? {
        fastValue(.asset, .asset, from: &reader) { (json) throws(JSONError) in try Asset(json: &json) }
    }

    /// Reads `{"value":["…"],"type":"STRING_LIST"}`.
    package static func fastStrings(from reader: inout JSONReader) -> [String]? {
        fastValue(.stringList, .stringList, from: &reader) { (json) throws(JSONError) in try [String](json: &json) }
    }

    /// Reads `{"value":[1],"type":"INT64_LIST"}`.
    ///
    /// - Parameters:
    ///   - reader: In front of the dictionary.
    ///   - append: Takes an element; `false` when it cannot.
    /// - Returns: Whether the dictionary has this shape and all elements were taken. If not, the reader is where it was.
    package static func fastInt64s(
        from reader: inout JSONReader,
        _ append: (Int64) -> Bool
    ) -> Bool {
        fastValue(.int64List, .int64List, from: &reader) { (json) throws(JSONError) in
            try json.beginArray()
            while try json.nextElement() {
                guard append(try json.readInt64()) else { return nil }
            }
            return true
        } ?? false
    }

    /// Reads `{"value":[1.5],"type":"DOUBLE_LIST"}`.
    package static func fastDoubles(from reader: inout JSONReader) -> [Double]? {
        fastValue(.doubleList, .doubleList, from: &reader) { (json) throws(JSONError) in try [Double](json: &json) }
    }

    @inline(__always)
    private static func fastValue<Value>(
        _ tag: Tag,
        _ spelling: JSONReader.TaggedSpelling,
        from reader: inout JSONReader,
        _ read: (inout JSONReader) throws(JSONError) -> Value?
    ) -> Value? {
        let start = reader.position
        if reader.beginTagged(keys, spelled: spelling) {
            // The type behind the value decides whether it is what was read.
            if let value = try? read(&reader),
                reader.endTagged(keys, Tag.keys, as: tag.rawValue, spelled: spelling)
            {
                return value
            }
        }
        reader.rewind(to: start)
        return nil
    }
}

/// The usual shape in compact JSON.
extension JSONReader.TaggedSpelling {
    fileprivate static let string = Self(#"{"value":"#, #","type":"STRING"}"#)
    fileprivate static let int64 = Self(#"{"value":"#, #","type":"INT64"}"#)
    fileprivate static let double = Self(#"{"value":"#, #","type":"DOUBLE"}"#)
    fileprivate static let timestamp = Self(#"{"value":"#, #","type":"TIMESTAMP"}"#)
    fileprivate static let bytes = Self(#"{"value":"#, #","type":"BYTES"}"#)
    fileprivate static let reference = Self(#"{"value":"#, #","type":"REFERENCE"}"#)
    fileprivate static let asset = Self(#"{"value":"#, #","type":"ASSETID"}"#)
    fileprivate static let location = Self(#"{"value":"#, #","type":"LOCATION"}"#)
    fileprivate static let stringList = Self(#"{"value":"#, #","type":"STRING_LIST"}"#)
    fileprivate static let int64List = Self(#"{"value":"#, #","type":"INT64_LIST"}"#)
    fileprivate static let doubleList = Self(#"{"value":"#, #","type":"DOUBLE_LIST"}"#)
}

package import StreamingJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

// Typed records know which type a field has. A field dictionary that has the usual shape, value before type and nothing else, is
// read straight into that type, and no `FieldValue` is made. For every other shape these functions give `nil` with the reader where
// it was, in front of the dictionary; then `FieldValue` reads it, which knows all shapes.

extension FieldValue {
    /// Reads `{"value":"…","type":"STRING"}`.
    package static func plainString(from reader: inout JSONReader) throws(JSONError) -> String? {
        guard let text = try reader.readTaggedText(keys, Tag.keys, as: Tag.string.rawValue, spelled: .string) else {
            return nil
        }
        return reader.string(of: text)
    }

    /// Reads `{"value":1,"type":"INT64"}`.
    package static func plainInt64(from reader: inout JSONReader) throws(JSONError) -> Int64? {
        try plainNumber(.int64, .int64, from: &reader, \.int64)
    }

    /// Reads `{"value":1.5,"type":"DOUBLE"}`.
    package static func plainDouble(from reader: inout JSONReader) throws(JSONError) -> Double? {
        try plainNumber(.double, .double, from: &reader) { $0.isExact ? $0.double : nil }
    }

    /// Reads `{"value":1686106171024,"type":"TIMESTAMP"}`.
    package static func plainDate(from reader: inout JSONReader) throws(JSONError) -> Date? {
        try plainNumber(.timestamp, .timestamp, from: &reader) { $0.int64.map { Date(wireMilliseconds: $0) } }
    }

    @inline(__always)
    private static func plainNumber<Value>(
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
    package static func plainBytes(from reader: inout JSONReader) throws(JSONError) -> Data? {
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
    package static func plainLocation(from reader: inout JSONReader) -> Location? {
        plainValue(.location, .location, from: &reader) { (json) throws(JSONError) in try Location(json: &json) }
    }

    /// Reads `{"value":{"recordName":…,"action":…},"type":"REFERENCE"}`.
    package static func plainReference(from reader: inout JSONReader) -> Reference? {
        plainValue(.reference, .reference, from: &reader) { (json) throws(JSONError) in try Reference(json: &json) }
    }

    /// Reads `{"value":{"fileChecksum":…},"type":"ASSETID"}`.
    package static func plainAsset(from reader: inout JSONReader) -> Asset? {
        plainValue(.asset, .asset, from: &reader) { (json) throws(JSONError) in try Asset(json: &json) }
    }

    /// Reads `{"value":["…"],"type":"STRING_LIST"}`.
    package static func plainStrings(from reader: inout JSONReader) -> [String]? {
        plainValue(.stringList, .stringList, from: &reader) { (json) throws(JSONError) in try [String](json: &json) }
    }

    /// Reads `{"value":[1],"type":"INT64_LIST"}`.
    ///
    /// - Parameters:
    ///   - reader: In front of the dictionary.
    ///   - append: Takes an element, and says whether it could.
    /// - Returns: Whether the list stood there, and all elements were taken. If not, the reader is where it was.
    package static func plainInt64s(
        from reader: inout JSONReader,
        _ append: (Int64) -> Bool
    ) -> Bool {
        plainValue(.int64List, .int64List, from: &reader) { (json) throws(JSONError) in
            try json.beginArray()
            while try json.nextElement() {
                guard append(try json.readInt64()) else { return nil }
            }
            return true
        } ?? false
    }

    /// Reads `{"value":[1.5],"type":"DOUBLE_LIST"}`.
    package static func plainDoubles(from reader: inout JSONReader) -> [Double]? {
        plainValue(.doubleList, .doubleList, from: &reader) { (json) throws(JSONError) in try [Double](json: &json) }
    }

    @inline(__always)
    private static func plainValue<Value>(
        _ tag: Tag,
        _ spelling: JSONReader.TaggedSpelling,
        from reader: inout JSONReader,
        _ read: (inout JSONReader) throws(JSONError) -> Value?
    ) -> Value? {
        let start = reader.position
        if reader.beginTagged(keys, spelled: spelling) {
            // What the value is, the type will tell.
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

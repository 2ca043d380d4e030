package import StreamingJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

// The fast path of typed records, which know the type of each field. A field dictionary of the usual shape, with the
// value before the type and nothing else, is read directly into that type, and no `FieldValue` is made. For every other
// shape, and for invalid JSON, these functions return `nil` with the reader in front of the dictionary. Then the caller
// reads a `FieldValue`, which accepts all shapes and throws for invalid JSON.

extension FieldValue {
    /// Reads `{"value":"…","type":"STRING"}`.
    package static func fastString(from reader: inout JSONReader) -> String? {
        let text = reader.readTagged(spelled: .string) { (json) throws(JSONError) in try json.scanStringIfPresent() }
        return text.map { reader.string(of: $0) }
    }

    /// Reads `{"value":1,"type":"INT64"}`.
    package static func fastInt64(from reader: inout JSONReader) -> Int64? {
        reader.readTagged(spelled: .int64) { (json) throws(JSONError) in try json.readInt64IfPlain() }
    }

    /// Reads `{"value":1.5,"type":"DOUBLE"}`.
    package static func fastDouble(from reader: inout JSONReader) -> Double? {
        reader.readTagged(spelled: .double) { (json) throws(JSONError) in try json.readDoubleIfPlain() }
    }

    /// Reads `{"value":1686106171024,"type":"TIMESTAMP"}`.
    package static func fastDate(from reader: inout JSONReader) -> Date? {
        let milliseconds = reader.readTagged(spelled: .timestamp) { (json) throws(JSONError) in
            try json.readInt64IfPlain()
        }
        return milliseconds.map { Date(wireMilliseconds: $0) }
    }

    /// Reads `{"value":"AAEC","type":"BYTES"}`.
    package static func fastBytes(from reader: inout JSONReader) -> Data? {
        reader.readTagged(spelled: .bytes) { (json) throws(JSONError) in
            guard let text = try json.scanStringIfPresent() else { return nil }
            var isExact = true
            return bytes(of: .string(text), from: json, isExact: &isExact)
        }
    }

    /// Reads `{"value":{"latitude":…,"longitude":…},"type":"LOCATION"}`.
    package static func fastLocation(from reader: inout JSONReader) -> Location? {
        reader.readTagged(spelled: .location) { (json) throws(JSONError) in try Location(json: &json) }
    }

    /// Reads `{"value":{"recordName":…,"action":…},"type":"REFERENCE"}`.
    package static func fastReference(from reader: inout JSONReader) -> Reference? {
        reader.readTagged(spelled: .reference) { (json) throws(JSONError) in try Reference(json: &json) }
    }

    /// Reads `{"value":{"fileChecksum":…},"type":"ASSETID"}`.
    package static func fastAsset(from reader: inout JSONReader) -> Asset? {
        reader.readTagged(spelled: .asset) { (json) throws(JSONError) in try Asset(json: &json) }
    }

    /// Reads `{"value":["…"],"type":"STRING_LIST"}`.
    package static func fastStrings(from reader: inout JSONReader) -> [String]? {
        reader.readTagged(spelled: .stringList) { (json) throws(JSONError) in try [String](json: &json) }
    }

    /// Reads `{"value":[1],"type":"INT64_LIST"}`.
    ///
    /// - Parameters:
    ///   - reader: In front of the dictionary.
    ///   - append: Takes an element; returns `false` if it cannot take it.
    /// - Returns: Whether the dictionary has this shape and all elements were taken. If not, the reader is in front of
    ///   the dictionary again.
    package static func fastInt64s(
        from reader: inout JSONReader,
        _ append: (Int64) -> Bool
    ) -> Bool {
        let all = reader.readTagged(spelled: .int64List) { (json) throws(JSONError) -> Bool? in
            try json.beginArray()
            while try json.nextElement() {
                guard append(try json.readInt64()) else { return nil }
            }
            return true
        }
        return all ?? false
    }

    /// Reads `{"value":[1.5],"type":"DOUBLE_LIST"}`.
    package static func fastDoubles(from reader: inout JSONReader) -> [Double]? {
        reader.readTagged(spelled: .doubleList) { (json) throws(JSONError) in try [Double](json: &json) }
    }
}

// Computed properties, so that the compiler compares with constants.
/// The usual shape in compact JSON.
extension JSONReader.TaggedSpelling {
    fileprivate static var string: Self { Self(#"{"value":"#, #","type":"STRING"}"#) }
    fileprivate static var int64: Self { Self(#"{"value":"#, #","type":"INT64"}"#) }
    fileprivate static var double: Self { Self(#"{"value":"#, #","type":"DOUBLE"}"#) }
    fileprivate static var timestamp: Self { Self(#"{"value":"#, #","type":"TIMESTAMP"}"#) }
    fileprivate static var bytes: Self { Self(#"{"value":"#, #","type":"BYTES"}"#) }
    fileprivate static var reference: Self { Self(#"{"value":"#, #","type":"REFERENCE"}"#) }
    fileprivate static var asset: Self { Self(#"{"value":"#, #","type":"ASSETID"}"#) }
    fileprivate static var location: Self { Self(#"{"value":"#, #","type":"LOCATION"}"#) }
    fileprivate static var stringList: Self { Self(#"{"value":"#, #","type":"STRING_LIST"}"#) }
    fileprivate static var int64List: Self { Self(#"{"value":"#, #","type":"INT64_LIST"}"#) }
    fileprivate static var doubleList: Self { Self(#"{"value":"#, #","type":"DOUBLE_LIST"}"#) }
}

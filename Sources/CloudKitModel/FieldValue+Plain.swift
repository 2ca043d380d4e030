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
        let start = reader.position
        if let tagged = try reader.readTagged(keys, Tag.keys, firstKeys: tellingKeys) {
            if tagged.tag == Tag.string.rawValue, case .string(let text) = tagged.token {
                return reader.string(of: text)
            }
            reader.rewind(to: start)
        }
        return nil
    }

    /// Reads `{"value":1,"type":"INT64"}`.
    package static func plainInt64(from reader: inout JSONReader) throws(JSONError) -> Int64? {
        let start = reader.position
        if let tagged = try reader.readTagged(keys, Tag.keys, firstKeys: tellingKeys) {
            if tagged.tag == Tag.int64.rawValue, case .number(let number) = tagged.token, let value = number.int64 {
                return value
            }
            reader.rewind(to: start)
        }
        return nil
    }

    /// Reads `{"value":1.5,"type":"DOUBLE"}`.
    package static func plainDouble(from reader: inout JSONReader) throws(JSONError) -> Double? {
        let start = reader.position
        if let tagged = try reader.readTagged(keys, Tag.keys, firstKeys: tellingKeys) {
            if tagged.tag == Tag.double.rawValue, case .number(let number) = tagged.token {
                if number.isExact, let value = number.double { return value }
                let end = reader.position
                reader.rewind(to: tagged.position)
                let value = try reader.readDouble()
                reader.rewind(to: end)
                return value
            }
            reader.rewind(to: start)
        }
        return nil
    }

    /// Reads `{"value":1686106171024,"type":"TIMESTAMP"}`.
    package static func plainDate(from reader: inout JSONReader) throws(JSONError) -> Date? {
        let start = reader.position
        if let tagged = try reader.readTagged(keys, Tag.keys, firstKeys: tellingKeys) {
            if tagged.tag == Tag.timestamp.rawValue, case .number(let number) = tagged.token,
                let milliseconds = number.int64
            {
                return Date(wireMilliseconds: milliseconds)
            }
            reader.rewind(to: start)
        }
        return nil
    }

    /// Reads `{"value":"AAEC","type":"BYTES"}`.
    package static func plainBytes(from reader: inout JSONReader) throws(JSONError) -> Data? {
        let start = reader.position
        if let tagged = try reader.readTagged(keys, Tag.keys, firstKeys: tellingKeys) {
            var isExact = true
            if tagged.tag == Tag.bytes.rawValue,
                let value = bytes(of: tagged.token, from: reader, isExact: &isExact)
            {
                return value
            }
            reader.rewind(to: start)
        }
        return nil
    }

    /// Reads `{"value":{"latitude":…,"longitude":…},"type":"LOCATION"}`.
    package static func plainLocation(from reader: inout JSONReader) throws(JSONError) -> Location? {
        try plainObject(.location, from: &reader)
    }

    /// Reads `{"value":{"recordName":…,"action":…},"type":"REFERENCE"}`.
    package static func plainReference(from reader: inout JSONReader) throws(JSONError) -> Reference? {
        try plainObject(.reference, from: &reader)
    }

    /// Reads `{"value":{"fileChecksum":…},"type":"ASSETID"}`.
    package static func plainAsset(from reader: inout JSONReader) throws(JSONError) -> Asset? {
        try plainObject(.asset, from: &reader)
    }

    @inline(__always)
    private static func plainObject<Value: JSONReadable>(
        _ tag: Tag,
        from reader: inout JSONReader
    ) throws(JSONError) -> Value? {
        let start = reader.position
        guard let tagged = try reader.readTagged(keys, Tag.keys, firstKeys: tellingKeys) else { return nil }
        if tagged.tag == nil {
            // The reader is in front of an object; what it is, its type will tell.
            let value: Value
            do {
                value = try Value(json: &reader)
            } catch {
                reader.rewind(to: start)
                return nil
            }
            if try reader.endTagged(keys, Tag.keys) == tag.rawValue { return value }
        }
        reader.rewind(to: start)
        return nil
    }
}

extension FieldValue {
    /// A list of values of one type.
    ///
    /// - Parameters:
    ///   - values: The elements.
    ///   - type: Their type, such as `STRING`; elements of other types are left out.
    /// - Returns: The list; `nil` for types that have no lists.
    package static func list(_ values: [FieldValue], of type: FieldType) -> FieldValue? {
        switch type {
        case .string: .stringList(values.compactMap(\.stringValue))
        case .int64: .int64List(values.compactMap(\.int64Value))
        case .double: .doubleList(values.compactMap(\.doubleValue))
        case .timestamp: .timestampList(values.compactMap(\.timestampValue))
        case .bytes: .bytesList(values.compactMap(\.bytesValue))
        case .reference: .referenceList(values.compactMap(\.referenceValue))
        case .asset: .assetList(values.compactMap(\.assetValue))
        case .location: .locationList(values.compactMap(\.locationValue))
        default: nil
        }
    }

    /// The elements of a list; `nil` when this is none.
    package var elements: [FieldValue]? {
        switch plain {
        case .stringList(let values): values.map(FieldValue.string)
        case .int64List(let values): values.map(FieldValue.int64)
        case .doubleList(let values): values.map(FieldValue.double)
        case .timestampList(let values): values.map(FieldValue.timestamp)
        case .bytesList(let values): values.map(FieldValue.bytes)
        case .referenceList(let values): values.map(FieldValue.reference)
        case .assetList(let values): values.map(FieldValue.asset)
        case .locationList(let values): values.map(FieldValue.location)
        // An empty list of no known type.
        default: stringListValue.map { _ in [] }
        }
    }
}

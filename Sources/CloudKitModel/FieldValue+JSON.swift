public import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// A field dictionary is `{"value": X, "type": "T"}`, with `"isEncrypted": true` where that is so. The service writes
// `value` before `type`, so the value is stepped over and come back to when its type is known.

extension FieldValue: JSONBackedCodable {
    private static let keys = JSONKeys("value", "type", "isEncrypted")

    /// Reads a field dictionary. Whatever valid JSON it holds, reading does not fail.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        guard try reader.peekKind() == .object else {
            // No dictionary at all.
            let json = try reader.readRawValue()
            self = .verbatim(Verbatim(value: .unknown(type: nil, value: json), type: nil, json: json))
            return
        }
        var valuePosition: JSONReader.Position?
        var kind = JSONReader.Kind.null
        var string: String?
        var tag = Tag.absent
        var type: FieldType?
        var isEncrypted = false
        var isExact = true
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0:
                valuePosition = reader.position
                kind = try reader.peekKind()
                if kind == .string, tag == .absent || tag == .string {
                    // Most strings are strings. If this one turns out to be bytes, it is read again.
                    string = try reader.readString()
                } else {
                    string = nil
                    try reader.skipValue()
                }
            case 1:
                if try reader.peekKind() == .string {
                    (tag, type) = try Tag.read(from: &reader)
                } else {
                    try reader.skipValue()
                    isExact = false
                }
            case 2:
                if try reader.peekKind() == .bool {
                    isEncrypted = try reader.readBool()
                    isExact = isExact && isEncrypted
                } else {
                    try reader.skipValue()
                    isExact = false
                }
            default:
                try reader.skipValue()
                isExact = false
            }
        }
        let end = reader.position
        if let string, tag == .string {
            self = .string(string)
        } else if let valuePosition {
            reader.rewind(to: valuePosition)
            if let value = Self.readValue(tag, kind: kind, from: &reader, isExact: &isExact) {
                self = value
            } else {
                reader.rewind(to: valuePosition)
                self = .unknown(type: tag.type ?? type, value: try reader.readRawValue())
            }
        } else {
            self = .null
            isExact = false
        }
        if isEncrypted {
            self = .encrypted(self)
        }
        if !isExact {
            reader.rewind(to: start)
            self = .verbatim(Verbatim(value: self, type: tag.type ?? type, json: try reader.readRawValue()))
        }
        reader.rewind(to: end)
    }

    /// Writes the field dictionary, always with the value's type.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .verbatim(let verbatim):
            writer.writeRaw(verbatim.json)
        case .encrypted(let value):
            writer.beginObject()
            value.writeMembers(to: &writer)
            writer.key("isEncrypted")
            writer.write(true)
            writer.endObject()
        default:
            writer.beginObject()
            writeMembers(to: &writer)
            writer.endObject()
        }
    }

    /// Writes `"value":…,"type":…`.
    private func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .encrypted, .verbatim:
            // Only inside of another `encrypted`: the value is encrypted once.
            plain.writeMembers(to: &writer)
            return
        default:
            writer.key("value")
        }
        switch self {
        case .string(let value):
            writer.write(value)
            writer.writeType("STRING")
        case .int64(let value):
            writer.write(value)
            writer.writeType("INT64")
        case .double(let value):
            writer.write(value)
            writer.writeType("DOUBLE")
        case .timestamp(let value):
            writer.write(milliseconds: value)
            writer.writeType("TIMESTAMP")
        case .bytes(let value):
            writer.writeBase64(value)
            writer.writeType("BYTES")
        case .reference(let value):
            writer.write(value)
            writer.writeType("REFERENCE")
        case .asset(let value):
            writer.write(value)
            writer.writeType("ASSETID")
        case .location(let value):
            writer.write(value)
            writer.writeType("LOCATION")
        case .stringList(let values):
            writer.write(values)
            writer.writeType("STRING_LIST")
        case .int64List(let values):
            writer.write(values)
            writer.writeType("INT64_LIST")
        case .doubleList(let values):
            writer.write(values)
            writer.writeType("DOUBLE_LIST")
        case .timestampList(let values):
            writer.beginArray()
            for value in values {
                writer.write(milliseconds: value)
            }
            writer.endArray()
            writer.writeType("TIMESTAMP_LIST")
        case .bytesList(let values):
            writer.beginArray()
            for value in values {
                writer.writeBase64(value)
            }
            writer.endArray()
            writer.writeType("BYTES_LIST")
        case .referenceList(let values):
            writer.write(values)
            writer.writeType("REFERENCE_LIST")
        case .assetList(let values):
            writer.write(values)
            writer.writeType("ASSETID_LIST")
        case .locationList(let values):
            writer.write(values)
            writer.writeType("LOCATION_LIST")
        case .null:
            writer.writeNull()
        case .unknown(let type, let value):
            writer.writeRaw(value)
            if let type {
                writer.key("type")
                writer.write(type.rawValue)
            }
        case .encrypted, .verbatim:
            break
        }
    }
}

extension JSONWriter {
    /// Writes the member `type` of a field dictionary.
    @inline(__always)
    fileprivate mutating func writeType(_ type: StaticString) {
        key("type")
        write(type.description)
    }
}

extension FieldValue {
    /// The types that are read into a case of ``FieldValue``. The last of them are written verbatim.
    enum Tag: Int {
        case string, int64, double, timestamp, bytes, reference, asset, location
        case stringList, int64List, doubleList, timestampList, bytesList, referenceList, assetList, locationList
        case encryptedBytes, assetAlias, assetListAlias, email, numberInt64
        case unknown = -1
        case absent = -2

        static let keys = JSONKeys(
            "STRING",
            "INT64",
            "DOUBLE",
            "TIMESTAMP",
            "BYTES",
            "REFERENCE",
            "ASSETID",
            "LOCATION",
            "STRING_LIST",
            "INT64_LIST",
            "DOUBLE_LIST",
            "TIMESTAMP_LIST",
            "BYTES_LIST",
            "REFERENCE_LIST",
            "ASSETID_LIST",
            "LOCATION_LIST",
            "ENCRYPTED_BYTES",
            "ASSET",
            "ASSET_LIST",
            "EMAIL",
            "NUMBER_INT64"
        )

        /// Reads the type's name; gives the name too when it is unknown.
        static func read(from reader: inout JSONReader) throws(JSONError) -> (Tag, FieldType?) {
            let name = try reader.readString()
            for index in 0..<keys.count where keys[index] == name {
                return (Tag(rawValue: index) ?? .unknown, nil)
            }
            return (.unknown, FieldType(rawValue: name))
        }

        var type: FieldType? {
            rawValue >= 0 ? FieldType(rawValue: Self.keys[rawValue]) : nil
        }
    }

    /// Reads a value that stands beside the type `tag`; `nil` when it does not look like that.
    ///
    /// `isExact` becomes false when writing the value would not give what was read.
    private static func readValue(
        _ tag: Tag,
        kind: JSONReader.Kind,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) -> FieldValue? {
        if kind == .null {
            isExact = isExact && tag == .absent
            return .null
        }
        do throws(JSONError) {
            switch tag {
            case .string:
                return kind == .string ? .string(try reader.readString()) : nil
            case .int64:
                return try readInt64(kind, from: &reader, isExact: &isExact).map(FieldValue.int64)
            case .double:
                return try readDouble(kind, from: &reader, isExact: &isExact).map(FieldValue.double)
            case .timestamp:
                return try readTimestamp(kind, from: &reader, isExact: &isExact).map(FieldValue.timestamp)
            case .bytes:
                return try readBytes(kind, from: &reader, isExact: &isExact).map(FieldValue.bytes)
            case .reference:
                return .reference(try reader.read())
            case .asset:
                return .asset(try reader.read())
            case .location:
                return .location(try reader.read())
            case .stringList:
                return .stringList(try reader.read())
            case .int64List:
                return try readList(from: &reader, isExact: &isExact, readInt64).map(FieldValue.int64List)
            case .doubleList:
                return try readList(from: &reader, isExact: &isExact, readDouble).map(FieldValue.doubleList)
            case .timestampList:
                return try readList(from: &reader, isExact: &isExact, readTimestamp).map(FieldValue.timestampList)
            case .bytesList:
                return try readList(from: &reader, isExact: &isExact, readBytes).map(FieldValue.bytesList)
            case .referenceList:
                return .referenceList(try reader.read())
            case .assetList:
                return .assetList(try reader.read())
            case .locationList:
                return .locationList(try reader.read())
            case .encryptedBytes:
                isExact = false
                return readValue(.bytes, kind: kind, from: &reader, isExact: &isExact)
            case .assetAlias:
                isExact = false
                return readValue(.asset, kind: kind, from: &reader, isExact: &isExact)
            case .assetListAlias:
                isExact = false
                return readValue(.assetList, kind: kind, from: &reader, isExact: &isExact)
            case .email:
                isExact = false
                return readValue(.string, kind: kind, from: &reader, isExact: &isExact)
            case .numberInt64:
                isExact = false
                return readValue(.int64, kind: kind, from: &reader, isExact: &isExact)
            case .unknown:
                return nil
            case .absent:
                return try readUntagged(kind, from: &reader, isExact: &isExact)
            }
        } catch {
            return nil
        }
    }

    private static func readInt64(
        _ kind: JSONReader.Kind,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> Int64? {
        if kind == .number { return try reader.readInt64() }
        guard kind == .string else { return nil }
        isExact = false
        return Int64(try reader.readString())
    }

    private static func readDouble(
        _ kind: JSONReader.Kind,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> Double? {
        if kind == .number {
            let value = try reader.readDouble()
            // Whole numbers this large may have been written with more digits than a double holds.
            if value.magnitude >= 0x1p53 { isExact = false }
            return value
        }
        guard kind == .string else { return nil }
        isExact = false
        return Double(try reader.readString())
    }

    private static func readTimestamp(
        _ kind: JSONReader.Kind,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> Date? {
        if kind == .number {
            let start = reader.position
            do throws(JSONError) {
                let milliseconds = try reader.readInt64()
                let date = Date(wireMilliseconds: milliseconds)
                isExact = isExact && date.wireMilliseconds == milliseconds
                return date
            } catch {
                reader.rewind(to: start)
                isExact = false
                return Date(timeIntervalSince1970: try reader.readDouble() / 1000)
            }
        }
        guard kind == .string, let milliseconds = Double(try reader.readString()) else { return nil }
        isExact = false
        return Date(timeIntervalSince1970: milliseconds / 1000)
    }

    private static func readBytes(
        _ kind: JSONReader.Kind,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> Data? {
        guard kind == .string else { return nil }
        let start = reader.position
        let bytes = try reader.readBase64()
        _ = start
        return Data(bytes)
    }

    private static func readList<Element>(
        from reader: inout JSONReader,
        isExact: inout Bool,
        _ read: (JSONReader.Kind, inout JSONReader, inout Bool) throws(JSONError) -> Element?
    ) throws(JSONError) -> [Element]? {
        var elements: [Element] = []
        try reader.beginArray()
        while try reader.nextElement() {
            guard let element = try read(try reader.peekKind(), &reader, &isExact) else { return nil }
            elements.append(element)
        }
        return elements
    }

    /// Reads a value without a type the way the service does: strings, whole and other numbers, and objects and lists by
    /// what they hold. An integer literal is an `INT64` (observed), truth values are stored as 0 and 1.
    private static func readUntagged(
        _ kind: JSONReader.Kind,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> FieldValue? {
        isExact = false
        switch kind {
        case .bool:
            return .bool(try reader.readBool())
        case .array:
            guard let tag = try untaggedListTag(from: &reader) else { return nil }
            return readValue(tag, kind: kind, from: &reader, isExact: &isExact)
        default:
            guard let tag = try untaggedTag(kind, from: &reader) else { return nil }
            return readValue(tag, kind: kind, from: &reader, isExact: &isExact)
        }
    }

    private static let tellingKeys = JSONKeys("latitude", "recordName", "fileChecksum", "receipt", "downloadURL")

    /// The type of the untagged scalar or object that comes next; it is not consumed.
    private static func untaggedTag(
        _ kind: JSONReader.Kind,
        from reader: inout JSONReader
    ) throws(JSONError) -> Tag? {
        let start = reader.position
        defer { reader.rewind(to: start) }
        switch kind {
        case .string:
            return .string
        case .number:
            let text = try reader.readRawValue().description
            return text.utf8.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") } ? .double : .int64
        case .object:
            var tag: Tag?
            try reader.beginObject()
            while let key = try reader.nextKey(in: tellingKeys) {
                switch key {
                case 0: tag = .location
                case 1: tag = tag ?? .reference
                case 2...4: tag = tag ?? .asset
                default: break
                }
                try reader.skipValue()
            }
            return tag
        case .bool, .null, .array:
            return nil
        }
    }

    /// The type of the untagged list that comes next, which its elements agree on; it is not consumed.
    private static func untaggedListTag(from reader: inout JSONReader) throws(JSONError) -> Tag? {
        let start = reader.position
        defer { reader.rewind(to: start) }
        var common: Tag?
        try reader.beginArray()
        while try reader.nextElement() {
            guard let tag = try untaggedTag(try reader.peekKind(), from: &reader) else { return nil }
            switch (common, tag) {
            case (nil, _), (.int64, .double): common = tag
            case (.double, .int64): break
            default: guard common == tag else { return nil }
            }
            try reader.skipValue()
        }
        switch common {
        case .string: return .stringList
        case .int64: return .int64List
        case .double: return .doubleList
        case .reference: return .referenceList
        case .asset: return .assetList
        case .location: return .locationList
        default: return nil
        }
    }
}

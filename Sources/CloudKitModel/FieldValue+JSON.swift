public import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// A field dictionary is `{"value": X, "type": "T"}`, with `"isEncrypted": true` where that is so. The service writes
// `value` before `type`, so the value is stepped over and come back to when its type is known.

extension FieldValue: JSONBackedCodable {
    static let keys = JSONKeys("value", "type", "isEncrypted")

    /// Reads a field dictionary. Whatever valid JSON it holds, reading does not fail.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        if let tagged = try reader.readTagged(Self.keys, Tag.keys, firstKeys: Self.tellingKeys) {
            guard let number = tagged.tag, let tag = Tag(rawValue: number) else {
                if let value = Self.object(beginningWith: tagged.firstKey, from: &reader) {
                    self = value
                } else {
                    reader.rewind(to: start)
                    try self.init(unusual: &reader)
                }
                return
            }
            if tag == .string, case .string(let text) = tagged.token {
                self = .string(reader.string(of: text))
                return
            }
            var isExact = true
            let end = reader.position
            let value = Self.value(of: tagged.token, at: tagged.position, tag, from: &reader, isExact: &isExact)
            if let value, isExact {
                reader.rewind(to: end)
                self = value
                return
            }
            reader.rewind(to: start)
        }
        try self.init(unusual: &reader)
    }

    /// Reads the value that a first key promises, and its type; `nil` when the promise is not kept.
    private static func object(beginningWith key: Int, from reader: inout JSONReader) -> FieldValue? {
        do throws(JSONError) {
            switch key {
            case 0:
                let location = try Location(json: &reader)
                return try reader.endTagged(keys, Tag.keys) == Tag.location.rawValue ? .location(location) : nil
            case 1:
                let reference = try Reference(json: &reader)
                return try reader.endTagged(keys, Tag.keys) == Tag.reference.rawValue ? .reference(reference) : nil
            default:
                let asset = try Asset(json: &reader)
                return try reader.endTagged(keys, Tag.keys) == Tag.asset.rawValue ? .asset(asset) : nil
            }
        } catch {
            return nil
        }
    }

    /// Reads a field dictionary of whatever shape.
    @inline(never)
    private init(unusual reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        guard try reader.peekKind() == .object else {
            // No dictionary at all.
            let json = try reader.readRawValue()
            self = .verbatim(Verbatim(value: .unknown(type: nil, value: json), type: nil, json: json))
            return
        }
        var token: JSONReader.Token?
        var valuePosition = start
        var tag = Tag.absent
        var type: FieldType?
        var isEncrypted = false
        var isExact = true
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0:
                valuePosition = reader.position
                token = try reader.readToken()
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
        if let token {
            let end = reader.position
            if let value = Self.value(of: token, at: valuePosition, tag, from: &reader, isExact: &isExact) {
                self = value
            } else {
                reader.rewind(to: valuePosition)
                self = .unknown(type: tag.type ?? type, value: try reader.readRawValue())
            }
            reader.rewind(to: end)
        } else {
            self = .null
            isExact = false
        }
        if isEncrypted {
            self = .encrypted(self)
        }
        if !isExact {
            let end = reader.position
            reader.rewind(to: start)
            self = .verbatim(Verbatim(value: self, type: tag.type ?? type, json: try reader.readRawValue()))
            reader.rewind(to: end)
        }
    }

    /// Writes the field dictionary, always with the value's type.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .verbatim(let verbatim):
            writer.writeRaw(verbatim.json)
        case .encrypted(let value):
            writer.beginObject()
            value.plain.writeMembers(to: &writer)
            writer.key("isEncrypted")
            writer.write(true)
            writer.endObject()
        default:
            // The text around the value is written in one piece where there is no white space in it.
            if let end = compactEnd, writer.beginCompactObject(#"{"value":"#) {
                writeValue(to: &writer)
                writer.endCompactObject(end)
            } else {
                writer.beginObject()
                writeMembers(to: &writer)
                writer.endObject()
            }
        }
    }

    /// Writes `"value":…,"type":…`.
    private func writeMembers(to writer: inout JSONWriter) {
        writer.key("value")
        writeValue(to: &writer)
        if let type {
            writer.key("type")
            writer.write(type.rawValue)
        }
    }

    /// Writes the value alone, without its wrappings.
    private func writeValue(to writer: inout JSONWriter) {
        switch self {
        case .string(let value): writer.write(value)
        case .int64(let value): writer.write(value)
        case .double(let value): writer.write(value)
        case .timestamp(let value): writer.write(milliseconds: value)
        case .bytes(let value): writer.writeBase64(value)
        case .reference(let value): writer.write(value)
        case .asset(let value): writer.write(value)
        case .location(let value): writer.write(value)
        case .stringList(let values): writer.write(values)
        case .int64List(let values): writer.write(values)
        case .doubleList(let values): writer.write(values)
        case .timestampList(let values):
            writer.beginArray()
            for value in values {
                writer.write(milliseconds: value)
            }
            writer.endArray()
        case .bytesList(let values):
            writer.beginArray()
            for value in values {
                writer.writeBase64(value)
            }
            writer.endArray()
        case .referenceList(let values): writer.write(values)
        case .assetList(let values): writer.write(values)
        case .locationList(let values): writer.write(values)
        case .null: writer.writeNull()
        case .unknown(_, let value): writer.writeRaw(value)
        case .encrypted, .verbatim: plain.writeValue(to: &writer)
        }
    }

    /// What follows the value in compact JSON.
    private var compactEnd: StaticString? {
        switch self {
        case .string: #","type":"STRING"}"#
        case .int64: #","type":"INT64"}"#
        case .double: #","type":"DOUBLE"}"#
        case .timestamp: #","type":"TIMESTAMP"}"#
        case .bytes: #","type":"BYTES"}"#
        case .reference: #","type":"REFERENCE"}"#
        case .asset: #","type":"ASSETID"}"#
        case .location: #","type":"LOCATION"}"#
        case .stringList: #","type":"STRING_LIST"}"#
        case .int64List: #","type":"INT64_LIST"}"#
        case .doubleList: #","type":"DOUBLE_LIST"}"#
        case .timestampList: #","type":"TIMESTAMP_LIST"}"#
        case .bytesList: #","type":"BYTES_LIST"}"#
        case .referenceList: #","type":"REFERENCE_LIST"}"#
        case .assetList: #","type":"ASSETID_LIST"}"#
        case .locationList: #","type":"LOCATION_LIST"}"#
        case .null: "}"
        case .unknown, .encrypted, .verbatim: nil
        }
    }
}

extension FieldValue {
    /// The types that are read into a case of ``FieldValue``. The last of them are written verbatim.
    enum Tag: Int, CaseIterable {
        case string, int64, double, timestamp, bytes, reference, asset, location
        case stringList, int64List, doubleList, timestampList, bytesList, referenceList, assetList, locationList
        case encryptedBytes, assetAlias, assetListAlias, email, numberInt64, numberDouble
        case unknown = -1
        case absent = -2

        /// The names of the types. The index of a name is the raw value of its tag.
        static let keys = JSONKeys(allCases.compactMap(\.name))

        private var name: String? {
            switch self {
            case .string: "STRING"
            case .int64: "INT64"
            case .double: "DOUBLE"
            case .timestamp: "TIMESTAMP"
            case .bytes: "BYTES"
            case .reference: "REFERENCE"
            case .asset: "ASSETID"
            case .location: "LOCATION"
            case .stringList: "STRING_LIST"
            case .int64List: "INT64_LIST"
            case .doubleList: "DOUBLE_LIST"
            case .timestampList: "TIMESTAMP_LIST"
            case .bytesList: "BYTES_LIST"
            case .referenceList: "REFERENCE_LIST"
            case .assetList: "ASSETID_LIST"
            case .locationList: "LOCATION_LIST"
            case .encryptedBytes: "ENCRYPTED_BYTES"
            case .assetAlias: "ASSET"
            case .assetListAlias: "ASSET_LIST"
            case .email: "EMAIL"
            case .numberInt64: "NUMBER_INT64"
            case .numberDouble: "NUMBER_DOUBLE"
            case .unknown, .absent: nil
            }
        }

        /// The type of a list whose elements have this type and come without it: JSON shows these types by itself.
        var untaggedList: Tag? {
            switch self {
            case .string: .stringList
            case .int64: .int64List
            case .double: .doubleList
            case .reference: .referenceList
            case .asset: .assetList
            case .location: .locationList
            case .timestamp, .bytes, .stringList, .int64List, .doubleList, .timestampList, .bytesList, .referenceList,
                .assetList, .locationList, .encryptedBytes, .assetAlias, .assetListAlias, .email, .numberInt64,
                .numberDouble, .unknown, .absent:
                nil
            }
        }

        var type: FieldType? { name.map(FieldType.init(rawValue:)) }

        /// Reads the type's name; gives the name too when it is unknown.
        static func read(from reader: inout JSONReader) throws(JSONError) -> (Tag, FieldType?) {
            let start = reader.position
            if let tag = Tag(rawValue: try reader.readString(in: keys)), tag != .unknown { return (tag, nil) }
            reader.rewind(to: start)
            return (.unknown, FieldType(rawValue: try reader.readRepeatedString()))
        }
    }

    /// The value at `position`, whose type is `tag`; `nil` when it is not of that type.
    ///
    /// `isExact` becomes false when writing the value would not give what was read.
    private static func value(
        of token: JSONReader.Token,
        at position: JSONReader.Position,
        _ tag: Tag,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) -> FieldValue? {
        func alias(of canonical: Tag) -> FieldValue? {
            isExact = false
            return value(of: token, at: position, canonical, from: &reader, isExact: &isExact)
        }
        reader.rewind(to: position)
        do throws(JSONError) {
            switch tag {
            case .string:
                guard case .string(let text) = token else { break }
                return .string(reader.string(of: text))
            case .int64:
                return try int64(of: token, at: position, from: &reader, isExact: &isExact).map(FieldValue.int64)
            case .double:
                return try double(of: token, at: position, from: &reader, isExact: &isExact).map(FieldValue.double)
            case .timestamp:
                return try date(of: token, at: position, from: &reader, isExact: &isExact).map(FieldValue.timestamp)
            case .bytes:
                return bytes(of: token, from: reader, isExact: &isExact).map(FieldValue.bytes)
            case .reference: return .reference(try Reference(json: &reader))
            case .asset: return .asset(try Asset(json: &reader))
            case .location: return .location(try Location(json: &reader))
            case .stringList: return .stringList(try reader.read())
            case .int64List:
                return try elements(from: &reader, isExact: &isExact, int64).map(FieldValue.int64List)
            case .doubleList:
                return try elements(from: &reader, isExact: &isExact, double).map(FieldValue.doubleList)
            case .timestampList:
                return try elements(from: &reader, isExact: &isExact, date).map(FieldValue.timestampList)
            case .bytesList:
                return try elements(from: &reader, isExact: &isExact) { token, _, reader, isExact in
                    bytes(of: token, from: reader, isExact: &isExact)
                }
                .map(FieldValue.bytesList)
            case .referenceList: return .referenceList(try reader.read())
            case .assetList: return .assetList(try reader.read())
            case .locationList: return .locationList(try reader.read())
            case .encryptedBytes: return alias(of: .bytes)
            case .assetAlias: return alias(of: .asset)
            case .assetListAlias: return alias(of: .assetList)
            case .email: return alias(of: .string)
            case .numberInt64: return alias(of: .int64)
            case .numberDouble: return alias(of: .double)
            case .unknown: return nil
            case .absent: return try untagged(token, at: position, from: &reader, isExact: &isExact)
            }
        } catch {
            return nullOnly(token, tag, isExact: &isExact)
        }
        return nullOnly(token, tag, isExact: &isExact)
    }

    /// A null, which any type may have.
    private static func nullOnly(_ token: JSONReader.Token, _ tag: Tag, isExact: inout Bool) -> FieldValue? {
        guard case .other(.null) = token else { return nil }
        isExact = false
        return .null
    }

    static func int64(
        of token: JSONReader.Token,
        at position: JSONReader.Position,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> Int64? {
        switch token {
        case .number(let number):
            if let value = number.int64 { return value }
            reader.rewind(to: position)
            return try reader.readInt64()
        case .string(let text):
            isExact = false
            return Int64(reader.string(of: text))
        default:
            return nil
        }
    }

    static func double(
        of token: JSONReader.Token,
        at position: JSONReader.Position,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> Double? {
        switch token {
        case .number(let number):
            var value = number.isExact ? number.double : nil
            if value == nil {
                reader.rewind(to: position)
                value = try reader.readDouble()
            }
            // Whole numbers this large may have been written with more digits than a double holds.
            if let value, value.magnitude >= 0x1p53 { isExact = false }
            return value
        case .string(let text):
            isExact = false
            // "nan" and "inf" are numbers for Swift, but not for the service.
            return Double(reader.string(of: text)).flatMap { $0.isFinite ? $0 : nil }
        default:
            return nil
        }
    }

    static func date(
        of token: JSONReader.Token,
        at position: JSONReader.Position,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> Date? {
        if case .number(let number) = token, let milliseconds = number.int64 {
            let date = Date(wireMilliseconds: milliseconds)
            isExact = isExact && date.wireMilliseconds == milliseconds
            return date
        }
        guard let milliseconds = try double(of: token, at: position, from: &reader, isExact: &isExact) else {
            return nil
        }
        // A fraction, which the service refuses, or a number in a string.
        isExact = false
        return Date(timeIntervalSince1970: milliseconds / 1000)
    }

    static func bytes(of token: JSONReader.Token, from reader: borrowing JSONReader, isExact: inout Bool)
        -> Data?
    {
        guard case .string(let text) = token else { return nil }
        return reader.withBase64(of: text, isCanonical: &isExact) { Data($0) }
    }

    @inline(__always)
    private static func elements<Element>(
        from reader: inout JSONReader,
        isExact: inout Bool,
        _ value: (JSONReader.Token, JSONReader.Position, inout JSONReader, inout Bool) throws(JSONError) -> Element?
    ) throws(JSONError) -> [Element]? {
        var elements: [Element] = []
        try reader.beginArray()
        while try reader.nextElement() {
            let position = reader.position
            let token = try reader.readToken()
            guard let element = try value(token, position, &reader, &isExact) else { return nil }
            if elements.isEmpty {
                elements.reserveCapacity(4)
            }
            elements.append(element)
        }
        return elements
    }

    /// The value of JSON without a type, as the service takes it: strings, whole and other numbers, objects and lists
    /// by what they hold. An integer literal is an `INT64` (observed), truth values are stored as 0 and 1.
    private static func untagged(
        _ token: JSONReader.Token,
        at position: JSONReader.Position,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> FieldValue? {
        var tag: Tag?
        switch token {
        case .other(.null):
            // This is how nulls are written.
            return .null
        case .other(.bool):
            isExact = false
            return .bool(try reader.readBool())
        case .other(.array):
            tag = try untaggedListTag(from: &reader)
        case .string, .number, .other:
            tag = try untaggedTag(token, from: &reader)
        }
        isExact = false
        guard let tag else { return nil }
        reader.rewind(to: position)
        return value(of: token, at: position, tag, from: &reader, isExact: &isExact)
    }

    /// The keys of objects that tell what they are.
    static let tellingKeys = JSONKeys("latitude", "recordName", "fileChecksum", "receipt", "downloadURL")

    /// The type of an untagged scalar or object. An object is read, from where the reader is.
    private static func untaggedTag(_ token: JSONReader.Token, from reader: inout JSONReader) throws(JSONError) -> Tag?
    {
        switch token {
        case .string:
            return .string
        case .number(let number):
            return number.isInteger ? .int64 : .double
        case .other(.object):
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
        case .other:
            return nil
        }
    }

    /// The type of an untagged list, which its elements agree on. It is read, from where the reader is.
    private static func untaggedListTag(from reader: inout JSONReader) throws(JSONError) -> Tag? {
        var common: Tag?
        try reader.beginArray()
        while try reader.nextElement() {
            let start = reader.position
            let token = try reader.readToken()
            let end = reader.position
            reader.rewind(to: start)
            guard let tag = try untaggedTag(token, from: &reader) else { return nil }
            reader.rewind(to: end)
            switch (common, tag) {
            case (nil, _), (.int64, .double): common = tag
            case (.double, .int64): break
            default: guard common == tag else { return nil }
            }
        }
        return common?.untaggedList
    }
}

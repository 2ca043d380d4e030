public import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// A field dictionary is `{"value": X, "type": "T"}`, with `"isEncrypted": true` for an encrypted value. The service
// writes `value` before `type`, so the reader skips the value and returns to it when its type is known.

extension FieldValue: JSONBackedCodable {
    static let keys = JSONKeys("value", "type", "isEncrypted")

    /// Reads a field dictionary. Reading fails only for invalid JSON.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        if let tagged = try reader.readTagged(Self.keys, FieldType.nameKeys, firstKeys: Self.tellingKeys) {
            guard let name = tagged.tag else {
                if let value = Self.object(beginningWith: tagged.firstKey, from: &reader) {
                    self = value
                } else {
                    reader.rewind(to: start)
                    try self.init(unusual: &reader)
                }
                return
            }
            if name == FieldType.Known.string.rawValue, case .string(let text) = tagged.token {
                self = .string(reader.string(of: text))
                return
            }
            if let type = FieldType.Known(rawValue: name) {
                var isExact = true
                let end = reader.position
                let value = Self.value(of: tagged.token, at: tagged.position, type, from: &reader, isExact: &isExact)
                if let value, isExact {
                    reader.rewind(to: end)
                    self = value
                    return
                }
            }
            reader.rewind(to: start)
        }
        try self.init(unusual: &reader)
    }

    /// Reads the kind of object that the first key suggests, and the type; `nil` when the object is not of this kind.
    private static func object(beginningWith key: Int, from reader: inout JSONReader) -> FieldValue? {
        do throws(JSONError) {
            let value: FieldValue
            let type: FieldType.Known
            switch key {
            case 0: (value, type) = (.location(try Location(json: &reader)), .location)
            case 1: (value, type) = (.reference(try Reference(json: &reader)), .reference)
            default: (value, type) = (.asset(try Asset(json: &reader)), .asset)
            }
            return try reader.endTagged(keys, FieldType.nameKeys) == type.rawValue ? value : nil
        } catch {
            return nil
        }
    }

    /// Reads a field dictionary of any shape.
    @inline(never)
    private init(unusual reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        guard try reader.peekKind() == .object else {
            // The JSON is not a dictionary.
            let json = try reader.readRawValue()
            self = .verbatim(Verbatim(value: .unknown(type: nil, value: json), type: nil, json: json))
            return
        }
        var token: JSONReader.Token?
        var valuePosition = start
        var type: FieldType?
        var name: Int?
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
                    (type, name) = try Self.readType(from: &reader)
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
            var value: FieldValue?
            reader.rewind(to: valuePosition)
            if let name {
                isExact = isExact && FieldType.Known(rawValue: name) != nil
                let known = FieldType.names[name].type
                value = Self.value(of: token, at: valuePosition, known, from: &reader, isExact: &isExact)
            } else if type == nil {
                value = try? Self.untagged(token, at: valuePosition, from: &reader, isExact: &isExact)
            }
            if let value {
                self = value
            } else {
                reader.rewind(to: valuePosition)
                self = .unknown(type: type, value: try reader.readRawValue())
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
            self = .verbatim(Verbatim(value: self, type: type, json: try reader.readRawValue()))
            reader.rewind(to: end)
        }
    }

    /// Reads the name of a type, and its index in ``FieldType/names``; the index is `nil` for other names.
    private static func readType(from reader: inout JSONReader) throws(JSONError) -> (FieldType, Int?) {
        let start = reader.position
        let index = try reader.readString(in: FieldType.nameKeys)
        if FieldType.names.indices.contains(index) {
            return (FieldType(rawValue: FieldType.names[index].name), index)
        }
        reader.rewind(to: start)
        return (FieldType(rawValue: try reader.readRepeatedString()), nil)
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
}

extension FieldValue {
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
            // Such a large whole number may have had more digits than a `Double` can represent.
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
    static func elements<Element>(
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

    /// The value of JSON without a type tag, as the service reads it: strings, whole and other numbers, and objects and
    /// lists by their content. An integer literal is an `INT64` (observed); Booleans are stored as 0 and 1.
    private static func untagged(
        _ token: JSONReader.Token,
        at position: JSONReader.Position,
        from reader: inout JSONReader,
        isExact: inout Bool
    ) throws(JSONError) -> FieldValue? {
        var type: FieldType.Known?
        switch token {
        case .other(.null):
            // Nulls are written in this form.
            return .null
        case .other(.bool):
            isExact = false
            return .bool(try reader.readBool())
        case .other(.array):
            type = try untaggedListType(from: &reader)
        case .string, .number, .other:
            type = try untaggedType(token, from: &reader)
        }
        isExact = false
        guard let type else { return nil }
        reader.rewind(to: position)
        return value(of: token, at: position, type, from: &reader, isExact: &isExact)
    }

    /// The keys that identify the type of an object.
    static let tellingKeys = JSONKeys("latitude", "recordName", "fileChecksum", "receipt", "downloadURL")

    /// The type of a scalar or object without a type tag. An object is read from the reader's position on.
    private static func untaggedType(_ token: JSONReader.Token, from reader: inout JSONReader) throws(JSONError)
        -> FieldType.Known?
    {
        switch token {
        case .string:
            return .string
        case .number(let number):
            return number.isInteger ? .int64 : .double
        case .other(.object):
            var type: FieldType.Known?
            try reader.beginObject()
            while let key = try reader.nextKey(in: tellingKeys) {
                switch key {
                case 0: type = .location
                case 1: type = type ?? .reference
                case 2...4: type = type ?? .asset
                default: break
                }
                try reader.skipValue()
            }
            return type
        case .other:
            return nil
        }
    }

    /// The type of a list without a type tag, which is the common type of its elements. The list is read from the
    /// reader's position on.
    private static func untaggedListType(from reader: inout JSONReader) throws(JSONError) -> FieldType.Known? {
        var common: FieldType.Known?
        try reader.beginArray()
        while try reader.nextElement() {
            let start = reader.position
            let token = try reader.readToken()
            let end = reader.position
            reader.rewind(to: start)
            guard let type = try untaggedType(token, from: &reader) else { return nil }
            reader.rewind(to: end)
            switch (common, type) {
            case (nil, _), (.int64, .double): common = type
            case (.double, .int64): break
            default: guard common == type else { return nil }
            }
        }
        return common?.list
    }
}

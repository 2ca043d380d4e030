public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The type of dates in generated code: Foundation's, under a name that needs no import.
public typealias OpenAPIDate = Date

/// How the dates of a message are read and written: the `userInfo` of its readers and writers.
final class DateCoding: Sendable {
    let transcoder: any DateTranscoder

    init(transcoder: any DateTranscoder) {
        self.transcoder = transcoder
    }

    /// The coding of readers and writers that do not belong to a message.
    static let standard = DateCoding(transcoder: .iso8601)
}

extension JSONReader.Options {
    /// The options of a reader with a coding of dates.
    init(dates: DateCoding) {
        self.init(userInfo: dates)
    }
}

extension JSONReader {
    // MARK: Values

    /// Reads a date from text, with the transcoder of the message's configuration.
    ///
    /// A value that is decoded by `JSONDecoder`, or another decoder, has dates as the strategy of that decoder says. A
    /// text that the strategy cannot read is read as in a message.
    @_spi(Generated) public mutating func readDate() throws(JSONError) -> Date {
        if let values = userInfo as? ForeignValues {
            let start = position
            switch values.value(Date.self, for: try read(JSONValue.self)) {
            case .value(let date): return date
            case .pending: return Date(timeIntervalSinceReferenceDate: 0)
            case .none: rewind(to: start)
            }
        }
        let text = try readString()
        let dates = userInfo as? DateCoding ?? .standard
        do {
            return try dates.transcoder.decode(text)
        } catch {
            throw self.error(.invalidValue, "'\(text)' is not a date: \(error)")
        }
    }

    /// Reads an enumeration by its raw value.
    @_spi(Generated) public mutating func readEnumeration<T: RawRepresentable>(
        _ type: T.Type
    ) throws(JSONError) -> T where T.RawValue: JSONReadable {
        let rawValue = try read(T.RawValue.self)
        guard let value = T(rawValue: rawValue) else {
            throw error(.invalidValue, "'\(rawValue)' is not a value of \(T.self).")
        }
        return value
    }

    /// Reads an array whose elements a closure reads.
    @_spi(Generated) public mutating func readArray<T>(
        _ element: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> [T] {
        var result: [T] = []
        try beginArray()
        while try nextElement() {
            result.append(try element(&self))
        }
        return result
    }

    /// Reads an object whose values a closure reads.
    @_spi(Generated) public mutating func readDictionary<T>(
        _ value: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> [String: T] {
        var result: [String: T] = [:]
        try beginObject()
        while let key = try nextKey() {
            result.updateValue(try value(&self), forKey: key)
        }
        return result
    }

    /// Reads `null`, or a value with a closure.
    @_spi(Generated) public mutating func readOptional<T>(
        _ value: (inout JSONReader) throws(JSONError) -> T
    ) throws(JSONError) -> T? {
        if try readNullIfPresent() { return nil }
        return try value(&self)
    }

    // MARK: Choices

    /// Tries to read a value and returns to where it began if that fails.
    @_spi(Generated) public mutating func attempt<T>(
        _ value: (inout JSONReader) throws(JSONError) -> T
    ) -> T? {
        let start = position
        do {
            return try value(&self)
        } catch {
            rewind(to: start)
            return nil
        }
    }

    /// Tries to read a value and returns to where it began if that fails.
    @_spi(Generated) public mutating func attempt<T: JSONReadable>(_ type: T.Type = T.self) -> T? {
        attempt { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// Skips the value after several attempts to read it, and throws if none of them matched.
    @_spi(Generated) public mutating func endAttempts(
        matched: Bool,
        in type: StaticString
    ) throws(JSONError) {
        guard matched else { throw noMatch(in: type) }
        try skipValue()
    }

    /// Begins to read a composition whose members can lead back to it. Reading it again before a byte is read would never
    /// end, and is refused.
    @_spi(Generated) public mutating func beginRecursiveComposition<T>(
        _ type: T.Type,
        in name: StaticString
    ) throws(JSONError) {
        let composition = (type: ObjectIdentifier(type), offset: position.offset)
        guard !recursiveCompositions.contains(where: { $0 == composition }) else {
            throw error(.invalidValue, "\(name) contains itself here, so that reading it would never end.")
        }
        recursiveCompositions.append(composition)
    }

    /// Ends what ``beginRecursiveComposition(_:in:)`` has begun.
    @_spi(Generated) public mutating func endRecursiveComposition() { recursiveCompositions.removeLast() }

    /// Reads the discriminator of an object, which says the object's type, and returns to the object's beginning.
    @_spi(Generated) public mutating func peekDiscriminator(
        _ name: StaticString,
        in type: StaticString
    ) throws(JSONError) -> String {
        if isAskedForKeys { keysOfType = JSONKeys(name) }
        let start = position
        let name = "\(name)"
        var tag: String?
        try beginObject()
        while let key: String = try nextKey() {
            if key == name {
                tag = try readString()
                break
            }
            try skipValue()
        }
        rewind(to: start)
        guard let tag else { throw missingKey(name, in: type) }
        return tag
    }

    // MARK: Errors

    /// The error for a missing required key.
    @_spi(Generated) public func missingKey(_ key: String, in type: StaticString) -> JSONError {
        error(.missingKey, "\(type) needs the key '\(key)'.")
    }

    /// The error for a key that is not listed, in an object that allows only the listed ones.
    @_spi(Generated) public func unexpectedKey(_ key: String, in type: StaticString) -> JSONError {
        error(.invalidValue, "\(type) allows no key '\(key)'.")
    }

    /// The error for a value that does not fit any of several types.
    @_spi(Generated) public func noMatch(in type: StaticString) -> JSONError {
        error(.invalidValue, "The value fits none of the types of \(type).")
    }

    /// The error for the value of a discriminator that does not name a type.
    @_spi(Generated) public func unknownDiscriminator(_ tag: String, in type: StaticString) -> JSONError {
        error(.invalidValue, "'\(tag)' is not the tag of a type of \(type).")
    }
}

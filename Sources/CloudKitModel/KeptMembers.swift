public import StreamingJSON

/// The members of a JSON object that have no property in its Swift type, kept unchanged and in order.
///
/// The service sends keys that no page documents (`expirationTime`, `stableUrl`, keys of Apple's own containers). The
/// types of this module keep unknown members when they are read, and write them again unchanged:
///
/// ```swift
/// let record: Record = try JSONReader.read(from: #"{"recordName":"A","expirationTime":1689562458}"#)
/// record.otherKeys["expirationTime"]  // 1689562458
/// ```
///
/// Known keys whose value was `null` are remembered as well, and written as `null` as long as their property is `nil`.
/// This information is not part of the value: `==` ignores it.
public typealias OtherKeys = JSONMembers

// Generated types have their own code for reading and writing. The functions here are for the types of this module that
// are written by hand ("nouns").

/// The keys of a noun, one case for each. So the compiler reports a key that the reading code forgets.
protocol NounKey: RawRepresentable<String>, CaseIterable {}

/// The keys of a noun as a table for the reader.
struct NounKeys<Key: NounKey>: Sendable where Key: Sendable {
    let table: JSONKeys
    private let keys: [Key]

    init(_ type: Key.Type = Key.self) {
        keys = Array(Key.allCases)
        table = JSONKeys(keys.map(\.rawValue))
    }

    @inline(__always)
    subscript(index: Int) -> Key { keys[index] }
}

extension JSONMembers {
    /// Moves to the next member whose key is in a table. Members with other keys are kept.
    @inline(__always)
    mutating func nextKey<Key>(in keys: NounKeys<Key>, from reader: inout JSONReader) throws(JSONError) -> Key? {
        while let index = try reader.nextKey(in: keys.table) {
            if index != JSONKeys.unknown { return keys[index] }
            try keep(from: &reader)
        }
        return nil
    }

    /// Reads the value of a known key; returns `nil` for `null`, and remembers it.
    @inline(__always)
    mutating func read<Value: JSONReadable>(
        _ key: some NounKey,
        from reader: inout JSONReader
    ) throws(JSONError) -> Value? {
        if try readNull(key, from: &reader) { return nil }
        return try reader.read(Value.self)
    }

    /// Reads the value of a known key, a string that the same input probably repeats.
    @inline(__always)
    mutating func readRepeated(_ key: some NounKey, from reader: inout JSONReader) throws(JSONError) -> String? {
        if try readNull(key, from: &reader) { return nil }
        return try reader.readRepeatedString()
    }

    /// Reads the value of a known key, which the same input probably repeats byte for byte.
    @inline(__always)
    mutating func readBox<Value: JSONReadable & Hashable & Sendable>(
        _ key: some NounKey,
        from reader: inout JSONReader
    ) throws(JSONError) -> Box<Value>? {
        if try readNull(key, from: &reader) { return nil }
        return try reader.readRepeated { (reader) throws(JSONError) in Box(try Value(json: &reader)) }
    }

    /// Reads the value of a known key; a value of another JSON type is kept like an unknown member.
    mutating func readLeniently<Value: JSONReadable>(
        _ key: some NounKey,
        from reader: inout JSONReader
    ) throws(JSONError) -> Value? {
        let start = reader.position
        do throws(JSONError) {
            return try read(key, from: &reader)
        } catch {
            reader.rewind(to: start)
            try keep(key, from: &reader)
            return nil
        }
    }

    /// Keeps the value of a known key that does not fit its property.
    mutating func keep(_ key: some NounKey, from reader: inout JSONReader) throws(JSONError) {
        self[key.rawValue] = try reader.readRawValue()
    }

    /// Reads a `null` and remembers it.
    @inline(__always)
    mutating func readNull(_ key: some NounKey, from reader: inout JSONReader) throws(JSONError) -> Bool {
        guard try reader.readNullIfPresent() else { return false }
        noteNull(key.rawValue)
        return true
    }

    /// Writes one known member: its value; or `null`, if it was read as `null`; or nothing.
    @inline(__always)
    func write<Value: JSONWritable>(_ name: StaticString, _ value: Value?, to writer: inout JSONWriter) {
        if let value {
            writer.key(name)
            writer.write(value)
        } else if !isUnused, nulls.contains(name.description) {
            writer.key(name)
            writer.writeNull()
        }
    }
}

/// Information about the JSON that was read, so that a value is written in the same form. `==` ignores it: any two are
/// equal.
struct ExcludedFromEquality<Value: Sendable>: Hashable, Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }

    static func == (left: ExcludedFromEquality, right: ExcludedFromEquality) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}

/// A value on the heap, for large and rare parts of a type, so that the type stays small.
final class Box<Value: Hashable & Sendable>: Hashable, Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }

    static func == (left: Box, right: Box) -> Bool {
        left === right || left.value == right.value
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}

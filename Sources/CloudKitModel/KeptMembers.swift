public import StreamingJSON

/// The members of a noun's JSON object that have no property of their own, kept whole and in order.
///
/// The service's objects grow keys that no page documents (`expirationTime`, `stableUrl`, keys of Apple's own
/// containers). A noun keeps what it does not know when it is read, and writes it again unchanged:
///
/// ```swift
/// let record: Record = try JSONReader.read(from: #"{"recordName":"A","expirationTime":1689562458}"#)
/// record.otherKeys["expirationTime"]  // 1689562458
/// ```
///
/// Known keys whose value was `null` are remembered as well, and written as `null` as long as their property is `nil`.
/// That memory is no part of the value: it does not count in `==`.
public typealias OtherKeys = JSONMembers

// Generated nouns read and write themselves. The functions here are for those that are written by hand.

/// The keys of a noun: a case for each, so that the compiler finds a key that the reader forgets.
protocol NounKey: RawRepresentable<String>, CaseIterable {}

/// The keys of a noun as a table to read by.
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

    /// Reads the value of a known key; `null` is noted and gives `nil`.
    @inline(__always)
    mutating func read<Value: JSONReadable>(
        _ key: some NounKey,
        from reader: inout JSONReader
    ) throws(JSONError) -> Value? {
        if try readNull(key, from: &reader) { return nil }
        return try reader.read(Value.self)
    }

    /// Reads the value of a known key, a string that is likely to come again in the same input.
    @inline(__always)
    mutating func readRepeated(_ key: some NounKey, from reader: inout JSONReader) throws(JSONError) -> String? {
        if try readNull(key, from: &reader) { return nil }
        return try reader.readRepeatedString()
    }

    /// Reads the value of a known key, which is likely to come again byte for byte in the same input.
    @inline(__always)
    mutating func readBox<Value: JSONReadable & Hashable & Sendable>(
        _ key: some NounKey,
        from reader: inout JSONReader
    ) throws(JSONError) -> Box<Value>? {
        if try readNull(key, from: &reader) { return nil }
        return try reader.readRepeated { (reader) throws(JSONError) in Box(try Value(json: &reader)) }
    }

    /// Reads the value of a known key; one of another kind is kept like a member of unknown meaning.
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

    /// Keeps the value of a known key, which is of no use to its property.
    mutating func keep(_ key: some NounKey, from reader: inout JSONReader) throws(JSONError) {
        self[key.rawValue] = try reader.readRawValue()
    }

    /// Reads a `null` and notes it.
    @inline(__always)
    mutating func readNull(_ key: some NounKey, from reader: inout JSONReader) throws(JSONError) -> Bool {
        guard try reader.readNullIfPresent() else { return false }
        noteNull(key.rawValue)
        return true
    }

    /// Writes one known member: its value, or `null` where it was `null`, or nothing.
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

/// A form of the wire, to write a value in the form in which it came. It does not count in `==`: any two are equal.
struct ExcludedFromEquality<Value: Sendable>: Hashable, Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }

    static func == (left: ExcludedFromEquality, right: ExcludedFromEquality) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}

/// A value on the heap, so that types which rarely have it stay small.
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

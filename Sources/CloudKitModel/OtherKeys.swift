public import StreamingJSON

/// The members of a JSON object that have no property of their own, kept whole and in order.
///
/// The service's objects grow keys that no page documents (`expirationTime`, `stableUrl`, keys of Apple's own
/// containers). What a type does not know it keeps here when it is read, and writes again unchanged:
///
/// ```swift
/// let record: Record = try JSONReader.read(from: #"{"recordName":"A","expirationTime":1689562458}"#)
/// record.otherKeys["expirationTime"]  // 1689562458
/// ```
///
/// Known keys whose value was `null` are remembered as well, and written as `null` as long as their property is `nil`.
/// That memory is no part of the value: it does not count in `==`.
public struct OtherKeys: Sendable {
    private struct Storage: Sendable {
        var elements: [Element] = []
        var nulls: UInt64 = 0
        /// Where each name stands, from the number of elements on where searching costs more.
        private var positions: [String: Int]?

        func position(of name: String) -> Int? {
            if let positions { return positions[name] }
            return elements.firstIndex { $0.name == name }
        }

        mutating func append(_ element: Element) {
            if positions != nil {
                positions?[element.name] = elements.count
            } else if elements.count == 32 {
                positions = Dictionary(uniqueKeysWithValues: elements.enumerated().map { ($1.name, $0) })
                positions?[element.name] = 32
            }
            elements.append(element)
        }

        mutating func remove(at position: Int) {
            elements.remove(at: position)
            positions = nil
        }
    }

    /// One member: its name and its value as it came.
    public struct Element: Hashable, Sendable {
        /// The member's key.
        public var name: String
        /// The member's value.
        public var value: JSONRawValue

        /// Makes a member.
        public init(name: String, value: JSONRawValue) {
            self.name = name
            self.value = value
        }
    }

    /// Nothing or one storage: most values have no other keys, and are small for it.
    private var storage: [Storage] = []

    /// No other keys.
    public init() {}

    /// The members in the order in which they came.
    public var elements: [Element] {
        storage.first?.elements ?? []
    }

    /// The value of the member `name`; `nil` when there is none. Assigning `nil` removes it.
    public subscript(name: String) -> JSONRawValue? {
        get {
            guard let storage = storage.first, let position = storage.position(of: name) else { return nil }
            return storage.elements[position].value
        }
        set {
            if let position = storage.first?.position(of: name) {
                if let newValue {
                    storage[0].elements[position].value = newValue
                } else {
                    storage[0].remove(at: position)
                }
            } else if let newValue {
                if storage.isEmpty { storage.append(Storage()) }
                storage[0].append(Element(name: name, value: newValue))
            }
        }
    }
}

extension OtherKeys: Hashable {
    /// Whether both hold the same members in the same order.
    public static func == (left: OtherKeys, right: OtherKeys) -> Bool {
        left.elements == right.elements
    }

    /// Feeds the members to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(elements)
    }
}

extension OtherKeys: RandomAccessCollection {
    /// The first member's position: 0.
    public var startIndex: Int { 0 }
    /// The number of members.
    public var endIndex: Int { storage.first?.elements.count ?? 0 }
    /// The member at `position`.
    public subscript(position: Int) -> Element { elements[position] }
}

extension OtherKeys: ExpressibleByDictionaryLiteral {
    /// Members in the order of the literal; of several with one name the last counts.
    public init(dictionaryLiteral members: (String, JSONRawValue)...) {
        for (name, value) in members { self[name] = value }
    }
}

// MARK: Reading and writing the objects that hold other keys

extension OtherKeys {
    /// Reads the value of the known key at `index` of the type's key table; `null` is noted and gives `nil`.
    mutating func read<Value: JSONReadable>(
        _ index: Int,
        from reader: inout JSONReader
    ) throws(JSONError) -> Value? {
        if try reader.readNullIfPresent() {
            noteNull(index)
            return nil
        }
        return try reader.read(Value.self)
    }

    /// Reads the value of the known key at `index`, a string that is likely to come again in the same input.
    mutating func readRepeated(_ index: Int, from reader: inout JSONReader) throws(JSONError) -> String? {
        if try reader.readNullIfPresent() {
            noteNull(index)
            return nil
        }
        return try reader.readRepeatedString()
    }

    /// Reads the value of the known key at `index`, which is likely to come again byte for byte in the same input.
    mutating func readBox<Value: JSONReadable & Hashable & Sendable>(
        _ index: Int,
        from reader: inout JSONReader
    ) throws(JSONError) -> Box<Value>? {
        if try reader.readNullIfPresent() {
            noteNull(index)
            return nil
        }
        return try reader.readRepeated { (reader) throws(JSONError) in Box(try Value(json: &reader)) }
    }

    /// Reads the value of the known key at `index`; one of another kind is kept like a member of unknown meaning.
    mutating func readLeniently<Value: JSONReadable>(
        _ index: Int,
        from reader: inout JSONReader
    ) throws(JSONError) -> Value? {
        let start = reader.position
        do throws(JSONError) {
            return try read(index, from: &reader)
        } catch {
            reader.rewind(to: start)
            try keep(from: &reader)
            return nil
        }
    }

    /// Keeps the value of the key just read, which the type's key table does not have.
    mutating func keep(from reader: inout JSONReader) throws(JSONError) {
        let name = try reader.lastKey()
        self[name] = try reader.readRawValue()
    }

    /// Remembers that the known key at `index` was there with the value `null`.
    mutating func noteNull(_ index: Int) {
        if storage.isEmpty { storage.append(Storage()) }
        storage[0].nulls |= 1 << UInt64(index)
    }

    /// Whether the known key at `index` was there with the value `null`.
    func wasNull(_ index: Int) -> Bool {
        guard let storage = storage.first else { return false }
        return storage.nulls & 1 << UInt64(index) != 0
    }

    /// Whether there is nothing to write again, not even a null.
    var isUnused: Bool { elements.isEmpty && storage.first?.nulls ?? 0 == 0 }

    /// Writes one known member: its value, or `null` where it was `null`, or nothing.
    @inline(__always)
    func write<Value: JSONWritable>(
        _ index: Int,
        _ name: StaticString,
        _ value: Value?,
        to writer: inout JSONWriter
    ) {
        if let value {
            writer.key(name)
            writer.write(value)
        } else if wasNull(index) {
            writer.key(name)
            writer.writeNull()
        }
    }

    /// Writes the kept members into the object that `writer` is in.
    func writeMembers(to writer: inout JSONWriter) {
        for element in elements {
            writer.key(element.name)
            writer.writeRaw(element.value)
        }
    }
}

/// How something stood on the wire. It is written again that way, and is no part of the value: any two are equal.
struct WireNote<Value: Sendable>: Hashable, Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }

    static func == (left: WireNote, right: WireNote) -> Bool { true }

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

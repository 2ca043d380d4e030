/// A table of the keys of a type, with which ``JSONReader/nextKey(in:)`` finds a key by its bytes.
///
/// Create one table for each type and keep it in a `static let`: creating it costs about as much as reading an object.
///
/// ```swift
/// struct Point: JSONReadable {
///     private static let keys = JSONKeys("x", "y")
///     var x = 0.0, y = 0.0
///
///     init(json reader: inout JSONReader) throws(JSONError) {
///         try reader.beginObject()
///         while let key = try reader.nextKey(in: Self.keys) {
///             switch key {
///             case 0: x = try reader.read()
///             case 1: y = try reader.read()
///             default: try reader.skipValue()
///             }
///         }
///     }
/// }
/// ```
public struct JSONKeys: Sendable {
    /// The index of every key that is not in the table.
    public static let unknown = -1

    struct Entry {
        let start: Bytes
        let count: Int
        let first: UInt64
        let last: UInt64
        /// The bits of a word of the input that are compared with `expected`.
        let mask: UInt64
        /// `first`, or a value that no masked word can have if JSON has to escape the key.
        let expected: UInt64
        /// `mask` and `expected` for the key with the quote and the colon behind it.
        let memberMask: UInt64
        let memberExpected: UInt64
        /// The last eight bytes of the key with its quote and its colon, if these are more than eight bytes.
        let memberEnd: UInt64
        /// The number of bytes that ``isMember(at:)`` reads.
        let memberReach: Int

        init(start: Bytes, count: Int) {
            self.start = start
            self.count = count
            (first, last) = JSONKeys.ends(of: start, count: count, limit: start + count)
            let isPlain = UnsafeBufferPointer(start: start, count: count).allSatisfy { byte in
                byte >= ASCII.space && byte != ASCII.quote && byte != ASCII.backslash
            }
            mask = !isPlain ? 0 : count < 8 ? (1 &<< UInt64(truncatingIfNeeded: count &* 8)) &- 1 : .max
            expected = isPlain ? first : 1
            let member = Array(UnsafeBufferPointer(start: start, count: count)) + [ASCII.quote, ASCII.colon]
            let ends = member.withUnsafeBufferPointer { JSONKeys.ends(of: $0) }
            memberMask = !isPlain ? 0 : count < 6 ? (1 &<< UInt64(truncatingIfNeeded: (count + 2) &* 8)) &- 1 : .max
            memberExpected = isPlain ? ends.0 : 1
            memberEnd = ends.1
            memberReach = max(count + 2, 8)
        }

        /// Whether the key, its closing quote and a colon are at a position. At least `memberReach` bytes must follow
        /// it.
        @inline(__always)
        func isMember(at text: Bytes) -> Bool {
            text.word & memberMask == memberExpected
                && (count <= 6
                    || ((text + (count &- 6)).word == memberEnd
                        && (count <= 14 || JSONKeys.isEqual(text + 8, start + 8, count: count &- 14))))
        }

        /// Whether the key and a closing quote are at a position.
        @inline(__always)
        func isSpelled(at text: Bytes, limit: Bytes) -> Bool {
            let room = limit - text
            guard room > count, room >= 8, text.word & mask == expected, text[count] == ASCII.quote else {
                return false
            }
            return count <= 8
                || ((text + (count &- 8)).word == last
                    && (count <= 16 || JSONKeys.isEqual(text + 8, start + 8, count: count &- 16)))
        }
    }

    /// Entries and hash slots in memory of the table, so that finding a key needs only the reference count of the
    /// table.
    final class Table: @unchecked Sendable {
        let entries: UnsafeMutablePointer<Entry>
        let count: Int
        /// Hash slots: each holds the index of an entry plus 1, or 0. Their number is a power of two, and at most a
        /// quarter of them are used.
        let slots: UnsafeMutablePointer<UInt16>
        let mask: Int

        convenience init(_ names: [StaticString]) {
            self.init(names.map(Table.bytes))
        }

        /// - Parameter names: The bytes of the names, which are never freed.
        init(_ names: [(start: Bytes, count: Int)]) {
            count = names.count
            entries = .allocate(capacity: max(names.count, 1))
            var size = 4
            while size < names.count * 4 {
                size *= 2
            }
            slots = .allocate(capacity: size)
            slots.initialize(repeating: 0, count: size)
            mask = size - 1
            for (index, name) in names.enumerated() {
                let entry = Entry(start: name.start, count: name.count)
                (entries + index).initialize(to: entry)
                var slot = JSONKeys.hash(entry.first, entry.last, entry.count) & mask
                while slots[slot] != 0 {
                    slot = (slot + 1) & mask
                }
                slots[slot] = UInt16(index + 1)
            }
        }

        /// The bytes of a static string. A string of a single character can be a scalar without storage; it is copied.
        private static func bytes(of name: StaticString) -> (start: Bytes, count: Int) {
            if name.hasPointerRepresentation {
                return (name.utf8Start, name.utf8CodeUnitCount)
            }
            return copy(of: String(name.unicodeScalar))
        }

        /// A string's bytes in memory that is never freed.
        static func copy(of name: String) -> (start: Bytes, count: Int) {
            let utf8 = Array(name.utf8)
            let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(utf8.count, 1))
            copy.initialize(from: utf8, count: utf8.count)
            return (Bytes(copy), utf8.count)
        }

        deinit {
            entries.deallocate()
            slots.deallocate()
        }
    }

    let table: Table

    /// Creates a table. The index of a key is its index in the list.
    ///
    /// When a key is listed twice, its first index counts.
    ///
    /// - Parameter keys: The keys, without escapes.
    public init(_ keys: StaticString...) {
        table = Table(keys)
    }

    /// Creates a table from a list; see ``init(_:)-(StaticString...)``.
    ///
    /// - Parameter keys: The keys, without escapes.
    package init(_ keys: [StaticString]) {
        table = Table(keys)
    }

    /// Creates a table from keys that are not static strings. Their memory is never freed.
    ///
    /// - Parameter keys: The keys, without escapes.
    package init(_ keys: [String]) {
        table = Table(keys.map(Table.copy))
    }

    /// The number of keys.
    public var count: Int { table.count }

    /// The key at an index of the list.
    ///
    /// - Parameter index: An index from 0 to ``count`` - 1.
    public subscript(index: Int) -> String {
        precondition(index >= 0 && index < table.count, "JSONKeys has no key \(index)")
        let entry = table.entries[index]
        return String(decoding: UnsafeBufferPointer(start: entry.start, count: entry.count), as: UTF8.self)
    }

    /// Whether the table has a key.
    package func contains(_ key: String) -> Bool {
        var key = key
        return key.withUTF8 { utf8 in
            let nothing: StaticString = ""
            let start = utf8.baseAddress ?? nothing.utf8Start
            return index(of: start, count: utf8.count, limit: start + utf8.count) >= 0
        }
    }

    /// The first and the last eight bytes of a key of one byte or more.
    private static func ends(of key: UnsafeBufferPointer<UInt8>) -> (UInt64, UInt64) {
        guard let start = key.baseAddress else { return (0, 0) }
        return ends(of: start, count: key.count, limit: start + key.count)
    }

    /// The first and the last eight bytes of a key, which are the whole key in most cases.
    ///
    /// Memory at or after `limit` is not read.
    @inline(__always)
    static func ends(of start: Bytes, count: Int, limit: Bytes) -> (UInt64, UInt64) {
        if count >= 8 {
            return (start.word, (start + (count - 8)).word)
        }
        guard count > 0 else { return (0, 0) }
        let mask: UInt64 = (1 &<< UInt64(truncatingIfNeeded: count &* 8)) &- 1
        let word = (limit - start >= 8 ? start.word : start.word(ofFirst: count)) & mask
        return (word, word)
    }

    @inline(__always)
    static func hash(_ first: UInt64, _ last: UInt64, _ count: Int) -> Int {
        let mixed =
            ((first &* 0x9E37_79B9_7F4A_7C15) ^ last ^ UInt64(truncatingIfNeeded: count)) &* 0xC2B2_AE3D_27D4_EB4F
        return Int(truncatingIfNeeded: mixed &>> 40)
    }

    /// The index of the key whose bytes are `start..<start + count`.
    ///
    /// Memory at or after `limit` is not read.
    @inline(__always)
    func index(of start: Bytes, count: Int, limit: Bytes) -> Int {
        let (first, last) = Self.ends(of: start, count: count, limit: limit)
        var slot = Self.hash(first, last, count) & table.mask
        while true {
            let candidate = Int(table.slots[slot]) &- 1
            if candidate < 0 {
                return Self.unknown
            }
            let entry = table.entries + candidate
            if entry.pointee.first == first, entry.pointee.last == last, entry.pointee.count == count,
                count <= 16 || Self.isEqual(entry.pointee.start + 8, start + 8, count: count - 16)
            {
                return candidate
            }
            slot = (slot &+ 1) & table.mask
        }
    }

    @inline(never)
    private static func isEqual(_ left: Bytes, _ right: Bytes, count: Int) -> Bool {
        for index in 0..<count where left[index] != right[index] {
            return false
        }
        return true
    }
}

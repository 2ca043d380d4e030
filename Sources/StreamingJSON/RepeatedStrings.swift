/// A cache of strings from the same input, found by their bytes.
///
/// Pages of records contain the same keys, names and types many times. Returning an existing string saves creating and
/// freeing a new one each time. Each string can be in one of two entries of the table, and a new string replaces the
/// older of the two. With only one entry, two strings that alternate would replace each other every time.
///
/// The same member of different records often has the same value. So a string can be requested with a hint, a number
/// that identifies the member. The string that had this hint last is compared with the bytes first, before the bytes
/// are scanned.
final class RepeatedStrings {
    /// The maximum length, in bytes, of the strings in the table. Longer strings rarely occur again.
    static let maximumCount = 64
    private static let slots = 128
    private static let hints = 64

    private struct Entry {
        var start: Bytes
        var count: Int
        var first: UInt64
        var last: UInt64
        var string: String

        /// Whether a text, with its first and last eight bytes, is equal to the string.
        @inline(__always)
        func isSpelled(by text: JSONReader.Text, _ first: UInt64, _ last: UInt64) -> Bool {
            count == text.count && self.first == first && self.last == last
                && (count <= 16 || RepeatedStrings.isEqual(start, text.start, count: count))
        }

        /// Whether the string and a closing quote are at a position.
        @inline(__always)
        func isSpelled(at text: Bytes, limit: Bytes) -> Bool {
            guard count >= 8 ? limit - text > count : count > 0 && limit - text >= 8,
                text[count] == ASCII.quote
            else { return false }
            guard count >= 8 else {
                return (text.word ^ first) &<< UInt64(truncatingIfNeeded: 64 &- count &* 8) == 0
            }
            return text.word == first && (text + (count &- 8)).word == last
                && (count <= 16 || RepeatedStrings.isEqual(start, text, count: count))
        }
    }

    private let entries: UnsafeMutablePointer<Entry>
    /// The index of the entry that had each hint last.
    private let guesses: UnsafeMutablePointer<UInt8>

    /// - Parameter nowhere: Any address, as a placeholder in empty entries.
    init(nowhere: Bytes) {
        entries = .allocate(capacity: Self.slots)
        entries.initialize(
            repeating: Entry(start: nowhere, count: 0, first: 0, last: 0, string: ""),
            count: Self.slots
        )
        guesses = .allocate(capacity: Self.hints)
        guesses.initialize(repeating: 0, count: Self.hints)
    }

    deinit {
        guesses.deallocate()
        entries.deinitialize(count: Self.slots)
        entries.deallocate()
    }

    /// The string with the given bytes.
    ///
    /// - Parameters:
    ///   - text: Checked bytes without escapes. They must not be empty, and must stay in memory as long as this table.
    ///   - limit: The end of the memory that may be read.
    /// - Returns: The string that was created for the same bytes before, or a new one.
    @inline(__always)
    func string(of text: JSONReader.Text, limit: Bytes) -> String {
        entries[index(of: text, limit: limit)].string
    }

    /// The string with the given bytes, which is then remembered for a hint.
    func string(of text: JSONReader.Text, limit: Bytes, hint: Int) -> String {
        let index = index(of: text, limit: limit)
        guesses[hint & (Self.hints - 1)] = UInt8(truncatingIfNeeded: index)
        return entries[index].string
    }

    /// The string that had a hint last, if it and a closing quote are at a position.
    @inline(__always)
    func string(at text: Bytes, limit: Bytes, hint: Int) -> (string: String, count: Int)? {
        let entry = entries + Int(guesses[hint & (Self.hints - 1)])
        return entry.pointee.isSpelled(at: text, limit: limit) ? (entry.pointee.string, entry.pointee.count) : nil
    }

    /// The index of the string with the given bytes, which is created if it is not in the table.
    @inline(__always)
    private func index(of text: JSONReader.Text, limit: Bytes) -> Int {
        let (first, last) = JSONKeys.ends(of: text.start, count: text.count, limit: limit)
        let index = JSONKeys.hash(first, last, text.count) & (Self.slots - 2)
        let entry = entries + index
        if entry[0].isSpelled(by: text, first, last) { return index }
        if entry[1].isSpelled(by: text, first, last) { return index + 1 }
        entry[1] = entry[0]
        entry[0] = Entry(
            start: text.start,
            count: text.count,
            first: first,
            last: last,
            string: JSONReader.newString(of: text)
        )
        return index
    }

    /// Compares the bytes between the first eight and the last eight.
    @inline(__always)
    fileprivate static func isEqual(_ left: Bytes, _ right: Bytes, count: Int) -> Bool {
        var offset = 8
        while offset < count - 8 {
            guard (left + min(offset, count - 8)).word == (right + min(offset, count - 8)).word else { return false }
            offset += 8
        }
        return true
    }
}

extension JSONReader {
    /// Reads a string that is likely to occur many times in the same input, such as a type or a user's name.
    ///
    /// The result is the same as that of ``readString()``. A string that occurred before is returned again, instead of
    /// a new one.
    ///
    /// - Returns: The text with its escapes resolved.
    /// - Throws: ``JSONError`` as ``readString()`` does.
    public mutating func readRepeatedString() throws(JSONError) -> String {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { throw mismatch("a string") }
        // The expected keys of the innermost objects identify the member.
        let hint = Int(truncatingIfNeeded: (expectedKeys &* 0x9E37_79B9_7F4A_7C15) &>> 58)
        if let (string, count) = repeatedStrings?.string(at: cursor + 1, limit: end, hint: hint) {
            cursor += count &+ 2
            return string
        }
        return try newRepeatedString(hint: hint)
    }

    @inline(never)
    private mutating func newRepeatedString(hint: Int) throws(JSONError) -> String {
        let text = try scanString()
        guard text.mayBeRepeated else { return string(of: text) }
        return tableOfRepeatedStrings().string(of: text, limit: end, hint: hint)
    }

    /// The string of checked bytes, through the table of repeated strings if it is short.
    @inline(__always)
    mutating func repeatedString(of text: Text) -> String {
        guard text.mayBeRepeated else { return string(of: text) }
        return tableOfRepeatedStrings().string(of: text, limit: end)
    }

    @inline(__always)
    private mutating func tableOfRepeatedStrings() -> RepeatedStrings {
        if let repeatedStrings { return repeatedStrings }
        let table = RepeatedStrings(nowhere: start)
        repeatedStrings = table
        return table
    }

    /// A new string of checked bytes without escapes.
    @inline(__always)
    static func newString(of text: Text) -> String {
        let bytes = UnsafeBufferPointer(start: text.start, count: text.count)
        if #available(macOS 26.0, iOS 26.0, watchOS 26.0, tvOS 26.0, visionOS 26.0, *) {
            // The bytes have been checked already.
            return String(
                copying: UTF8Span(unchecked: Span(_unsafeElements: bytes), isKnownASCII: text.isASCII)
            )
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONReader.Text {
    /// Whether the table of repeated strings can hold the text.
    @inline(__always)
    fileprivate var mayBeRepeated: Bool {
        !hasEscapes && count > 0 && count <= RepeatedStrings.maximumCount
    }
}

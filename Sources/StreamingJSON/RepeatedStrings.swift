/// Strings met before in the same input, found again by their bytes.
///
/// Pages of records have the same keys, names and types over and over. Handing out the string made before saves making
/// and freeing one each time. Each string has two entries in the table where it may be, and a new string replaces the
/// older of the two: with one entry, two strings that are met in turns would replace each other for ever.
final class RepeatedStrings {
    /// Longer strings are not worth comparing.
    static let maximumCount = 64
    private static let slots = 128

    private struct Entry {
        var start: Bytes
        var count: Int
        var first: UInt64
        var last: UInt64
        var string: String

        /// Whether a text with these first and last bytes spells the string.
        @inline(__always)
        func isSpelled(by text: JSONReader.Text, _ first: UInt64, _ last: UInt64) -> Bool {
            count == text.count && self.first == first && self.last == last
                && (count <= 16 || RepeatedStrings.isEqual(start, text.start, count: count))
        }
    }

    private let entries: UnsafeMutablePointer<Entry>

    /// - Parameter nowhere: Any address; it stands in empty slots.
    init(nowhere: Bytes) {
        entries = .allocate(capacity: Self.slots)
        entries.initialize(
            repeating: Entry(start: nowhere, count: 0, first: 0, last: 0, string: ""),
            count: Self.slots
        )
    }

    deinit {
        entries.deinitialize(count: Self.slots)
        entries.deallocate()
    }

    /// The string that the bytes spell; they are not empty, and stay where they are as long as this table.
    ///
    /// - Parameters:
    ///   - text: Checked bytes without escapes.
    ///   - limit: The end of the memory that may be looked at.
    /// - Returns: The string that was made for the same bytes before, or a new one.
    @inline(__always)
    func string(of text: JSONReader.Text, limit: Bytes) -> String {
        let (first, last) = JSONKeys.ends(of: text.start, count: text.count, limit: limit)
        let entry = entries + (JSONKeys.hash(first, last, text.count) & (Self.slots - 2))
        if entry[0].isSpelled(by: text, first, last) { return entry[0].string }
        if entry[1].isSpelled(by: text, first, last) { return entry[1].string }
        let string = JSONReader.newString(of: text)
        entry[1] = entry[0]
        entry[0] = Entry(start: text.start, count: text.count, first: first, last: last, string: string)
        return string
    }

    /// Compares what lies between the first and the last eight bytes.
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
    /// Reads a string that is likely to come again and again in the same input, such as a type or a user's name.
    ///
    /// The result is the same as that of ``readString()``; strings met before are handed out again instead of being
    /// made anew.
    ///
    /// - Returns: The text with its escapes resolved.
    /// - Throws: ``JSONError`` as ``readString()`` does.
    public mutating func readRepeatedString() throws(JSONError) -> String {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { throw mismatch("a string") }
        return repeatedString(of: try scanString())
    }

    /// The string that checked bytes spell, likely to be met again.
    @inline(__always)
    mutating func repeatedString(of text: Text) -> String {
        guard !text.hasEscapes, text.count > 0, text.count <= RepeatedStrings.maximumCount else {
            return string(of: text)
        }
        if let repeatedStrings {
            return repeatedStrings.string(of: text, limit: end)
        }
        let table = RepeatedStrings(nowhere: start)
        repeatedStrings = table
        return table.string(of: text, limit: end)
    }

    /// A new string of checked bytes without escapes.
    @inline(__always)
    static func newString(of text: Text) -> String {
        let bytes = UnsafeBufferPointer(start: text.start, count: text.count)
        if #available(macOS 26.0, iOS 26.0, watchOS 26.0, tvOS 26.0, visionOS 26.0, *) {
            // The bytes have been checked; they need not be again.
            return String(
                copying: UTF8Span(unchecked: Span(_unsafeElements: bytes), isKnownASCII: text.isASCII)
            )
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

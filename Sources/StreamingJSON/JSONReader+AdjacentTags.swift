// Adjacently tagged values are objects that hold a value and then its type: `{"value": X, "type": "T"}`. The caller
// chooses the names of both keys and of the types. Without these functions, a reader has to skip the value, read the
// type, and go back to the value. With them, the usual shape is read in one pass.

extension JSONReader {
    /// A value that has been skipped and checked, with the facts that were found.
    package enum Token {
        /// A string.
        case string(Text)
        /// A number.
        case number(Number)
        /// Anything else.
        case other(Kind)
    }

    /// Skips a value.
    package mutating func readToken() throws(JSONError) -> Token {
        skipWhitespace()
        guard cursor < end else { throw valueExpected() }
        switch cursor.pointee {
        case ASCII.quote:
            return .string(try scanString())
        case ASCII.minus, ASCII.zero...ASCII.nine:
            return .number(try scanNumber())
        default:
            let kind = try peekKind()
            try skipValue()
            return .other(kind)
        }
    }

    /// A value and the index of its type in a table.
    package struct Tagged {
        /// The value, which has been skipped.
        package var token: Token
        /// The position at which the value begins.
        package var position: Position
        /// The index of the type in the table; `nil` when the reader is still before the value.
        package var tag: Int?
        /// The index of the value's first key in the table of first keys, while the reader is before the value.
        package var firstKey: Int
    }

    /// Reads an object that consists of a value and its type, in this order.
    ///
    /// If the value is an object whose first key is in a table, reading stops before the value: the key already says
    /// the type, so the value is not skipped first. ``endTagged(_:_:)`` then reads the rest.
    ///
    /// - Parameters:
    ///   - keys: The keys of the value and of the type.
    ///   - tags: The types.
    ///   - firstKeys: The first keys that say the type of an object.
    /// - Returns: The value. It is `nil`, and the reader has not moved, if the object has another shape or the type is
    ///   not in the table.
    /// - Throws: A ``JSONError`` if the grammar of JSON is broken.
    package mutating func readTagged(
        _ keys: JSONKeys,
        _ tags: JSONKeys,
        firstKeys: JSONKeys
    ) throws(JSONError) -> Tagged? {
        skipWhitespace()
        let start = position
        guard cursor < end, cursor.pointee == ASCII.leftBrace else { return nil }
        try beginObject()
        if try nextKey(in: keys) == 0 {
            skipWhitespace()
            let valuePosition = position
            if cursor < end, cursor.pointee == ASCII.leftBrace, let firstKey = firstKey(in: firstKeys) {
                return Tagged(token: .other(.object), position: valuePosition, tag: nil, firstKey: firstKey)
            }
            let token = try readToken()
            if let tag = try endTagged(keys, tags) {
                return Tagged(token: token, position: valuePosition, tag: tag, firstKey: JSONKeys.unknown)
            }
        }
        rewind(to: start)
        return nil
    }

    /// Reads the type behind a value, and the end of their object.
    ///
    /// - Parameters:
    ///   - keys: The keys of the value and of the type.
    ///   - tags: The types.
    /// - Returns: The index of the type in the table; `nil` if something else follows the value.
    /// - Throws: A ``JSONError`` if the grammar of JSON is broken.
    @inline(__always)
    package mutating func endTagged(_ keys: JSONKeys, _ tags: JSONKeys) throws(JSONError) -> Int? {
        guard try nextKey(in: keys) == 1 else { return nil }
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { return nil }
        let text = try scanString()
        let tag = tags.index(of: text.start, count: text.count, limit: end)
        skipWhitespace()
        guard tag >= 0, !text.hasEscapes, cursor < end, cursor.pointee == ASCII.rightBrace else { return nil }
        close()
        return tag
    }

    /// The text of an object before and after its value, without white space, as services send it.
    @usableFromInline
    package struct TaggedSpelling: Sendable {
        @usableFromInline let start: StaticString
        @usableFromInline let end: StaticString

        /// - Parameters:
        ///   - start: The text before the value, such as `{"value":`; at least eight bytes.
        ///   - end: The text after the value, such as `,"type":"STRING"}`; at least eight bytes.
        @inlinable
        package init(_ start: StaticString, _ end: StaticString) {
            self.start = start
            self.end = end
        }
    }

    /// Reads an object of a value and its type, for a caller that expects one type. No table is needed.
    ///
    /// - Parameters:
    ///   - spelling: The most likely text of the object. There may be white space between its tokens.
    ///   - read: Reads the value; returns `nil` if it is of another kind.
    /// - Returns: The value. It is `nil`, and the reader has not moved, if the object has another shape or type, or if
    ///   `read` fails: the caller then reads the object in its own way, and gets the same error.
    @inlinable
    @inline(__always)
    package mutating func readTagged<Value>(
        spelled spelling: TaggedSpelling,
        _ read: (inout JSONReader) throws(JSONError) -> Value?
    ) -> Value? {
        let start = position
        if remainingDepth > 0, skip(spelling.start) || skipTokens(of: spelling.start) {
            remainingDepth &-= 1
            if let value = try? read(&self), skip(spelling.end) || skipTokens(of: spelling.end) {
                remainingDepth &+= 1
                return value
            }
        }
        rewind(to: start)
        return nil
    }

    /// Skips a string, if the next value is one.
    package mutating func scanStringIfPresent() throws(JSONError) -> Text? {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { return nil }
        return try scanString()
    }

    /// Reads a whole number, if the next value is one without fraction or exponent and fits in an `Int64`.
    package mutating func readInt64IfPlain() throws(JSONError) -> Int64? {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { return nil }
        return try scanNumber().int64
    }

    /// Reads a number, if the next value is one whose digits fit in 64 bits.
    package mutating func readDoubleIfPlain() throws(JSONError) -> Double? {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { return nil }
        let number = try scanNumber()
        return number.isExact ? number.double : nil
    }

    /// Skips a piece of JSON, of eight bytes or more, if it is next with exactly these bytes.
    @inlinable
    @inline(__always)
    mutating func skip(_ piece: StaticString) -> Bool {
        let count = piece.utf8CodeUnitCount
        guard end - cursor >= count, count >= 8 else { return false }
        let spelled = piece.utf8Start
        var offset = 0
        while offset < count &- 8 {
            guard (cursor + offset).word == (spelled + offset).word else { return false }
            offset &+= 8
        }
        guard (cursor + (count &- 8)).word == (spelled + (count &- 8)).word else { return false }
        cursor += count
        return true
    }

    /// Skips a piece of JSON, of plain strings and structure, if it is next with any white space between its tokens.
    @usableFromInline
    @inline(never)
    mutating func skipTokens(of piece: StaticString) -> Bool {
        var spelled = piece.utf8Start
        let last = spelled + piece.utf8CodeUnitCount
        while spelled < last {
            skipWhitespace()
            var isInString = false
            repeat {
                guard cursor < end, cursor.pointee == spelled.pointee else { return false }
                if spelled.pointee == ASCII.quote { isInString.toggle() }
                cursor += 1
                spelled += 1
            } while isInString
        }
        return true
    }

    /// The index in a table of the first key of the next object.
    private mutating func firstKey(in keys: JSONKeys) -> Int? {
        let brace = cursor
        defer { cursor = brace }
        cursor += 1
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { return nil }
        for index in 0..<keys.table.count where keys.table.entries[index].isSpelled(at: cursor + 1, limit: end) {
            return index
        }
        return nil
    }
}

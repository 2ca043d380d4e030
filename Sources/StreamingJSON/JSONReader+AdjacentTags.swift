// Adjacently tagged values: objects that hold a value and then its type, `{"value": X, "type": "T"}`. The names of both keys and of the
// types are the caller's. A reader without this steps over the value, reads the type, and goes back to the value; here the usual shape is
// read in one pass.

extension JSONReader {
    /// A value that has been stepped over, with what was found on the way.
    package enum Token {
        /// A string.
        case string(Text)
        /// A number.
        case number(Number)
        /// Anything else.
        case other(Kind)
    }

    /// Steps over a value.
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
        /// The value, stepped over.
        package var token: Token
        /// Where the value begins.
        package var position: Position
        /// The index of the type in the table; `nil` when the reader is still in front of the value.
        package var tag: Int?
        /// The index of the value's first key in the table of first keys, while the reader is in front of it.
        package var firstKey: Int
    }

    /// Reads an object that consists of a value and its type, in this order.
    ///
    /// When the value is an object whose first key is in a table, reading stops in front of it: the key says as much as the type,
    /// and the value is not stepped over first. ``endTagged(_:_:)`` then reads the rest.
    ///
    /// - Parameters:
    ///   - keys: The keys of the value and of the type.
    ///   - tags: The types.
    ///   - firstKeys: The keys that tell the type of an object.
    /// - Returns: `nil`, and the reader is where it was, when the object is of another shape or the type is not in the table.
    /// - Throws: A ``JSONError`` where the grammar of JSON is broken.
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
    /// - Returns: The index of the type in the table; `nil` when the object goes on in another way.
    /// - Throws: A ``JSONError`` where the grammar of JSON is broken.
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

    /// The text of an object around a value and its type where it has no white space, as services send it.
    @usableFromInline
    package struct TaggedSpelling: Sendable {
        @usableFromInline let start: StaticString
        @usableFromInline let end: StaticString

        /// - Parameters:
        ///   - start: The text before the value, such as `{"value":`; at least eight bytes.
        ///   - end: The text behind it, such as `,"type":"STRING"}`; at least eight bytes.
        @inlinable
        package init(_ start: StaticString, _ end: StaticString) {
            self.start = start
            self.end = end
        }
    }

    /// Reads an object of a value and its type, for readers that know the type before they see it: nothing has to be found in a table.
    ///
    /// - Parameters:
    ///   - spelling: How the object is most likely spelled; there may be white space between its tokens.
    ///   - read: Reads the value; `nil` where it is of another kind.
    /// - Returns: The value; `nil`, with the reader where it was, for an object of another shape or type, and where `read` fails: the
    ///   caller then reads the object in its own way, and meets the same error.
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

    /// Steps over a string, if one comes next.
    package mutating func scanStringIfPresent() throws(JSONError) -> Text? {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { return nil }
        return try scanString()
    }

    /// Reads a whole number that is spelled as one and fits, if such comes next.
    package mutating func readInt64IfPlain() throws(JSONError) -> Int64? {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { return nil }
        return try scanNumber().int64
    }

    /// Reads a number whose digits fit a machine word, if such comes next.
    package mutating func readDoubleIfPlain() throws(JSONError) -> Double? {
        skipWhitespace()
        guard cursor < end, isNumber(cursor.pointee) else { return nil }
        let number = try scanNumber()
        return number.isExact ? number.double : nil
    }

    /// Steps over a piece of JSON, of eight bytes or more, if it comes next spelled like this.
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

    /// Steps over a piece of JSON, of plain strings and structure, if it comes next with any white space between its tokens.
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

    /// The index in a table of the first key of the object that comes next.
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

// Help for values whose type stands behind them, in the shape `{"value": X, "type": "T"}`. This is where pages of records spend
// their time, so the usual shape is read in one go.

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

    /// A value and the place of its type in a table.
    package struct Tagged {
        /// The value, stepped over.
        package var token: Token
        /// Where the value stands.
        package var position: Position
        /// The place of the type in the table.
        package var tag: Int
    }

    /// Reads an object that consists of a value and its type, in this order.
    ///
    /// - Parameters:
    ///   - keys: The keys of the value and of the type.
    ///   - tags: The types.
    /// - Returns: `nil`, and the reader is where it was, when the object is of another shape or the type is not in the table.
    /// - Throws: A ``JSONError`` where the grammar of JSON is broken.
    package mutating func readTagged(_ keys: JSONKeys, _ tags: JSONKeys) throws(JSONError) -> Tagged? {
        skipWhitespace()
        let start = position
        guard cursor < end, cursor.pointee == ASCII.leftBrace else { return nil }
        try beginObject()
        if try nextKey(in: keys) == 0 {
            let valuePosition = position
            let token = try readToken()
            if try nextKey(in: keys) == 1 {
                skipWhitespace()
                if cursor < end, cursor.pointee == ASCII.quote {
                    let text = try scanString()
                    let tag = tags.index(of: text.start, count: text.count, limit: end)
                    skipWhitespace()
                    if tag >= 0, !text.hasEscapes, cursor < end, cursor.pointee == ASCII.rightBrace {
                        close()
                        return Tagged(token: token, position: valuePosition, tag: tag)
                    }
                }
            }
        }
        rewind(to: start)
        return nil
    }
}

/// Objects made before from the same input, found again by comparing bytes.
struct RepeatedObjects {
    struct Slot {
        var start: Bytes
        var count: Int
        var remainingDepth: Int
        var object: AnyObject
    }

    private var slots: [Slot] = []
    private var oldest = 0

    /// The object that was made from the very bytes that come next.
    func first<Object: AnyObject>(at cursor: Bytes, end: Bytes, remainingDepth: Int) -> (Object, count: Int)? {
        for slot in slots where slot.count <= end - cursor && slot.remainingDepth <= remainingDepth {
            if Self.isEqual(slot.start, cursor, count: slot.count), let object = slot.object as? Object {
                return (object, slot.count)
            }
        }
        return nil
    }

    mutating func insert(_ slot: Slot) {
        if slots.count < 4 {
            slots.append(slot)
        } else {
            slots[oldest] = slot
            oldest = (oldest + 1) & 3
        }
    }

    @inline(__always)
    private static func isEqual(_ left: Bytes, _ right: Bytes, count: Int) -> Bool {
        var offset = 0
        while count - offset >= 8 {
            guard (left + offset).word == (right + offset).word else { return false }
            offset += 8
        }
        while offset < count {
            guard left[offset] == right[offset] else { return false }
            offset += 1
        }
        return true
    }
}

extension JSONReader {
    /// Reads a value that is likely to come again byte for byte in the same input, such as the zone of a page's records.
    ///
    /// Only objects and arrays are kept.
    ///
    /// - Parameter make: Reads the value when it has not come before.
    /// - Returns: The object that `make` gave, now or the last time.
    /// - Throws: What `make` throws.
    package mutating func readRepeated<Object: AnyObject>(
        _ make: (inout JSONReader) throws(JSONError) -> Object
    ) throws(JSONError) -> Object {
        skipWhitespace()
        // A number could go on behind bytes that are equal.
        guard cursor < end, cursor.pointee == ASCII.leftBrace || cursor.pointee == ASCII.leftBracket else {
            return try make(&self)
        }
        let found: (Object, count: Int)? = repeatedObjects.first(at: cursor, end: end, remainingDepth: remainingDepth)
        if let (object, count) = found {
            cursor += count
            return object
        }
        let first = cursor
        let object = try make(&self)
        repeatedObjects.insert(
            RepeatedObjects.Slot(start: first, count: cursor - first, remainingDepth: remainingDepth, object: object)
        )
        return object
    }
}

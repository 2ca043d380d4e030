/// A cache of objects that were created from the same input, found by comparing bytes.
struct RepeatedObjects {
    struct Slot {
        var start: Bytes
        var count: Int
        var remainingDepth: Int
        var object: AnyObject
    }

    private var slots: [Slot] = []
    private var oldest = 0

    /// The object that was created from bytes equal to the next ones.
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
        // Objects differ more often at their ends than at their beginnings.
        if count >= 8, (left + (count - 8)).word != (right + (count - 8)).word { return false }
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
    /// Reads a value that is likely to occur again, byte for byte, in the same input, such as the zone of a page's
    /// records.
    ///
    /// Only objects and arrays are kept.
    ///
    /// - Parameter make: Reads the value if it is not kept yet.
    /// - Returns: The object that `make` returned, now or the last time.
    /// - Throws: What `make` throws.
    package mutating func readRepeated<Object: AnyObject>(
        _ make: (inout JSONReader) throws(JSONError) -> Object
    ) throws(JSONError) -> Object {
        skipWhitespace()
        // A number can continue after bytes that are equal.
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

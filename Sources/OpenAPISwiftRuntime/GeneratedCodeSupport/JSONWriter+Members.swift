public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// These functions write an object member by member. A call writes nothing for `nil`. When two values are compared, the
// same calls collect the members instead of writing them.

extension JSONWriter {
    @inline(__always)
    private mutating func member<T: Hashable>(
        _ name: StaticString,
        _ value: T?,
        _ write: (T, inout JSONWriter) -> Void
    ) {
        if let parts {
            parts.values.append(AnyHashable(value))
            return
        }
        guard let value else {
            if notesAbsentMembers { noteAbsentMember(name) }
            return
        }
        key(name)
        write(value, &self)
    }

    /// Writes text under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, string value: String?) {
        member(name, value) { value, writer in writer.write(value) }
    }

    /// Writes `true` or `false` under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, bool value: Bool?) {
        member(name, value) { value, writer in writer.write(value) }
    }

    /// Writes a whole number under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, int value: Int?) {
        member(name, value) { value, writer in writer.write(value) }
    }

    /// Writes a whole number under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, int32 value: Int32?) {
        member(name, value) { value, writer in writer.write(value) }
    }

    /// Writes a whole number under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, int64 value: Int64?) {
        member(name, value) { value, writer in writer.write(value) }
    }

    /// Writes a number under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, double value: Double?) {
        member(name, value) { value, writer in writer.write(value) }
    }

    /// Writes a number under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, float value: Float?) {
        member(name, value) { value, writer in writer.write(value) }
    }

    /// Writes a date under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member(_ name: StaticString, date value: Date?) {
        member(name, value) { value, writer in writer.writeDate(value) }
    }

    /// Writes a value of a type that writes itself under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member<T: JSONWritable & Hashable>(_ name: StaticString, value: T?) {
        member(name, value) { value, writer in value.write(json: &writer) }
    }

    /// Writes a value with a closure under a key, unless it is `nil`.
    @_spi(Generated) public mutating func member<T: Hashable>(
        _ name: StaticString,
        value: T?,
        _ write: (T, inout JSONWriter) -> Void
    ) {
        member(name, value, write)
    }

    // MARK: Members that are not listed

    /// Opens an object that also has members that are not listed.
    @_spi(Generated) public mutating func beginOpenObject() {
        beginMerging()
    }

    /// Closes an object that ``beginOpenObject()`` opened. Its members are sorted by their keys.
    @_spi(Generated) public mutating func endOpenObject() {
        endMerging()
    }

    /// Writes members with their keys.
    @_spi(Generated) public mutating func members<T: JSONWritable & Hashable>(_ values: [String: T]) {
        members(values) { value, writer in value.write(json: &writer) }
    }

    /// Writes members with their keys, the values with a closure.
    @_spi(Generated) public mutating func members<T: Hashable>(
        _ values: [String: T],
        _ write: (T, inout JSONWriter) -> Void
    ) {
        if let parts {
            parts.values.append(AnyHashable(values))
            return
        }
        markAdditional(true)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            key(name)
            write(value, &self)
        }
        markAdditional(false)
    }

    /// Writes members with their keys.
    @_spi(Generated) public mutating func members(_ values: OpenAPIObjectContainer) {
        if let parts {
            parts.values.append(AnyHashable(values))
            return
        }
        markAdditional(true)
        values.writeMembers(json: &self)
        markAdditional(false)
    }

    // MARK: Members that are kept

    /// Opens an object whose type keeps members that it has no property for.
    @_spi(Generated) public mutating func beginObject(keeping members: JSONMembers) {
        beginObject(writingNullFor: members.nulls)
    }

    /// Writes the members that an object keeps, and closes it.
    @_spi(Generated) public mutating func endObject(keeping members: JSONMembers) {
        if let parts {
            parts.values.append(AnyHashable(members))
        } else {
            writeMembers(members)
        }
        endObject(writingNullFor: members.nulls)
    }

    // MARK: Comparison

    /// Collects members if the writer compares values instead of writing them.
    ///
    /// - Parameter values: All members that decide whether two values are equal.
    /// - Returns: `true` if the members were collected, `false` if the caller has to write the value.
    @_spi(Generated) public mutating func collects(_ values: [AnyHashable]) -> Bool {
        guard let parts else { return false }
        parts.values += values
        writeNull()
        return true
    }

    // MARK: Types of users

    /// Writes a value of a type of the user's that writes itself.
    @inlinable
    @_spi(Generated) public mutating func writeOverride<T: JSONWritable>(_ value: T) {
        value.write(json: &self)
    }

    /// Writes a value of a type of the user's that is only `Encodable`.
    @_disfavoredOverload
    @_spi(Generated) public mutating func writeOverride<T: Encodable>(_ value: T) {
        writeEncodable(value)
    }
}

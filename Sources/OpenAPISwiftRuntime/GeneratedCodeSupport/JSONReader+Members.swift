public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// These functions read an object member by member, and throw only at its end. They are most of what generated code
// calls, and a call that can throw costs the compiler several times as much as one that cannot.

extension JSONReader {
    // MARK: Objects

    /// Enters an object.
    @_spi(Generated) public mutating func beginMembers() {
        note { (reader: inout JSONReader) throws(JSONError) in try reader.beginObject() }
    }

    /// Moves to the next member: its index in a table, or `nil` at the end of the object and after an error.
    @_spi(Generated) public mutating func nextMember(in keys: JSONKeys) -> Int? {
        guard failure == nil else {
            if isAskedForKeys { keysOfType = keys }
            return nil
        }
        do throws(JSONError) {
            return try nextKey(in: keys)
        } catch {
            failure = error
            return nil
        }
    }

    /// Moves to the next member of an object whose type lists no keys.
    @_spi(Generated) public mutating func nextMember() -> Bool {
        nextMember(in: .none) != nil
    }

    /// Skips the value of a member.
    @_spi(Generated) public mutating func skipMember() {
        note { (reader: inout JSONReader) throws(JSONError) in try reader.skipValue() }
    }

    /// Fails because of a member that is not listed, in an object that allows only the listed ones.
    @_spi(Generated) public mutating func refuseMember(in type: StaticString) {
        note { (reader: inout JSONReader) throws(JSONError) in
            throw reader.unexpectedKey(try reader.lastKey(), in: type)
        }
    }

    /// Leaves an object, and throws the first error that occurred inside.
    @_spi(Generated) public mutating func endMembers() throws(JSONError) {
        guard let failure else { return }
        self.failure = nil
        throw failure
    }

    /// The error for an object without one of its required keys.
    ///
    /// - Parameters:
    ///   - keys: The required keys.
    ///   - start: The position at which the object begins.
    ///   - type: The type that is read.
    /// - Returns: An error that names the first of the keys that is missing.
    @_spi(Generated) public mutating func missingMember(
        of keys: [StaticString],
        since start: Position,
        in type: StaticString
    ) -> JSONError {
        let end = position
        rewind(to: start)
        var missing = keys.map { "\($0)" }
        do throws(JSONError) {
            try beginObject()
            while let key: String = try nextKey() {
                missing.removeAll { $0 == key }
                try skipValue()
            }
        } catch {
            return error
        }
        rewind(to: end)
        return missingKey(missing.first ?? "", in: type)
    }

    private mutating func note(_ body: (inout JSONReader) throws(JSONError) -> Void) {
        guard failure == nil else { return }
        do throws(JSONError) {
            try body(&self)
        } catch {
            failure = error
        }
    }

    // MARK: Members

    @inline(__always)
    private mutating func required<T>(
        _ value: inout T?,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) {
        do throws(JSONError) {
            value = try read(&self)
        } catch {
            failure = error
        }
    }

    @inline(__always)
    private mutating func optional<T>(
        _ value: inout T?,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) {
        do throws(JSONError) {
            value = try readNullIfPresent() ? nil : read(&self)
        } catch {
            failure = error
        }
    }

    /// Reads text.
    @_spi(Generated) public mutating func readString(required value: inout String?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> String in try reader.readString() }
    }

    /// Reads text or `null`.
    @_spi(Generated) public mutating func readString(optional value: inout String?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> String in try reader.readString() }
    }

    /// Reads `true` or `false`.
    @_spi(Generated) public mutating func readBool(required value: inout Bool?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> Bool in try reader.readBool() }
    }

    /// Reads `true` or `false` or `null`.
    @_spi(Generated) public mutating func readBool(optional value: inout Bool?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> Bool in try reader.readBool() }
    }

    /// Reads a whole number.
    @_spi(Generated) public mutating func readInt(required value: inout Int?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> Int in try reader.readInteger(Int.self) }
    }

    /// Reads a whole number or `null`.
    @_spi(Generated) public mutating func readInt(optional value: inout Int?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> Int in try reader.readInteger(Int.self) }
    }

    /// Reads a whole number.
    @_spi(Generated) public mutating func readInt32(required value: inout Int32?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> Int32 in try reader.readInteger(Int32.self) }
    }

    /// Reads a whole number or `null`.
    @_spi(Generated) public mutating func readInt32(optional value: inout Int32?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> Int32 in try reader.readInteger(Int32.self) }
    }

    /// Reads a whole number.
    @_spi(Generated) public mutating func readInt64(required value: inout Int64?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> Int64 in try reader.readInteger(Int64.self) }
    }

    /// Reads a whole number or `null`.
    @_spi(Generated) public mutating func readInt64(optional value: inout Int64?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> Int64 in try reader.readInteger(Int64.self) }
    }

    /// Reads a number.
    @_spi(Generated) public mutating func readDouble(required value: inout Double?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> Double in try reader.readDouble() }
    }

    /// Reads a number or `null`.
    @_spi(Generated) public mutating func readDouble(optional value: inout Double?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> Double in try reader.readDouble() }
    }

    /// Reads a number.
    @_spi(Generated) public mutating func readFloat(required value: inout Float?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> Float in try reader.readFloat() }
    }

    /// Reads a number or `null`.
    @_spi(Generated) public mutating func readFloat(optional value: inout Float?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> Float in try reader.readFloat() }
    }

    /// Reads a date.
    @_spi(Generated) public mutating func readDate(required value: inout Date?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> Date in try reader.readDate() }
    }

    /// Reads a date or `null`.
    @_spi(Generated) public mutating func readDate(optional value: inout Date?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> Date in try reader.readDate() }
    }

    /// Reads a value of a type that reads itself.
    @_spi(Generated) public mutating func readMember<T: JSONReadable>(required value: inout T?) {
        required(&value) { (reader: inout JSONReader) throws(JSONError) -> T in try T(json: &reader) }
    }

    /// Reads a value of a type that reads itself, or `null`.
    @_spi(Generated) public mutating func readMember<T: JSONReadable>(optional value: inout T?) {
        optional(&value) { (reader: inout JSONReader) throws(JSONError) -> T in try T(json: &reader) }
    }

    /// Reads a value with a closure.
    @_spi(Generated) public mutating func readMember<T>(
        required value: inout T?,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) {
        required(&value, read)
    }

    /// Reads a value with a closure, or `null`.
    @_spi(Generated) public mutating func readMember<T>(
        optional value: inout T?,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) {
        optional(&value, read)
    }

    // MARK: Members that are not listed

    /// Reads a member under its key.
    @_spi(Generated) public mutating func readMember<T: JSONReadable>(into values: inout [String: T]) {
        readMember(into: &values) { (reader: inout JSONReader) throws(JSONError) -> T in try T(json: &reader) }
    }

    /// Reads a member under its key with a closure.
    @_spi(Generated) public mutating func readMember<T>(
        into values: inout [String: T],
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) {
        do throws(JSONError) {
            let key = try lastKey()
            values.updateValue(try read(&self), forKey: key)
        } catch {
            failure = error
        }
    }

    /// Reads a member under its key.
    @_spi(Generated) public mutating func readMember(into values: inout OpenAPIObjectContainer) {
        do throws(JSONError) {
            let key = try lastKey()
            values.value.updateValue(try read(OpenAPIValueContainer.self).value, forKey: key)
        } catch {
            failure = error
        }
    }

    // MARK: Types of users

    /// Reads a value of a type of the user's that reads itself.
    @inlinable
    @_spi(Generated) public mutating func readOverride<T: JSONReadable>(_ type: T.Type = T.self) throws(JSONError) -> T
    {
        try T(json: &self)
    }

    /// Reads a value of a type of the user's that is only `Decodable`.
    @_disfavoredOverload
    @_spi(Generated) public mutating func readOverride<T: Decodable>(_ type: T.Type = T.self) throws(JSONError) -> T {
        try readDecodable(T.self)
    }
}

extension JSONKeys {
    fileprivate static let none = JSONKeys()
}

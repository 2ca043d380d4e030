/// Reads JSON from bytes, value by value, straight into Swift values.
///
/// A reader moves through one buffer of UTF-8 and builds no intermediate values. The type that is read controls it: it
/// asks for the value that it expects, and the reader returns the value or throws a ``JSONError`` with the offset.
///
/// ```swift
/// let names = try JSONReader.withReader(over: bytes.span) { reader throws(JSONError) in
///     var names: [String] = []
///     try reader.beginArray()
///     while try reader.nextElement() {
///         names.append(try reader.readString())
///     }
///     return names
/// }
/// ```
///
/// Everything that RFC 8259 demands is checked, also in values that are skipped: grammar, escapes, well-formed UTF-8. A
/// byte order mark at the beginning is skipped. If an object has a key twice, the reader delivers both values in order;
/// every readable type of this module keeps the last one.
///
/// ## Topics
/// ### Reading whole inputs
/// - ``read(_:from:options:)-(_,[UInt8],_)``
/// - ``withReader(over:options:_:)``
/// - ``Options``
/// ### Single values
/// - ``peekKind()``
/// - ``readString()``
/// - ``readInteger(_:)``
/// - ``readDouble()``
/// - ``readBool()``
/// - ``readNullIfPresent()``
/// - ``read(_:)``
/// ### Objects and arrays
/// - ``beginObject()``
/// - ``nextKey(in:)``
/// - ``nextKey()``
/// - ``beginArray()``
/// - ``nextElement()``
/// ### Values to look at later
/// - ``skipValue()``
/// - ``readRawValue()``
/// - ``position``
/// - ``rewind(to:)``
public struct JSONReader: ~Copyable {
    /// What a reader accepts.
    public struct Options: Sendable {
        /// How deep arrays and objects may be nested; 512 by default.
        ///
        /// Types that contain themselves, such as ``JSONValue``, use the stack for each level: raise the limit with
        /// care.
        public var maximumDepth: Int

        /// A value for the types that are read, such as the format of dates. A type that knows the value's class gets
        /// it from ``JSONReader/userInfo``.
        public var userInfo: (any AnyObject & Sendable)?

        /// Creates options.
        ///
        /// - Parameters:
        ///   - maximumDepth: How deep arrays and objects may be nested.
        ///   - userInfo: A value for the types that are read.
        public init(maximumDepth: Int = 512, userInfo: (any AnyObject & Sendable)? = nil) {
            self.maximumDepth = maximumDepth
            self.userInfo = userInfo
        }
    }

    /// The kinds of JSON values.
    public enum Kind: Hashable, Sendable {
        /// `{…}`
        case object
        /// `[…]`
        case array
        /// `"…"`
        case string
        /// A number, whole or not.
        case number
        /// `true` or `false`
        case bool
        /// `null`
        case null
    }

    /// A position between two values, to which the reader can return.
    public struct Position: Hashable, Sendable {
        /// The number of bytes of the input before this position.
        public let offset: Int
        @usableFromInline let remainingDepth: Int
        @usableFromInline let isAtStart: Bool
        @usableFromInline let expectedKeys: UInt64

        @inlinable
        init(offset: Int, remainingDepth: Int, isAtStart: Bool, expectedKeys: UInt64) {
            self.offset = offset
            self.remainingDepth = remainingDepth
            self.isAtStart = isAtStart
            self.expectedKeys = expectedKeys
        }
    }

    @usableFromInline let start: Bytes
    @usableFromInline let end: Bytes
    /// The next byte to read, always in `start...end`.
    @usableFromInline var cursor: Bytes
    /// The number of levels that may still be opened.
    @usableFromInline var remainingDepth: Int
    /// Whether an array or object has just been opened, so that no comma is expected.
    @usableFromInline var isAtStart = false
    /// The bytes of the last key between its quotes.
    var keyStart: Bytes
    var keyCount = -1

    /// For each of the innermost eight containers, the index in its table of keys at which the next key is expected.
    /// Each index is one byte, the innermost lowest. The index is only a guess: most keys are in the order of the
    /// table.
    @usableFromInline var expectedKeys: UInt64 = 0
    /// Whether the last key of ``nextKey()`` had escapes.
    private var keyHasEscapes = false
    /// A likely number of elements of the next array, with which types that read arrays reserve memory.
    package var countHint = 0
    /// Objects that are likely to occur again.
    var repeatedObjects = RepeatedObjects()
    /// Strings that are likely to occur again; created at the first use.
    var repeatedStrings: RepeatedStrings?

    /// The compositions under way whose members can lead back to them, with the offsets where they begin.
    package var recursiveCompositions: [(type: ObjectIdentifier, offset: Int)] = []

    /// The first error of functions that keep their errors until the end of the object.
    package var failure: JSONError?
    /// Whether ``keys(of:)`` created the reader. A type that reads an object then puts its table into ``keysOfType``.
    package private(set) var isAskedForKeys = false
    /// The table of keys with which a type reads itself.
    package var keysOfType: JSONKeys?

    private let options: Options

    /// The value of ``Options/userInfo``, for the types that are read.
    public var userInfo: (any AnyObject & Sendable)? { options.userInfo }

    private init(start: Bytes, count: Int, options: Options) {
        self.start = start
        self.end = start + count
        self.cursor = start
        self.keyStart = start
        self.remainingDepth = options.maximumDepth
        self.options = options
        if count >= 3, start[0] == 0xEF, start[1] == 0xBB, start[2] == 0xBF {
            cursor += 3
        }
    }

    // MARK: Whole inputs

    /// Runs a closure with a reader over bytes, which must be one JSON value.
    ///
    /// - Parameters:
    ///   - bytes: The whole input.
    ///   - options: What the reader accepts.
    ///   - body: Reads exactly one value.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, completed with offset and path, and ``JSONError/Code/trailingData`` if there is
    ///   more input when `body` returns.
    public static func withReader<R>(
        over bytes: Span<UInt8>,
        options: Options = Options(),
        _ body: (inout JSONReader) throws(JSONError) -> R
    ) throws(JSONError) -> R {
        try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) -> R in
            try withReader(over: buffer, options: options, body)
        }
    }

    static func withReader<R>(
        over buffer: UnsafeBufferPointer<UInt8>,
        options: Options,
        _ body: (inout JSONReader) throws(JSONError) -> R
    ) throws(JSONError) -> R {
        let nothing: StaticString = ""
        var reader = JSONReader(
            start: buffer.baseAddress ?? nothing.utf8Start,
            count: buffer.count,
            options: options
        )
        do throws(JSONError) {
            let result = try body(&reader)
            reader.skipWhitespace()
            if reader.cursor != reader.end {
                throw reader.error(.trailingData, "unexpected data after the end of the value")
            }
            return result
        } catch {
            throw reader.locate(error)
        }
    }

    /// Reads a value from bytes.
    ///
    /// - Parameters:
    ///   - type: What to read.
    ///   - bytes: The whole input.
    ///   - options: What the reader accepts.
    /// - Returns: The value.
    /// - Throws: A ``JSONError`` when the input is not exactly one JSON value that the type can be read from.
    public static func read<T: JSONReadable>(
        _ type: T.Type = T.self,
        from bytes: Span<UInt8>,
        options: Options = Options()
    ) throws(JSONError) -> T {
        try withReader(over: bytes, options: options) { (reader) throws(JSONError) -> T in try T(json: &reader) }
    }

    /// Reads a value from an array of bytes.
    ///
    /// - Parameters:
    ///   - type: What to read.
    ///   - bytes: The whole input.
    ///   - options: What the reader accepts.
    /// - Returns: The value.
    /// - Throws: A ``JSONError`` when the input is not exactly one JSON value that the type can be read from.
    public static func read<T: JSONReadable>(
        _ type: T.Type = T.self,
        from bytes: [UInt8],
        options: Options = Options()
    ) throws(JSONError) -> T {
        try read(type, from: bytes.span, options: options)
    }

    /// Reads a value from a part of an array of bytes.
    ///
    /// Offsets of errors count from the beginning of the slice.
    ///
    /// - Parameters:
    ///   - type: What to read.
    ///   - bytes: The whole input.
    ///   - options: What the reader accepts.
    /// - Returns: The value.
    /// - Throws: A ``JSONError`` when the input is not exactly one JSON value that the type can be read from.
    public static func read<T: JSONReadable>(
        _ type: T.Type = T.self,
        from bytes: ArraySlice<UInt8>,
        options: Options = Options()
    ) throws(JSONError) -> T {
        try read(type, from: bytes.span, options: options)
    }

    /// Reads a value from a string.
    ///
    /// Offsets of errors count bytes of UTF-8.
    ///
    /// - Parameters:
    ///   - type: What to read.
    ///   - text: The whole input.
    ///   - options: What the reader accepts.
    /// - Returns: The value.
    /// - Throws: A ``JSONError`` when the input is not exactly one JSON value that the type can be read from.
    public static func read<T: JSONReadable>(
        _ type: T.Type = T.self,
        from text: String,
        options: Options = Options()
    ) throws(JSONError) -> T {
        try read(type, from: Array(text.utf8), options: options)
    }

    /// The keys of the object that a type reads itself from, if it reads itself with the functions that keep their
    /// errors.
    ///
    /// The type gets an empty input, so it fails at once. Before that, it has passed its table of keys to the reader.
    /// So types do not need another requirement that names the table.
    package static func keys<T: JSONReadable>(of type: T.Type) -> JSONKeys? {
        let nothing: StaticString = ""
        var reader = JSONReader(start: nothing.utf8Start, count: 0, options: Options())
        reader.isAskedForKeys = true
        _ = try? T(json: &reader)
        return reader.keysOfType
    }

    // MARK: Single values

    /// Returns the kind of the next value without reading it.
    ///
    /// Only the first byte is checked: reading the value may still fail.
    ///
    /// - Returns: The kind of the next value.
    /// - Throws: ``JSONError`` if no value begins here.
    public mutating func peekKind() throws(JSONError) -> Kind {
        skipWhitespace()
        guard cursor < end else { throw valueExpected() }
        switch cursor.pointee {
        case ASCII.quote: return .string
        case ASCII.leftBrace: return .object
        case ASCII.leftBracket: return .array
        case ASCII.minus, ASCII.zero...ASCII.nine: return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: throw valueExpected()
        }
    }

    /// Reads `true` or `false`.
    ///
    /// - Returns: The value.
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other kind.
    public mutating func readBool() throws(JSONError) -> Bool {
        skipWhitespace()
        guard cursor < end else { throw valueExpected() }
        switch cursor.pointee {
        case UInt8(ascii: "t"):
            try skipLiteral("true")
            return true
        case UInt8(ascii: "f"):
            try skipLiteral("false")
            return false
        default:
            throw mismatch("true or false")
        }
    }

    /// Reads `null`.
    ///
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other value.
    public mutating func readNull() throws(JSONError) {
        guard try readNullIfPresent() else { throw mismatch("null") }
    }

    /// Skips the next value if it is `null`.
    ///
    /// - Returns: Whether the value was `null`. Any other value is not skipped.
    @inlinable
    public mutating func readNullIfPresent() throws(JSONError) -> Bool {
        // The common case: a value that is not null, without white space before it.
        if cursor < end, cursor.pointee > UInt8(ascii: " "), cursor.pointee != UInt8(ascii: "n") { return false }
        return try readNullBehindWhitespace()
    }

    @usableFromInline
    mutating func readNullBehindWhitespace() throws(JSONError) -> Bool {
        skipWhitespace()
        guard cursor < end, cursor.pointee == UInt8(ascii: "n") else { return false }
        try skipLiteral("null")
        return true
    }

    /// Reads a value of a readable type.
    ///
    /// - Parameter type: The type of the value.
    /// - Returns: The value.
    /// - Throws: ``JSONError`` as the type's own ``JSONReadable/init(json:)`` does.
    @inlinable
    public mutating func read<T: JSONReadable>(_ type: T.Type = T.self) throws(JSONError) -> T {
        try T(json: &self)
    }

    // MARK: Objects

    /// Enters an object; ``nextKey(in:)`` then moves through its keys.
    ///
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other value, and ``JSONError/Code/depthLimitExceeded`` at too
    ///   many levels.
    public mutating func beginObject() throws(JSONError) {
        try begin(ASCII.leftBrace, "an object")
    }

    /// Moves to the next key of an object and returns its index in a table.
    ///
    /// After a key its value must be read or skipped. The keys are compared as bytes; a key that is written with
    /// escapes is still the same key.
    ///
    /// - Parameter keys: The table.
    /// - Returns: The index of the key in the table, ``JSONKeys/unknown`` for a key that is not in the table
    ///   (``lastKey()`` returns its text), or `nil` at the end of the object.
    /// - Throws: ``JSONError/Code/malformed`` or ``JSONError/Code/unexpectedEnd`` if neither a key nor the end of the
    ///   object follows.
    public mutating func nextKey(in keys: JSONKeys) throws(JSONError) -> Int? {
        let expected = Int(truncatingIfNeeded: expectedKeys & 0xFF)
        let entry = keys.table.entries + expected
        // Without white space, everything from the comma to the colon can be compared at once.
        if expected < keys.table.count {
            let key = cursor + (isAtStart ? 1 : 2)
            if end - key >= entry.pointee.memberReach, key[-1] == ASCII.quote,
                isAtStart || cursor.pointee == ASCII.comma, entry.pointee.isMember(at: key)
            {
                keyStart = key
                keyCount = entry.pointee.count
                cursor = key + (entry.pointee.count &+ 2)
                isAtStart = false
                expectedKeys &+= 1
                return expected
            }
        }
        if cursor < end, cursor.pointee == ASCII.rightBrace {
            close()
            return nil
        }
        return try nextKey(behindWhitespaceIn: keys, expected: expected)
    }

    /// Continues if there is white space between the tokens, or if the key is not the expected one.
    @inline(never)
    private mutating func nextKey(behindWhitespaceIn keys: JSONKeys, expected: Int) throws(JSONError) -> Int? {
        let entry = keys.table.entries + expected
        guard try advanceToKey() else { return nil }
        if expected < keys.table.count {
            if entry.pointee.isSpelled(at: cursor + 1, limit: end) {
                keyStart = cursor + 1
                keyCount = entry.pointee.count
                cursor += entry.pointee.count &+ 2
                expectedKeys &+= 1
                try skipColon()
                return expected
            }
        }
        return try nextKey(amongAll: keys)
    }

    /// Finds a key that is not the expected one.
    @inline(never)
    private mutating func nextKey(amongAll keys: JSONKeys) throws(JSONError) -> Int {
        let text = try scanString()
        keyStart = text.start
        keyCount = text.count
        let index =
            text.hasEscapes
            ? unescapedIndex(of: text, in: keys)
            : keys.index(of: text.start, count: text.count, limit: end)
        if index >= 0 {
            expectedKeys = expectedKeys & ~0xFF | UInt64(truncatingIfNeeded: (index &+ 1) & 0xFF)
        }
        try skipColon()
        return index
    }

    /// Moves to the next key of an object.
    ///
    /// After a key its value must be read or skipped.
    ///
    /// - Returns: The key, or `nil` at the end of the object.
    /// - Throws: ``JSONError/Code/malformed`` or ``JSONError/Code/unexpectedEnd`` if neither a key nor the end of the
    ///   object follows.
    public mutating func nextKey() throws(JSONError) -> String? {
        guard try advanceToKey() else { return nil }
        let text = try scanString()
        keyStart = text.start
        keyCount = text.count
        keyHasEscapes = text.hasEscapes
        let key = repeatedString(of: text)
        try skipColon()
        return key
    }

    /// A hash, from 0 to 63, of the key that ``nextKey()`` returned last. `nil` if the key had escapes.
    package var lastKeyDigest: Int? {
        guard keyCount >= 0, !keyHasEscapes else { return nil }
        let (first, last) = JSONKeys.ends(of: keyStart, count: keyCount, limit: end)
        return JSONKeys.hash(first, last, keyCount) & 63
    }

    /// The text of the key that was read last, at any level.
    ///
    /// - Returns: The key.
    /// - Throws: ``JSONError/Code/missingKey`` if no key has been read yet.
    public mutating func lastKey() throws(JSONError) -> String {
        guard keyCount >= 0 else { throw error(.missingKey, "no key has been read yet") }
        let here = cursor
        defer { cursor = here }
        cursor = keyStart - 1
        return try readString()
    }

    // MARK: Arrays

    /// Enters an array; ``nextElement()`` then moves through its elements.
    ///
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other value, and ``JSONError/Code/depthLimitExceeded`` at too
    ///   many levels.
    public mutating func beginArray() throws(JSONError) {
        try begin(ASCII.leftBracket, "an array")
    }

    /// Moves to the next element of an array, which then must be read or skipped.
    ///
    /// - Returns: `false` at the end of the array.
    /// - Throws: ``JSONError/Code/malformed`` or ``JSONError/Code/unexpectedEnd`` if neither an element nor the end of
    ///   the array follows.
    public mutating func nextElement() throws(JSONError) -> Bool {
        // Without white space, the next byte decides, or the next two bytes if the first is a comma.
        if end - cursor > 1 {
            if isAtStart {
                if cursor.pointee > ASCII.space, cursor.pointee != ASCII.rightBracket {
                    isAtStart = false
                    return true
                }
            } else if cursor.pointee == ASCII.comma, cursor[1] > ASCII.space, cursor[1] != ASCII.rightBracket {
                cursor += 1
                return true
            }
        }
        return try nextElementBehindWhitespace()
    }

    @inline(never)
    private mutating func nextElementBehindWhitespace() throws(JSONError) -> Bool {
        skipWhitespace()
        guard cursor < end else { throw unexpectedEnd("an array") }
        let byte = cursor.pointee
        if byte == ASCII.rightBracket {
            close()
            return false
        }
        if isAtStart {
            isAtStart = false
            return true
        }
        guard byte == ASCII.comma else { throw error(.malformed, "expected ',' or ']' after an element of an array") }
        cursor += 1
        skipWhitespace()
        if cursor < end, cursor.pointee == ASCII.rightBracket {
            throw error(.malformed, "expected an element after ',', found ']'")
        }
        return true
    }

    // MARK: Values to look at later

    /// Skips the next value, of any kind.
    ///
    /// The value is checked as if it were read, but nothing is built. Duplicate keys are allowed.
    ///
    /// - Throws: A ``JSONError`` if the value breaks the grammar of JSON.
    public mutating func skipValue() throws(JSONError) {
        skipWhitespace()
        guard cursor < end else { throw valueExpected() }
        if cursor.pointee == ASCII.quote {
            _ = try scanString()
        } else if isNumber(cursor.pointee) {
            _ = try scanNumber()
        } else {
            try skipContainerOrLiteral()
        }
    }

    private mutating func skipContainerOrLiteral() throws(JSONError) {
        var containers = ContainerStack()
        while true {
            // A value must begin here.
            skipWhitespace()
            guard cursor < end else { throw valueExpected() }
            let byte = cursor.pointee
            switch byte {
            case ASCII.quote:
                _ = try scanString()
            case ASCII.leftBrace, ASCII.leftBracket:
                let isObject = byte == ASCII.leftBrace
                guard containers.count < remainingDepth else { throw depthLimitExceeded() }
                cursor += 1
                skipWhitespace()
                if cursor < end, cursor.pointee == (isObject ? ASCII.rightBrace : ASCII.rightBracket) {
                    cursor += 1
                } else {
                    containers.push(isObject)
                    if isObject {
                        try skipKey()
                    }
                    continue
                }
            case ASCII.minus, ASCII.zero...ASCII.nine:
                _ = try scanNumber()
            case UInt8(ascii: "t"): try skipLiteral("true")
            case UInt8(ascii: "f"): try skipLiteral("false")
            case UInt8(ascii: "n"): try skipLiteral("null")
            default: throw valueExpected()
            }
            // A value has ended: close the containers that end with it, then continue with the next element or key.
            while true {
                guard containers.count > 0 else { return }
                skipWhitespace()
                let isObject = containers.top
                guard cursor < end else { throw unexpectedEnd(isObject ? "an object" : "an array") }
                let byte = cursor.pointee
                if byte == ASCII.comma {
                    cursor += 1
                    if isObject {
                        skipWhitespace()
                        try skipKey()
                    }
                    break
                }
                guard byte == (isObject ? ASCII.rightBrace : ASCII.rightBracket) else {
                    throw error(
                        .malformed,
                        isObject
                            ? "expected ',' or '}' after a value of an object"
                            : "expected ',' or ']' after an element of an array"
                    )
                }
                cursor += 1
                containers.pop()
            }
        }
    }

    /// Reads the next value as its bytes.
    ///
    /// - Returns: The value, checked and unchanged.
    /// - Throws: A ``JSONError`` if the value breaks the grammar of JSON.
    public mutating func readRawValue() throws(JSONError) -> JSONRawValue {
        skipWhitespace()
        let first = cursor
        try skipValue()
        return JSONRawValue(unchecked: Array(UnsafeBufferPointer(start: first, count: cursor - first)))
    }

    /// The current position, before a value that may be skipped now and read later.
    ///
    /// ```swift
    /// let start = reader.position
    /// try reader.skipValue()
    /// // … read on, learn what the value is, then:
    /// let here = reader.position
    /// reader.rewind(to: start)
    /// value = try reader.readDouble()
    /// reader.rewind(to: here)
    /// ```
    @inlinable
    public var position: Position {
        Position(
            offset: cursor - start,
            remainingDepth: remainingDepth,
            isAtStart: isAtStart,
            expectedKeys: expectedKeys
        )
    }

    /// Moves to a position of this reader, backwards or forwards.
    ///
    /// - Parameter position: A ``position`` of this reader. A position of another reader leads to a meaningless
    ///   position, but never outside of the input.
    public mutating func rewind(to position: Position) {
        cursor = start + min(max(position.offset, 0), end - start)
        remainingDepth = min(position.remainingDepth, options.maximumDepth)
        isAtStart = position.isAtStart
        expectedKeys = position.expectedKeys
    }

    // MARK: Errors

    /// Creates an error at the current position.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A description for people.
    /// - Returns: The error. Its path is added when it leaves the function that was given the input.
    @inline(never)
    public func error(_ code: JSONError.Code, _ message: String) -> JSONError {
        JSONError(code: code, message: message, offset: cursor - start)
    }

    /// Adds the offset and the path to an error that does not have them.
    private func locate(_ error: JSONError) -> JSONError {
        guard error.path == nil else { return error }
        let offset = min(max(error.offset ?? cursor - start, 0), end - start)
        return JSONError(
            code: error.code,
            message: error.message,
            offset: offset,
            path: path(in: UnsafeBufferPointer(start: start, count: end - start), to: offset)
        )
    }

    @inline(never)
    func mismatch(_ expected: String) -> JSONError {
        guard cursor < end else { return error(.unexpectedEnd, "expected \(expected), found the end of the input") }
        let found: String
        switch cursor.pointee {
        case ASCII.quote: found = "a string"
        case ASCII.leftBrace: found = "an object"
        case ASCII.leftBracket: found = "an array"
        case ASCII.minus, ASCII.zero...ASCII.nine: found = "a number"
        case UInt8(ascii: "t"): found = "true"
        case UInt8(ascii: "f"): found = "false"
        case UInt8(ascii: "n"): found = "null"
        default: return error(.malformed, "expected \(expected), found \(foundByte)")
        }
        return error(.typeMismatch, "expected \(expected), found \(found)")
    }

    @inline(never)
    func valueExpected() -> JSONError {
        guard cursor < end else { return error(.unexpectedEnd, "expected a value, found the end of the input") }
        return error(.malformed, "expected a value, found \(foundByte)")
    }

    @inline(never)
    func unexpectedEnd(_ container: String) -> JSONError {
        error(.unexpectedEnd, "the input ends inside of \(container)")
    }

    @inline(never)
    private func depthLimitExceeded() -> JSONError {
        error(.depthLimitExceeded, "more than \(options.maximumDepth) levels of arrays and objects")
    }

    private var foundByte: String {
        let byte = cursor.pointee
        guard byte > 0x20, byte < 0x7F else { return "the byte 0x" + String(byte, radix: 16, uppercase: true) }
        return "'\(Character(UnicodeScalar(byte)))'"
    }

    // MARK: Structure

    /// Skips spaces, line ends and tabs.
    @inline(__always)
    mutating func skipWhitespace() {
        guard cursor < end, cursor.pointee <= ASCII.space else { return }
        if cursor.pointee == ASCII.space, end - cursor > 1, cursor[1] > ASCII.space {
            cursor += 1
            return
        }
        skipLongWhitespace()
    }

    /// Skips the white space of indented text: a line end, then many spaces. The first byte must be a space or a
    /// control character.
    private mutating func skipLongWhitespace() {
        var cursor = self.cursor
        let end = self.end
        if cursor.pointee == ASCII.newline {
            cursor += 1
        }
        while end - cursor >= 8 {
            let differences = cursor.word ^ 0x2020_2020_2020_2020
            if differences == 0 {
                cursor += 8
                continue
            }
            cursor += differences.trailingZeroBitCount &>> 3
            let byte = cursor.pointee
            guard byte == ASCII.newline || byte == ASCII.carriageReturn || byte == ASCII.tab else {
                self.cursor = cursor
                return
            }
            cursor += 1
        }
        while cursor < end {
            let byte = cursor.pointee
            guard byte == ASCII.space || byte == ASCII.newline || byte == ASCII.carriageReturn || byte == ASCII.tab
            else { break }
            cursor += 1
        }
        self.cursor = cursor
    }

    @inline(__always)
    private mutating func begin(_ opening: UInt8, _ kind: String) throws(JSONError) {
        if cursor >= end || cursor.pointee != opening || remainingDepth <= 0 {
            try findOpening(opening, kind)
        }
        cursor += 1
        remainingDepth &-= 1
        expectedKeys &<<= 8
        isAtStart = true
    }

    /// Moves to an opening bracket after white space.
    @inline(never)
    private mutating func findOpening(_ opening: UInt8, _ kind: String) throws(JSONError) {
        skipWhitespace()
        guard cursor < end, cursor.pointee == opening else { throw mismatch(kind) }
        guard remainingDepth > 0 else { throw depthLimitExceeded() }
    }

    /// Skips a closing bracket.
    @inline(__always)
    mutating func close() {
        cursor += 1
        remainingDepth &+= 1
        expectedKeys &>>= 8
        isAtStart = false
    }

    /// Moves to the quote of the next key. Returns `false` at the end of the object.
    @inline(__always)
    private mutating func advanceToKey() throws(JSONError) -> Bool {
        skipWhitespace()
        guard cursor < end else { throw unexpectedEnd("an object") }
        let byte = cursor.pointee
        if byte == ASCII.rightBrace {
            close()
            return false
        }
        if isAtStart {
            isAtStart = false
        } else {
            guard byte == ASCII.comma else { throw error(.malformed, "expected ',' or '}' after a value of an object") }
            cursor += 1
            skipWhitespace()
        }
        guard cursor < end, cursor.pointee == ASCII.quote else { throw keyExpected() }
        return true
    }

    @inline(never)
    private func keyExpected() -> JSONError {
        guard cursor < end else { return unexpectedEnd("an object") }
        return error(.malformed, "expected a key in quotes, found \(foundByte)")
    }

    @inline(__always)
    private mutating func skipColon() throws(JSONError) {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.colon else {
            throw cursor < end ? error(.malformed, "expected ':' after a key") : unexpectedEnd("an object")
        }
        cursor += 1
    }

    /// Skips a key and its colon.
    @inline(__always)
    private mutating func skipKey() throws(JSONError) {
        guard cursor < end, cursor.pointee == ASCII.quote else { throw keyExpected() }
        _ = try scanString()
        try skipColon()
    }

    @inline(__always)
    private mutating func skipLiteral(_ literal: StaticString) throws(JSONError) {
        let count = literal.utf8CodeUnitCount
        for index in 0..<count {
            guard cursor + index < end else {
                throw error(.unexpectedEnd, "the input ends inside of '\(literal)'")
            }
            guard cursor[index] == literal.utf8Start[index] else {
                throw error(.malformed, "expected a value; this begins like '\(literal)' but is not")
            }
        }
        cursor += count
    }
}

/// For each open container, whether it is an object, innermost last. Up to 64 levels need no allocation.
private struct ContainerStack {
    private(set) var count = 0
    private var bits: UInt64 = 0
    private var older: [UInt64] = []

    /// Whether the innermost container is an object.
    @inline(__always)
    var top: Bool { bits & 1 != 0 }

    @inline(__always)
    mutating func push(_ isObject: Bool) {
        if count & 63 == 0, count > 0 {
            older.append(bits)
        }
        bits = bits &<< 1 | (isObject ? 1 : 0)
        count &+= 1
    }

    @inline(__always)
    mutating func pop() {
        count &-= 1
        bits &>>= 1
        if count & 63 == 0, count > 0 {
            bits = older.removeLast()
        }
    }
}

/// Describes the position of a byte as the keys and indices that lead to it.
///
/// The brackets and strings before `offset` are well-formed, because they have been read before.
private func path(in bytes: UnsafeBufferPointer<UInt8>, to offset: Int) -> String {
    struct Container {
        var isObject: Bool
        var key: Range<Int>?
        var index = 0
    }
    var containers: [Container] = []
    var expectsKey = false
    var cursor = 0
    while cursor < offset {
        let byte = bytes[cursor]
        cursor += 1
        switch byte {
        case ASCII.leftBrace, ASCII.leftBracket:
            containers.append(Container(isObject: byte == ASCII.leftBrace))
            expectsKey = byte == ASCII.leftBrace
        case ASCII.rightBrace, ASCII.rightBracket:
            _ = containers.popLast()
            expectsKey = false
        case ASCII.comma:
            guard let last = containers.indices.last else { break }
            if containers[last].isObject {
                containers[last].key = nil
                expectsKey = true
            } else {
                containers[last].index += 1
            }
        case ASCII.quote:
            let first = cursor
            while cursor < offset, bytes[cursor] != ASCII.quote {
                cursor += bytes[cursor] == ASCII.backslash ? 2 : 1
            }
            if expectsKey, cursor < offset, let last = containers.indices.last {
                containers[last].key = first..<cursor
                expectsKey = false
            }
            cursor += 1
        default:
            break
        }
    }
    return containers.reduce(into: "$") { path, container in
        guard container.isObject else {
            path += "[\(container.index)]"
            return
        }
        guard let key = container.key else { return }
        let name = String(decoding: UnsafeBufferPointer(rebasing: bytes[key]), as: UTF8.self)
        let isPlain =
            !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte >= 0x80 || byte == UInt8(ascii: "_") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
            }
        path += isPlain ? ".\(name)" : "[\"\(name)\"]"
    }
}

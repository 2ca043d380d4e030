/// Writes JSON into bytes, value by value, straight from Swift values.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.key("name")
/// writer.write("Mist")
/// writer.key("sizes")
/// writer.write([1, 2.5])
/// writer.endObject()
/// let bytes = try writer.finish()
/// // {"name":"Mist","sizes":[1.0,2.5]}
/// ```
///
/// Writing does not throw: the writer keeps the first error, and ``finish()`` throws it.
///
/// ## Topics
/// ### Whole outputs
/// - ``bytes(of:options:userInfo:)``
/// - ``init(options:capacity:userInfo:)``
/// - ``finish()``
/// - ``Options``
/// ### Objects and arrays
/// - ``beginObject()``
/// - ``key(_:)-(StaticString)``
/// - ``endObject()``
/// - ``beginArray()``
/// - ``endArray()``
/// ### Values that need more than a write
/// - ``writeNull()``
/// - ``writeRaw(_:)``
/// - ``writeEncodable(_:)``
/// - ``fail(_:)``
public struct JSONWriter: ~Copyable {
    /// How JSON is spelled. By default it is compact, and slashes are not escaped.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The options as bits.
        public let rawValue: UInt8

        /// Creates options from bits.
        ///
        /// - Parameter rawValue: The options as bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// One line for each key and element, indented by two spaces, with ` : ` after keys.
        public static let prettyPrinted = Options(rawValue: 1 << 0)
        /// The keys of dictionaries in the order of their Unicode scalars, so that equal values have equal bytes.
        public static let sortedKeys = Options(rawValue: 1 << 1)
        /// `\/` instead of `/`, which is the default of Foundation's encoder.
        public static let escapingSlashes = Options(rawValue: 1 << 2)
        /// `1` instead of `1.0` for doubles that are whole.
        public static let wholeDoublesWithoutFraction = Options(rawValue: 1 << 3)
        /// An empty line between the brackets of an empty array or object, as Foundation's encoder writes when it
        /// pretty-prints. It has an effect with ``prettyPrinted``.
        public static let emptyLinesInEmptyContainers = Options(rawValue: 1 << 4)
    }

    private enum State {
        /// The beginning, or directly after an opening bracket.
        case start
        /// A value has been written.
        case afterValue
        /// A key has been written, whose value must follow.
        case afterKey
    }

    /// How JSON is spelled.
    public let options: Options

    /// A value for the types that are written, such as the format of dates; `nil` if there is none.
    public let userInfo: (any AnyObject & Sendable)?

    private var buffer: Buffer
    private var state = State.start
    private var depth = 0
    private var error: JSONError?
    /// Objects that are written as one, the innermost last.
    private var merges: [Merge] = []
    private var isMerging = false
    /// Open objects with the keys that are written as `null` if their member is absent, the innermost last.
    private var nullKeys: [(depth: Int, keys: [String])] = []
    /// Collects the values that are written, for types that are compared by these values.
    package var parts: JSONParts?

    /// Creates an empty writer.
    ///
    /// - Parameters:
    ///   - options: How JSON is spelled.
    ///   - capacity: The number of bytes to reserve at first.
    ///   - userInfo: A value for the types that are written.
    public init(options: Options = [], capacity: Int = 256, userInfo: (any AnyObject & Sendable)? = nil) {
        self.options = options
        self.userInfo = userInfo
        buffer = Buffer(capacity: max(capacity, 16))
    }

    /// The bytes of a value.
    ///
    /// - Parameters:
    ///   - value: The value to write.
    ///   - options: How JSON is spelled.
    ///   - userInfo: A value for the types that are written.
    /// - Returns: One JSON value in UTF-8.
    /// - Throws: The writer's error when the value, or a part of it, has no form in JSON.
    public static func bytes<T: JSONWritable>(
        of value: T,
        options: Options = [],
        userInfo: (any AnyObject & Sendable)? = nil
    ) throws(JSONError) -> [UInt8] {
        var writer = JSONWriter(options: options, userInfo: userInfo)
        value.write(json: &writer)
        return try writer.finish()
    }

    /// Ends writing.
    ///
    /// - Returns: One JSON value in UTF-8.
    /// - Throws: The first error that occurred, or ``JSONError/Code/invalidValue`` if the output is not one whole
    ///   value.
    public consuming func finish() throws(JSONError) -> [UInt8] {
        if let error {
            throw error
        }
        guard depth == 0, state == .afterValue else {
            throw JSONError(code: .invalidValue, message: "the writer was finished before the value was whole")
        }
        return buffer.array()
    }

    /// Makes ``finish()`` throw an error, unless it is going to throw an earlier one.
    ///
    /// - Parameter error: Why a value cannot be written.
    public mutating func fail(_ error: JSONError) {
        if self.error == nil {
            self.error = error
        }
    }

    // MARK: Objects and arrays

    /// Opens an object. Write each member with ``key(_:)-(StaticString)`` and then its value.
    public mutating func beginObject() {
        if isMerging, isAtPart {
            merges[merges.count - 1].beginPart()
            return
        }
        begin(ASCII.leftBrace)
    }

    /// Closes an object.
    public mutating func endObject() {
        if isMerging, depth == merges[merges.count - 1].depth {
            merges[merges.count - 1].openParts -= 1
            return
        }
        close(ASCII.rightBrace)
    }

    /// Opens an array; its elements follow.
    public mutating func beginArray() {
        begin(ASCII.leftBracket)
    }

    /// Closes an array.
    public mutating func endArray() {
        close(ASCII.rightBracket)
    }

    /// Writes a key that is a literal.
    ///
    /// - Parameter name: The key.
    public mutating func key(_ name: StaticString) {
        guard name.hasPointerRepresentation else { return key(name.description) }
        if isMerging {
            noteMember(name.description)
        }
        prepareKey()
        appendString(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        finishKey()
    }

    /// Writes a key.
    ///
    /// - Parameter name: The key.
    @_disfavoredOverload
    public mutating func key(_ name: String) {
        if isMerging {
            noteMember(name)
        }
        prepareKey()
        appendString(name)
        finishKey()
    }

    // MARK: Values

    /// Writes a string.
    ///
    /// Quotes, backslashes and control characters are escaped, and nothing else unless an option says so.
    ///
    /// - Parameter value: The text.
    public mutating func write(_ value: String) {
        prepareValue()
        appendString(value)
    }

    /// Writes a string that is a literal.
    ///
    /// - Parameter value: The text.
    @_disfavoredOverload
    public mutating func write(_ value: StaticString) {
        guard value.hasPointerRepresentation else { return write(value.description) }
        prepareValue()
        appendString(UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    /// Writes `true` or `false`.
    ///
    /// - Parameter value: The value.
    public mutating func write(_ value: Bool) {
        prepareValue()
        append(value ? "true" : "false")
    }

    /// Writes a whole number.
    ///
    /// - Parameter value: The number.
    @inlinable
    public mutating func write<I: FixedWidthInteger & JSONWritable>(_ value: I) {
        if I.bitWidth <= 64 {
            writeInteger(UInt64(truncatingIfNeeded: value.magnitude), isNegative: value < 0)
        } else {
            writeNumber(String(value))
        }
    }

    /// Writes a number with the fewest digits that read back as the same `Double`.
    ///
    /// For infinities and NaN, the writer fails with ``JSONError/Code/notRepresentable``.
    ///
    /// - Parameter value: The number.
    public mutating func write(_ value: Double) {
        guard value.isFinite else { return failNotFinite() }
        prepareValue()
        // Whole numbers are the common case, and their digits are exact.
        if value.magnitude < 9_007_199_254_740_992, value == value.rounded(.towardZero),
            value != 0 || value.sign == .plus
        {
            appendInteger(UInt64(value.magnitude), isNegative: value < 0)
            if !options.contains(.wholeDoublesWithoutFraction) {
                append(".0")
            }
        } else {
            appendNumber(value.description)
        }
    }

    /// Writes a number with the fewest digits that read back as the same `Float`.
    ///
    /// For infinities and NaN, the writer fails with ``JSONError/Code/notRepresentable``.
    ///
    /// - Parameter value: The number.
    public mutating func write(_ value: Float) {
        guard value.isFinite else { return failNotFinite() }
        prepareValue()
        appendNumber(value.description)
    }

    /// Writes `null`.
    public mutating func writeNull() {
        prepareValue()
        append("null")
    }

    /// Writes a raw value, with its bytes unchanged.
    ///
    /// - Parameter value: One JSON value.
    public mutating func writeRaw(_ value: JSONRawValue) {
        prepareValue()
        value.bytes.withUnsafeBufferPointer { buffer.append($0) }
    }

    /// Writes the members of a raw object into the current object, with their bytes unchanged.
    ///
    /// - Parameter object: An object without white space around it. The current object must not have any of its keys.
    package mutating func writeMembers(of object: JSONRawValue) {
        guard object.kind == .object, !isMerging else {
            let message = isMerging ? "spelled members cannot be put in order" : "only an object has members"
            return fail(JSONError(code: .notRepresentable, message: message))
        }
        let bytes = object.bytes
        guard bytes.count > 2 else { return }
        prepareKey()
        bytes.withUnsafeBufferPointer { buffer.append(UnsafeBufferPointer(rebasing: $0[1..<bytes.count - 1])) }
        state = .afterValue
    }

    /// Writes bytes as a string of base64 (RFC 4648, section 4), padded.
    ///
    /// - Parameter bytes: The bytes.
    public mutating func writeBase64(_ bytes: some Collection<UInt8>) {
        if bytes.withContiguousStorageIfAvailable({ writeBase64(buffer: $0) }) == nil {
            Array(bytes).withUnsafeBufferPointer { writeBase64(buffer: $0) }
        }
    }

    /// Writes bytes as a string of base64 (RFC 4648, section 4), padded.
    ///
    /// - Parameter bytes: The bytes.
    public mutating func writeBase64(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { writeBase64(buffer: $0) }
    }

    /// Writes a value of a writable type.
    ///
    /// - Parameter value: The value.
    @inlinable
    public mutating func write<T: JSONWritable>(_ value: T) {
        value.write(json: &self)
    }

    // MARK: Fixed parts

    /// Opens an object and writes its first key in one step, if JSON is written without white space.
    ///
    /// - Parameter text: A brace, a key and a colon.
    /// - Returns: `false`, and nothing is written, if JSON is written with white space or objects are being merged.
    package mutating func beginCompactObject(_ text: StaticString) -> Bool {
        guard !options.contains(.prettyPrinted), !isMerging else { return false }
        prepareValue()
        append(text)
        depth &+= 1
        state = .afterKey
        return true
    }

    /// Writes the last members of an object that ``beginCompactObject(_:)`` opened, and closes it.
    ///
    /// - Parameter text: A comma, the members and a brace.
    package mutating func endCompactObject(_ text: StaticString) {
        append(text)
        depth &-= 1
        state = .afterValue
    }

    // MARK: Merged objects

    /// Several objects that are being written as one.
    private struct Merge {
        /// A member that was written.
        struct Member {
            var key: String
            /// The offset of the member in the buffer.
            var start: Int
            /// The number of the object that the member belongs to.
            var part: Int
            /// Whether the object's type does not list the key.
            var isAdditional: Bool
        }

        /// The depth inside of the merged object.
        var depth: Int
        /// The offset in the buffer at which the members of the merged object begin.
        var start: Int
        /// The number of objects that are open, one inside of the other.
        var openParts = 0
        /// The number of objects that were opened so far.
        var part = 0
        /// Whether the type of the current object does not list the members that follow.
        var isAdditional = false
        var members: [Member] = []
        /// The keys that an object's type lists but that have no value, with the number of the object.
        var absent: [(key: String, part: Int)] = []

        mutating func beginPart() {
            openParts += 1
            part += 1
        }
    }

    /// Opens an object into which the following objects are written as one.
    ///
    /// If several objects have the same key, the last one counts. But a member that the type of its object does not
    /// list is replaced with a member that the type of another object lists. The members are sorted by their keys.
    package mutating func beginMerging() {
        if isMerging, isAtPart {
            merges[merges.count - 1].beginPart()
            return
        }
        begin(ASCII.leftBrace)
        merges.append(Merge(depth: depth, start: buffer.count))
        isMerging = true
    }

    /// Closes the object that ``beginMerging()`` opened.
    package mutating func endMerging() {
        guard isMerging else { return close(ASCII.rightBrace) }
        if merges[merges.count - 1].openParts > 0 {
            merges[merges.count - 1].openParts -= 1
            return
        }
        let merge = merges.removeLast()
        isMerging = !merges.isEmpty
        sort(merge)
        close(ASCII.rightBrace)
    }

    /// Sets whether the type of the current object does not list the members that follow.
    ///
    /// When several types read one object, each type keeps the members that it does not list, including those that
    /// another type lists. Only the type that lists a member has its current value.
    package mutating func markAdditional(_ isAdditional: Bool) {
        guard isMerging else { return }
        merges[merges.count - 1].isAdditional = isAdditional
    }

    // MARK: Absent members

    /// Opens an object in which absent members with some keys are written as `null`.
    ///
    /// - Parameter keys: The keys.
    package mutating func beginObject(writingNullFor keys: [String]) {
        beginObject()
        if !keys.isEmpty { nullKeys.append((depth, keys)) }
    }

    /// Closes an object that ``beginObject(writingNullFor:)`` opened with the same keys.
    package mutating func endObject(writingNullFor keys: [String]) {
        if !keys.isEmpty { nullKeys.removeLast() }
        endObject()
    }

    /// Whether ``noteAbsentMember(_:)`` has to be called for absent members.
    package var notesAbsentMembers: Bool { isMerging || !nullKeys.isEmpty }

    /// Records that a member that the object's type lists has no value.
    ///
    /// The member is written as `null` if ``beginObject(writingNullFor:)`` lists its key. If several types write one
    /// object, the other types do not write the value of this member that they kept when they read the object.
    @inline(never)
    package mutating func noteAbsentMember(_ name: StaticString) {
        let name = name.description
        if let last = nullKeys.last, last.depth == depth, last.keys.contains(name) {
            key(name)
            writeNull()
        } else if isMerging, depth == merges[merges.count - 1].depth {
            merges[merges.count - 1].absent.append((name, merges[merges.count - 1].part))
        }
    }

    private mutating func sort(_ merge: Merge) {
        let members = merge.members
        func isOutdated(_ member: Merge.Member) -> Bool {
            member.isAdditional && merge.absent.contains { $0.key == member.key && $0.part != member.part }
        }
        guard
            zip(members, members.dropFirst()).contains(where: { !JSONWriter.isBefore($0.key, $1.key) })
                || members.contains(where: isOutdated)
        else { return }
        var pieces: [(key: String, bytes: [UInt8])] = []
        for (index, member) in members.enumerated() {
            let end = index + 1 < members.count ? members[index + 1].start : buffer.count
            // Every member except the first begins with a comma.
            pieces.append((member.key, buffer.bytes(member.start + (index == 0 ? 0 : 1), end)))
        }
        var winners: [String: Int] = [:]
        for (index, member) in members.enumerated() where !isOutdated(member) {
            if member.isAdditional, let earlier = winners[member.key].map({ members[$0] }), !earlier.isAdditional,
                earlier.part != member.part
            {
                continue
            }
            winners[member.key] = index
        }
        let kept = pieces.indices.filter { winners[pieces[$0].key] == $0 }
            .sorted { JSONWriter.isBefore(pieces[$0].key, pieces[$1].key) }
        buffer.count = merge.start
        for (number, index) in kept.enumerated() {
            if number > 0 {
                buffer.append(ASCII.comma)
            }
            pieces[index].bytes.withUnsafeBufferPointer { buffer.append($0) }
        }
    }

    private static func isBefore(_ left: String, _ right: String) -> Bool {
        left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars)
    }

    /// Whether the next value is an object to merge, not the value of a member.
    private var isAtPart: Bool { state != .afterKey && depth == merges[merges.count - 1].depth }

    @inline(never)
    private mutating func noteMember(_ key: String) {
        let last = merges.count - 1
        if depth == merges[last].depth {
            merges[last].members.append(
                Merge.Member(
                    key: key,
                    start: buffer.count,
                    part: merges[last].part,
                    isAdditional: merges[last].isAdditional
                )
            )
        }
    }

    // MARK: Structure

    @inline(__always)
    private mutating func prepareValue() {
        if isMerging, isAtPart {
            fail(JSONError(code: .notRepresentable, message: "only objects can be written as one"))
        }
        if state == .afterValue {
            if depth == 0 {
                fail(JSONError(code: .invalidValue, message: "a second value was written after the first one"))
            }
            buffer.append(ASCII.comma)
        }
        if options.contains(.prettyPrinted), state != .afterKey, depth > 0 {
            appendLine()
        }
        state = .afterValue
    }

    @inline(__always)
    private mutating func prepareKey() {
        if state == .afterValue {
            buffer.append(ASCII.comma)
        }
        if options.contains(.prettyPrinted) {
            appendLine()
        }
    }

    @inline(__always)
    private mutating func finishKey() {
        if options.contains(.prettyPrinted) {
            append(" : ")
        } else {
            buffer.append(ASCII.colon)
        }
        state = .afterKey
    }

    @inline(__always)
    private mutating func begin(_ opening: UInt8) {
        prepareValue()
        buffer.append(opening)
        depth &+= 1
        state = .start
    }

    @inline(__always)
    private mutating func close(_ closing: UInt8) {
        depth &-= 1
        if options.contains(.prettyPrinted) {
            if state == .afterValue {
                appendLine()
            } else if options.contains(.emptyLinesInEmptyContainers) {
                buffer.append(ASCII.newline)
                appendLine()
            }
        }
        buffer.append(closing)
        if state == .afterKey || depth < 0 {
            fail(JSONError(code: .invalidValue, message: "a container was closed before it was whole"))
        }
        state = .afterValue
    }

    private mutating func appendLine() {
        buffer.append(ASCII.newline)
        for _ in 0..<max(depth, 0) {
            append("  ")
        }
    }

    // MARK: Bytes of values

    @inline(__always)
    private mutating func append(_ text: StaticString) {
        buffer.append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    private mutating func appendString(_ value: String) {
        if value.utf8.withContiguousStorageIfAvailable({ appendString($0) }) == nil {
            var copy = value
            copy.withUTF8 { appendString($0) }
        }
    }

    /// Appends a string with its quotes.
    private mutating func appendString(_ text: UnsafeBufferPointer<UInt8>) {
        // Each step stores eight bytes, of which fewer can be part of the string. Eight more bytes are reserved for
        // this.
        buffer.reserve(text.count + 2 + 8)
        var target = buffer.base + buffer.count
        target.pointee = ASCII.quote
        target += 1
        if var cursor = text.baseAddress {
            let end = cursor + text.count
            let escapesSlashes = options.contains(.escapingSlashes)
            while cursor < end {
                let count = min(end - cursor, 8)
                let word = count == 8 ? cursor.word : cursor.word(ofFirst: count)
                UnsafeMutableRawPointer(target).storeBytes(of: word.littleEndian, as: UInt64.self)
                var specials = Word.specials(in: word)
                if escapesSlashes {
                    specials |= Word.slashes(in: word)
                }
                if specials == 0 {
                    target += count
                    cursor += count
                    continue
                }
                let plain = specials.trailingZeroBitCount &>> 3
                target += plain
                cursor += plain
                buffer.count = target - buffer.base
                appendEscape(of: cursor.pointee)
                cursor += 1
                buffer.reserve(end - cursor + 1 + 8)
                target = buffer.base + buffer.count
            }
        }
        target.pointee = ASCII.quote
        buffer.count = target + 1 - buffer.base
    }

    private mutating func appendEscape(of byte: UInt8) {
        switch byte {
        case ASCII.quote, ASCII.backslash, ASCII.slash:
            buffer.append(ASCII.backslash)
            buffer.append(byte)
        case 0x08: append("\\b")
        case 0x0C: append("\\f")
        case ASCII.newline: append("\\n")
        case ASCII.carriageReturn: append("\\r")
        case ASCII.tab: append("\\t")
        default:
            append(byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 0xF
            buffer.append(digit < 10 ? ASCII.zero + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    @usableFromInline
    mutating func writeInteger(_ magnitude: UInt64, isNegative: Bool) {
        prepareValue()
        appendInteger(magnitude, isNegative: isNegative)
    }

    private mutating func appendInteger(_ magnitude: UInt64, isNegative: Bool) {
        // The digits are written from the last to the first; there are at most 20 of them, and a sign.
        buffer.reserve(32)
        let target = buffer.base + buffer.count
        var rest = magnitude
        var first = 24
        while rest >= 100 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            rest = quotient
            first -= 2
            target[first] = ASCII.zero + UInt8(truncatingIfNeeded: pair / 10)
            target[first + 1] = ASCII.zero + UInt8(truncatingIfNeeded: pair % 10)
        }
        if rest >= 10 {
            first -= 1
            target[first] = ASCII.zero + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        first -= 1
        target[first] = ASCII.zero + UInt8(truncatingIfNeeded: rest)
        if isNegative {
            first -= 1
            target[first] = ASCII.minus
        }
        target.update(from: target + first, count: 24 - first)
        buffer.count += 24 - first
    }

    /// Writes the text of a number without a check.
    @usableFromInline
    mutating func writeNumber(_ text: String) {
        prepareValue()
        appendNumber(text)
    }

    private mutating func appendNumber(_ text: String) {
        var text = text
        if options.contains(.wholeDoublesWithoutFraction), text.hasSuffix(".0") {
            text.removeLast(2)
        }
        text.withUTF8 { buffer.append($0) }
    }

    private mutating func writeBase64(buffer bytes: UnsafeBufferPointer<UInt8>) {
        prepareValue()
        let count = (bytes.count + 2) / 3 * 4
        buffer.reserve(count + 2)
        buffer.appendReserved(ASCII.quote)
        Base64.encode(bytes, to: buffer.base + buffer.count)
        buffer.count += count
        if options.contains(.escapingSlashes) { escapeSlashes(ofLast: count) }
        buffer.append(ASCII.quote)
    }

    /// Puts a backslash before each slash among the last bytes.
    private mutating func escapeSlashes(ofLast count: Int) {
        let text = UnsafeBufferPointer(start: buffer.base + (buffer.count - count), count: count)
        var missing = text.reduce(0) { $0 + ($1 == ASCII.slash ? 1 : 0) }
        guard missing > 0 else { return }
        buffer.reserve(missing)
        var source = buffer.count
        buffer.count += missing
        while missing > 0 {
            source -= 1
            let byte = buffer.base[source]
            buffer.base[source + missing] = byte
            if byte == ASCII.slash {
                missing -= 1
                buffer.base[source + missing] = ASCII.backslash
            }
        }
    }

    @inline(never)
    private mutating func failNotFinite() {
        fail(JSONError(code: .notRepresentable, message: "JSON has no number that is infinite or not a number"))
        writeNull()
    }
}

/// Memory that grows by doubling.
private struct Buffer: ~Copyable {
    private(set) var base: UnsafeMutablePointer<UInt8>
    var count = 0
    private var capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit {
        base.deallocate()
    }

    /// Makes room for `additional` more bytes.
    @inline(__always)
    mutating func reserve(_ additional: Int) {
        if capacity &- count < additional {
            grow(additional)
        }
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        let larger = max(capacity * 2, count + additional)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        memory.update(from: base, count: count)
        base.deallocate()
        base = memory
        capacity = larger
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        appendReserved(byte)
    }

    @inline(__always)
    mutating func appendReserved(_ byte: UInt8) {
        base[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).update(from: source, count: bytes.count)
        count &+= bytes.count
    }

    func bytes(_ start: Int, _ end: Int) -> [UInt8] {
        Array(UnsafeBufferPointer(start: base + start, count: end - start))
    }

    func array() -> [UInt8] {
        Array(UnsafeBufferPointer(start: base, count: count))
    }
}

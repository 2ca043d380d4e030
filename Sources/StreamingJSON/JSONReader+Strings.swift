extension JSONReader {
    /// Reads a string.
    ///
    /// - Returns: The text with its escapes resolved.
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other kind, and ``JSONError/Code/invalidUTF8`` for text that
    ///   is not Unicode, such as an escape of half a surrogate pair.
    public mutating func readString() throws(JSONError) -> String {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { throw mismatch("a string") }
        return string(of: try scanString())
    }

    /// Reads a string and returns its index in a table, without building the string.
    ///
    /// ```swift
    /// let start = reader.position
    /// switch try reader.readString(in: kinds) {
    /// case 0: …
    /// default:
    ///     reader.rewind(to: start)
    ///     other = try reader.readString()
    /// }
    /// ```
    ///
    /// - Parameter strings: The table.
    /// - Returns: The index of the string in the table, or ``JSONKeys/unknown``.
    /// - Throws: ``JSONError`` as ``readString()`` does.
    public mutating func readString(in strings: JSONKeys) throws(JSONError) -> Int {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { throw mismatch("a string") }
        let text = try scanString()
        return text.hasEscapes
            ? unescapedIndex(of: text, in: strings)
            : strings.index(of: text.start, count: text.count, limit: end)
    }

    /// Reads a string of base64 (RFC 4648, section 4); its padding may be absent.
    ///
    /// - Returns: The decoded bytes.
    /// - Throws: ``JSONError/Code/typeMismatch`` for any other kind, and ``JSONError/Code/invalidValue`` for text
    ///   that is not base64.
    public mutating func readBase64() throws(JSONError) -> [UInt8] {
        skipWhitespace()
        guard cursor < end, cursor.pointee == ASCII.quote else { throw mismatch("a string of base64") }
        let first = cursor
        let text = try scanString()
        let bytes: [UInt8]?
        if text.hasEscapes {
            // Some writers escape the slashes of base64.
            var plain = string(of: text)
            bytes = plain.withUTF8 { Base64.decode($0) }
        } else {
            bytes = Base64.decode(UnsafeBufferPointer(start: text.start, count: text.count))
        }
        guard let bytes else {
            cursor = first
            throw error(.invalidValue, "the string is not base64")
        }
        return bytes
    }

    /// The bytes between the quotes of a string that has been checked. They are valid as long as the reader exists.
    @usableFromInline
    package struct Text {
        var start: Bytes
        var count: Int
        var hasEscapes: Bool
        var isASCII: Bool

        /// The number of bytes that base64 of this length encodes, or up to three more.
        @usableFromInline
        var base64Capacity: Int { count / 4 * 3 + 3 }
    }

    /// Decodes a text of base64 and calls a closure with the bytes.
    ///
    /// - Parameters:
    ///   - text: A text of this reader.
    ///   - isCanonical: Becomes `false` if the writer would write the same bytes as a different text.
    ///   - body: The closure, which gets the bytes.
    /// - Returns: What `body` returns, or `nil` when the text is not base64.
    @inlinable
    package func withBase64<R>(
        of text: Text,
        isCanonical: inout Bool,
        _ body: (UnsafeBufferPointer<UInt8>) -> R
    ) -> R? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.base64Capacity) { output -> R? in
            guard let count = decodeBase64(text, into: output, isCanonical: &isCanonical) else { return nil }
            return body(UnsafeBufferPointer(rebasing: output[..<count]))
        }
    }

    /// Decodes a text of base64 into `output`, which must have room for all bytes.
    @usableFromInline
    func decodeBase64(
        _ text: Text,
        into output: UnsafeMutableBufferPointer<UInt8>,
        isCanonical: inout Bool
    ) -> Int? {
        func decode(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
            isCanonical = isCanonical && Base64.isCanonical(text)
            return Base64.decode(text, into: output)
        }
        guard !text.hasEscapes else {
            var plain = string(of: text)
            return plain.withUTF8(decode)
        }
        return decode(UnsafeBufferPointer(start: text.start, count: text.count))
    }

    /// Checks a string, whose quote is the next byte, and skips it.
    @inline(__always)
    mutating func scanString() throws(JSONError) -> Text {
        let first = cursor + 1
        var cursor = first
        let end = self.end
        // All bytes of the string, combined with OR.
        var all: UInt64 = 0
        while end - cursor >= 8 {
            let word = cursor.word
            let specials = Word.specials(in: word)
            if specials == 0 {
                all |= word
                cursor += 8
                continue
            }
            // The bits below the first special byte.
            all |= word & (specials ^ (specials &- 1))
            cursor += specials.trailingZeroBitCount &>> 3
            guard cursor.pointee == ASCII.quote, Word.nonASCII(in: all) == 0 else { break }
            self.cursor = cursor + 1
            return Text(start: first, count: cursor - first, hasEscapes: false, isASCII: true)
        }
        return try scanString(from: first, on: cursor, isASCII: Word.nonASCII(in: all) == 0)
    }

    /// Continues with a string that has escapes, is not ASCII, or is close to the end of the input.
    @inline(never)
    private mutating func scanString(
        from first: Bytes,
        on next: Bytes,
        isASCII startIsASCII: Bool
    ) throws(JSONError) -> Text {
        var cursor = next
        let end = self.end
        var isASCII = startIsASCII
        var hasEscapes = false
        scanning: while true {
            while end - cursor >= 8 {
                let word = cursor.word
                let specials = Word.specials(in: word)
                if specials == 0 {
                    isASCII = isASCII && Word.nonASCII(in: word) == 0
                    cursor += 8
                    continue
                }
                isASCII = isASCII && Word.nonASCII(in: word) & (specials ^ (specials &- 1)) == 0
                cursor += specials.trailingZeroBitCount &>> 3
                break
            }
            guard cursor < end else {
                self.cursor = end
                throw error(.unexpectedEnd, "the input ends inside of a string")
            }
            let byte = cursor.pointee
            switch byte {
            case ASCII.quote:
                break scanning
            case ASCII.backslash:
                hasEscapes = true
                self.cursor = cursor
                cursor += try checkEscape()
            case 0..<0x20:
                self.cursor = cursor
                throw error(.malformed, "a control character in a string must be escaped")
            default:
                isASCII = isASCII && byte < 0x80
                cursor += 1
            }
        }
        if !isASCII, let wrong = firstIllFormedUTF8(from: first, to: cursor) {
            self.cursor = wrong
            throw error(.invalidUTF8, "ill-formed UTF-8 in a string")
        }
        self.cursor = cursor + 1
        return Text(start: first, count: cursor - first, hasEscapes: hasEscapes, isASCII: isASCII)
    }

    /// Checks the escape that begins with the next byte.
    ///
    /// - Returns: The length of the escape; for a surrogate pair, the length of both escapes.
    private func checkEscape() throws(JSONError) -> Int {
        guard end - cursor >= 2 else { throw error(.unexpectedEnd, "the input ends inside of an escape") }
        switch cursor[1] {
        case ASCII.quote, ASCII.backslash, ASCII.slash, UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            return 2
        case UInt8(ascii: "u"):
            let unit = try hexadecimal(at: cursor + 2)
            switch unit {
            case 0xD800...0xDBFF:
                guard end - cursor >= 8, cursor[6] == ASCII.backslash, cursor[7] == UInt8(ascii: "u") else {
                    throw error(
                        end - cursor >= 8 ? .invalidUTF8 : .unexpectedEnd,
                        "a \\u escape of a high surrogate without the low one"
                    )
                }
                guard 0xDC00...0xDFFF ~= (try hexadecimal(at: cursor + 8)) else {
                    throw error(.invalidUTF8, "a \\u escape of a high surrogate without the low one")
                }
                return 12
            case 0xDC00...0xDFFF:
                throw error(.invalidUTF8, "a \\u escape of a low surrogate without the high one")
            default:
                return 6
            }
        default:
            throw error(.malformed, "there is no such escape; a backslash is written \\\\")
        }
    }

    private func hexadecimal(at start: Bytes) throws(JSONError) -> UInt32 {
        guard end - start >= 4 else { throw error(.unexpectedEnd, "the input ends inside of an escape") }
        guard let value = Self.hexadecimal(start) else {
            throw error(.malformed, "\\u needs four hexadecimal digits")
        }
        return value
    }

    private static func hexadecimal(_ start: Bytes) -> UInt32? {
        var value: UInt32 = 0
        for index in 0..<4 {
            let byte = start[index]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return value
    }

    /// The string that checked bytes spell.
    package func string(of text: Text) -> String {
        if text.hasEscapes {
            return unescaped(text)
        }
        return Self.newString(of: text)
    }

    @inline(never)
    private func unescaped(_ text: Text) -> String {
        // Every escape is longer than the UTF-8 of its character.
        String(unsafeUninitializedCapacity: text.count) { Self.unescape(text, into: $0) }
    }

    @inline(never)
    func unescapedIndex(of text: Text, in keys: JSONKeys) -> Int {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer in
            let count = Self.unescape(text, into: buffer)
            guard let start = buffer.baseAddress else { return JSONKeys.unknown }
            return keys.index(of: Bytes(start), count: count, limit: Bytes(start) + count)
        }
    }

    /// Resolves the escapes of checked bytes. Returns the number of bytes written.
    private static func unescape(_ text: Text, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let first = buffer.baseAddress else { return 0 }
        var output = first
        var cursor = text.start
        let end = text.start + text.count
        while cursor < end {
            if end - cursor >= 8 {
                // The output has at least as much room as there is input left. Of the eight bytes, only those before a
                // backslash are kept.
                let word = cursor.word
                UnsafeMutableRawPointer(output).storeBytes(of: word.littleEndian, as: UInt64.self)
                let specials = Word.specials(in: word)
                let plain = specials == 0 ? 8 : specials.trailingZeroBitCount &>> 3
                output += plain
                cursor += plain
                if plain == 8 {
                    continue
                }
            }
            let byte = cursor.pointee
            guard byte == ASCII.backslash else {
                output.pointee = byte
                output += 1
                cursor += 1
                continue
            }
            let kind = cursor[1]
            cursor += 2
            switch kind {
            case UInt8(ascii: "b"): output.pointee = 0x08
            case UInt8(ascii: "f"): output.pointee = 0x0C
            case UInt8(ascii: "n"): output.pointee = ASCII.newline
            case UInt8(ascii: "r"): output.pointee = ASCII.carriageReturn
            case UInt8(ascii: "t"): output.pointee = ASCII.tab
            case UInt8(ascii: "u"):
                var scalar = hexadecimal(cursor) ?? 0
                cursor += 4
                if 0xD800...0xDBFF ~= scalar {
                    scalar = 0x10000 + (scalar & 0x3FF) << 10 + ((hexadecimal(cursor + 2) ?? 0) & 0x3FF)
                    cursor += 6
                }
                for unit in UTF8.encode(UnicodeScalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter {
                    output.pointee = unit
                    output += 1
                }
                continue
            default: output.pointee = kind
            }
            output += 1
        }
        return output - first
    }
}

/// Base64 with the standard alphabet (RFC 4648, section 4).
enum Base64 {
    private static let alphabet: [UInt8] = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    /// The value of each character, 0xFF for bytes that are not characters of Base64.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() {
            values[Int(character)] = UInt8(value)
        }
        return values
    }()

    /// Returns the decoded bytes, or `nil` when the text is not base64. Its padding may be absent.
    static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, written in
            if let count = decode(text, into: output) {
                written = count
            } else {
                isValid = false
            }
        }
        return isValid ? bytes : nil
    }

    /// Decodes a text into `output`, which must have room for three bytes for each four characters, and three more.
    ///
    /// - Returns: The number of bytes, or `nil` when the text is not base64.
    static func decode(_ text: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        var count = text.count
        if count > 0, count % 4 == 0 {
            for _ in 0..<2 where text[count - 1] == UInt8(ascii: "=") {
                count -= 1
            }
        }
        guard count % 4 != 1 else { return nil }
        return values.withUnsafeBufferPointer { values in
            var read = 0
            var written = 0
            // A value above 63, of an invalid character, sets one of the two highest bits.
            var all: UInt8 = 0
            while read &+ 4 <= count {
                let a = values[Int(text[read])]
                let b = values[Int(text[read &+ 1])]
                let c = values[Int(text[read &+ 2])]
                let d = values[Int(text[read &+ 3])]
                all |= a | b | c | d
                output[written] = a &<< 2 | b &>> 4
                output[written &+ 1] = b &<< 4 | c &>> 2
                output[written &+ 2] = c &<< 6 | d
                read &+= 4
                written &+= 3
            }
            if read < count {
                let a = values[Int(text[read])]
                let b = values[Int(text[read + 1])]
                let c = read + 2 < count ? values[Int(text[read + 2])] : 0
                all |= a | b | c
                output[written] = a << 2 | b >> 4
                written += 1
                if read + 2 < count {
                    output[written] = b << 4 | c >> 2
                    written += 1
                }
            }
            return all < 64 ? written : nil
        }
    }

    /// Whether a text of base64 has its padding, and no unused bits are set in its last character.
    static func isCanonical(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count % 4 == 0 else { return false }
        guard text.count > 0, text[text.count - 1] == UInt8(ascii: "=") else { return true }
        if text[text.count - 2] == UInt8(ascii: "=") {
            return values[Int(text[text.count - 3])] & 0x0F == 0
        }
        return values[Int(text[text.count - 2])] & 0x03 == 0
    }

    /// Writes the base64 of bytes, four characters for each three; `output` has room for all of them.
    static func encode(_ bytes: UnsafeBufferPointer<UInt8>, to output: UnsafeMutablePointer<UInt8>) {
        alphabet.withUnsafeBufferPointer { alphabet in
            var output = output
            var read = 0
            while read + 3 <= bytes.count {
                let group = Int(bytes[read]) << 16 | Int(bytes[read + 1]) << 8 | Int(bytes[read + 2])
                output[0] = alphabet[group >> 18]
                output[1] = alphabet[group >> 12 & 63]
                output[2] = alphabet[group >> 6 & 63]
                output[3] = alphabet[group & 63]
                read += 3
                output += 4
            }
            guard read < bytes.count else { return }
            let hasTwo = read + 1 < bytes.count
            let group = Int(bytes[read]) << 16 | (hasTwo ? Int(bytes[read + 1]) << 8 : 0)
            output[0] = alphabet[group >> 18]
            output[1] = alphabet[group >> 12 & 63]
            output[2] = hasTwo ? alphabet[group >> 6 & 63] : UInt8(ascii: "=")
            output[3] = UInt8(ascii: "=")
        }
    }
}

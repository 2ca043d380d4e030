/// The encoding Windows-1252, which is ISO-8859-1 with printable characters in the range of its control characters.
///
/// The table is that of https://encoding.spec.whatwg.org/#index-windows-1252: each byte has a character.
package enum Windows1252 {
    /// The character of a byte.
    package static func character(of byte: UInt8) -> Unicode.Scalar {
        replacement(for: Unicode.Scalar(byte))
    }

    /// The character that a control character from U+0080 to U+009F probably means: the character of Windows-1252 with
    /// the same number. Other characters stay as they are.
    package static func replacement(for scalar: Unicode.Scalar) -> Unicode.Scalar {
        guard (0x80...0x9F).contains(scalar.value) else { return scalar }
        return Unicode.Scalar(characters[Int(scalar.value) - 0x80]) ?? scalar
    }

    /// The text with the control characters from U+0080 to U+009F replaced.
    package static func replacingControls(in text: String) -> String {
        // In UTF-8, they begin with the byte C2.
        guard text.utf8.contains(0xC2) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { result.append(replacement(for: scalar)) }
        return String(result)
    }

    /// The characters of the bytes 0x80 to 0x9F.
    private static let characters: [UInt32] = [
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
        0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
        0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
        0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
    ]
}

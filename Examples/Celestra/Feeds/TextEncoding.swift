import WebText

/// A character encoding, with one name for all its aliases.
struct TextEncoding: Sendable, Hashable {
    /// The name, in lower case. As in browsers, an encoding is replaced by a superset of it: `gb2312` by `gb18030`.
    let name: String

    /// Reads the name of an encoding, with its common misspellings.
    init(label: String) {
        let label = label.trimmed.lowercased().map { $0 == "_" || $0 == " " ? "-" : String($0) }.joined()
        if let name = TextEncoding.aliases[label] {
            self.name = name
        } else if label.hasPrefix("cp125") || label.hasPrefix("win125") {
            name = "windows-125" + label.suffix(1)
        } else if label.hasPrefix("iso8859") {
            name = "iso-8859-" + label.dropFirst(7).drop { $0 == "-" }
        } else {
            name = label
        }
    }

    static let utf8 = TextEncoding(label: "utf-8")
    static let ascii = TextEncoding(label: "us-ascii")
    static let utf16BigEndian = TextEncoding(label: "utf-16be")
    static let utf16LittleEndian = TextEncoding(label: "utf-16le")
    static let utf32BigEndian = TextEncoding(label: "utf-32be")
    static let utf32LittleEndian = TextEncoding(label: "utf-32le")

    /// Whether each character takes two or four bytes, so that a document with this encoding has zero bytes.
    var isWide: Bool { name.hasPrefix("utf-16") || name.hasPrefix("utf-32") || name.hasPrefix("ucs-") }

    /// Whether the encoding is Windows-1252 or a subset of it.
    var isPartOfWindows1252: Bool { ["us-ascii", "iso-8859-1", "windows-1252"].contains(name) }

    /// The encoding that the first bytes of a document show by a byte order mark, and the length of the mark.
    static func byteOrderMark(of bytes: ArraySlice<UInt8>) -> (encoding: TextEncoding, length: Int)? {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return (utf8, 3) }
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) { return (utf32LittleEndian, 4) }
        if bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return (utf32BigEndian, 4) }
        if bytes.starts(with: [0xFF, 0xFE]) { return (utf16LittleEndian, 2) }
        if bytes.starts(with: [0xFE, 0xFF]) { return (utf16BigEndian, 2) }
        return nil
    }

    /// The encoding that the zero bytes within the first four bytes show (XML 1.0, appendix F): a document begins with
    /// an ASCII character.
    static func zeroBytePattern(of bytes: ArraySlice<UInt8>) -> TextEncoding? {
        let start = bytes.prefix(4).map { $0 == 0 }
        return switch start {
        case [true, true, true, false]: utf32BigEndian
        case [false, true, true, true]: utf32LittleEndian
        case [true, false, true, false]: utf16BigEndian
        case [false, true, false, true]: utf16LittleEndian
        default: nil
        }
    }

    /// The encoding that the XML declaration names. The declaration may follow white space or other text within the
    /// first 1024 bytes.
    static func declared(in bytes: ArraySlice<UInt8>) -> TextEncoding? {
        let start = String(decoding: bytes.prefix(1024), as: UTF8.self)
        guard let opening = start.range(of: "<?xml", from: start.startIndex),
            let closing = start.range(of: "?>", from: opening.upperBound)
        else { return nil }
        let declaration = start[opening.upperBound..<closing.lowerBound]
        guard let keyword = declaration.range(of: "encoding", from: declaration.startIndex) else { return nil }
        let value = declaration[keyword.upperBound...].drop { $0.isWhitespace || $0 == "=" }
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        let label = value.dropFirst().prefix { $0 != quote }
        return label.isEmpty ? nil : TextEncoding(label: String(label))
    }

    private static let aliases = [
        "utf8": "utf-8", "u8": "utf-8", "unicode-1-1-utf-8": "utf-8",
        "ascii": "us-ascii", "iso646-us": "us-ascii", "ansi-x3.4-1968": "us-ascii",
        "latin1": "iso-8859-1", "latin-1": "iso-8859-1", "l1": "iso-8859-1", "iso-ir-100": "iso-8859-1",
        "utf16": "utf-16", "u16": "utf-16", "unicode": "utf-16", "utf32": "utf-32", "u32": "utf-32",
        "utf16be": "utf-16be", "utf16le": "utf-16le", "utf32be": "utf-32be", "utf32le": "utf-32le",
        "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "cp936": "gb18030", "euc-cn": "gb18030",
        "ks-c-5601-1987": "euc-kr", "ksc5601": "euc-kr", "cp949": "euc-kr", "euckr": "euc-kr",
        "sjis": "shift_jis", "x-sjis": "shift_jis", "shift-jis": "shift_jis", "ms-kanji": "shift_jis",
        "cp932": "shift_jis", "windows-31j": "shift_jis",
        "eucjp": "euc-jp", "x-euc-jp": "euc-jp", "big5-tw": "big5", "cn-big5": "big5",
        "koi8r": "koi8-r", "koi8": "koi8-r", "koi8u": "koi8-u", "tis620": "tis-620", "windows-874": "tis-620",
        "mac": "macintosh", "x-mac-roman": "macintosh",
    ]
}

extension StringProtocol {
    /// The first range of a text at or after an index. The search compares bytes: it is fast, and canonically
    /// equivalent characters are different.
    func range(of text: String, from start: Index) -> Range<Index>? {
        let needle = Array(text.utf8)
        guard let first = needle.first else { return start..<start }
        let bytes = utf8
        var index = start
        while let candidate = bytes[index...].firstIndex(of: first) {
            if bytes[candidate...].starts(with: needle) {
                return candidate..<bytes.index(candidate, offsetBy: needle.count)
            }
            index = bytes.index(after: candidate)
        }
        return nil
    }
}

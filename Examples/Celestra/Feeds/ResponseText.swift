import WebText

/// The bytes of a response as text, and the encoding that they were read in.
struct ResponseText {
    /// The text without a byte order mark.
    let text: String
    /// The name of the encoding, in lower case.
    let encoding: String

    /// Decodes a response.
    ///
    /// The encoding is the first of these: the byte order mark; the zero bytes of UTF-16 and UTF-32; the `charset` of
    /// the Content-Type; the XML declaration; UTF-8. An XML type below `text/` without `charset` is US-ASCII (RFC 3023)
    /// if all bytes are ASCII; otherwise the declaration counts (RFC 7303). Bytes that are not valid in the encoding
    /// are decoded anyway, and `problems` says how.
    init(_ response: [UInt8], mediaType: MediaType, problems: inout ProblemLog) {
        let bytes = response[...]
        if let mark = TextEncoding.byteOrderMark(of: bytes) {
            self.init(bytes.dropFirst(mark.length), as: mark.encoding, problems: &problems)
            return
        }
        if let encoding = TextEncoding.zeroBytePattern(of: bytes) {
            self.init(bytes, as: encoding, problems: &problems)
            return
        }
        let declared = TextEncoding.declared(in: bytes)
        if mediaType.charset == nil && mediaType.defaultsToASCII && bytes.allSatisfy({ $0 < 0x80 }) {
            self.init(bytes, as: .ascii, problems: &problems)
            return
        }
        let named = mediaType.charset.map(TextEncoding.init(label:)) ?? declared ?? .utf8
        if named.isWide {
            // A document in UTF-16 or UTF-32 has a mark or zero bytes at its start; this one has neither.
            problems.add(.encodingMismatch, "the response is declared as \(named.name), but does not look like it")
            self.init(bytes, as: .utf8, problems: &problems)
            return
        }
        self.init(bytes, as: named, problems: &problems)
    }

    private init(_ bytes: ArraySlice<UInt8>, as encoding: TextEncoding, problems: inout ProblemLog) {
        switch encoding.name {
        case "utf-8":
            self.init(text: ResponseText.utf8(bytes, problems: &problems), encoding: encoding.name)
        case "utf-16be", "utf-16le":
            let isBigEndian = encoding == .utf16BigEndian
            let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2)
                .map { index in
                    let (high, low) = isBigEndian ? (bytes[index], bytes[index + 1]) : (bytes[index + 1], bytes[index])
                    return UInt16(high) << 8 | UInt16(low)
                }
            self.init(
                text: ResponseText.decoded(
                    units,
                    as: UTF16.self,
                    isComplete: bytes.count % 2 == 0,
                    problems: &problems
                ),
                encoding: encoding.name
            )
        case "utf-32be", "utf-32le":
            let isBigEndian = encoding == .utf32BigEndian
            let units = stride(from: bytes.startIndex, to: bytes.endIndex - 3, by: 4)
                .map { index in
                    let unit = (0..<4).reduce(UInt32(0)) {
                        $0 << 8 | UInt32(bytes[index + (isBigEndian ? $1 : 3 - $1)])
                    }
                    return unit
                }
            self.init(
                text: ResponseText.decoded(
                    units,
                    as: UTF32.self,
                    isComplete: bytes.count % 4 == 0,
                    problems: &problems
                ),
                encoding: encoding.name
            )
        case _ where encoding.isPartOfWindows1252:
            self.init(bytes, asPartOfWindows1252: encoding, problems: &problems)
        default:
            guard let converted = CharsetConverter.text(of: bytes, in: encoding.name) else {
                problems.add(.unknownEncoding, "the encoding \"\(encoding.name)\" is not known")
                self.init(bytes, as: .utf8, problems: &problems)
                return
            }
            for _ in 0..<converted.undecodable {
                problems.add(.undecodableBytes, "bytes without a meaning in \(encoding.name)")
            }
            self.init(text: converted.text, encoding: encoding.name)
        }
    }

    private init(
        _ bytes: ArraySlice<UInt8>,
        asPartOfWindows1252 encoding: TextEncoding,
        problems: inout ProblemLog
    ) {
        if encoding == .ascii, !bytes.allSatisfy({ $0 < 0x80 }) {
            problems.add(.encodingMismatch, "the response is declared as us-ascii, but has bytes that are not ASCII")
            self.init(bytes, as: .utf8, problems: &problems)
            return
        }
        if encoding.name == "iso-8859-1", bytes.contains(where: { (0x80...0x9F).contains($0) }) {
            problems.add(
                .encodingMismatch,
                "the response is declared as iso-8859-1, but has characters of windows-1252"
            )
        }
        self.init(text: ResponseText.windows1252(bytes), encoding: encoding.name)
    }

    private init(text: String, encoding: String) {
        self.text = text
        self.encoding = encoding
    }

    private static func windows1252(_ bytes: ArraySlice<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Windows1252.character(of: byte)) }
        return String(text)
    }

    /// Decodes UTF-8. Bytes that are not UTF-8 are read as Windows-1252, one by one.
    private static func utf8(_ bytes: ArraySlice<UInt8>, problems: inout ProblemLog) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = String.UnicodeScalarView()
        var line = 1
        var rest = bytes
        while let byte = rest.first {
            if byte < 0x80 {
                if byte == 0x0A { line += 1 }
                text.append(Unicode.Scalar(byte))
                rest.removeFirst()
                continue
            }
            let length =
                switch byte {
                case 0xC2...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xF4: 4
                default: 1
                }
            if length > 1, let character = String(validating: rest.prefix(length), as: UTF8.self) {
                text.append(contentsOf: character.unicodeScalars)
                rest = rest.dropFirst(length)
            } else {
                problems.add(.undecodableBytes, line: line, "the byte \(String(byte, radix: 16)) is not UTF-8")
                text.append(Windows1252.character(of: byte))
                rest.removeFirst()
            }
        }
        return String(text)
    }

    private static func decoded<Encoding: Unicode.Encoding>(
        _ units: [Encoding.CodeUnit],
        as encoding: Encoding.Type,
        isComplete: Bool,
        problems: inout ProblemLog
    ) -> String {
        if !isComplete { problems.add(.undecodableBytes, "the last character is incomplete") }
        if let text = String(validating: units, as: encoding) { return text }
        problems.add(.undecodableBytes, "units without a meaning in the encoding")
        return String(decoding: units, as: encoding)
    }
}

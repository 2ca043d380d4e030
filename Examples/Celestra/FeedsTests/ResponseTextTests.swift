import Testing

@testable import CelestraFeeds

struct ResponseTextTests {
    @Test(arguments: [
        // Without any information, a response is UTF-8.
        (nil, "<rss>é</rss>", "utf-8"),
        // The Content-Type takes precedence over the declaration.
        ("application/xml; charset=utf-8", "<?xml version='1.0' encoding='iso-8859-1'?><rss>é</rss>", "utf-8"),
        ("application/xml;charset= \"UTF8\" ", "<rss>é</rss>", "utf-8"),
        // A type below `text/` without a charset is ASCII if all bytes are.
        ("text/xml", "<?xml version='1.0' encoding='utf-8'?><rss>e</rss>", "us-ascii"),
        ("text/xml", "<?xml version='1.0' encoding='utf-8'?><rss>é</rss>", "utf-8"),
        ("text/xml; charset:iso-8859-1", "<rss>e</rss>", "us-ascii"),
        ("text/plain", "<rss>é</rss>", "utf-8"),
    ])
    func textInUTF8(contentType: String?, text: String, encoding: String) {
        var problems = ProblemLog()
        let response = ResponseText(Array(text.utf8), mediaType: MediaType(contentType), problems: &problems)
        #expect(response.text == text)
        #expect(response.encoding == encoding)
        #expect(problems.problems == [])
    }

    @Test(arguments: [
        // A text in each encoding: its label, its bytes, and the text.
        ("iso-8859-1", [0x4E, 0xE9] as [UInt8], "Né"),
        ("latin1", [0x4E, 0xE9], "Né"),
        ("windows-1252", [0x80, 0x93], "€“"),
        ("cp1251", [0xCC, 0xE8, 0xF0], "Мир"),
        ("windows-1253", [0xC3, 0xE5], "Γε"),
        ("ISO_8859-7", [0xC3, 0xE5], "Γε"),
        ("iso-8859-15", [0xA4], "€"),
        ("koi8-r", [0xED, 0xC9, 0xD2], "Мир"),
        ("Shift_JIS", [0x93, 0xFA, 0x96, 0x7B], "日本"),
        ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC], "日本"),
        ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x4B, 0x5C, 0x1B, 0x28, 0x42], "日本"),
        ("big5", [0xA4, 0xE9, 0xA5, 0xBB], "日本"),
        ("gb2312", [0xC8, 0xD5, 0xB1, 0xBE], "日本"),
        ("gb18030", [0xC8, 0xD5, 0x94, 0x39, 0xDA, 0x33], "日\u{1F4A9}"),
        ("euc-kr", [0xC7, 0xD1], "한"),
        ("tis-620", [0xA1], "ก"),
        ("macintosh", [0x8E], "é"),
    ])
    func otherEncodings(label: String, bytes: [UInt8], text: String) {
        var problems = ProblemLog()
        let mediaType = MediaType("text/xml; charset=\(label)")
        let response = ResponseText(Array("<rss>".utf8) + bytes, mediaType: mediaType, problems: &problems)
        #expect(response.text == "<rss>" + text)
        #expect(problems.problems == [])
        // The XML declaration has the same effect as the Content-Type.
        let declared = Array("<?xml version=\"1.0\" encoding=\"\(label)\"?>".utf8) + bytes
        #expect(ResponseText(declared, mediaType: MediaType(nil), problems: &problems).text.hasSuffix("?>" + text))
        #expect(problems.problems == [])
    }

    @Test(arguments: ["utf-16be", "utf-16le", "utf-32be", "utf-32le"], [true, false])
    func wideEncodings(encoding: String, hasMark: Bool) {
        let text = "<?xml version='1.0' encoding='\(encoding.prefix(6))'?><rss>é日\u{1F4A9}</rss>"
        let marked = (hasMark ? "\u{FEFF}" : "") + text
        let isBigEndian = encoding.hasSuffix("be")
        let units =
            encoding.hasPrefix("utf-16")
            ? marked.utf16.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            : marked.unicodeScalars.map { scalar in [24, 16, 8, 0].map { UInt8(scalar.value >> $0 & 0xFF) } }
        let bytes = units.flatMap { isBigEndian ? $0 : $0.reversed() }
        var problems = ProblemLog()
        let response = ResponseText(bytes, mediaType: MediaType("application/xml"), problems: &problems)
        #expect(response.text == text)
        #expect(response.encoding == encoding)
        #expect(problems.problems == [])
        // A lost byte at the end is only a problem, not an error.
        #expect(!ResponseText(bytes.dropLast(), mediaType: MediaType(nil), problems: &problems).text.isEmpty)
        #expect(problems.contains(.undecodableBytes))
    }

    @Test(
        arguments: [
            // A stray byte is read as Windows-1252; bytes that are UTF-8 are read as UTF-8.
            (nil, Array("é".utf8) + [0x93] + Array("ü".utf8), "é“ü", FeedProblem.Kind.undecodableBytes),
            ("text/xml; charset=utf-8", [0x41, 0xC3], "AÃ", .undecodableBytes),
            ("text/xml; charset=us-ascii", Array("é".utf8), "é", .encodingMismatch),
            ("text/xml; charset=iso-8859-1", [0x93], "“", .encodingMismatch),
            ("text/xml; charset=utf-16", Array("é".utf8), "é", .encodingMismatch),
            ("text/xml; charset=bogus", Array("é".utf8), "é", .unknownEncoding),
            ("text/xml; charset=a//IGNORE", Array("é".utf8), "é", .unknownEncoding),
            ("text/xml; charset=shift_jis", [0x41, 0x81], "A\u{FFFD}", .undecodableBytes),
            ("text/xml; charset=big5", [0xFF, 0x41], "\u{FFFD}A", .undecodableBytes),
        ] as [(String?, [UInt8], String, FeedProblem.Kind)]
    )
    func wrongEncodingsAreReported(contentType: String?, bytes: [UInt8], text: String, kind: FeedProblem.Kind) {
        var problems = ProblemLog()
        let response = ResponseText(bytes, mediaType: MediaType(contentType), problems: &problems)
        #expect(response.text == text)
        #expect(problems.problems.map(\.kind) == [kind])
    }

    @Test func aLongTextIsConvertedAsAWhole() {
        let bytes = [UInt8](repeating: 0xCC, count: 100_000)
        #expect(CharsetConverter.text(of: bytes[...], in: "koi8-r")?.text == String(repeating: "л", count: 100_000))
    }
}

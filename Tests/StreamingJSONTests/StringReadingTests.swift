import StreamingJSON
import TestSupport
import Testing

struct StringReadingTests {
    @Test func everyEscapeIsResolved() throws {
        let json = #""\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\uD83D\ude00\u0000""#
        #expect(try JSONReader.read(String.self, from: json) == "\"\\/\u{8}\u{C}\n\r\tA\u{E9}\u{20AC}\u{1F600}\0")
    }

    @Test func specialBytesAreFoundAtEveryPlace() throws {
        // Strings of every length around the width of a machine word, with every kind of special byte at every offset.
        for length in 0..<40 {
            let plain = String(repeating: "a", count: length)
            #expect(try JSONReader.read(String.self, from: "\"\(plain)\"") == plain)
            for place in 0...length {
                let before = String(repeating: "b", count: place)
                let after = String(repeating: "c", count: length - place)
                for padding in ["", String(repeating: " ", count: 20)] {
                    for (spelling, text) in [
                        (#"\n"#, "\n"), (#"\u00e4"#, "ä"), ("ä", "ä"), ("😀", "😀"), (#"\ud83d\ude00"#, "😀"),
                        ("\u{7F}", "\u{7F}"),
                    ] {
                        let json = "\"\(before)\(spelling)\(after)\"\(padding)"
                        #expect(try JSONReader.read(String.self, from: json) == before + text + after)
                        #expect(try JSONRawValue(parsing: json).read(String.self) == before + text + after)
                    }
                    for control in 0..<0x20 as Range<UInt8> {
                        let json = Array("\"\(before)".utf8) + [control] + Array("\(after)\"\(padding)".utf8)
                        let error = #expect(throws: JSONError.self) { try JSONReader.read(String.self, from: json) }
                        #expect(error?.code == .malformed)
                        #expect(error?.offset == 1 + place)
                    }
                    for ill in [0x80, 0xBF, 0xC0, 0xC1, 0xE4, 0xF5, 0xFF] as [UInt8] {
                        let json = Array("\"\(before)".utf8) + [ill] + Array("\(after)\"\(padding)".utf8)
                        for error in [
                            #expect(throws: JSONError.self) { try JSONReader.read(String.self, from: json) },
                            #expect(throws: JSONError.self) { try JSONRawValue(parsing: json) },
                        ] {
                            #expect(error?.code == .invalidUTF8)
                            #expect(error?.offset == 1 + place)
                        }
                    }
                }
            }
        }
    }

    @Test func utf8IsAcceptedExactlyWhenTheStandardLibraryAcceptsIt() throws {
        var generator = SeededGenerator()
        let leads: [UInt8] = [0x41, 0x7F, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xC1, 0xF5, 0x80]
        let continuations: [UInt8] = [0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0x41, 0xC2, 0x7F]
        for _ in 0..<100_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes += Array(repeating: 0x61, count: Int.random(in: 0...9, using: &generator))
                bytes.append(leads.randomElement(using: &generator) ?? 0)
                for _ in 0..<Int.random(in: 0...3, using: &generator) {
                    bytes.append(continuations.randomElement(using: &generator) ?? 0)
                }
            }
            let expected = String(validating: bytes, as: UTF8.self)
            let found = try? JSONReader.read(String.self, from: [0x22] + bytes + [0x22])
            #expect(
                found.map { Array($0.utf8) } == expected.map { Array($0.utf8) },
                "seed \(SeededGenerator.seed): \(bytes)"
            )
        }
    }

    @Test(arguments: [
        #""\ud800""#, #""\ud800x""#, #""\ud800\n12345""#, #""\ud800\ud800""#, #""\ud800\u0041""#, #""\udc00""#,
        #""\udc00\ud800""#, #""a\uDFFFb""#,
    ])
    func halvesOfSurrogatePairsAreRefused(json: String) throws {
        let padded = json + String(repeating: " ", count: 20)
        let error = #expect(throws: JSONError.self) { try JSONReader.read(String.self, from: padded) }
        #expect(error?.code == .invalidUTF8)
        #expect(error?.message.contains("surrogate") == true)
        #expect(throws: JSONError.self) { try JSONRawValue(parsing: json) }
    }

    @Test(arguments: [
        #""\u00""#, #""\u00g0""#, #""\u+123""#, #""\ud83d\u""#, #""\ud83d\ude0""#, #""\"#, #""\u"#, #""\U0041""#,
    ])
    func brokenEscapesAreRefused(json: String) {
        #expect(throws: JSONError.self) { try JSONReader.read(String.self, from: json) }
        #expect(throws: JSONError.self) { try JSONReader.read(String.self, from: json + "        ") }
    }

    @Test func everyScalarSurvivesWritingAndReading() throws {
        // In pieces, so that a failure names only a few scalars.
        var scalars = String.UnicodeScalarView()
        for value in 0...0x10FFFF as ClosedRange<UInt32> {
            if let scalar = UnicodeScalar(value) {
                scalars.append(scalar)
            }
            if value & 0xFFF == 0xFFF {
                let text = String(scalars)
                let bytes = try JSONWriter.bytes(of: text)
                #expect(try Array(JSONReader.read(String.self, from: bytes).utf8) == Array(text.utf8))
                scalars = String.UnicodeScalarView()
            }
        }
    }

    @Test func base64IsReadWithOrWithoutPaddingAndEscapes() throws {
        func read(_ json: String) throws(JSONError) -> [UInt8] {
            let bytes = Array(json.utf8)
            return try JSONReader.withReader(over: bytes.span) { (reader) throws(JSONError) in try reader.readBase64() }
        }
        #expect(try read(#""""#) == [])
        #expect(try read(#""AA==""#) == [0])
        #expect(try read(#""AA""#) == [0])
        #expect(try read(#""AAE=""#) == [0, 1])
        #expect(try read(#""AAEC""#) == [0, 1, 2])
        #expect(try read(#""\/+\/+""#) == [0xFF, 0xEF, 0xFE])
        for wrong in [#""A""#, #""====""#, #""A===""#, #""AA=A""#, #""AAEC=""#, #""AA E""#, #""A-_A""#, #""AAä""#] {
            let error = #expect(throws: JSONError.self, "\(wrong)") { try read(wrong) }
            #expect(error?.code == .invalidValue)
            #expect(error?.offset == 0)
        }
        var generator = SeededGenerator()
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            var writer = JSONWriter()
            writer.writeBase64(bytes)
            let json = try writer.finish()
            #expect(try read(String(decoding: json, as: UTF8.self)) == bytes)
        }
    }
}

import StreamingJSON
import Testing

struct JSONWriterTests {
    private func text(
        _ options: JSONWriter.Options = [],
        _ body: (inout JSONWriter) -> Void
    ) throws(JSONError) -> String {
        var writer = JSONWriter(options: options)
        body(&writer)
        return String(decoding: try writer.finish(), as: UTF8.self)
    }

    private func sample(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("name")
        writer.write("Mist/Kit")
        writer.key("empty" as String)
        writer.beginArray()
        writer.endArray()
        writer.key("values")
        writer.beginArray()
        writer.write(1)
        writer.write(-2.0)
        writer.write(0.5 as Float)
        writer.write(true)
        writer.writeNull()
        writer.beginObject()
        writer.endObject()
        writer.endArray()
        writer.key("rest")
        writer.write(["b": [1, nil], "a": []] as [String: [Int?]])
        writer.endObject()
    }

    @Test func compactTextHasNoSpace() throws {
        #expect(
            try text(.sortedKeys, sample)
                == #"{"name":"Mist/Kit","empty":[],"values":[1,-2.0,0.5,true,null,{}],"rest":{"a":[],"b":[1,null]}}"#
        )
    }

    @Test func prettyTextHasOneLineForEachElement() throws {
        #expect(
            try text([.prettyPrinted, .sortedKeys, .escapingSlashes, .wholeDoublesWithoutFraction], sample) == #"""
                {
                  "name" : "Mist\/Kit",
                  "empty" : [],
                  "values" : [
                    1,
                    -2,
                    0.5,
                    true,
                    null,
                    {}
                  ],
                  "rest" : {
                    "a" : [],
                    "b" : [
                      1,
                      null
                    ]
                  }
                }
                """#
        )
    }

    @Test func membersThatAreSpelledAlreadyStandAmongOthers() throws {
        func object(with members: JSONRawValue, _ options: JSONWriter.Options = []) throws(JSONError) -> String {
            try text(options) { writer in
                writer.beginObject()
                writer.writeMembers(of: members)
                writer.key("last")
                writer.write(1)
                writer.writeMembers(of: members)
                writer.endObject()
            }
        }
        #expect(try object(with: JSONRawValue(parsing: #"{"a":1,"b":{}}"#)) == #"{"a":1,"b":{},"last":1,"a":1,"b":{}}"#)
        #expect(try object(with: JSONRawValue(parsing: "{}")) == #"{"last":1}"#)
        #expect(throws: JSONError.self) { try object(with: JSONRawValue(parsing: "[1]")) }
    }

    @Test func stringsEscapeWhatTheyMust() throws {
        #expect(
            try text { $0.write("\"\\/\u{8}\u{C}\n\r\t\u{0}\u{1F}\u{7F}ä😀") } == #""\"\\/\b\f\n\r\t\u0000\u001f"#
                + "\u{7F}ä😀\""
        )
        for length in 0..<40 {
            for place in 0..<max(length, 1) where length > 0 {
                var bytes = Array(repeating: UInt8(ascii: "x"), count: length)
                for (special, spelling) in [("\n", #"\n"#), ("/", #"\/"#), ("\u{1}", #"\u0001"#), ("\"", #"\""#)] {
                    bytes[place] = special.utf8.first ?? 0
                    let value = String(decoding: bytes, as: UTF8.self)
                    let plain = String(repeating: "x", count: length)
                    let expected = plain.prefix(place) + spelling + plain.dropFirst(place + 1)
                    #expect(try text(.escapingSlashes) { $0.write(value) } == "\"\(expected)\"")
                }
            }
        }
        let long = String(repeating: "\u{1}", count: 10_000)
        #expect(try text { $0.write(long) } == "\"" + String(repeating: #"\u0001"#, count: 10_000) + "\"")
    }

    @Test func emptyContainersMayHaveAnEmptyLine() throws {
        let options: JSONWriter.Options = [.prettyPrinted, .emptyLinesInEmptyContainers]
        let value: [[String: [Int]]] = [[:], ["a": []]]
        #expect(try text(options) { $0.write(value) } == "[\n  {\n\n  },\n  {\n    \"a\" : [\n\n    ]\n  }\n]")
        #expect(try text(.emptyLinesInEmptyContainers) { $0.write(value) } == #"[{},{"a":[]}]"#)
    }

    @Test func slashesOfBase64AreEscapedLikeOthers() throws {
        for count in 0..<50 {
            let bytes = [UInt8](repeating: 0xFF, count: count)
            let plain = try text { $0.writeBase64(bytes) }
            #expect(plain.filter { $0 == "/" }.count == count / 3 * 4 + count % 3)
            #expect(try text(.escapingSlashes) { $0.writeBase64(bytes) } == plain.replacing("/", with: #"\/"#))
        }
    }

    @Test func staticStringsAreStringsToo() throws {
        let value: StaticString = "a\"b"
        let single: StaticString = "é"
        #expect(
            try text {
                $0.beginArray()
                $0.write(value)
                $0.write(single)
                $0.write("plain")
                $0.endArray()
            } == #"["a\"b","é","plain"]"#
        )
    }

    @Test func keysAreEscapedToo() throws {
        #expect(
            try text {
                $0.beginObject()
                $0.key("a\"b")
                $0.write(1)
                $0.key("c\nd" as String)
                $0.write(2)
                $0.endObject()
            } == #"{"a\"b":1,"c\nd":2}"#
        )
    }

    @Test(arguments: [
        (0.0, "0.0", "0"), (-0.0, "-0.0", "-0"), (1, "1.0", "1"), (-1, "-1.0", "-1"), (0.1, "0.1", "0.1"),
        (1e15, "1000000000000000.0", "1000000000000000"), (1e16, "1e+16", "1e+16"), (1.5e300, "1.5e+300", "1.5e+300"),
        (.leastNonzeroMagnitude, "5e-324", "5e-324"), (-123.456, "-123.456", "-123.456"), (100.25, "100.25", "100.25"),
        (1_700_000_000_123, "1700000000123.0", "1700000000123"),
    ])
    func doublesAreAsShortAsTheyCanBe(value: Double, plain: String, whole: String) throws {
        #expect(try text { $0.write(value) } == plain)
        #expect(try text(.wholeDoublesWithoutFraction) { $0.write(value) } == whole)
    }

    @Test func whatIsNoNumberMakesTheWriterFail() throws {
        for value in [Double.nan, .infinity, -.infinity] {
            let error = #expect(throws: JSONError.self) { try JSONWriter.bytes(of: [1, value]) }
            #expect(error?.code == .notRepresentable)
            #expect(throws: JSONError.self) { try JSONWriter.bytes(of: Float(value)) }
        }
    }

    @Test func theFirstErrorIsKept() throws {
        let first = JSONError(code: .invalidValue, message: "first")
        let error = #expect(throws: JSONError.self) {
            try text {
                $0.fail(first)
                $0.fail(JSONError(code: .invalidValue, message: "second"))
                $0.write(1)
            }
        }
        #expect(error == first)
    }

    @Test func whatIsNotOneWholeValueIsRefused() throws {
        #expect(throws: JSONError.self) { try text { _ in } }
        #expect(throws: JSONError.self) { try text { $0.beginArray() } }
        #expect(throws: JSONError.self) { try text { $0.endArray() } }
        #expect(throws: JSONError.self) {
            try text {
                $0.beginObject()
                $0.key("a")
                $0.endObject()
            }
        }
        #expect(throws: JSONError.self) {
            try text {
                $0.write(1)
                $0.write(2)
            }
        }
    }

    @Test func rawValuesAreWrittenAsTheyAreSpelled() throws {
        let raw = try JSONRawValue(parsing: #" {"a" : 1.50} "#)
        #expect(try text { $0.write([raw, raw]) } == #"[{"a" : 1.50},{"a" : 1.50}]"#)
    }
}

import Foundation
import StreamingJSON
import TestSupport
import Testing

struct GrammarTests {
    static let suite: [String] = {
        let folder = SharedFolder.url.appending(path: "json-test-suite").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted()
    }()

    @Test(.enabled(if: !suite.isEmpty, "needs ../shared/json-test-suite"))
    func theSuiteIsComplete() {
        #expect(Self.suite.count > 300)
    }

    @Test(.enabled(if: !suite.isEmpty, "needs ../shared/json-test-suite"), arguments: suite)
    func everyFileBehavesAsItsFirstLetterSays(name: String) throws {
        let bytes = try SharedFolder.bytes("json-test-suite/\(name)")
        var raw: JSONRawValue?
        var value: JSONValue?
        var failure: JSONError?
        do throws(JSONError) {
            raw = try JSONReader.read(JSONRawValue.self, from: bytes)
            value = try JSONReader.read(JSONValue.self, from: bytes)
        } catch {
            failure = error
        }
        switch name.first {
        case "y":
            #expect(failure == nil)
            #expect(value != nil)
            // The value can be written and read again.
            let written = try JSONWriter.bytes(of: value)
            #expect(try JSONReader.read(JSONValue.self, from: written) == value)
            #expect(try raw?.read(JSONValue.self) == value)
        case "n":
            #expect(raw == nil)
            #expect(failure?.offset.map { (0...bytes.count).contains($0) } == true)
            #expect(failure?.path?.hasPrefix("$") == true)
        default:
            // Both results are right, but reading must end. A number that no Double holds may still be skipped.
            #expect(failure != nil || value != nil)
        }
    }

    @Test(arguments: [
        ("", "unexpectedEnd at $ (byte 0): expected a value, found the end of the input"),
        ("  ", "unexpectedEnd at $ (byte 2): expected a value, found the end of the input"),
        ("{", "unexpectedEnd at $ (byte 1): the input ends inside of an object"),
        (#"{"a""#, "unexpectedEnd at $.a (byte 4): the input ends inside of an object"),
        (#"{"a":"#, "unexpectedEnd at $.a (byte 5): expected a value, found the end of the input"),
        (#"{"a":1"#, "unexpectedEnd at $.a (byte 6): the input ends inside of an object"),
        (#"{"a":1,"#, "unexpectedEnd at $ (byte 7): the input ends inside of an object"),
        (#"{"a":1,}"#, "malformed at $ (byte 7): expected a key in quotes, found '}'"),
        (#"{"a" 1}"#, "malformed at $.a (byte 5): expected ':' after a key"),
        (#"{a:1}"#, "malformed at $ (byte 1): expected a key in quotes, found 'a'"),
        ("[1 2]", "malformed at $[0] (byte 3): expected ',' or ']' after an element of an array"),
        ("[1,]", "malformed at $[1] (byte 3): expected a value, found ']'"),
        ("[1", "unexpectedEnd at $[0] (byte 2): the input ends inside of an array"),
        ("[1}", "malformed at $[0] (byte 2): expected ',' or ']' after an element of an array"),
        ("[tru", "unexpectedEnd at $[0] (byte 1): the input ends inside of 'true'"),
        ("[nul]", "malformed at $[0] (byte 1): expected a value; this begins like 'null' but is not"),
        ("[\u{7}]", "malformed at $[0] (byte 1): expected a value, found the byte 0x7"),
        ("1 2", "trailingData at $ (byte 2): unexpected data after the end of the value"),
        ("01", "malformed at $ (byte 0): a number cannot begin with 0 and more digits"),
        ("[-]", "malformed at $[0] (byte 2): expected a digit of a number"),
        ("1.", "unexpectedEnd at $ (byte 2): the input ends inside of a number"),
        ("1e+", "unexpectedEnd at $ (byte 3): the input ends inside of a number"),
        (
            #"{"a b":[{"c":"\x"}]}"#,
            #"malformed at $["a b"][0].c (byte 14): there is no such escape; a backslash is written \\"#
        ),
    ])
    func errorsOfSkippingTellThePlace(json: String, description: String) {
        let error = #expect(throws: JSONError.self) { try JSONRawValue(parsing: json) }
        #expect(error?.description == description)
    }

    @Test func readingTheSameErrorsAsSkipping() throws {
        // For each prefix of a document, reading and skipping report the same error.
        let json = #" {"a" : [1, -2.5e3, {"b\u00e9" : "x\ny", "c":[[],{}]}, true, null], "d" : "ÄÖ😀" } "#
        let bytes = Array(json.utf8)
        for count in 0..<bytes.count - 2 {
            let part = Array(bytes[..<count])
            let skipping = #expect(throws: JSONError.self, "\(count)") { try JSONRawValue(parsing: part) }
            let reading = #expect(throws: JSONError.self, "\(count)") {
                try JSONReader.read(JSONValue.self, from: part)
            }
            #expect(skipping?.code == reading?.code, "\(count)")
            #expect(skipping?.offset == reading?.offset, "\(count)")
        }
    }

    @Test func theDepthLimitIsExact() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        let options = JSONReader.Options(maximumDepth: 100)
        #expect(throws: Never.self) { try JSONReader.read(JSONRawValue.self, from: nested(100), options: options) }
        #expect(throws: Never.self) { try JSONReader.read(JSONValue.self, from: nested(100), options: options) }
        for json in [nested(101), String(repeating: #"{"a":"#, count: 101), nested(1_000_000)] {
            let skipping = #expect(throws: JSONError.self) {
                try JSONReader.read(JSONRawValue.self, from: json, options: options)
            }
            #expect(skipping?.code == .depthLimitExceeded)
            let reading = #expect(throws: JSONError.self) {
                try JSONReader.read(JSONValue.self, from: json, options: options)
            }
            #expect(reading?.code == .depthLimitExceeded)
            #expect(reading?.offset == skipping?.offset)
        }
        // Skipping does not recurse.
        let deep = JSONReader.Options(maximumDepth: .max)
        #expect(throws: Never.self) { try JSONReader.read(JSONRawValue.self, from: nested(1_000_000), options: deep) }
        let mixed = String(repeating: #"[{"a":"#, count: 500) + "1" + String(repeating: "}]", count: 500)
        #expect(throws: Never.self) { try JSONReader.read(JSONRawValue.self, from: mixed, options: deep) }
        let crossed = String(repeating: #"[{"a":"#, count: 500) + "1" + String(repeating: "]}", count: 500)
        #expect(throws: JSONError.self) { try JSONReader.read(JSONRawValue.self, from: crossed, options: deep) }
    }

    @Test func aByteOrderMarkIsPassedOverAtTheBeginningOnly() throws {
        #expect(try JSONReader.read(JSONValue.self, from: [0xEF, 0xBB, 0xBF] + Array("[1]".utf8)) == [1])
        let later = #expect(throws: JSONError.self) {
            try JSONReader.read(JSONValue.self, from: Array("[".utf8) + [0xEF, 0xBB, 0xBF] + Array("1]".utf8))
        }
        #expect(later?.offset == 1)
        #expect(throws: JSONError.self) { try JSONReader.read(JSONValue.self, from: [0xEF, 0xBB, 0xBF]) }
    }
}

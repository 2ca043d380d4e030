import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// The head of a message, as generated code reads it.
struct MessageReadingTests {
    // MARK: Header fields

    /// The fields of a message with the name `x` or with other names, and the joined text of those with the name `x`.
    struct Fields: Sendable, CustomTestStringConvertible {
        var fields: [(name: String, value: String)]
        var text: String?

        init(_ fields: [(name: String, value: String)], _ text: String?) {
            self.fields = fields
            self.text = text
        }

        var testDescription: String { fields.map { "\($0): \($1)" }.joined(separator: "\n") }

        func message(_ encoding: HeaderValueEncoding) -> ReceivedMessage {
            var message = ReceivedMessage(SentMessage())
            for (name, value) in fields {
                message.headerFields.append(HTTPField(name: .init(name)!, value: value))
            }
            message.configuration.headerValueEncoding = encoding
            return message
        }
    }

    private static let plain: [Fields] = [
        Fields([], nil),
        Fields([("y", "a")], nil),
        Fields([("x", "")], ""),
        Fields([("x", "a")], "a"),
        Fields([("y", "a"), ("X", "b"), ("xx", "c")], "b"),
        Fields([("x", "a"), ("y", "b"), ("X", "c")], "a, c"),
        Fields([("x", "a"), ("x", "b"), ("x", "a")], "a, b, a"),
        Fields([("x", ""), ("x", "")], ","),
        Fields([("x", "a"), ("x", "")], "a,"),
        Fields([("x", "a, b;c=\"d\"")], "a, b;c=\"d\""),
        Fields([("x", "\"quoted\" \\ {}")], "\"quoted\" \\ {}"),
        Fields([("x", "null")], "null"),
        Fields([("x", "é\u{1F600}")], "é\u{1F600}"),
    ]

    @Test(arguments: plain, [HeaderValueEncoding.plain, .percentEncoded])
    func aHeaderFieldIsReadAsText(fields: Fields, encoding: HeaderValueEncoding) throws {
        let message = fields.message(encoding)
        #expect(try message.header("x", .string, String.self) == fields.text)
        let read = try message.header("X", .string) { (reader) throws(JSONError) in try reader.readString() }
        #expect(read == fields.text)
        #expect(try message.header("x", .string, Name.self)?.rawValue == fields.text)
    }

    private static let encoded: [(value: String, plain: String, decoded: String)] = [
        ("a%20b", "a%20b", "a b"), ("%C3%A9", "%C3%A9", "é"), ("%zz%2", "%zz%2", "%zz%2"), ("%0A", "%0A", "\n"),
        ("%FF", "%FF", "\u{FFFD}"), ("a+b", "a+b", "a+b"), ("%20a%20", "%20a%20", " a "), ("%22%5C", "%22%5C", "\"\\"),
    ]

    @Test(arguments: encoded)
    func theConfigurationSaysWhetherAHeaderFieldIsPercentEncoded(value: String, plain: String, decoded: String) throws {
        let fields = Fields([("x", value)], nil)
        #expect(try fields.message(.plain).requiredHeader("x", .string, String.self) == plain)
        #expect(try fields.message(.percentEncoded).requiredHeader("x", .string, String.self) == decoded)
    }

    @Test func theShapeSaysWhatAHeaderFieldIs() throws {
        let number = Fields([("x", "07")], nil).message(.plain)
        #expect(try number.header("x", .string, String.self) == "07")
        #expect(throws: GeneratedCodeError.self) { try number.header("x", .number, Int.self) }
        let text = Fields([("x", "7")], nil).message(.plain)
        #expect(try text.header("x", .number, Int.self) == 7)
        #expect(try text.header("x", .any, JSONValue.self) == 7)
        #expect(try text.header("x", .string, JSONValue.self) == "7")
        #expect(try text.header("x", .array(.string), [String].self) == ["7"])
        #expect(try text.header("x", .choice([.boolean, .string]), String.self) == "7")
        #expect(throws: GeneratedCodeError.self) { try text.header("x", .string, Int.self) }
        #expect(throws: GeneratedCodeError.self) { try text.header("x", .number, String.self) }
        let date = Fields([("x", "1970-01-01T00:00:00Z")], nil).message(.plain)
        #expect(
            try date.header("x", .string) { (reader) throws(JSONError) in try reader.readDate() }
                == Date(timeIntervalSince1970: 0)
        )
    }

    @Test func aReaderMustReadTheHeaderFieldAndNothingElse() throws {
        let message = Fields([("x", "a")], nil).message(.plain)
        #expect(throws: GeneratedCodeError.self) {
            try message.header("x", .string) { (_: inout JSONReader) throws(JSONError) in 1 }
        }
        #expect(throws: GeneratedCodeError.self) {
            try message.header("x", .string) { (reader) throws(JSONError) in
                _ = try reader.readString()
                return try reader.readString()
            }
        }
    }

    @Test func aHeaderFieldThatMustBeThereIsMissed() throws {
        let message = Fields([("y", "a")], nil).message(.plain)
        #expect(throws: GeneratedCodeError.self) { try message.requiredHeader("x", .string, String.self) }
        #expect(throws: GeneratedCodeError.self) { try message.requiredHeader("not a name", .string, String.self) }
        #expect(try message.header("not a name", .string, String.self) == nil)
    }

    @Test func aHeaderFieldMayHoldJSON() throws {
        let message = Fields([("x", "{\"a\":1"), ("x", "\"b\":2}")], nil).message(.plain)
        #expect(try message.jsonHeader("x", JSONValue.self) == ["a": 1, "b": 2])
        #expect(try message.jsonHeader("y", JSONValue.self) == nil)
    }

    @Test func cookiesAreJoinedBySemicolons() throws {
        let message = Fields([("Cookie", "a=1"), ("cookie", "b=2")], nil).message(.plain)
        #expect(try message.header("cookie", .string, String.self) == "a=1; b=2")
    }

    // MARK: Content types

    private static let contentTypes: [(fields: [String], index: Int?)] = [
        ([], 0), (["text/plain"], 1), (["text/plain; charset=utf-8"], 1), (["text/plain; charset=UTF-8"], 1),
        (["application/json; charset=utf-8"], 0), (["TEXT/PLAIN; charset=UTF-8"], 1), (["text/plain;charset=utf-8"], 1),
        (["image/png"], nil), (["*/*"], 0), (["nonsense"], 0),
        (["text/plain; charset=latin-1"], 1), (["text/plain; charset=utf-8; charset=utf-8"], 1),
        (["application/json; charset=utf-16"], 0), (["application/jsun; charset=utf-8"], nil),
        // Two fields are joined to one text, which is not a content type.
        (["text/plain", "application/json"], 0),
    ]

    @Test(arguments: contentTypes)
    func theContentTypeSelectsABody(fields: [String], index: Int?) throws {
        let message = Fields(fields.map { ("content-type", $0) }, nil).message(.plain)
        let documented = ["application/json", "text/plain"]
        if let index {
            #expect(try message.matchContentType(documented) == index)
        } else {
            #expect(throws: GeneratedCodeError.self) { try message.matchContentType(documented) }
        }
    }
}

/// A string in a type of its own.
private struct Name: OpenStringEnumeration {
    var rawValue: String

    init(rawValue: String) { self.rawValue = rawValue }
    init(stringLiteral value: String) { rawValue = value }

    static var allCases: [Name] { [] }
}

/// The selection of a body among content types that differ only in their parameters.
struct ContentTypeParameterTests {
    private static let fields: [(field: String, index: Int)] = [
        ("text/plain", 0), ("text/plain; charset=utf-8", 1), ("text/plain; charset=UTF-8", 0),
        ("text/plain; version=2", 2), ("text/plain; version=2; charset=utf-8", 2),
    ]

    @Test(arguments: fields)
    func theSpellingOfTheDocumentComesFirst(field: String, index: Int) throws {
        let message = ReceivedMessage(contentType: field, body: nil)
        let documented = ["text/plain", "text/plain; charset=utf-8", "text/plain; version=2"]
        #expect(try message.matchContentType(documented) == index)
    }
}

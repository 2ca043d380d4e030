import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// The head of a request, as generated code writes it.
struct ClientRequestTests {
    // MARK: Paths

    /// A value, and its form in a path.
    struct Placeholder: Sendable, CustomTestStringConvertible {
        var path: String
        var add: @Sendable (inout ClientRequest) throws -> Void

        /// A text that generated code passes as a string.
        init(text: String, _ path: String) {
            self.path = path
            add = { try $0.addPath(parameter: text) }
        }

        init<T: JSONWritable & Sendable>(_ value: T, _ path: String) {
            self.path = path
            add = { try $0.addPath(parameter: value) }
        }

        /// A value that generated code writes with a closure.
        init<T: Sendable>(_ value: T, _ path: String, _ write: @escaping @Sendable (T, inout JSONWriter) -> Void) {
            self.path = path
            add = { try $0.addPath(parameter: value, write) }
        }

        var testDescription: String { path }
    }

    private static let texts: [(text: String, path: String)] = [
        ("", ""),
        ("AZaz09-._~", "AZaz09-._~"),
        ("iCloud.com.example.app", "iCloud.com.example.app"),
        ("a b/c?d=e&f#g", "a%20b%2Fc%3Fd%3De%26f%23g"),
        ("100%25", "100%2525"),
        ("!$'()*+,;:@[]", "%21%24%27%28%29%2A%2B%2C%3B%3A%40%5B%5D"),
        (#"a"b\c"#, "a%22b%5Cc"),
        ("\u{0}\t\n\u{1F}\u{7F}", "%00%09%0A%1F%7F"),
        ("é", "%C3%A9"),
        ("e\u{301}", "e%CC%81"),
        ("\u{2028}\u{1F600}", "%E2%80%A8%F0%9F%98%80"),
        ("null", "null"),
        ("\"quoted\"", "%22quoted%22"),
    ]

    private static let strings = texts.flatMap { text, path in
        [
            Placeholder(text: text, path), Placeholder(text, path), Placeholder(Ward(rawValue: text), path),
            Placeholder(JSONValue.string(text), path), Placeholder(text, path) { $1.write($0) },
            Placeholder(Ward(rawValue: text), path) { $0.write(json: &$1) },
        ]
    }

    private static let others = [
        Placeholder(Shift.nightDuty, "night%2Fduty"),
        Placeholder(Int.min, "-9223372036854775808"), Placeholder(UInt64.max, "18446744073709551615"),
        Placeholder(7 as Int8, "7"), Placeholder(true, "true"), Placeholder(false, "false"),
        Placeholder(1.0, "1.0"), Placeholder(0.1 as Float, "0.1"), Placeholder(-0.0, "-0.0"),
        Placeholder(JSONValue.null, ""),
        Placeholder(Date(timeIntervalSince1970: 0), "1970-01-01T00%3A00%3A00Z") { $1.writeDate($0) },
        Placeholder(["a", "b,c", ""], "a,b%2Cc,"), Placeholder(["a"], "a"), Placeholder([] as [String], ""),
        Placeholder(["B": 1, "a": "x y"] as JSONValue, "a,x%20y,B,1"),
        // The written JSON counts, and not the raw value of the type.
        Placeholder(Bed(rawValue: "seven"), "5"),
        Placeholder(AsSpelled(json: #""\u0041\/\ud83d\ude00\n""#), "A%2F%F0%9F%98%80%0A"),
        Placeholder(AsSpelled(json: #""a\"b""#), "a%22b"),
        Placeholder(AsSpelled(json: #""\\""#), "%5C"),
        Placeholder(AsSpelled(json: #" "a" "#), "a"),
        Placeholder(AsSpelled(json: #"1.50"#), "1.50"),
        Placeholder(AsSpelled(json: #"["a", "b"]"#), "a,b"),
        Placeholder(AsSpelled(json: #"null"#), ""),
    ]

    @Test(arguments: strings + others)
    func aPlaceholderIsPercentEncoded(placeholder: Placeholder) async throws {
        let request = try await sentRequest { request in
            request.addPath("/op/")
            try placeholder.add(&request)
            request.addPath("/end")
        }
        #expect(request.path == "/op/\(placeholder.path)/end")
    }

    private static let impossible: [Placeholder] = [
        Placeholder(Double.infinity, ""),
        Placeholder([[1]] as JSONValue, ""),
        Placeholder(["a": ["b": 1]] as JSONValue, ""),
        Placeholder(Date(timeIntervalSince1970: .infinity), "") { $1.writeDate($0) },
        // Closures that do not write exactly one value.
        Placeholder((), "") { _, _ in },
        Placeholder((), "") { _, writer in writer.beginArray() },
        Placeholder((), "") { _, writer in
            writer.write("a")
            writer.write("b")
        },
        Placeholder((), "") { _, writer in
            writer.write("a")
            writer.fail(JSONError(code: .invalidValue, message: "no"))
        },
    ]

    @Test(arguments: impossible.indices)
    func aValueThatAPathCannotHoldIsRefused(index: Int) async throws {
        await #expect(throws: ClientError.self) {
            try await sentRequest { try Self.impossible[index].add(&$0) }
        }
    }

    @Test func theDatesOfAPathAreThoseOfTheConfiguration() async throws {
        let date = Date(timeIntervalSince1970: 0.25)
        let request = try await sentRequest(Configuration(dateTranscoder: .iso8601WithFractionalSeconds)) { request in
            try request.addPath(parameter: date) { $1.writeDate($0) }
        }
        #expect(request.path == "1970-01-01T00%3A00%3A00.250Z")
    }

    @Test func theQueryFollowsThePath() async throws {
        let request = try await sentRequest { request in
            request.addPath("/op/")
            try request.add(.query, "a", Ward(rawValue: "x&y"))
            try request.addPath(parameter: "p?q")
            try request.add(.query, "b", 1)
        }
        #expect(request.path == "/op/p%3Fq?a=x%26y&b=1")
    }

    // MARK: Accept

    private typealias Accept = AcceptHeaderContentType<PictureType>

    private static let accepts: [([AcceptHeaderContentType<PictureType>], String?)] = [
        ([], nil),
        ([Accept(contentType: .png)], "image/png"),
        ([Accept(contentType: .png, quality: 1)], "image/png"),
        ([Accept(contentType: .png, quality: 0.5)], "image/png; q=0.500"),
        ([Accept(contentType: .png, quality: 0)], "image/png; q=0.000"),
        ([Accept(contentType: .other("image/*"))], "image/*"),
        ([Accept(contentType: .other("Image/GIF; a=\"b, c\""))], "Image/GIF; a=\"b, c\""),
        (Accept.defaultValues, "image/png, image/jpeg"),
        // The order is the caller's, regardless of the qualities.
        (
            [Accept(contentType: .jpeg, quality: 0.1), Accept(contentType: .other("*/*"), quality: 0.9)],
            "image/jpeg; q=0.100, */*; q=0.900"
        ),
        (
            [Accept(contentType: .png), Accept(contentType: .jpeg, quality: 0.1234), Accept(contentType: .png)],
            "image/png, image/jpeg; q=0.123, image/png"
        ),
    ]

    @Test(arguments: accepts)
    func acceptListsTheTypesInTheirOrder(
        types: [AcceptHeaderContentType<PictureType>],
        text: String?
    ) async throws {
        let request = try await sentRequest { $0.setAccept(types) }
        #expect(request.headerFields[values: .accept] == [text].compactMap(\.self))
    }

    @Test func acceptOfNoTypesLeavesTheFieldAsItIs() async throws {
        let request = try await sentRequest { request in
            request.setAccept([Accept(contentType: .png)])
            request.setAccept([] as [Accept])
        }
        #expect(request.headerFields[.accept] == "image/png")
    }
}

// MARK: - Values

/// A name, in the form that generated code has for an open enumeration of strings.
private struct Ward: OpenStringEnumeration {
    var rawValue: String

    init(rawValue: String) { self.rawValue = rawValue }
    init(stringLiteral value: String) { rawValue = value }

    static var allCases: [Ward] { [] }
}

/// A name, in the form that generated code has for a closed enumeration.
private enum Shift: String, JSONWritable {
    case nightDuty = "night/duty"

    func write(json writer: inout JSONWriter) { writer.write(rawValue) }
}

/// A user's type that does not write its raw value.
private struct Bed: RawRepresentable, JSONWritable {
    var rawValue: String

    func write(json writer: inout JSONWriter) { writer.write(rawValue.count) }
}

/// Writes JSON text unchanged.
private struct AsSpelled: JSONWritable {
    var json: String

    func write(json writer: inout JSONWriter) {
        do {
            writer.writeRaw(try JSONRawValue(parsing: json))
        } catch {
            writer.fail(error)
        }
    }
}

enum PictureType: AcceptableProtocol {
    case png
    case jpeg
    case other(String)

    init?(rawValue: String) { self = .other(rawValue) }

    var rawValue: String {
        switch self {
        case .png: "image/png"
        case .jpeg: "image/jpeg"
        case .other(let text): text
        }
    }

    static var allCases: [Self] { [.png, .jpeg] }
}

import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization
import TestSupport
import Testing

/// Any input gives an error or a value. It never traps, and takes no more time than its length requires.
///
/// The environment variable `MISTKIT_FUZZ_RUNS` is the number of inputs of each test.
struct AnyBytesTests {

    private let seed: UInt64
    private var generator: SeededGenerator

    init() {
        seed = UInt64.random(in: 0...UInt64.max)
        generator = SeededGenerator(seed: seed)
    }

    /// Malformed texts: mutated originals, and random bytes.
    private mutating func texts(of originals: [String], _ pieces: [String]) -> [String] {
        (0..<fuzzRuns).map { run in
            if run.isMultiple(of: 5) {
                let count = Int.random(in: 0...80, using: &generator)
                let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                return String(decoding: bytes, as: UTF8.self)
            }
            let original = originals.randomElement(using: &generator) ?? ""
            return String(decoding: Array(original.utf8).mutated(with: pieces, using: &generator), as: UTF8.self)
        }
    }

    private static let object = ParameterShape.object(
        [
            "a": .string, "b": .number, "c": .boolean, "l": .array(.number),
            "o": .object(["x": .any], additional: .string),
            "r": .requiredArray(.string), "j": .json,
        ],
        additional: .any
    )

    private static let shapes: [ParameterShape] = [
        .string, .number, .boolean, .any, .json, .array(.string), .array(.number), .array(object),
        .choice([.number, .array(.boolean), .string]), .choice([object, .array(.any)]), object,
    ]

    @Test mutating func queriesAndPathsAndCookies() async throws {
        let originals = [
            "k=a&k=b%20c&a=1&b=2", "k=a,1,b,2&x=%F0%9F%98%80", "k[a]=1&k[b][]=2&k%5Bl%5D%5B0%5D=3", "k=a%20b|c%7Cd",
            "k=%7B%22a%22%3A%5B1%2C2%5D%7D", "a=1; k=\"x y\"; b=2",
        ]
        let pieces = [
            "k=", "&", ";", "=", "[", "]", "][", "%", "%5B", "%7c", "|", ",", "\"", "{", "}", "-1e9", "true", "#", "?",
        ]
        let texts = texts(of: originals, pieces)
        let styles: [ParameterStyle] = [.form, .deepObject, .spaceDelimited, .pipeDelimited, .json, .cookie, .simple]
        let seed = seed
        // Each text is read in one way only, since all ways for all texts would take hundreds of times as long.
        let ways = Mutex(generator)
        let server = UniversalServer(
            serverURL: .defaultOpenAPIServerURL,
            handler: (),
            configuration: .init(),
            middlewares: [ErrorHandlingMiddleware()]
        )
        let transport = InProcessTransport { error in Issue.record("\(error), seed \(seed)") }
        try server.register(
            on: transport,
            operationID: "op",
            method: .get,
            path: "/{path}/op",
            decode: { request in
                let (shape, style, explode) = ways.withLock { generator in
                    (
                        Self.shapes.randomElement(using: &generator) ?? .any,
                        styles.randomElement(using: &generator) ?? .form,
                        Bool.random(using: &generator)
                    )
                }
                func attempt(_ read: () throws -> JSONValue?) {
                    do {
                        _ = try read()
                    } catch {
                        if !(error is GeneratedCodeError) { Issue.record("\(error), seed \(seed)") }
                    }
                }
                attempt { try request.path("path", shape, JSONValue.self) }
                attempt { try request.parameter(.query, "k", shape, JSONValue.self, style: style, explode: explode) }
                attempt { try request.parameter(.cookie, "k", shape, JSONValue.self, style: style, explode: explode) }
            },
            handle: { _, _ in },
            encode: { _, _ in }
        )
        let url = try #require(URL(string: "http://host"))
        for text in texts {
            let path = PathText.segment(text)
            var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/\(path)/op?\(text)")
            if let field = HTTPField.Value.valid(text) { request.headerFields[.cookie] = field }
            _ = try await transport.send(request, body: nil, baseURL: url, operationID: "op")
        }
    }

    @Test mutating func formsWithStyles() throws {
        let originals = ["a=1&l=1,2&o[x]=y&r=a+b&r=%2B&j=%7B%22a%22%3A1%7D", "o[x][y]=1&s=a+b&p=a%7Cb&=1&x"]
        let styles: [String: FormMemberStyle] = [
            "o": FormMemberStyle(.deepObject, explode: true), "l": FormMemberStyle(.form, explode: false),
            "s": FormMemberStyle(.spaceDelimited, explode: false), "p": FormMemberStyle(.pipeDelimited, explode: false),
            "j": FormMemberStyle(.json, explode: false),
        ]
        for text in texts(of: originals, ["&", "=", "+", "%", "o[", "]", "l=", "j={", "%2C", "[]"]) {
            let message = ReceivedMessage(contentType: "", body: HTTPBody(text))
            do {
                _ = try message.form(Self.object, JSONValue.self, styles: styles)
            } catch {
                #expect(error is GeneratedCodeError, "seed \(seed)")
            }
        }
    }

    @Test mutating func contentTypesAndAccept() throws {
        let originals = [
            "application/json; charset=utf-8", "text/*;q=0.5, */*;q=0.1, image/png;a=\"b,\\\"c;\"",
            "multipart/form-data; boundary=\"x\"",
        ]
        for text in texts(of: originals, ["/", ";", "=", "\"", "\\", ",", "*", "q=", "q=0.", "1e400", "nan"]) {
            _ = AcceptHeaderContentType<Types>(rawValue: text)?.rawValue
            guard let value = HTTPField.Value.valid(text) else { continue }
            let message = ReceivedMessage(contentType: value, body: nil)
            do {
                _ = try message.matchContentType(["application/json; charset=utf-8", "text/*", "image/png; a=b"])
            } catch {
                #expect(error is GeneratedCodeError, "seed \(seed)")
            }
        }
    }

    private enum Types: AcceptableProtocol {
        case json
        case other(String)

        static let allCases: [Types] = [.json]

        init?(rawValue: String) { self = rawValue == "application/json" ? .json : .other(rawValue) }

        var rawValue: String {
            switch self {
            case .json: "application/json"
            case .other(let text): text
            }
        }
    }

    @Test mutating func headerFields() throws {
        for text in texts(of: ["a, 1,b ,2", "%7B%7D", "{\"a\":1}", "1e5", "true"], [",", "%", "%2C", "{", "\"", " "]) {
            guard let value = HTTPField.Value.valid(text) else { continue }
            var message = ReceivedMessage(contentType: "", body: nil)
            message.headerFields[.init("x-k")!] = value
            for encoding in [HeaderValueEncoding.percentEncoded, .plain] {
                message.configuration.headerValueEncoding = encoding
                for shape in Self.shapes {
                    do {
                        _ = try message.header("x-k", shape, JSONValue.self)
                        _ = try message.jsonHeader("x-k", JSONValue.self)
                    } catch {
                        #expect(error is GeneratedCodeError, "seed \(seed)")
                    }
                }
            }
        }
    }

    @Test mutating func dates() {
        let originals = [
            "2026-01-18T10:04:11Z", "2026-01-18T10:04:11.250+02:00", "-2026-12-31T23:59:60-0000", "20260118",
        ]
        let transcoders: [any DateTranscoder] = [.iso8601, .iso8601WithFractionalSeconds]
        for text in texts(of: originals, ["T", "Z", "-", ":", ".", "+", "00", "99", "999999999999999999999", "٣"]) {
            for transcoder in transcoders {
                guard let date = try? transcoder.decode(text) else { continue }
                _ = try? transcoder.encode(date)
            }
        }
    }

    @Test mutating func pathsOfARouter() async throws {
        let transport = InProcessTransport()
        let templates = ["/", "/a", "/a/{x}", "/a/{x}.json", "/a/{x}/b/{y}-{z}", "/{w}/b", "/a%20b/{é}", "/a//b"]
        for template in templates {
            try transport.register({ _, _, _ in (HTTPResponse(status: .ok), nil) }, method: .get, path: template)
        }
        let url = try #require(URL(string: "http://host"))
        for text in texts(
            of: ["/a/x.json?q", "/a/1/b/2-3", "//a//", "/a%20b/c", "/a/%2F/"],
            ["/", "%", "%2F", "-", ".", "#", "?", "{", "}"]
        ) {
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: text)
            _ = try await transport.send(request, body: nil, baseURL: url, operationID: "op")
        }
        // Templates come from documents, so they can be any text.
        for text in texts(of: templates, ["{", "}", "/", "{a}", "%", "."]) {
            _ = try? transport.register({ _, _, _ in (HTTPResponse(status: .ok), nil) }, method: .put, path: text)
        }
    }
}

private enum PathText {
    /// A segment of a path, without characters that end the segment or begin a query or a fragment.
    static func segment(_ text: String) -> String {
        String(text.unicodeScalars.filter { !"/?#".unicodeScalars.contains($0) })
    }
}

extension HTTPField {
    fileprivate enum Value {
        /// The text, if it can be the value of a header field.
        static func valid(_ text: String) -> String? { HTTPField.isValidValue(text) ? text : nil }
    }
}

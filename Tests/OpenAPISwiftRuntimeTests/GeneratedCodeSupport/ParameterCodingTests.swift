import Foundation
import HTTPTypes
import StreamingJSON
import Testing

@testable @_spi(Generated) import OpenAPISwiftRuntime

/// Parameters are written to a request and read again, with the calls of generated code.
struct ParameterCodingTests {

    // MARK: Queries

    /// A value, and its form in a style.
    struct Spelling: Sendable, CustomTestStringConvertible {
        var json: String
        var style: ParameterStyle
        var explode = false
        var query: String

        var testDescription: String { query }
        var value: JSONValue { get throws { try JSONReader.read(from: json) } }
    }

    private static let lists: [Spelling] = [
        Spelling(json: #"["a","b c","d,e"]"#, style: .form, explode: true, query: "k=a&k=b%20c&k=d%2Ce"),
        Spelling(json: #"["a","b c","d,e"]"#, style: .form, query: "k=a,b%20c,d%2Ce"),
        Spelling(json: #"["a","b|c"]"#, style: .spaceDelimited, query: "k=a%20b%7Cc"),
        Spelling(json: #"["a","b c"]"#, style: .pipeDelimited, query: "k=a%7Cb%20c"),
        Spelling(json: #"["a","b/&="]"#, style: .json, query: "k=%5B%22a%22%2C%22b%2F%26%3D%22%5D"),
        Spelling(json: #"["one"]"#, style: .form, explode: true, query: "k=one"),
        Spelling(json: #"["one"]"#, style: .spaceDelimited, query: "k=one"),
    ]

    @Test(arguments: lists)
    func aListIsSpreadByItsStyle(spelling: Spelling) async throws {
        let list: JSONValue = try spelling.value
        let (style, explode) = (spelling.style, spelling.explode)
        let shape: ParameterShape = style == .json ? .json : .array(.string)
        let call = try await Passed { request in
            try request.add(.query, "k", list, style: style, explode: explode)
        } read: { [shape] request in
            try request.requiredParameter(.query, "k", shape, JSONValue.self, style: style, explode: explode)
        }
        #expect(call.request.path == "/op?\(spelling.query)")
        #expect(call.value == list)
    }

    // MARK: Paths

    /// The examples of OpenAPI 3.1.1, section 4.8.12.4, and texts that need care.
    private static let prefixed: [Spelling] = [
        Spelling(json: #""""#, style: .matrix, query: ";k"),
        Spelling(json: #""blue""#, style: .matrix, query: ";k=blue"),
        Spelling(json: #""""#, style: .matrix, explode: true, query: ";k"),
        Spelling(json: #""a;b=""#, style: .matrix, explode: true, query: ";k=a%3Bb%3D"),
        Spelling(json: #"["blue","black"]"#, style: .matrix, query: ";k=blue,black"),
        Spelling(json: #"["blue","a,b;"]"#, style: .matrix, explode: true, query: ";k=blue;k=a%2Cb%3B"),
        Spelling(json: #"["one"]"#, style: .matrix, explode: true, query: ";k=one"),
        Spelling(json: #"{"B":200,"a":"x"}"#, style: .matrix, query: ";k=a,x,B,200"),
        Spelling(json: #"{"B":200,"a":""}"#, style: .matrix, explode: true, query: ";a;B=200"),
        Spelling(json: #""""#, style: .label, query: "."),
        Spelling(json: #""a.b""#, style: .label, query: ".a.b"),
        Spelling(json: #""a.b""#, style: .label, explode: true, query: ".a.b"),
        Spelling(json: #"["blue","a.b,"]"#, style: .label, query: ".blue,a.b%2C"),
        Spelling(json: #"["blue","black"]"#, style: .label, explode: true, query: ".blue.black"),
        Spelling(json: #"{"B":1.5,"a":"x"}"#, style: .label, query: ".a,x,B,1.5"),
        Spelling(json: #"{"B":200,"a":"="}"#, style: .label, explode: true, query: ".a=%3D.B=200"),
    ]

    @Test(arguments: prefixed)
    func aPlaceholderIsExpandedByItsStyle(spelling: Spelling) throws {
        let value: JSONValue = try spelling.value
        let (style, explode) = (spelling.style, spelling.explode)
        let shape: ParameterShape =
            switch value {
            case .object: .object(["a": .string, "B": .number], additional: nil)
            case .array: .array(.string)
            default: .string
            }
        let parts = try ParameterValue(json: Array(spelling.json.utf8))
        let text = try ParameterEncoder.prefixed(parts, named: "k", style: style, explode: explode)
        #expect(text == spelling.query)
        let read = try ParameterDecoder.prefixed(text[...], shape, named: "k", style: style, explode: explode) {
            PercentEncoding.decode($0)
        }
        let result = try ParameterDecoder.read(read, shape, named: "k", dates: .standard) {
            (reader: inout JSONReader) throws(JSONError) -> JSONValue in try reader.read()
        }
        #expect(result == value)
    }

    @Test(
        arguments: [
            (#"[]"#, ParameterStyle.matrix, true), ("[]", .label, false), ("{}", .label, true), ("{}", .matrix, false),
            (#"["a.b"]"#, .label, true), (#"{"a":"1.5"}"#, .label, true), (#"{"a":{"b":1}}"#, .matrix, true),
            (#"[[1]]"#, .label, false),
        ]
    )
    func whatAStyleCannotExpressIsNotSent(json: String, style: ParameterStyle, explode: Bool) throws {
        let parts = try ParameterValue(json: Array(json.utf8))
        #expect(throws: GeneratedCodeError.self) {
            try ParameterEncoder.prefixed(parts, named: "k", style: style, explode: explode)
        }
    }

    private static let shape = ParameterShape.object(
        ["a": .string, "B": .number, "list": .array(.number), "deep": .object(["x": .string], additional: nil)],
        additional: nil
    )

    private static let objects: [Spelling] = [
        Spelling(
            json: #"{"B":1,"a":"x y","list":[1,2]}"#,
            style: .form,
            explode: true,
            query: "a=x%20y&B=1&list=1&list=2"
        ),
        Spelling(json: #"{"B":1,"a":"x y"}"#, style: .form, query: "k=a,x%20y,B,1"),
        Spelling(json: #"{"B":1,"a":"x|y"}"#, style: .spaceDelimited, query: "k=a%20x%7Cy%20B%201"),
        Spelling(json: #"{"B":1,"a":"x"}"#, style: .pipeDelimited, query: "k=a%7Cx%7CB%7C1"),
        Spelling(
            json: #"{"B":1,"a":"x]","deep":{"x":"y"},"list":[1,2]}"#,
            style: .deepObject,
            explode: true,
            query: "k%5Ba%5D=x%5D&k%5BB%5D=1&k%5Bdeep%5D%5Bx%5D=y&k%5Blist%5D=1&k%5Blist%5D=2"
        ),
        Spelling(
            json: #"["x","y"]"#,
            style: .deepObject,
            explode: true,
            query: "k%5B0%5D=x&k%5B1%5D=y"
        ),
        Spelling(
            json: #"{"items":[{"a":"x","list":[1]},{"a":"y"}]}"#,
            style: .deepObject,
            explode: true,
            query: "k%5Bitems%5D%5B0%5D%5Ba%5D=x&k%5Bitems%5D%5B0%5D%5Blist%5D=1&k%5Bitems%5D%5B1%5D%5Ba%5D=y"
        ),
    ]

    @Test(arguments: objects)
    func anObjectIsSpreadByItsStyle(spelling: Spelling) async throws {
        let object: JSONValue = try spelling.value
        let (style, explode) = (spelling.style, spelling.explode)
        var shape: ParameterShape = Self.shape
        if case .array = object { shape = .array(.string) }
        if spelling.json.contains("items") { shape = .object(["items": .array(Self.shape)], additional: nil) }
        let call = try await Passed { request in
            try request.add(.query, "k", object, style: style, explode: explode)
        } read: { [shape] request in
            try request.requiredParameter(.query, "k", shape, JSONValue.self, style: style, explode: explode)
        }
        #expect(call.request.path == "/op?\(spelling.query)")
        #expect(call.value == object)
    }

    @Test func nothingIsWrittenOfWhatIsEmptyOrMissing() async throws {
        let call = try await Passed { request in
            try request.add(.query, "a", [] as [String])
            try request.add(.query, "b", nil as String?)
            try request.add(.query, "c", [:] as JSONValue, style: .deepObject)
            try request.add(.query, "d", [] as [String], style: .pipeDelimited, explode: false)
        } read: { request in
            try request.parameter(.query, "a", .array(.string), [String].self) == nil
        }
        #expect(call.request.path == "/op")
        #expect(call.value)
    }

    @Test func numbersKeepTheirDigits() async throws {
        let call = try await Passed { request in
            try request.add(.query, "float", 0.1 as Float)
            try request.add(.query, "double", 0.1)
            try request.add(.query, "whole", 1.0)
            try request.add(.query, "large", UInt64.max)
            try request.add(.query, "list", [1.1 as Float])
        } read: { request in
            let float = try request.requiredParameter(.query, "float", .number, Float.self)
            let large = try request.requiredParameter(.query, "large", .number, UInt64.self)
            return float == 0.1 && large == .max
        }
        #expect(call.request.path == "/op?float=0.1&double=0.1&whole=1.0&large=18446744073709551615&list=1.1")
        #expect(call.value)
    }

    private static let foreign: [Spelling] = [
        Spelling(json: #"["a","b"]"#, style: .spaceDelimited, query: "k=a b"),
        Spelling(json: #"["a","b","c","d"]"#, style: .pipeDelimited, query: "k=a|b%7cc%7Cd"),
        Spelling(
            json: #"{"b":"x","c":"1"}"#,
            style: .deepObject,
            explode: true,
            query: "k[b]=x&k%5Bc%5D=1&other=2&k=3"
        ),
        Spelling(
            json: #"{"l":["1","2"],"m":{"n":"o"}}"#,
            style: .deepObject,
            explode: true,
            query: "k[l][]=1&k[l][]=2&k[m][n]=o"
        ),
    ]

    @Test(arguments: foreign)
    func spellingsOfOthersAreRead(spelling: Spelling) async throws {
        let style: ParameterStyle = spelling.style
        let shape: ParameterShape =
            style == .deepObject
            ? .object(
                ["l": .array(.string), "m": .object(["n": .string], additional: nil)],
                additional: .string
            ) : .array(.string)
        let read = try await readRequest("/op?\(spelling.query)") { request in
            try request.requiredParameter(
                .query,
                "k",
                shape,
                JSONValue.self,
                style: style,
                explode: style == .deepObject
            )
        }
        #expect(try read == spelling.value)
    }

    /// A query, and the parameter that it cannot be read as.
    struct Mistake: Sendable, CustomTestStringConvertible {
        var query: String
        var shape: ParameterShape
        var style = ParameterStyle.form

        var testDescription: String { String(query.prefix(20)) }
    }

    private static let mistakes: [Mistake] = [
        Mistake(query: "k", shape: .string),
        Mistake(query: "other&k=1", shape: .string),
        Mistake(query: "k=x", shape: .number),
        Mistake(query: "k=1e", shape: .number),
        Mistake(query: "k=TRUE", shape: .boolean),
        Mistake(query: "k=a,1,b", shape: .object([:], additional: .any)),
        Mistake(query: "k={", shape: .json, style: .json),
        Mistake(query: "k=", shape: .json, style: .json),
        Mistake(
            query: "k\(String(repeating: "[a]", count: 5000))=1",
            shape: .object([:], additional: .any),
            style: .deepObject
        ),
        Mistake(query: "x=1", shape: .string),
    ]

    @Test(arguments: mistakes)
    func aQueryThatIsNoSuchParameterIsABadRequest(
        mistake: Mistake
    ) async throws {
        let error = await #expect(throws: ServerError.self) {
            try await readRequest("/op?\(mistake.query)") { request in
                try request.requiredParameter(
                    .query,
                    "k",
                    mistake.shape,
                    JSONValue.self,
                    style: mistake.style,
                    explode: false
                )
            }
        }
        #expect(error?.httpStatus == .badRequest)
    }

    @Test func whatAStyleCannotExpressIsRefused() async throws {
        let attempts: [@Sendable (inout ClientRequest) throws -> Void] = [
            { try $0.add(.query, "k", [[1]] as JSONValue) },
            { try $0.add(.query, "k", ["a": ["b": 1]] as JSONValue) },
            { try $0.add(.query, "k", "text", style: .deepObject) },
            { try $0.add(.query, "k", ["a b", "c"], style: .spaceDelimited, explode: false) },
            { try $0.add(.query, "k", ["a|b", "c"], style: .pipeDelimited, explode: false) },
            { try $0.add(.cookie, "k", "a;b", style: .cookie) },
            { try $0.add(.cookie, "k", "é", style: .cookie) },
        ]
        for attempt in attempts {
            let error = await #expect(throws: ClientError.self) {
                try await Passed(write: attempt, read: { _ in true })
            }
            #expect(error?.underlyingError is GeneratedCodeError)
        }
    }

    // MARK: Cookies

    @Test func cookiesAreWrittenAndRead() async throws {
        let object: JSONValue = ["a": "x", "B": 1]
        let call = try await Passed { request in
            try request.add(.cookie, "session id", "a;b=\"c\", é")
            try request.add(.cookie, "count", 3)
            try request.add(.cookie, "list", ["a", "b,c"])
            try request.add(.cookie, "flat", ["a", "b,c"], explode: false)
            try request.add(.cookie, "plain", "a/b&c=d", style: .cookie)
            try request.add(.cookie, "object", object)
            try request.add(.cookie, "filter", ["a": [1]] as JSONValue, style: .json)
            try request.add(.cookie, "nothing", nil as String?)
        } read: { request in
            #expect(try request.requiredParameter(.cookie, "session id", .string, String.self) == "a;b=\"c\", é")
            #expect(try request.requiredParameter(.cookie, "count", .number, Int.self) == 3)
            #expect(try request.requiredParameter(.cookie, "list", .array(.string), [String].self) == ["a", "b,c"])
            #expect(
                try request.parameter(.cookie, "flat", .array(.string), [String].self, explode: false) == ["a", "b,c"]
            )
            #expect(try request.parameter(.cookie, "plain", .string, String.self, style: .cookie) == "a/b&c=d")
            #expect(try request.parameter(.cookie, "filter", .json, JSONValue.self) == ["a": [1]])
            #expect(try request.parameter(.cookie, "nothing", .string, String.self) == nil)
            let shape = ParameterShape.object(["a": .string, "B": .number], additional: nil)
            return try request.requiredParameter(.cookie, "object", shape, JSONValue.self)
        }
        #expect(
            call.request.headerFields[.cookie]
                == "session%20id=a%3Bb%3D%22c%22%2C%20%C3%A9; count=3; list=a; list=b%2Cc; flat=a,b%2Cc; plain=a/b&c=d; "
                + "a=x; B=1; filter=%7B%22a%22%3A%5B1%5D%7D"
        )
        #expect(call.value == object)
    }

    private static let cookies: [([String], String?)] = [
        (["b=2;a=1"], "1"), (["a=\"x y\""], "x y"), (["flag; a = 1 "], "1"), (["=x; a=1=2"], "1=2"),
        (["b=1", "a=2"], "2"),
        (["a=%zz"], "%zz"), (["a="], ""), (["A=1"], nil), ([";;;"], nil), ([], nil),
    ]

    @Test(arguments: cookies)
    func cookiesOfOthersAreReadAroundWhatIsMalformed(fields: [String], value: String?) async throws {
        var headerFields = HTTPFields()
        for field in fields { headerFields.append(HTTPField(name: .cookie, value: field)) }
        let read = try await readRequest("/op", headerFields: headerFields) { request in
            try request.parameter(.cookie, "a", .string, String.self)
        }
        #expect(read == value)
    }

    @Test func aCookieThatMustBeThereIsMissed() async throws {
        let error = await #expect(throws: ServerError.self) {
            try await readRequest("/op") { try $0.requiredParameter(.cookie, "a", .string, String.self) }
        }
        #expect(error?.httpStatus == .badRequest)
    }

    // MARK: Paths

    @Test func aPlaceholderMayHoldJSON() async throws {
        let call = try await Passed(path: "/op/{filter}") { request in
            request.addPath("/op/")
            try request.addPath(parameter: ["a": "b/c"] as JSONValue, style: .json)
        } read: { request in
            try request.path("filter", .json, JSONValue.self)
        }
        #expect(call.request.path == "/op/%7B%22a%22%3A%22b%2Fc%22%7D")
        #expect(call.value == ["a": "b/c"])
    }

    // MARK: Header fields

    @Test func headerFieldsArePercentEncodedUnlessTheConfigurationSaysOtherwise() throws {
        let name = HTTPField.Name("x-value")!
        for (encoding, value, text) in [
            (HeaderValueEncoding.percentEncoded, "https://a.b/c?d=e, f", "https%3A%2F%2Fa.b%2Fc%3Fd%3De%2C%20f"),
            (.plain, "https://a.b/c?d=e, f", "https://a.b/c?d=e, f"),
            (.plain, "100%25", "100%25"),
        ] {
            var sent = SentMessage()
            sent.configuration.headerValueEncoding = encoding
            try sent.addHeader("x-value", value)
            #expect(sent.headerFields[name] == text)
            var received = ReceivedMessage(sent)
            received.configuration.headerValueEncoding = encoding
            #expect(try received.requiredHeader("x-value", .string, String.self) == value)
        }
    }

    @Test func plainHeaderFieldsHoldNoLineBreaksAndNoCommasInLists() throws {
        var sent = SentMessage()
        sent.configuration.headerValueEncoding = .plain
        #expect(throws: GeneratedCodeError.self) { try sent.addHeader("x", "a\r\nb: c") }
        #expect(throws: GeneratedCodeError.self) { try sent.addHeader("x", ["a,b"]) }
        try sent.addHeader("x", ["a b", "c"])
        #expect(sent.headerFields == [.init("x")!: "a b,c"])
    }

    @Test func spacesBetweenTheValuesOfAHeaderFieldCountForNothing() throws {
        var received = ReceivedMessage(SentMessage())
        received.headerFields.append(HTTPField(name: .init("x")!, value: "a, b%20c ,d"))
        received.headerFields.append(HTTPField(name: .init("x")!, value: "e"))
        #expect(try received.requiredHeader("x", .array(.string), [String].self) == ["a", "b c", "d", "e"])
    }
}

// MARK: - Calls

/// A request that an operation wrote, and the value that the server read from it.
struct Passed<Value: Sendable>: Sendable {

    let request: HTTPRequest
    let value: Value

    init(
        path: String = "/op",
        write: @escaping @Sendable (inout ClientRequest) throws -> Void,
        read: @escaping @Sendable (ServerRequest) throws -> Value
    ) async throws {
        request = try await sentRequest { request in
            try write(&request)
            if path == "/op" { request.addPath("/op") }
        }
        value = try await readRequest(request.path ?? "", template: path, headerFields: request.headerFields, read)
    }
}

/// The request that one operation writes.
func sentRequest(
    _ configuration: Configuration = .init(),
    _ write: (inout ClientRequest) throws -> Void
) async throws -> HTTPRequest {
    let transport = CapturingTransport()
    let client = UniversalClient(
        serverURL: URL(string: "http://host")!,
        configuration: configuration,
        transport: transport,
        middlewares: []
    )
    try await client.send(
        (),
        operationID: "op",
        method: .get,
        encode: { _, request in try write(&request) },
        decode: { _ in }
    )
    return try #require(await transport.request)
}

/// The value that an operation reads from a request.
func readRequest<Value: Sendable>(
    _ path: String,
    template: String = "/op",
    headerFields: HTTPFields = [:],
    _ read: @escaping @Sendable (ServerRequest) throws -> Value
) async throws -> Value {
    let values = AsyncStream<Value>.makeStream()
    let errors = AsyncStream<any Error>.makeStream()
    let transport = InProcessTransport { error in
        errors.continuation.yield(error)
    }
    let server = UniversalServer(
        serverURL: .defaultOpenAPIServerURL,
        handler: (),
        configuration: .init(),
        middlewares: []
    )
    try server.register(
        on: transport,
        operationID: "op",
        method: .get,
        path: template,
        decode: { request in try read(request) },
        handle: { _, input in values.continuation.yield(input) },
        encode: { _, _ in }
    )
    let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path, headerFields: headerFields)
    _ = try await transport.send(request, body: nil, baseURL: URL(string: "http://host")!, operationID: "op")
    values.continuation.finish()
    errors.continuation.finish()
    for await error in errors.stream { throw error }
    for await value in values.stream { return value }
    throw CancellationError()
}

private actor CapturingTransport: ClientTransport {

    private(set) var request: HTTPRequest?

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        self.request = request
        return (HTTPResponse(status: .ok), nil)
    }
}

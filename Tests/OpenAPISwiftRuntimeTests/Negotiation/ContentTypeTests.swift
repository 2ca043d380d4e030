import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// The selection of a documented content type for a message, and the content type of sent messages.
struct ContentTypeTests {

    private static func index(_ received: String?, among documented: [String]) throws -> Int {
        var message = ReceivedMessage(contentType: "", body: nil)
        message.headerFields[.contentType] = received
        return try message.matchContentType(documented)
    }

    // MARK: Received

    @Test func theMostParticularTypeThatFitsIsTaken() throws {
        let documented = ["*/*", "text/*", "text/plain", "application/json", "application/json; foo=bar"]
        #expect(try Self.index("image/png", among: documented) == 0)
        #expect(try Self.index("text/html", among: documented) == 1)
        #expect(try Self.index("TEXT/Plain", among: documented) == 2)
        #expect(try Self.index("application/json; charset=utf-8", among: documented) == 3)
        #expect(try Self.index("application/json;foo=bar", among: documented) == 4)
        #expect(try Self.index("application/json; x=1; FOO=\"bar\"", among: documented) == 4)
        #expect(try Self.index("application/json; foo=baz", among: documented) == 3)
    }

    @Test func aTypeThatIsMissingOrNoneCountsAsTheFirst() throws {
        for received in [nil, "", "text", "/", "*/*", "text/*"] as [String?] {
            #expect(try Self.index(received, among: ["application/json", "text/plain"]) == 0)
        }
    }

    @Test func aDocumentedCharacterSetIsFoundHoweverItIsSpelled() throws {
        let documented = ["application/xml", "application/json; charset=utf-8"]
        for received in [
            "application/json; charset=utf-8", "application/json; charset=UTF-8", "application/json;charset=\"utf-8\"",
            "application/json",
        ] {
            #expect(try Self.index(received, among: documented) == 1)
        }
    }

    @Test func aTypeThatIsNotDocumentedIsRefused() throws {
        for received in ["text/plain", "application/json; charset=latin1", "application/jsonx"] {
            let error = #expect(throws: GeneratedCodeError.self) {
                try Self.index(received, among: ["application/json; charset=utf-8"])
            }
            #expect(error?.httpStatus == .unsupportedMediaType)
        }
        #expect(throws: GeneratedCodeError.self) { try Self.index("text/plain; a=\"", among: ["image/*"]) }
    }

    // MARK: Sent

    @Test func aRangeOfTypesIsNotSent() throws {
        var message = SentMessage()
        try message.setBody("x", contentType: "image/*")
        #expect(message.headerFields[.contentType] == nil)
        try message.setBody("x", contentType: "*/*")
        #expect(message.headerFields[.contentType] == "application/octet-stream")
        message.headerFields[.contentType] = "image/png"
        try message.setBody("x", contentType: "image/*")
        #expect(message.headerFields[.contentType] == "image/png")
    }

    // MARK: Accept

    @Test(
        arguments: [
            ("text/plain", true), ("*/*", true), ("text/*;q=0.1", true), ("application/json, TEXT/PLAIN", true),
            ("application/json;a=\"x,y\", text/plain", true), ("", true), (" , ", true), ("text/html", false),
            ("image/*", false), ("application/json;a=\",text/plain,\"", false),
        ]
    )
    func aResponseIsSentWhereItIsAccepted(accept: String, isSent: Bool) async throws {
        let status = try await Self.status(of: "text/plain", accept: accept)
        #expect(status == (isSent ? .ok : .notAcceptable))
    }

    @Test(arguments: [("image/png", true), ("image/*", true), ("*/*", true), ("text/plain", false)])
    func aRangeIsAcceptedWhereOneOfItsTypesIs(accept: String, isSent: Bool) async throws {
        #expect(try await Self.status(of: "image/*", accept: accept) == (isSent ? .ok : .notAcceptable))
        #expect(try await Self.status(of: "*/*", accept: accept) == .ok)
    }

    private static func status(of contentType: String, accept: String) async throws -> HTTPResponse.Status {
        let transport = InProcessTransport()
        let server = UniversalServer(
            serverURL: .defaultOpenAPIServerURL,
            handler: (),
            configuration: .init(),
            middlewares: [ErrorHandlingMiddleware()]
        )
        try server.register(
            on: transport,
            operationID: "op",
            method: .get,
            path: "/op",
            decode: { _ in },
            handle: { _, _ in },
            encode: { _, response in try response.setBody("x", contentType: contentType) }
        )
        let request = HTTPRequest(
            method: .get,
            scheme: nil,
            authority: nil,
            path: "/op",
            headerFields: [.accept: accept]
        )
        return try await transport.send(
            request,
            body: nil,
            baseURL: #require(URL(string: "http://host")),
            operationID: "op"
        ).0.status
    }

    // MARK: Sizes

    @Test func aBodyIsBroughtIntoMemoryUpToTheLimit() async throws {
        let text = "\"\(String(repeating: "x", count: 98))\""
        for (limit, length) in [(99, HTTPBody.Length.unknown), (99, .known(100))] {
            var message = ReceivedMessage(contentType: "application/json", body: nil)
            message.configuration.maximumBufferedBytes = limit
            message.body = HTTPBody(Arriving(text.utf8, size: 7), length: length, iterationBehavior: .multiple)
            let received = message
            let error = await #expect(throws: GeneratedCodeError.self) {
                try await received.decoded { try $0.json(String.self) }
            }
            #expect(error?.httpStatus == .contentTooLarge)
            #expect(error?.description.contains("maximumBufferedBytes") == true)
            await #expect(throws: GeneratedCodeError.self) {
                try await received.decoded { try $0.form(.any, JSONValue.self) }
            }
            message.configuration.maximumBufferedBytes = 100
            #expect(try await message.decoded { try $0.json(String.self) }.count == 98)
            // A body in memory has no limit, since nothing is buffered.
            message.configuration.maximumBufferedBytes = 1
            message.body = HTTPBody(text)
            #expect(try await message.decoded { try $0.json(String.self) }.count == 98)
        }
    }
}

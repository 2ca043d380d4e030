import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Calls that return the body of a success without reading it: `bufferedResponses`.
struct BufferedResponseTests {
    private let input = Operations.GetUser_post.Input(path: .init(userId: "u", postId: 7))

    private func wire(_ status: Int, _ body: HTTPBody?, contentType: String? = "application/json") throws -> Wire {
        var fields: HTTPFields = [try .custom("X-RateLimit-Remaining"): "5"]
        fields[.contentType] = contentType
        return Wire(status, fields, body)
    }

    @Test func headAndBytesAreHandedOver() async throws {
        let wire = try wire(200, #"{"post_title":"t"}"#)
        let ok = try await wire.client().getUser_post(buffering: input).ok
        #expect(ok.headers == .init(xRateLimitRemaining: 5))
        #expect(String(decoding: ok.body.bytes, as: UTF8.self) == #"{"post_title":"t"}"#)
        #expect(try ok.body.json(Title.self) == Title(text: "t"))
        #expect(
            try ok.body.json { (reader) throws(JSONError) in try reader.read([String: String].self) } == [
                "post_title": "t"
            ]
        )
        #expect(
            try wire.request
                == Message(
                    start: "GET /users/u/posts/7.json",
                    fields: ["accept": "application/json, application/problem+json"]
                )
        )
    }

    @Test func bufferedCallsCollectAStreamedBody() async throws {
        let wire = try wire(200, .dripping(#"{"post_title":"t"}"#))
        let ok = try await wire.client().getUser_post(buffering: input).ok
        #expect(try ok.body.json(Title.self) == Title(text: "t"))
    }

    @Test func aStreamIsCollectedUpToTheLimit() async throws {
        let client = try wire(200, .dripping(#"{"post_title":"t"}"#)).client(
            configuration: .init(maximumBufferedBytes: 4)
        )
        let error = await #expect(throws: ClientError.self) { try await client.getUser_post(buffering: input) }
        #expect("\(try #require(error).underlyingError)".contains("longer than 4 bytes"))
    }

    @Test func aBodyThatIsMissingHasNoBytes() async throws {
        let ok = try await wire(200, nil, contentType: nil).client().getUser_post(buffering: input).ok
        #expect(ok.body.bytes.isEmpty)
        #expect(throws: ClientError.self) { try ok.body.json(Title.self) }
    }

    @Test func bytesInMemoryAreNotCopied() async throws {
        let bytes = Array(#"{"post_title":"t"}"#.utf8)
        let ok = try await wire(200, HTTPBody(bytes)).client().getUser_post(buffering: input).ok
        let sent = bytes.withUnsafeBufferPointer { $0.baseAddress }
        #expect(ok.body.bytes.withUnsafeBufferPointer { $0.baseAddress } == sent)
    }

    // MARK: Everything else

    @Test func otherResponsesAreReadAsUsual() async throws {
        let wire = try wire(404, #"{"error_code":3}"#, contentType: "application/problem+json")
        let output = try await wire.client().getUser_post(buffering: input)
        guard case .other(.notFound(let response)) = output else {
            Issue.record("The response is \(output)")
            return
        }
        #expect(try response.body.applicationProblemJson.errorCode == 3)
        #expect(throws: GeneratedCodeError.self) { try output.ok }
    }

    @Test func aResponseThatIsNotInTheDocumentIsHandedOverAsItIs() async throws {
        let output = try await wire(500, "oops", contentType: "text/plain").client().getUser_post(buffering: input)
        guard case .other(.undocumented(500, let payload)) = output else {
            Issue.record("The response is \(output)")
            return
        }
        #expect(try await text(payload.body) == "oops")
    }

    @Test func anotherContentTypeIsAnError() async throws {
        let client = try wire(200, "<p>", contentType: "text/html").client()
        let error = await #expect(throws: ClientError.self) { try await client.getUser_post(buffering: input) }
        #expect(error?.underlyingError is GeneratedCodeError)
    }

    @Test func middlewaresSeeTheCall() async throws {
        let transport = try wire(200, #"{"post_title":"t"}"#)
        let seen = Seen()
        let client = Client(serverURL: .defaultOpenAPIServerURL, transport: transport, middlewares: [seen])
        #expect(try await client.getUser_post(buffering: input).ok.body.json(Title.self) == Title(text: "t"))
        #expect(seen.operations.withLock { $0 } == ["get-user.post: 200"])
    }

    // MARK: Reading

    @Test func anErrorOfReadingIsThatOfTheUsualCall() async throws {
        let broken = #"{"id":1,"needed":7}"#
        let client = Wire(json: broken).client()
        let sample = try sample()
        let usual = try #require(
            await #expect(throws: ClientError.self) { try await client.exchange(body: .json(sample)) }
        )
        let body = try await client.exchange(buffering: .init(body: .json(sample))).ok.body
        let buffered = try #require(#expect(throws: ClientError.self) { try body.json(Components.Schemas.Sample.self) })
        #expect("\(buffered)" == "\(usual)")
        #expect((buffered.underlyingError as? JSONError)?.offset == 17)
        #expect((buffered.underlyingError as? JSONError)?.path == "$.needed")
        #expect(buffered.operationID == "exchange")
        #expect(buffered.operationInput as? Operations.Exchange.Input == .init(body: .json(sample)))
        #expect(buffered.response?.status == .ok)
    }

    @Test func datesAreReadByTheConfiguration() async throws {
        let json = #"{"id":1,"needed":null,"referred":null,"created_at":"2023-11-14T22:13:20.250Z"}"#
        let client = Wire(json: json).client(configuration: .init(dateTranscoder: .iso8601WithFractionalSeconds))
        let body = try await client.exchange(buffering: .init(body: .json(try sample()))).ok.body
        let sample = try body.json(Components.Schemas.Sample.self)
        #expect(sample.createdAt == Date.november + 0.25)
    }

    @Test func withoutDocumentedHeadersTheFieldsAreHandedOver() async throws {
        let ok = try await Wire(json: "{}").client().exchange(buffering: .init(body: .json(try sample()))).ok
        #expect(ok.headers == [.contentType: "application/json"])
    }

    @Test func aBodyIsDescribedWithoutItsContent() throws {
        let body = BufferedBody(Array(#"{"secret":1}"#.utf8)[...], operationID: "exchange")
        #expect("\(body)" == "12 bytes")
        #expect("\(BufferedResponse(headers: 1, body: body))".contains("secret") == false)
        let error = try #require(#expect(throws: ClientError.self) { try body.json([Int].self) })
        #expect(error.operationID == "exchange")
    }

    private func sample() throws -> Components.Schemas.Sample {
        try JSONReader.read(from: Array(#"{"id":1,"needed":null,"referred":null}"#.utf8))
    }
}

/// A part of a post.
private struct Title: Equatable, JSONReadable {
    var text: String

    init(text: String) {
        self.text = text
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        var text = ""
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == "post_title" { text = try reader.readString() } else { try reader.skipValue() }
        }
        self.text = text
    }
}

/// Records operations and statuses.
private final class Seen: ClientMiddleware {
    let operations = Mutex<[String]>([])

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let (response, body) = try await next(request, body, baseURL)
        operations.withLock { $0.append("\(operationID): \(response.status.code)") }
        return (response, body)
    }
}

import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

struct FailureTests {
    @Test func anErrorDictionaryIsReadCompletely() async throws {
        let error = try await failure(
            HTTPResponse.Status(code: 421),
            """
            {"uuid":"4f02f7aa-fbb5-4cf8-ae8e-4dd463793841","serverErrorCode":"AUTHENTICATION_REQUIRED",
             "reason":"request needs authorization","retryAfter":1.5,
             "redirectURL":"https://idmsa.apple.com/IDMSWebAuth/auth?oauth_token=x"}
            """
        )
        #expect(error.code == .authenticationRequired)
        #expect(error.code.serverErrorCode == "AUTHENTICATION_REQUIRED")
        #expect(error.reason == "request needs authorization")
        #expect(error.retryAfter == .milliseconds(1500))
        #expect(error.requestUUID == "4f02f7aa-fbb5-4cf8-ae8e-4dd463793841")
        #expect(error.redirectURL == "https://idmsa.apple.com/IDMSWebAuth/auth?oauth_token=x")
        #expect(error.httpStatus?.code == 421)
        #expect(error.operation == "queryRecords")
        #expect(error.item == nil)
        #expect(
            error.description == """
                AUTHENTICATION_REQUIRED (HTTP 421) in queryRecords: A user must sign in to the container \
                iCloud.com.example.app (development) at api.apple-cloudkit.com, at the address in redirectURL. Continue \
                with the web authentication token that the sign-in returns. The service said: request needs authorization.\
                 It may be tried again in 1.5 seconds. [request 4f02f7aa-fbb5-4cf8-ae8e-4dd463793841]
                """
        )
    }

    @Test func unknownCodesAreKept() async throws {
        let error = try await failure(.badRequest, #"{"serverErrorCode":"BRAND_NEW","extra":{"a":[1]},"reason":null}"#)
        #expect(error.code == .init(serverErrorCode: "BRAND_NEW"))
        #expect("\(error.code)" == "BRAND_NEW")
        #expect(error.reason == nil)
    }

    @Test func fourTwentyOneHasTwoMeanings() async throws {
        let status = HTTPResponse.Status(code: 421)
        #expect(
            try await failure(status, #"{"serverErrorCode":"AUTHENTICATION_REQUIRED"}"#).code == .authenticationRequired
        )
        for body in ["", "Misdirected Request", "<html></html>", "{}"] {
            #expect(try await failure(status, body).code == .misdirectedRequest)
        }
    }

    @Test(arguments: [
        (502, "<html>Bad Gateway</html>", CloudKitError.Code.serviceUnavailable),
        (503, "", .serviceUnavailable),
        (503, #"{"serverErrorCode":"TRY_AGAIN_LATER"}"#, .tryAgainLater),
        (504, "null", .serviceUnavailable),
        (429, "slow down", .throttled),
        (302, "", .unexpectedResponse),
        (401, "<html>", .unexpectedResponse),
        (404, "{", .unexpectedResponse),
        (500, "[]", .unexpectedResponse),
        (500, #"{"serverErrorCode":7}"#, .unexpectedResponse),
        (400, "\u{0}\u{1}", .unexpectedResponse),
    ])
    func bodiesThatAreNotCloudKitsAreToldApart(status: Int, body: String, code: CloudKitError.Code) async throws {
        let error = try await failure(HTTPResponse.Status(code: status), body)
        #expect(error.code == code)
        #expect(error.httpStatus?.code == status)
        #expect(!error.message.isEmpty)
    }

    @Test func headerFieldsFillWhatTheBodyLeavesOut() async throws {
        let error = try await failure(
            .serviceUnavailable,
            "",
            headers: ["Retry-After": "12", "X-Apple-Request-UUID": "abc"]
        )
        #expect(error.retryAfter == .seconds(12))
        #expect(error.requestUUID == "abc")
        let both = try await failure(
            .serviceUnavailable,
            #"{"serverErrorCode":"TRY_AGAIN_LATER","retryAfter":3,"uuid":"def"}"#,
            headers: ["Retry-After": "12", "X-Apple-Request-UUID": "abc"]
        )
        #expect(both.retryAfter == .seconds(12))
        #expect(both.requestUUID == "def")
        let nonsense = try await failure(
            .serviceUnavailable,
            "",
            headers: ["Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"]
        )
        #expect(nonsense.retryAfter == nil)
    }

    @Test func aBodyThatBreaksOffIsANetworkErrorForASuccessOnly() async throws {
        struct Reset: Error {}
        for (status, code) in [
            (HTTPResponse.Status.ok, CloudKitError.Code.network), (.serviceUnavailable, .serviceUnavailable),
        ] {
            let transport = FakeTransport { _, _ in
                let stream = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
                    continuation.yield(ArraySlice("{\"rec".utf8))
                    continuation.finish(throwing: Reset())
                }
                return (HTTPResponse(status: status), HTTPBody(stream, length: .unknown))
            }
            let error = try await pipeline.failure(over: transport)
            #expect(error.code == code)
        }
    }

    @Test func aCancelledTaskIsSaidToBeCancelled() async throws {
        struct ConnectionClosed: Error {}
        let pipeline = pipeline
        let task = Task {
            try await pipeline.failure(
                over: FakeTransport { _, _ in
                    while !Task.isCancelled { await Task.yield() }
                    throw ConnectionClosed()
                }
            )
        }
        task.cancel()
        #expect(try await task.value.code == .cancelled)
    }

    @Test func everyCodeOfTheServiceHasItsAdvice() {
        let unknown = CloudKitError.advice(for: .init(serverErrorCode: "BRAND_NEW"))
        let known: [CloudKitError.Code] = [
            .accessDenied, .atomicError, .authenticationFailed, .authenticationRequired, .badRequest, .conflict,
            .exists,
            .internalError, .notFound, .quotaExceeded, .throttled, .tryAgainLater, .uniqueFieldError,
            .validatingReferenceError, .zoneNotFound, .zoneBusy, .changeTokenExpired, .limitExceeded,
        ]
        #expect(Set(known.map { CloudKitError.advice(for: $0) }).count == known.count)
        #expect(!known.map { CloudKitError.advice(for: $0) }.contains(unknown))
    }

    @Test(arguments: [
        (
            "/database/1/iCloud.com.example/production/public/records/query?ckAPIToken=x", "https://api.example.com",
            "the container iCloud.com.example (production) at api.example.com", DatabaseScope?.some(.public)
        ),
        (
            "/device/1/iCloud.com.example/development/tokens/create", "http://127.0.0.1:8181",
            "the container iCloud.com.example (development) at 127.0.0.1:8181", nil
        ),
    ]) func theTargetIsReadFromTheRequest(path: String, server: String, description: String, scope: DatabaseScope?)
        throws
    {
        let server = try #require(URL(string: server))
        let target = try #require(
            RequestTarget(HTTPRequest(method: .post, scheme: nil, authority: nil, path: path), baseURL: server)
        )
        #expect(target.description == description)
        #expect(target.scope == scope)
        let refused = CloudKitError.advice(for: .authenticationFailed, from: target)
        #expect(refused.contains("refused for \(description)."))
        #expect(CloudKitError.advice(for: .authenticationRequired, from: target).contains("sign in to \(description)"))
        let zone = CloudKitError.advice(for: .zoneNotFound, from: target)
        #expect(zone.contains("has no custom zones") == (scope == .public))
    }

    @Test(arguments: ["/records/query", "/", "/assets/1/2/3/4"]) func otherAddressesHaveNoTarget(path: String) throws {
        let server = try #require(URL(string: "https://api.example.com"))
        #expect(
            RequestTarget(HTTPRequest(method: .post, scheme: nil, authority: nil, path: path), baseURL: server) == nil
        )
    }

    // MARK: - Support

    private var pipeline: TestPipeline {
        TestPipeline(
            tokenManager: APITokenManager(apiToken: String(repeating: "a0", count: 32)),
            retryPolicy: .never,
            logger: RecordedLog().logger()
        )
    }

    private func failure(
        _ status: HTTPResponse.Status,
        _ body: String,
        headers: [String: String] = [:]
    ) async throws -> CloudKitError {
        try await pipeline.failure(over: FakeTransport([reply(status, body, headers: headers)]))
    }
}

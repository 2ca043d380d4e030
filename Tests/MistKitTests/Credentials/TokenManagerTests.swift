import Foundation
import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

struct TokenManagerTests {
    private let apiToken = String(repeating: "0123456789abcdef", count: 4)

    @Test func tokensArePercentEncodedExactlyOnce() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "54__54__a+b/c=%2B~.-_&d")
        let transport = FakeTransport([reply()])
        _ = try await pipeline(manager).send(over: transport)
        _ = try await pipeline(manager).send(
            HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/a?b=c"),
            over: transport
        )
        #expect(
            transport.sent.map(\.request.path) == [
                """
                /database/1/iCloud.com.example.app/development/public/records/query\
                ?ckAPIToken=\(apiToken)&ckWebAuthToken=54__54__a%2Bb%2Fc%3D%252B~.-_%26d
                """,
                "/a?b=c&ckAPIToken=\(apiToken)&ckWebAuthToken=54__54__a%2Bb%2Fc%3D%252B~.-_%26d",
            ]
        )
    }

    @Test func theNextTokenIsAdoptedFromEveryResponse() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "t0")
        let transport = FakeTransport([
            reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t1"]),
            reply(
                .internalServerError,
                #"{"serverErrorCode":"INTERNAL_ERROR"}"#,
                headers: ["x-apple-cloudkit-web-auth-token": "t2"]
            ),
            reply(.badRequest, #"{"serverErrorCode":"BAD_REQUEST"}"#, headers: ["X-Apple-CloudKit-Session": "t3"]),
            reply(.badGateway, "<html>", contentType: "text/html", headers: ["X-Apple-CloudKit-Web-Auth-Token": "t4"]),
            reply(),
        ])
        for _ in 1...5 { _ = try? await pipeline(manager).send(over: transport) }
        #expect(transport.sent.map { webToken(of: $0.request) } == ["t0", "t1", "t2", "t3", "t4"])
        #expect(try await manager.revealWebAuthToken() == "t4")
    }

    @Test func aRepeatedAttemptUsesTheNextToken() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "t0")
        let transport = FakeTransport([
            reply(
                .tooManyRequests,
                #"{"serverErrorCode":"THROTTLED"}"#,
                headers: ["X-Apple-CloudKit-Web-Auth-Token": "t1"]
            ),
            reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t2"]),
        ])
        _ = try await pipeline(manager, retryPolicy: RetryPolicy()).send(over: transport)
        #expect(transport.sent.map { webToken(of: $0.request) } == ["t0", "t1"])
        #expect(try await manager.revealWebAuthToken() == "t2")
    }

    @Test func requestsAtTheSameTimeEachAdoptTheirToken() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "t0")
        let transport = FakeTransport { _, number in
            reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t\(number)"])
        }
        let pipeline = pipeline(manager)
        try await withThrowingTaskGroup { group in
            for _ in 1...200 {
                group.addTask { _ = try await pipeline.send(over: transport) }
            }
            try await group.waitForAll()
        }
        let given = Set((0...200).map { "t\($0)" })
        #expect(transport.sent.allSatisfy { given.contains(webToken(of: $0.request) ?? "") })
        #expect(given.contains(try await manager.revealWebAuthToken()))
        #expect(try await manager.revealWebAuthToken() != "t0")
    }

    @Test func aLateResponseDoesNotBringTheFormerPersonBack() async throws {
        let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: "ann")
        let transport = FakeTransport { _, _ in
            try await manager.replace(webAuthToken: "bob")
            return reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "ann-2"])
        }
        _ = try await pipeline(manager).send(over: transport)
        #expect(try await manager.revealWebAuthToken() == "bob")
    }

    @Test func anAPITokenIsUpgradedToAPersonAndBack() async throws {
        let manager = AdaptiveTokenManager(apiToken: apiToken)
        let transport = FakeTransport { _, number in
            reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": "t\(number)"])
        }
        let pipeline = pipeline(manager)
        // No user is signed in, so the token of the response is ignored.
        _ = try await pipeline.send(over: transport)
        #expect(try await !manager.isSignedIn)
        try await manager.signIn(webAuthToken: "ann")
        _ = try await pipeline.send(over: transport)
        #expect(try await manager.revealWebAuthToken() == "t2")
        _ = try await pipeline.send(over: transport)
        try await manager.signOut()
        _ = try await pipeline.send(over: transport)
        #expect(transport.sent.map { webToken(of: $0.request) } == [nil, "ann", "t2", nil])
        #expect(try await manager.revealWebAuthToken() == nil)
    }

    @Test func whatCannotBeATokenIsRefusedBeforeItIsSent() async throws {
        let cases: [(token: String, message: String)] = [
            ("", "The API token is empty."),
            ("abc def", "The API token contains white space."),
            ("-----BEGIN PRIVATE KEY-----", "The API token is a PEM file; a key belongs to ServerToServerAuthManager."),
            ("tökén", "The API token holds characters that are not printable ASCII."),
        ]
        let transport = FakeTransport([reply()])
        for (token, message) in cases {
            let error = try await pipeline(APITokenManager(apiToken: token)).failure(over: transport)
            #expect(error.code == .invalidCredentials)
            #expect(error.message == message + " Take a new one from the CloudKit console (Tokens & Keys).")
            #expect(error.httpStatus == nil)
        }
        let key = ServerToServerKey.generate()
        let empty = ServerToServerAuthManager(keyID: " ", privateKey: key)
        #expect(try await pipeline(empty).failure(over: transport).message.hasPrefix("The key ID is empty."))
        #expect(transport.sent.isEmpty)
        // White space around a token, as in files, is ignored.
        _ = try await pipeline(APITokenManager(apiToken: " \(apiToken)\n")).send(over: transport)
        #expect(transport.sent.first?.request.path?.hasSuffix("?ckAPIToken=\(apiToken)") == true)
    }

    @Test func aCustomTokenManagerCanDoAllThatOursDo() async throws {
        struct OwnManager: TokenManager {
            let seen = RecordedLog()

            func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
                let digest = try await request.bodyDigest()
                request.addCredential(queryItem: "token", value: "a+b")
                request.addCredential(headerField: .authorization, value: "Bearer c")
                request.addHeaderField(.requestDate, value: "\(request.method) \(request.target) \(digest.count)")
                request.session = 42
            }

            func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {
                seen.logger().info("\(response.status.code) \(request.session) \(request.operationID)")
            }
        }
        let manager = OwnManager()
        let transport = FakeTransport([reply(), reply(.notFound, "{}")])
        _ = try await pipeline(manager).send(body: "{}", over: transport)
        _ = try await pipeline(manager).failure(body: "{}", over: transport)
        #expect(manager.seen.lines == ["info 200 42 queryRecords", "info 404 42 queryRecords"])
        let path = try #require(HTTPRequest.query.path) + "?token=a%2Bb"
        #expect(transport.sent[0].request.path == path)
        #expect(transport.sent[0].request.headerFields[.authorization] == "Bearer c")
        #expect(transport.sent[0].request.headerFields[.requestDate] == "POST \(path) 32")
        #expect(transport.sent[0].json == "{}")
    }

    // MARK: - Support

    private func pipeline(_ manager: any TokenManager, retryPolicy: RetryPolicy = .never) -> TestPipeline {
        TestPipeline(
            tokenManager: manager,
            retryPolicy: retryPolicy,
            logger: RecordedLog().logger(),
            clock: TestClock(skippingWaits: true).timer,
            random: { 0.5 }
        )
    }

    private func webToken(of request: HTTPRequest) -> String? {
        request.path?.split(separator: "?").last?.split(separator: "&")
            .first { $0.hasPrefix("ckWebAuthToken=") }
            .map { String($0.dropFirst("ckWebAuthToken=".count)) }
    }
}

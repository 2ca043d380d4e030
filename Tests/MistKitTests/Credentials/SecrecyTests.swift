import Foundation
import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

/// No credential appears in a log line or an error text, at any level, whatever the service sends.
struct SecrecyTests {
    private static let apiToken = "a1b2c3d4" + String(repeating: "0", count: 56)
    private static let webToken = "54__54__Secret+Token/with=signs"
    private static let nextToken = "54__54__Next+Token/with=signs"
    private static let keyID = "feedface" + String(repeating: "1", count: 56)
    private static let key = ServerToServerKey.generate()

    /// The secrets that no text may contain, in each encoding in which they could appear.
    private static let secrets: [String] = {
        let plain = [apiToken, webToken, nextToken, keyID]
        let privateLines = key.revealPrivateKeyPEM().split(separator: "\n").dropFirst().dropLast().map(String.init)
        return plain + plain.map(PercentEncoding.encode) + plain.map { PercentEncoding.encode($0).lowercased() }
            + privateLines
    }()

    static let managers: [String: any TokenManager] = [
        "API token": APITokenManager(apiToken: apiToken),
        "web authentication token": WebAuthTokenManager(apiToken: apiToken, webAuthToken: webToken),
        "adaptive": AdaptiveTokenManager(apiToken: apiToken, webAuthToken: webToken),
        "server-to-server": ServerToServerAuthManager(keyID: keyID, privateKey: key),
    ]

    /// Servers and transports that repeat parts of the request in all their texts.
    private static let echoes: [String: @Sendable (FakeTransport.Exchange) throws -> (HTTPResponse, HTTPBody?)] = [
        "success": { _ in reply(headers: ["X-Apple-CloudKit-Web-Auth-Token": nextToken]) },
        "reason": { reply(.unauthorized, errorJSON(reason: all(of: $0))) },
        "reason of a throttled request": { reply(.tooManyRequests, errorJSON("THROTTLED", reason: all(of: $0))) },
        "code": { reply(.badRequest, errorJSON(all(of: $0), reason: "no")) },
        "uuid": { reply(.badRequest, #"{"serverErrorCode":"BAD_REQUEST","uuid":"\#(escaped(all(of: $0)))"}"#) },
        "sign-in address": {
            reply(
                HTTPResponse.Status(code: 421),
                #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","redirectURL":"https://a/?\#(escaped(all(of: $0)))"}"#
            )
        },
        "HTML page": { reply(.badGateway, "<html>\(all(of: $0))</html>", contentType: "text/html") },
        "content type": { reply(.notFound, "gone", contentType: all(of: $0)) },
        "redirect": { reply(.found, "", headers: ["Location": all(of: $0)]) },
        "transport error": { throw EchoingError(text: all(of: $0)) },
        "URL error": {
            throw URLError(.timedOut, userInfo: ["NSErrorFailingURLStringKey": all(of: $0)])
        },
        "transport error with lower-case percent-encoding": {
            throw EchoingError(text: all(of: $0).replacing("%2B", with: "%2b").replacing("%2F", with: "%2f"))
        },
        "client error": {
            throw ClientError(
                operationID: $0.operationID,
                operationInput: "input",
                request: $0.request,
                causeDescription: "transport",
                underlyingError: EchoingError(text: all(of: $0))
            )
        },
    ]

    @Test func credentialsAreReplacedInOnePass() {
        var redactor = Redactor()
        for secret in ["redacted", "acted", "t", "token%2F"] { redactor.hide(secret) }
        let text = redactor.redact("redacted, reacted, token%2f and not")
        #expect(text == "<redacted>, re<redacted>, <redacted> and not")
    }

    @Test(arguments: managers.keys.sorted(), echoes.keys.sorted())
    func noCredentialIsInAnyLogLineOrErrorText(manager: String, echo: String) async throws {
        let echo = try #require(Self.echoes[echo])
        let log = RecordedLog()
        let pipeline = TestPipeline(
            tokenManager: try #require(Self.managers[manager]),
            retryPolicy: RetryPolicy(maximumAttempts: 3),
            logger: log.logger(level: .trace),
            clock: TestClock(skippingWaits: true).timer
        )
        let transport = FakeTransport { exchange, _ in try echo(exchange) }
        var texts: [String] = []
        do {
            _ = try await pipeline.send(body: "{}", over: transport)
        } catch {
            var dumped = ""
            dump(error, to: &dumped)
            texts = ["\(error)", String(reflecting: error), error.localizedDescription, dumped]
            if let error = error as? CloudKitError {
                texts += [error.message, error.reason, error.redirectURL, error.requestUUID].compactMap(\.self)
                texts += error.cause.map { ["\($0)", String(reflecting: $0), $0.localizedDescription] } ?? []
            }
        }
        let signatures = transport.sent.compactMap { $0.request.headerFields[.requestSignature] }
        #expect(!log.lines.isEmpty)
        for secret in Self.secrets + signatures {
            for text in texts + log.lines {
                #expect(!text.contains(secret), "\(text)")
            }
        }
    }

    @Test func managersAndKeysDoNotPrintTheirCredentials() {
        for manager in Self.managers.values.map({ $0 as Any }) + [Self.key as Any] {
            var dumped = ""
            dump(manager, to: &dumped)
            for text in ["\(manager)", String(reflecting: manager), dumped] {
                for secret in Self.secrets { #expect(!text.contains(secret), "\(text)") }
            }
        }
    }

    // MARK: - Support

    private struct EchoingError: Error {
        var text: String
    }

    /// The request as text: its path, the decoded path, and the header fields.
    private static func all(of exchange: FakeTransport.Exchange) -> String {
        let fields = exchange.request.headerFields.map { "\($0.name): \($0.value)" }.joined(separator: " ")
        let path = exchange.request.path ?? ""
        return "\(path) \(path.removingPercentEncoding ?? "") \(fields)"
    }

    private static func errorJSON(_ code: String = "AUTHENTICATION_FAILED", reason: String) -> String {
        #"{"serverErrorCode":"\#(escaped(code))","reason":"\#(escaped(reason))"}"#
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\"", with: "\\\"")
    }
}

import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Testing

@testable import MistKit

struct RetryTests {
    private struct ConnectionReset: Error {}

    private let clock = FakeClock()
    private let log = RecordedLog()

    @Test func waitsGrowAndAreRandomUpToTheirLimit() async throws {
        let policy = RetryPolicy(maximumAttempts: 7, maximumDelay: .seconds(5))
        let transport = FakeTransport([reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED"}"#)])
        let error = try await middlewares(policy, random: 0.5).failure(over: transport)
        #expect(error.code == .throttled)
        #expect(error.message.hasSuffix("(7 attempts were made.)"))
        #expect(transport.sent.count == 7)
        #expect(clock.waits == [0.25, 0.5, 1, 2, 2.5, 2.5].map { .seconds($0) })
        #expect(
            log.lines.filter { $0.hasPrefix("info") }.first == """
                info CloudKit request failed and will be sent again attempt=1 code=THROTTLED delay=0.25 seconds \
                operation=queryRecords request=-
                """
        )
    }

    @Test func theServersWaitIsKept() async throws {
        let transport = FakeTransport([
            reply(.serviceUnavailable, #"{"serverErrorCode":"TRY_AGAIN_LATER","retryAfter":7}"#),
            reply(.badRequest, #"{"serverErrorCode":"SOMETHING_NEW","retryAfter":3.5}"#),
            reply(.serviceUnavailable, "", headers: ["Retry-After": "9"]),
            reply(),
        ])
        let (response, _) = try await middlewares().send(over: transport)
        #expect(response.status == .ok)
        #expect(clock.waits == [.seconds(7), .seconds(3.5), .seconds(9)])
    }

    @Test func aWaitThatIsTooLongIsTheCallersDecision() async throws {
        let transport = FakeTransport([reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED","retryAfter":40}"#)])
        let error = try await middlewares(RetryPolicy(maximumTotalDelay: .seconds(60))).failure(over: transport)
        #expect(error.retryAfter == .seconds(40))
        #expect(clock.waits == [.seconds(40)])
        #expect(transport.sent.count == 2)
    }

    @Test func whatOnlyReadsIsRepeatedAfterALostConnection() async throws {
        for operation in RetryMiddleware.readingOperations {
            let transport = FakeTransport { _, number in
                switch number {
                case 1: throw ConnectionReset()
                case 2: reply(.badGateway, "")
                case 3: reply(.internalServerError, #"{"serverErrorCode":"INTERNAL_ERROR"}"#)
                default: reply()
                }
            }
            let (response, _) = try await middlewares().send(operationID: operation, over: transport)
            #expect(response.status == .ok)
            #expect(transport.sent.count == 4)
        }
    }

    @Test func whatWritesIsNotRepeatedWhenItMayHaveBeenDone() async throws {
        for operation in ["modifyRecords", "modifyZones", "modifySubscriptions", "acceptShares", "somethingNew"] {
            let failures: [(@Sendable () throws -> (HTTPResponse, HTTPBody?), CloudKitError.Code)] = [
                ({ throw ConnectionReset() }, .network),
                ({ reply(.gatewayTimeout, "") }, .serviceUnavailable),
                ({ reply(.gatewayTimeout, "", headers: ["Retry-After": "5"]) }, .serviceUnavailable),
                ({ reply(.badGateway, "", headers: ["Retry-After": "5"]) }, .serviceUnavailable),
                ({ reply(.internalServerError, #"{"serverErrorCode":"INTERNAL_ERROR"}"#) }, .internalError),
            ]
            for (answer, code) in failures {
                let transport = FakeTransport { _, _ in try answer() }
                let error = try await middlewares().failure(operationID: operation, over: transport)
                #expect(error.code == code)
                #expect(transport.sent.count == 1)
            }
        }
    }

    @Test func whatTheServiceDidNotDoIsRepeatedEvenIfItWrites() async throws {
        let answers = [
            reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED"}"#),
            reply(
                .serviceUnavailable,
                #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"Sync zone CAS Op-Lock failed"}"#
            ),
            reply(.serviceUnavailable, #"{"serverErrorCode":"ZONE_BUSY"}"#),
            reply(HTTPResponse.Status(code: 421), "Misdirected Request"),
            reply(),
        ]
        let transport = FakeTransport(answers)
        let (response, _) = try await middlewares().send(operationID: "modifyRecords", over: transport)
        #expect(response.status == .ok)
        #expect(transport.sent.count == 5)
    }

    @Test func whatWasNeverSentIsRepeatedEvenIfItWrites() async throws {
        let transport = FakeTransport { _, number in
            if number < 3 { throw TransportError(code: .connectionFailed, message: "Could not connect to localhost.") }
            throw TransportError(code: .connectionLost, message: "The connection to localhost broke.")
        }
        let error = try await middlewares().failure(operationID: "modifyRecords", over: transport)
        #expect(error.code == .network)
        #expect(
            error.message == """
                The connection to localhost broke. A write that was under way may have been done or not. \
                (3 attempts were made.)
                """
        )
        #expect(transport.sent.count == 3)
    }

    @Test func whatWouldFailAgainIsNotRepeated() async throws {
        for code in ["BAD_REQUEST", "CONFLICT", "NOT_FOUND", "AUTHENTICATION_FAILED", "QUOTA_EXCEEDED", "BRAND_NEW"] {
            let transport = FakeTransport([reply(.badRequest, #"{"serverErrorCode":"\#(code)"}"#)])
            let error = try await middlewares().failure(over: transport)
            #expect(error.code.serverErrorCode == code)
            #expect(transport.sent.count == 1)
        }
        #expect(clock.waits.isEmpty)
    }

    @Test func aBodyThatCanBeReadOnceIsSentOnce() async throws {
        let stream = AsyncStream<HTTPBody.ByteChunk> { continuation in
            continuation.yield([1, 2, 3])
            continuation.finish()
        }
        let transport = FakeTransport([reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED"}"#)])
        let body = HTTPBody(stream, length: .unknown)
        _ = try await middlewares().failure(body: body, over: transport)
        #expect(transport.sent.map(\.body) == [[1, 2, 3]])
    }

    @Test func cancellingEndsTheWait() async throws {
        let transport = FakeTransport { _, number in
            withUnsafeCurrentTask { $0?.cancel() }
            return reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED"}"#)
        }
        let middlewares = middlewares()
        let error = try await Task { try await middlewares.failure(over: transport) }.value
        #expect(error.code == .cancelled)
        #expect(transport.sent.count == 1)
    }

    // MARK: -

    private func middlewares(_ policy: RetryPolicy = RetryPolicy(), random: Double = 0) -> Middlewares {
        Middlewares(
            tokenManager: APITokenManager(apiToken: String(repeating: "a0", count: 32)),
            retryPolicy: policy,
            logger: log.logger(),
            clock: clock,
            random: { random }
        )
    }
}

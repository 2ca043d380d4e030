import CloudKitWebServices
import Foundation
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

struct RetryTests {
    private struct ConnectionReset: Error {}

    private let clock = TestClock(skippingWaits: true)
    private let log = RecordedLog()

    @Test func waitsGrowAndAreRandomUpToTheirLimit() async throws {
        let policy = RetryPolicy(maximumAttempts: 7, maximumDelay: .seconds(5))
        let transport = FakeTransport([reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED"}"#)])
        let error = try await pipeline(policy, random: 0.5).failure(over: transport)
        #expect(error.code == .throttled)
        #expect(error.attempts == 7)
        #expect(error.description.contains("It was sent 7 times."))
        #expect(transport.sent.count == 7)
        #expect(clock.waits == [0.25, 0.5, 1, 2, 2.5, 2.5].map { .seconds($0) })
        #expect(
            log.lines.first { $0.contains("will be sent again") } == """
                debug CloudKit request failed and will be sent again attempt=1 code=THROTTLED delay=0.250 s \
                operation=queryRecords request=-
                """
        )
        // A retry that succeeds is not logged at the level `info`.
        #expect(!log.lines.contains { $0.hasPrefix("info") })
    }

    @Test func theServersWaitIsKept() async throws {
        let transport = FakeTransport([
            reply(.serviceUnavailable, #"{"serverErrorCode":"TRY_AGAIN_LATER","retryAfter":7}"#),
            reply(.badRequest, #"{"serverErrorCode":"SOMETHING_NEW","retryAfter":3.5}"#),
            reply(.serviceUnavailable, "", headers: ["Retry-After": "9"]),
            reply(),
        ])
        let (response, _) = try await pipeline().send(over: transport)
        #expect(response.status == .ok)
        #expect(clock.waits == [.seconds(7), .seconds(3.5), .seconds(9)])
    }

    @Test func theLongestOfBodyAndHeaderIsKept() async throws {
        let throttled = #"{"serverErrorCode":"THROTTLED","retryAfter":2}"#
        let transport = FakeTransport([
            reply(.tooManyRequests, throttled, headers: ["Retry-After": "5"]),
            reply(.tooManyRequests, throttled, headers: ["Retry-After": "1"]),
            reply(
                .tooManyRequests,
                throttled,
                headers: [
                    "Retry-After": "Thu, 01 Mar 2029 00:00:07 GMT", "Date": "Wed, 28 Feb 2029 23:59:58 GMT",
                ]
            ),
            // A date without a current time to count from, and a text that is not a date.
            reply(.tooManyRequests, throttled, headers: ["Retry-After": "Thu, 01 Mar 2029 00:00:07 GMT"]),
            reply(),
        ])
        _ = try await pipeline().send(over: transport)
        #expect(clock.waits == [.seconds(5), .seconds(2), .seconds(9), .seconds(2)])
    }

    @Test func theWaitThatTheServerAsksForGetsChanceOnTop() async throws {
        let transport = FakeTransport([
            reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED","retryAfter":7}"#), reply(),
        ])
        _ = try await pipeline(random: 0.5).send(over: transport)
        #expect(clock.waits == [.seconds(7.25)])
    }

    @Test func whileOneRequestIsThrottledOthersWait() async throws {
        let throttle = ContainerThrottle(clock: clock.timer)
        throttle.hold(for: .seconds(8))
        var others = pipeline(random: 0.5)
        others.throttle = throttle
        let transport = FakeTransport([reply()])
        _ = try await others.send(over: transport)
        #expect(clock.waits == [.seconds(8.25)])

        throttle.hold(for: .seconds(90))
        let error = try await others.failure(over: transport)
        #expect(error.code == .throttled)
        #expect(error.retryAfter == .seconds(90))
        #expect(error.attempts == 0)
        #expect(transport.sent.count == 1)

        others.retryPolicy = .never
        _ = try await others.send(over: transport)
        #expect(transport.sent.count == 2)
    }

    @Test func aThrottledRequestMakesAllOthersWait() async throws {
        let throttle = ContainerThrottle(clock: clock.timer)
        var pipeline = pipeline(RetryPolicy(deadline: .seconds(5)))
        pipeline.throttle = throttle
        let answers = [
            (#"{"serverErrorCode":"ZONE_BUSY","retryAfter":30}"#, nil),
            (#"{"serverErrorCode":"TRY_AGAIN_LATER","retryAfter":30}"#, Duration.seconds(30)),
            (#"{"serverErrorCode":"THROTTLED","retryAfter":40}"#, Duration.seconds(40)),
        ]
        for (json, expected) in answers {
            let transport = FakeTransport([reply(.serviceUnavailable, json)])
            _ = try await pipeline.failure(over: transport)
            #expect(throttle.remaining == expected)
            try await clock.timer.sleep(for: throttle.remaining ?? .zero)
        }
    }

    @Test func servicesOfOneContainerShareTheThrottleOnTheMachinesClock() {
        func throttle(_ container: String, _ clock: any Clock<Duration> = ContinuousClock()) -> ContainerThrottle {
            .shared(
                for: .init(serverURL: .cloudKit, containerIdentifier: container, environment: "production"),
                clock: clock
            )
        }
        let one = throttle("iCloud.com.example.one")
        #expect(one === throttle("iCloud.com.example.one"))
        #expect(one !== throttle("iCloud.com.example.two"))
        #expect(one !== throttle("iCloud.com.example.one", TestClock(skippingWaits: true).timer))
    }

    @Test func anAnswerThatIsTooLongIsNotAskedForAgain() async throws {
        let transport = FakeTransport([reply(.ok, #"{"records":[]}"#)])
        var pipeline = pipeline()
        pipeline.maximumResponseSize = 10
        let error = try await pipeline.failure(over: transport)
        #expect(error.code == .responseTooLarge)
        #expect(!error.message.contains("  "))
        #expect(error.operation == "queryRecords")
        #expect(transport.sent.count == 1)
    }

    @Test func anEndpointThatIsForgottenForAMomentIsTriedAgain() async throws {
        let transport = FakeTransport([
            reply(
                .notFound,
                #"{"serverErrorCode":"NOT_FOUND","reason":"could not find handler for endpoint"}"#
            ), reply(),
        ])
        _ = try await pipeline().send(operationID: "modifyRecords", over: transport)
        #expect(transport.sent.count == 2)
    }

    @Test func aWaitThatIsTooLongIsTheCallersDecision() async throws {
        let transport = FakeTransport([reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED","retryAfter":40}"#)])
        let error = try await pipeline(RetryPolicy(deadline: .seconds(60))).failure(over: transport)
        #expect(error.retryAfter == .seconds(40))
        #expect(clock.waits == [.seconds(40)])
        #expect(transport.sent.count == 2)
    }

    @Test func whatOnlyReadsIsRepeatedAfterALostConnection() async throws {
        for operation in Operations.mistkitRepeatable.filter(\.value).keys {
            let transport = FakeTransport { _, number in
                switch number {
                case 1: throw ConnectionReset()
                case 2: reply(.badGateway, "")
                case 3: reply(.internalServerError, #"{"serverErrorCode":"INTERNAL_ERROR"}"#)
                default: reply()
                }
            }
            let (response, _) = try await pipeline().send(operationID: operation, over: transport)
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
                let error = try await pipeline().failure(operationID: operation, over: transport)
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
        let (response, _) = try await pipeline().send(operationID: "modifyRecords", over: transport)
        #expect(response.status == .ok)
        #expect(transport.sent.count == 5)
    }

    @Test func whatWasNeverSentIsRepeatedEvenIfItWrites() async throws {
        let transport = FakeTransport { _, number in
            if number < 3 { throw TransportError(code: .connectionFailed, message: "Could not connect to localhost.") }
            throw TransportError(code: .connectionLost, message: "The connection to localhost broke.")
        }
        let error = try await pipeline().failure(operationID: "modifyRecords", over: transport)
        #expect(error.code == .network)
        #expect(
            error.message == """
                The connection to localhost broke. A write that was under way may have been done or not.
                """
        )
        #expect(error.attempts == 3)
        #expect(transport.sent.count == 3)
    }

    @Test func whatWouldFailAgainIsNotRepeated() async throws {
        for code in ["BAD_REQUEST", "CONFLICT", "NOT_FOUND", "AUTHENTICATION_FAILED", "QUOTA_EXCEEDED", "BRAND_NEW"] {
            let transport = FakeTransport([reply(.badRequest, #"{"serverErrorCode":"\#(code)"}"#)])
            let error = try await pipeline().failure(over: transport)
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
        _ = try await pipeline().failure(body: body, over: transport)
        #expect(transport.sent.map(\.body) == [[1, 2, 3]])
    }

    @Test func cancellingEndsTheWait() async throws {
        let transport = FakeTransport { _, number in
            withUnsafeCurrentTask { $0?.cancel() }
            return reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED"}"#)
        }
        let pipeline = pipeline()
        let error = try await Task { try await pipeline.failure(over: transport) }.value
        #expect(error.code == .cancelled)
        #expect(transport.sent.count == 1)
    }

    // MARK: - Support

    private func pipeline(_ policy: RetryPolicy = RetryPolicy(), random: Double = 0) -> TestPipeline {
        TestPipeline(
            tokenManager: APITokenManager(apiToken: String(repeating: "a0", count: 32)),
            retryPolicy: policy,
            logger: log.logger(),
            clock: clock.timer,
            random: { random }
        )
    }
}

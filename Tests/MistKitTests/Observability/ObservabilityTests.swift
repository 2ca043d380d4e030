import CoreMetrics
import Foundation
import HTTPTypes
import InMemoryTracing
import Logging
import MetricsTestKit
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing
import Tracing

@testable import MistKit

/// The metrics and traces of a request.
@Suite(.serialized)
struct ObservabilityTests {
    private let apiToken = String(repeating: "0123456789abcdef", count: 4)
    private let webToken = "54__Secret+Token/with=signs"

    /// A throttled response, a lost connection, and a success.
    private var threeAttempts: FakeTransport {
        FakeTransport { _, number in
            switch number {
            case 1:
                return reply(
                    .tooManyRequests,
                    #"{"serverErrorCode":"THROTTLED","uuid":"u1","reason":"slow down, \#(webToken)"}"#
                )
            case 2: throw TransportError(code: .connectionFailed, message: "no \(webToken)")
            default: return reply(.ok, #"{"records":[]}"#, headers: ["X-Apple-Request-UUID": "u3"])
            }
        }
    }

    @Test func anOperationIsASpanAndEachAttemptOneBelowIt() async throws {
        let tracer = InMemoryTracer()
        _ = try await pipeline(tracer).send(body: "{}", over: threeAttempts)
        #expect(tracer.activeSpans.isEmpty)
        let spans = tracer.finishedSpans
        #expect(
            spans.map(\.operationName) == [
                template, template, template, "CloudKit queryRecords",
            ]
        )
        let operation = try #require(spans.last)
        #expect(operation.parentSpanID == nil)
        #expect(operation.kind == .internal)
        #expect(spans.dropLast().allSatisfy { $0.parentSpanID == operation.spanID && $0.kind == .client })
        #expect(
            text(of: operation.attributes) == [
                "cloudkit.attempts=3", "cloudkit.container=iCloud.com.example.app", "cloudkit.database=public",
                "cloudkit.environment=development", "cloudkit.operation=queryRecords",
            ]
        )
        #expect(operation.errors.isEmpty)
        let common = [
            "http.request.body.size=2", "http.request.method=POST", "server.address=api.apple-cloudkit.com",
            "server.port=443",
            "url.full=https://api.apple-cloudkit.com/database/1/iCloud.com.example.app/development/public/records/query",
            "url.scheme=https",
            "url.template=/database/{version}/{container}/{environment}/{database}/records/query",
        ]
        #expect(
            text(of: spans[0].attributes)
                == (common + ["cloudkit.request.uuid=u1", "error.type=THROTTLED", "http.response.status_code=429"])
                .sorted()
        )
        #expect(
            text(of: spans[1].attributes)
                == (common + ["error.type=network", "http.request.resend_count=1"]).sorted()
        )
        #expect(
            text(of: spans[2].attributes)
                == (common + [
                    "cloudkit.request.uuid=u3", "http.request.resend_count=2", "http.response.body.size=14",
                    "http.response.status_code=200",
                ]).sorted()
        )
        #expect(spans.map { $0.status?.code } == [.error, .error, nil, nil])
        let told = spans.flatMap { $0.errors.map { "\($0.error)" } + text(of: $0.attributes) }
        #expect(told.count > 20)
        for secret in [apiToken, webToken, PercentEncoding.encode(webToken)] {
            #expect(told.allSatisfy { !$0.contains(secret) })
        }
    }

    @Test func anOperationThatFailsSaysSoInItsSpan() async throws {
        let tracer = InMemoryTracer()
        let transport = FakeTransport([
            reply(.notFound, #"{"serverErrorCode":"what a \"code\"","uuid":"u1"}"#)
        ])
        _ = try await pipeline(tracer).failure(over: transport)
        #expect(
            tracer.finishedSpans.map { text(of: $0.attributes).first { $0.hasPrefix("error.type") } } == [
                "error.type=other", "error.type=other",
            ]
        )
        #expect(tracer.finishedSpans.allSatisfy { $0.attributes.get("cloudkit.request.uuid") == "u1" })
    }

    @Test func requestsAndLatenciesAndRetriesAreCounted() async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            _ = try await pipeline(nil).send(body: "{}", over: threeAttempts)
            _ = try await pipeline(nil).failure(
                over: FakeTransport([reply(.notFound, #"{"serverErrorCode":"NOT_FOUND"}"#)])
            )
        }
        let counters = metrics.counters.map { counter in
            "\(counter.label) \(counter.dimensions.map { "\($0)=\($1)" }.joined(separator: " ")): \(counter.totalValue)"
        }
        #expect(
            counters.sorted() == [
                "cloudkit.client.attempts operation=queryRecords outcome=NOT_FOUND: 1",
                "cloudkit.client.attempts operation=queryRecords outcome=THROTTLED: 1",
                "cloudkit.client.attempts operation=queryRecords outcome=network: 1",
                "cloudkit.client.attempts operation=queryRecords outcome=ok: 1",
                "cloudkit.client.operations operation=queryRecords outcome=NOT_FOUND: 1",
                "cloudkit.client.operations operation=queryRecords outcome=ok: 1",
                "cloudkit.client.request.bytes operation=queryRecords: 6",
                "cloudkit.client.response.bytes operation=queryRecords: 14",
                "cloudkit.client.retries operation=queryRecords reason=THROTTLED: 1",
                "cloudkit.client.retries operation=queryRecords reason=network: 1",
                "cloudkit.client.throttles operation=queryRecords: 1",
            ]
        )
        let timers = metrics.timers.map { "\($0.label) \($0.dimensions.map { "\($0)=\($1)" }.joined(separator: " "))" }
        #expect(
            timers.sorted() == [
                "cloudkit.client.attempt.duration operation=queryRecords outcome=NOT_FOUND",
                "cloudkit.client.attempt.duration operation=queryRecords outcome=THROTTLED",
                "cloudkit.client.attempt.duration operation=queryRecords outcome=network",
                "cloudkit.client.attempt.duration operation=queryRecords outcome=ok",
                "cloudkit.client.operation.duration operation=queryRecords outcome=NOT_FOUND",
                "cloudkit.client.operation.duration operation=queryRecords outcome=ok",
            ]
        )
        // The operation's time includes the waits before the second and the third attempt: only they advance the clock.
        let whole = try metrics.expectTimer(
            "cloudkit.client.operation.duration",
            [("operation", "queryRecords"), ("outcome", "ok")]
        )
        let last = try metrics.expectTimer(
            "cloudkit.client.attempt.duration",
            [("operation", "queryRecords"), ("outcome", "ok")]
        )
        #expect(last.values == [0])
        #expect(whole.values.first ?? 0 > 0)
    }

    @Test func logLinesNumberTheAttempts() async throws {
        let log = RecordedLog()
        _ = try await pipeline(nil, log.logger(level: .debug)).send(body: "{}", over: threeAttempts)
        let ends = log.lines.filter {
            $0.hasPrefix("debug CloudKit answered") || $0.hasPrefix("debug CloudKit request failed attempt")
        }
        #expect(ends.count == 3)
        for (index, line) in ends.enumerated() { #expect(line.contains("attempt=\(index + 1) ")) }
    }

    @Test func everyErrorOfAResponseCarriesTheRequestsUUID() async throws {
        let head = ["X-Apple-Request-UUID": "u1"]
        let broken = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
            continuation.yield([1])
            continuation.finish(throwing: TransportError(code: .connectionLost, message: "lost"))
        }
        let answers: [(HTTPResponse, HTTPBody?)] = [
            reply(.ok, "<html>", headers: head),
            reply(.ok, #"{"zones":[{"zoneID":5}]}"#, headers: head),
            reply(.badGateway, "<html>", contentType: "text/html", headers: head),
            reply(.notFound, #"{"serverErrorCode":"NOT_FOUND"}"#, headers: head),
            reply(.found, "", headers: head),
            (reply(.ok, "", headers: head).0, HTTPBody(broken, length: .unknown)),
        ]
        for answer in answers {
            let error = try await failure {
                try await fakeService(FakeTransport([answer])).privateDatabase.fetchZones()
            }
            #expect(error.requestUUID == "u1", "\(error)")
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func aServiceReportsLogsMetricsAndTraces(connection: EmulatorConnection) async throws {
        let metrics = TestMetrics()
        try await withCloudKitEmulator(over: connection) { emulator in
            try await withMetricsFactory(metrics) {
                let database = emulator.service(as: .user).privateDatabase
                _ = try await database.create(Record(recordType: "Note", recordName: "a"))
                _ = try await database.fetch("a")
            }
        }
        let operations = metrics.counters(label: "cloudkit.client.operations")
        #expect(
            operations.map { $0.dimensions.map(\.1).joined(separator: " ") }.sorted() == [
                "lookupRecords ok", "modifyRecords ok",
            ]
        )
    }

    // MARK: - Support

    private let template = "POST /database/{version}/{container}/{environment}/{database}/records/query"

    private func pipeline(_ tracer: InMemoryTracer?, _ logger: Logger = RecordedLog().logger()) -> TestPipeline {
        var pipeline = TestPipeline(
            tokenManager: WebAuthTokenManager(apiToken: apiToken, webAuthToken: webToken),
            retryPolicy: RetryPolicy(),
            logger: logger,
            clock: TestClock(skippingWaits: true).timer,
            random: { 0.5 }
        )
        pipeline.tracer = tracer
        return pipeline
    }

    private func text(of attributes: SpanAttributes) -> [String] {
        var lines: [String] = []
        func add(_ name: String, _ value: SpanAttribute) {
            let text =
                switch value {
                case .int32(let number): "\(number)"
                case .int64(let number): "\(number)"
                case .string(let text): text
                default: "\(value)"
                }
            lines.append("\(name)=\(text)")
        }
        attributes.forEach(add)
        return lines.sorted()
    }
}

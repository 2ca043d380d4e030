import CoreMetrics
import Foundation
import GRDB
import InMemoryTracing
import Logging
import MetricsTestKit
import TestSupport
import Testing
import Tracing

@testable import MistMutationQueue

/// The log, the metrics and the traces of a queue.
struct QueueObserverTests {
    /// A queue with four mutations: one is done, one after another attempt, one is refused, and one pauses the queue.
    private func drain(_ log: RecordedLog, _ tracer: InMemoryTracer) async throws {
        let story = try QueueStory()
        let queue = try story.queue { configuration, _ in
            configuration.logger = log.logger(level: .debug)
            configuration.tracer = tracer
            configuration.concurrency = 1
        }
        story.service.fail("secret 2", .lostReply)
        story.service.fail("secret 3", .refused)
        story.service.fail("secret 4", .signedOut)
        for number in 1...3 { try story.add("secret \(number)", "entity \(number)", to: queue) }
        try await queue.drain()
        story.advance(2)
        try story.add("secret 4", "entity 4", to: queue)
        try await queue.drain()
        #expect(try story.left(in: queue) == ["secret 3 failed 1: refused", "secret 4 waiting 0: signedOut"])
    }

    @Test func attemptsPausesAndWhatIsLeftAreMeasured() async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) { try await drain(RecordedLog(), InMemoryTracer()) }
        let counters = metrics.counters.map { counter in
            "\(counter.label) \(counter.dimensions.map { "\($0)=\($1)" }.joined(separator: " ")): \(counter.totalValue)"
        }
        #expect(
            counters.sorted() == [
                "mutation.queue.attempts queue=mutations outcome=again: 1",
                "mutation.queue.attempts queue=mutations outcome=failed: 1",
                "mutation.queue.attempts queue=mutations outcome=paused: 1",
                "mutation.queue.attempts queue=mutations outcome=sent: 2",
                "mutation.queue.pauses queue=mutations reason=signedOut: 1",
            ]
        )
        #expect(Set(metrics.timers.map(\.label)) == ["mutation.queue.attempt.duration"])
        #expect(metrics.timers.map(\.values.count).reduce(0, +) == 5)
        let gauges = metrics.recorders.map { gauge in
            let dimensions = gauge.dimensions.map { "\($0)=\($1)" }.joined(separator: " ")
            return "\(gauge.label) \(dimensions): \(gauge.lastValue ?? .nan)"
        }
        #expect(
            gauges.sorted() == [
                "mutation.queue.age queue=mutations: 2.0",
                "mutation.queue.mutations queue=mutations state=failed: 1.0",
                "mutation.queue.mutations queue=mutations state=unreadable: 0.0",
                "mutation.queue.mutations queue=mutations state=waiting: 1.0",
            ]
        )
    }

    @Test func attemptsAreSpans() async throws {
        let tracer = InMemoryTracer()
        try await drain(RecordedLog(), tracer)
        #expect(tracer.activeSpans.isEmpty)
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == Array(repeating: "MutationQueue attempt", count: 5))
        #expect(spans.allSatisfy { $0.attributes.get("mutation.queue") == "mutations" })
        #expect(spans.count { $0.attributes.get("mutation.attempt") == 2 } == 1)
    }

    @Test func logLinesTellOutcomesAndNoContent() async throws {
        let log = RecordedLog()
        try await drain(log, InMemoryTracer())
        let lines = log.lines
        #expect(lines.count { $0.hasPrefix("debug An attempt of the mutation queue ended") } == 5)
        let notices = lines.filter { $0.hasPrefix("notice") }
        #expect(
            notices == [
                "notice The mutation queue keeps a mutation that failed, until it is sent again or discarded "
                    + "outcome=failed queue=mutations",
                "notice The mutation queue pauses queue=mutations reason=signedOut",
            ]
        )
        #expect(lines.allSatisfy { !$0.contains("secret") && !$0.contains("entity") })
    }
}

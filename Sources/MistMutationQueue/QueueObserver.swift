import Logging
import Metrics
import SQLiteTables
import Tracing

/// Reports what a queue does to the log, to metrics and to traces.
///
/// Log lines and spans have no content of mutations, no entities and no texts of errors. The dimensions of metrics have
/// few values: the queue, the outcome of an attempt, and the reason of a pause.
struct QueueObserver: Sendable {
    private enum Name {
        static let attempts = "mutation.queue.attempts"
        static let attemptDuration = "mutation.queue.attempt.duration"
        static let pauses = "mutation.queue.pauses"
        static let mutations = "mutation.queue.mutations"
        static let age = "mutation.queue.age"
    }

    private let queue: String
    private let logger: Logger
    /// The tracer for spans; `nil` when nothing traces.
    private let tracer: (any Tracer)?

    init(queue: String, logger: Logger, tracer: (any Tracer)?) {
        self.queue = queue
        self.logger = logger
        let tracer = tracer ?? InstrumentationSystem.tracer
        self.tracer = tracer is NoOpTracer ? nil : tracer
    }

    /// Runs an attempt in a span, and measures it.
    func attempt<Value: Sendable>(number: Int, _ body: @Sendable () async -> Value) async -> Value {
        let start = ContinuousClock.now
        defer {
            Timer(label: Name.attemptDuration, dimensions: [("queue", queue)])
                .record(duration: ContinuousClock.now - start)
        }
        guard let tracer else { return await body() }
        return await tracer.withAnySpan("MutationQueue attempt", ofKind: .client) { span in
            span.attributes["mutation.queue"] = queue
            span.attributes["mutation.attempt"] = number
            return await body()
        }
    }

    /// Reports the outcomes of attempts.
    func note(_ outcomes: [String], pause: StoredPause?) {
        for outcome in outcomes {
            Counter(label: Name.attempts, dimensions: [("queue", queue), ("outcome", outcome)]).increment()
            logger.debug(
                "An attempt of the mutation queue ended",
                metadata: ["queue": "\(queue)", "outcome": "\(outcome)"]
            )
            if outcome == "failed" || outcome == "unreadable" {
                logger.notice(
                    "The mutation queue keeps a mutation that failed, until it is sent again or discarded",
                    metadata: ["queue": "\(queue)", "outcome": "\(outcome)"]
                )
            }
        }
        if let pause {
            Counter(label: Name.pauses, dimensions: [("queue", queue), ("reason", pause.reason.rawValue)]).increment()
            logger.notice("The mutation queue pauses", metadata: ["queue": "\(queue)", "reason": "\(pause.reason)"])
        }
    }

    /// Reports what is left, when nothing more can be sent now: the mutations by state, and the age of the oldest one in
    /// seconds.
    func note(_ status: MutationQueueStatus) {
        for (state, count) in [
            (MutationState.waiting, status.waiting), (.failed, status.failed), (.unreadable, status.unreadable),
        ] {
            Gauge(label: Name.mutations, dimensions: [("queue", queue), ("state", state.rawValue)]).record(count)
        }
        Gauge(label: Name.age, dimensions: [("queue", queue)]).record(Double(status.age.milliseconds) / 1000)
    }

    /// Reports that the file did not take a step.
    func storageFailed(_ error: MutationQueueError) {
        logger.warning(
            "The mutation queue tries its file again",
            metadata: ["queue": "\(queue)", "code": "\(error.code)"]
        )
    }
}

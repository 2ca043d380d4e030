import Logging
import Metrics
import MistKit
import SQLiteTables
import Tracing

/// Reports the synchronisation of a scope to the log, to metrics and to traces.
///
/// Log lines and spans contain no names and no values of records. The dimensions of metrics have few values: the scope,
/// the kind of request, and its outcome.
struct SyncObserver: Sendable {
    let scope: DatabaseScope
    private let logger: Logger
    /// The tracer for spans; `nil` when nothing traces.
    private let tracer: (any Tracer)?

    init(scope: DatabaseScope, logger: Logger, tracer: (any Tracer)?) {
        self.scope = scope
        self.logger = logger
        let tracer = tracer ?? InstrumentationSystem.tracer
        self.tracer = tracer is NoOpTracer ? nil : tracer
    }

    /// Runs a cycle, and reports its outcome.
    func cycle(_ body: () async throws -> SyncCycle) async throws -> SyncCycle {
        let start = ContinuousClock.now
        do {
            let cycle = try await span("MistStore sync") { span in
                let cycle = try await body()
                for (name, value) in cycle.counts { span?.attributes["cloudkit.store.\(name)"] = value }
                span?.attributes["cloudkit.store.outcome"] = cycle.outcome
                span?.attributes["cloudkit.store.condition"] = cycle.condition?.rawValue
                return cycle
            }
            report(cycle, after: ContinuousClock.now - start)
            return cycle
        } catch {
            let outcome = error is CancellationError ? "cancelled" : "failed"
            SyncMetrics(scope)?.cycleEnded(outcome, after: ContinuousClock.now - start)
            logger.debug(
                "MistStore synchronisation ended early",
                metadata: ["scope": "\(scope)", "outcome": "\(outcome)"]
            )
            throw error
        }
    }

    /// Sends a request, and reports its outcome.
    func send(
        _ request: SyncRequest,
        over service: any SyncService,
        ofSession session: UInt64
    ) async throws -> SyncResponse {
        let start = ContinuousClock.now
        let response = try await span("MistStore \(request.kind)") { span in
            span?.attributes["cloudkit.store.items"] = request.itemCount
            let response = try await service.response(to: request, in: scope, ofSession: session)
            if case .failure(let error) = response.result {
                span?.attributes["cloudkit.store.outcome"] = error.outcome
            }
            return response
        }
        let duration = ContinuousClock.now - start
        var metadata: Logger.Metadata = [
            "scope": "\(scope)", "request": "\(request.kind)", "items": "\(request.itemCount)",
            "duration": "\(duration)",
        ]
        let outcome: String
        switch response.result {
        case .success: outcome = "ok"
        case .failure(let error):
            outcome = error.outcome
            metadata["code"] = "\(error.code)"
        }
        metadata["outcome"] = "\(outcome)"
        logger.debug("MistStore request ended", metadata: metadata)
        SyncMetrics(scope)?.requestEnded(request.kind.rawValue, outcome, after: duration)
        return response
    }

    private func report(_ cycle: SyncCycle, after duration: Duration) {
        var metadata: Logger.Metadata = [
            "scope": "\(scope)", "outcome": "\(cycle.outcome)", "duration": "\(duration)",
        ]
        for (name, value) in cycle.counts { metadata[name] = "\(value)" }
        metadata["condition"] = cycle.condition.map { "\($0.rawValue)" }
        logger.debug("MistStore synchronised", metadata: metadata)
        let summary = cycle.summary
        // No call throws these, and a person may have to look at them.
        if summary.parked > 0 || summary.lost > 0 {
            logger.notice(
                "MistStore keeps records that the service refused, or values that lost",
                metadata: ["scope": "\(scope)", "parked": "\(summary.parked)", "lost": "\(summary.lost)"]
            )
        }
        if cycle.correction != 0 {
            logger.notice(
                "MistStore corrects edit times, as the clock of this machine differs from that of the service",
                metadata: ["scope": "\(scope)", "milliseconds": "\(cycle.correction)"]
            )
        }
        if summary.clamped > 0 {
            logger.notice(
                "MistStore limits edit times of other devices that are later than their versions",
                metadata: ["scope": "\(scope)", "times": "\(summary.clamped)"]
            )
        }
        if cycle.condition == .massDeletion {
            logger.notice(
                "MistStore keeps back deletes that are more than the limit, until they are allowed or undone",
                metadata: ["scope": "\(scope)"]
            )
        }
        SyncMetrics(scope)?.cycleEnded(cycle, after: duration)
    }

    /// Reports records that left because they were deleted elsewhere, more than the limit.
    func report(_ removal: MassRemoval) {
        logger.notice(
            "MistStore has removed many records that were deleted elsewhere; the recovery log has their values",
            metadata: ["scope": "\(scope)", "removed": "\(removal.removed)", "records": "\(removal.records)"]
        )
    }

    private func span<Value>(
        _ name: String,
        _ body: ((any Span)?) async throws -> Value
    ) async throws -> Value {
        guard let tracer else { return try await body(nil) }
        return try await tracer.withAnySpan(name, ofKind: .internal) { span in
            span.attributes["cloudkit.database"] = "\(scope)"
            return try await body(span)
        }
    }
}

/// One cycle of a scope, for reports.
struct SyncCycle: Sendable {
    let began: MachineTime
    var summary = SyncSummary()
    var requests = 0
    /// The engine's last step.
    var end = SyncEngine.Step.idle
    /// The reason why the scope waits.
    var condition: SyncCondition?
    /// The change of the clock's offset, in milliseconds.
    var correction: Int64 = 0

    /// The outcome, as reports name it.
    var outcome: String {
        switch end {
        case .idle, .send, .transfer: "idle"
        case .wait: "waits"
        case .blocked: "blocked"
        case .otherProcess: "superseded"
        }
    }

    /// All counts, by the names of log lines and attributes.
    var counts: [(String, Int)] {
        [("requests", requests)] + recordCounts
    }

    /// The counts of records, by the result for the record.
    var recordCounts: [(String, Int)] {
        [
            ("fetched", summary.fetched), ("removed", summary.removed), ("sent", summary.sent),
            ("deleted", summary.deleted), ("merged", summary.merged), ("lost", summary.lost),
            ("parked", summary.parked),
        ]
    }
}

/// The metrics of the store, under the names that a dashboard shows. Each metric has the dimension `scope`.
private struct SyncMetrics {
    private enum Name {
        static let cycles = "cloudkit.store.cycles"
        static let cycleDuration = "cloudkit.store.cycle.duration"
        static let requests = "cloudkit.store.requests"
        static let requestDuration = "cloudkit.store.request.duration"
        static let records = "cloudkit.store.records"
        static let waits = "cloudkit.store.waits"
        static let clockCorrections = "cloudkit.store.clock.corrections"
        static let clampedTimes = "cloudkit.store.clock.clamps"
    }

    private let scope: (String, String)
    private let factory: any MetricsFactory

    /// Makes the metrics of a scope; `nil` when no metrics system is installed.
    init?(_ scope: DatabaseScope) {
        guard let factory = MetricsSystem.installedFactory else { return nil }
        self.factory = factory
        self.scope = ("scope", "\(scope)")
    }

    func cycleEnded(_ cycle: SyncCycle, after duration: Duration) {
        cycleEnded(cycle.outcome, after: duration)
        let summary = cycle.summary
        for (result, count) in cycle.recordCounts {
            self.count(count, Name.records, ("result", result))
        }
        count(cycle.correction == 0 ? 0 : 1, Name.clockCorrections)
        count(summary.clamped, Name.clampedTimes)
        if let condition = cycle.condition { count(1, Name.waits, ("reason", condition.rawValue)) }
    }

    func cycleEnded(_ outcome: String, after duration: Duration) {
        count(1, Name.cycles, ("outcome", outcome))
        record(duration, Name.cycleDuration, ("outcome", outcome))
    }

    func requestEnded(_ kind: String, _ outcome: String, after duration: Duration) {
        count(1, Name.requests, ("request", kind), ("outcome", outcome))
        record(duration, Name.requestDuration, ("request", kind), ("outcome", outcome))
    }

    private func count(_ number: Int, _ name: String, _ dimensions: (String, String)...) {
        guard number > 0 else { return }
        Counter(label: name, dimensions: [scope] + dimensions, factory: factory).increment(by: number)
    }

    private func record(_ duration: Duration, _ name: String, _ dimensions: (String, String)...) {
        Timer(label: name, dimensions: [scope] + dimensions, factory: factory).record(duration: duration)
    }
}

extension CloudKitError {
    /// The outcome of a failed request, as reports name it.
    fileprivate var outcome: String { mayHaveBeenDone ? "unknown" : "failed" }
}

extension SyncRequest {
    /// The number of zones, records or operations in it.
    fileprivate var itemCount: Int {
        switch self {
        case .caller, .databaseChanges, .zoneListing, .query: 1
        case .zoneChanges(let cursors): cursors.count
        case .createZones(let zones): zones.count
        case .lookup(let names, _): names.count
        case .modify(let operations, _, _): operations.count
        }
    }
}

import CoreMetrics
import Foundation
import InMemoryTracing
import Logging
import MetricsTestKit
import MistKit
import MistTesting
import Synchronization
import TestSupport
import Testing
import Tracing

@testable import MistStore

/// The log, the metrics and the traces of a synchronisation.
struct SyncObserverTests {
    /// A program that sets up no logging does not get the store's notices into its output.
    @Test func aStoreWithoutALoggerIsQuiet() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            #expect(store.configuration.logger.logLevel == .warning)
            try store.close()
        }
    }

    /// A store with a record that is sent and one that the service refuses. It synchronises twice, the second time
    /// without the service.
    private func synchronise(_ log: RecordedLog, _ tracer: InMemoryTracer) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                var configuration = StoreConfiguration()
                configuration.tracer = tracer
                configuration.logger = log.logger(level: .debug)
                let service = InterruptedService(emulator.service(as: .user))
                let store = try MistStore(
                    at: folder,
                    records: [Shelf.self, Book.self],
                    service: service,
                    configuration: configuration
                )
                try await store.privateDatabase.add(Shelf(name: "secret of the shelf"), named: "s")
                try await store.privateDatabase.add(
                    Shelf(name: String(repeating: "x", count: 1_200_000)),
                    named: "long"
                )
                try await store.sync()
                service.isInterrupted.store(true, ordering: .relaxed)
                try await store.sync()
                try store.close()
            }
        }
    }

    @Test func cyclesAndRequestsAreReported() async throws {
        let (log, tracer, metrics) = (RecordedLog(), InMemoryTracer(), TestMetrics())
        try await withMetricsFactory(metrics) { try await synchronise(log, tracer) }
        let counters = metrics.counters.map { counter in
            "\(counter.label) \(counter.dimensions.map { "\($0)=\($1)" }.joined(separator: " ")): \(counter.totalValue)"
        }.filter { $0.hasPrefix("cloudkit.store") }
        #expect(
            counters.sorted() == [
                "cloudkit.store.cycles scope=private outcome=idle: 1",
                "cloudkit.store.cycles scope=private outcome=waits: 1",
                "cloudkit.store.cycles scope=public outcome=idle: 2",
                "cloudkit.store.records scope=private result=parked: 1",
                "cloudkit.store.records scope=private result=sent: 1",
                "cloudkit.store.requests scope=private request=caller outcome=ok: 1",
                "cloudkit.store.requests scope=private request=createZones outcome=ok: 1",
                "cloudkit.store.requests scope=private request=databaseChanges outcome=failed: 1",
                "cloudkit.store.requests scope=private request=databaseChanges outcome=ok: 1",
                "cloudkit.store.requests scope=private request=modify outcome=ok: 1",
                "cloudkit.store.waits scope=private reason=offline: 1",
            ]
        )
        let timers = Set(metrics.timers.map(\.label)).filter { $0.hasPrefix("cloudkit.store") }
        #expect(timers.sorted() == ["cloudkit.store.cycle.duration", "cloudkit.store.request.duration"])
    }

    @Test func cyclesAreSpansAndRequestsAreSpansBelowThem() async throws {
        let (log, tracer) = (RecordedLog(), InMemoryTracer())
        try await synchronise(log, tracer)
        #expect(tracer.activeSpans.isEmpty)
        let spans = tracer.finishedSpans.filter { $0.operationName.hasPrefix("MistStore") }
        #expect(
            spans.map(\.operationName) == [
                "MistStore sync", "MistStore caller", "MistStore databaseChanges", "MistStore createZones",
                "MistStore modify", "MistStore sync",
                "MistStore sync", "MistStore databaseChanges", "MistStore sync",
            ]
        )
        let cycle = spans[5]
        #expect(spans[1...4].allSatisfy { $0.parentSpanID == cycle.spanID })
        #expect(cycle.attributes.get("cloudkit.database") == "private")
        #expect(cycle.attributes.get("cloudkit.store.sent") == 1)
        #expect(cycle.attributes.get("cloudkit.store.outcome") == "idle")
        #expect(spans[4].attributes.get("cloudkit.store.items") == 2)
        #expect(spans[8].attributes.get("cloudkit.store.condition") == "offline")
    }

    @Test func logLinesTellCountsAndNoValues() async throws {
        let (log, tracer) = (RecordedLog(), InMemoryTracer())
        try await synchronise(log, tracer)
        let lines = log.lines.filter { $0.contains("MistStore") }
        #expect(lines.count { $0.hasPrefix("debug MistStore synchronised") } == 4)
        #expect(lines.count { $0.hasPrefix("debug MistStore request ended") } == 5)
        let cycle = try #require(lines.first { $0.contains("synchronised") && $0.contains("scope=private") })
        for part in ["fetched=0", "lost=0", "merged=0", "outcome=idle", "parked=1", "requests=4", "sent=1"] {
            #expect(cycle.contains(part), "\(cycle)")
        }
        #expect(lines.contains { $0.hasPrefix("notice") && $0.contains("parked=1") })
        let offline = try #require(lines.last { $0.contains("request ended") })
        #expect(offline.contains("code=network") && offline.contains("outcome=failed"))
        #expect(lines.allSatisfy { !$0.contains("secret") })
    }

    @Test func clocksThatAreWrongAreReported() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", clockError: 86_400)
        // The first edit is a day ahead. Then the store learns the service's time.
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        let before = try phone.engine.clockOffset()
        try phone.sync()
        #expect(try phone.engine.clockOffset() - before < -86_000_000)
    }
}

/// A service that cannot be reached while a test says so.
private final class InterruptedService: SyncService {
    private let service: any SyncService
    let isInterrupted = Atomic(false)

    init(_ service: any SyncService) {
        self.service = service
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        if isInterrupted.load(ordering: .relaxed) { throw CloudKitError.broken(mayHaveBeenDone: false) }
        return try await service.send(request, to: scope)
    }
}

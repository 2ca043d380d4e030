import Foundation
import MutationQueueSimulation
import Testing

/// Processes, a service with faults and a model of both; `Scripts/simulate-queue` runs more seeds.
struct QueueSimulationTests {
    private static let count = ProcessInfo.processInfo.environment["MISTKIT_SIMULATIONS"].flatMap { UInt64($0) } ?? 300
    private static let start = ProcessInfo.processInfo.environment["MISTKIT_SEED"].flatMap { UInt64($0) } ?? 1

    @Test func everyMutationHasItsEffectOnce() async throws {
        var counts = QueueSimulationCounts()
        for seed in Self.start..<Self.start + Self.count {
            counts += try QueueSimulation().run(seed: seed)
            // Other tests share a few threads with this one.
            await Task.yield()
        }
        // A run of few seeds may miss an event.
        guard Self.count >= 300 else { return }
        for name in [
            "annihilated", "cancelled", "clocks", "crashes", "discarded", "done", "duplicates", "failed-commits",
            "lost-leases", "lostReply", "never", "pauses", "repeated", "stops", "strays",
        ] {
            #expect(counts.numbers[name, default: 0] > 0, "\(name) did not happen")
        }
    }
}

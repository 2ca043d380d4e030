import Foundation
import MutationQueueSimulation
import TestSupport
import Testing

/// Processes, a service with faults and a model of both. `Scripts/simulate-queue` runs more seeds, and sees that each
/// event happens.
struct QueueSimulationTests {
    private static let count = ProcessInfo.processInfo.environment["MISTKIT_SIMULATIONS"].flatMap { UInt64($0) } ?? 30
    private static let start = ProcessInfo.processInfo.environment["MISTKIT_SEED"].flatMap { UInt64($0) } ?? 1

    @Test func everyMutationHasItsEffectOnce() async throws {
        let seeds = Self.start..<Self.start + Self.count
        try await onOwnThread { for seed in seeds { try QueueSimulation().run(seed: seed) } }
    }
}

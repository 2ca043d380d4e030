import Foundation
import MistKit
import MistTesting

/// Runs simulations of the store with consecutive seeds, one after the other, and prints the numbers of operations,
/// requests, conflicts and so on.
///
/// ```
/// SyncSimulations 1 20 private
/// // seeds 20 operations 2400 requests 5710 conflicts 296 …
/// ```
///
/// Each seed decides one run of 60 operations. An even seed has network faults and crashes, an odd seed also has wrong
/// clocks and purged zones. When a run fails, its story is printed, and the exit code is 255, which stops
/// `Scripts/simulate-sync`.
@main
struct Main {
    static func main() {
        let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        guard numbers.count == 2, let scope = DatabaseScope(rawValue: CommandLine.arguments.last ?? "") else {
            FileHandle.standardError.write(Data("usage: SyncSimulations <first seed> <count> private|public\n".utf8))
            exit(2)
        }
        var simulation = SyncSimulation(records: [Shelf.self, Book.self])
        simulation.scope = scope
        var counts = SimulationCounts()
        for seed in numbers[0]..<numbers[0] + numbers[1] {
            let (name, faults): (String, SimulationFaults) = seed % 2 == 0 ? ("network", .network) : ("all", .all)
            simulation.faults = faults
            do {
                counts += try simulation.run(seed: seed)
            } catch {
                FileHandle.standardError.write(Data("\nseed \(seed) fails with the faults '\(name)': \(error)\n".utf8))
                exit(255)
            }
        }
        print(
            """
            seeds \(numbers[1]) operations \(counts.operations) requests \(counts.requests) conflicts \(counts.conflicts) \
            crashes \(counts.crashes) network-losses \(counts.networkLosses) lost-requests \(counts.lostRequests) \
            lost-replies \(counts.lostReplies) duplicates \(counts.duplicates) throttles \(counts.throttles) \
            expired-tokens \(counts.expiredTokens) purges \(counts.purges)
            """
        )
    }
}

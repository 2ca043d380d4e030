import Foundation
import MistKit
import MistStore
import MistTesting

/// Runs simulations of the store with consecutive seeds, one after the other, and prints the numbers of operations,
/// requests, conflicts and so on.
///
/// ```
/// SyncSimulations 1 20 3 60 private [files|moves|sessions|all|accounts]
/// // seeds 20 operations 2400 requests 5710 conflicts 296 …
/// ```
///
/// Each seed decides one run. An even seed has network faults and crashes; of the odd seeds, every second one also has
/// purged zones and clocks that are wrong for a while, and the others have clocks that stay wrong. When a run fails, its
/// story is printed, and the exit code is 255, which stops `Scripts/simulate-sync`.
@main
struct Main {
    /// What the simulations are about besides records.
    private enum Kind: String {
        case records, files, moves, sessions, accounts, all
    }

    static func main() async {
        let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        let words = CommandLine.arguments.dropFirst().filter { UInt64($0) == nil }
        guard numbers.count == 4, let scope = words.first.flatMap(DatabaseScope.init(rawValue:)),
            words.count <= 2, let kind = words.dropFirst().first.map(Kind.init(rawValue:)) ?? .records
        else {
            let usage = """
                usage: SyncSimulations <first seed> <count> <devices> <operations> private|public [files|moves|sessions|all|accounts]

                """
            FileHandle.standardError.write(Data(usage.utf8))
            exit(2)
        }
        if kind == .accounts { return await runAccounts(numbers) }
        let records: [any CloudKitRecord.Type] =
            switch kind {
            case .records, .sessions: [Shelf.self, Book.self]
            case .files: [Shelf.self, Book.self, Cover.self]
            case .moves: [Branch.self, Book.self]
            case .all: [Branch.self, Book.self, Leaf.self]
            case .accounts: []
            }
        var simulation = SyncSimulation(records: records)
        simulation.scope = scope
        if kind == .moves || kind == .all {
            simulation.zones = .perRoot
            simulation.moves = 0.2
        }
        simulation.devices = Int(numbers[2])
        simulation.operations = Int(numbers[3])
        var counts = SimulationCounts()
        for seed in numbers[0]..<numbers[0] + numbers[1] {
            let (name, faults): (String, SimulationFaults) =
                switch seed % 4 {
                case 1: ("all", .all)
                case 3: ("wrongClocks", .wrongClocks)
                default: ("network", .network)
                }
            simulation.faults = faults
            if kind == .sessions || kind == .all { simulation.faults.otherSession = 0.05 }
            do {
                counts += try simulation.run(seed: seed)
            } catch let failure as SimulationFailure {
                let lines = ["", "seed \(seed) fails with the faults '\(name)': \(failure.message)"] + failure.story
                FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
                exit(255)
            } catch {
                FileHandle.standardError.write(Data("\nseed \(seed) fails with the faults '\(name)': \(error)\n".utf8))
                exit(255)
            }
        }
        print(
            """
            seeds \(numbers[1]) operations \(counts.operations) requests \(counts.requests) conflicts \(counts.conflicts) \
            crashes \(counts.crashes) stops \(counts.stops) take-overs \(counts.takeOvers) \
            verifications \(counts.verifications) compared \(counts.compared) \
            network-losses \(counts.networkLosses) lost-requests \(counts.lostRequests) \
            lost-replies \(counts.lostReplies) duplicates \(counts.duplicates) throttles \(counts.throttles) \
            expired-tokens \(counts.expiredTokens) purges \(counts.purges) \
            deletes-elsewhere \(counts.deletesElsewhere) stale-forms \(counts.staleForms) copies \(counts.copies) moves \(counts.moves) sessions \(counts.sessions) \
            mass-deletions \(counts.massDeletions) unclear-counts \(counts.unclearCounts) \
            transfers \(counts.transfers) rereferences \(counts.rereferences) \
            refused-receipts \(counts.refusedReceipts) collections \(counts.collections)
            """
        )
    }

    /// Runs simulations of accounts. With an odd seed, records that are made signed out join no user. Of four seeds, two have
    /// files.
    private static func runAccounts(_ numbers: [UInt64]) async {
        var simulation = AccountSimulation()
        simulation.devices = Int(numbers[2])
        simulation.operations = Int(numbers[3])
        var counts = AccountCounts()
        for seed in numbers[0]..<numbers[0] + numbers[1] {
            simulation.joinsRecordsMadeSignedOut = seed % 2 == 0
            simulation.hasFiles = seed % 4 >= 2
            do {
                counts += try await simulation.run(seed: seed)
            } catch {
                FileHandle.standardError.write(Data("\nseed \(seed) fails: \(error)\n".utf8))
                exit(255)
            }
        }
        print(
            """
            seeds \(numbers[1]) operations \(counts.operations) sign-ins \(counts.signIns) \
            sign-outs \(counts.signOuts) removals \(counts.removals) silent-sessions \(counts.silentSessions) \
            crashes \(counts.crashes) throttles \(counts.throttles) interruptions \(counts.interruptions) transfers \(counts.transfers) \
            joined \(counts.joined) records \(counts.records)
            """
        )
    }
}

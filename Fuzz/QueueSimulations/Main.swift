import Foundation
import MutationQueueSimulation

/// Runs simulations of the mutation queue with consecutive seeds, and prints what happened in them.
///
/// ```
/// QueueSimulations 1 20
/// // attempts 812 crashes 94 done 577 …
/// ```
///
/// When a run fails, its story is printed, and the exit code is 255, which stops `Scripts/simulate-queue`.
@main
struct Main {
    static func main() {
        let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        guard numbers.count == 2, CommandLine.arguments.count == 3 else {
            FileHandle.standardError.write(Data("usage: QueueSimulations <first seed> <count>\n".utf8))
            exit(2)
        }
        var counts = QueueSimulationCounts()
        for seed in numbers[0]..<numbers[0] + numbers[1] {
            do {
                counts += try QueueSimulation().run(seed: seed)
            } catch {
                FileHandle.standardError.write(Data("\n\(error)\n".utf8))
                exit(255)
            }
        }
        print(counts.line)
    }
}

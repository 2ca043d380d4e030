import Foundation

/// Runs a scenario of a queue, and can die at one of its steps; or processes that are killed at random: a program for
/// tests of this package.
///
/// ```
/// QueueCrashes                    // the names of the scenarios
/// QueueCrashes <number> <folder>  // plays a scenario, or the rest of it, and prints its steps and the end
/// QueueCrashes <number> <folder> <step>  // the same, and dies by SIGKILL at a step
/// QueueCrashes drive <seconds> [seed]    // kills two processes at random, and checks what they have done
/// ```
@main
struct Main {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "drive":
            let seconds = arguments.dropFirst().first.flatMap { Double($0) } ?? 10
            let seed = arguments.dropFirst(2).first.flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)
            try await ProcessDriver(seed: seed).run(for: seconds)
        case "work":
            guard let folder = arguments.dropFirst().first, let name = arguments.dropFirst(2).first else { return }
            try await Worker(in: URL(filePath: folder), name: name).run()
        default:
            guard let number = arguments.first.flatMap({ Int($0) }), CrashScenario.all.indices.contains(number),
                let folder = arguments.dropFirst().first
            else {
                for scenario in CrashScenario.all { print(scenario.name) }
                return
            }
            let step = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 0
            let run = try CrashRun(CrashScenario.all[number], in: URL(filePath: folder), dyingAt: step)
            try await run.play()
            print("steps \(run.steps.count)")
            for line in try await run.state() { print(line) }
        }
    }
}

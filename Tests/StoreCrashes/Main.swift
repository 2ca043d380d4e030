import Foundation
import MistKit

/// Runs a scenario of a store, and can die at one of its steps: a program for tests of this package.
///
/// ```
/// StoreCrashes                    // the names of the scenarios
/// StoreCrashes <number> <folder>  // plays a scenario, or the rest of it, and prints its steps and the end
/// StoreCrashes <number> <folder> <step>  // the same, and dies by SIGKILL at a step
/// ```
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let number = arguments.first.flatMap({ Int($0) }), CrashScenario.all.indices.contains(number),
            let folder = arguments.dropFirst().first
        else {
            for scenario in CrashScenario.all { print(scenario.name) }
            return
        }
        let step = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 0
        let run = try CrashRun(CrashScenario.all[number], in: URL(filePath: folder), dyingAt: step)
        try await run.play()
        print("steps \(run.stepCount)")
        for line in try await run.state() { print(line) }
    }
}

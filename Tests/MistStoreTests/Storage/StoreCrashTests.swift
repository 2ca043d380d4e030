import Foundation
import Synchronization
import TestSupport
import Testing

/// A process is killed at any step, and a second process continues. The end must be that of an undisturbed process.
///
/// The program `StoreCrashes` runs a scenario of two devices. There is a step before and after each commit to the
/// phone's files, and before and after each of its requests; opening the files is included. `Scripts/crash-stores`
/// kills the program at all steps of all scenarios (`MISTKIT_CRASHES=all`), or of those whose name has a word
/// (`MISTKIT_CRASHES=backup`); by default, the tests take a few steps.
#if os(Linux) || os(macOS)
    struct StoreCrashTests {
        /// The program is beside the tests.
        private static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "StoreCrashes")

        private static let word = ProcessInfo.processInfo.environment["MISTKIT_CRASHES"]
        private static let takesAll = word != nil

        struct Failure: Error, CustomStringConvertible {
            let description: String
        }

        private struct Outcome {
            let status: Int32
            let isKilled: Bool
            let lines: [String]
            let errors: String
        }

        private static func run(_ arguments: String...) throws -> Outcome {
            let process = Process()
            process.executableURL = program
            process.arguments = arguments
            let (output, errors) = (Pipe(), Pipe())
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return Outcome(
                status: process.terminationStatus,
                isKilled: process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL,
                lines: text.split(separator: "\n").map(String.init),
                errors: complaint
            )
        }

        /// Runs a scenario without a crash.
        ///
        /// - Returns: The number of its steps, and its end.
        private static func undisturbed(_ scenario: Int) throws -> (steps: Int, end: [String]) {
            try withTemporaryFolder { folder in
                let outcome = try run("\(scenario)", folder.path)
                guard outcome.status == 0, let first = outcome.lines.first, let steps = Int(first.dropFirst(6)) else {
                    throw Failure(description: "The scenario does not end by itself: \(outcome.errors)")
                }
                return (steps, Array(outcome.lines.dropFirst()))
            }
        }

        /// Kills a process at a step, continues with another process, and compares the end.
        ///
        /// - Parameters:
        ///   - scenario: The number of the scenario.
        ///   - step: The step at which the process dies.
        ///   - certain: The steps that each run has. Files are transferred beside requests, so runs of a scenario with
        ///     files differ by a few steps.
        ///   - end: The end of a run that was not disturbed.
        /// - Throws: A ``Failure`` where the process does not die, or ends otherwise.
        private static func check(_ scenario: Int, killedAt step: Int, of certain: Int, _ end: [String]) throws {
            try withTemporaryFolder { folder in
                let isKilled = try run("\(scenario)", folder.path, "\(step)").isKilled
                guard isKilled || step > certain else {
                    throw Failure(description: "The process does not die at step \(step).")
                }
                let outcome = try run("\(scenario)", folder.path)
                guard outcome.status == 0 else {
                    throw Failure(description: "The second process fails: \(outcome.errors)")
                }
                let difference = Array(outcome.lines.dropFirst()).difference(from: end).map { change in
                    switch change {
                    case .insert(_, let line, _): "+ \(line)"
                    case .remove(_, let line, _): "- \(line)"
                    }
                }
                guard difference.isEmpty else {
                    throw Failure(description: "The end differs:\n" + difference.joined(separator: "\n"))
                }
            }
        }

        @Test("3. A process that is killed at any step, and goes on, ends as one that was not disturbed")
        func killedProcessesGoOn() throws {
            let names = try Self.run().lines
            #expect(names.count >= 30)
            let began = ContinuousClock.now
            // By default, a few scenarios of different kinds, and some of their steps.
            let chosen =
                if let word = Self.word {
                    names.indices.filter { word == "all" || names[$0].contains(word) }
                } else { [1, 3, 4, 15, 20, 30, 35] }
            var jobs: [(scenario: Int, step: Int, certain: Int)] = []
            var ends: [Int: [String]] = [:]
            for scenario in chosen {
                let (steps, end) = try Self.undisturbed(scenario)
                ends[scenario] = end
                #expect(!end.isEmpty && steps > 20, "\(names[scenario])")
                jobs += stride(from: 1, through: steps, by: Self.takesAll ? 1 : max(1, steps / 5)).map {
                    (scenario, $0, names[scenario].contains("file") ? steps - 10 : steps)
                }
            }
            let total = jobs.count
            let waiting = Mutex(jobs)
            let failures = Mutex<[String]>([])
            let known = ends
            DispatchQueue.concurrentPerform(iterations: ProcessInfo.processInfo.activeProcessorCount) { _ in
                while let job = waiting.withLock({ $0.popLast() }) {
                    do {
                        try Self.check(job.scenario, killedAt: job.step, of: job.certain, known[job.scenario] ?? [])
                    } catch {
                        failures.withLock { $0.append("\(names[job.scenario]), killed at step \(job.step): \(error)") }
                    }
                }
            }
            for failure in failures.withLock({ $0 }) { Issue.record("\(failure)") }
            if Self.takesAll {
                let time = (ContinuousClock.now - began).components.seconds
                print("crash-stores: \(chosen.count) scenarios, \(total) steps, \(total) processes killed; \(time) s")
            }
        }
    }
#endif

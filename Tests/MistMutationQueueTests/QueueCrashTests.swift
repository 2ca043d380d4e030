import Foundation
import Synchronization
import TestSupport
import Testing

/// A process is killed at any step, and a second process continues. The end must be that of an undisturbed process.
///
/// The program `QueueCrashes` runs a scenario. There is a step before and after each commit to the file, and before and
/// after each request; opening the file is included. `Scripts/crash-queue` kills the program at all steps of all
/// scenarios (`MISTKIT_CRASHES=all`); by default, the tests take a few steps of each.
#if os(Linux) || os(macOS)
    struct QueueCrashTests {
        /// The program is beside the tests.
        private static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "QueueCrashes")
        private static let takesAll = ProcessInfo.processInfo.environment["MISTKIT_CRASHES"] != nil

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
        private static func undisturbed(_ scenario: Int) throws -> (steps: Int, end: [String]) {
            try withTemporaryFolder { folder in
                let outcome = try run("\(scenario)", folder.path)
                guard outcome.status == 0, let first = outcome.lines.first, let steps = Int(first.dropFirst(6)) else {
                    throw Failure(description: "The scenario does not end by itself: \(outcome.errors)")
                }
                return (steps, Array(outcome.lines.dropFirst()))
            }
        }

        /// Kills a process at a step, continues with another process, and compares the end. Attempts that are made at a
        /// time, and the commits that take their ends together, let runs differ by some steps, so a process may end
        /// before the last ones.
        ///
        /// - Returns: Whether the process was killed.
        private static func check(_ scenario: Int, killedAt step: Int, _ end: [String]) throws -> Bool {
            try withTemporaryFolder { folder in
                let killed = try run("\(scenario)", folder.path, "\(step)")
                guard killed.isKilled || killed.status == 0 else {
                    throw Failure(description: "The process did not die, and did not end well: \(killed.errors)")
                }
                let second = try run("\(scenario)", folder.path)
                guard second.status == 0, Array(second.lines.dropFirst()) == end else {
                    throw Failure(
                        description: "\(second.errors)\n\(second.lines.joined(separator: "\n"))\ninstead of\n"
                            + end.joined(separator: "\n")
                    )
                }
                return killed.isKilled
            }
        }

        @Test func aProcessThatDiesAtAnyStepIsContinued() throws {
            let began = ContinuousClock.now
            let names = try Self.run().lines
            #expect(names.count >= 15)
            var jobs: [(scenario: Int, step: Int)] = []
            var ends: [Int: [String]] = [:]
            for scenario in names.indices {
                let (steps, end) = try Self.undisturbed(scenario)
                ends[scenario] = end
                #expect(!end.isEmpty && steps > 10, "\(names[scenario])")
                jobs += stride(from: 1, through: steps, by: Self.takesAll ? 1 : max(1, steps / 3)).map {
                    (scenario, $0)
                }
            }
            let total = jobs.count
            let waiting = Mutex(jobs)
            let failures = Mutex<[String]>([])
            let kills = Mutex(0)
            let known = ends
            DispatchQueue.concurrentPerform(iterations: ProcessInfo.processInfo.activeProcessorCount) { _ in
                while let job = waiting.withLock({ $0.popLast() }) {
                    do {
                        if try Self.check(job.scenario, killedAt: job.step, known[job.scenario] ?? []) {
                            kills.withLock { $0 += 1 }
                        }
                    } catch {
                        failures.withLock { $0.append("\(names[job.scenario]), killed at step \(job.step): \(error)") }
                    }
                }
            }
            for failure in failures.withLock({ $0 }) { Issue.record("\(failure)") }
            // Nearly all steps exist in each run.
            #expect(kills.withLock { $0 } * 10 >= total * 9)
            if Self.takesAll {
                let time = (ContinuousClock.now - began).components.seconds
                print(
                    "crash-queue: \(names.count) scenarios, \(total) steps, \(kills.withLock { $0 }) kills; \(time) s"
                )
            }
        }

        @Test func processesThatAreKilledAtRandomHaveEachEffectOnce() throws {
            let outcome = try Self.run("drive", "10")
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }
#endif

import ArgumentParser
import ExampleTesting
import Foundation
import Testing

@testable import celestra

/// The files in `Schedules`: the command accepts the calls in them, and the lines for cron work.
struct ScheduleTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Schedules")

    private static func text(_ file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    /// The calls of the program in a shell line, as words. Redirections and the arguments of other commands are left
    /// out.
    static func calls(in line: String) -> [[String]] {
        var calls: [[String]] = []
        for command in line.replacing("||", with: ";").replacing("&&", with: ";").split(whereSeparator: {
            ";|".contains($0)
        }) {
            var words = command.split(separator: " ").map { String($0).replacing("\"", with: "") }
            let program = words.first?.replacing("ExecStart=", with: "") ?? ""
            // A word with an equals sign is another setting of a systemd file.
            guard !program.contains("="), program.split(separator: "/").last == "celestra" else { continue }
            words.removeFirst()
            calls.append(Array(words.prefix { !$0.contains(">") && !$0.contains("<") }))
        }
        return calls
    }

    @Test(
        arguments: [
            ("celestra update --json > a; code=$?", [["update", "--json"]]),
            ("set -a; . b; /usr/bin/celestra list 2>> c", [["list"]]),
            ("ExecStart=/usr/local/bin/celestra report", [["report"]]), ("echo celestra update", []),
            ("StateDirectory=celestra", []), ("WorkingDirectory=%S/celestra", []),
            ("celestra list | celestra update --stop-after \"$A\"", [["list"], ["update", "--stop-after", "$A"]]),
        ]
    )
    func callsAreFound(line: String, calls: [[String]]) {
        #expect(ScheduleTests.calls(in: line) == calls)
    }

    /// The number of calls of the program in each file.
    @Test(arguments: [("celestra.cron", 2), ("celestra.service", 1), ("update-feeds.yml", 2)])
    func theCommandsOfTheFilesExist(file: String, count: Int) throws {
        let lines = try ScheduleTests.text(file).split(separator: "\n").map { line in
            // In a line for cron, the command follows the five fields of the time.
            let line = line.drop { $0 == " " }
            guard file.hasSuffix(".cron"), line.first?.isNumber == true else { return String(line) }
            return line.split(separator: " ", maxSplits: 5).last.map(String.init) ?? ""
        }
        let calls = lines.filter { !$0.hasPrefix("#") }.flatMap(ScheduleTests.calls)
        #expect(calls.count == count)
        for call in calls {
            let words = call.map { $0 == "$STOP_AFTER" ? "45m" : $0 }
            let command = try Celestra.parseAsRoot(words)
            #expect(!(command is Celestra), "celestra \(words.joined(separator: " ")) is no command")
        }
    }

    /// Runs the lines as cron does: with `sh -c`, the variables of the file, and a home.
    @Test func theLinesForCronRun() async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "cron-\(UUID())")
        try FileManager.default.createDirectory(at: home.appending(path: ".config"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        try "MISTKIT_DATA_FOLDER=\(home.path)/data\n".write(
            to: home.appending(path: ".config/celestra.env"),
            atomically: true,
            encoding: .utf8
        )
        var environment = ["HOME": home.path]
        var commands: [String] = []
        for line in try ScheduleTests.text("celestra.cron").split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: " ", maxSplits: 5)
            if fields.count == 6, line.first?.isNumber == true {
                // In a line for cron, a percent sign ends the command.
                #expect(!fields[5].contains("%"))
                commands.append(String(fields[5]))
            } else {
                let parts = line.split(separator: "=", maxSplits: 1)
                environment[String(parts[0])] = parts.last.map { String($0).replacing("\"", with: "") }
            }
        }
        #expect(environment["PATH"] == "/usr/local/bin:/usr/bin:/bin")
        // The program is in the build folder, and not in /usr/local/bin.
        let programs = RunningProgram.built("celestra").deletingLastPathComponent().path
        environment["PATH"] = "\(programs):\(environment["PATH"] ?? "")"

        func runAll() async throws -> [Int32] {
            var codes: [Int32] = []
            for command in commands {
                let outcome = try await RunningProgram.run(
                    URL(filePath: "/bin/sh"),
                    ["-c", command],
                    environment: environment,
                    in: home
                )
                #expect(outcome.output == "")
                codes.append(outcome.status)
            }
            return codes
        }
        #expect(try await runAll() == [0, 0])
        let report = try Data(contentsOf: home.appending(path: "celestra-report.json"))
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        #expect(try decoder.decode(RunSummary.self, from: report).feeds.isEmpty)
        let health = try String(contentsOf: home.appending(path: "celestra-health.txt"), encoding: .utf8)
        #expect(health.contains("feeds     0 active"))

        // The line has the exit code of the update, so that a scheduler notices a failure.
        let add = ["add", "--no-update", "http://127.0.0.1:1/feed", "--data-folder", "\(home.path)/data"]
        #expect(try await RunningProgram.run(RunningProgram.built("celestra"), add).status == 0)
        #expect(try await runAll() == [69, 0])
        let failed = try Data(contentsOf: home.appending(path: "celestra-report.json"))
        #expect(try decoder.decode(RunSummary.self, from: failed).failures == ["unreachable": 1])
    }
}

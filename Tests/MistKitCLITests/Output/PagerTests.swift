import Foundation
import Testing

@testable import MistKitCLI

struct PagerTests {
    @Test(
        arguments: [
            ([:], "less", "FRX"), (["PAGER": "more"], "more", "FRX"),
            (["PAGER": "more", "MISTKIT_PAGER": "most -s"], "most -s", "FRX"),
            (["PAGER": "more", "MISTKIT_PAGER": ""], nil, ""), (["PAGER": "cat"], nil, ""), (["PAGER": " "], nil, ""),
            (["NO_COLOR": "1"], "less", "FX"), (["NO_COLOR": ""], "less", "FRX"),
        ] as [([String: String], String?, String)]
    )
    func thePagerIsThatOfTheEnvironment(_ environment: [String: String], _ command: String?, _ less: String) {
        let pager = Pager(environment: environment)
        #expect((pager == nil) == (command == nil))
        if let pager, let command {
            #expect(pager.command.hasSuffix(command))
            #expect(pager.lessOptions == less)
        }
    }

    @Test(
        arguments: [
            ([:], true), (["PAGER": "more"], false), (["PAGER": "/usr/bin/less -S"], true), (["LESS": "-iM"], false),
            (["LESS": "-R"], true),
        ] as [([String: String], Bool)]
    )
    func onlyLessShowsStyles(_ environment: [String: String], _ showsStyles: Bool) {
        #expect(Pager(environment: environment)?.showsStyles == showsStyles)
    }

    #if os(Linux)
        /// Runs a command on a terminal of ten lines.
        private func onTerminal(_ commands: CommandTests, _ line: String, environment: [String: String]) throws
            -> CommandTests.Outcome?
        {
            guard let script = CommandTests.installed("script") else { return nil }
            var variables = environment.merging(["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
            ) { first, _ in first }
            variables["TERM"] = environment["TERM"] ?? "dumb"
            let line = "stty rows 10 cols 80; '\(CommandTests.executable.path)' \(line); echo \"status $?\""
            var outcome = try commands.run(script, arguments: ["-qec", line, "/dev/null"], environment: variables)
            outcome.output.unicodeScalars.removeAll { $0 == "\r" }
            return outcome
        }

        @Test func longTablesOfATerminalGoThroughThePager() throws {
            let commands = try CommandTests()
            let notes = (1...30).map {
                ##"{"recordType":"Note","recordName":"n\##($0)","fields":{"n":{"value":\##($0)}}}"##
            }
            try commands.mistkit("records", "create", "--from", "-", input: notes.joined(separator: "\n"))
            let marks = ["MISTKIT_PAGER": "sed 's/^/page /'", "PAGER": "false"]
            func lines(_ line: String, _ environment: [String: String]) throws -> [String]? {
                try onTerminal(commands, line, environment: environment)?.lines.map(String.init)
            }
            // Without `script`, the test cannot run.
            guard let paged = try lines("records query Note", marks) else { return }
            #expect(paged.count == 33 && paged.dropLast().allSatisfy { $0.hasPrefix("page ") })
            #expect(paged.last == "status 0")
            for (line, environment) in [
                ("records query Note --no-pager", marks), ("records query Note --filter 'n < 5'", marks),
                ("records query Note", ["PAGER": ""]),
                ("records query Note --format csv", marks),
                ("records query Note", ["PAGER": "sed s/^/page/", "MISTKIT_PAGER": "cat"]),
            ] {
                let plain = try #require(try lines(line, environment))
                #expect(plain.count > 5 && !plain.contains { $0.hasPrefix("page") }, "\(line) \(environment)")
                #expect(plain.last == "status 0")
            }
            // If the pager ends early, the command ends as if the user had closed it. If the pager does not exist, the
            // table is printed directly.
            #expect(
                try lines("records query Note", ["PAGER": "head -n 1"])?.map { $0.prefix(6) } == ["record", "status"]
            )
            let missing = try #require(
                try onTerminal(commands, "records query Note", environment: ["PAGER": "/no/such/pager"])
            )
            #expect(missing.lines.count == 34 && missing.output.hasSuffix("status 0\n"))
            // If standard output is not a terminal, the command starts no pager.
            #expect(try commands.mistkit("records", "query", "Note", environment: marks).output.hasPrefix("recordName"))
        }

        @Test func aTerminalShowsTitlesAndDetailsSetOff() throws {
            let commands = try CommandTests()
            try commands.mistkit("records", "create", "--type", "Note", "--name", "n1")
            func output(_ line: String, _ environment: [String: String]) throws -> String? {
                try onTerminal(commands, line, environment: environment)?.output
            }
            guard let table = try output("records query Note", ["TERM": "xterm"]) else { return }
            #expect(table.hasPrefix("\u{1B}[1mrecordName  tag\u{1B}[22m\n\u{1B}[90m-"), "\(table)")
            let error = try #require(try output("records lookup n2", ["TERM": "xterm"]))
            #expect(error.contains("\u{1B}[90m[\"") && error.contains("]\u{1B}[39m\n"), "\(error)")
            for environment in [["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "dumb"]] {
                #expect(try output("records query Note", environment)?.contains("\u{1B}") == false)
                #expect(try output("records lookup n2", environment)?.contains("\u{1B}") == false)
            }
            let piped = try commands.mistkit("records", "query", "Note", environment: ["TERM": "xterm"])
            #expect(!piped.output.contains("\u{1B}"))
        }

        /// Closing the pager before a table that is longer than the pipe's buffer is complete is not an error.
        @Test func closingThePagerEarlyIsNoFailure() throws {
            let commands = try CommandTests()
            let text = String(repeating: "x", count: 1000)
            let notes = (1...200).map { ##"{"recordType":"Note","recordName":"n\##($0)\##(text.prefix(240))"}"## }
            try commands.mistkit("records", "create", "--from", "-", input: notes.joined(separator: "\n"))
            let environment = ["PAGER": "true", "COLUMNS": "1000"]
            guard let outcome = try onTerminal(commands, "records query Note", environment: environment) else { return }
            #expect(outcome.output == "status 0\n")
        }
    #endif
}

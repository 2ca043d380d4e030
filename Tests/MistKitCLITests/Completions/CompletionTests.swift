import ArgumentParser
import Foundation
import StreamingJSON
import Testing

@testable import MistKitCLI

/// Completions in real shells.
struct CompletionTests {
    let commands: CommandTests

    init() throws {
        commands = try CommandTests()
        try commands.mistkit("zones", "create", "Notes")
        try commands.mistkit("zones", "create", "Lists")
        for arguments in [
            ["Note", "-F", "title=Milk", "-F", "rating=4", "--zone", "Notes"], ["List", "-F", "color=red"],
        ] {
            try commands.mistkit(arguments: ["records", "create", "--type"] + arguments)
        }
    }

    /// The environment of a shell in the folder of the test, with `mistkit` in its path.
    private var environment: [String: String] {
        let folder = CommandTests.executable.deletingLastPathComponent().path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return ["PATH": "\(folder):\(path)", "HOME": commands.folder.path, "TERM": "dumb"]
    }

    private func file(_ path: String) -> String? {
        try? String(contentsOf: commands.folder.appendingPathComponent(path), encoding: .utf8)
    }

    private func candidates(inBash line: String, variables: [String: String] = [:]) throws -> [String]? {
        guard let bash = CommandTests.installed("bash") else { return nil }
        try Data(CompletionScript(shell: .bash).text.utf8).write(to: commands.folder.appendingPathComponent("bash.sh"))
        // bash calls the function with the words, the index of the word with the cursor, the line, and the position of
        // the cursor in it.
        let script = """
            source bash.sh
            eval "COMP_WORDS=($1)"
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$2 COMP_POINT=${#2}
            _mistkit_without_space mistkit "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map { $0.isEmpty ? "''" : "\($0)" }
            .joined(separator: " ")
        let outcome = try commands.run(
            bash,
            arguments: ["--noprofile", "--norc", "-c", script, "bash", words, line],
            environment: environment.merging(variables) { $1 }
        )
        #expect(outcome.errors == "")
        return outcome.lines.map(String.init)
    }

    @Test(
        arguments: [
            ("mistkit zo", ["zones"]),
            ("mistkit records query --zone-w", ["--zone-wide"]),
            ("mistkit records query N", ["Note"]),
            ("mistkit records create --type ", ["List", "Note"]),
            ("mistkit records query --zone ", ["_defaultZone", "Lists", "Notes"]),
            ("mistkit records query Note --fields r", ["rating"]),
            ("mistkit records query Note --fields title,", ["title,rating"]),
            ("mistkit records query Note --sort -t", ["-title"]),
            ("mistkit records query List --filter c", ["color"]),
            ("mistkit records update --type Note --field ", ["title=", "rating="]),
            ("mistkit records query --environment p", ["production"]),
            ("mistkit records query --data-folder elsewhere N", []),
            ("mistkit records query --config absent.json N", []),
        ]
    )
    func bashCompletesCommandsOptionsAndNames(_ line: String, _ expected: [String]) throws {
        guard let found = try candidates(inBash: line) else { return }
        #expect(Set(found) == Set(expected))
        // Completion creates no folder.
        #expect(!FileManager.default.fileExists(atPath: commands.folder.appendingPathComponent("elsewhere").path))
    }

    /// Other users may have chosen the names in a service.
    @Test func bashRunsNothingThatANameSays() throws {
        let data = commands.folder.appendingPathComponent("data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        let variables = [
            "MISTKIT_DATA_FOLDER": data.path, "MISTKIT_CONTAINER": "iCloud.test", "MISTKIT_API_TOKEN": "0",
        ]
        let settings = try Settings.read(flags: ConnectionOptions.parse([]), environment: variables, folder: "/")
        let names = ["$(touch${IFS}made)", "`touch made`", "it's", "a b", "*", "{a,b}", "\"x\"", "~", "$HOME", "a\\b"]
        try #require(ContainerNamesCache(settings: settings, environment: [:]))
            .store(ContainerNames(zones: names), at: Date(), isComplete: true)
        guard let found = try candidates(inBash: "mistkit records query --zone ", variables: variables) else { return }
        #expect(found == names)
        #expect(file("made") == nil)
    }

    /// Runs an interactive fish on a pseudo-terminal, since fish 3 knows the cursor only there. A key binding writes
    /// the line into a file.
    @Test func fishCompletesCommandsOptionsAndNames() throws {
        guard let fish = CommandTests.installed("fish"), let python = CommandTests.installed("python3") else { return }
        try Data(CompletionScript(shell: .fish).text.utf8).write(
            to: commands.folder.appendingPathComponent("mistkit.fish")
        )
        let press = """
            import os, pathlib, pty, select, signal, sys, time
            settings = "source mistkit.fish; bind \\\\cx 'commandline > line.new; mv line.new line'; echo rea''dy"
            process, terminal = pty.fork()
            if process == 0:
                os.execv(sys.argv[1], [sys.argv[1], "--no-config", "-i", "-C", settings])
            seen, end, typed = b"", time.monotonic() + 60, False
            while not pathlib.Path("line").exists() and time.monotonic() < end:
                if select.select([terminal], [], [], 0.1)[0]:
                    seen += os.read(terminal, 10000)
                if b"ready" in seen and not typed:
                    typed = os.write(terminal, sys.argv[2].encode() + b"\\t\\x18")
            os.kill(process, signal.SIGKILL)
            print(pathlib.Path("line").read_text(), end="")
            """
        for (line, expected) in [
            ("mistkit records query N", "mistkit records query Note "),
            ("mistkit records query --zone Li", "mistkit records query --zone Lists "),
            ("mistkit records query Note --filter 'rat", "mistkit records query Note --filter 'rating' "),
            (
                "mistkit records query Note --filter 'rating BEG",
                "mistkit records query Note --filter 'rating BEGINS_WITH' "
            ),
            ("mistkit records create --type Note --field ra", "mistkit records create --type Note --field rating="),
        ] {
            let outcome = try commands.run(python, arguments: ["-c", press, fish.path, line], environment: environment)
            #expect(outcome.output == expected + "\n", "\(outcome.errors)")
            try? FileManager.default.removeItem(at: commands.folder.appendingPathComponent("line"))
        }
    }

    @Test func zshCompletesCommandsOptionsAndNames() throws {
        guard let zsh = CommandTests.installed("zsh") else { return }
        try Data(CompletionScript(shell: .zsh).text.utf8).write(to: commands.folder.appendingPathComponent("_mistkit"))
        // Runs an interactive zsh on a pseudo-terminal, and presses keys in it.
        let script = """
            zmodload zsh/zpty
            zpty inner zsh -f -i
            zpty -w inner "PS1= PS2= RPS1=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=($PWD \\$fpath); autoload -Uz compinit; compinit -u -D"
            zpty -w inner 'echo rea""dy'
            zpty -r -m inner text '*ready*'
            zpty -n -w inner "$1"$'\\t'
            zpty -r -m inner text "*$2*" && print -r -- found
            zpty -d inner
            """
        for (line, completed) in [
            ("mistkit records query N", "query Note"), ("mistkit records query --zone Li", "--zone Lists"),
        ] {
            let arguments = ["-f", "-c", script, "zsh", line, completed]
            let timeout = try #require(CommandTests.installed("timeout"))
            let outcome = try commands.run(timeout, arguments: ["60", zsh.path] + arguments, environment: environment)
            #expect(outcome.output == "found\n", "\(line): \(outcome.errors)")
        }
    }

    /// Names of a service are fetched once and kept. An unreachable service causes no output.
    @Test func namesOfAServiceAreKeptForAWhile() throws {
        guard let bash = CommandTests.installed("bash") else { return }
        try Data(CompletionScript(shell: .bash).text.utf8).write(to: commands.folder.appendingPathComponent("bash.sh"))
        let query = """
            ask() { mistkit ---completion records query -- "$1" 5 0 mistkit records query Note "$1" ''; }
            SAP_SHELL=fish; export SAP_SHELL
            ask --zone; ask --sort
            """
        let arguments = ["emulator", "--exec", "--", bash.path, "-c", query + "; env | grep ^MISTKIT > settings"]
        let served = try commands.mistkit(arguments: arguments, environment: environment)
        #expect(served.errors == "")
        #expect(
            Set(served.lines.map(String.init)).isSuperset(of: [
                "Lists", "Notes", "_defaultZone", "rating", "title", "@created",
            ])
        )
        let caches = try FileManager.default.contentsOfDirectory(
            atPath: commands.folder.appendingPathComponent(".mistkit").path
        )
        .filter { $0.hasPrefix("completions-") }
        #expect(caches.count == 1)

        // The service is gone, but the names are still known.
        let again = try commands.run(
            bash,
            arguments: ["-c", "set -a; . ./settings; \(query)"],
            environment: environment
        )
        #expect(again.output == served.output && again.errors == "")
        for cache in caches {
            try FileManager.default.removeItem(at: commands.folder.appendingPathComponent(".mistkit/\(cache)"))
        }
        let gone = try commands.run(
            bash,
            arguments: ["-c", "set -a; . ./settings; \(query)"],
            environment: environment
        )
        #expect(gone.errors == "" && gone.status == 0)
        #expect(!gone.output.contains("Notes"))
    }

    /// The shell waits at most a second, and prints no error.
    @Test func aServiceThatDoesNotAnswerIsNotWaitedFor() throws {
        guard let python = CommandTests.installed("python3") else { return }
        let program = """
            import os, socket, subprocess, sys, time
            listener = socket.create_server(("127.0.0.1", 0))
            settings = {"MISTKIT_SERVER_URL": f"http://127.0.0.1:{listener.getsockname()[1]}", "MISTKIT_CONTAINER": "iCloud.test", "MISTKIT_API_TOKEN": "0" * 64}
            began = time.monotonic()
            done = subprocess.run([sys.argv[1], "---completion", "records", "query", "--", "--zone", "3", "0", "mistkit", "records", "query", "--zone", ""],
                                  env={**os.environ, **settings}, capture_output=True, text=True)
            print(done.returncode, repr(done.stdout.strip() + done.stderr), 0.9 < time.monotonic() - began < 10)
            """
        let outcome = try commands.run(
            python,
            arguments: ["-c", program, CommandTests.executable.path],
            environment: environment
        )
        #expect(outcome.output == "0 '' True\n", "\(outcome.errors)")
    }

    @Test func completionsAreInstalledWhereTheShellLooks() throws {
        let home = ["HOME": commands.folder.path]
        let path = ".config/fish/completions/mistkit.fish"
        let first = try commands.mistkit(
            "completions",
            "install",
            environment: home.merging(["SHELL": "/usr/bin/fish"]) { $1 }
        )
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.contains("\(commands.folder.path)/\(path)"))
        let printed = try commands.mistkit("completions", "install", "--shell", "fish", "--print")
        #expect(file(path) == printed.output && !printed.output.isEmpty)
        #expect(try commands.mistkit("completions", "install", "--shell", "fish", environment: home).status == 0)

        let foreign = commands.folder.appendingPathComponent(path)
        try Data("complete -c mistkit -f\n".utf8).write(to: foreign)
        let refused = try commands.mistkit("completions", "install", "--shell", "fish", environment: home)
        #expect(refused.status == 64 && refused.errors.contains("--force"))
        #expect(file(path) == "complete -c mistkit -f\n")
        #expect(
            try commands.mistkit("completions", "install", "--shell", "fish", "--force", environment: home).status == 0
        )
        #expect(file(path) == printed.output)

        let unknown = try commands.mistkit(
            "completions",
            "install",
            environment: home.merging(["SHELL": "/bin/tcsh"]) { $1 }
        )
        #expect(unknown.status == 64 && unknown.errors.contains("--shell zsh"))
    }

    /// An argument with a value has a kind of completion, or its value name is one that cannot be completed.
    @Test func eachArgumentSaysWhatCompletesIt() throws {
        let open: Set = [
            // Numbers, texts and identifiers.
            "count", "number", "numbers", "seconds", "text", "tag", "token", "id", "identifier", "url", "host", "link",
            "person",
            "people",
            // Names of records, or of things that the command creates.
            "name", "names",
            // The command line of another program.
            "command",
            // SQL.
            "statement",
        ]
        // Options with the same name have the same completion in all commands.
        let named: Set = ["--type", "--zone", "--zone-owner", "--environment", "--database", "--fields"]
        var missing: [String] = []
        func visit(_ command: JSONValue, _ path: String) {
            let path = path + " " + (command["commandName"]?.stringValue ?? "")
            for argument in command["arguments"]?.arrayValue ?? []
            where argument["kind"] != "flag" && argument["completionKind"] == nil {
                let names = (argument["names"]?.arrayValue ?? []).compactMap {
                    $0["name"]?.stringValue.map { "--" + $0 }
                }
                let isOpen = open.contains(argument["valueName"]?.stringValue ?? "")
                if !isOpen || names.contains(where: named.contains) {
                    missing.append("\(path) \(names.first ?? argument["valueName"]?.stringValue ?? "")")
                }
            }
            for inner in command["subcommands"]?.arrayValue ?? [] where inner["commandName"] != "help" {
                visit(inner, path)
            }
        }
        visit(try #require(JSONReader.read(JSONValue.self, from: MistKitCommand._dumpHelp())["command"]), "")
        #expect(missing.isEmpty, "Give these a `completion:` of ArgumentCompletions.swift: \(missing)")
    }
}

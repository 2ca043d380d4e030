import Foundation
import Testing

@testable import MistKitCLI

struct EmulatorCommandTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    private func execute(_ script: String) throws -> CommandTests.Outcome {
        try commands.mistkit("emulator", "--exec", "--", "sh", "-c", script)
    }

    @Test(arguments: [("exit 3", 3), ("kill -TERM $$", 143), ("kill -HUP $$", 129), ("kill -KILL $$", 137)])
    func theCommandsExitCodeIsReturned(_ script: String, status: Int32) throws {
        #expect(try execute(script).status == status)
    }

    @Test func theSignInCodeIsNewAtEachStartUnlessASwitchLeavesItOut() throws {
        let script = "echo code=$MISTKIT_SIGN_IN_CODE"
        let codes = try (0..<2).map { _ in try execute(script).output }
        for code in codes {
            #expect(code.wholeMatch(of: /code=[2-9a-z]{4}-[2-9a-z]{4}-[2-9a-z]{4}\n/) != nil, "\(code)")
        }
        #expect(codes[0] != codes[1])
        let without = try commands.mistkit("emulator", "--sign-in-without-code", "--exec", "--", "sh", "-c", script)
        #expect(without.output == "code=\n")
    }

    @Test func aTextThatIsNoOriginIsRefused() throws {
        let outcome = try commands.mistkit("emulator", "--allow-origin", "app.example", "--exec", "--", "true")
        #expect(outcome.status == 64)
        #expect(
            outcome.errors.contains(
                "\"app.example\" is not an origin.\n  Give a scheme, a host and perhaps a port, such as https:"
            ),
            "\(outcome.errors)"
        )
        let both = ["--allow-origin", "https://a.example", "--allow-origin", "null", "--allow-host", "box.local"]
        #expect(try commands.mistkit(arguments: ["emulator"] + both + ["--exec", "--", "true"]).status == 0)
    }

    @Test func aDataFolderThatExistsBecomesPrivate() throws {
        let folder = commands.folder.path + "/data"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        // While the emulator runs, SQLite has its other files.
        let create = "'\(CommandTests.executable.path)' records create --type Note --data-folder data >/dev/null"
        let script = "umask 0; \(create); stat -c '%a %n' data data/* | sed 's/-[0-9]*.json$/-1.json/' | sort"
        let outcome = try commands.mistkit("emulator", "--data-folder", "data", "--exec", "--", "sh", "-c", script)
        #expect(
            outcome.lines == [
                "600 data/account.json", "600 data/account.json-lock", "600 data/administration-1.json",
                "600 data/emulator.in-use", "600 data/emulator.sqlite", "600 data/emulator.sqlite-lock",
                "600 data/emulator.sqlite-shm", "600 data/emulator.sqlite-wal", "700 data",
            ],
            "\(outcome.errors)"
        )
    }

    #if os(Linux)
        @Test func noSignalIsBlockedForTheCommand() throws {
            let outcome = try execute("grep ^SigBlk /proc/self/status")
            #expect(outcome.output == "SigBlk:\t0000000000000000\n")
        }
    #endif

    @Test func signalsAreSentOnToTheCommand() throws {
        let script = "trap 'echo stopped; exit 5' TERM; kill -TERM $PPID; sleep 20 & wait"
        let outcome = try execute(script)
        #expect(outcome.output == "stopped\n")
        #expect(outcome.status == 5)
    }

    @Test func aResetBeginsASeedAgain() throws {
        let folder = commands.folder
        let lines = (1...3).map { "{\"recordType\":\"Note\",\"recordName\":\"n\($0)\"}\n" }.joined()
        try Data(lines.utf8).write(to: folder.appendingPathComponent("seed.ndjson"))
        // Of a run that was interrupted after the second line.
        let journal = #"{"purpose":"of an earlier run","bytes":70,"records":2,"lines":2,"run":"x"}"#
        try Data(journal.utf8).write(to: folder.appendingPathComponent("seed.ndjson.journal"))
        let script = "'\(CommandTests.executable.path)' records count Note"
        let outcome = try commands.mistkit(
            arguments: ["emulator", "--reset", "--seed", "seed.ndjson", "--exec", "--", "sh", "-c", script]
        )
        #expect(outcome.output.contains("3"), "\(outcome.output) \(outcome.errors)")
        #expect(outcome.status == 0)
    }

    /// Records of Apple's own containers have such names and references (recorded).
    @Test func recordedRecordsCanBeSeeded() throws {
        let line = """
            {"recordType":"Note","recordName":"_ac333066","fields":{"of":{"value":{"recordName":"a","action":"NONE",\
            "zoneID":{"zoneName":"Elsewhere"}},"type":"REFERENCE"}}}

            """
        try Data(line.utf8).write(to: commands.folder.appendingPathComponent("seed.ndjson"))
        let script = "'\(CommandTests.executable.path)' records count Note"
        let outcome = try commands.mistkit(
            arguments: ["emulator", "--reset", "--seed", "seed.ndjson", "--exec", "--", "sh", "-c", script]
        )
        #expect(outcome.output == "1\n", "\(outcome.output) \(outcome.errors)")
        #expect(outcome.status == 0)
    }

    @Test func anIgnoredSignalStaysIgnored() throws {
        let shell = URL(fileURLWithPath: "/bin/sh")
        let script = "kill -HUP $PPID; sleep 0.3; kill -HUP $$; exit 7"
        let command = "trap '' HUP; '\(CommandTests.executable.path)' emulator --exec -- sh -c '\(script)'"
        let outcome = try commands.run(shell, arguments: ["-c", command], environment: [:])
        #expect(outcome.status == 7, "\(outcome.errors)")
    }

    @Test func dataInUseIsNotDeleted() throws {
        let folder = commands.folder.path + "/data"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        do {
            let use = try FolderUse(folder)
            defer { withExtendedLifetime(use) {} }
            let outcome = try commands.mistkit("emulator", "--reset", "--data-folder", folder, "--exec", "--", "true")
            #expect(outcome.status == 69)
            #expect(
                outcome.errors.hasPrefix("mistkit: Another process uses the data in \(folder)."),
                "\(outcome.errors)"
            )
            // Others may use it.
            #expect(try commands.mistkit("zones", "list", "--data-folder", folder).status == 0)
        }
        #expect(
            try commands.mistkit("emulator", "--reset", "--data-folder", folder, "--exec", "--", "true").status == 0
        )
    }
}

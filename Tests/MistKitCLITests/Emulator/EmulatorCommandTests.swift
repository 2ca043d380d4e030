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

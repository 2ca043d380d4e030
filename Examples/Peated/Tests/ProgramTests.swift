import ExampleTesting
import Foundation
import Testing

/// The built program, with a stub that is killed and started again.
struct ProgramTests {
    private static let program = RunningProgram.built("peated")
    private static let isBuilt = FileManager.default.isExecutableFile(atPath: program.path)

    /// A folder of a test, with the programs that it starts.
    private struct Terminal {
        let folder: URL
        var stubFile: String { folder.appending(path: "stub.json").path }

        func start(_ arguments: [String]) throws -> RunningProgram {
            try RunningProgram(program, arguments, environment: ["PATH": "/usr/bin:/bin"], in: folder)
        }

        func outcome(_ arguments: String...) async throws -> RunningProgram.Outcome {
            try await start(arguments + ["--folder", folder.path]).outcome()
        }

        func run(_ arguments: String...) async throws -> String {
            let outcome = try await start(arguments + ["--folder", folder.path]).outcome()
            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
            return outcome.output
        }

        /// Starts a stub.
        ///
        /// - Returns: The stub, and its port.
        func stub(port: String = "0", _ faults: [String] = []) async throws -> (RunningProgram, String) {
            let stub = try start(["stub", "--port", port, "--file", stubFile] + faults)
            let line = await stub.firstLine()
            let address = try #require(line.split(separator: " ").last.flatMap { URL(string: String($0)) }, "\(line)")
            return (stub, "\(address.port ?? 0)")
        }
    }

    private func withTerminal(_ body: (Terminal) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "peated-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(Terminal(folder: folder))
    }

    @Test(.enabled(if: isBuilt, "the program is not built"), .timeLimit(.minutes(5)))
    func aServiceThatWasKilledGetsEverythingOnce() async throws {
        try await withTerminal { terminal in
            let picture = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })
            try picture.write(to: terminal.folder.appending(path: "dram.jpg"))
            var (stub, port) = try await terminal.stub()
            let server = "http://127.0.0.1:\(port)/v1"
            let welcome = try await terminal.run(
                "sign-in",
                "ada@example.com",
                "--password",
                "peat",
                "--server",
                server
            )
            #expect(welcome == "Welcome, ada.\n")
            #expect(try await terminal.run("feed", "own", "--count", "1").hasPrefix("t44  0.0  Pikesville"))

            // Without the service, a tasting with a picture is written, and a command says why it waits.
            stub.send(SIGKILL)
            _ = await stub.outcome()
            let offline = try await terminal.run("taste", "b3", "4.5", "Smoke", "--picture", "dram.jpg")
            #expect(offline.contains("ada: Smoke  [picture]  [waits]"))
            #expect(offline.hasSuffix(" s: There is no connection to the service.\n"))
            #expect(offline.contains("queue: 2 waiting; paused for "))
            let feed = try await terminal.outcome("feed", "own", "--count", "2")
            #expect(feed.status == 75 && feed.output.contains("t44  0.0") && feed.output.contains("[waits]"))
            #expect(feed.errors == "peated: There is no connection to the service.\n")

            // The service is back. It loses responses, and gets each change twice.
            (stub, _) = try await terminal.stub(port: port, ["--lose-replies", "2", "--twice"])
            #expect(try await terminal.run("queue", "--send") == "2 sent\nqueue: everything is sent\n")
            let own = try await terminal.run("feed", "own").split(separator: "\n")
            #expect(own.filter { $0.contains("Smoke") }.count == 1)

            // The live view ends with the process, and so does what it sends.
            let watch = try terminal.start(["feed", "own", "--watch", "--count", "1", "--folder", terminal.folder.path])
            #expect(await watch.firstLine().contains("ada: Smoke  [picture]"))
            watch.send(SIGKILL)
            #expect(await watch.outcome().status == SIGKILL)
            stub.send(SIGKILL)
            _ = await stub.outcome()

            // A service that does not renew the token ends the session; what was written stays.
            (stub, _) = try await terminal.stub(port: port, ["--token-lifetime", "0", "--refuse-renewals"])
            #expect(try await terminal.run("taste", "b1", "3", "Tar").contains("paused: You are signed out. "))
            #expect(try await terminal.run("queue").contains("tasting local-"))
            stub.send(SIGKILL)
            _ = await stub.outcome()
            (stub, _) = try await terminal.stub(port: port)
            let again = try await terminal.run("sign-in", "ada@example.com", "--password", "peat", "--server", server)
            #expect(again == "Welcome, ada.\n1 sent\nqueue: everything is sent\n")
            #expect(try await terminal.run("sign-out") == "Goodbye, ada.\n")
            #expect(try await terminal.outcome("queue").status == 77)
            stub.send(SIGTERM)
            _ = await stub.outcome()
        }
    }

    @Test(
        .enabled(if: isBuilt, "the program is not built"),
        .timeLimit(.minutes(5)),
        arguments: [
            (["feed"], "peated: No user is signed in. Try: peated sign-in ada@example.com"),
            (
                ["sign-in", "ada", "--password", "p", "--server", "here"],
                "peated: here is not the address of a service"
            ),
            (
                ["sign-in", "ada@example.com", "--password", "peat", "--server", "http://127.0.0.1:9/v1"],
                "peated: There is no connection to the service."
            ),
        ]
    )
    func mistakesAreALine(_ arguments: [String], _ message: String) async throws {
        try await withTerminal { terminal in
            let outcome = try await terminal.start(arguments + ["--folder", terminal.folder.path]).outcome()
            #expect(outcome.status != 0)
            #expect(outcome.errors.hasPrefix(message), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }
}

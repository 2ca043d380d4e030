import ExampleTesting
import Foundation
import Testing

/// The built program, with two folders that stand for two devices.
struct ProgramTests {
    private static let program = RunningProgram.built("todo")

    /// A folder with the devices of a test.
    private struct Devices {
        let folder: URL

        func start(_ device: String, _ arguments: [String]) throws -> RunningProgram {
            try RunningProgram(
                program,
                arguments + [
                    "--device", folder.appending(path: device).path, "--service",
                    folder.appending(path: "service").path,
                ],
                environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MISTKIT_") }
            )
        }

        func run(_ device: String, _ arguments: String...) async throws -> String {
            let outcome = try await start(device, arguments).outcome()
            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
            return outcome.output
        }
    }

    private func withDevices(_ body: (Devices) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "todo-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(Devices(folder: folder))
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: program.path), "the program is not built"),
        .timeLimit(.minutes(5))
    )
    func aDeviceThatWasKilledAndRestoredHasEverything() async throws {
        try await withDevices { devices in
            let photo = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            let file = devices.folder.appending(path: "milk.jpeg")
            try photo.write(to: file)
            _ = try await devices.run("phone", "add", "Milk", "--list", "Home", "--for", "Ben", "--photo", file.path)
            _ = try await devices.run("phone", "add", "Bread", "--list", "Home", "--for", "Ben")
            try FileManager.default.removeItem(at: file)
            #expect(try await devices.run("phone", "sync") == "4 sent\n")
            _ = try await devices.run("laptop", "sync")
            let row = try await devices.run("laptop", "list").split(separator: "\n").first { $0.contains("Milk") }
            let identifier = String(try #require(row?.split(separator: " ").first))
            let path = try await devices.run("laptop", "photo", identifier).dropLast()
            #expect(try Data(contentsOf: URL(filePath: String(path))) == photo)
            #expect(try await devices.run("laptop", "list").contains("Milk  (for Ben, with a photo)"))
            let backup = devices.folder.appending(path: "backup").path
            _ = try await devices.run("phone", "backup", backup)

            // A live view is killed while another command of the same device adds something.
            let watch = try devices.start("phone", ["watch", "--every", "0.2"])
            #expect(await watch.firstLine() == "Home  (2 open, 0 done)")
            _ = try await devices.run("phone", "add", "Eggs", "--list", "Home")
            watch.send(SIGKILL)
            #expect(await watch.outcome().status == SIGKILL)
            _ = try await devices.run("phone", "sync")
            #expect(try await devices.run("phone", "status") == "everything is synchronised\n")

            _ = try await devices.run("laptop", "remove", "--list", "Home")
            _ = try await devices.run("laptop", "sync")
            _ = try await devices.run("phone", "sync")
            #expect(try await devices.run("phone", "list").hasPrefix("There are no to-dos."))
            #expect(try await devices.run("phone", "restore", backup, "--plan").hasPrefix("3 created"))
            _ = try await devices.run("phone", "restore", backup)
            _ = try await devices.run("phone", "sync")
            _ = try await devices.run("laptop", "sync")
            let lists = try await devices.run("laptop", "list")
            #expect(lists.hasPrefix("Home  (2 open, 0 done)\n") && lists.contains("Bread  (for Ben)"), "\(lists)")
        }
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: program.path), "the program is not built"),
        .timeLimit(.minutes(5)),
        arguments: [
            (["done", "zz"], "No to-do begins with zz."), (["list", "Nope"], "There is no list Nope"),
            (["log", "--restore", "7"], "The log has no entry 7."), (["restore", "/nowhere"], "/nowhere is no backup"),
            (["add", "Cake", "--photo", "/nowhere"], "todo: The file at /nowhere could not be opened"),
        ]
    )
    func mistakesAreALine(_ arguments: [String], _ message: String) async throws {
        try await withDevices { devices in
            let outcome = try await devices.start("phone", arguments).outcome()
            #expect(outcome.status != 0)
            #expect(outcome.errors.contains(message), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: program.path), "the program is not built"))
    func anEditWithoutAChangeIsRefused() async throws {
        try await withDevices { devices in
            _ = try await devices.run("phone", "add", "Milk")
            let row = try await devices.run("phone", "list").split(separator: "\n").last
            let outcome = try await devices.start(
                "phone",
                ["edit", String(try #require(row?.split(separator: " ").first))]
            )
            .outcome()
            #expect(outcome.status != 0)
            #expect(outcome.errors.contains("Write what changes: --title, "), "\(outcome.errors)")
        }
    }
}

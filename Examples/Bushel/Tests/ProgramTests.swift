import BushelSources
import ExampleTesting
import Foundation
import Testing

/// The built program. It fetches from a local server into its embedded emulator.
struct ProgramTests {
    private static let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
        path: "bushel"
    )

    /// Runs the program with the environment of a shell, without the settings of a service.
    private func bushel(_ arguments: [String], in folder: URL) async throws -> RunningProgram.Outcome {
        try await RunningProgram.run(
            ProgramTests.program,
            arguments + (arguments.first == "schema" ? [] : ["--data-folder", folder.appending(path: "data").path]),
            environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MISTKIT_") }
        )
    }

    /// The folder of the README needs no network.
    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: program.path), "the program is not built"),
        .timeLimit(.minutes(5))
    )
    func theSamplesOfTheRepositoryAreRead() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bushel-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let samples = URL(filePath: #filePath).appending(path: "../../Samples").standardized.path
        let update = try await bushel(["update", "--all", "--documents", samples], in: folder)
        #expect(update.status == 0, "\(update.errors)")
        #expect(!update.output.contains("left out: ") && !update.output.contains("missing: "), "\(update.output)")
        #expect(update.output.components(separatedBy: "  fetched  ").count == Source.all.count + 1)
        for (kind, count) in [("images", 4), ("xcode", 2), ("swift", 3)] {
            let list = try await bushel(["list", kind], in: folder)
            #expect(list.output.split(separator: "\n").count == count + 2, "\(list.output)")
        }
        let none = try await bushel(["update", "--documents", folder.path], in: folder)
        #expect(none.status == 64 && none.errors.contains("has no document of a source"))
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: program.path), "the program is not built"),
        .timeLimit(.minutes(5))
    )
    func theProgramKeepsItsHistoryInAFolder() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bushel-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withWebServer(hosts: Source.all.count) { server in
            var site = SampleSite()
            server.respond { [site] in site.reply(to: $0) }
            let addresses = SampleSite.sources(of: server).flatMap { ["--address", "\($0.id)=\($0.address)"] }
            let update = ["update", "--pause", "0"] + addresses

            let first = try await bushel(update, in: folder)
            #expect(first.status == 0, "\(first.errors)")
            #expect(first.output.contains("restore images        7        0          0          0"), "\(first.output)")
            let second = try await bushel(update + ["--json"], in: folder)
            #expect(second.status == 0)
            #expect(second.output.components(separatedBy: "\"notModified\"").count == Source.all.count + 1)

            site.damages = [.swiftOrg: .serverError]
            server.respond { [site] in site.reply(to: $0) }
            let third = try await bushel(update, in: folder)
            #expect(third.status == 69)
            #expect(
                third.errors.hasPrefix(
                    "bushel: 1 of 8 sources failed; what they said before stays. The reason: http://127.0.0.1"
                )
            )

            let status = try await bushel(["status", "--check"], in: folder)
            #expect(status.status == 69)
            #expect(status.output.contains("answers with status 500."))
            let list = try await bushel(["list", "swift", "--version", "6"], in: folder)
            #expect(list.status == 0)
            #expect(list.output.split(separator: "\n").count == 5, "\(list.output)")
            let file = folder.appending(path: "history.csv").path
            #expect(try await bushel(["export", "--format", "csv", "--output", file], in: folder).status == 0)
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains("24B83"))
            #expect(try await bushel(["export", "--output", "/no/such/folder/file"], in: folder).status == 73)
            #expect(try await bushel(["schema"], in: folder).output.hasPrefix("DEFINE SCHEMA"))
            #expect(try await bushel(["update", "--source", "x"], in: folder).status == 64)
        }
    }
}

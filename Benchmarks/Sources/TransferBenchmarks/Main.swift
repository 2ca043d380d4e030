import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import Logging
import MistKit
import StreamingJSON

/// `mistkit records import` and `export` beside the bare loop of the client over the same records: rates, and their
/// ratio.
///
/// Each runs against an embedded emulator with its data in a file. The bare loops make their records in memory and drop
/// what they fetch.
///
///     swift run -c release --package-path Benchmarks TransferBenchmarks <path of mistkit> [records] [rounds]
@main
struct TransferBenchmarks {
    static let recordType = "Note"

    let mistkit: URL
    let count: Int
    /// The folder of a round.
    let folder: URL

    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        guard let path = arguments.popFirst() else {
            print("Usage: TransferBenchmarks <path of mistkit> [records] [rounds]")
            exit(64)
        }
        let count = arguments.popFirst().flatMap { Int($0) } ?? 100_000
        let rounds = arguments.popFirst().flatMap { Int($0) } ?? 5
        let folder = FileManager.default.temporaryDirectory.appending(path: "transfers-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var imports: [Double] = []
        var exports: [Double] = []
        for round in 1...rounds {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let benchmark = TransferBenchmarks(mistkit: URL(filePath: path), count: count, folder: folder)
            // The first one to run finds a cooler machine, so the order changes from round to round.
            let seconds = try await benchmark.run(commandFirst: round.isMultiple(of: 2))
            imports.append(seconds.bareImport / seconds.import)
            exports.append(seconds.bareExport / seconds.export)
            func rate(_ seconds: Double) -> Int { Int(Double(count) / seconds) }
            print(
                "round \(round): import \(rate(seconds.import)) a second, bare \(rate(seconds.bareImport));",
                "export \(rate(seconds.export)), bare \(rate(seconds.bareExport))"
            )
            try FileManager.default.removeItem(at: folder)
        }
        func summary(_ ratios: [Double]) -> String {
            let sorted = ratios.sorted().map { String(format: "%.2f", $0) }
            return "\(sorted[sorted.count / 2]) (\(sorted[0]) to \(sorted[sorted.count - 1]))"
        }
        print("\(count) records: import \(summary(imports)) of the bare loop, export \(summary(exports)); medians")
    }

    /// The seconds of a round.
    struct Seconds {
        var `import` = 0.0
        var bareImport = 0.0
        var export = 0.0
        var bareExport = 0.0
    }

    func run(commandFirst: Bool) async throws -> Seconds {
        try writeFile()
        let database = try bareDatabase()
        var seconds = Seconds()
        for isCommand in [commandFirst, !commandFirst] {
            if isCommand {
                seconds.import = try command("records", "import", "notes.ndjson")
            } else {
                seconds.bareImport = try await time { try await importBare(database) }
            }
        }
        for isCommand in [commandFirst, !commandFirst] {
            if isCommand {
                seconds.export = try command("records", "export", Self.recordType, "--output", "copy.ndjson")
            } else {
                seconds.bareExport = try await time { try await exportBare(database) }
            }
        }
        return seconds
    }

    // MARK: The command

    private func writeFile() throws {
        let file = folder.appending(path: "notes.ndjson")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        for index in 0..<count {
            try handle.write(contentsOf: JSONWriter.bytes(of: record(index)) + [UInt8(ascii: "\n")])
        }
        try handle.close()
    }

    private func command(_ arguments: String...) throws -> Double {
        let process = Process()
        process.executableURL = mistkit
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = [:]
        process.standardError = FileHandle.nullDevice
        let start = ContinuousClock.now
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(arguments: arguments) }
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private struct Failure: Error {
        var arguments: [String]
    }

    // MARK: The bare loops

    private func bareDatabase() throws -> CloudKitDatabase {
        let container = "iCloud.com.example.transfers"
        let emulator = try CloudKitEmulator(storage: .file(path: folder.appending(path: "bare.sqlite").path))
        try emulator.registerContainer(container)
        let apiToken = try emulator.registerAPIToken(for: container)
        let quiet = Logger(label: "transfers") { _ in SwiftLogNoOpLogHandler() }
        let server = try CloudKitEmulatorServer(emulator, configuration: .init(logger: quiet))
        let user = try emulator.createUser()
        var configuration = CloudKitService.Configuration(transport: server)
        configuration.assetTransport = server
        let service = CloudKitService(
            containerIdentifier: container,
            tokenManager: WebAuthTokenManager(
                apiToken: apiToken,
                webAuthToken: try emulator.issueWebAuthToken(for: user)
            ),
            configuration: configuration
        )
        return service.privateDatabase
    }

    private func importBare(_ database: CloudKitDatabase) async throws {
        // As many records at a time as in the command.
        for start in stride(from: 0, to: count, by: 800) {
            let operations = (start..<min(start + 800, count)).map { RecordOperation(.forceUpdate, record: record($0)) }
            for result in try await database.modify(operations, desiredKeys: []) { _ = try result.get() }
        }
    }

    private func exportBare(_ database: CloudKitDatabase) async throws {
        var found = 0
        for try await page in database.records(matching: Query(recordType: Self.recordType)).pages {
            found += page.results.count
        }
        guard found == count else { throw Failure(arguments: ["\(found) of \(count) records"]) }
    }

    private func time(_ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    /// A record like those of `Scripts/check-transfer`.
    private func record(_ index: Int) -> Record {
        Record(
            recordType: Self.recordType,
            recordName: "n\(index)",
            fields: [
                "title": .string("Note \(index), \"quoted\"\n\(String(repeating: "ü", count: index % 40))"),
                "number": .int64(Int64(index)),
                "share": .double(Double(index) / 8),
                "tags": .stringList(["a,b", "\(index)"]),
                "when": .timestamp(Date(timeIntervalSince1970: 1_700_000_000 + Double(index) / 1000)),
                "next": .reference(Reference(recordName: "n\(index + 1)", action: Reference.Action.none)),
            ]
        )
    }
}

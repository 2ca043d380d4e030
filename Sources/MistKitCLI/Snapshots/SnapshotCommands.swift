import ArgumentParser
import CloudKitEmulatorAdministration
import CloudKitModel
import FilePermissions
import Foundation
import OpenAPISwiftRuntime

/// `mistkit snapshots`
struct SnapshotsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshots",
        abstract: "Keep earlier states of an emulator under a name, and go back to them.",
        discussion: """
            A snapshot has the records, schemas, files, subscriptions and users of all containers, and no credentials: its file can be \
            given to others. The commands reach the emulator that runs with the same data folder, or else its data.
            """,
        subcommands: [
            ListSnapshotsCommand.self, TakeSnapshotCommand.self, RestoreSnapshotCommand.self,
            CompareSnapshotCommand.self, DeleteSnapshotCommand.self, ExportSnapshotCommand.self,
            ImportSnapshotCommand.self,
        ]
    )
}

/// `mistkit snapshots list`
struct ListSnapshotsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the snapshots, the newest first.",
        discussion: """
            Examples:
              mistkit snapshots list
              mistkit snapshots list --format json
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let snapshots = try await connection.callEmulator { try await $0.listSnapshots().ok.body.json.snapshots }
        try ValueList.snapshots.write(snapshots, as: output)
    }
}

/// `mistkit snapshots take`
struct TakeSnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take",
        abstract: "Keep the present state under a name.",
        discussion: """
            Examples:
              mistkit snapshots take before-import
              mistkit snapshots take demo --data-folder other
            """
    )

    @Argument(help: "The name: letters, digits, points, underscores and hyphens.")
    var name: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let snapshot = try await connection.callEmulator {
            try await $0.takeSnapshot(body: .json(.init(name: name))).ok.body.json
        }
        try ValueList.snapshots.write([snapshot], as: output)
    }
}

/// `mistkit snapshots restore`
struct RestoreSnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace the data of the emulator by those of a snapshot.",
        discussion: """
            Change tokens expire, so clients fetch everything again. The state before is lost, unless a snapshot has it.

            Examples:
              mistkit snapshots restore before-import
              mistkit snapshots restore demo --yes
            """
    )

    @Argument(help: "The name of the snapshot.", completion: .snapshot)
    var name: String

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        guard try confirmation.confirms("This replaces all data of the emulator by those of \(name).") else { return }
        let snapshot = try await connection.callEmulator {
            try await $0.restoreSnapshot(path: .init(snapshot: name)).ok.body.json
        }
        Terminal.writeLine("Restored \(name), with \(String.counting(snapshot.records, "record")).")
    }
}

/// `mistkit snapshots compare`
struct CompareSnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "List the records that were added, changed and removed since a snapshot.",
        discussion: """
            Examples:
              mistkit snapshots compare before-import
              mistkit snapshots compare before-import after-import --format json
            """
    )

    @Argument(help: "The name of the earlier snapshot.", completion: .snapshot)
    var name: String

    @Argument(help: "The name of the later snapshot; the present state without it.", completion: .snapshot)
    var other: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let comparison = try await connection.callEmulator {
            try await $0.compareSnapshot(path: .init(snapshot: name), query: .init(other: other)).ok.body.json
        }
        try ValueList.differences.write(comparison.records, as: output)
        guard output.format == .table else { return }
        for schema in comparison.schemas {
            Terminal.writeLine("\(schema.container), \(schema.environment.rawValue):")
            for change in schema.changes { Terminal.writeLine("  \(change.text)") }
        }
        let count = comparison.added + comparison.changed + comparison.removed
        if count > comparison.records.count {
            Terminal.writeLine("\(count - comparison.records.count) more differ.")
        }
    }
}

/// `mistkit snapshots delete`
struct DeleteSnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a snapshot.",
        discussion: """
            Examples:
              mistkit snapshots delete before-import
              mistkit snapshots delete demo --data-folder other
            """
    )

    @Argument(help: "The name of the snapshot.", completion: .snapshot)
    var name: String

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        _ = try await connection.callEmulator {
            try await $0.deleteSnapshot(path: .init(snapshot: name)).noContent
        }
        Terminal.writeLine("Deleted \(name).")
    }
}

/// `mistkit snapshots export`
struct ExportSnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a snapshot to a file, to give it to others.",
        discussion: """
            Examples:
              mistkit snapshots export demo demo.sqlite
              mistkit snapshots export demo demo.sqlite --force
            """
    )

    @Argument(help: "The name of the snapshot.", completion: .snapshot)
    var name: String

    @Argument(help: "The file.", completion: .anyFile)
    var file: String

    @OptionGroup var replacement: ReplacementOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try replacement.check(file)
        let bytes = try await connection.callEmulator { client in
            let reply = try await client.exportSnapshot(path: .init(snapshot: name)).ok
            return try await [UInt8](collecting: reply.body.applicationVnd_sqlite3, upTo: .max)
        }
        do {
            // The records are those of a person, who decides who may read them.
            try Data(bytes).write(to: URL(fileURLWithPath: file), options: .atomic)
            try OwnerPermissions.restrict(atPath: file)
        } catch {
            throw CommandError.unwritable(file, error)
        }
        Terminal.writeLine("Wrote \(name) to \(file).")
    }
}

/// `mistkit snapshots import`
struct ImportSnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Add a snapshot from a file.",
        discussion: """
            The data of the emulator stay as they are; `mistkit snapshots restore` replaces them.

            Examples:
              mistkit snapshots import demo demo.sqlite
              mistkit snapshots import demo - < demo.sqlite
            """
    )

    @Argument(help: "The name that the snapshot gets.")
    var name: String

    @Argument(help: "The file; - is standard input.", completion: .anyFile)
    var file: String

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let bytes = try InputFile(path: file).bytes()
        let snapshot = try await connection.callEmulator {
            try await $0.importSnapshot(
                path: .init(snapshot: name),
                body: .applicationVnd_sqlite3(HTTPBody(bytes))
            ).ok.body.json
        }
        try ValueList.snapshots.write([snapshot], as: output)
    }
}

extension ConnectionOptions {
    /// Calls the administration of the emulator that runs, or else of the embedded one.
    fileprivate func callEmulator<Result>(_ body: (Client) async throws -> Result) async throws -> Result {
        let administration = try await EmulatorAdministration.of(Settings.read(flags: self))
        do {
            return try await administration.call(body)
        } catch let problem as AdministrationProblem {
            throw CommandError(problem)
        }
    }
}

extension ValueList<Components.Schemas.Snapshot> {
    fileprivate static let snapshots = ValueList(
        emptyNote: "No snapshots.",
        columns: [
            Column("name") { $0.name },
            Column("taken") { FieldText.describe(Date(timeIntervalSince1970: Double($0.timestamp) / 1000)) },
            Column("records") { "\($0.records)" },
            Column("bytes") { "\($0.bytes)" },
        ]
    )
}

extension ValueList<Components.Schemas.RecordDifference> {
    fileprivate static let differences = ValueList(
        emptyNote: "No record differs.",
        columns: [
            Column("change") { $0.kind.rawValue },
            Column("type") { $0.recordType },
            Column("name") { $0.recordName },
            Column("zone") { $0.zoneName },
            Column("owner") { $0.ownerRecordName ?? "public" },
            Column("container") { "\($0.container) \($0.environment.rawValue)" },
        ]
    )
}

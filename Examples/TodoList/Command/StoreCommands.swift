import ArgumentParser
import Foundation
import MistModels
import MistStore
import ProgramSupport
import TodoLists

/// `todo sync`
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Fetch the changes of other devices, and send those of this one."
    )

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws {
        try await device.withBoard { board in
            let summary = try await board.store.sync()
            print(summary.line)
            let status = try await board.store.privateDatabase.status()
            guard !status.isSynchronised else { return }
            throw CommandFailure(.tryAgain, status.lines.joined(separator: "\n"))
        }
    }
}

/// `todo status`
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say what is not synchronised yet, and why."
    )

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws {
        try await device.withBoard { board in
            printLines(try await board.store.privateDatabase.status().lines)
        }
    }
}

/// `todo log`
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show values of this device that lost to a later edit or a delete, and bring them back."
    )

    @Option(help: ArgumentHelp("Write the values of this entry back.", valueName: "number"))
    var restore: Int64?

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws {
        try await device.withBoard { board in
            let database = board.store.privateDatabase
            let entries = try await database.recoveryLog()
            if let restore {
                guard let entry = entries.first(where: { $0.id == restore }) else {
                    throw CommandFailure(.usage, "The log has no entry \(restore).")
                }
                try await database.restore(entry)
                return print("\(entry.recordName.oneLine): restored")
            }
            var table = TextTable(["entry", "when", "type", "reason", "values"], numbers: [0])
            for entry in entries {
                let values = entry.fields.map { "\($0.name)=\($0.value.shown)" }.joined(separator: ", ")
                table.append(["\(entry.id)", entry.time.short, entry.recordType, "\(entry.reason)", values])
            }
            printLines(table.isEmpty ? ["Nothing of this device was lost."] : table.lines)
        }
    }
}

/// `todo deletes`
struct DeletesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deletes",
        abstract: "Allow or undo many deletes, which wait for a decision."
    )

    @Flag(help: "Let the deletes that wait be sent.")
    var allow = false

    @Flag(help: "Take the deletes that wait back.")
    var undo = false

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func validate() throws {
        guard allow != undo else { throw ValidationError("Write --allow or --undo.") }
    }

    func run() async throws {
        try await device.withBoard { board in
            let database = board.store.privateDatabase
            let count = allow ? try await database.allowMassDeletion() : try await database.undoMassDeletion()
            print(
                "\(count) deletes \(allow ? "allowed" : "taken back"). `todo sync` \(allow ? "sends" : "fetches") them."
            )
        }
    }
}

/// `todo backup`
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write a backup of this device into a new folder."
    )

    @Argument(help: "The folder. It must not exist.")
    var folder: String

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws {
        try await device.withBoard { board in
            let manifest = try await board.store.backup(to: URL(filePath: folder))
            print(manifest.records.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
        }
    }
}

/// `todo restore`
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Bring the values of a backup back, on all devices.",
        discussion: "What the values replace is in `todo log`."
    )

    @Argument(help: "The folder of the backup.")
    var folder: String

    @Flag(help: "Say what would change, and change nothing.")
    var plan = false

    @Flag(help: "Remove what the backup does not have.")
    var removeOthers = false

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func run() async throws {
        try await device.withBoard { board in
            let database = board.store.privateDatabase
            let backup = URL(filePath: folder)
            let result =
                plan
                ? try await database.restorePlan(from: backup, removesOthers: removeOthers)
                : try await database.restore(from: backup, removesOthers: removeOthers)
            print(result)
            // A person reads some of many; the counts are above them.
            for change in result.changes.prefix(plan ? .max : 20) {
                let fields = change.kind == .changed ? " (\(change.fields.joined(separator: ", ")))" : ""
                print("  \(change.kind)  \(change.recordType) \(change.recordName.oneLine)\(fields)")
            }
            if !plan, result.changes.count > 20 {
                print("  … and \(result.changes.count - 20) more; --plan shows all before a restore")
            }
            for obstacle in result.obstacles {
                print("  not restored  \(obstacle.recordName?.oneLine ?? obstacle.recordType): \(obstacle.reason)")
            }
        }
    }
}

extension FieldValue {
    /// The value as the log shows it.
    fileprivate var shown: String {
        if isNull { return "nothing" }
        if let text = stringValue { return text }
        if let number = int64Value { return "\(number)" }
        if let date = timestampValue { return date.day }
        if let reference = referenceValue { return reference.recordName }
        return "…"
    }
}

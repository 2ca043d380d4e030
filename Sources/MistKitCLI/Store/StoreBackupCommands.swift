import ArgumentParser
import Foundation
import MistKit
import MistStore

/// `mistkit store backup`
struct StoreBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a store into a new folder, while the program runs.",
        discussion: """
            The backup has both databases as they are at one moment, with what is not synchronised yet, the files of the records, and \
            manifest.json with the SHA-256 of each file. It is whole or it is not there. Of several users, the private records of one are \
            in it.

            Examples:
              mistkit store backup notes backups/2026-11-27
              mistkit store backup notes /tmp/notes-$(date +%s%N)
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @Argument(help: "The folder of the backup. It must not exist.", completion: .directory)
    var backup: String
    @OptionGroup var user: StoreUserOptions
    @OptionGroup var key: StoreKeyOptions

    func run() async throws {
        guard !FileManager.default.fileExists(atPath: backup) else {
            throw CommandError(
                code: .usage,
                message: "\(backup) exists, and a backup needs a new folder.",
                remedy: "Choose another name."
            )
        }
        let store = try MistStore(readingStoreAt: folder.url, of: user.choose(in: folder.url), key: key.key())
        defer { try? store.close() }
        let manifest = try await store.backup(to: URL(fileURLWithPath: backup))
        let records = manifest.records.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        let bytes = manifest.files.reduce(0) { $0 + $1.size }
        Terminal.writeLine(
            "\(backup): \(records.joined(separator: ", ")); \(manifest.files.count) files, \(bytes) bytes"
        )
        if let lost = manifest.lostFiles, !lost.isEmpty {
            Terminal.writeHint(
                "\(String.counting(lost.count, "file")) of records are missing or changed on this machine, and not in the backup."
            )
        }
    }
}

/// `mistkit store restore`
struct StoreRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Bring the values of a backup back, as edits of the present.",
        discussion: """
            The values win on all devices as the latest edits do; the next synchronisation sends them. A record that was deleted since is \
            created again. Values that are replaced, and records that are removed, are in the recovery log. Records that the backup does not \
            have stay, unless --remove-others is given. The command prints what changes, and asks first. The program may run meanwhile.

            Examples:
              mistkit store restore notes backups/2026-11-26 --plan
              mistkit store restore notes backups/2026-11-26 --yes

            The private records are restored; --database public restores those of the public database.
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @Argument(help: "The folder of the backup.", completion: .directory)
    var backup: String
    @Flag(help: "Print what would change, and change nothing.")
    var plan = false
    @Flag(help: "Remove the records that the backup does not have.")
    var removeOthers = false
    @OptionGroup var database: StoreDatabaseOptions
    @OptionGroup var key: StoreKeyOptions
    @OptionGroup var confirmation: ConfirmationOptions

    func run() async throws {
        let source = URL(fileURLWithPath: backup)
        try await database.writing(folder.url, key) { database in
            if plan || !confirmation.yes {
                let plan = try await database.restorePlan(from: source, removesOthers: removeOthers)
                write(plan)
                guard !self.plan, !plan.changes.isEmpty else { return }
                let count = String.counting(plan.changes.count, "record")
                guard try confirmation.confirms("Change \(count) of \(folder.folder)?") else { return }
            }
            let done = try await database.restore(from: source, removesOthers: removeOthers)
            // What other processes wrote since the question may have changed the plan.
            if confirmation.yes { write(done) } else { Terminal.writeLine("Restored: \(done)") }
        }
    }

    /// The records that change, what cannot be brought back, and the counts.
    private func write(_ plan: RestorePlan) {
        for change in plan.changes {
            let fields = change.fields.isEmpty ? "" : " (\(change.fields.joined(separator: ", ")))"
            Terminal.writeLine(
                TextTable.singleLine("\(change.kind) \(change.recordType) \(change.recordName)\(fields)")
            )
        }
        for obstacle in plan.obstacles {
            let subject = [obstacle.recordType, obstacle.recordName, obstacle.fieldName].compactMap(\.self)
            Terminal.writeLine(
                TextTable.singleLine("not restored: \(subject.joined(separator: " ")): \(obstacle.reason)")
            )
        }
        Terminal.writeLine("\(plan)")
    }
}

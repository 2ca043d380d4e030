import ArgumentParser
import CloudKitModel
import Foundation
import MistKit
import MistStore
import StreamingJSON

/// `mistkit store log`
struct StoreLogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "List the values that lost, and bring them back.",
        subcommands: [StoreLogListCommand.self, StoreLogRestoreCommand.self],
        defaultSubcommand: StoreLogListCommand.self
    )
}

/// `mistkit store log list`
struct StoreLogListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the values of a store that lost, the latest first: its recovery log.",
        discussion: """
            A value is in the log with the reason why it lost: a later edit of another device, a delete, a zone that is gone, a restore. The \
            number is the one that `mistkit store log restore` takes. The word list can be left out.

            The program may run meanwhile, its types are not needed, and nothing is changed.

            Examples:
              mistkit store log list notes
              mistkit store log list notes --limit 5 --format json
              mistkit store log list notes --database public
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @Option(help: ArgumentHelp("The most entries.", valueName: "count"))
    var limit = 100
    @OptionGroup var database: StoreDatabaseOptions
    @OptionGroup var key: StoreKeyOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit is at least 1.\nWrite a positive number.") }
    }

    func run() async throws {
        try await database.reading(folder.url, key) { database in
            let entries = try await database.recoveryLog(limit: limit)
            try ValueList.recovered.write(entries.map(RecoveredEntry.init), as: output)
            let total = try await database.counts().losses.reduce(0) { $0 + $1.count }
            if total > entries.count, entries.count == limit {
                Terminal.writeHint("The log has \(total) entries; --limit prints more of them.")
            }
        }
    }
}

/// `mistkit store log restore`
struct StoreLogRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Write values of the recovery log back, as new edits.",
        discussion: """
            The values win on all devices as the latest edits do; the next synchronisation sends them. A record that was deleted is created \
            again. The entries stay in the log. The program may run meanwhile.

            Examples:
              mistkit store log restore notes 1
              mistkit store log restore notes 1 --database private

            `mistkit store log` prints the numbers.
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @Argument(help: "The numbers of entries.")
    var numbers: [Int64]
    @OptionGroup var database: StoreDatabaseOptions
    @OptionGroup var key: StoreKeyOptions

    func run() async throws {
        try await database.writing(folder.url, key) { database in
            let entries = try await database.recoveryLog(limit: .max)
            let chosen = try numbers.map { number throws(CommandError) in
                guard let entry = entries.first(where: { $0.id == number }) else {
                    throw CommandError(
                        code: .usage,
                        message: "The recovery log has no entry \(number). Nothing was changed.",
                        remedy: "`mistkit store log \(folder.folder)` prints the entries."
                    )
                }
                return entry
            }
            for entry in chosen {
                try await database.restore(entry)
                let fields = entry.fields.map(\.name).joined(separator: ", ")
                Terminal.writeLine("\(entry.recordType) \(entry.recordName): restored \(fields)")
            }
        }
    }
}

/// An entry of the recovery log, as a command shows it.
struct RecoveredEntry {
    var values: RecoveredValues
}

extension RecoveredEntry: JSONWritable {
    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", values.id)
        writer.member("time", FieldText.describe(values.time))
        writer.member("reason", values.reason.rawValue)
        writer.member("recordType", values.recordType)
        writer.member("recordName", values.recordName)
        writer.member("zoneID", values.zoneID)
        writer.member("fields", values.fields)
        writer.endObject()
    }
}

extension ValueList<RecoveredEntry> {
    fileprivate static let recovered = ValueList(
        emptyNote: "The recovery log is empty.",
        columns: [
            Column("number") { "\($0.values.id)" },
            Column("time") { FieldText.describe($0.values.time) },
            Column("reason") { $0.values.reason.rawValue },
            Column("type") { $0.values.recordType },
            Column("record") { $0.values.recordName },
            Column("values") { entry in
                entry.values.fields.map { field in
                    field.value == .null ? "\(field.name) cleared" : "\(field.name)=\(FieldText.describe(field.value))"
                }.joined(separator: ", ")
            },
        ]
    )
}

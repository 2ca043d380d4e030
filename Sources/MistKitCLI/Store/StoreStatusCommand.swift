import ArgumentParser
import CloudKitModel
import Foundation
import MistKit
import MistStore
import ProcessLeases
import StreamingJSON

/// `mistkit store status`
struct StoreStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print what a store waits for, and why.",
        discussion: """
            For each database: the changes that the service does not have yet, whether changes of the service are to be fetched, the reason \
            why it waits and until when, the records that wait with their reasons, which process synchronises, and how much is in the \
            recovery log. It is what the program itself can ask for.

            The program may run meanwhile, its types are not needed, and nothing is changed. A store that several people used has a file of \
            private records for each of them; all are printed, unless --user or --signed-out chooses one.

            Examples:
              mistkit store status notes
              mistkit store status notes --format json

            `mistkit store diagnostics` prints a report without names of records and users, for others.
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @OptionGroup var user: StoreUserOptions
    @OptionGroup var key: StoreKeyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let users = try user.chooseAny(in: folder.url)
        var reports: [StoreDatabaseReport] = []
        var publicReport: StoreDatabaseReport?
        for user in users {
            do {
                let store = try MistStore(readingStoreAt: folder.url, of: user, key: key.key())
                defer { try? store.close() }
                reports.append(try await report(on: store, .private, of: user))
                if publicReport == nil { publicReport = try await report(on: store, .public, of: nil) }
            } catch let error as StoreError where !user.isOpen && users.count > 1 {
                // A program updates the file of a user when it opens it next. The other files are what was asked for.
                Terminal.writeHint(CommandError(error).message)
            }
        }
        reports += [publicReport].compactMap(\.self)
        guard output.format == .table else { return try ValueList.reports.write(reports, as: output) }
        Terminal.writeLine(reports.map { $0.text(at: Date()) }.joined(separator: "\n\n"))
    }

    private func report(
        on store: MistStore,
        _ scope: DatabaseScope,
        of user: StoreUser?
    ) async throws -> StoreDatabaseReport {
        let database = store.database(of: scope)
        return StoreDatabaseReport(
            user: user,
            status: try await database.status(),
            counts: try await database.counts()
        )
    }
}

/// The state of one database of a store, as a command shows it.
struct StoreDatabaseReport {
    /// The file of private records; `nil` for the public database.
    var user: StoreUser?
    var status: ScopeStatus
    var counts: DatabaseCounts

    fileprivate var file: String { user?.path ?? "public.sqlite" }

    /// The condition, in one word or more.
    fileprivate var summary: String {
        if status.isSynchronised { return "synchronised" }
        if !status.conditions.isEmpty { return status.conditions.map(\.description).joined(separator: ", ") }
        let parts = [
            status.pending > 0 ? "\(String.counting(status.pending, "change")) to send" : nil,
            status.hasChangesToFetch ? "changes to fetch" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    // MARK: Text

    /// A paragraph for a person.
    func text(at now: Date) -> String {
        let owner = user.map { user in
            " of \(user.name.map { "the user \($0)" } ?? "no one")" + (user.isOpen ? "" : ", not open")
        }
        var rows: [(title: String, text: String)] = [("state", summary)]
        func add(_ title: String, _ text: String?) {
            guard let text else { return }
            rows.append((rows.last?.title == title ? "" : title, TextTable.singleLine(text)))
        }
        let records = counts.records.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
        add("records", records.isEmpty ? "none" : records)
        if !status.isSynchronised {
            add("to send", String.counting(status.pending, "change"))
            add("to fetch", status.hasChangesToFetch ? "the service may have changes" : "nothing")
        }
        add("message", status.detail)
        add("rests until", status.restsUntil.map { "\(FieldText.describe($0)), for \(Self.duration($0, after: now))" })
        add("synchroniser", synchroniser(at: now))
        for type in status.parkedTypes { add("type waits", type.message) }
        for record in status.parked {
            let until = record.until.map { ", until \(FieldText.describe($0))" } ?? ""
            add("record waits", "\(record.recordName): \(record.reason)\(until). \(record.message)")
        }
        for record in status.unreadable { add("not readable", "\(record.recordName): \(record.reason)") }
        if !status.files.isEmpty { add("files", "\(String.counting(status.files.count, "file")) to be transferred") }
        if let waiting = status.massDeletion {
            add("deletes wait", "\(waiting.deletes) of \(waiting.records) records, more than the limit")
        }
        if let copied = status.copyNoticed { add("copy noticed", FieldText.describe(copied)) }
        let losses = counts.losses.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
        add("recovery log", losses.isEmpty ? "empty" : losses)
        let width = rows.map(\.title.count).max() ?? 0
        return
            (["\(status.scope) database, \(file)\(owner ?? "")"]
            + rows.map { row in
                "  \(row.title)\(String(repeating: " ", count: width - row.title.count))  \(row.text)"
            }).joined(separator: "\n")
    }

    private func synchroniser(at now: Date) -> String? {
        guard let process = status.synchroniser else { return "none at present" }
        let name = "\(process.programName), process \(process.processIdentifier)"
        let age = Self.duration(now, after: process.lastSign)
        return process.isSilent(at: now)
            ? "\(name), without a sign for \(age): it was stopped or killed, and the next one takes over"
            : "\(name), last sign \(age) ago"
    }

    private static func duration(_ end: Date, after begin: Date) -> String {
        let seconds = max(0, Int(end.timeIntervalSince(begin).rounded()))
        let units = [(86_400, "day"), (3600, "hour"), (60, "minute")]
        if let unit = units.first(where: { seconds >= 2 * $0.0 }) { return .counting(seconds / unit.0, unit.1) }
        return .counting(seconds, "second")
    }
}

extension Synchroniser {
    /// Whether its process has shown no life for so long that another one takes over.
    func isSilent(at now: Date) -> Bool { now.timeIntervalSince(lastSign) > LeaseTiming().limit / .seconds(1) }
}

extension StoreDatabaseReport: JSONWritable {
    func write(json writer: inout JSONWriter) {
        func counts(_ key: StaticString, _ counts: [DatabaseCounts.Count]) {
            writer.key(key)
            writer.beginObject()
            for count in counts {
                writer.key(count.name)
                writer.write(count.count)
            }
            writer.endObject()
        }
        writer.beginObject()
        writer.member("database", status.scope.rawValue)
        writer.member("file", file)
        writer.member("user", user?.name)
        if let user { writer.member("isOpen", user.isOpen) }
        writer.member("isSynchronised", status.isSynchronised)
        writer.member("pending", status.pending)
        writer.member("hasChangesToFetch", status.hasChangesToFetch)
        writer.key("conditions")
        writer.beginArray()
        for condition in status.conditions { writer.write(condition.rawValue) }
        writer.endArray()
        writer.member("detail", status.detail)
        writer.member("restsUntil", status.restsUntil.map(FieldText.describe))
        if let process = status.synchroniser {
            writer.key("synchroniser")
            writer.beginObject()
            writer.member("program", process.programName)
            writer.member("process", Int(process.processIdentifier))
            writer.member("since", FieldText.describe(process.since))
            writer.member("lastSign", FieldText.describe(process.lastSign))
            writer.endObject()
        }
        writer.key("parkedTypes")
        writer.beginArray()
        for type in status.parkedTypes {
            writer.beginObject()
            writer.member("recordType", type.recordType)
            writer.member("fieldName", type.fieldName)
            writer.endObject()
        }
        writer.endArray()
        writer.key("parked")
        writer.beginArray()
        for record in status.parked {
            writer.beginObject()
            writer.member("recordName", record.recordName)
            writer.member("reason", record.reason.rawValue)
            writer.member("message", record.message)
            writer.member("until", record.until.map(FieldText.describe))
            writer.endObject()
        }
        writer.endArray()
        writer.member("files", status.files.count)
        if let waiting = status.massDeletion {
            writer.key("massDeletion")
            writer.beginObject()
            writer.member("deletes", waiting.deletes)
            writer.member("records", waiting.records)
            writer.endObject()
        }
        writer.member("copyNoticed", status.copyNoticed.map(FieldText.describe))
        counts("records", self.counts.records)
        counts("recoveryLog", self.counts.losses)
        writer.endObject()
    }
}

extension ValueList<StoreDatabaseReport> {
    fileprivate static let reports = ValueList(
        emptyNote: "",
        columns: [
            Column("database") { $0.status.scope.rawValue },
            Column("file") { $0.file },
            Column("user") { $0.user?.name },
            Column("state") { $0.summary },
            Column("pending") { "\($0.status.pending)" },
            Column("parked") { "\($0.status.parked.count)" },
            Column("detail") { $0.status.detail },
        ]
    )
}

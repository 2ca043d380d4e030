import ArgumentParser
import Foundation
import MistKit
import StreamingJSON

/// `mistkit records changes`
struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "List the records that were changed or deleted in a zone since a token.",
        discussion: """
            Without a token, every record is listed once, as it is now. The token for the next run is written to standard error, or to the \
            file of --token-file. With that file, the next run of the same command lists only new changes.

            Examples:
              mistkit records changes --zone Notes
              mistkit records changes --zone Notes --token-file notes.token
            """
    )

    @OptionGroup var token: TokenOptions

    @Option(help: ArgumentHelp("The number of records of a page, at most 200.", valueName: "count"))
    var pageSize: Int?

    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard zone.zone != nil else {
            throw CommandError(
                code: .usage,
                message: "The default zone has no change feed.",
                remedy: "Name a custom zone with --zone; `mistkit zones list` prints them."
            )
        }
        guard (1...200).contains(pageSize ?? 1) else {
            throw ValidationError("--page-size is out of range.\nGive a number from 1 to 200.")
        }
    }

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        guard let zoneID = try await zone.zoneID(in: database) else { return }
        var last = try token.start { ZoneChangeToken($0) }
        var feed = ChangeOutput(output)
        for try await page in database.changes(inZone: zoneID, since: last, pageSize: pageSize) {
            for record in page.changedRecords + page.deletedRecords { try feed.append(record) }
            for failure in page.failures { Terminal.writeError(CommandError(failure)) }
            last = page.token
        }
        feed.finish()
        if let last { try token.keep(last.text) }
    }
}

/// Writes a change feed: for people what happened to which record, for programs the records themselves.
private struct ChangeOutput {
    private var records: RecordPrinter?
    private var table = TextTable([
        .init(title: "change"), .init(title: "recordName"), .init(title: "recordType"), .init(title: "tag"),
        .init(title: "modified"),
    ])

    private let pager: Pager?

    init(_ options: OutputOptions) {
        records = options.format == .table ? nil : RecordPrinter(options)
        pager = options.pager
    }

    mutating func append(_ record: Record) throws {
        guard records == nil else {
            try records?.append(record)
            return
        }
        table.append([
            record.isDeleted ? "deleted" : "changed", record.recordName ?? "", record.recordType ?? "",
            record.recordChangeTag ?? "", record.modified.map { FieldText.describe($0.timestamp) } ?? "",
        ])
    }

    mutating func finish() {
        if records != nil {
            records?.finish(emptyNote: nil)
        } else if table.rows.isEmpty {
            Terminal.writeLine("No changes.")
        } else {
            Terminal.write(table, pager: pager)
        }
    }
}

import ArgumentParser
import CloudKitMirror
import Foundation
import MistKit
import Synchronization

/// `mistkit mirror`
struct MirrorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Copy a database or a zone into an SQLite file, and keep the copy up to date.",
        discussion: """
            The file has a table for each record type and a column for each field. The first run copies everything; each later run of the \
            same command fetches only what changed, deletions included. A run that was killed continues where it stopped.

            Without arguments all custom zones of a private or shared database are copied, and with --zone one of them. The public database \
            and the default zone of a private one have no change feed: name the record types to copy. They are queried as a whole in each \
            run, and records that no longer exist are removed. One file can have both, by one run with types and one without.

            --restore saves the records of the file in the database of the settings, and makes zones that are missing. A record that exists \
            gets the fields of the file, and keeps the fields that the file does not have; --existing decides otherwise. The command says how \
            many records it would change, and asks first. Records that the file does not have stay. Files and shares are not restored.

            Examples:
              mistkit mirror copy.sqlite
              mistkit mirror articles.sqlite Article --database public
              mistkit mirror copy.sqlite --snapshot
              mistkit mirror copy.sqlite --restore --dry-run
              mistkit mirror copy.sqlite --restore --container iCloud.com.example.other
            """
    )

    @Argument(help: "The SQLite file.", completion: .anyFile)
    var file: String

    @Argument(help: "Record types to query, where there is no change feed.", completion: .recordType)
    var types: [String] = []

    @Flag(help: "Also keep a copy as of this run beside the file, such as copy-2026-11-23T020000Z.sqlite.")
    var snapshot = false

    @Flag(help: "Print what a run would fetch and remove, or what a restore would change, and write nothing.")
    var dryRun = false

    @Flag(help: "Save the records of the file in the database.")
    var restore = false

    @Option(help: "With --restore, what happens to a record whose name exists; update if it is left out.")
    var existing: ImportRecordsCommand.Existing?

    @Option(
        help: ArgumentHelp(
            "With --restore, the file for records that fail. The default is the file's name with .failed at its end.",
            valueName: "file"
        ),
        completion: .anyFile
    )
    var failed: String?

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard types.isEmpty || zone.zone == nil else {
            throw ValidationError(
                "Record types and --zone cannot be combined.\nLeave out the types: a zone is copied with all of its records."
            )
        }
        guard !restore || (types.isEmpty && !snapshot) else {
            throw ValidationError("--restore takes no record types and no --snapshot.\nLeave them out.")
        }
        guard restore || (failed == nil && existing == nil && !confirmation.yes) else {
            throw ValidationError("--failed, --existing and --yes belong to --restore.\nLeave them out.")
        }
    }

    func run() async throws {
        let connection = try ServiceConnection.open(connection)
        if restore { return try await saveRecords(in: connection) }
        let selection = try selection(in: connection.scope)
        let exists = FileManager.default.fileExists(atPath: file)
        let mirror =
            dryRun && !exists
            ? try DatabaseMirror(inMemoryOf: connection.database)
            : try DatabaseMirror(at: URL(fileURLWithPath: file), of: connection.database)
        if dryRun {
            let preview = try await mirror.preview(selection)
            return Terminal.writeLine(
                """
                \(String.counting(preview.fetched, "record")) to fetch, \(preview.removed) \
                \(preview.removed == 1 ? "record or zone" : "records and zones") to remove
                """
            )
        }
        let interrupt = TransferProgressLine.handleInterrupt()
        defer { interrupt.cancel() }
        let now = Date()
        let progress = Mutex(TransferProgressLine("mirrored"))
        let counts: MirrorCounts
        do {
            counts = try await mirror.update(selection, at: now) { counts in
                progress.withLock { $0.show(records: counts.written, bytes: counts.bytes) }
            }
        } catch {
            // The pages that were saved before the failure stay.
            try? await mirror.close()
            throw error
        }
        progress.withLock { progress in
            progress.finish(
                records: counts.written,
                failures: 0,
                to: (counts.deleted > 0 ? ", \(counts.deleted) deleted," : "") + " to \(file)"
            )
        }
        if snapshot { Terminal.writeLine(try await mirror.writeCopy(at: now).relativePath) }
        try await mirror.close()
    }

    /// What the arguments choose.
    private func selection(in scope: DatabaseScope) throws(CommandError) -> MirrorSelection {
        switch scope {
        case .public where types.isEmpty:
            throw CommandError(
                code: .usage,
                message: "The public database has no change feed.",
                remedy: "Name the record types to copy: mistkit mirror \(file) Article."
            )
        case .shared where !types.isEmpty:
            throw CommandError(
                code: .usage,
                message: "The shared database has no default zone.",
                remedy: "Leave out the record types: its zones are copied with all of their records."
            )
        case .public, .private, .shared: break
        }
        if !types.isEmpty { return .types(types) }
        return zone.zoneID.map { .zone($0) } ?? .allZones
    }

    private func saveRecords(in connection: ServiceConnection) async throws {
        guard connection.scope != .shared else {
            throw CommandError(
                code: .usage,
                message: "The zones of the shared database belong to other users, and are not restored.",
                remedy: "Use --database private to save the records in zones of the same names."
            )
        }
        let existing = existing ?? .update
        let journal = try TransferJournal.open(
            for: file,
            purpose: ["restore", existing.rawValue, zone.zone],
            over: connection
        )
        let reader = try MirrorSource(path: file, zone: zone.zone, after: journal)
        if reader.shares > 0 {
            Terminal.writeHint("\(reader.shares) shares of \(file) are not restored; share the records again.")
        }
        if dryRun {
            var comparison = try await RestoreComparison(of: reader, with: connection.database, existing: existing)
            try await comparison.countOthers(in: connection.database)
            return Terminal.writeLine(comparison.description)
        }
        // What exists is compared first, since the restore may change it.
        if !confirmation.yes, existing == .update || existing == .replace {
            let comparison = try await RestoreComparison(of: reader, with: connection.database, existing: existing)
            if let question = comparison.question, try !confirmation.confirms(question) { return }
        }
        var transfer = ImportTransfer(
            verb: "restored",
            file: file,
            title: file,
            failedFile: failed ?? file + ".failed",
            header: [],
            existing: existing,
            database: connection.database,
            journal: journal
        )
        try await transfer.run(reader, size: reader.size)
    }
}

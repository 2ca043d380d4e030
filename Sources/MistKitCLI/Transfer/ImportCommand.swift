import ArgumentParser
import Foundation
import MistKit

/// `mistkit records import`
struct ImportRecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Save the records of a file.",
        discussion: """
            The file has one record on each line (NDJSON), as `records export` writes it, is a JSON array of records, or is CSV with a header such as \
            recordName,title:STRING,rating:INT64. With --plain, its objects are {"title":"Hello","rating":4}. A run that was killed goes on where \
            it was when the same command is given again: nothing is saved twice, and nothing is missed. Memory does not grow with the size of \
            the file. Standard input (-) and pipes are copied into a temporary file first, which is kept if the import does not end.

            Lines that fail are written to a file of their own, which can be imported again; a second record of the same name in one file \
            fails. Records of zones are saved into zones of the same names, which are made where they do not exist; --zone names one zone for all.

            With --assets, files of records are uploaded from a folder: the value of a field is {"file":"photo.jpg"}, as exports with \
            --assets write it, and in a cell of CSV under photo:ASSETID the path alone.

            Examples:
              mistkit records import notes.ndjson
              mistkit records import notes.csv --type Note --dry-run
              echo '{"title":"Hello","rating":4}' | mistkit records import - --type Note --plain
            """
    )

    /// What happens to a record of the file whose name exists.
    enum Existing: String, CaseIterable, ExpressibleByArgument {
        /// The fields of the file are set, and others stay.
        case update
        /// The record becomes what the file says.
        case replace
        /// The record stays as it is.
        case skip
        /// The line fails.
        case fail
    }

    @Argument(help: "The file; - is standard input.", completion: .recordFile)
    var file: String

    @Option(
        help: ArgumentHelp("The type of records that have no type in the file.", valueName: "name"),
        completion: .recordType
    )
    var type: String?

    @Option(name: .shortAndLong, help: "The format, if the name of the file does not show it.")
    var format: TransferFormat?

    @Flag(help: "The members of JSON objects are the fields, with recordName for the record's name.")
    var plain = false

    @Option(
        help: ArgumentHelp(
            "What is between the cells of CSV: a character, or tab. By default a comma, or else a semicolon or a tab if the header has it.",
            valueName: "text"
        )
    )
    var separator: CellSeparator?

    @Option(help: "What happens to a record whose name exists.")
    var existing = Existing.update

    @Option(
        help: ArgumentHelp(
            "The file for lines that fail. The default is the file's name with .failed at its end.",
            valueName: "file"
        ),
        completion: .anyFile
    )
    var failed: String?

    @Flag(help: "Read the file, and save nothing.")
    var dryRun = false

    @OptionGroup var files: FileOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await run(over: dryRun ? nil : ServiceConnection.open(connection))
    }

    /// Saves the records of the file.
    ///
    /// - Parameter connection: The service; `nil` only to check the file.
    /// - Throws: A ``CommandError``, or the `CloudKitError` of a request.
    func run(over connection: ServiceConnection?) async throws {
        let input = try ImportInput(file, format: format)
        defer { input.close() }
        try check(input.format)
        let source = { (journal: TransferJournal) in try self.source(input.handle, input.format, from: journal) }
        guard let connection else { return try check(source(TransferJournal(purpose: "")).records, of: input) }
        try TransferLock.take(input.handle, path: input.path)
        let journal = try TransferJournal.open(
            for: input.path,
            purpose: [
                "import", existing.rawValue, type, zone.zone, plain ? "plain" : nil,
                separator.map { "separated by \($0.scalar)" },
            ],
            over: connection,
            source: TransferLock.state(of: input.handle)
        )
        let size = Int64(try input.handle.seekToEnd())
        try input.handle.seek(toOffset: 0)
        let (records, header) = try source(journal)
        var transfer = ImportTransfer(
            file: input.path,
            title: input.title,
            failedFile: failed ?? input.failedFile,
            header: header,
            existing: existing,
            type: type,
            zone: try await zone.zoneID(in: connection.database),
            files: files.files,
            database: connection.database,
            journal: journal
        )
        try await transfer.run(records, size: size)
    }

    /// Checks the options that are for one format only.
    private func check(_ format: TransferFormat) throws(CommandError) {
        guard !plain || format != .csv else {
            throw CommandError(
                code: .usage,
                message: "--plain is about JSON, and the file is CSV.",
                remedy: "Leave --plain out, or name the format with --format."
            )
        }
        guard separator == nil || format == .csv else {
            throw CommandError(
                code: .usage,
                message: "--separator is about CSV, and the file is \(format == .json ? "JSON" : "NDJSON").",
                remedy: "Leave --separator out, or give --format csv."
            )
        }
    }

    /// The records of the file after those that a journal counts, and the header of a CSV file.
    private func source(
        _ handle: FileHandle,
        _ format: TransferFormat,
        from journal: TransferJournal
    ) throws -> (records: any TransferSource, header: [UInt8]) {
        guard format != .json else {
            return (try JSONImportReader(handle, isPlain: plain, from: journal.bytes, line: journal.lines), [])
        }
        let reader = try ImportReader(
            handle,
            isCSV: format == .csv,
            isPlain: plain,
            separator: separator,
            from: journal.bytes,
            line: journal.lines
        )
        return (reader, reader.header)
    }

    /// Reads the whole file, and prints the number of records of each type, and the errors.
    private func check(_ source: any TransferSource, of input: ImportInput) throws {
        var reader = source
        var counts: [String: Int] = [:]
        var names = RecordNames()
        var report = FailureReport()
        while let item = try reader.next() {
            do {
                let record = try ImportTransfer.operation(for: item, existing, type, run: "", files: files.files).record
                _ = try files.files?.uploads(of: record)
                try names.add(item)
                counts[record.recordType ?? "", default: 0] += 1
            } catch {
                report.add(error, at: "\(input.title), \(item.label)")
            }
        }
        report.finish(in: nil)
        for (type, count) in counts.sorted(by: { $0.key < $1.key }) {
            Terminal.writeLine("\(type): \(String.counting(count, "record"))")
        }
        guard report.count == 0 else {
            throw CommandError(
                code: .data,
                message: "\(String.counting(report.count, "line")) of \(input.title) cannot be imported.",
                remedy: "Correct the lines above."
            )
        }
    }
}

/// Saves the records of a file step by step, with a journal.
struct ImportTransfer {
    /// The verb in the past for messages.
    let verb: String
    /// The path of the file, beside which the journal is.
    let file: String
    /// The name of the file in messages.
    let title: String
    let failedFile: String
    /// The first line of the file of failed lines, for CSV.
    let header: [UInt8]
    let existing: ImportRecordsCommand.Existing
    let type: String?
    let zone: ZoneID?
    /// The files that records name; `nil` where records with files are refused.
    var files: RecordFiles?
    let database: CloudKitDatabase
    var journal: TransferJournal

    /// The items of a step: a few requests, which may be under way at once.
    private static let itemsPerStep = 800
    private static let bytesPerStep = 8 << 20
    /// The records at the beginning of a file that are checked together: if all of them are wrong, so are the options.
    private static let checkedItems = 10

    private var names = RecordNames()
    private var report = FailureReport()

    init(
        verb: String = "imported",
        file: String,
        title: String,
        failedFile: String,
        header: [UInt8],
        existing: ImportRecordsCommand.Existing,
        type: String? = nil,
        zone: ZoneID? = nil,
        files: RecordFiles? = nil,
        database: CloudKitDatabase,
        journal: TransferJournal
    ) {
        self.verb = verb
        self.file = file
        self.title = title
        self.failedFile = failedFile
        self.header = header
        self.existing = existing
        self.type = type
        self.zone = zone
        self.files = files
        self.database = database
        self.journal = journal
    }

    mutating func run(_ source: any TransferSource, size: Int64) async throws {
        let interrupt = TransferProgressLine.handleInterrupt()
        defer { interrupt.cancel() }
        var reader = source
        var progress = TransferProgressLine(
            verb,
            totalBytes: size,
            earlierRecords: journal.records,
            earlierBytes: journal.bytes
        )
        // The items that an earlier run was sending when it ended may have been saved.
        let doubtful = journal.sent
        var zones: Set<String> = [ZoneID.default.zoneName]
        while true {
            var items: [ImportReader.Item] = []
            var bytes = 0
            var unreadable: (any Error)?
            do {
                while items.count < Self.itemsPerStep, bytes < Self.bytesPerStep, let item = try reader.next() {
                    items.append(item)
                    bytes += item.bytes.count
                }
            } catch {
                // The records before the error are saved first, and the journal stays behind them.
                unreadable = error
            }
            guard let last = items.last else {
                if let unreadable { throw unreadable }
                break
            }
            if journal.isEmpty { try checkBeginning(items) }
            journal.sent = last.end
            try journal.save(for: file)
            let failures = try await saved(items, doubtful: doubtful, &zones)
            try keep(failures)
            journal.records += items.count - failures.count
            journal.failures += failures.count
            journal.lines = last.line
            journal.bytes = last.end
            journal.position = last.position
            journal.refused = []
            try journal.save(for: file)
            progress.show(records: journal.records, bytes: journal.bytes)
            if let unreadable { throw unreadable }
        }
        TransferJournal.remove(for: file)
        report.finish(in: failedFile)
        progress.finish(records: journal.records, failures: journal.failures, to: " from \(title)")
        guard journal.failures == 0 else {
            throw CommandError(
                code: .failure,
                message:
                    "\(journal.failures) of \(String.counting(journal.failures + journal.records, "record")) failed.",
                remedy: "Their lines are in \(failedFile): correct them, and `mistkit records import` saves them."
            )
        }
    }

    /// Checks the first items before anything is sent.
    ///
    /// - Throws: The error of the first item, if all of the first items are wrong.
    private func checkBeginning(_ items: [ImportReader.Item]) throws(CommandError) {
        var problem: CommandError?
        for item in items.prefix(Self.checkedItems) {
            do throws(CommandError) {
                let operation = try Self.operation(for: item, existing, type, run: journal.run, files: files)
                _ = try files?.uploads(of: operation.record)
                return
            } catch {
                guard problem == nil else { continue }
                problem = error
                problem?.code = .data
                problem?.message = "\(title), \(item.label): \(error.message)"
                problem?.remedy += " Nothing was sent."
            }
        }
        if let problem { throw problem }
    }

    /// Saves some items.
    ///
    /// - Returns: The items that failed; their messages have been written.
    /// - Throws: The error that ends the run. The journal stays before the items, and notes which of them the service
    ///   refused because their records exist: the next run cannot distinguish these from items that this run saved.
    private mutating func saved(
        _ items: [ImportReader.Item],
        doubtful: Int64,
        _ zones: inout Set<String>
    ) async throws -> [ImportReader.Item] {
        var failures: [Int: Failure] = [:]
        for (index, item) in items.enumerated() {
            do throws(CommandError) { try names.add(item) } catch { failures[index] = Failure(error: error) }
        }
        do {
            try await save(items, doubtful: doubtful, &zones, into: &failures)
        } catch {
            journal.refused = failures.filter(\.value.meansExisting).map { items[$0.key].end }.sorted()
            try journal.save(for: file)
            throw error
        }
        return failures.sorted { $0.key < $1.key }.map { index, failure in
            report.add(failure.error, at: "\(title), \(items[index].label)")
            return items[index]
        }
    }

    /// Why an item cannot be saved.
    private struct Failure {
        var error: CommandError
        /// Whether the service has a record of this name.
        var meansExisting = false
    }

    /// Saves some items.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - doubtful: The items before this offset may have been saved by an earlier run.
    ///   - zones: The zones that are known to exist.
    ///   - failures: The items that cannot be saved, by their indices.
    /// - Throws: The error that ends the run.
    private func save(
        _ items: [ImportReader.Item],
        doubtful: Int64,
        _ zones: inout Set<String>,
        into failures: inout [Int: Failure]
    ) async throws {
        var groups: [String: [(index: Int, operation: RecordOperation)]] = [:]
        for (index, item) in items.enumerated() where failures[index] == nil {
            do {
                var operation = try Self.operation(for: item, existing, type, run: journal.run, files: files)
                let name = zone?.zoneName ?? operation.record.zoneID?.zoneName ?? ZoneID.default.zoneName
                operation.record.zoneID = nil
                groups[name, default: []].append((index, operation))
            } catch {
                failures[index] = Failure(error: error)
            }
        }
        for (name, group) in groups.sorted(by: { $0.key < $1.key }) {
            if zone == nil, zones.insert(name).inserted { _ = try await database.createZone(name) }
            let zoneID = name == ZoneID.default.zoneName ? nil : zone ?? ZoneID(zoneName: name)
            var ready: [(index: Int, operation: RecordOperation)] = group
            if let files {
                ready = []
                let uploads = try await files.upload(group.map(\.operation.record), to: database, inZone: zoneID)
                for (upload, (index, operation)) in zip(uploads, group) {
                    do throws(CommandError) {
                        ready.append((index, RecordOperation(operation.operationType, record: try upload.get())))
                    } catch {
                        failures[index] = Failure(error: error)
                    }
                }
            }
            let results = try await database.modify(
                ready.map(\.operation),
                inZone: zoneID,
                desiredKeys: []
            )
            var ending: CloudKitError?
            for (result, (index, _)) in zip(results, ready) {
                guard case .failure(let error) = result else { continue }
                // With `create`, the record exists already: this import saved it earlier, or another client did.
                let exists = error.code == .exists || error.code == .conflict
                let end = items[index].end
                if exists, existing == .skip || end <= doubtful && !journal.refused.contains(end) { continue }
                if error.refusesOneRecord {
                    failures[index] = Failure(error: CommandError(error), meansExisting: exists)
                } else if (ending?.attempts ?? 0) == 0 {
                    // An error of a request that was sent says more than that of one that was not.
                    ending = error
                }
            }
            if var ending {
                ending.item = nil
                throw ending
            }
        }
    }

    /// The operation that saves an item.
    static func operation(
        for item: ImportReader.Item,
        _ existing: ImportRecordsCommand.Existing,
        _ type: String?,
        run: String,
        files: RecordFiles?
    ) throws(CommandError) -> RecordOperation {
        let source = try item.record.get()
        guard let recordType = source.recordType ?? type, !recordType.isEmpty else {
            throw CommandError(
                code: .data,
                message: "The record has no type.",
                remedy: "Write it into the file, or give --type."
            )
        }
        if files == nil, let field = source.fields.first(where: { !$0.value.assets.isEmpty }) {
            throw CommandError(
                code: .data,
                message: "The field \(field.name) is a file, and no folder of files is given.",
                remedy: "Name the folder with --assets, or remove the field."
            )
        }
        // The change tag, the times and the users of the record in the file are not imported.
        var record = Record(
            recordType: recordType,
            recordName: source.recordName ?? "\(run)-\(item.end)",
            fields: source.fields
        )
        record.zoneID = source.zoneID
        record.parent = source.parent
        return switch existing {
        case .update: RecordOperation(.forceUpdate, record: record)
        case .replace: RecordOperation(.forceReplace, record: record)
        case .skip, .fail: RecordOperation(.create, record: record)
        }
    }

    /// Appends lines to the file of failed lines, after those that the journal counts.
    private mutating func keep(_ items: [ImportReader.Item]) throws {
        guard !items.isEmpty else { return }
        var bytes = journal.failedBytes == 0 ? header : []
        for item in items { bytes += item.bytes + [UInt8(ascii: "\n")] }
        do {
            if journal.failedBytes == 0 { try Data().write(to: URL(fileURLWithPath: failedFile)) }
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: failedFile))
            defer { try? handle.close() }
            try handle.truncate(atOffset: UInt64(journal.failedBytes))
            try handle.seekToEnd()
            try handle.write(contentsOf: bytes)
        } catch {
            throw CommandError.unwritable(failedFile, error)
        }
        journal.failedBytes += Int64(bytes.count)
    }
}

import ArgumentParser
import Foundation
import MistKit
import StreamingJSON

/// `mistkit records export`
struct ExportRecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the records of types, of a zone or of all zones into a file.",
        discussion: """
            The file has one record on each line (NDJSON); where its name ends in .csv or .json, it is CSV or a JSON array. It appears when it is complete. A run that was \
            killed goes on where it was when the same command is given again. Memory does not grow with the number of records.

            With record types, their records are queried. Without, all records of a custom zone (--zone) or of all custom zones (--all-zones) \
            are exported; the default zone has no change feed, so its record types have to be named. Of files, only the descriptions are \
            exported, unless --assets names a folder for them.

            Examples:
              mistkit records export Note --output notes.ndjson
              mistkit records export --all-zones --output backup.ndjson
            """
    )

    @Argument(help: "Record types; without them everything in the zone.", completion: .recordType)
    var types: [String] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write; - is standard output.", valueName: "file"),
        completion: .recordFile
    )
    var output: String

    @Option(name: .shortAndLong, help: "The format, if the name of the file does not show it.")
    var format: TransferFormat?

    @Flag(help: "Export all custom zones.")
    var allZones = false

    @Flag(help: "Replace the file where it exists.")
    var force = false

    @OptionGroup var files: FileOptions
    @OptionGroup var filters: FilterOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard !types.isEmpty || zone.zone != nil || allZones else {
            throw ValidationError(
                "There is nothing to export.\nName record types, a zone with --zone, or all zones with --all-zones."
            )
        }
        guard !allZones || zone.zone == nil else {
            throw ValidationError("--all-zones and --zone cannot be combined.\nName one zone, or export all of them.")
        }
        guard output != "-" || format ?? .ndjson == .ndjson else {
            throw ValidationError("Standard output takes NDJSON only.\nName a file, or leave --format out.")
        }
        guard filters.expressions.isEmpty || !types.isEmpty else {
            throw ValidationError("--filter needs record types.\nName the record types that the filters are for.")
        }
    }

    func run() async throws {
        try await run(over: ServiceConnection.open(connection))
    }

    /// Writes the records of a database.
    func run(over connection: ServiceConnection) async throws {
        let filters = try filters.filters()
        let database = connection.database
        guard output != "-" else { return try await writeOut(steps(in: database, filters), of: database) }
        guard var export = try begin(over: connection) else { return }
        defer { export.close() }
        let interrupt = TransferProgressLine.handleInterrupt()
        defer { interrupt.cancel() }
        for step in try await steps(in: database, filters) where !export.journal.finished.contains(step.title) {
            try await copy(step, of: database, to: &export)
        }
        try complete(&export)
    }

    /// Writes the records of some steps to standard output.
    private func writeOut(_ steps: [ExportStep], of database: CloudKitDatabase) async throws {
        for step in steps {
            try await step.forEachPage(of: database, from: nil) { page in
                let lines = try await lines(of: page, from: database)
                Terminal.write(String(decoding: lines, as: UTF8.self))
            }
        }
    }

    /// Writes the records of a step behind those that the file has.
    private func copy(
        _ step: ExportStep,
        of database: CloudKitDatabase,
        to export: inout UnfinishedExport
    ) async throws {
        try await step.forEachPage(of: database, from: export.journal.position) { page in
            let lines = try await lines(of: page, from: database)
            try export.append(lines, of: page, of: step)
        }
    }

    /// The lines of a page. With a folder for files, their files are downloaded first.
    private func lines(of page: ExportStep.Page, from database: CloudKitDatabase) async throws -> [UInt8] {
        try Self.lines(of: await files.files?.download(page.records, from: database) ?? page.records)
    }

    /// Opens the unfinished file of an earlier run, or makes one.
    ///
    /// - Returns: The file, or `nil` where an earlier run has done everything.
    private func begin(over connection: ServiceConnection) throws -> UnfinishedExport? {
        let found = try? FileManager.default.attributesOfItem(atPath: output)[.type] as? FileAttributeType
        guard [nil, .typeRegular].contains(found) else {
            throw CommandError(
                code: .usage,
                message: "\(output) is not a regular file, so that it cannot be replaced.",
                remedy: "Name another file, or write to standard output with --output -."
            )
        }
        let part = output + ".part"
        // The journal is read with the lock, since another process writes it while it has the lock.
        let earlier = FileManager.default.fileExists(atPath: part) ? try Self.open(part, for: output) : nil
        let journal = try TransferJournal.open(
            for: output,
            purpose: ["export"] + types + filters.expressions + [
                files.assets, zone.zone, allZones ? "all zones" : nil,
            ],
            over: connection
        )
        if journal.isComplete {
            // An earlier run ended between the last two steps of `complete`.
            try finish()
            TransferJournal.remove(for: output)
            Terminal.writeError("\(String.counting(journal.records, "record")) exported to \(output) by an earlier run")
            return nil
        }
        guard force || found == nil else {
            throw CommandError(
                code: .usage,
                message: "\(output) exists already.",
                remedy: "Name another file, or replace it with --force."
            )
        }
        let handle = try earlier ?? Self.open(part, for: output)
        try Self.truncate(handle, part, to: journal.bytes)
        return UnfinishedExport(output, handle, journal)
    }

    /// Converts the file that has all records, and gives it its name.
    private func complete(_ export: inout UnfinishedExport) throws {
        let (complete, part) = (output + ".complete", output + ".part")
        switch format ?? TransferFormat(path: output) {
        case .ndjson: break
        case .json: try Self.writeJSON(of: part, to: complete)
        case .csv: try Self.writeCSV(of: part, to: complete)
        }
        export.journal.isComplete = true
        try export.journal.save(for: output)
        try finish()
        TransferJournal.remove(for: output)
        export.progress.finish(records: export.journal.records, failures: 0, to: " to \(output)")
    }

    /// Gives the complete file its name. Steps of this that an earlier run has done are skipped.
    private func finish() throws {
        let files = FileManager.default
        let (complete, part) = (output + ".complete", output + ".part")
        let isConverted = files.fileExists(atPath: complete)
        do {
            if isConverted, files.fileExists(atPath: part) { try files.removeItem(atPath: part) }
            guard isConverted || files.fileExists(atPath: part) else { return }
            if force { try? files.removeItem(atPath: output) }
            try files.moveItem(atPath: isConverted ? complete : part, toPath: output)
        } catch {
            throw CommandError.unwritable(output, error)
        }
    }

    /// The parts of the export.
    private func steps(in database: CloudKitDatabase, _ filters: [Filter<Record>]) async throws -> [ExportStep] {
        let zoneID = try await zone.zoneID(in: database)
        guard types.isEmpty else {
            return types.map { type in
                let query = Query(recordType: type, filters: filters)
                return .query(query, type: type, zone: zoneID, zoneWide: allZones)
            }
        }
        if let zoneID { return [.zone(zoneID)] }
        return try await database.fetchZones().map(\.zoneID).filter { $0.zoneName != ZoneID.default.zoneName }
            .map { .zone($0) }
    }

    /// Opens the unfinished file, which is made where there is none, and locks it.
    private static func open(_ path: String, for output: String) throws -> FileHandle {
        let handle: FileHandle
        do {
            if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
            handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        } catch {
            throw CommandError.unwritable(path, error)
        }
        try TransferLock.take(handle, path: output)
        return handle
    }

    /// Removes the bytes that were written after the journal.
    private static func truncate(_ handle: FileHandle, _ path: String, to bytes: Int64) throws {
        do {
            guard try handle.seekToEnd() >= UInt64(bytes) else {
                throw CommandError(
                    code: .data,
                    message: "\(path) is shorter than its journal says.",
                    remedy: "Remove both to begin from the start."
                )
            }
            try handle.truncate(atOffset: UInt64(bytes))
            try handle.seekToEnd()
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError.unwritable(path, error)
        }
    }

    /// The records as lines of NDJSON.
    static func lines(of records: [Record]) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for record in records {
            bytes += try JSONWriter.bytes(of: record)
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    /// Writes the records of an NDJSON file as CSV: the first pass finds the columns, the second writes the rows.
    static func writeCSV(of path: String, to target: String) throws {
        var columns = RecordColumns()
        var known: Set<RecordColumns.Column> = []
        try forEachRecord(in: path) { columns.add(fieldsOf: $0, known: &known) }
        try write(to: target) { file in
            try file.append(CommaSeparatedValues.line(columns.columns.map(\.title)))
            try forEachRecord(in: path) { try file.append(columns.line(of: $0)) }
        }
    }

    /// Writes the lines of an NDJSON file as a JSON array.
    static func writeJSON(of path: String, to target: String) throws {
        try write(to: target) { file in
            try file.append("[")
            var separator = "\n"
            try forEachLine(in: path) { line in
                try file.append(separator + String(decoding: line, as: UTF8.self))
                separator = ",\n"
            }
            try file.append("\n]\n")
        }
    }

    /// A file whose text is collected and written in larger pieces.
    private struct OutputFile {
        let handle: FileHandle
        private var text = ""

        init(_ handle: FileHandle) {
            self.handle = handle
        }

        mutating func append(_ more: String) throws {
            text += more
            if text.utf8.count > 1 << 18 { try flush() }
        }

        mutating func flush() throws {
            try handle.write(contentsOf: Data(text.utf8))
            text = ""
        }
    }

    private static func write(to target: String, _ body: (inout OutputFile) throws -> Void) throws {
        do {
            try Data().write(to: URL(fileURLWithPath: target))
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: target))
            var file = OutputFile(handle)
            try body(&file)
            try file.flush()
            try handle.close()
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError.unwritable(target, error)
        }
    }

    private static func forEachRecord(in path: String, _ body: (Record) throws -> Void) throws {
        try forEachLine(in: path) { try body(JSONReader.read(Record.self, from: $0)) }
    }

    private static func forEachLine(in path: String, _ body: ([UInt8]) throws -> Void) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw CommandError.unreadable(path) }
        defer { try? handle.close() }
        var lines = try LineReader(handle)
        while let line = try lines.next() { try body(line) }
    }
}

/// The file of an export that has not all records yet, and its journal.
private struct UnfinishedExport {
    let output: String
    let handle: FileHandle
    var journal: TransferJournal
    var progress: TransferProgressLine
    private var saved = ContinuousClock.now

    init(_ output: String, _ handle: FileHandle, _ journal: TransferJournal) {
        self.output = output
        self.handle = handle
        self.journal = journal
        progress = TransferProgressLine("exported", earlierRecords: journal.records, earlierBytes: journal.bytes)
    }

    /// Writes the lines of a page behind the others.
    ///
    /// The journal is written at most four times a second. After a kill, the records since then are fetched again.
    mutating func append(_ lines: [UInt8], of page: ExportStep.Page, of step: ExportStep) throws {
        do { try handle.write(contentsOf: lines) } catch { throw CommandError.unwritable(output + ".part", error) }
        journal.bytes += Int64(lines.count)
        journal.records += page.records.count
        journal.position = page.next
        if page.next == nil { journal.finished.append(step.title) }
        if page.next == nil || .now - saved > .milliseconds(250) {
            try journal.save(for: output)
            saved = .now
        }
        progress.show(records: journal.records, bytes: journal.bytes)
    }

    func close() {
        try? handle.close()
    }
}

/// A part of an export.
enum ExportStep: Sendable {
    case query(Query<Record>, type: String, zone: ZoneID?, zoneWide: Bool)
    case zone(ZoneID)

    /// Some records, and where the next ones begin; `nil` at the end.
    struct Page: Sendable {
        var records: [Record]
        var next: String?
    }

    /// The name of the part in the journal.
    var title: String {
        switch self {
        case .query(_, let type, let zone, _): "type \(type)" + (zone.map { " in \($0.zoneName)" } ?? "")
        case .zone(let zone): "zone \(zone.zoneName)"
        }
    }

    /// Goes through the pages of the part.
    func forEachPage(
        of database: CloudKitDatabase,
        from position: String?,
        _ body: (Page) async throws -> Void
    ) async throws {
        switch self {
        case .query(let query, _, let zone, let zoneWide):
            let records = database.records(
                matching: query,
                inZone: zone,
                zoneWide: zoneWide,
                startingAt: position
            )
            for try await page in records.pages {
                try await body(Page(records: page.results.map { try $0.get() }, next: page.marker))
            }
        case .zone(let zone):
            let changes = database.changes(inZone: zone, since: position.flatMap { ZoneChangeToken($0) })
            for try await page in changes {
                if let failure = page.failures.first { throw failure }
                try await body(Page(records: page.changedRecords, next: page.moreComing ? page.token.text : nil))
            }
        }
    }
}

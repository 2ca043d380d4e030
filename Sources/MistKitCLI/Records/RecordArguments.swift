import ArgumentParser
import Foundation
import MistKit
import Spelling
import StreamingJSON

/// The zone that a command works in.
struct ZoneOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A zone. Without it, the default zone, or all zones in commands for whole databases.",
            valueName: "name"
        ),
        completion: .zone
    )
    var zone: String?

    @Option(
        help: ArgumentHelp(
            "The zone's owner, in the shared database; found by itself where one owner has a zone of the name.",
            valueName: "user record name"
        ),
        completion: .zoneOwner
    )
    var zoneOwner: String?

    /// The zone as the options name it; `nil` for the default zone.
    var zoneID: ZoneID? {
        zone.map { ZoneID(zoneName: $0, ownerRecordName: zoneOwner) }
    }

    /// The zone with its owner, who is found in the list of zones of a shared database.
    ///
    /// - Parameter database: The database of the zone.
    /// - Returns: The zone; `nil` for the default zone.
    /// - Throws: ``CommandError`` where no zone, or more than one, has the name; a `CloudKitError` of the request.
    func zoneID(in database: CloudKitDatabase) async throws -> ZoneID? {
        guard database.scope == .shared, let zone, zoneOwner == nil else { return zoneID }
        let zones = try await database.fetchZones().map(\.zoneID)
        let found = zones.filter { $0.zoneName == zone }
        if found.count == 1 { return found[0] }
        let names = zones.map(\.zoneName)
        throw found.isEmpty
            ? CommandError(
                code: .usage,
                message: "The shared database has no zone \(zone).",
                remedy: NearestName.hint(for: zone, among: names)
                    + "`mistkit zones list --database shared` lists the zones; `mistkit shares accept` adds one."
            )
            : CommandError(
                code: .usage,
                message: "\(found.count) people share a zone \(zone) with you.",
                remedy:
                    "Name the owner with --zone-owner: \(found.compactMap(\.ownerRecordName).joined(separator: ", "))."
            )
    }
}

/// The conditions that records of a query meet.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .customLong("filter"),
        help: ArgumentHelp(
            "A condition, in the form of --filter in `records query`; may be given more than once.",
            valueName: "condition"
        ),
        completion: .condition
    )
    var expressions: [String] = []

    /// Reads the conditions.
    ///
    /// - Throws: ``CommandError`` that quotes the first one that is wrong.
    func filters() throws(CommandError) -> [Filter<Record>] { try QueryExpression.filters(expressions) }
}

/// The fields that a command fetches.
struct FieldOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only these fields, separated by commas.", valueName: "names"),
        completion: .fieldList
    )
    var fields: String?

    /// The names of the fields; nil for all fields.
    var desiredKeys: [String]? {
        fields.map { $0.split(separator: ",").map(String.init) }
    }
}

/// Records that come from a file or from standard input.
enum RecordInput {
    /// Reads one record, an array of records, or one record a line, each as CloudKit Web Services writes them.
    ///
    /// - Throws: ``CommandError`` that names the file, the line and what is wrong there.
    static func read(from path: String) throws -> [Record] {
        let file = InputFile(path: path)
        let name = file.title
        let records = try read(try file.bytes(), name)
        for (index, record) in records.enumerated() where record.fields.isEmpty {
            guard let lost = record.otherKeys.elements.map(\.name).min() else { continue }
            throw CommandError(
                code: .data,
                message:
                    "Record \(index + 1) of \(name) has no fields, and a member \(lost) that is not a part of a record.",
                remedy: "Write the members into \"fields\", or give plain objects to `mistkit records import --plain`."
            )
        }
        return records
    }

    private static func read(_ bytes: [UInt8], _ name: String) throws -> [Record] {
        do {
            if bytes.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "[") {
                return try JSONReader.read([Record].self, from: bytes)
            }
            if let single = try? JSONReader.read(Record.self, from: bytes) { return [single] }
        } catch {
            throw unreadable(name, "\(error)")
        }
        var records: [Record] = []
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n")).enumerated()
        where line.contains(where: { !" \t\r".utf8.contains($0) }) {
            do {
                records.append(try JSONReader.read(Record.self, from: Array(line)))
            } catch {
                throw unreadable("\(name), line \(index + 1)", "\(error)")
            }
        }
        return records
    }

    private static func unreadable(_ source: String, _ problem: String) -> CommandError {
        CommandError(
            code: .data,
            message: "\(source): \(problem)",
            remedy:
                #"Give one record, an array, or one a line: {"recordType":"Note","fields":{"title":{"value":"Hello"}}}."#
        )
    }
}

/// The results of a batch: records go to the output, failures to standard error; a failure decides the exit code.
struct BatchOutcome {
    /// Whether the service saves all records or none.
    private let isAtomic: Bool
    private var output: RecordPrinter
    private var failures = 0
    private var remedies: Set<String> = []
    /// Whether all failures are about credentials.
    private var lacksPermission = true
    private var successes = 0

    init(_ options: OutputOptions, atomic: Bool = false) {
        isAtomic = atomic
        output = RecordPrinter(options)
    }

    mutating func append(_ result: Result<Record, CloudKitError>) throws {
        switch result {
        case .success(let record):
            successes += 1
            try output.append(record)
        case .failure(let error):
            failures += 1
            // In an atomic batch, it says only that another record failed, whose remedy counts.
            if error.code != .atomicError {
                remedies.insert(CommandError.remedy(for: error))
                lacksPermission = lacksPermission && CommandError(error).code == .permission
            }
            Terminal.writeFailure(CommandError(error))
        }
    }

    /// What to do about the failed items. Where the remedies differ, it refers to the lines of the items.
    private var failedRemedy: String {
        if remedies.count == 1, let remedy = remedies.first { return remedy }
        return isAtomic
            ? "The lines above give the reasons."
            : "The lines above give the reason for each; the other records are done."
    }

    /// Ends the output.
    ///
    /// - Throws: A ``CommandError`` with the number of failed items; their messages have been written.
    mutating func finish() throws {
        output.finish(emptyNote: failures == 0 ? "No records." : nil)
        guard failures == 0 else {
            let count = String.counting(failures + successes, "record")
            throw CommandError(
                code: lacksPermission && !remedies.isEmpty ? .permission : .failure,
                message: isAtomic
                    ? "Nothing was saved: --atomic saves all of the \(count) or none."
                    : "\(failures) of \(count) failed.",
                remedy: failedRemedy
            )
        }
    }
}

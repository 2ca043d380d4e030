import Foundation
import MistKit
import StreamingJSON

/// The progress of an export or an import, in a file beside the data. After a kill, the next run continues with it.
///
/// The file is replaced as a whole after each step, and removed at the end.
struct TransferJournal: Hashable, JSONReadable, JSONWritable {
    /// The command's arguments that decide what is transferred. A run with other arguments is refused.
    var purpose: String
    /// The parts, such as record types or zones, that are done.
    var finished: [String] = []
    /// Where the current part continues: a marker or a token; `nil` at its beginning.
    var position: String?
    /// The bytes of the data that are done.
    var bytes: Int64 = 0
    /// The bytes of the data that are done or were being sent. It is not known whether the service did the latter.
    var sent: Int64 = 0
    /// The ends of the items between ``bytes`` and ``sent`` that the service refused because their records exist.
    var refused: [Int64] = []
    /// The number of records that are done.
    var records = 0
    /// The number of lines of an import that are done.
    var lines = 0
    /// The bytes of the file of failed lines.
    var failedBytes: Int64 = 0
    /// The number of records that failed.
    var failures = 0
    /// Whether all of the data is written, and only its name is missing.
    var isComplete = false
    /// The size and the time of modification of the file that is imported; empty in other journals.
    var source = ""
    /// The prefix of the names of records without a name, so that a second run gives them the same names.
    var run: String

    /// Whether no record is done yet.
    var isEmpty: Bool { bytes == 0 && records == 0 && finished.isEmpty && position == nil && !isComplete }

    init(purpose: String, run: String = UUID().uuidString) {
        self.purpose = purpose
        self.run = run
    }

    /// The journal's path for a data file.
    static func path(for file: String) -> String { file + ".journal" }

    /// Reads the journal that an earlier run of the same purpose left, or begins a new one.
    ///
    /// A journal without a record does not keep another run from beginning. Its prefix of names is taken over, so that
    /// records which the earlier run was sending are not saved twice.
    ///
    /// - Parameters:
    ///   - file: The path of the data.
    ///   - purpose: The command and its arguments that decide what is transferred.
    ///   - connection: The service and the database, which are part of the purpose.
    ///   - source: The state of the file that is imported.
    /// - Returns: The journal.
    /// - Throws: ``CommandError`` for a journal of another purpose or of another state of the file, or one that cannot
    ///   be read.
    static func open(
        for file: String,
        purpose: [String?],
        over connection: ServiceConnection,
        source: String = ""
    ) throws -> TransferJournal {
        let path = path(for: file)
        let origin: [String?] = [
            connection.scope.rawValue, connection.service.containerIdentifier, connection.service.environment.rawValue,
            connection.address,
        ]
        let purpose = (purpose + origin).compactMap(\.self).joined(separator: " ")
        guard let data = FileManager.default.contents(atPath: path) else {
            var journal = TransferJournal(purpose: purpose)
            journal.source = source
            return journal
        }
        let remedy = "Run the command with the same options to go on, or remove \(path) to begin from the start."
        guard let journal = try? JSONReader.read(TransferJournal.self, from: [UInt8](data)) else {
            throw CommandError(code: .data, message: "\(path) cannot be read.", remedy: remedy)
        }
        if journal.isEmpty, journal.purpose != purpose || journal.source != source {
            var begun = TransferJournal(purpose: purpose, run: journal.run)
            begun.source = source
            return begun
        }
        guard journal.purpose == purpose else {
            throw CommandError(
                code: .usage,
                message: "\(path) is of an unfinished run with other options: \(journal.purpose).",
                remedy: remedy
            )
        }
        guard journal.source == source else {
            throw CommandError(
                code: .data,
                message: "\(file) was changed since the unfinished run of \(path).",
                remedy: "Restore the file to go on, or remove \(path) to begin from the start."
            )
        }
        return journal
    }

    func save(for file: String) throws {
        let path = Self.path(for: file)
        do {
            try Data(JSONWriter.bytes(of: self)).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandError.unwritable(path, error)
        }
    }

    static func remove(for file: String) {
        try? FileManager.default.removeItem(atPath: path(for: file))
    }
}

extension TransferJournal {
    private static let keys = JSONKeys(
        "purpose",
        "finished",
        "position",
        "bytes",
        "sent",
        "records",
        "failures",
        "run",
        "lines",
        "failedBytes",
        "isComplete",
        "source",
        "refused"
    )

    init(json reader: inout JSONReader) throws(JSONError) {
        self.init(purpose: "", run: "")
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: purpose = try reader.readString()
            case 1: finished = try [String](json: &reader)
            case 2: position = try reader.readString()
            case 3: bytes = try Int64(json: &reader)
            case 4: sent = try Int64(json: &reader)
            case 5: records = try Int(json: &reader)
            case 6: failures = try Int(json: &reader)
            case 7: run = try reader.readString()
            case 8: lines = try Int(json: &reader)
            case 9: failedBytes = try Int64(json: &reader)
            case 10: isComplete = try Bool(json: &reader)
            case 11: source = try reader.readString()
            case 12: refused = try [Int64](json: &reader)
            default: try reader.skipValue()
            }
        }
        guard !run.isEmpty else { throw reader.error(.missingKey, "a journal needs \"run\"") }
    }

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("purpose")
        writer.write(purpose)
        writer.key("finished")
        writer.write(finished)
        if let position {
            writer.key("position")
            writer.write(position)
        }
        writer.key("bytes")
        writer.write(bytes)
        writer.key("sent")
        writer.write(sent)
        writer.key("records")
        writer.write(records)
        writer.key("failures")
        writer.write(failures)
        writer.key("run")
        writer.write(run)
        writer.key("lines")
        writer.write(lines)
        writer.key("failedBytes")
        writer.write(failedBytes)
        writer.key("isComplete")
        writer.write(isComplete)
        writer.key("source")
        writer.write(source)
        writer.key("refused")
        writer.write(refused)
        writer.endObject()
    }
}

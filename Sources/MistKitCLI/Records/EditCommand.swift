import ArgumentParser
import Foundation
import MistKit
import StreamingJSON

/// `mistkit records edit`
struct EditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a record in an editor.",
        discussion: """
            The record is opened as JSON in the editor of VISUAL or EDITOR, or vi. Your changes are saved; a field that you removed is cleared. \
            If the service refuses the change, such as after a change of another client, your text is kept, and the command says where. \
            `mistkit records resolve-conflict` saves it later.

            Examples:
              mistkit records edit note-1
              mistkit records edit note-1 --zone Notes
            """
    )

    @Argument(help: "The record's name.")
    var name: String

    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        let zoneID = try await zone.zoneID(in: database)
        let record = try await database.fetch(name, inZone: zoneID)
        let folder = FileManager.default.temporaryDirectory.appending(path: "mistkit-\(UUID().uuidString)")
        let draft = try RecordDraft(record, in: folder)
        var keepsFiles = false
        defer { if !keepsFiles { try? FileManager.default.removeItem(at: folder) } }
        guard let merge = try await edit(draft, keepingFiles: &keepsFiles) else { return }
        do {
            let results = try await database.modify([merge.update(of: record)], inZone: zoneID)
            guard let result = results.first else { return }
            var outcome = BatchOutcome(output)
            try outcome.append(.success(try result.get()))
            try outcome.finish()
        } catch let error as CloudKitError {
            keepsFiles = true
            throw unsavedError(error, of: draft)
        }
    }

    /// The error for a change that was not saved, which says where the text of the user is.
    private func unsavedError(_ error: CloudKitError, of draft: RecordDraft) -> CommandError {
        let command =
            "mistkit records resolve-conflict \(draft.file.path) --base \(draft.base.path)\(zoneArguments)"
        guard error.code != .conflict else {
            return CommandError(
                code: .failure,
                message: "Another client changed the record \(name) while you edited it.",
                remedy: "Bring both together: \(command)"
            )
        }
        var unsaved = CommandError(error)
        unsaved.remedy += " Your text is in \(draft.file.path); to save it later: \(command)"
        return unsaved
    }

    private var zoneArguments: String {
        (zone.zone.map { " --zone \($0)" } ?? "") + (zone.zoneOwner.map { " --zone-owner \($0)" } ?? "")
    }

    /// Opens the editor until the file can be read.
    ///
    /// - Returns: The changes; `nil` where there are none.
    private func edit(_ draft: RecordDraft, keepingFiles: inout Bool) async throws -> RecordMerge? {
        while true {
            let status = try await ForegroundProcess.run([
                "/bin/sh", "-c", #"${VISUAL:-${EDITOR:-vi}} "$1""#, "sh", draft.file.path,
            ])
            guard status == 0 else {
                keepingFiles = draft.isChanged
                let text = keepingFiles ? " Your text is in \(draft.file.path)." : ""
                throw CommandError(
                    code: .failure,
                    message: "The editor ended with the exit code \(status).",
                    remedy: "Nothing was changed. Set EDITOR to another program.\(text)"
                )
            }
            do {
                let merge = try draft.changes()
                if merge.changes.isEmpty { Terminal.writeError("Nothing was changed.") }
                return merge.changes.isEmpty ? nil : merge
            } catch {
                keepingFiles = true
                guard isatty(STDIN_FILENO) == 1 else { throw error }
                Terminal.writeError(error)
                Terminal.writeError("Edit again? [Y/n] ", terminator: "")
                guard let answer = readLine(), !answer.lowercased().hasPrefix("n") else {
                    throw ExitCode(error.code.rawValue)
                }
                keepingFiles = false
            }
        }
    }
}

/// A record in a file, for a person to change.
struct RecordDraft {
    /// The file that is changed.
    let file: URL
    /// The file with the record as it was.
    let base: URL
    private let original: Record

    /// Writes a record into two files that only the user can read.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - folder: The folder for the files, which is made.
    /// - Throws: ``CommandError`` where they cannot be written.
    init(_ record: Record, in folder: URL) throws {
        var shown = Record(recordType: record.recordType ?? "", recordName: record.recordName, fields: record.fields)
        shown.recordChangeTag = record.recordChangeTag
        let bytes = try JSONWriter.bytes(of: shown, options: [.prettyPrinted]) + [UInt8(ascii: "\n")]
        // Read from the same JSON as the file, so that another form of a value in the response does not count as a
        // change.
        original = try JSONReader.read(Record.self, from: bytes)
        file = folder.appending(path: "record.json")
        base = folder.appending(path: "base.json")
        do {
            let own: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: own)
            for url in [file, base] { try Data(bytes).write(to: url) }
        } catch {
            throw CommandError.unwritable(folder.path, error)
        }
    }

    /// Whether the file has another text than at the beginning.
    var isChanged: Bool {
        FileManager.default.contents(atPath: file.path) != FileManager.default.contents(atPath: base.path)
    }

    /// The changes in the file.
    ///
    /// - Throws: ``CommandError`` for a file that is not this record in JSON.
    func changes() throws(CommandError) -> RecordMerge {
        let edited: Record
        do {
            edited = try JSONReader.read(Record.self, from: [UInt8](Data(contentsOf: file)))
        } catch {
            throw CommandError(
                code: .data,
                message: "The file is not a record in JSON: \(error)",
                remedy: "Your text is in \(file.path)."
            )
        }
        guard edited.recordName == original.recordName, edited.recordType == original.recordType else {
            throw CommandError(
                code: .data,
                message: "The name and the type of a record cannot be changed.",
                remedy: "Put them back, or create another record. Your text is in \(file.path)."
            )
        }
        return RecordMerge(base: original.fields, mine: edited.fields, theirs: original.fields)
    }
}

/// `mistkit records resolve-conflict`
struct ResolveConflictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve-conflict",
        abstract: "Save a record that another client changed meanwhile, field by field.",
        discussion: """
            The file is the record as you want it, as `records edit` or `records lookup --format json` writes it, and --base the record as it was \
            before your changes. Fields that you changed are saved, and fields that others changed stay. Where both changed a field, \
            --prefer decides; without it the command lists those fields and saves nothing. Without --base, every field of yours that differs \
            counts as changed by both.

            Examples:
              mistkit records resolve-conflict mine.json --base before.json
              mistkit records resolve-conflict mine.json --prefer mine --zone Notes
            """
    )

    @Argument(help: "The record as you want it, in JSON; - is standard input.", completion: .recordFile)
    var file: String

    @Option(
        help: ArgumentHelp("The record as it was before your changes, in JSON.", valueName: "file"),
        completion: .recordFile
    )
    var base: String?

    @Option(help: "The value for a field that both you and another client changed.")
    var prefer: RecordMerge.Side?

    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let mine = try Self.record(in: file)
        guard let name = mine.recordName else {
            throw CommandError(
                code: .data,
                message: "The record of \(file) has no name.",
                remedy: "Add \"recordName\": the name of the record that it is a version of."
            )
        }
        let base = try base.map { try Self.record(in: $0) }
        guard base?.recordName ?? name == name else {
            throw CommandError(
                code: .data,
                message: "\(self.base ?? "") is the record \(base?.recordName ?? ""), and \(file) the record \(name).",
                remedy: "Give two versions of one record."
            )
        }
        let database = try ServiceConnection.open(connection).database
        let zoneID = try await zone.zoneID(in: database)
        // Another client may change it again between the two requests.
        for _ in 0..<5 {
            let theirs = try await database.fetch(name, inZone: zoneID)
            let merge = RecordMerge(
                base: base?.fields ?? [:],
                mine: mine.fields,
                theirs: try JSONReader.read(Record.self, from: JSONWriter.bytes(of: theirs)).fields,
                preferring: prefer
            )
            try Self.check(merge, of: name)
            guard !merge.changes.isEmpty else {
                return Terminal.writeError("The service has all of your changes; nothing was saved.")
            }
            let result = try await database.modify([merge.update(of: theirs)], inZone: zoneID).first
            if case .failure(let error)? = result, error.code == .conflict { continue }
            var outcome = BatchOutcome(output)
            if let result { try outcome.append(result) }
            return try outcome.finish()
        }
        throw CommandError(
            code: .unavailable,
            message: "Other clients changed the record \(name) again and again.",
            remedy: "Run the command again later."
        )
    }

    private static func record(in path: String) throws -> Record {
        let records = try RecordInput.read(from: path)
        guard records.count == 1 else {
            throw CommandError(
                code: .data,
                message: "\(path) has \(records.count) records.",
                remedy: "Give a file with one record."
            )
        }
        return records[0]
    }

    /// Prints the conflicts of a merge.
    ///
    /// - Throws: ``CommandError`` that names the fields that both sides changed, if there are any.
    private static func check(_ merge: RecordMerge, of name: String) throws(CommandError) {
        guard !merge.conflicts.isEmpty else { return }
        for conflict in merge.conflicts {
            let (mine, theirs) = (FieldText.describe(conflict.mine), FieldText.describe(conflict.theirs))
            Terminal.writeError("\(conflict.name): yours \"\(mine)\", the service's \"\(theirs)\"")
        }
        let fields = merge.conflicts.map(\.name).joined(separator: ", ")
        throw CommandError(
            code: .failure,
            message: "You and another client changed \(fields) of the record \(name).",
            remedy: "Decide with --prefer mine or --prefer theirs, or change your file to the service's value."
        )
    }
}

extension RecordMerge.Side: ExpressibleByArgument {}

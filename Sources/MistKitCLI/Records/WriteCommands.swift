import ArgumentParser
import MistKit

/// `mistkit records create`
struct CreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create one record from arguments, or many from a file.",
        discussion: """
            A field is name=value or name:TYPE=value: --field title=Hello --field rating=4 --field when:TIMESTAMP=2026-01-31T12:00:00Z \
            --field tags:STRING_LIST=a,b. Without a type, 4 is an INT64, 4.5 a DOUBLE, any other value a STRING. A type that ends in ! is encrypted.

            With --from, --type is the type of records that have no type in the file.

            Examples:
              mistkit records create --type Note --name milk --field title='Buy milk' --field rating=4
              mistkit records create --type Note --from new-notes.ndjson
            """
    )

    @Option(help: ArgumentHelp("The record type.", valueName: "name"), completion: .recordType)
    var type: String?

    @Option(help: ArgumentHelp("The record's name; without it the service makes one.", valueName: "name"))
    var name: String?

    @Option(
        name: [.customShort("F"), .customLong("field")],
        help: ArgumentHelp("A field; may be given more than once.", valueName: "name=value"),
        completion: .fieldValue
    )
    var fields: [String] = []

    @Option(
        help: ArgumentHelp("The name of the record above it, with which it is shared.", valueName: "name")
    )
    var parent: String?

    @Option(
        help: ArgumentHelp("Records in JSON: one, an array, or one a line; - is standard input.", valueName: "file"),
        completion: .recordFile
    )
    var from: String?

    @Flag(help: "Create all records or none; needs a custom zone.")
    var atomic = false

    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard type != nil || from != nil else {
            throw ValidationError(
                """
                The record type is missing.
                Give --type and --field, or --from: mistkit records create --type Note --field title=Hello
                """
            )
        }
        guard !atomic || ![nil, ZoneID.default.zoneName].contains(zone.zone) else {
            throw ValidationError("--atomic needs a custom zone.\nName it with --zone, or leave --atomic out.")
        }
        guard from == nil || (name == nil && fields.isEmpty && parent == nil) else {
            throw ValidationError(
                "--from cannot be combined with --name, --field or --parent.\nWrite names, fields and parents into the file."
            )
        }
    }

    func run() async throws {
        var records: [Record]
        if let from {
            records = try RecordInput.read(from: from)
            for index in records.indices where records[index].recordType == nil { records[index].recordType = type }
        } else {
            var record = Record(recordType: type ?? "", recordName: name)
            for field in fields {
                let (name, value) = try FieldText.assignment(field)
                record[name] = value
                Terminal.writeHint(FieldText.dateHint(for: value, of: name))
            }
            record.parent = parent.map { Reference(recordName: $0) }
            records = [record]
        }
        // The change tag and the zone of a record in the file do not apply to a new record.
        for index in records.indices {
            records[index].recordChangeTag = nil
            records[index].zoneID = nil
        }
        let database = try ServiceConnection.open(connection).database
        var outcome = BatchOutcome(output, atomic: atomic)
        let creations = records.map(RecordOperation.create)
        let results = try await database.modify(creations, inZone: zone.zoneID(in: database), atomic: atomic)
        for result in results { try outcome.append(result) }
        try outcome.finish()
    }
}

/// `mistkit records update`
struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change fields of a record, of the records of a file, or of all records of a query.",
        discussion: """
            The command fetches the record first. The service refuses the change where another client changed the record in between, or \
            after the state of --tag. --force overwrites the record in any state. name:NULL= clears a field.

            With --from, each record of the file gives its name and the fields to change. A change tag in the file is used.

            With --type and --where, all records of the query are changed. The command says how many they are and asks first.

            Examples:
              mistkit records update note-1 --field rating=5
              mistkit records update --from changes.json
              mistkit records update --type Note --where 'rating < 3' --field archived=1
            """
    )

    @Argument(help: "The record's name.")
    var name: String?

    @Option(
        name: [.customShort("F"), .customLong("field")],
        help: ArgumentHelp("A field; may be given more than once.", valueName: "name=value"),
        completion: .fieldValue
    )
    var fields: [String] = []

    @Option(
        help: ArgumentHelp("Records in JSON: one, an array, or one a line; - is standard input.", valueName: "file"),
        completion: .recordFile
    )
    var from: String?

    @Option(
        help: ArgumentHelp("The name of the record above it, with which it is shared.", valueName: "name")
    )
    var parent: String?

    @Option(help: ArgumentHelp("The change tag of the record that the change is based on.", valueName: "tag"))
    var tag: String?

    @Flag(help: "Overwrite the record, even if another client changed it.")
    var force = false

    @OptionGroup var selection: RecordSelection
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard from == nil || (name == nil && fields.isEmpty && parent == nil) else {
            throw ValidationError(
                "--from cannot be combined with a name, --field or --parent.\nWrite names, fields and parents into the file."
            )
        }
        guard from != nil || !fields.isEmpty || parent != nil else {
            throw ValidationError("There is nothing to change.\nGive --field, such as --field rating=5, or --from.")
        }
        try selection.validate(
            hasNames: name != nil || from != nil,
            example: "mistkit records update --type Note --where 'rating < 3' --field archived=1"
        )
        guard tag == nil || name != nil else {
            throw ValidationError("--tag is about one record.\nName the record, or leave --tag out.")
        }
        guard tag == nil || !force else {
            throw ValidationError(
                "--tag and --force cannot be combined.\nGive the change tag, or overwrite the record whatever its tag."
            )
        }
    }

    func run() async throws {
        let changes = try fields.map { (field) throws(CommandError) in try FieldText.assignment(field) }
        let database = try ServiceConnection.open(connection).database
        for (name, value) in changes { Terminal.writeHint(FieldText.dateHint(for: value, of: name)) }
        var outcome = BatchOutcome(output)
        let records = try from.map { try RecordInput.read(from: $0) }
        let zoneID = try await zone.zoneID(in: database)
        let known: [Record]
        if let records {
            known = try await self.known(records, in: database, zoneID, failingInto: &outcome)
        } else if let name {
            known = [try await database.fetch(name, inZone: zoneID, desiredKeys: [])]
        } else {
            known = try await selection.records(in: database, zone: zoneID, verb: "Change")
        }
        let operations = known.map { record in
            var change = Record(
                recordType: record.recordType ?? "",
                recordName: record.recordName,
                fields: from == nil ? [:] : record.fields
            )
            change.recordChangeTag = force ? nil : tag ?? record.recordChangeTag
            for (name, value) in changes { change[name] = value }
            change.parent = from == nil ? parent.map { Reference(recordName: $0) } : record.parent
            return RecordOperation(force ? .forceUpdate : .update, record: change)
        }
        let progress = BatchProgressLine("changed", of: operations.count)
        defer { progress.end() }
        let results = try await database.modify(operations, inZone: zoneID, progress: progress.handler)
        progress.end()
        for result in results {
            // If the command line names a record, its failure is the command's failure.
            if name != nil { _ = try result.get() }
            try outcome.append(result)
        }
        try outcome.finish()
    }
}

extension UpdateCommand {
    /// The records of a file with their types and change tags, which are fetched where the file does not have them.
    ///
    /// Records that the service does not have become failures of the outcome.
    private func known(
        _ records: [Record],
        in database: CloudKitDatabase,
        _ zoneID: ZoneID?,
        failingInto outcome: inout BatchOutcome
    ) async throws -> [Record] {
        for (index, record) in records.enumerated() where record.recordName == nil {
            throw CommandError(
                code: .data,
                message: "Record \(index + 1) of \(from ?? "") has no name.",
                remedy: "Add \"recordName\" to it: an update needs to know which record to change."
            )
        }
        func isIncomplete(_ record: Record) -> Bool {
            record.recordType == nil || (!force && record.recordChangeTag == nil)
        }
        let results = try await database.fetch(
            records.filter(isIncomplete).compactMap(\.recordName),
            inZone: zoneID,
            desiredKeys: []
        )
        var found: [String: Record] = [:]
        for result in results {
            switch result {
            case .success(let record): found[record.recordName ?? ""] = record
            case .failure: try outcome.append(result)
            }
        }
        return records.compactMap { record in
            var record = record
            if isIncomplete(record) {
                guard let known = found[record.recordName ?? ""] else { return nil }
                record.recordType = known.recordType
                record.recordChangeTag = record.recordChangeTag ?? known.recordChangeTag
            }
            return record
        }
    }
}

/// `mistkit records delete`
struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete records by their names, or all records of a query.",
        discussion: """
            The command fetches each record first. The service refuses to delete a record that another client changed in between. --force \
            deletes a record in any state. Deleted records cannot be restored.

            With --type and --where, all records of the query are deleted. The command says how many they are and asks first.

            Examples:
              mistkit records delete note-1 note-2
              mistkit records delete --type Note --where '@modified < 2025-01-01' --yes
            """
    )

    @Argument(help: "The records' names.")
    var names: [String] = []

    @Flag(help: "Delete the record, even if another client changed it.")
    var force = false

    @OptionGroup var selection: RecordSelection
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        try selection.validate(
            hasNames: !names.isEmpty,
            example: "mistkit records delete --type Note --where 'rating < 3'"
        )
    }

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        var outcome = BatchOutcome(output)
        let zoneID = try await zone.zoneID(in: database)
        if names.isEmpty {
            let found = try await selection.records(in: database, zone: zoneID, verb: "Delete")
            let progress = BatchProgressLine("deleted", of: found.count)
            defer { progress.end() }
            let results =
                force
                ? try await database.forceDelete(
                    found.compactMap(\.recordName),
                    inZone: zoneID,
                    progress: progress.handler
                )
                : try await database.delete(found, inZone: zoneID, progress: progress.handler)
            progress.end()
            for result in results { try outcome.append(result) }
        } else if force {
            for result in try await database.forceDelete(names, inZone: zoneID) { try outcome.append(result) }
        } else {
            let known = try await database.fetch(names, inZone: zoneID, desiredKeys: [])
            let found = known.compactMap { try? $0.get() }
            var deleted = try await database.delete(found, inZone: zoneID).makeIterator()
            for result in known {
                switch result {
                case .success: try deleted.next().map { try outcome.append($0) }
                case .failure: try outcome.append(result)
                }
            }
        }
        try outcome.finish()
    }
}

import ArgumentParser
import MistKit

/// The records of a query that a command changes, after it has printed their number.
struct RecordSelection: ParsableArguments {
    @Option(
        help: ArgumentHelp("The record type that --where is about.", valueName: "name"),
        completion: .recordType
    )
    var type: String?

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "A condition, in the form of --filter in `records query`; may be given more than once.",
            valueName: "condition"
        ),
        completion: .condition
    )
    var conditions: [String] = []

    @Flag(help: "Only print the number of records that --where finds.")
    var dryRun = false

    @OptionGroup var confirmation: ConfirmationOptions

    /// Checks that the command line has either names or a query.
    ///
    /// - Parameters:
    ///   - hasNames: Whether the command line names records.
    ///   - example: A command with a query, for the error.
    /// - Throws: A `ValidationError` of two lines.
    func validate(hasNames: Bool, example: String) throws {
        guard hasNames != (type != nil) else {
            let problem =
                hasNames ? "Record names and --type cannot be combined." : "The records to change are not given."
            throw ValidationError("\(problem)\nName records, or describe them: \(example)")
        }
        guard type == nil || !conditions.isEmpty else {
            throw ValidationError("--type needs a condition.\nSay which records are meant: \(example)")
        }
        guard type != nil || conditions.isEmpty else {
            throw ValidationError("--where needs a record type.\nName it with --type: \(example)")
        }
    }

    /// Finds the records, with their names and change tags alone, and asks whether to go on.
    ///
    /// - Parameters:
    ///   - database: Where to look.
    ///   - zone: The zone; `nil` for the default zone.
    ///   - verb: What the command does with them, such as "Delete".
    /// - Returns: The records.
    /// - Throws: A ``CommandError`` where the user cannot be asked; `ExitCode.success` where the user says no, and
    ///   after a dry run.
    func records(in database: CloudKitDatabase, zone: ZoneID?, verb: String) async throws -> [Record] {
        let query = Query(recordType: type ?? "", filters: try QueryExpression.filters(conditions))
        var records: [Record] = []
        for try await record in database.records(matching: query, inZone: zone, desiredKeys: []) {
            records.append(record)
        }
        if dryRun {
            Terminal.writeLine(Self.count(records.count, of: type ?? ""))
            throw ExitCode.success
        }
        let question = "\(verb) \(Self.count(records.count, of: type ?? ""))?"
        guard try records.isEmpty || confirmation.confirms(question) else { throw ExitCode.success }
        return records
    }

    private static func count(_ count: Int, of type: String) -> String {
        String.counting(count, "record") + " of type \(type)"
    }
}

/// `mistkit records count`
struct CountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count",
        abstract: "Count the records of a type.",
        discussion: """
            The service has no operation that counts: the command fetches the names of the records, a request for each 200 of them.

            Examples:
              mistkit records count Note
              mistkit records count Note --filter 'rating > 3'
            """
    )

    @Argument(help: "The record type.", completion: .recordType)
    var type: String

    @Flag(help: "Search all zones.")
    var zoneWide = false

    @OptionGroup var filters: FilterOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard !zoneWide || zone.zone == nil else {
            throw ValidationError("--zone-wide and --zone cannot be combined.\nName one zone, or search all of them.")
        }
    }

    func run() async throws {
        let query = Query(recordType: type, filters: try filters.filters())
        let database = try ServiceConnection.open(connection).database
        Terminal.writeLine(
            "\(try await database.count(matching: query, inZone: zone.zoneID(in: database), zoneWide: zoneWide))"
        )
    }
}

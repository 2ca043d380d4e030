import ArgumentParser
import MistKit

/// `mistkit records query`
struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Find the records of a type.",
        discussion: """
            A filter is a field, a comparator and a value: --filter 'rating > 3', --filter 'title BEGINS_WITH He', \
            --filter 'tags LIST_CONTAINS swift', --filter 'place NEAR 59.9,10.7 within 5000', --filter 'when:TIMESTAMP >= 2026-01-01', \
            --filter 'zip == "4"' for a text. Give --filter once for each condition; a record has to meet all of them. @created, @modified and \
            @createdBy are system fields, which every record has.

            Examples:
              mistkit records query Note --filter 'rating > 3' --sort -rating
              mistkit records query Note --zone Notes --format csv
            """
    )

    @Argument(help: "The record type.", completion: .recordType)
    var type: String

    @OptionGroup var filters: FilterOptions

    @Option(
        name: .customLong("sort"),
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A field to sort by, with - before it for descending order.", valueName: "field"),
        completion: .sortField
    )
    var sorts: [String] = []

    @Option(help: ArgumentHelp("The maximum number of records to print.", valueName: "count"))
    var limit: Int?

    @Option(help: ArgumentHelp("The number of records of a page, at most 200.", valueName: "count"))
    var pageSize: Int?

    @Flag(help: "Search all zones.")
    var zoneWide = false

    @OptionGroup var fields: FieldOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard limit ?? 1 > 0 else { throw ValidationError("--limit is out of range.\nGive a number from 1.") }
        guard (1...200).contains(pageSize ?? 1) else {
            throw ValidationError("--page-size is out of range.\nGive a number from 1 to 200.")
        }
        guard !zoneWide || zone.zone == nil else {
            throw ValidationError("--zone-wide and --zone cannot be combined.\nName one zone, or search all of them.")
        }
    }

    func run() async throws {
        let conditions = try filters.filters()
        for condition in conditions.map(\.queryFilter) {
            guard let name = condition.fieldName else { continue }
            Terminal.writeHint(FieldText.dateHint(for: condition.fieldValue, of: name))
        }
        let query = Query(
            recordType: type,
            filters: conditions,
            sorts: try sorts.map { Sort(try QueryExpression.sort($0)) }
        )
        let database = try ServiceConnection.open(connection).database
        var outcome = BatchOutcome(output)
        var remaining = limit ?? .max
        let records = try await database.records(
            matching: query,
            inZone: zone.zoneID(in: database),
            zoneWide: zoneWide,
            desiredKeys: fields.desiredKeys,
            pageSize: pageSize ?? limit.map { min($0, 200) }
        )
        for try await result in records.results {
            try outcome.append(result)
            remaining -= 1
            if remaining == 0 { break }
        }
        try outcome.finish()
    }
}

/// `mistkit records lookup`
struct LookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Fetch records by name.",
        discussion: """
            Examples:
              mistkit records lookup note-1
              mistkit records lookup note-1 note-2 --fields title,rating
            """
    )

    @Argument(help: "The records' names.")
    var names: [String]

    @OptionGroup var fields: FieldOptions
    @OptionGroup var zone: ZoneOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try ServiceConnection.open(connection).database
        var outcome = BatchOutcome(output)
        let results = try await database.fetch(
            names,
            inZone: zone.zoneID(in: database),
            desiredKeys: fields.desiredKeys
        )
        for result in results { try outcome.append(result) }
        try outcome.finish()
    }
}

import ArgumentParser
import CloudKitSchema
import MistKit
import StreamingJSON

/// `mistkit records types`
struct RecordTypesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types",
        abstract: "List the record types of the emulator on this machine, with their fields.",
        discussion: """
            `mistkit schema show` prints a type as a schema file has it. The web services of Apple have no list of types.

            Examples:
              mistkit records types
              mistkit records types --environment production --format csv
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let types = try await SchemaService.open(connection, for: .export).schema().recordTypes.map { type in
            RecordTypeSummary(
                name: type.name,
                fields: type.fields.filter { !$0.name.hasPrefix("___") }.map { "\($0.name):\($0.type)" }
            )
        }
        let list = ValueList<RecordTypeSummary>(
            emptyNote: "No record types: in development, the first record that is saved creates its type.",
            columns: [.init("type") { $0.name }, .init("fields") { $0.fields.joined(separator: ", ") }]
        )
        try list.write(types, as: output)
    }
}

/// A record type in a list.
private struct RecordTypeSummary: JSONWritable {
    var name: String
    var fields: [String]

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("recordType")
        writer.write(name)
        writer.key("fields")
        writer.write(fields)
        writer.endObject()
    }
}

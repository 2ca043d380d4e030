import ArgumentParser
import CloudKitSchema
import Foundation
import StreamingJSON

/// `mistkit schema validate`
struct ValidateSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a schema file.",
        discussion: """
            Each mistake is shown with its line and a mark. The exit code is 0 for a valid schema and 65 for others.

            Examples:
              mistkit schema validate schema.ckdb
              mistkit schema export | mistkit schema validate -
            """
    )

    @Argument(help: "The schema file; - is standard input.")
    var file: SchemaFile

    func run() async throws {
        let schema = try file.validDocument().schema
        let fields = schema.recordTypes.reduce(0) { $0 + $1.fields.count }
        func count(_ number: Int, _ noun: String) -> String { number == 1 ? "1 \(noun)" : "\(number) \(noun)s" }
        let types = count(schema.recordTypes.count, "record type")
        Terminal.writeLine("The schema is valid: \(types) with \(count(fields, "field")).")
    }
}

/// `mistkit schema format`
struct FormatSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "format",
        abstract: "Give a schema file its canonical form; comments stay.",
        discussion: """
            The file is rewritten where its form differs. Standard input is formatted to standard output.

            Examples:
              mistkit schema format schema.ckdb
              mistkit schema format --check schema.ckdb
            """
    )

    @Argument(help: "The schema file; - is standard input.")
    var file: SchemaFile

    @Flag(help: "Change nothing; exit with 1 where the form differs.")
    var check = false

    func run() async throws {
        let text = try file.text()
        let formatted = try file.document(of: text).formatted()
        if check {
            guard text == formatted else {
                throw CommandError(
                    code: .failure,
                    message: "\(file.title) is not in canonical form.",
                    remedy: "`mistkit schema format \(file.path)` rewrites it."
                )
            }
        } else if file.isStandardInput {
            Terminal.write(formatted)
        } else if text != formatted {
            do {
                try formatted.write(toFile: file.path, atomically: true, encoding: .utf8)
            } catch {
                throw CommandError.unwritable(file.path, error)
            }
        }
    }
}

/// `mistkit schema diff`
struct DiffSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show the differences between two schemas, and which of them production refuses.",
        discussion: """
            A line is a change: + adds, - removes, ~ changes, and ! is refused by an environment that has data, as production is. The exit code \
            is 0 where the schemas mean the same, 1 where they differ, and 2 where production refuses a change.

            With one file, it is compared with the schema of the embedded emulator.

            Examples:
              mistkit schema diff old.ckdb new.ckdb
              mistkit schema diff --json old.ckdb new.ckdb
            """
    )

    @Argument(help: "The old schema file; with one file, the new schema.")
    var file: SchemaFile

    @Argument(help: "The new schema file.")
    var newFile: SchemaFile?

    @Flag(help: "Print the changes as JSON.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let (old, new): (ContainerSchema, ContainerSchema)
        if let newFile {
            (old, new) = (try file.document().schema, try newFile.document().schema)
        } else {
            new = try file.document().schema
            old = try await SchemaService.open(connection, for: .export).schema()
        }
        let comparison = SchemaComparison(from: old, to: new)
        if json {
            Terminal.writeLine(try Self.json(of: comparison))
        } else if !comparison.isEmpty {
            Terminal.writeLine(comparison.description)
        }
        guard comparison.isEmpty else { throw ExitCode(comparison.refused.isEmpty ? 1 : 2) }
    }

    /// An array with an object for each change.
    static func json(of comparison: SchemaComparison) throws -> String {
        let bytes = try JSONWriter.bytes(of: comparison.changes.map(ChangeObject.init), options: [.prettyPrinted])
        return String(decoding: bytes, as: UTF8.self)
    }

    private struct ChangeObject: JSONWritable {
        let change: SchemaChange

        func write(json writer: inout JSONWriter) {
            writer.beginObject()
            for (key, value) in members {
                writer.key(key)
                writer.write(value)
            }
            writer.endObject()
        }

        private var members: [(StaticString, String)] {
            var members: [(StaticString, String)] =
                switch change {
                case .roleAdded(let name): [("change", "roleAdded"), ("role", name)]
                case .roleDropped(let name): [("change", "roleDropped"), ("role", name)]
                case .recordTypeAdded(let type): [("change", "recordTypeAdded"), ("recordType", type.name)]
                case .recordTypeDropped(let type): [("change", "recordTypeDropped"), ("recordType", type.name)]
                case .fieldAdded(let type, let field):
                    [
                        ("change", "fieldAdded"), ("recordType", type), ("field", field.name),
                        ("type", field.type.description),
                    ]
                case .fieldDropped(let type, let field):
                    [
                        ("change", "fieldDropped"), ("recordType", type), ("field", field.name),
                        ("type", field.type.description),
                    ]
                case .fieldTypeChanged(let type, let field, let old, let new):
                    [
                        ("change", "fieldTypeChanged"), ("recordType", type), ("field", field),
                        ("from", old.description), ("to", new.description),
                    ]
                case .indexesChanged(let type, let field, let old, let new):
                    [
                        ("change", "indexesChanged"), ("recordType", type), ("field", field),
                        ("from", old.names.joined(separator: " ")), ("to", new.names.joined(separator: " ")),
                    ]
                case .grantsChanged(let type, let role, let old, let new):
                    [
                        ("change", "grantsChanged"), ("recordType", type), ("role", role),
                        ("from", old.names.joined(separator: " ")), ("to", new.names.joined(separator: " ")),
                    ]
                }
            members.append(("text", change.sentence))
            if let refusal = change.refusal { members.append(("refusedByProduction", refusal)) }
            return members
        }
    }
}

/// `mistkit schema generate`
struct GenerateModelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Write Swift structs for the record types of a schema.",
        discussion: """
            Each record type becomes a file with a struct marked @CloudKitRecord. Every property is optional or a list, since a schema does \
            not say which fields a record always has. Names are changed to the style of Swift.

            Examples:
              mistkit schema generate --from schema.ckdb --to Sources/App
              mistkit schema generate Feed Article --from schema.ckdb
            """
    )

    @Argument(
        help: "The names of record types; all of the schema where none is given.",
        completion: .recordType
    )
    var recordTypes: [String] = []

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("A schema file; without it, the schema of the embedded emulator.", valueName: "file")
    )
    var source: SchemaFile?

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("The folder of the Swift files; without it, the source is printed.", valueName: "folder"),
        completion: .directory
    )
    var folder: String?

    @Flag(help: "Replace files that exist.")
    var force = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let schema: ContainerSchema
        if let source {
            schema = try source.validDocument().schema
        } else {
            schema = try await SchemaService.open(connection, for: .export).schema()
        }
        if let unknown = recordTypes.first(where: { schema[recordType: $0] == nil }) {
            throw CommandError(
                code: .usage,
                message: "The schema has no record type \(unknown).",
                remedy: "Its record types are \(schema.recordTypes.map(\.name).joined(separator: ", "))."
            )
        }
        let files = RecordModels(of: schema, recordTypes: recordTypes.isEmpty ? nil : Set(recordTypes)).files
        guard let folder else {
            Terminal.write(files.map(\.source).joined(separator: "\n"))
            return
        }
        try write(files, to: URL(fileURLWithPath: folder, isDirectory: true))
    }

    private func write(_ files: [RecordModels.File], to folder: URL) throws {
        let urls = files.map { folder.appendingPathComponent($0.name) }
        if !force, let existing = urls.first(where: { FileManager.default.fileExists(atPath: $0.path) }) {
            throw CommandError(
                code: .usage,
                message: "\(existing.relativePath) exists already; nothing was written.",
                remedy: "Name another folder with --to, or replace the file with --force."
            )
        }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (file, url) in zip(files, urls) {
                try file.source.write(to: url, atomically: true, encoding: .utf8)
                Terminal.writeLine(url.relativePath)
            }
        } catch {
            throw CommandError.unwritable(folder.relativePath, error)
        }
    }
}

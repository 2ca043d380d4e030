import Foundation
import TestSupport
import Testing

/// `mistkit schema`, run as a user runs it.
struct SchemaCommandTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    private func mistkit(_ arguments: String..., input: String = "") throws -> CommandTests.Outcome {
        try commands.mistkit(arguments: arguments, input: input)
    }

    private func write(_ text: String, to name: String = "schema.ckdb") throws {
        try text.write(to: commands.folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOf: commands.folder.appendingPathComponent(name), encoding: .utf8)
    }

    private static let notes = """
        DEFINE SCHEMA

            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE,
                title         STRING QUERYABLE SORTABLE,
                GRANT READ TO "_world",
                GRANT CREATE TO "_icloud",
                GRANT WRITE TO "_creator"
            );

        """

    @Test func schemaValidateExitsWith65ForMistakes() throws {
        try write(Self.notes)
        #expect(
            try mistkit("schema", "validate", "schema.ckdb").output
                == "The schema is valid: 1 record type with 2 fields.\n"
        )
        try write("DEFINE SCHEMA\n  RECORD TYPE Note (title STRNG);\n")
        let unreadable = try mistkit("schema", "validate", "schema.ckdb")
        #expect(unreadable.status == 65)
        #expect(
            unreadable.errors == """
                schema.ckdb, line 2, column 27: Expected a type such as STRING, not "STRNG".
                    RECORD TYPE Note (title STRNG);
                                            ^^^^^
                mistkit: schema.ckdb cannot be read as a schema.
                  Correct the line above.

                """
        )
        let wrong = try mistkit(
            "schema",
            "validate",
            "-",
            input: "DEFINE SCHEMA RECORD TYPE Note (a ASSET SORTABLE, a STRING);"
        )
        #expect(wrong.status == 65)
        #expect(wrong.errors.contains("standard input, line 1, column 33: Note.a cannot be SORTABLE"))
        #expect(wrong.errors.contains("mistkit: standard input breaks 2 rules of schemas."))
        #expect(
            try mistkit("schema", "validate", "missing.ckdb").errors.contains("The file missing.ckdb cannot be read.")
        )
    }

    @Test func schemaFormatKeepsComments() throws {
        let loose = "define schema record type Note(title string);-- the end\n"
        try write(loose)
        let check = try mistkit("schema", "format", "--check", "schema.ckdb")
        #expect(check.status == 1)
        #expect(check.errors.contains("`mistkit schema format schema.ckdb`"))
        #expect(try read("schema.ckdb") == loose)
        #expect(try mistkit("schema", "format", "schema.ckdb").status == 0)
        let formatted = "DEFINE SCHEMA\n\n    RECORD TYPE Note (\n        title STRING\n    );  -- the end\n"
        #expect(try read("schema.ckdb") == formatted)
        #expect(try mistkit("schema", "format", "--check", "schema.ckdb").status == 0)
        #expect(try mistkit("schema", "format", "-", input: loose).output == formatted)
    }

    @Test func schemaDiffExitsWithOneForDifferences() throws {
        try write(Self.notes, to: "old.ckdb")
        try write(Self.notes.replacingOccurrences(of: "SORTABLE", with: ""), to: "new.ckdb")
        try write("DEFINE SCHEMA RECORD TYPE Note (title INT64);", to: "other.ckdb")
        let same = try mistkit("schema", "diff", "old.ckdb", "old.ckdb")
        #expect(same.status == 0 && same.output == "" && same.errors == "")
        let changed = try mistkit("schema", "diff", "old.ckdb", "new.ckdb")
        #expect(changed.status == 1)
        #expect(changed.output == "~ Note.title loses the index SORTABLE\n")
        let refused = try mistkit("schema", "diff", "new.ckdb", "other.ckdb", "--json")
        #expect(refused.status == 2 && refused.errors == "")
        #expect(refused.output.contains(#""change" : "fieldTypeChanged""#))
        #expect(refused.output.contains(#""refusedByProduction" : "production does not change the type of a field""#))
    }

    @Test func aSchemaIsImportedExportedDeployedAndReset() throws {
        try write(Self.notes)
        #expect(try mistkit("schema", "import", "schema.ckdb", "--dry-run").output == "+ record type Note (title)\n")
        #expect(try mistkit("schema", "import", "schema.ckdb").output == "+ record type Note (title)\n")
        #expect(try mistkit("schema", "import", "schema.ckdb").output == "Development has this schema already.\n")
        #expect(try mistkit("schema", "export").output == Self.notes)
        #expect(try mistkit("schema", "diff", "schema.ckdb").status == 0)
        let refused = try mistkit("records", "create", "--type", "Note", "-F", "stars=1")
        #expect(refused.errors.contains("Field stars not found in Note"))
        #expect(try mistkit("schema", "deploy").output == "+ record type Note (title)\n")
        let export = ["schema", "export", "--environment", "production", "--output", "out.ckdb"]
        #expect(try commands.mistkit(arguments: export).status == 0)
        #expect(try commands.mistkit(arguments: export).errors.hasPrefix("mistkit: out.ckdb exists already."))
        #expect(try commands.mistkit(arguments: export + ["--force"]).status == 0)
        #expect(try read("out.ckdb") == Self.notes)
        _ = try mistkit("records", "create", "--type", "Note", "-F", "title=Milk")
        let question = try mistkit("schema", "reset")
        #expect(question.status == 64 && question.errors.contains("Give --yes"))
        #expect(
            try mistkit("schema", "reset", "--yes").output
                == "The records are deleted. The schema was that of production already.\n"
        )
        #expect(try mistkit("records", "query", "Note").output.contains("Milk") == false)
    }

    @Test func schemaGeneratePrintsAModel() throws {
        try write(Self.notes)
        #expect(
            try mistkit("schema", "generate", "Note", "--from", "schema.ckdb").output == """
                import MistModels

                /// A record of the type `Note`.
                @CloudKitRecord
                struct Note: Hashable {
                    @CloudKitField(.queryable, .sortable) var title: String?
                }

                """
        )
        #expect(
            try mistkit("schema", "generate", "--from", "schema.ckdb", "--to", "Models").output == "Models/Note.swift\n"
        )
        let again = try mistkit("schema", "generate", "--from", "schema.ckdb", "--to", "Models")
        #expect(again.status == 64 && again.errors.contains("Models/Note.swift exists already"))
        #expect(try mistkit("schema", "generate", "--from", "schema.ckdb", "--to", "Models", "--force").status == 0)
        let unknown = try mistkit("schema", "generate", "Feed", "--from", "schema.ckdb")
        #expect(unknown.status == 64 && unknown.errors.contains("The schema has no record type Feed."))
    }

    @Test func anotherServiceIsReferredToCktool() throws {
        try write(Self.notes)
        let commandsOfCktool = [
            (["import", "schema.ckdb"], "xcrun cktool import-schema --team-id TEAM --container-id iCloud.com.example"),
            (["export"], "xcrun cktool export-schema --team-id TEAM --container-id iCloud.com.example"),
            (["reset", "--yes"], "xcrun cktool reset-schema --team-id TEAM --container-id iCloud.com.example"),
            (["deploy"], "Deploy Schema Changes"),
        ]
        for (arguments, hint) in commandsOfCktool {
            let outcome = try commands.mistkit(
                arguments: ["schema"] + arguments,
                environment: ["MISTKIT_API_TOKEN": "a", "MISTKIT_CONTAINER": "iCloud.com.example"]
            )
            #expect(outcome.status == 64)
            #expect(outcome.errors.contains(hint), "\(outcome.errors)")
        }
    }

    @Test(.enabled(if: SharedFolder.exists("schemas"), "Needs ../shared/schemas."))
    func publishedSchemasGoThroughEveryCommand() throws {
        let mirrored = ["boxed-Done-and-done", "AlexW00-hibi", "robbiet480-Dispatch", "georgefeder-lume-gf"]
        for path in ["arterious", "bushel", "celestra"] + mirrored.map({ "core-data/\($0)" }) {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let file = SharedFolder.url.appending(path: "schemas/\(path).ckdb").path
            #expect(try mistkit("schema", "validate", file).status == 0)
            #expect(try mistkit("schema", "import", file, "--container", "iCloud.\(name)").status == 0)
            let exported = try mistkit("schema", "export", "--container", "iCloud.\(name)")
            try write(exported.output, to: "\(name).ckdb")
            #expect(try mistkit("schema", "diff", file, "\(name).ckdb").status == 0)
            #expect(try mistkit("schema", "generate", "--from", file, "--to", name).status == 0)
        }
    }
}

import CloudKitSchema
import Foundation
import TestSupport
import Testing

struct SchemaFormatterTests {
    @Test func theCanonicalFormKeepsCommentsOrderAndEmptyLines() throws {
        let document = try SchemaDocument(
            parsing: """
                // The schema of the notes.
                define schema // version 2
                create role Editors; -- who may write
                // A note.

                // With everything.
                record type "Note" ( // the main type
                  /* who */ "___createdBy" reference queryable,


                  title string queryable sortable, // shown in lists
                  "type" string,
                  -- for groups
                  longerName list<encrypted string>
                  /* before the comma */ , // behind it
                  grant read, create to "_world", "_icloud" // everyone
                  // the end
                ); // of Note
                // of the file
                """
        )
        let formatted = """
            // The schema of the notes.
            DEFINE SCHEMA  // version 2

                CREATE ROLE Editors;  -- who may write

                // A note.

                // With everything.
                RECORD TYPE Note (  // the main type
                    /* who */
                    "___createdBy" REFERENCE QUERYABLE,

                    title          STRING QUERYABLE SORTABLE,  // shown in lists
                    "type"         STRING,
                    -- for groups
                    longerName     LIST<ENCRYPTED STRING>,     /* before the comma */  // behind it
                    GRANT READ, CREATE TO "_world",
                    GRANT READ, CREATE TO "_icloud"            // everyone
                    // the end
                );  // of Note

                // of the file

            """
        #expect(document.formatted() == formatted)
        #expect(try SchemaDocument(parsing: formatted).formatted() == formatted)
        #expect(try ContainerSchema(parsing: formatted) == document.schema)
    }

    @Test func aSchemaOfAProgramIsWrittenInCanonicalForm() throws {
        let schema = ContainerSchema(
            roles: ["Editors", "read"],
            recordTypes: [
                ContainerSchema.RecordType(
                    name: "Note",
                    fields: [
                        ContainerSchema.Field(name: "title", type: .string, indexes: [.queryable, .searchable]),
                        ContainerSchema.Field(name: "___modTime", type: .timestamp, indexes: .sortable),
                    ],
                    grants: .publicDefault
                ),
                ContainerSchema.RecordType(name: "Empty"),
            ]
        )
        #expect(
            schema.description == """
                DEFINE SCHEMA

                    CREATE ROLE Editors;

                    CREATE ROLE "read";

                    RECORD TYPE Note (
                        title        STRING QUERYABLE SEARCHABLE,
                        "___modTime" TIMESTAMP SORTABLE,
                        GRANT WRITE TO "_creator",
                        GRANT CREATE TO "_icloud",
                        GRANT READ TO "_world"
                    );

                    RECORD TYPE Empty (
                        "___recordID" REFERENCE
                    );

                """
        )
        #expect(SchemaComparison(from: schema, to: try ContainerSchema(parsing: schema.description)).isEmpty)
    }

    /// The published schemas keep their meaning and their comments in the canonical form.
    @Test(.enabled(if: SharedFolder.exists("schemas"), "Needs ../shared/schemas."))
    func publishedSchemasSurviveTheCanonicalForm() throws {
        let files = try SharedSchemas.files()
        #expect(files.count >= 3)
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8)
            let document = try SchemaDocument(parsing: text)
            #expect(document.problems() == [], "\(file.lastPathComponent)")
            #expect(!document.schema.recordTypes.isEmpty)
            let formatted = document.formatted()
            #expect(try ContainerSchema(parsing: formatted) == document.schema)
            #expect(try SchemaDocument(parsing: formatted).formatted() == formatted)
            #expect(
                Self.comments(of: formatted) == Self.comments(of: text),
                "\(file.lastPathComponent) has lost a comment"
            )
        }
    }

    /// The comments of a text whose comments begin with `//`.
    private static func comments(of text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            line.firstRange(of: "//").map { line[$0.lowerBound...].trimmingCharacters(in: .whitespaces) }
        }
    }
}

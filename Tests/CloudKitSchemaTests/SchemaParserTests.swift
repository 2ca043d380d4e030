import CloudKitModel
import CloudKitSchema
import Testing

struct SchemaParserTests {
    @Test func everyConstructOfTheGrammarIsRead() throws {
        let schema = try ContainerSchema(
            parsing: """
                DEFINE SCHEMA
                    CREATE ROLE Editors;
                    RECORD TYPE Note (
                        "___recordID" REFERENCE QUERYABLE,
                        title         STRING QUERYABLE SORTABLE SEARCHABLE,
                        tags          LIST<STRING> QUERYABLE,
                        secret        ENCRYPTED STRING,
                        image         ASSET,
                        amount        NUMBER PREFERRED AS INT64,
                        GRANT WRITE TO "_creator",
                        GRANT READ, CREATE TO Editors
                    );
                """
        )
        #expect(
            schema
                == ContainerSchema(
                    roles: ["Editors"],
                    recordTypes: [
                        ContainerSchema.RecordType(
                            name: "Note",
                            fields: [
                                ContainerSchema.Field(name: "___recordID", type: .reference, indexes: .queryable),
                                ContainerSchema.Field(
                                    name: "title",
                                    type: .string,
                                    indexes: [.queryable, .sortable, .searchable]
                                ),
                                ContainerSchema.Field(name: "tags", type: .list(of: .string), indexes: .queryable),
                                ContainerSchema.Field(name: "secret", type: SchemaFieldType(.encryptedString)),
                                ContainerSchema.Field(name: "image", type: .asset),
                                ContainerSchema.Field(name: "amount", type: SchemaFieldType(.numberPreferredAsInt64)),
                            ],
                            grants: [
                                ContainerSchema.Grant(.write, to: "_creator"),
                                ContainerSchema.Grant([.read, .create], to: "Editors"),
                            ]
                        )
                    ]
                )
        )
    }

    /// Each type alone and as a list, in the canonical spelling and in lower case.
    @Test(arguments: SchemaFieldType.Element.allCases)
    func everyTypeIsRead(_ element: SchemaFieldType.Element) throws {
        for spelling in [element.rawValue, element.rawValue.lowercased()] {
            for (text, type) in [(spelling, SchemaFieldType(element)), ("LIST < \(spelling) >", .list(of: element))] {
                let schema = try ContainerSchema(parsing: "DEFINE SCHEMA RECORD TYPE T (f \(text), g STRING);")
                #expect(schema.recordTypes.first?.fields.map(\.type) == [type, .string])
            }
        }
    }

    @Test(arguments: [
        ("define schema record type T (f string queryable);", "T", "f"),
        ("DEFINE SCHEMA RECORD TYPE \"T\" (\"f\" STRING);", "T", "f"),
        ("DEFINE SCHEMA RECORD TYPE Type (type STRING);", "Type", "type"),
        ("DEFINE SCHEMA RECORD TYPE Grant (grant STRING);", "Grant", "grant"),
        ("DEFINE SCHEMA RECORD TYPE T (grant STRING, GRANT READ TO \"_world\");", "T", "grant"),
        ("DEFINE SCHEMA RECORD TYPE T (\"read\" STRING);", "T", "read"),
        ("\u{FEFF}DEFINE SCHEMA\r\nRECORD TYPE T (\r\n\tf STRING\r\n);\r\n", "T", "f"),
        ("/* a */ DEFINE -- b\nSCHEMA // c\nRECORD TYPE T /* d */ ( f /* e */ STRING -- f\n);", "T", "f"),
        ("DEFINE SCHEMA RECORD TYPE T (f STRING /* ; ) */ );", "T", "f"),
    ])
    func namesAreRead(_ text: String, type: String, field: String) throws {
        let schema = try ContainerSchema(parsing: text)
        #expect(schema.recordTypes.map(\.name) == [type])
        #expect(schema.recordTypes.flatMap(\.fields).map(\.name) == [field])
    }

    /// The published schema of an RSS reader has several roles in a grant; Apple's grammar has only one.
    @Test func severalRolesOfAGrantAreRead() throws {
        let schema = try ContainerSchema(
            parsing: """
                DEFINE SCHEMA RECORD TYPE T (
                    GRANT CREATE TO "_creator", "_icloud",
                    GRANT READ, WRITE TO Editors, Writers,
                    f STRING
                );
                """
        )
        #expect(
            schema.recordTypes.first?.grants == [
                ContainerSchema.Grant(.create, to: "_creator"), ContainerSchema.Grant(.create, to: "_icloud"),
                ContainerSchema.Grant([.read, .write], to: "Editors"),
                ContainerSchema.Grant([.read, .write], to: "Writers"),
            ]
        )
        #expect(schema.recordTypes.first?.fields.map(\.name) == ["f"])
    }

    @Test(arguments: [
        ("", "line 1, column 1: A schema begins with DEFINE SCHEMA, not the end of the file."),
        ("DEFINE SCHEMAS", "line 1, column 8: A schema begins with DEFINE SCHEMA, not \"SCHEMAS\"."),
        ("DEFINE SCHEMA RECORD T (", "line 1, column 22: Expected RECORD TYPE or CREATE ROLE, not \"T\"."),
        ("DEFINE SCHEMA CREATE R;", "line 1, column 22: Expected ROLE after CREATE, not \"R\"."),
        ("DEFINE SCHEMA RECORD TYPE (", "line 1, column 27: Expected the name of a record type, not \"(\"."),
        ("DEFINE SCHEMA RECORD TYPE T;", "line 1, column 28: Expected ( before the fields of T, not \";\"."),
        (
            "DEFINE SCHEMA RECORD TYPE T ();",
            "line 1, column 30: Expected a field or a GRANT; the last one has no comma behind it, not \")\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f STRNG);",
            "line 1, column 32: Expected a type such as STRING, not \"STRNG\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f LIST STRING);",
            "line 1, column 37: Expected < and the type of the elements after LIST, not \"STRING\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f LIST<STRING);",
            "line 1, column 43: Expected > after the type of the elements, not \")\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f ENCRYPTED ASSET);",
            "line 1, column 42: Expected BYTES, DOUBLE, INT64, LOCATION, STRING or TIMESTAMP after ENCRYPTED, not \"ASSET\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f NUMBER PREFERRED AS STRING);",
            "line 1, column 52: Expected INT64 or DOUBLE, not \"STRING\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f STRING UNIQUE);",
            "line 1, column 39: Expected QUERYABLE, SORTABLE, SEARCHABLE or a comma, not \"UNIQUE\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f STRING SORTABLE SORTABLE);",
            "line 1, column 48: Expected each index once, not \"SORTABLE\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f STRING; g STRING);",
            "line 1, column 38: Expected a comma before the next field or GRANT of T, or ) after the last one, not \";\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (GRANT READ \"_world\");",
            "line 1, column 41: Expected TO and a role after the permissions, not \"\"_world\"\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (GRANT READ, TO \"_world\");",
            "line 1, column 42: Expected READ, CREATE or WRITE, not \"TO\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (___recordID REFERENCE);",
            "line 1, column 30: The name of a field that begins with _ stands in double quotes, not \"___recordID\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (1f STRING);",
            "line 1, column 30: Expected the name of a field, which begins with a letter, not \"1f\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE T (f STRING)",
            "line 1, column 39: Expected ; after the statement, not the end of the file."
        ),
        ("DEFINE SCHEMA /* open", "line 1, column 15: This comment is not closed; write */ at its end."),
        ("DEFINE SCHEMA RECORD TYPE \"T (", "line 1, column 27: This name has no closing quote."),
        ("DEFINE SCHEMA RECORD TYPE \"\" (", "line 1, column 27: Expected a name between the quotes."),
        (
            "DEFINE SCHEMA RECORD TYPE Größe (",
            "line 1, column 29: The schema language does not use \"ö\"; names with other characters than letters, digits and _ stand in double quotes."
        ),
    ])
    func syntaxErrorsNameLineAndColumn(_ text: String, message: String) throws {
        let error = try #require(throws: SchemaSyntaxError.self) { try ContainerSchema(parsing: text) }
        #expect("\(error.location): \(error.message)." == message)
    }

    @Test func theLineOfAMistakeIsShownWithAMark() throws {
        let error = try #require(throws: SchemaSyntaxError.self) {
            try ContainerSchema(parsing: "DEFINE SCHEMA\r\n\tRECORD TYPE Note (\r\n\t\ttitle STRNG,\r\n")
        }
        #expect(
            error.description
                == "line 3, column 9: Expected a type such as STRING, not \"STRNG\".\n  \t\ttitle STRNG,\n  \t\t      ^^^^^"
        )
    }
}

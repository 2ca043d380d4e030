import CloudKitModel
import CloudKitSchema
import Testing

struct SchemaProblemTests {
    /// The problems of record types, by the text between the parentheses of a type.
    @Test(arguments: [
        ("f STRING, f INT64", "\"f\" has two definitions in T."),
        ("f ASSET QUERYABLE", "T.f cannot be QUERYABLE: a field of type ASSET has no indexes."),
        ("f LIST<ASSET> QUERYABLE", "T.f cannot be QUERYABLE: a field of type LIST<ASSET> has no indexes."),
        (
            "f ENCRYPTED STRING QUERYABLE",
            "T.f cannot be QUERYABLE: a field of type ENCRYPTED STRING has no indexes."
        ),
        ("f INT64 SEARCHABLE", "T.f cannot be SEARCHABLE: only text can be searched, and its type is INT64."),
        ("f LIST<INT64> SORTABLE", "T.f cannot be SORTABLE: records are not sorted by lists."),
        ("\"___etag\" INT64", "T.___etag has the type INT64; the service defines it as STRING."),
        (
            "\"___made\" TIMESTAMP",
            """
            T.___made is not a system field. These are ___createTime, ___createdBy, ___etag, ___modTime, ___modifiedBy, \
            ___recordID, ___parent, ___share.
            """
        ),
        (
            "\"a b\" STRING",
            "The name of the field \"a b\" of T has to be a letter, then letters, digits and underscores."
        ),
        (
            "GRANT READ TO Editors",
            "T grants something to the role \"Editors\", which is not defined. The roles are _world, _icloud, _creator."
        ),
    ])
    func mistakesInRecordTypesAreFound(_ items: String, message: String) throws {
        let document = try SchemaDocument(parsing: "DEFINE SCHEMA RECORD TYPE T (\(items));")
        #expect(document.problems().map(\.message) == [message])
        #expect(document.schema.problems().map(\.message) == [message])
    }

    @Test(arguments: [
        ("CREATE ROLE \"_world\";", "Every container has the role _world; it is not created."),
        ("CREATE ROLE R; CREATE ROLE R;", "The role \"R\" is created twice."),
        (
            "CREATE ROLE \"_mine\";",
            "The name of the role \"_mine\" begins with _, as only names of the service do."
        ),
        ("RECORD TYPE T (f STRING); RECORD TYPE T (f STRING);", "The record type T has two definitions."),
        (
            "RECORD TYPE \"_T\" (f STRING);",
            "The name of the record type \"_T\" begins with _, as only names of the service do."
        ),
        (
            "RECORD TYPE \(String(repeating: "T", count: 256)) (f STRING);",
            "The name of the record type \"\(String(repeating: "T", count: 256))\" is longer than 255 characters."
        ),
    ])
    func mistakesInStatementsAreFound(_ statements: String, message: String) throws {
        let document = try SchemaDocument(parsing: "DEFINE SCHEMA \(statements)")
        #expect(document.problems().map(\.message) == [message])
    }

    @Test func eachProblemHasItsPlace() throws {
        let document = try SchemaDocument(
            parsing: """
                DEFINE SCHEMA
                CREATE ROLE R;
                CREATE ROLE R;
                RECORD TYPE A (f STRING, g ASSET SORTABLE);
                RECORD TYPE A (
                    GRANT READ TO R, Q,
                    f STRING, f STRING
                );
                """
        )
        #expect(
            document.problems().compactMap(\.location).map { "\($0.line):\($0.column) \($0.length)" } == [
                "3:13 1", "4:26 1", "5:13 1", "7:15 1", "6:22 1",
            ]
        )
        #expect(
            document.problems().first?.description
                == "line 3, column 13: The role \"R\" is created twice.\n  CREATE ROLE R;\n              ^"
        )
    }

    /// Exports of apps with shares have the service's record type of shares.
    @Test func namesOfTheServiceAreValidAndStayAsTheyAre() throws {
        let text = """
            DEFINE SCHEMA

                RECORD TYPE Note (
                    title STRING
                );

                RECORD TYPE "cloudkit.share" (
                    "cloudkit.thumbnailImageData" BYTES,
                    "cloudkit.title"              STRING
                );

            """
        let document = try SchemaDocument(parsing: text)
        #expect(document.problems().isEmpty)
        #expect(document.formatted() == text)
        #expect(document.schema.description == text)
        #expect(RecordModels(of: document.schema).files.map(\.name) == ["Note.swift"])
        let without = try ContainerSchema(parsing: "DEFINE SCHEMA RECORD TYPE Note (title STRING);")
        #expect(SchemaComparison(from: document.schema, to: without).isEmpty)
        #expect(SchemaComparison(from: without, to: document.schema).isEmpty)
    }

    @Test(arguments: ["other.share", "cloudkit.", "cloudkit..a", "cloudkit.a b", ".a"])
    func otherNamesWithDotsAreProblems(name: String) throws {
        let document = try SchemaDocument(parsing: "DEFINE SCHEMA RECORD TYPE \"\(name)\" (f STRING);")
        #expect(document.problems().count == 1)
    }

    @Test func validSchemasHaveNoProblems() throws {
        let text = """
            DEFINE SCHEMA
                CREATE ROLE Editors;
                RECORD TYPE Users (roles LIST<INT64>);
                RECORD TYPE T (
                    "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                    place LOCATION QUERYABLE SORTABLE,
                    bytes BYTES QUERYABLE,
                    words LIST<STRING> QUERYABLE SEARCHABLE,
                    GRANT READ, WRITE TO Editors
                );
            """
        #expect(try SchemaDocument(parsing: text).problems() == [])
    }
}

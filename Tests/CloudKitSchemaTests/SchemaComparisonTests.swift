import CloudKitSchema
import Testing

struct SchemaComparisonTests {
    /// The statements of two schemas, and the lines of their comparison.
    @Test(arguments: [
        ("", "", []),
        ("", "CREATE ROLE R;", ["+ role R"]),
        ("CREATE ROLE R;", "", ["- role R is dropped"]),
        ("", "RECORD TYPE T (f STRING, g INT64);", ["+ record type T (f, g)"]),
        (
            "RECORD TYPE T (f STRING);", "",
            ["! record type T is dropped: production does not drop record types"]
        ),
        (
            "RECORD TYPE T (f STRING);", "RECORD TYPE T (f STRING, g LIST<INT64> QUERYABLE);",
            ["+ T.g LIST<INT64> QUERYABLE"]
        ),
        (
            "RECORD TYPE T (f STRING, g STRING);", "RECORD TYPE T (f STRING);",
            ["! T.g is dropped: production does not drop fields"]
        ),
        (
            "RECORD TYPE T (f STRING);", "RECORD TYPE T (f INT64);",
            ["! T.f changes from STRING to INT64: production does not change the type of a field"]
        ),
        (
            "RECORD TYPE T (f STRING);", "RECORD TYPE T (f LIST<STRING>);",
            ["! T.f changes from STRING to LIST<STRING>: production does not change the type of a field"]
        ),
        (
            "RECORD TYPE T (f STRING);", "RECORD TYPE T (f ENCRYPTED STRING);",
            [
                """
                ! T.f changes from STRING to ENCRYPTED STRING: encryption is neither added to a field that exists nor removed \
                from it
                """
            ]
        ),
        (
            "RECORD TYPE T (f STRING QUERYABLE);", "RECORD TYPE T (f STRING SORTABLE SEARCHABLE);",
            ["~ T.f gets the index SORTABLE, SEARCHABLE, loses the index QUERYABLE"]
        ),
        (
            "RECORD TYPE T (f STRING, \"___recordID\" REFERENCE QUERYABLE);", "RECORD TYPE T (f STRING);",
            ["~ T.___recordID loses the index QUERYABLE"]
        ),
        (
            "RECORD TYPE T (f STRING, GRANT READ TO \"_world\", GRANT WRITE TO \"_creator\");",
            "RECORD TYPE T (f STRING, GRANT READ, CREATE TO \"_world\");",
            ["~ T: _creator may no longer WRITE", "~ T: _world may CREATE"]
        ),
        // The order, repeated grants, implicit system fields and the service's own type are no differences.
        (
            "RECORD TYPE A (f STRING, g INT64, GRANT READ, WRITE TO \"_world\"); RECORD TYPE B (f STRING);",
            """
            RECORD TYPE B (f STRING); RECORD TYPE A (GRANT WRITE TO "_world", GRANT READ TO "_world", g INT64, f STRING,
            "___etag" STRING);
            """, []
        ),
        ("RECORD TYPE Users (roles LIST<INT64>);", "", []),
    ])
    func differencesOfSchemasSayWhatProductionRefuses(_ old: String, _ new: String, _ lines: [String]) throws {
        let comparison = SchemaComparison(
            from: try ContainerSchema(parsing: "DEFINE SCHEMA \(old)"),
            to: try ContainerSchema(parsing: "DEFINE SCHEMA \(new)")
        )
        #expect(comparison.description == lines.joined(separator: "\n"))
        #expect(comparison.isEmpty == lines.isEmpty)
        #expect(comparison.refused.map(\.description) == lines.filter { $0.hasPrefix("!") })
    }
}

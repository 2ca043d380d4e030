import CloudKitEmulator
import CloudKitSchema
import Foundation
import MistModels
import MistTesting
import Testing

/// The Swift of the chapter "Schemas in files".
struct SchemaTests {
    @Test func typedRecordsHaveASchemaFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "schema-\(UUID().uuidString).ckdb")
        defer { try? FileManager.default.removeItem(at: file) }
        let schema = try ContainerSchema(of: Feed.self, Article.self)
        try schema.description.write(to: file, atomically: true, encoding: .utf8)
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text == """
                DEFINE SCHEMA

                    RECORD TYPE Feed (
                        "___recordID" REFERENCE QUERYABLE,
                        feedURL       STRING QUERYABLE,
                        title         STRING,
                        category      STRING QUERYABLE,
                        qualityScore  INT64 QUERYABLE SORTABLE,
                        isActive      INT64,
                        tags          LIST<STRING>,
                        summary       STRING,
                        GRANT WRITE TO "_creator",
                        GRANT CREATE TO "_icloud",
                        GRANT READ TO "_world"
                    );

                    RECORD TYPE Article (
                        "___recordID" REFERENCE QUERYABLE,
                        feed          REFERENCE QUERYABLE,
                        guid          STRING,
                        title         STRING,
                        publishedDate TIMESTAMP QUERYABLE SORTABLE,
                        expiresAt     TIMESTAMP QUERYABLE,
                        status        STRING,
                        note          ENCRYPTED STRING,
                        reading       STRING,
                        place         LOCATION,
                        GRANT WRITE TO "_creator",
                        GRANT CREATE TO "_icloud",
                        GRANT READ TO "_world"
                    );

                """
        )
        #expect(schema.problems() == [])
    }

    @Test func schemasAreCompared() throws {
        var changed = try ContainerSchema(of: Feed.self, Article.self)
        let text =
            changed.description
            .replacing("category      STRING QUERYABLE", with: "category      INT64 QUERYABLE")
        changed.recordTypes[1].fields[2].indexes = .queryable
        let schema = changed
        let deployed = try ContainerSchema(parsing: text)
        let comparison = SchemaComparison(from: deployed, to: schema)
        for change in comparison.changes { print(change) }
        // ~ Article.guid gets the index QUERYABLE
        // ! Feed.category changes from INT64 to STRING: production does not change the type of a field
        #expect(
            comparison.changes.map(\.description) == [
                "~ Article.guid gets the index QUERYABLE",
                "! Feed.category changes from INT64 to STRING: production does not change the type of a field",
            ]
        )
    }

    @Test func anImportedSchemaIsEnforced() async throws {
        let schema = try ContainerSchema(of: Feed.self, Article.self)
        try await withCloudKitEmulator { emulator in
            try emulator.rules.importSchema(schema, into: emulator.containerIdentifier)
            let database = emulator.service(as: .user).publicDatabase
            let error = await #expect(throws: CloudKitError.self) {
                try await database.records(matching: Query<Feed> { Sort(\.title) }).collect(limit: 1)
            }
            #expect(error?.reason == "Field 'title' is not marked sortable")
        }
    }
}

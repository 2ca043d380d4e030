import CloudKitEmulator
import CloudKitModel
import CloudKitSchema
import CloudKitWebServices
import Foundation
import TestSupport
import Testing

/// The effects of an imported schema: the types that exist, the indexes that queries need, and the grants of public
/// databases.
struct ImportedSchemaTests {
    private let world: World

    init() throws {
        world = try World()
    }

    private func importSchema(_ statements: String) throws {
        try world.emulator.importSchema(
            ContainerSchema(parsing: "DEFINE SCHEMA \(statements)"),
            into: World.container
        )
    }

    private func query(_ filters: [QueryFilter] = [], sorts: [QuerySort] = [], as user: String? = nil) throws
        -> [String?]
    {
        let caller: Caller = .user(user ?? world.ann)
        return try world.emulator.request(in: world.publicDatabase, as: caller)
            .queryRecords(RecordQuery(recordType: "Note", filters: filters, sorts: sorts)).records
            .map { try $0.get().recordName }
    }

    private func save(_ operation: RecordOperation, as caller: Caller) throws -> [String] {
        try world.emulator.request(in: world.publicDatabase, as: caller).modifyRecords([operation]).records.map(summary)
    }

    // MARK: Types and fields

    @Test func developmentTakesOnlyWhatTheSchemaHas() throws {
        try importSchema(
            "RECORD TYPE Note (title STRING, amount NUMBER, tags LIST<STRING>, GRANT READ, CREATE, WRITE TO \"_icloud\");"
        )
        #expect(
            try world.modify(
                .note(.create, "a", ["title": "x", "amount": 1, "tags": .stringList(["t"])]),
                .note(.create, "b", ["amount": 1.5]),
                .note(.create, "c", ["title": 1]),
                .note(.create, "d", ["stars": 1]),
                RecordOperation(.create, record: Record(recordType: "Other", recordName: "e"))
            ) == [
                #"a@1 {"title":{"value":"x","type":"STRING"},"amount":{"value":1,"type":"INT64"},"tags":{"value":["t"],"type":"STRING_LIST"}}"#,
                #"b@2 {"amount":{"value":1.5,"type":"DOUBLE"}}"#,
                "c! BAD_REQUEST invalid attempt to set value type INT64 for field 'title' for type 'Note', defined to be: STRING",
                "d! BAD_REQUEST Field stars not found in Note",
                "e! BAD_REQUEST Did not find record type: Other",
            ]
        )
    }

    @Test func aSwitchLetsWritesExtendAnImportedSchema() throws {
        let world = try World { $0.developmentSchema = .extendedByWrites }
        let schema = try ContainerSchema(parsing: "DEFINE SCHEMA RECORD TYPE Note (title STRING);")
        try world.emulator.importSchema(schema, into: World.container)
        #expect(try !world.modify(.note(.create, "a", ["stars": 1])).contains { $0.contains("!") })
        // The field has every index, as without a schema.
        let exported = try world.emulator.schema(of: World.container, in: .development)
        #expect(
            exported[recordType: "Note"]?[field: "stars"]
                == ContainerSchema.Field(name: "stars", type: .int64, indexes: [.queryable, .sortable])
        )
    }

    @Test func aSwitchRefusesWhatNoSchemaHas() throws {
        let world = try World { $0.developmentSchema = .importedOnly }
        #expect(try world.modify(.note(.create, "a")) == ["a! BAD_REQUEST Did not find record type: Note"])
    }

    @Test func encryptedFieldsStayEncrypted() throws {
        try importSchema("RECORD TYPE Note (secret ENCRYPTED STRING, title STRING);")
        #expect(
            try world.modify(
                .note(.create, "a", ["secret": .encrypted("x")]),
                .note(.create, "b", ["secret": "x"]),
                .note(.create, "c", ["title": .encrypted("x")])
            ) == [
                #"a@1 {"secret":{"value":"x","type":"STRING","isEncrypted":true}}"#,
                """
                b! BAD_REQUEST invalid attempt to set value type STRING for field 'secret' for type 'Note', defined to be: \
                ENCRYPTED_STRING
                """,
                "c! BAD_REQUEST Attempt to save encrypted data in non encrypted field type",
            ]
        )
    }

    // MARK: Indexes

    @Test func queriesNeedTheIndexesOfTheSchema() throws {
        try importSchema(
            """
            RECORD TYPE Note (
                "___createTime" TIMESTAMP QUERYABLE SORTABLE, title STRING SEARCHABLE, name STRING QUERYABLE,
                stars INT64 QUERYABLE SORTABLE, place LOCATION SORTABLE, GRANT READ TO "_world", GRANT CREATE TO "_icloud");
            """
        )
        _ = try save(.note(.create, "a", ["title": "some words", "name": "words", "stars": 3]), as: .user(world.ann))
        func asked(_ filters: QueryFilter..., sorts: [QuerySort] = []) -> String {
            refusal { _ = try query(filters, sorts: sorts) }
        }
        #expect(asked(QueryFilter("name", .equals, "words")) == "accepted")
        #expect(asked(QueryFilter("stars", .greaterThan, 1), sorts: [QuerySort("stars")]) == "accepted")
        #expect(asked(QueryFilter("title", .equals, "x")) == "BAD_REQUEST Field 'title' is not marked queryable")
        #expect(
            asked(QueryFilter("name", .containsAllTokens, "words"))
                == "BAD_REQUEST Field 'name' is not marked searchable"
        )
        #expect(
            asked(QueryFilter("stars", .equals, 3), sorts: [QuerySort("name")])
                == "BAD_REQUEST Field 'name' is not marked sortable"
        )
        #expect(asked() == "BAD_REQUEST Field 'recordName' is not marked queryable")
        // A search without a field uses the searchable fields.
        let words = QueryFilter(comparator: .containsAllTokens, fieldValue: "words")
        #expect(try query([words]) == ["a"])
        _ = try save(.note(.create, "b", ["name": "words"]), as: .user(world.ann))
        #expect(try query([words]) == ["a"])
    }

    @Test func aSwitchSaysWhichIndexRangesNeed() throws {
        let text = "DEFINE SCHEMA RECORD TYPE Note (a INT64 QUERYABLE, b INT64 SORTABLE, GRANT READ TO \"_world\");"
        for (index, accepted, refused) in [
            (EmulatorConfiguration.Unsettled.RangeIndex.queryable, "a", "b"), (.sortable, "b", "a"),
        ] {
            let world = try World { $0.unsettled.rangeIndex = index }
            try world.emulator.importSchema(ContainerSchema(parsing: text), into: World.container)
            func ask(_ field: String) -> String {
                refusal {
                    _ = try world.asAnn(in: .public).queryRecords(
                        RecordQuery(recordType: "Note", filters: [QueryFilter(field, .lessThan, 1)])
                    )
                }
            }
            #expect(ask(accepted) == "accepted")
            #expect(ask(refused).hasPrefix("BAD_REQUEST Field '\(refused)' is not marked"))
        }
    }

    // MARK: Grants

    /// A test of another client, written to run against the service, expects `NOT_FOUND`.
    @Test func aServerKeyFindsNoTypeThatTheSchemaLacks() throws {
        try importSchema("RECORD TYPE Note (title STRING);")
        let other = RecordOperation(.create, record: Record(recordType: "Other", recordName: "a"))
        #expect(try save(other, as: .serverKey(keyID: "k")) == ["a! NOT_FOUND Did not find record type: Other"])
        #expect(try save(other, as: .user(world.ann)) == ["a! BAD_REQUEST Did not find record type: Other"])
    }

    @Test func grantsDecideWhoReadsCreatesAndWrites() throws {
        try importSchema(
            """
            CREATE ROLE Editors;
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE, title STRING,
                GRANT READ TO "_icloud", GRANT CREATE TO Editors, GRANT WRITE TO "_creator", Editors);
            """
        )
        let (ann, ben) = (Caller.user(world.ann), Caller.user(world.ben))
        #expect(try save(.note(.create, "a"), as: ann) == ["a! ACCESS_DENIED CREATE operation not permitted"])
        try world.emulator.setRoles(["Editors"], of: world.ann, in: World.container, .development)
        #expect(
            try save(.note(.create, "a", ["title": "x"]), as: ann) == [#"a@1 {"title":{"value":"x","type":"STRING"}}"#]
        )
        #expect(
            try save(.note(.forceUpdate, "a", ["title": "y"]), as: ben)
                == ["a! ACCESS_DENIED WRITE operation not permitted"]
        )
        try world.emulator.setRoles(["Editors"], of: world.ben, in: World.container, .development)
        #expect(
            try save(.note(.forceUpdate, "a", ["title": "y"]), as: ben)
                == [#"a@2 {"title":{"value":"y","type":"STRING"}}"#]
        )
        #expect(try query(as: world.ben) == ["a"])
        let anonymous = try world.emulator.request(in: world.publicDatabase, as: .anonymous)
        #expect(
            refusal { _ = try anonymous.queryRecords(RecordQuery(recordType: "Note")) }
                == "ACCESS_DENIED READ operation not permitted"
        )
        #expect(
            try anonymous.lookupRecords([RecordLookup(recordName: "a")]).records.map(summary)
                == ["a! ACCESS_DENIED READ operation not permitted"]
        )
        #expect(
            refusal { try world.emulator.setRoles(["Owners"], of: world.ann, in: World.container, .development) }
                == "BAD_REQUEST The schema of \(World.container) does not create the role 'Owners'"
        )
    }

    @Test func theCreatorAloneReadsWhatIsGrantedToTheCreator() throws {
        try importSchema(
            """
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE, GRANT READ TO "_creator", GRANT CREATE TO "_icloud");
            """
        )
        _ = try save(.note(.create, "a"), as: .user(world.ann))
        _ = try save(.note(.create, "b"), as: .user(world.ben))
        #expect(try query(as: world.ann) == ["a"])
        #expect(try query(as: world.ben) == ["b"])
        let ben = try world.emulator.request(in: world.publicDatabase, as: .user(world.ben))
        #expect(
            try ben.lookupRecords([RecordLookup(recordName: "a"), RecordLookup(recordName: "b")]).records.map(summary)
                == ["a! ACCESS_DENIED READ operation not permitted", "b@2 {}"]
        )
    }

    @Test func grantsSayNothingAboutPrivateDatabases() throws {
        try importSchema("RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE, title STRING);")
        #expect(try world.modify(.note(.create, "a")) == ["a@1 {}"])
        #expect(
            try world.asAnn().lookupRecords([RecordLookup(recordName: "a")], zoneID: World.notes).records.count == 1
        )
    }

    // MARK: Importing, exporting, deploying, resetting

    @Test func whatIsExportedCanBeImportedAndMeansTheSame() throws {
        try world.modify(
            .note(.create, "a", ["title": "x", "tags": .stringList(["t"]), "secret": .encrypted("s"), "n": 1])
        )
        let exported = try world.emulator.schema(of: World.container, in: .development)
        #expect(exported.problems() == [])
        let text = exported.description
        #expect(try world.emulator.importSchema(ContainerSchema(parsing: text), into: World.container).isEmpty)
        #expect(try world.emulator.schema(of: World.container, in: .development).description == text)
        // A query that worked before still works.
        let page = try world.asAnn().queryRecords(
            RecordQuery(recordType: "Note", filters: [QueryFilter("title", .beginsWith, "x")], sorts: [QuerySort("n")]),
            zoneID: World.notes
        )
        #expect(page.records.count == 1)
    }

    @Test func importingDropsAndChangesOnlyWhatHasNoValues() throws {
        try importSchema("RECORD TYPE Note (title STRING, stars INT64, old STRING); RECORD TYPE Other (f STRING);")
        try world.modify(.note(.create, "a", ["title": "x", "stars": .null]))
        #expect(
            refusal { try importSchema("RECORD TYPE Note (stars INT64, old STRING);") }
                == "BAD_REQUEST Note.title is dropped, but 1 record has values of it"
        )
        #expect(
            refusal { try importSchema("RECORD TYPE Other (f STRING);") }
                == "BAD_REQUEST record type Note is dropped, but 1 record has values of it"
        )
        try importSchema("RECORD TYPE Note (title STRING, stars STRING SORTABLE);")
        #expect(
            try world.emulator.schema(of: World.container, in: .development).description == """
                DEFINE SCHEMA

                    RECORD TYPE Note (
                        title STRING,
                        stars STRING SORTABLE
                    );

                """
        )
        #expect(
            try world.modify(.note(.forceUpdate, "a", ["stars": "many"]))
                == [#"a@2 {"title":{"value":"x","type":"STRING"},"stars":{"value":"many","type":"STRING"}}"#]
        )
    }

    @Test func importingRefusesABrokenSchemaAndWhatProductionHas() throws {
        #expect(
            refusal { try importSchema("RECORD TYPE Note (picture ASSET QUERYABLE);") }
                == "BAD_REQUEST Note.picture cannot be QUERYABLE: a field of type ASSET has no indexes."
        )
        try importSchema("RECORD TYPE Note (title STRING);")
        try world.emulator.deploySchema(of: World.container)
        #expect(
            refusal { try importSchema("RECORD TYPE Note (title INT64);") }
                == """
                BAD_REQUEST ! Note.title changes from STRING to INT64: production does not change the type of a field
                """
        )
        #expect(
            refusal { try importSchema("") }
                == "BAD_REQUEST ! record type Note is dropped: production does not drop record types"
        )
    }

    @Test func deployingBringsIndexesAndGrantsToProduction() throws {
        try importSchema("RECORD TYPE Note (title STRING, GRANT READ TO \"_world\");")
        #expect(try world.emulator.deploySchema(of: World.container).description == "+ record type Note (title)")
        #expect(try world.emulator.deploySchema(of: World.container).isEmpty)
        let production = DatabaseAddress(World.container, .production, .public)
        let ann = try world.emulator.request(in: production, as: .user(world.ann))
        #expect(
            refusal { _ = try ann.queryRecords(RecordQuery(recordType: "Note")) }
                == "BAD_REQUEST Field 'recordName' is not marked queryable"
        )
        #expect(
            try ann.modifyRecords([.note(.create, "a")]).records.map(summary)
                == ["a! ACCESS_DENIED CREATE operation not permitted"]
        )
        try importSchema(
            "RECORD TYPE Note (title STRING QUERYABLE, GRANT READ TO \"_world\", GRANT CREATE TO \"_icloud\");"
        )
        #expect(
            try world.emulator.deploySchema(of: World.container).description
                == "~ Note.title gets the index QUERYABLE\n~ Note: _icloud may CREATE"
        )
    }

    @Test func resettingGivesDevelopmentTheSchemaOfProductionAndNoRecords() throws {
        try importSchema("RECORD TYPE Note (title STRING);")
        try world.emulator.deploySchema(of: World.container)
        try importSchema("RECORD TYPE Note (title STRING, stars INT64); RECORD TYPE Other (f STRING);")
        try world.modify(.note(.create, "a", ["stars": 1]))
        _ = try world.modify([.note(.create, "b")], zoneID: nil)
        #expect(
            try world.emulator.resetSchema(of: World.container).description == """
                ! Note.stars is dropped: production does not drop fields
                ! record type Other is dropped: production does not drop record types
                """
        )
        #expect(
            try world.emulator.schema(of: World.container, in: .development)
                == world.emulator.schema(of: World.container, in: .production)
        )
        #expect(try world.asAnn().zones().zones.compactMap { try? $0.get().zoneID.zoneName } == ["_defaultZone"])
        #expect(
            try world.asAnn().lookupRecords([RecordLookup(recordName: "b")]).records.map(summary) == [
                "b! NOT_FOUND Record not found"
            ]
        )
        #expect(
            refusal { try world.asAnn().fetchRecordChanges(ZoneChangesRequest(zoneID: World.notes)) }
                .hasPrefix("ZONE_NOT_FOUND")
        )
    }

    @Test func aSchemaOutlivesTheProcess() throws {
        try withTemporaryFolder { folder in
            let file = EmulatorStorage.file(path: folder.appending(path: "emulator.sqlite").path)
            let text = "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);"
            let first = try CloudKitEmulator(storage: file)
            try first.importSchema(ContainerSchema(parsing: text), into: World.container)
            try first.close()
            let second = try CloudKitEmulator(storage: file)
            let schema = try second.schema(of: World.container, in: .development)
            #expect(SchemaComparison(from: try ContainerSchema(parsing: text), to: schema).isEmpty)
        }
    }
}

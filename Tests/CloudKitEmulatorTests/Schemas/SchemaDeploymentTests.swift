import CloudKitEmulator
import CloudKitModel
import CloudKitSchema
import Testing

/// Production accepts the types and fields that were deployed from development.
struct SchemaDeploymentTests {
    private let production = DatabaseAddress(World.container, .production, .private)

    private func modify(_ world: World, _ operations: RecordOperation..., in address: DatabaseAddress) throws
        -> [String]
    {
        try world.emulator.request(in: address, as: .user(world.ann)).modifyRecords(operations).records.map(summary)
    }

    private func find(_ world: World, _ query: RecordQuery) throws -> [String?] {
        try world.emulator.request(in: production, as: .user(world.ann)).queryRecords(query).records.map {
            try $0.get().recordName
        }
    }

    @Test func productionRefusesWhatWasNotDeployed() throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["title": "x"]))
        #expect(
            try modify(world, .note(.create, "a", ["title": "x"]), in: production)
                == ["a! BAD_REQUEST Cannot create new type 'Note' in production schema"]
        )
        #expect(
            refusal { try find(world, RecordQuery(recordType: "Note")) } == "BAD_REQUEST Did not find record type: Note"
        )
        try world.emulator.deploySchema(of: World.container)
        #expect(
            try modify(
                world,
                .note(.create, "a", ["title": "x"]),
                .note(.create, "b", ["title": "y", "stars": 1]),
                .note(.create, "c", ["stars": .null]),
                in: production
            ) == [
                #"a@1 {"title":{"value":"x","type":"STRING"}}"#,
                "b! BAD_REQUEST Cannot create or modify field 'stars' in record 'Note' in production schema",
                "c! BAD_REQUEST Cannot create or modify field 'stars' in record 'Note' in production schema",
            ]
        )
        #expect(try find(world, RecordQuery(recordType: "Note")) == ["a"])
    }

    @Test func aDeploymentAddsAndCanBeRepeated() throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["title": "x"]))
        #expect(try world.emulator.deploySchema(of: World.container).description == "+ record type Note (title)")
        #expect(try world.emulator.deploySchema(of: World.container).isEmpty)
        _ = try modify(world, .note(.create, "a", ["title": "x"]), in: production)

        try world.modify(.note(.create, "b", ["stars": 2, "tags": .stringList(["t"])]))
        #expect(
            try world.emulator.deploySchema(of: World.container).description
                == "+ Note.stars INT64 QUERYABLE SORTABLE\n+ Note.tags LIST<STRING> QUERYABLE SEARCHABLE"
        )
        _ = try modify(world, .note(.create, "b", ["stars": 2, "tags": .stringList(["t"])]), in: production)
        // Older records, which lack the field, are found in its order.
        #expect(try find(world, RecordQuery(recordType: "Note", sorts: [QuerySort("stars")])) == ["a", "b"])
        #expect(try world.emulator.deploySchema(of: "iCloud.com.example.unused").isEmpty)
    }

    @Test func aFieldOfAnotherTypeIsNotDeployed() throws {
        let world = try World { $0.productionSchema = .extendedByWrites }
        #expect(
            try modify(world, .note(.create, "a", ["n": "text"]), in: production)
                == [#"a@1 {"n":{"value":"text","type":"STRING"}}"#]
        )
        try world.modify(.note(.create, "a", ["m": 1, "n": 1]))
        #expect(
            refusal { try world.emulator.deploySchema(of: World.container) }
                == "BAD_REQUEST ! Note.n changes from STRING to INT64: production does not change the type of a field"
        )
        // Nothing was deployed.
        try world.modify(.note(.create, "b", ["o": 1]))
        #expect(refusal { try find(world, RecordQuery(recordType: "Note", sorts: [QuerySort("m")])) } != "accepted")
    }

    @Test func sharesNeedNoDeployment() throws {
        let world = try World()
        try world.modify(.note(.create, "root"))
        try world.emulator.deploySchema(of: World.container)
        _ = try world.emulator.request(in: production, as: .user(world.ann)).modifyZones([
            ZoneOperation(.create, zone: Zone(zoneID: World.notes))
        ])
        let share: Record = try value(
            #"{"recordType":"cloudkit.share","recordName":"share","fields":{"cloudkit.title":{"value":"x","type":"STRING"}},"#
                + #""forRecord":{"recordName":"root","recordChangeTag":"1"}}"#
        )
        let results = try world.emulator.request(in: production, as: .user(world.ann)).modifyRecords(
            [.note(.create, "root"), RecordOperation(.create, record: share)],
            zoneID: World.notes
        ).records
        #expect(results.map(summary).filter { $0.contains("!") } == [])
    }
}

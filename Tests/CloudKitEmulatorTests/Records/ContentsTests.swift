import CloudKitEmulator
import CloudKitModel
import CloudKitSchema
import Testing

/// The numbers of records, and what deletes them all.
struct ContentsTests {
    private let world: World

    init() throws {
        world = try World()
    }

    @Test func aResetDeletesTheRecordsOfOneEnvironment() throws {
        let emulator = world.emulator
        let create = RecordOperation(.create, record: Record(recordType: "Note"))
        let deleted = RecordOperation(.forceDelete, record: Record(recordName: "gone"))
        let other = DatabaseAddress("iCloud.other", .development, .private)
        for database in [world.publicDatabase, other] {
            _ = try emulator.request(in: database, as: .user(world.ann)).modifyRecords([
                create, create, RecordOperation(.create, record: Record(recordType: "Note", recordName: "gone")),
            ])
            _ = try emulator.request(in: database, as: .user(world.ann)).modifyRecords([deleted])
        }
        let schema = try emulator.schema(of: World.container, in: .development)
        let counts = try emulator.recordCounts()
        #expect(counts.map(\.container) == [World.container, "iCloud.other"].sorted())
        #expect(counts.map(\.records) == [2, 2])
        #expect(Set(counts.map(\.owner)) == [nil, world.ann])
        #expect(try emulator.resetContents(of: World.container, in: .production) == 0)
        #expect(try emulator.recordCounts() == counts)
        #expect(try emulator.resetContents(of: World.container, in: .development) == 2)
        #expect(try emulator.recordCounts().map(\.container) == ["iCloud.other"])
        #expect(try emulator.schema(of: World.container, in: .development) == schema)
        let names = try emulator.request(in: world.publicDatabase, as: .user(world.ann)).zones().zones.count
        #expect(names == 1)
    }

    @Test func checkingAnImportChangesNothing() throws {
        let emulator = world.emulator
        let before = try emulator.schema(of: World.container, in: .development)
        let schema = try ContainerSchema(parsing: "DEFINE SCHEMA RECORD TYPE Other (title STRING);")
        try emulator.checkImport(of: schema, into: World.container)
        #expect(try emulator.schema(of: World.container, in: .development) == before)
        try emulator.importSchema(schema, into: World.container)
        _ = try emulator.request(in: world.privateDatabase, as: .user(world.ann))
            .modifyRecords([RecordOperation(.create, record: Record(recordType: "Other", fields: ["title": "x"]))])
        let empty = try ContainerSchema(parsing: "DEFINE SCHEMA")
        let error = try #require(throws: EmulatorError.self) {
            try emulator.checkImport(of: empty, into: World.container)
        }
        #expect(error.reason == "record type Other is dropped, but 1 record has values of it")
    }
}

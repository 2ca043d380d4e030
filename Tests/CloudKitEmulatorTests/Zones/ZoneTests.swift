import CloudKitEmulator
import CloudKitModel
import Testing

struct ZoneTests {
    private func modify(_ world: World, _ type: ZoneOperation.OperationType, _ names: String...) throws -> [String] {
        try world.asAnn().modifyZones(names.map { ZoneOperation(type, zone: Zone(zoneID: ZoneID(zoneName: $0))) }).map(
            summary
        )
    }

    private func names(_ world: World, _ address: DatabaseAddress? = nil) throws -> [String] {
        let address = address ?? world.privateDatabase
        return try world.emulator.request(in: address, as: .user(world.ann)).zones().zones.map(summary)
    }

    @Test func databasesBeginWithTheirDefaultZone() throws {
        let world = try World()
        #expect(try names(world) == ["_defaultZone", "Notes"])
        #expect(try names(world, world.publicDatabase) == ["_defaultZone"])
        #expect(try names(world, world.sharedDatabase) == [])
        // Each environment has its own zones.
        #expect(try names(world, DatabaseAddress(World.container, .production, .private)) == ["_defaultZone"])
    }

    @Test func aListHasZoneIDsAlone() throws {
        let world = try World()
        let page = try world.asAnn().zones()
        #expect(
            page.zones.map(text) == [
                #"{"zoneID":{"zoneName":"_defaultZone","ownerRecordName":"\#(world.ann)","zoneType":"DEFAULT_ZONE"}}"#,
                #"{"zoneID":{"zoneName":"Notes","ownerRecordName":"\#(world.ann)","zoneType":"REGULAR_CUSTOM_ZONE"}}"#,
            ]
        )
        #expect(!page.syncToken.isEmpty)
        let lookup = try world.asAnn().lookupZones([World.notes])
        #expect(try lookup.map { try $0.get().isAtomic } == [true])
        #expect(try lookup.allSatisfy { try $0.get().syncToken?.isEmpty == false })
    }

    @Test func aZoneIsDescribedWithOwnerTypeAndToken() throws {
        let world = try World { $0.unsettled.zonesInList = .whole }
        let page = try world.asAnn().zones()
        let zones = try page.zones.map { try $0.get() }
        #expect(
            zones.map(\.zoneID) == [
                ZoneID(zoneName: "_defaultZone", ownerRecordName: world.ann, zoneType: .defaultZone),
                ZoneID(zoneName: "Notes", ownerRecordName: world.ann, zoneType: .regularCustomZone),
            ]
        )
        #expect(zones.map(\.isAtomic) == [false, true])
        #expect(zones.allSatisfy { $0.syncToken?.isEmpty == false })
        #expect(!page.moreComing)
    }

    @Test func everyOperationOfABatchIsTried() throws {
        let world = try World()
        #expect(
            try modify(world, .create, "A", "_bad", "B", "Notes", "é") == [
                "A", "_bad! BAD_REQUEST", "B", "Notes", "é! BAD_REQUEST",
            ]
        )
        #expect(
            try modify(world, .delete, "A", "missing", "_defaultZone") == [
                "A deleted", "missing! ZONE_NOT_FOUND", "_defaultZone! BAD_REQUEST",
            ]
        )
        #expect(try names(world) == ["_defaultZone", "Notes", "B"])
        let strict = try World { $0.unsettled.createExistingZone = .exists }
        #expect(try modify(strict, .create, "Notes") == ["Notes! EXISTS"])
    }

    @Test func zonesFollowTheirLimits() throws {
        let world = try World { $0.limits.zonesPerDatabase = 3 }
        let long = String(repeating: "z", count: 255)
        #expect(
            try modify(world, .create, long, long + "z", "fourth") == [
                long, long + "z! BAD_REQUEST", "fourth! BAD_REQUEST",
            ]
        )
        #expect(refusal { try modify(world, .create, "X", "X") } == "BAD_REQUEST more than one operation on zone 'X'")
    }

    @Test func onlyPrivateDatabasesHaveCustomZones() throws {
        let world = try World()
        for (address, name) in [(world.publicDatabase, "publicdb"), (world.sharedDatabase, "sharedb")] {
            #expect(
                refusal {
                    try world.emulator.request(in: address, as: .user(world.ann)).modifyZones([
                        ZoneOperation(.create, zone: Zone(zoneID: World.notes))
                    ])
                } == "BAD_REQUEST endpoint not applicable in the database type '\(name)'"
            )
        }
    }

    @Test func zonesAreLookedUpInOrder() throws {
        let world = try World()
        func lookup(_ zoneIDs: ZoneID...) throws -> [String] {
            try world.asAnn().lookupZones(zoneIDs).map(summary)
        }
        #expect(
            try lookup(World.notes, ZoneID(zoneName: "missing"), .default, ZoneID(zoneName: "notes"))
                == ["Notes", "missing! ZONE_NOT_FOUND", "_defaultZone", "notes! ZONE_NOT_FOUND"]
        )
        #expect(
            try lookup(
                ZoneID(zoneName: "Notes", ownerRecordName: world.ann),
                ZoneID(zoneName: "Notes", ownerRecordName: "_defaultOwner"),
                ZoneID(zoneName: "Notes", ownerRecordName: world.ben),
                try value(#"{"zoneName":"Notes","ownerName":"\#(world.ann)"}"#)
            ) == ["Notes", "Notes", "Notes! ZONE_NOT_FOUND", "Notes"]
        )
    }

    @Test func aZoneThatIsNotThereFailsTheWholeRequest() throws {
        let world = try World()
        let missing = ZoneID(zoneName: "missing")
        let expected = "ZONE_NOT_FOUND Zone 'missing' does not exist"
        let (address, ann) = (world.privateDatabase, Caller.user(world.ann))
        #expect(
            refusal { try world.emulator.request(in: address, as: ann).modifyRecords([], zoneID: missing) } == expected
        )
        #expect(
            refusal { try world.emulator.request(in: address, as: ann).lookupRecords([], zoneID: missing) } == expected
        )
        #expect(
            refusal {
                try world.emulator.request(in: address, as: ann).queryRecords(
                    RecordQuery(recordType: "T"),
                    zoneID: missing
                )
            } == expected
        )
    }

    @Test func zonesOfTheSharedDatabaseNeedTheirOwner() throws {
        let world = try World()
        let expected = "BAD_REQUEST zoneID needs to have ownerRecordName field for calls to sharedb"
        for zoneID in [nil, World.notes] {
            #expect(
                refusal {
                    try world.asBen(in: .shared).modifyRecords([], zoneID: zoneID)
                } == expected
            )
        }
        #expect(
            refusal {
                try world.asBen(in: .shared).modifyRecords(
                    [],
                    zoneID: ZoneID(zoneName: "Notes", ownerRecordName: world.ann)
                )
            } == "ZONE_NOT_FOUND Zone 'Notes' does not exist"
        )
    }

    @Test func deletingAZoneDeletesItsRecordsAndItsIndex() throws {
        let world = try World()
        let operations: [RecordOperation] = [
            .note(.create, "a", ["n": 1, "p": .location(Location(latitude: 1, longitude: 1))]),
            .note(.create, "b", ["of": .reference(Reference(recordName: "a", action: .validate))]),
        ]
        try world.modify(operations)
        #expect(try modify(world, .delete, "Notes") == ["Notes deleted"])
        #expect(refusal { try world.contents() }.hasPrefix("ZONE_NOT_FOUND"))
        #expect(try modify(world, .create, "Notes") == ["Notes"])
        #expect(try world.contents() == [])
        #expect(try world.find(RecordQuery(recordType: "Note", sorts: [QuerySort("n")])) == [])
        #expect(try world.modify(.note(.create, "a")) == ["a@1 {}"])
        #expect(try world.modify(.note(.forceDelete, "a")) == ["a deleted"])
    }

    @Test func containersCanBeForRegisteredOnesOnly() throws {
        let emulator = try CloudKitEmulator(
            configuration: {
                var configuration = EmulatorConfiguration()
                configuration.containers = .registeredOnly
                return configuration
            }()
        )
        let address = DatabaseAddress("iCloud.known", .development, .public)
        #expect(
            refusal { try emulator.request(in: address, as: .anonymous).zones() }
                == "NOT_FOUND there is no container 'iCloud.known'"
        )
        try emulator.registerContainer("iCloud.known")
        #expect(try emulator.request(in: address, as: .anonymous).zones().zones.map(summary) == ["_defaultZone"])
    }
}

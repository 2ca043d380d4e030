import MistKit
import Testing

struct ZoneTests {
    private static let notes = ZoneID(zoneName: "Notes")

    @Test func fetchZonesReturnsTheZonesOfTheService() async throws {
        let transport = FakeTransport(
            json: """
                {"moreComing":false,"syncToken":"s","zones":[{"zoneID":{"zoneName":"_defaultZone"}},{"zoneID":\
                {"zoneName":"Notes","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"},"syncToken":"t","atomic":true}]}
                """,
            #"{"zones":[{"zoneID":{"zoneName":"Notes"},"serverErrorCode":"ACCESS_DENIED"}]}"#
        )
        let database = fakeService(transport).privateDatabase
        let zones = try await database.fetchZones()
        #expect(zones.map(\.zoneID.zoneName) == ["_defaultZone", "Notes"])
        #expect(zones[1].isAtomic == true)
        let error = try await failure { try await database.fetchZones() }
        #expect(error.code == .accessDenied)
        #expect(error.item == .zone(name: "Notes"))
        #expect(try transport.requests[0] == "GET private/zones/list")
    }

    @Test func oneZoneIsFetchedMadeAndDeletedOrThrows() async throws {
        let good = #"{"zones":[{"zoneID":{"zoneName":"Notes","ownerRecordName":"_o"},"atomic":true}]}"#
        let transport = FakeTransport(json: good)
        let database = fakeService(transport).privateDatabase
        #expect(try await database.fetchZone(Self.notes).zoneID.ownerRecordName == "_o")
        #expect(try await database.createZone("Notes").isAtomic == true)
        try await database.deleteZone(Self.notes)
        #expect(
            try transport.requests == [
                #"POST private/zones/lookup {"zones":[{"zoneName":"Notes"}]}"#,
                """
                POST private/zones/modify \
                {"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}}]}
                """,
                """
                POST private/zones/modify \
                {"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Notes"}}}]}
                """,
            ]
        )
        let bad = fakeService(
            FakeTransport(json: #"{"zones":[{"zoneID":{"zoneName":"Notes"},"serverErrorCode":"ZONE_NOT_FOUND"}]}"#)
        ).privateDatabase
        let errors = [
            try await failure { try await bad.fetchZone(Self.notes) },
            try await failure { try await bad.createZone("Notes") },
            try await failure { try await bad.deleteZone(Self.notes) },
        ]
        for error in errors {
            #expect(error.code == .zoneNotFound)
            #expect(error.item == .zone(name: "Notes"))
        }
    }

    @Test func zonesOfOneNameAndTwoOwnersAreNotMixedUp() async throws {
        let transport = FakeTransport(json: #"{"zones":[{"zoneID":{"zoneName":"Notes","ownerRecordName":"_bob"}}]}"#)
        let zones = ["_alice", "_bob"].map { ZoneID(zoneName: "Notes", ownerRecordName: $0) }
        let results = try await fakeService(transport).sharedDatabase.fetchZones(zones)
        #expect(results.map { try? $0.get().zoneID.ownerRecordName } == [nil, "_bob"])
    }

    @Test func manyZonesHaveOneResultEach() async throws {
        let transport = FakeTransport(
            json: """
                {"zones":[{"zoneID":{"zoneName":"A"}},{"zoneID":{"zoneName":"B"},"serverErrorCode":"EXISTS"}]}
                """,
            #"{"zones":[{"zoneID":{"zoneName":"B"}}]}"#
        )
        let database = fakeService(transport).privateDatabase
        #expect(try await database.createZones(["A", "B"]).map { summary($0) } == ["ok", "EXISTS B"])
        #expect(
            try await database.deleteZones([ZoneID(zoneName: "A"), ZoneID(zoneName: "B")]).map { summary($0) }
                == ["unexpectedResponse A", "ok"]
        )
        #expect(try await database.fetchZones([]).isEmpty)
        #expect(transport.sent.count == 2)
        let error = try await failure { try await database.createZone("") }
        #expect(error.code == .invalidArgument)
    }

    @Test func theCallerIsReadInBothForms() async throws {
        let transport = FakeTransport(
            json: #"{"userRecordName":"_a","nameComponents":{"givenName":"Ann"},"more":1}"#,
            #"{"users":[{"userRecordName":"_b"}]}"#
        )
        let service = fakeService(transport)
        let caller = try await service.fetchCaller()
        #expect(caller.userRecordName == "_a")
        #expect(caller.nameComponents?.givenName == "Ann")
        #expect(try await service.fetchCaller().userRecordName == "_b")
        #expect(try transport.requests[0] == "GET public/users/caller")
    }
}

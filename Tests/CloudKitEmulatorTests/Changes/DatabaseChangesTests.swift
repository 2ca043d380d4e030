import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

struct DatabaseChangesTests {
    private func changes(_ world: World, since token: String? = nil, limit: Int? = nil) throws -> ZonePage {
        try world.asAnn().fetchDatabaseChanges(since: token, resultsLimit: limit)
    }

    private func zones(_ world: World, _ type: ZoneOperation.OperationType, _ name: String) throws {
        _ = try world.asAnn().modifyZones([ZoneOperation(type, zone: Zone(zoneID: ZoneID(zoneName: name)))])
    }

    @Test func changedZonesComeInTheOrderOfTheirLastChange() throws {
        let world = try World()
        try zones(world, .create, "B")
        try zones(world, .create, "C")
        let start = try changes(world)
        #expect(start.zones.map(summary) == ["Notes", "B", "C"])
        #expect(try changes(world, since: start.syncToken).zones == [])
        try world.modify(.note(.create, "a"))
        try world.modify([.note(.create, "a")], zoneID: nil)
        let next = try changes(world, since: start.syncToken)
        #expect(next.zones.map(summary) == ["Notes"])
        #expect(try changes(world).zones.map(summary) == ["B", "C", "Notes"])
        // The zone's own token leads to its changes.
        let token = try next.zones[0].get().syncToken
        #expect(
            try world.asAnn().fetchRecordChanges(ZoneChangesRequest(zoneID: World.notes, syncToken: token)).records
                == []
        )
    }

    @Test func deletedZonesAreSaidToBe() throws {
        let world = try World()
        try zones(world, .create, "B")
        let start = try changes(world)
        try zones(world, .delete, "B")
        #expect(try changes(world, since: start.syncToken).zones.map(summary) == ["B deleted"])
        #expect(try changes(world).zones.map(summary) == ["Notes"])
        try zones(world, .create, "B")
        #expect(try changes(world, since: start.syncToken).zones.map(summary) == ["B"])
    }

    /// A client that made the only zone has such a token.
    @Test func aTokenFromBeforeTheFirstZoneLeadsToDeletedZones() throws {
        let ben = try World().asBen()
        let start = try ben.fetchDatabaseChanges(since: nil)
        #expect(start.zones == [])
        for type in [ZoneOperation.OperationType.create, .delete] {
            _ = try ben.modifyZones([ZoneOperation(type, zone: Zone(zoneID: ZoneID(zoneName: "B")))])
        }
        #expect(try ben.fetchDatabaseChanges(since: start.syncToken).zones.map(summary) == ["B deleted"])
        #expect(try ben.fetchDatabaseChanges(since: nil).zones == [])
    }

    @Test func aRefusedOrUndoneWriteIsNoChange() throws {
        let world = try World()
        let start = try changes(world)
        try world.modify(.note(.update, "a", tag: "1"))
        try world.modify(.note(.create, "a"), .note(.update, "b", tag: "1"), atomic: true)
        let after = try changes(world, since: start.syncToken)
        #expect(after.zones == [] && after.syncToken == start.syncToken && !after.moreComing)
    }

    @Test func zonesComeInPages() throws {
        let world = try World()
        for name in ["A", "B", "C"] { try zones(world, .create, name) }
        let first = try changes(world, limit: 3)
        #expect(first.zones.map(summary) == ["Notes", "A", "B"] && first.moreComing)
        let second = try changes(world, since: first.syncToken, limit: 3)
        #expect(second.zones.map(summary) == ["C"] && !second.moreComing)
    }

    @Test func tokensBelongToTheirFeedAndTheirDatabase() throws {
        let world = try World()
        let token = try changes(world).syncToken
        let unknown = "BAD_REQUEST Unknown sync continuation type"
        #expect(refusal { try changes(world, since: "garbage") } == unknown)
        let zoneToken = try changes(world).zones[0].get().syncToken
        #expect(refusal { try changes(world, since: zoneToken) } == unknown)
        #expect(
            refusal {
                try world.asBen().fetchDatabaseChanges(since: token)
            } == unknown
        )
        #expect(
            refusal {
                try world.asAnn(in: .public).fetchDatabaseChanges(since: nil)
            } == "BAD_REQUEST endpoint not applicable in the database type 'publicdb'"
        )
    }

    @Test func theDeprecatedListOfZonesHasTokensOfItsOwn() throws {
        let world = try World()
        func list(since token: String?) throws -> ZonePage {
            try world.asAnn().fetchZoneListChanges(since: token)
        }
        let first = try list(since: nil)
        #expect(first.zones.map(summary) == ["Notes"])
        #expect(try list(since: first.syncToken).zones == [])
        #expect(refusal { try changes(world, since: first.syncToken) } == "BAD_REQUEST Unknown sync continuation type")
    }
}

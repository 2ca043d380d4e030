import CloudKitEmulator
import CloudKitModel
import Testing

struct PagingTests {
    /// A world with 450 Notes whose `n` counts down, and whose `third` repeats 0, 1, 2.
    private func worldOf450() throws -> World {
        let world = try World()
        for start in stride(from: 0, to: 450, by: 150) {
            try world.modify(
                (start..<start + 150).map { index in
                    .note(.create, "r\(index)", ["n": .int64(Int64(450 - index)), "third": .int64(Int64(index % 3))])
                }
            )
        }
        return world
    }

    private func pages(_ world: World, _ query: RecordQuery, limit: Int? = nil, zoneWide: Bool = false) throws
        -> [[String]]
    {
        var pages: [[String]] = []
        var marker: String?
        repeat {
            let page = try world.asAnn().queryRecords(
                query,
                zoneID: zoneWide ? nil : World.notes,
                zoneWide: zoneWide,
                resultsLimit: limit,
                continuationMarker: marker
            )
            pages.append(page.records.map { $0.itemID ?? "?" })
            marker = page.continuationMarker
        } while marker != nil
        return pages
    }

    @Test func everyWayOfReadingGivesTheSamePages() throws {
        let world = try worldOf450()
        let third = QueryFilter("third", .in, .list([0, 1, 2] as [Int64]))
        let range = QueryFilter("n", .greaterThan, 0)
        let some = QueryFilter("third", .equals, 1)
        let queries = [
            RecordQuery(recordType: "Note"),
            RecordQuery(recordType: "Note", sorts: [QuerySort("n")]),
            RecordQuery(recordType: "Note", sorts: [QuerySort("n", ascending: false)]),
            RecordQuery(recordType: "Note", sorts: [QuerySort("third"), QuerySort("n")]),
            RecordQuery(recordType: "Note", sorts: [QuerySort("third", ascending: false), QuerySort("n")]),
            RecordQuery(recordType: "Note", filters: [third]),
            RecordQuery(recordType: "Note", filters: [third], sorts: [QuerySort("n")]),
            RecordQuery(recordType: "Note", filters: [range]),
            RecordQuery(recordType: "Note", filters: [range, third], sorts: [QuerySort("third"), QuerySort("n")]),
            RecordQuery(recordType: "Note", sorts: [QuerySort(system: .recordName)]),
            RecordQuery(recordType: "Note", sorts: [QuerySort(system: .createdTimestamp, ascending: false)]),
        ]
        for query in queries {
            let large = try pages(world, query)
            #expect(large.map(\.count) == [200, 200, 50])
            let all = large.flatMap(\.self)
            #expect(Set(all).count == 450)
            #expect(try pages(world, query, limit: 37).flatMap(\.self) == all)
            #expect(try pages(world, query, limit: 1000) == large)
        }
        #expect(try pages(world, RecordQuery(recordType: "Note", sorts: [QuerySort("n")]))[0].first == "r449")
        #expect(try pages(world, RecordQuery(recordType: "Note", filters: [some])).map(\.count) == [150])
        #expect(
            try pages(world, RecordQuery(recordType: "Note", filters: [some]), limit: 150).map(\.count) == [150]
        )
    }

    @Test func aPageCanBeAskedForAgainWithOtherOptions() throws {
        let world = try worldOf450()
        func page(_ query: RecordQuery, _ marker: String?, limit: Int) throws -> RecordPage {
            try world.asAnn().queryRecords(
                query,
                zoneID: World.notes,
                resultsLimit: limit,
                continuationMarker: marker,
                desiredKeys: []
            )
        }
        let query = RecordQuery(recordType: "Note", sorts: [QuerySort("n")])
        let first = try page(query, nil, limit: 3)
        let second = try page(query, first.continuationMarker, limit: 3)
        #expect(try page(query, first.continuationMarker, limit: 3) == second)
        #expect(
            try page(query, first.continuationMarker, limit: 2).records == Array(second.records.prefix(2))
        )
        let refused = "BAD_REQUEST Invalid continuation marker"
        #expect(refusal { try page(query, "garbage", limit: 3) } == refused)
        #expect(refusal { try page(query, "AAAA", limit: 3) } == refused)
        #expect(refusal { try page(RecordQuery(recordType: "Note"), first.continuationMarker, limit: 3) } == refused)
        #expect(
            refusal {
                try world.asAnn().queryRecords(query, continuationMarker: first.continuationMarker)
            } == refused
        )
        for limit in [0, -1] {
            #expect(refusal { try page(query, nil, limit: limit) } == "BAD_REQUEST resultsLimit must be positive")
        }
    }

    @Test func writesBetweenPagesNeitherRepeatNorHideOthers() throws {
        let world = try worldOf450()
        let query = RecordQuery(recordType: "Note", sorts: [QuerySort("n")])
        let first = try world.asAnn().queryRecords(query, zoneID: World.notes)
        // The last record of the page is deleted, another is created among the first ones, and a third at the end.
        try world.modify(
            .note(.forceDelete, first.records.last?.itemID),
            .note(.create, "early", ["n": 1]),
            .note(.create, "late", ["n": 1000])
        )
        let second = try world.asAnn().queryRecords(
            query,
            zoneID: World.notes,
            continuationMarker: first.continuationMarker
        )
        let third = try world.asAnn().queryRecords(
            query,
            zoneID: World.notes,
            continuationMarker: second.continuationMarker
        )
        let names = (first.records + second.records + third.records).map { $0.itemID ?? "?" }
        #expect(names == (0..<450).reversed().map { "r\($0)" } + ["late"])
    }

    @Test func zoneWideFindsRecordsOfAllZones() throws {
        let world = try World()
        let other = ZoneID(zoneName: "Other")
        _ = try world.asAnn().modifyZones([ZoneOperation(.create, zone: Zone(zoneID: other))])
        try world.modify([.note(.create, "a", ["n": 3])], zoneID: nil)
        try world.modify([.note(.create, "b", ["n": 1])], zoneID: World.notes)
        try world.modify([.note(.create, "c", ["n": 2])], zoneID: other)
        let sorted = RecordQuery(recordType: "Note", sorts: [QuerySort("n")])
        #expect(try pages(world, sorted, zoneWide: true) == [["b", "c", "a"]])
        #expect(try pages(world, sorted, limit: 1, zoneWide: true) == [["b"], ["c"], ["a"]])
        #expect(try pages(world, RecordQuery(recordType: "Note"), limit: 2, zoneWide: true) == [["a", "b"], ["c"]])
        #expect(
            try world.asAnn().queryRecords(sorted, zoneWide: true).records.map { try $0.get().zoneID?.zoneName } == [
                "Notes", "Other", "_defaultZone",
            ]
        )
        // With a zone beside `zoneWide`, only that zone is queried.
        #expect(
            try world.asAnn().queryRecords(sorted, zoneID: other, zoneWide: true).records.map(\.itemID) == ["c"]
        )
    }

    @Test func zoneWideFindsNothingWhereNothingIsShared() throws {
        let world = try World()
        try world.modify([.note(.create, "a", ["n": 3])], zoneID: World.notes)
        let query = RecordQuery(recordType: "Note", filters: [QueryFilter("n", .equals, 3)], sorts: [QuerySort("n")])
        #expect(try world.asBen(in: .shared).queryRecords(query, zoneWide: true).records.isEmpty)
    }
}

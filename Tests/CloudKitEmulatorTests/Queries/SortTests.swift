import CloudKitEmulator
import CloudKitModel
import MistTesting
import Testing

struct SortTests {
    private func order(_ items: Items, _ sorts: QuerySort..., filters: [QueryFilter] = []) throws -> String {
        items.refusalOrValue {
            try items.world.find(RecordQuery(recordType: "Item", filters: filters, sorts: sorts)).joined(separator: " ")
        }
    }

    @Test func recordsWithoutTheFieldStandBeforeAllOthers() throws {
        let items = try Items()
        #expect(try order(items, QuerySort("count")) == "r5 r4 r1 r2 r3")
        #expect(try order(items, QuerySort("count", ascending: false)) == "r3 r2 r1 r4 r5")
        #expect(try order(items, QuerySort("price")) == "r5 r3 r4 r1 r2")
        #expect(try order(items, QuerySort("when")) == "r5 r3 r4 r1 r2")
        #expect(try order(items, QuerySort("name")) == "r5 r4 r1 r3 r2")
        #expect(try order(items, QuerySort("link")) == "r4 r5 r1 r3 r2")
    }

    @Test func laterSortsDecideWhatTheFirstFindsEqual() throws {
        let items = try Items()
        #expect(try order(items, QuerySort("link"), QuerySort("count", ascending: false)) == "r4 r5 r3 r1 r2")
        #expect(try order(items, QuerySort("link", ascending: false), QuerySort("name")) == "r2 r1 r3 r5 r4")
    }

    @Test func queriesSortByDistance() throws {
        let items = try Items()
        let here = Location(latitude: 59.9, longitude: 10.7)
        #expect(try order(items, QuerySort("place", distanceFrom: here)) == "r1 r2 r3 r4 r5")
        #expect(try order(items, QuerySort("place", distanceFrom: here, ascending: false)) == "r5 r4 r3 r2 r1")
    }

    @Test func queriesSortBySystemFields() throws {
        let items = try Items()
        items.world.clock.advance(by: 60)
        try items.world.modify(
            RecordOperation(.forceUpdate, record: Record(recordType: "Item", recordName: "r2"))
        )
        #expect(try order(items) == "r1 r2 r3 r4 r5")
        #expect(try order(items, QuerySort(system: .createdTimestamp, ascending: false)) == "r5 r4 r3 r2 r1")
        #expect(try order(items, QuerySort(system: .modifiedTimestamp)) == "r1 r3 r4 r5 r2")
        #expect(try order(items, QuerySort(system: .recordName, ascending: false)) == "r5 r4 r3 r2 r1")
        #expect(try order(items, QuerySort(system: .createdUserRecordName)) == "r1 r2 r3 r4 r5")
    }

    @Test func aFilterAndASortWorkTogether() throws {
        let items = try Items()
        let red = QueryFilter("tags", .listContains, "red")
        #expect(try order(items, QuerySort("price"), filters: [red]) == "r3 r1 r2")
        let positive = QueryFilter("count", .greaterThan, 0)
        #expect(try order(items, QuerySort("count", ascending: false), filters: [positive]) == "r3 r2 r1")
        #expect(try order(items, QuerySort("price"), filters: [positive]) == "r3 r1 r2")
        #expect(try order(items, filters: [positive]) == "r1 r2 r3")
    }

    @Test func whatCannotBeSortedByIsSaid() throws {
        let items = try Items()
        for field in ["tags", "picture", "data", "place"] {
            #expect(try order(items, QuerySort(field)) == "BAD_REQUEST Field '\(field)' is not marked sortable")
        }
        #expect(try order(items, QuerySort("nothing")) == "BAD_REQUEST Unknown field 'nothing'")
        #expect(try order(items, QuerySort("secret")) == "r1 r2 r3 r4 r5")
    }
}

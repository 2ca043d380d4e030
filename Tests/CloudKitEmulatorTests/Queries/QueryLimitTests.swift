import CloudKitEmulator
import CloudKitModel
import Foundation
import Testing

/// A query beyond the limits is refused with the service's texts, not with an internal error.
struct QueryLimitTests {
    private func world() throws -> World {
        let world = try World()
        try world.modify(
            .note(
                .create,
                "a",
                [
                    "tags": .stringList(["x"]), "place": .location(Location(latitude: 1, longitude: 2)),
                    "at": .timestamp(Date(timeIntervalSince1970: 0)),
                ]
            )
        )
        return world
    }

    private func refused(_ field: String, _ comparator: QueryFilter.Comparator, _ wanted: FieldValue) throws -> String {
        let world = try world()
        return refusal {
            try world.find(RecordQuery(recordType: "Note", filters: [QueryFilter(field, comparator, wanted)]))
        }
    }

    @Test func listsOfWantedMembersAreHeldToTheLimitOfIn() throws {
        let values = FieldValue.stringList((0..<40_000).map { "\($0)" })
        for comparator in [QueryFilter.Comparator.listContainsAny, .listContainsAll, .notListContainsAny] {
            #expect(try refused("tags", comparator, values).hasPrefix("BAD_REQUEST"))
        }
    }

    @Test func timesBeyondMillisecondsOf64BitsAreRefused() throws {
        let wanted = FieldValue.timestamp(Date(timeIntervalSince1970: 1e297))
        #expect(try refused("at", .lessThan, wanted) == "BAD_REQUEST Invalid value, expected type TIMESTAMP.")
    }

    @Test func placesOffTheEarthAreRefused() throws {
        let world = try world()
        let nowhere = FieldValue.location(Location(latitude: 1e308, longitude: 0))
        var sort = QuerySort("place")
        sort.relativeLocation = nowhere
        let query = RecordQuery(recordType: "Note", sorts: [sort])
        #expect(
            refusal { try world.find(query) }
                == "BAD_REQUEST Invalid value, expected type LOCATION."
        )
    }
}

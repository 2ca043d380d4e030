import Foundation
import MistKit
import Testing

struct QueryTests {
    @Test func aQueryPrintsAsTheJSONThatItBecomes() {
        let query = Query(
            recordType: "User",
            filters: [.equals("status", "active"), Filter("age", .greaterThan, 18)],
            sorts: [Sort("lastName"), .descending(.createdTimestamp)]
        )
        #expect(
            "\(query)" == """
                {"recordType":"User",\
                "filterBy":[\
                {"fieldName":"status","comparator":"EQUALS","fieldValue":{"value":"active","type":"STRING"}},\
                {"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}}],\
                "sortBy":[{"fieldName":"lastName","ascending":true},\
                {"systemFieldName":"createdTimestamp","ascending":false}]}
                """
        )
        #expect("\(Query(recordType: "User"))" == #"{"recordType":"User"}"#)
    }

    @Test func everyComparatorHasItsForm() {
        let filters: [Filter<Record>] = [
            .equals("f", 1), .notEquals("f", 1), .lessThan("f", 1), .lessThanOrEquals("f", 1), .greaterThan("f", 1),
            .greaterThanOrEquals("f", 1), .near("f", Location(latitude: 1, longitude: 2), within: 3),
            .containsAllTokens("f", "a b"), .containsAnyTokens("f", "a b"), .in("f", .list(["a"])),
            .notIn("f", .list([1])), .listContains("f", 1), .notListContains("f", 1),
            .listContainsAny("f", .list(["a"])), .notListContainsAny("f", .list(["a"])),
            .listContainsAll("f", .list(["a"])), .notListContainsAll("f", .list(["a"])), .beginsWith("f", "a"),
            .notBeginsWith("f", "a"), .listMemberBeginsWith("f", "a"), .notListMemberBeginsWith("f", "a"),
        ]
        #expect(filters.map(\.queryFilter.comparator) == QueryFilter.Comparator.all)
        #expect(filters.allSatisfy { $0.queryFilter.fieldName == "f" })
    }

    @Test func placesAndSystemFieldsAreWrittenTheirWay() {
        let oslo = Location(latitude: 59.9, longitude: 10.7)
        let creator = FieldValue.reference(Reference(recordName: "_a"))
        let name = "place"
        let texts = [
            "\(Filter.near("place", oslo, within: 5000))", "\(Filter(name, .near, .location(oslo)))",
            "\(Filter.equals(.createdUserRecordName, creator))",
            "\(Filter.greaterThan(.modifiedTimestamp, .timestamp(Date(timeIntervalSince1970: 1.5))))",
            "\(Sort(name, distanceFrom: oslo))", "\(Sort(name))", "\(Sort.ascending(.recordName))",
        ]
        #expect(
            texts == [
                """
                {"fieldName":"place","comparator":"NEAR",\
                "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":5000.0}
                """,
                """
                {"fieldName":"place","comparator":"NEAR",\
                "fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"}}
                """,
                """
                {"systemFieldName":"createdUserRecordName","comparator":"EQUALS",\
                "fieldValue":{"value":{"recordName":"_a","action":"NONE"},"type":"REFERENCE"}}
                """,
                """
                {"systemFieldName":"modifiedTimestamp","comparator":"GREATER_THAN",\
                "fieldValue":{"value":1500,"type":"TIMESTAMP"}}
                """,
                """
                {"fieldName":"place","ascending":true,\
                "relativeLocation":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"}}
                """,
                #"{"fieldName":"place","ascending":true}"#, #"{"systemFieldName":"recordName","ascending":true}"#,
            ]
        )
    }
}

import Foundation
import MistKit
import Testing

struct QueryTests {
    @Test func aQueryPrintsAsTheJSONThatItBecomes() {
        let query = Query(
            recordType: "User",
            filters: [Filter("status", .equals, "active"), Filter("age", .greaterThan, 18)],
            sorts: [Sort("lastName"), Sort(.createdTimestamp, ascending: false)]
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
        for comparator in QueryFilter.Comparator.allCases {
            #expect(
                "\(Filter("f", comparator, 1))"
                    == #"{"fieldName":"f","comparator":"\#(comparator.rawValue)","fieldValue":{"value":1,"type":"INT64"}}"#
            )
        }
    }

    @Test func placesAndSystemFieldsAreWrittenTheirWay() {
        let oslo = Location(latitude: 59.9, longitude: 10.7)
        let creator = FieldValue.reference(Reference(recordName: "_a"))
        let name = "place"
        let texts = [
            "\(Filter("place", within: .metres(5000), of: oslo))", "\(Filter(name, .near, .location(oslo)))",
            "\(Filter(.createdUserRecordName, .equals, creator))",
            "\(Filter(.modifiedTimestamp, .greaterThan, .timestamp(Date(timeIntervalSince1970: 1.5))))",
            "\(Sort(name, distanceFrom: oslo))", "\(Sort(name))", "\(Sort(.recordName))",
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

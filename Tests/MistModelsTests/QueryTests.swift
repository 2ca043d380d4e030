import Foundation
import MistModels
import Testing

@CloudKitRecord
struct Person: Hashable {
    var name: String
    var age: Int?
    var rating: Double
    var status: Status
    var born: Date
    var home: Location?
    var boss: RecordReference<Person>?
    @CloudKitField("labels") var tags: [String] = []
    var isMember: Bool
    @CloudKitField(.encrypted) var secret: String?
}

/// The JSON of typed queries.
struct QueryTests {
    private static let day = Date(timeIntervalSince1970: 1_767_225_600)
    private static let here = Location(latitude: 59.9, longitude: 10.7)

    @Test func comparisonsBecomeFilters() {
        let cases: [(Filter<Person>, String)] = [
            (Filter(\.age == 18), #""age","comparator":"EQUALS","fieldValue":{"value":18,"type":"INT64"}"#),
            (Filter(\.name != "a"), #""name","comparator":"NOT_EQUALS","fieldValue":{"value":"a","type":"STRING"}"#),
            (Filter(\.rating < 2), #""rating","comparator":"LESS_THAN","fieldValue":{"value":2.0,"type":"DOUBLE"}"#),
            (Filter(\.age <= 2), #""age","comparator":"LESS_THAN_OR_EQUALS","fieldValue":{"value":2,"type":"INT64"}"#),
            (
                Filter(\.born > Self.day),
                #""born","comparator":"GREATER_THAN","fieldValue":{"value":1767225600000,"type":"TIMESTAMP"}"#
            ),
            (
                Filter(\.age >= 2),
                #""age","comparator":"GREATER_THAN_OR_EQUALS","fieldValue":{"value":2,"type":"INT64"}"#
            ),
            (
                Filter(\.status == .active),
                #""status","comparator":"EQUALS","fieldValue":{"value":"active","type":"STRING"}"#
            ),
            (Filter(\.isMember == true), #""isMember","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}"#),
            (
                Filter(\.boss == RecordReference(recordName: "b")),
                #""boss","comparator":"EQUALS","fieldValue":{"value":{"recordName":"b","action":"NONE"},"type":"REFERENCE"}"#
            ),
            (
                Filter(\.status, in: [.active, .suspended]),
                #""status","comparator":"IN","fieldValue":{"value":["active","suspended"],"type":"STRING_LIST"}"#
            ),
            (Filter(\.age, notIn: [1]), #""age","comparator":"NOT_IN","fieldValue":{"value":[1],"type":"INT64_LIST"}"#),
            (
                Filter(\.name, beginsWith: "M"),
                #""name","comparator":"BEGINS_WITH","fieldValue":{"value":"M","type":"STRING"}"#
            ),
            (
                Filter(\.name, doesNotBeginWith: "M"),
                #""name","comparator":"NOT_BEGINS_WITH","fieldValue":{"value":"M","type":"STRING"}"#
            ),
            (
                Filter(\.name, containsAllTokens: "a b"),
                #""name","comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"a b","type":"STRING"}"#
            ),
            (
                Filter(\.name, containsAnyToken: "a b"),
                #""name","comparator":"CONTAINS_ANY_TOKENS","fieldValue":{"value":"a b","type":"STRING"}"#
            ),
            (
                Filter(\.tags, contains: "a"),
                #""labels","comparator":"LIST_CONTAINS","fieldValue":{"value":"a","type":"STRING"}"#
            ),
            (
                Filter(\.tags, doesNotContain: "a"),
                #""labels","comparator":"NOT_LIST_CONTAINS","fieldValue":{"value":"a","type":"STRING"}"#
            ),
            (
                Filter(\.tags, containsAny: ["a"]),
                #""labels","comparator":"LIST_CONTAINS_ANY","fieldValue":{"value":["a"],"type":"STRING_LIST"}"#
            ),
            (
                Filter(\.tags, doesNotContainAny: ["a"]),
                #""labels","comparator":"NOT_LIST_CONTAINS_ANY","fieldValue":{"value":["a"],"type":"STRING_LIST"}"#
            ),
            (
                Filter(\.tags, containsAll: ["a"]),
                #""labels","comparator":"LIST_CONTAINS_ALL","fieldValue":{"value":["a"],"type":"STRING_LIST"}"#
            ),
            (
                Filter(\.tags, doesNotContainAll: ["a"]),
                #""labels","comparator":"NOT_LIST_CONTAINS_ALL","fieldValue":{"value":["a"],"type":"STRING_LIST"}"#
            ),
            (
                Filter(\.tags, memberBeginsWith: "a"),
                #""labels","comparator":"LIST_MEMBER_BEGINS_WITH","fieldValue":{"value":"a","type":"STRING"}"#
            ),
            (
                Filter(\.tags, noMemberBeginsWith: "a"),
                #""labels","comparator":"NOT_LIST_MEMBER_BEGINS_WITH","fieldValue":{"value":"a","type":"STRING"}"#
            ),
            (
                Filter(\.home, within: .kilometres(0.5), of: Self.here),
                #""home","comparator":"NEAR","fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":500.0"#
            ),
        ]
        for (filter, text) in cases { #expect(filter.description == #"{"fieldName":\#(text)}"#) }
        let comparators = Set(cases.map(\.0.queryFilter.comparator))
        #expect(comparators == Set(QueryFilter.Comparator.allCases))
    }

    @Test func queriesFilterAndSortBySystemFields() {
        #expect(
            Filter<Person>(\.createdTimestamp >= Self.day).description
                == #"{"systemFieldName":"createdTimestamp","comparator":"GREATER_THAN_OR_EQUALS","fieldValue":{"value":1767225600000,"type":"TIMESTAMP"}}"#
        )
        #expect(
            Filter<Person>(\.createdUserRecordName == "_abc").queryFilter
                == QueryFilter(system: .createdUserRecordName, .equals, .reference(Reference(recordName: "_abc")))
        )
        let two = FieldValue.referenceList([Reference(recordName: "a"), Reference(recordName: "b")])
        #expect(
            Filter<Person>(\.recordName, in: ["a", "b"]).queryFilter == QueryFilter(system: .recordName, .in, two)
        )
        #expect(
            Filter<Person>(\.recordName, notIn: ["a", "b"]).queryFilter == QueryFilter(system: .recordName, .notIn, two)
        )
        #expect(
            Sort<Person>(\.modifiedTimestamp, ascending: false).description
                == #"{"systemFieldName":"modifiedTimestamp","ascending":false}"#
        )
    }

    @Test func aQueryIsBuiltOfConditionsAndLoops() {
        func query(age: Int?, tags: [String], newest: Bool) -> Query<Person> {
            Query<Person> {
                Filter(\.status == .active)
                if let age { Filter(\.age > age) }
                for tag in tags { Filter(\.tags, contains: tag) }
                if newest {
                    Sort(\.born, ascending: false)
                } else {
                    Sort(\.home, distanceFrom: Self.here)
                }
                Sort(\.name)
            }
        }
        #expect(
            query(age: 18, tags: ["a", "b"], newest: true).description
                == #"{"recordType":"Person","filterBy":["#
                + #"{"fieldName":"status","comparator":"EQUALS","fieldValue":{"value":"active","type":"STRING"}},"#
                + #"{"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}},"#
                + #"{"fieldName":"labels","comparator":"LIST_CONTAINS","fieldValue":{"value":"a","type":"STRING"}},"#
                + #"{"fieldName":"labels","comparator":"LIST_CONTAINS","fieldValue":{"value":"b","type":"STRING"}}],"#
                + #""sortBy":[{"fieldName":"born","ascending":false},{"fieldName":"name","ascending":true}]}"#
        )
        #expect(
            query(age: nil, tags: [], newest: false).description
                == #"{"recordType":"Person","filterBy":["#
                + #"{"fieldName":"status","comparator":"EQUALS","fieldValue":{"value":"active","type":"STRING"}}],"#
                + #""sortBy":[{"fieldName":"home","ascending":true,"#
                + #""relativeLocation":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"}},"#
                + #"{"fieldName":"name","ascending":true}]}"#
        )
        #expect(Query<Person>().description == #"{"recordType":"Person"}"#)
    }

    @Test func namesInThePlaceOfKeyPathsGiveTheSameQuery() {
        let typed = Query<Person> {
            Filter(\.age > 18)
            Sort(\.name)
        }
        let named = Query(recordType: "Person") {
            Filter("age", .greaterThan, 18)
            Sort("name")
        }
        #expect(typed.recordQuery == named.recordQuery)
        #expect(
            named == Query(recordType: "Person", filters: [Filter("age", .greaterThan, 18)], sorts: [Sort("name")])
        )
    }

    @Test func aTypeHasASchemaAndItsKeys() {
        #expect(Person.recordType == "Person")
        #expect(Person.desiredKeys.suffix(3) == ["labels", "isMember", "secret"])
        #expect(
            Feed.schema.description == """
                Feed
                  feedURL      STRING QUERYABLE
                  title        STRING
                  summary      STRING
                  category     STRING QUERYABLE
                  qualityScore INT64 QUERYABLE SORTABLE
                  isActive     INT64
                  tags         STRING_LIST
                  lastFetched  TIMESTAMP
                """
        )
        #expect(
            Person.schema.fields.last == RecordSchema.Field(name: "secret", type: .string, isEncrypted: true)
        )
        #expect(Everything.schema.fields.first { $0.name == "settings" }?.type == .string)
    }
}

import CloudKitModel
import Foundation
import Testing

@testable import MistKitCLI

struct QueryExpressionTests {
    static let minute = Date(timeIntervalSince1970: 60)
    static let user = Reference(recordName: "_a")

    @Test(arguments: [
        ("rating > 3", QueryFilter("rating", .greaterThan, 3)),
        ("rating>=3", QueryFilter("rating", .greaterThanOrEquals, 3)),
        ("title == Hello world", QueryFilter("title", .equals, "Hello world")),
        ("title = \"3\"", QueryFilter("title", .equals, "3")),
        ("title == 'this and that == those'", QueryFilter("title", .equals, "this and that == those")),
        ("title == Salt and pepper", QueryFilter("title", .equals, "Salt and pepper")),
        ("status in 'a, b'", QueryFilter("status", .in, .list(["a", "b"]))),
        ("title:STRING == 3", QueryFilter("title", .equals, "3")),
        ("title != ''", QueryFilter("title", .notEquals, "")),
        ("title begins_with He", QueryFilter("title", .beginsWith, "He")),
        ("tags LIST_CONTAINS swift", QueryFilter("tags", .listContains, "swift")),
        ("status IN a,b", QueryFilter("status", .in, .list(["a", "b"]))),
        ("rating IN 1,2", QueryFilter("rating", .in, .list([1, 2]))),
        ("rating:INT64 NOT_IN 1,2", QueryFilter("rating", .notIn, .list([1, 2]))),
        ("when:TIMESTAMP < 1970-01-01T00:01:00Z", QueryFilter("when", .lessThan, .timestamp(minute))),
        (
            "place near 59.9,10.7 WITHIN 500",
            QueryFilter("place", .near, .location(Location(latitude: 59.9, longitude: 10.7)), distance: 500)
        ),
        (
            "place NEAR 59.9,10.7 within 500",
            QueryFilter("place", .near, .location(Location(latitude: 59.9, longitude: 10.7)), distance: 500)
        ),
        ("@createdBy == _a", QueryFilter(system: .createdUserRecordName, .equals, .reference(user))),
        ("@modified > 60000", QueryFilter(system: .modifiedTimestamp, .greaterThan, .timestamp(minute))),
    ]) func filterExpressionsBecomeQueryFilters(_ text: String, filter: QueryFilter) throws {
        #expect(try QueryExpression.filter(text) == filter)
    }

    @Test(arguments: [
        ("rating", "The filter \"rating\" has no comparator."),
        ("rating ~ 3", "The filter \"rating ~ 3\" has no comparator."),
        ("place NEAR 1,2", "The filter \"place NEAR 1,2\" does not say how near."),
        ("@age > 3", "There is no system field @age, which \"@age > 3\" asks for."),
        ("rating > 3 AND title == x", "The filter \"rating > 3 AND title == x\" has more than one condition."),
        ("rating > 3 and title == x", "The filter \"rating > 3 and title == x\" has more than one condition."),
        (
            "rating > 3 or tags list_contains x",
            "The filter \"rating > 3 or tags list_contains x\" has more than one condition."
        ),
        ("rating>3 && score<4", "The filter \"rating>3 && score<4\" has more than one condition."),
        ("a == b == c", "The filter \"a == b == c\" has more than one condition."),
        ("id == 9223372036854775808", "The number 9223372036854775808 of the field id does not fit into 64 bits."),
    ]) func saysWhatIsWrongWithAFilter(_ text: String, message: String) {
        let error = #expect(throws: CommandError.self) { try QueryExpression.filter(text) }
        #expect(error?.message == message)
    }

    @Test func sortExpressionsBecomeQuerySorts() throws {
        #expect(try QueryExpression.sort("title") == QuerySort("title", ascending: true))
        #expect(try QueryExpression.sort("-title") == QuerySort("title", ascending: false))
        #expect(try QueryExpression.sort("-@created") == QuerySort(system: .createdTimestamp, ascending: false))
        #expect(throws: CommandError.self) { try QueryExpression.sort("-") }
    }
}

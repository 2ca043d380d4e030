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
        ("title = \"3\"", QueryFilter("title", .equals, 3)),
        ("title:STRING == 3", QueryFilter("title", .equals, "3")),
        ("title != ''", QueryFilter("title", .notEquals, "")),
        ("title begins_with He", QueryFilter("title", .beginsWith, "He")),
        ("tags LIST_CONTAINS swift", QueryFilter("tags", .listContains, "swift")),
        ("status IN a,b", QueryFilter("status", .in, .list(["a", "b"]))),
        ("rating IN 1,2", QueryFilter("rating", .in, .list([1, 2]))),
        ("rating:INT64 NOT_IN 1,2", QueryFilter("rating", .notIn, .list([1, 2]))),
        ("when:TIMESTAMP < 1970-01-01T00:01:00Z", QueryFilter("when", .lessThan, .timestamp(minute))),
        (
            "place NEAR 59.9,10.7 within 500",
            QueryFilter("place", .near, .location(Location(latitude: 59.9, longitude: 10.7)), distance: 500)
        ),
        ("@createdBy == _a", QueryFilter(system: .createdUserRecordName, .equals, .reference(user))),
        ("@modified > 60000", QueryFilter(system: .modifiedTimestamp, .greaterThan, .timestamp(minute))),
    ]) func readsAFilter(_ text: String, filter: QueryFilter) throws {
        #expect(try QueryExpression.filter(text) == filter)
    }

    @Test(arguments: [
        ("rating", "The filter \"rating\" has no comparator."),
        ("rating ~ 3", "The filter \"rating ~ 3\" has no comparator."),
        ("place NEAR 1,2", "The filter \"place NEAR 1,2\" does not say how near."),
        ("@age > 3", "There is no system field @age, which \"@age > 3\" asks for."),
    ]) func saysWhatIsWrongWithAFilter(_ text: String, message: String) {
        let error = #expect(throws: CommandError.self) { try QueryExpression.filter(text) }
        #expect(error?.message == message)
    }

    @Test func readsSorts() throws {
        #expect(try QueryExpression.sort("title") == QuerySort("title", ascending: true))
        #expect(try QueryExpression.sort("-title") == QuerySort("title", ascending: false))
        #expect(try QueryExpression.sort("-@created") == QuerySort(system: .createdTimestamp, ascending: false))
        #expect(throws: CommandError.self) { try QueryExpression.sort("-") }
    }
}

import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Query parameters that are lists. Client and server are tested separately.
struct ListParameterTests {
    private typealias Query = Operations.queryLists.Input.Query

    private func written(_ query: Query) async throws -> String {
        let wire = Wire()
        _ = try await wire.client().queryLists(query: query)
        return try wire.target
    }

    private func read(_ target: String) async throws -> Query {
        try await received(\.queryLists, .get, target).query
    }

    // MARK: What the client writes

    @Test func anExplodedListRepeatsItsKey() async throws {
        #expect(try await written(Query(tag: ["b", "a b", "c,d"])) == "/query/lists?tag=b&tag=a%20b&tag=c%2Cd")
    }

    @Test func aJoinedListSeparatesByCommasThatAreNotEscaped() async throws {
        #expect(try await written(Query(joined: ["b", "a b", "c,d"])) == "/query/lists?joined=b,a%20b,c%2Cd")
    }

    @Test func numbersOfAListAreText() async throws {
        #expect(try await written(Query(whole: [3, -1, 2])) == "/query/lists?whole=3&whole=-1&whole=2")
    }

    @Test func datesOfAListAreEscaped() async throws {
        let dates: [Date] = [.november, Date(timeIntervalSince1970: 0)]
        #expect(
            try await written(Query(moments: dates))
                == "/query/lists?moments=2023-11-14T22%3A13%3A20Z,1970-01-01T00%3A00%3A00Z"
        )
    }

    @Test func enumerationValuesOfAListAreTheDocuments() async throws {
        #expect(
            try await written(Query(colours: [.dark_hyphen_blue, ._default, ._empty]))
                == "/query/lists?colours=dark-blue&colours=default&colours="
        )
    }

    @Test func aListOfANamedSchemaIsAListLikeAnyOther() async throws {
        #expect(try await written(Query(named: ["x", "y"])) == "/query/lists?named=x&named=y")
    }

    @Test func anEmptyListLeavesNoTrace() async throws {
        #expect(try await written(Query(tag: [])) == "/query/lists")
        #expect(try await written(Query(joined: [])) == "/query/lists")
        #expect(try await written(Query(tag: [], whole: [1], joined: [])) == "/query/lists?whole=1")
    }

    @Test func anEmptyElementKeepsItsPlace() async throws {
        #expect(try await written(Query(tag: ["", "a", ""])) == "/query/lists?tag=&tag=a&tag=")
        #expect(try await written(Query(joined: ["", "a", ""])) == "/query/lists?joined=,a,")
    }

    @Test func aListInAListIsAnErrorBeforeAnythingIsSent() async throws {
        let wire = Wire()
        let error = await #expect(throws: ClientError.self) {
            try await wire.client().queryNested(query: .init(matrix: [[1, 2], [3]]))
        }
        #expect(error?.operationID == "queryNested")
        #expect(error?.request == nil)
        #expect(wire.isSilent)
    }

    // MARK: What the server reads

    @Test func anExplodedListKeepsTheOrderOfTheRequest() async throws {
        let query = try await read("/query/lists?tag=c&whole=2&tag=a%20b&whole=1&tag=b,d")
        #expect(query == Query(tag: ["c", "a b", "b,d"], whole: [2, 1]))
    }

    @Test func aSingleValueIsAListOfOne() async throws {
        #expect(try await read("/query/lists?tag=a&joined=b") == Query(tag: ["a"], joined: ["b"]))
    }

    @Test func aJoinedListIsSplitBeforeItIsDecoded() async throws {
        #expect(try await read("/query/lists?joined=b,a%20b,c%2Cd,") == Query(joined: ["b", "a b", "c,d", ""]))
    }

    @Test func datesAndEnumerationsOfAListAreRead() async throws {
        let query = try await read(
            "/query/lists?moments=2023-11-14T22:13:20Z,1970-01-01T00%3A00%3A00Z&colours=red&colours=%24odd"
        )
        #expect(query == Query(moments: [.november, Date(timeIntervalSince1970: 0)], colours: [.red, ._dollar_odd]))
    }

    @Test func anAbsentListIsNil() async throws {
        #expect(try await read("/query/lists?named=x") == Query(named: ["x"]))
    }

    @Test func anExplodedKeyWithoutTextIsAListOfOneEmptyText() async throws {
        #expect(try await read("/query/lists?tag=") == Query(tag: [""]))
    }

    @Test(
        arguments: [
            "whole=1&whole=x", "whole=1,2", "moments=2023-11-14T22:13:20Z,soon", "colours=red&colours=pink", "tag",
        ]
    )
    func aWrongElementIsABadRequest(text: String) async throws {
        #expect(try await Handlers().answer(.get, "/query/lists?\(text)") == Message(start: "400"))
    }
}

/// Query parameters that are objects, in each style. Client and server are tested separately.
struct ObjectParameterTests {
    private typealias Filter = Components.Schemas.Filter

    private let filter = Filter(
        name: "a b",
        Max: 3,
        since: .november,
        tags: ["x", "y,z"],
        colour: .red,
        exact: true
    )

    // MARK: What the client writes

    @Test func anExplodedObjectSpreadsItsMembersSortedWithoutRegardToCase() async throws {
        let wire = Wire()
        _ = try await wire.client().queryExploded(query: .init(filter: filter))
        #expect(
            try wire.target
                == "/query/exploded?colour=red&exact=true&Max=3&name=a%20b&since=2023-11-14T22%3A13%3A20Z&tags=x&tags=y%2Cz"
        )
    }

    @Test func aJoinedObjectAlternatesNamesAndValues() async throws {
        let wire = Wire()
        _ = try await wire.client().queryJoined(query: .init(filter: filter))
        #expect(
            try wire.target
                == "/query/joined?filter=colour,red,exact,true,Max,3,name,a%20b,since,2023-11-14T22%3A13%3A20Z,tags,x,tags,y%2Cz"
        )
    }

    @Test func aDeepObjectWritesEscapedBrackets() async throws {
        let wire = Wire()
        _ = try await wire.client().queryDeep(query: .init(filter: .init(name: "a b", Max: 3, tags: ["x", "y"])))
        #expect(
            try wire.target
                == "/query/deep?filter%5BMax%5D=3&filter%5Bname%5D=a%20b&filter%5Btags%5D=x&filter%5Btags%5D=y"
        )
    }

    @Test func namesOfMembersAreEscapedToo() async throws {
        let wire = Wire()
        _ = try await wire.client().queryDeep(query: .init(other: .init(a_space_b: 1)))
        #expect(try wire.target == "/query/deep?other%5Ba%20b%5D=1")
    }

    @Test func anObjectWithoutMembersLeavesNoTrace() async throws {
        let wire = Wire()
        _ = try await wire.client().queryExploded(query: .init(filter: .init()))
        #expect(try wire.target == "/query/exploded")
        _ = try await wire.client().queryJoined(query: .init(filter: .init()))
        #expect(try wire.target == "/query/joined")
        _ = try await wire.client().queryDeep(query: .init(filter: .init(), other: .init(a_space_b: 2)))
        #expect(try wire.target == "/query/deep?other%5Ba%20b%5D=2")
    }

    @Test func anObjectInADeepObjectIsNamedByBothKeys() async throws {
        let wire = Wire()
        _ = try await wire.client().queryNested(query: .init(tree: .init(leaf: .init(x: 1, y: 2))))
        #expect(
            try wire.target == "/query/nested?tree%5Bleaf%5D%5Bx%5D=1&tree%5Bleaf%5D%5By%5D=2"
        )
        #expect(
            try await received(\.queryNested, .get, "/query/nested?tree[leaf][y]=2&tree%5Bleaf%5D%5Bx%5D=1").query
                == .init(tree: .init(leaf: .init(x: 1, y: 2)))
        )
    }

    // MARK: What the server reads

    @Test func membersOfAnExplodedObjectAreFoundAmongOthers() async throws {
        let target =
            "/query/exploded?Max=3&tags=x&other=1&name=a%20b&tags=y,z&exact=true&colour=red&since=2023-11-14T22:13:20Z"
        #expect(try await received(\.queryExploded, .get, target).query.filter == filter)
    }

    @Test func aJoinedObjectIsReadInAnyOrder() async throws {
        let target =
            "/query/joined?filter=Max,3,name,a%20b,exact,true,tags,x,colour,red,tags,y%2Cz,since,2023-11-14T22:13:20Z"
        #expect(try await received(\.queryJoined, .get, target).query.filter == filter)
    }

    @Test(arguments: ["filter%5Bname%5D=n&filter%5BMax%5D=3", "filter[Max]=3&filter[name]=n"])
    func bracketsOfADeepObjectMayBeEscapedOrNot(text: String) async throws {
        #expect(
            try await received(\.queryDeep, .get, "/query/deep?\(text)").query
                == .init(filter: .init(name: "n", Max: 3))
        )
    }

    @Test func aDeepObjectKeepsListsAndDates() async throws {
        let target = "/query/deep?filter[since]=2023-11-14T22:13:20Z&filter[tags]=x&other[a%20b]=7&filter[tags]=y"
        #expect(
            try await received(\.queryDeep, .get, target).query
                == .init(filter: .init(since: .november, tags: ["x", "y"]), other: .init(a_space_b: 7))
        )
    }

    @Test func unknownMembersOfADeepObjectAreIgnored() async throws {
        #expect(
            try await received(\.queryDeep, .get, "/query/deep?filter[none]=1&filter[name]=n&filters[name]=m").query
                == .init(filter: .init(name: "n"))
        )
    }

    @Test func anAbsentDeepObjectIsNil() async throws {
        #expect(
            try await received(\.queryDeep, .get, "/query/deep?other[a b]=1").query == .init(other: .init(a_space_b: 1))
        )
        #expect(try await received(\.queryDeep, .get, "/query/deep").query == .init())
    }

    @Test func aRequiredDeepObjectHasNoDefaultAndIsMissedWhenAbsent() async throws {
        #expect(
            try await received(\.queryDeepRequired, .get, "/query/deep/required?filter[Max]=1").query
                == .init(filter: .init(Max: 1))
        )
        #expect(try await Handlers().answer(.get, "/query/deep/required") == Message(start: "400"))
    }

    @Test(
        arguments: [
            "deep?filter[Max]=x", "deep?filter[exact]=1", "deep?filter[colour]=pink", "joined?filter=Max,x",
            "exploded?Max=x", "deep?filter[Max]",
        ]
    )
    func aMemberOfTheWrongTypeIsABadRequest(text: String) async throws {
        #expect(try await Handlers().answer(.get, "/query/\(text)") == Message(start: "400"))
    }

    // MARK: Both

    @Test(arguments: ["a b", "a,b", "a&b=c", "é", "+%2B", "[x]"])
    func anyTextOfAMemberTravelsInEveryStyle(text: String) async throws {
        let sent = Filter(name: text, tags: [text, text])
        let client: Client = try Handlers(
            queryExploded: { input in
                #expect(input.query.filter == sent)
                return .noContent
            },
            queryJoined: { input in
                #expect(input.query.filter == sent)
                return .noContent
            },
            queryDeep: { input in
                #expect(input.query.filter == sent)
                return .noContent
            }
        ).client()
        #expect(try await client.queryExploded(query: .init(filter: sent)) == .noContent)
        #expect(try await client.queryJoined(query: .init(filter: sent)) == .noContent)
        #expect(try await client.queryDeep(query: .init(filter: sent)) == .noContent)
    }
}

import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A parameter that is the whole query.
struct QueryStringTests {
    private let filter = Components.Schemas.Filter(
        name: "a b&c=+é",
        since: .november,
        tags: ["x", "y,z"],
        exact: true
    )

    // MARK: What the client writes

    @Test func theMembersOfAFormAreTheQuery() async throws {
        let wire = Wire()
        _ = try await wire.client().queryForm(query: .init(filter: filter))
        #expect(
            try wire.target
                == "/whole/form?exact=true&name=a+b%26c%3D%2B%C3%A9&since=2023-11-14T22%3A13%3A20Z&tags=x,y%2Cz"
        )
    }

    @Test func theTextOfJSONIsTheQuery() async throws {
        let wire = Wire()
        _ = try await wire.client().queryJson(query: .init(point: .init(x: 1, y: -2)))
        #expect(try wire.target == "/whole/json?%7B%22x%22%3A1%2C%22y%22%3A-2%7D")
        _ = try await wire.client().queryRequiredJson(query: .init(moments: [.november]))
        #expect(try wire.target == "/whole/json?%5B%222023-11-14T22%3A13%3A20Z%22%5D")
    }

    @Test func withoutAValueThereIsNoQuery() async throws {
        let wire = Wire()
        _ = try await wire.client().queryForm()
        #expect(try wire.target == "/whole/form")
        _ = try await wire.client().queryForm(query: .init(filter: .init()))
        #expect(try wire.target == "/whole/form")
        _ = try await wire.client().queryJson()
        #expect(try wire.target == "/whole/json")
    }

    // MARK: What the server reads

    @Test(arguments: ["text=a+b&weight=2", "weight=2&text=a%20b&other=1", "text=a%20b&text=c&weight=2.0#text=d"])
    func aServerReadsTheMembersOfAForm(query: String) async throws {
        let input = try await received(\.queryRequiredForm, .post, "/whole/form?\(query)")
        #expect(input.query.note == .init(text: "a b", weight: 2))
    }

    @Test(arguments: ["/whole/form", "/whole/form?", "/whole/form?#name=a"])
    func aQueryThatMayBeMissingIsNil(target: String) async throws {
        #expect(try await received(\.queryForm, .get, target).query.filter == nil)
        let json = "/whole/json\(target.dropFirst("/whole/form".count))"
        #expect(try await received(\.queryJson, .get, json).query.point == nil)
    }

    @Test func aServerReadsJSONOfAnySpelling() async throws {
        let input = try await received(\.queryJson, .get, "/whole/json?{%20%22y%22:%202,%22x%22:1}")
        #expect(input.query.point == .init(x: 1, y: 2))
    }

    @Test(
        arguments: [
            (HTTPRequest.Method.post, "/whole/form"), (.post, "/whole/form?weight=2"), (.post, "/whole/form?text"),
            (.get, "/whole/form?Max=one"), (.post, "/whole/json"), (.post, "/whole/json?"), (.post, "/whole/json?%5B1"),
            (.get, "/whole/json?x=1&y=2"), (.get, "/whole/json?%7B%22x%22%3A1%7D"),
        ]
    )
    func whatCannotBeReadIsABadRequest(method: HTTPRequest.Method, target: String) async throws {
        #expect(try await Handlers().answer(method, target) == Message(start: "400"))
    }

    // MARK: Both

    @Test func aWholeQueryArrivesAsItWasSent() async throws {
        let (filter, moments) = (filter, [Date.november, .november])
        let client: Client = try Handlers(
            queryForm: { input in
                #expect(input.query.filter == filter)
                return .noContent
            },
            queryRequiredJson: { input in
                #expect(input.query.moments == moments)
                return .noContent
            }
        ).client()
        #expect(try await client.queryForm(query: .init(filter: filter)) == .noContent)
        #expect(try await client.queryRequiredJson(query: .init(moments: moments)) == .noContent)
    }
}

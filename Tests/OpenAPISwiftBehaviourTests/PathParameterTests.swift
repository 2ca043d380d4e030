import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Placeholders of paths. Client and server are tested separately.
struct PathParameterTests {
    // MARK: What the client writes

    @Test(
        arguments: [
            ("plain", "plain"), ("two words", "two%20words"), ("a/b", "a%2Fb"), ("a,b", "a%2Cb"), ("a:b", "a%3Ab"),
            ("a+b", "a%2Bb"), ("50%", "50%25"), ("é", "%C3%A9"), ("-._~", "-._~"),
            ("?#&=;@!$'()*[]{}", "%3F%23%26%3D%3B%40%21%24%27%28%29%2A%5B%5D%7B%7D"),
        ]
    )
    func aClientEscapesAllThatIsNotUnreserved(text: String, escaped: String) async throws {
        let wire = Wire()
        _ = try await wire.client().getName(path: .init(name: text))
        #expect(try wire.request == Message(start: "GET /names/\(escaped)"))
    }

    @Test func valuesStandInTheOrderOfTheTemplate() async throws {
        let wire = Wire()
        _ = try await wire.client().getArchived(path: .init(file_hyphen_name: "a b", year: 2024, month: 7))
        #expect(try wire.target == "/archive/2024-7/a%20b.json")
    }

    @Test func valuesOfEveryScalarTypeAreText() async throws {
        let wire = Wire()
        _ = try await wire.client().getValues(
            path: .init(flag: true, number: 1, moment: .november, colour: .dark_hyphen_blue, rank: ._n3)
        )
        #expect(try wire.target == "/values/true/1.0/2023-11-14T22%3A13%3A20Z/dark-blue/-3")
    }

    @Test func listsAndObjectsAreJoinedByCommasEvenIfExploded() async throws {
        let wire = Wire()
        _ = try await wire.client().getSpread(path: .init(list: ["a", "b,c", "d e"], point: .init(x: 1, y: -2)))
        #expect(try wire.target == "/spread/a,b%2Cc,d%20e/x,1,y,-2")
    }

    @Test func prefixedStylesAreExpandedAsInURITemplates() async throws {
        let wire = Wire()
        _ = try await wire.client().getPrefixed(path: prefixed)
        #expect(try wire.target == "/prefixed/;matrix=a%3Bb/;matrices=1.5;matrices=-2.0/.x,y.z,%2C/.x=1.y=-2/;x=3;y=4")
        var empty = prefixed
        empty.matrix = ""
        _ = try await wire.client().getPrefixed(path: empty)
        let target = try wire.target
        #expect(target.hasPrefix("/prefixed/;matrix/;matrices="))
        empty.matrices = []
        let input = Operations.getPrefixed.Input(path: empty)
        await #expect(throws: ClientError.self) {
            _ = try await wire.client().getPrefixed(input)
        }
    }

    private var prefixed: Operations.getPrefixed.Input.Path {
        .init(
            matrix: "a;b",
            matrices: [1.5, -2],
            label: ["x", "y.z", ","],
            labels: .init(x: 1, y: -2),
            spot: .init(x: 3, y: 4)
        )
    }

    // MARK: What the server reads

    @Test func prefixedStylesAreReadByTheirSigns() async throws {
        let target = "/prefixed/;matrix=a%3Bb/;matrices=1.5;matrices=-2/.x,y.z,%2C/.y=-2.x=1/;y=4;x=3"
        let input = try await received(\.getPrefixed, .get, target)
        #expect(input.path == prefixed)
        let client: Client = try Handlers(getPrefixed: { [prefixed] input in
            #expect(input.path == prefixed)
            return .noContent
        }).client()
        #expect(try await client.getPrefixed(path: prefixed) == .noContent)
    }

    @Test(
        arguments: [
            "matrix=a/;matrices=1/.x/.x=1.y=2/;x=3;y=4", ";other=a/;matrices=1/.x/.x=1.y=2/;x=3;y=4",
            ";matrix=a/;matrices=b/.x/.x=1.y=2/;x=3;y=4", ";matrix=a/;matrices=1/x/.x=1.y=2/;x=3;y=4",
            ";matrix=a/;matrices=1/.x/.x=1/;x=3;y=4", ";matrix=a/;matrices=1/.x/.x=1.y=2/;spot=3,4",
        ]
    )
    func aPlaceholderWithoutItsSignsIsABadRequest(target: String) async throws {
        #expect(try await Handlers().answer(.get, "/prefixed/\(target)") == Message(start: "400"))
    }

    @Test(
        arguments: [
            ("plain", "plain"), ("two%20words", "two words"), ("a%2Fb", "a/b"), ("a+b", "a+b"), ("50%25", "50%"),
            ("%C3%A9", "é"), ("a,b", "a,b"), ("%2520", "%20"),
        ]
    )
    func aServerDecodesAPlaceholderOnce(escaped: String, text: String) async throws {
        #expect(try await received(\.getName, .get, "/names/\(escaped)") == .init(path: .init(name: text)))
    }

    @Test func placeholdersShareASegment() async throws {
        let input = try await received(\.getArchived, .get, "/archive/2024-7/a%20b.json")
        #expect(input.path == .init(file_hyphen_name: "a b", year: 2024, month: 7))
    }

    @Test func scalarsInPathsAreReadByTheirType() async throws {
        let input = try await received(\.getValues, .get, "/values/false/2.5e1/2023-11-14T22:13:20Z/red/2")
        #expect(input.path == .init(flag: false, number: 25, moment: .november, colour: .red, rank: ._2))
    }

    @Test(
        arguments: [
            "/values/yes/1/2023-11-14T22:13:20Z/red/2", "/values/true/one/2023-11-14T22:13:20Z/red/2",
            "/values/true/1/yesterday/red/2", "/values/true/1/2023-11-14T22:13:20Z/pink/2",
            "/values/true/1/2023-11-14T22:13:20Z/red/7",
        ]
    )
    func aPlaceholderOfTheWrongTypeIsABadRequest(target: String) async throws {
        #expect(try await Handlers().answer(.get, target) == Message(start: "400"))
    }

    @Test func listsAndObjectsInPathsAreSplitAtCommas() async throws {
        let input = try await received(\.getSpread, .get, "/spread/a,d%20e/y,4,x,3")
        #expect(input.path == .init(list: ["a", "d e"], point: .init(x: 3, y: 4)))
    }

    @Test func aCommaInsideOfAnElementDoesNotDivideIt() async throws {
        let input = try await received(\.getSpread, .get, "/spread/a,b%2Cc%2c,%25,d%20e/x,1,y,-2")
        #expect(input.path == .init(list: ["a", "b,c,", "%", "d e"], point: .init(x: 1, y: -2)))
        #expect(try await received(\.getSpread, .get, "/spread/%2C/x,1,y,2?,").path.list == [","])
    }

    @Test func whatAMiddlewareMakesOfAPlaceholderCounts() async throws {
        let input = try await received(
            \.getSpread,
            .get,
            "/spread/a%2Cb/x,1,y,2",
            middlewares: [Replacing(list: "c,d")]
        )
        #expect(input.path.list == ["c", "d"])
    }

    /// Replaces the value of a placeholder.
    private struct Replacing: ServerMiddleware {
        var list: Substring

        func intercept(
            _ request: HTTPRequest,
            body: HTTPBody?,
            metadata: ServerRequestMetadata,
            operationID: String,
            next: Next
        ) async throws -> (HTTPResponse, HTTPBody?) {
            var metadata = metadata
            metadata.pathParameters["list"] = list
            return try await next(request, body, metadata)
        }
    }

    @Test func anObjectInAPathWithoutARequiredMemberIsABadRequest() async throws {
        #expect(try await Handlers().answer(.get, "/spread/a/x,3") == Message(start: "400"))
    }

    // MARK: Both

    @Test(arguments: ["plain", "a/b", "%2F", "a,b", "é ?#&=+", "..", "{name}"])
    func anyTextTravelsThroughAPath(text: String) async throws {
        let client: Client = try Handlers(getName: { input in
            #expect(input.path.name == text)
            return .noContent
        }).client()
        #expect(try await client.getName(path: .init(name: text)) == .noContent)
    }

    @Test(arguments: [["a,b", "c"], [",", ","], ["%2C", "a b,"], ["a", "b"]])
    func anyTextsTravelThroughAPathAsAList(texts: [String]) async throws {
        let client: Client = try Handlers(getSpread: { input in
            #expect(input.path == .init(list: texts, point: .init(x: 1, y: 2)))
            return .noContent
        }).client()
        #expect(try await client.getSpread(path: .init(list: texts, point: .init(x: 1, y: 2))) == .noContent)
    }
}

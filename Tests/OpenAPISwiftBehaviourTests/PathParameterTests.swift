import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Placeholders of paths, each side alone.
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

    // MARK: What the server reads

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
}

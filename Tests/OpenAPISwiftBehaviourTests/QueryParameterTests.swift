import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Query parameters of scalar types. Client and server are tested separately.
struct QueryParameterTests {
    private typealias Query = Operations.query.Input.Query

    private func written(_ query: Query, configuration: Configuration = .init()) async throws -> String {
        let wire = Wire()
        _ = try await wire.client(configuration: configuration).query(query: query)
        return try wire.target
    }

    private func read(_ target: String, middlewares: [any ServerMiddleware] = []) async throws -> Query {
        try await received(\.query, .get, target, middlewares: middlewares).query
    }

    // MARK: What the client writes

    @Test(
        arguments: [
            (Query(text: "plain"), "text=plain"), (Query(text: ""), "text="),
            (Query(text: "two words"), "text=two%20words"),
            (Query(text: "a+b&c=d"), "text=a%2Bb%26c%3Dd"), (Query(text: "a/b?c,d:e#f"), "text=a%2Fb%3Fc%2Cd%3Ae%23f"),
            (Query(text: "-._~"), "text=-._~"), (Query(text: "né😀"), "text=n%C3%A9%F0%9F%98%80"),
            (Query(whole: -7), "whole=-7"),
            (Query(small: .max), "small=2147483647"), (Query(big: .min), "big=-9223372036854775808"),
            (Query(number: 1), "number=1.0"), (Query(number: 0.1), "number=0.1"),
            (Query(number: 1e21), "number=1e%2B21"),
            (Query(single: 0.5), "single=0.5"), (Query(flag: true), "flag=true"), (Query(flag: false), "flag=false"),
            (Query(moment: .november), "moment=2023-11-14T22%3A13%3A20Z"), (Query(bytes: [1, 2, 3]), "bytes=AQID"),
            (Query(bytes: [0xFB, 0xFF]), "bytes=%2B%2F8%3D"), (Query(colour: .dark_hyphen_blue), "colour=dark-blue"),
            (Query(colour: ._dollar_odd), "colour=%24odd"), (Query(colour: ._empty), "colour="),
            (Query(rank: ._n3), "rank=-3"),
            (Query(odd_space_name_lbrack__rbrack_: "x"), "odd%20name%5B%5D=x"), (Query(wordy: "x"), "wordy=x"),
            (Query(choice: .case1(7)), "choice=7"), (Query(choice: .case2("seven")), "choice=seven"),
            (Query(any: .init(value1: .red)), "any=red"), (Query(any: .init(value2: "pink")), "any=pink"),
        ]
    )
    func clientsEncodeQueryParameters(query: Operations.query.Input.Query, text: String) async throws {
        #expect(try await written(query) == "/query?\(text)")
    }

    @Test func parametersStandInTheOrderOfTheDocument() async throws {
        #expect(try await written(Query(text: "t", whole: 1, flag: true)) == "/query?text=t&whole=1&flag=true")
    }

    @Test func withoutParametersThereIsNoQuestionMark() async throws {
        #expect(try await written(Query()) == "/query")
    }

    @Test func datesAreWrittenByTheConfiguredTranscoder() async throws {
        let configuration = Configuration(dateTranscoder: .iso8601WithFractionalSeconds)
        #expect(
            try await written(Query(moment: .november), configuration: configuration)
                == "/query?moment=2023-11-14T22%3A13%3A20.000Z"
        )
    }

    // MARK: What the server reads

    @Test(
        arguments: [
            ("text=plain", Query(text: "plain")), ("text=", Query(text: "")),
            ("text=two%20words", Query(text: "two words")),
            ("text=a%2Bb%26c%3Dd", Query(text: "a+b&c=d")), ("text=a/b?c,d:e", Query(text: "a/b?c,d:e")),
            ("text=a=b", Query(text: "a=b")), ("te%78t=key", Query(text: "key")), ("whole=-7", Query(whole: -7)),
            ("small=2147483647", Query(small: .max)), ("big=-9223372036854775808", Query(big: .min)),
            ("number=1", Query(number: 1)), ("number=1.0", Query(number: 1)), ("number=1e3", Query(number: 1000)),
            ("single=0.5", Query(single: 0.5)), ("flag=true", Query(flag: true)), ("flag=false", Query(flag: false)),
            ("moment=2023-11-14T22%3A13%3A20Z", Query(moment: .november)),
            ("moment=2023-11-14T22:13:20Z", Query(moment: .november)),
            ("moment=2023-11-14T23:13:20%2B01:00", Query(moment: .november)), ("bytes=AQID", Query(bytes: [1, 2, 3])),
            ("colour=dark-blue", Query(colour: .dark_hyphen_blue)), ("colour=%24odd", Query(colour: ._dollar_odd)),
            ("colour=", Query(colour: ._empty)), ("rank=-3", Query(rank: ._n3)),
            ("odd%20name%5B%5D=x", Query(odd_space_name_lbrack__rbrack_: "x")),
            ("odd%20name[]=x", Query(odd_space_name_lbrack__rbrack_: "x")),
            ("wordy=x", Query(wordy: "x")), ("choice=7", Query(choice: .case1(7))),
            ("choice=seven", Query(choice: .case2("seven"))),
            ("any=red", Query(any: .init(value1: .red, value2: "red"))),
            ("any=pink", Query(any: .init(value2: "pink"))),
        ]
    )
    func serversDecodeQueryParameters(text: String, query: Operations.query.Input.Query) async throws {
        #expect(try await read("/query?\(text)") == query)
    }

    @Test func absentParametersAreNil() async throws {
        #expect(try await read("/query") == Query())
        #expect(try await read("/query?") == Query())
    }

    @Test func unknownKeysAreIgnored() async throws {
        #expect(try await read("/query?other=1&text=t&more=") == Query(text: "t"))
    }

    @Test func keysAreCaseSensitive() async throws {
        #expect(try await read("/query?Text=t") == Query())
    }

    @Test func ofRepeatedKeysTheFirstCountsForAScalar() async throws {
        #expect(try await read("/query?text=a&text=b") == Query(text: "a"))
    }

    @Test func aPlusIsAPlus() async throws {
        #expect(try await read("/query?text=a+b") == Query(text: "a+b"))
    }

    @Test func aPlusIsASpaceBehindTheNormalizingMiddleware() async throws {
        let query = try await read("/query?text=a+b%2Bc%20d", middlewares: [QuerySpaceNormalizingMiddleware()])
        #expect(query == Query(text: "a b+c d"))
    }

    @Test(
        arguments: [
            "whole=seven", "whole=", "whole=1.5", "small=2147483648", "number=x", "number=", "flag=1", "flag=TRUE",
            "flag=",
            "moment=2023-11-14", "moment=2023-11-14T22:13:20.5Z", "moment=2023-11-14%2022:13:20Z", "bytes=A",
            "colour=pink",
            "rank=4", "rank=one", "text",
        ]
    )
    func serversRefuseInvalidQueryParameters(text: String) async throws {
        #expect(try await Handlers().answer(.get, "/query?\(text)") == Message(start: "400"))
    }

    @Test func missingRequiredParametersAreABadRequest() async throws {
        #expect(try await Handlers().answer(.get, "/query/required?tag=a") == Message(start: "400"))
        #expect(try await Handlers().answer(.get, "/query/required?limit=1") == Message(start: "400"))
        let query = try await received(\.queryRequired, .get, "/query/required?limit=1&tag=a").query
        #expect(query == .init(limit: 1, tag: ["a"]))
    }
}

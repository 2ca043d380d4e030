import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Header parameters. Client and server are tested separately.
struct HeaderParameterTests {
    private typealias Headers = Operations.sendHeaders.Input.Headers

    private func written(_ headers: Headers) async throws -> [String: String] {
        let wire = Wire()
        _ = try await wire.client().sendHeaders(headers: headers)
        let request: Message = try wire.request
        #expect(request.start == "GET /headers")
        return request.fields
    }

    private func read(_ name: String, _ value: String) async throws -> Headers {
        try await received(\.sendHeaders, .get, "/headers", [.custom(name): value]).headers
    }

    // MARK: What the client writes

    @Test(
        arguments: [
            (Operations.sendHeaders.Input.Headers(X_hyphen_Text: "plain"), ["x-text": "plain"]),
            (.init(X_hyphen_Text: "a b/c,d"), ["x-text": "a%20b%2Fc%2Cd"]),
            (.init(X_hyphen_Text: "é"), ["x-text": "%C3%A9"]),
            (.init(X_hyphen_Whole: -7), ["x-whole": "-7"]), (.init(X_hyphen_Number: 2), ["x-number": "2.0"]),
            (.init(X_hyphen_Flag: false), ["x-flag": "false"]),
            (.init(X_hyphen_Moment: .november), ["x-moment": "2023-11-14T22%3A13%3A20Z"]),
            (.init(X_hyphen_Colour: .dark_hyphen_blue), ["x-colour": "dark-blue"]),
            (.init(X_hyphen_List: ["a", "b,c"]), ["x-list": "a,b%2Cc"]),
            (.init(X_hyphen_Point: .init(x: 1, y: 2)), ["x-point": "x,1,y,2"]),
            (.init(X_hyphen_Json: .init(text: "a/b é", weight: 1.5)), ["x-json": #"{"text":"a/b é","weight":1.5}"#]),
            (.init(X_hyphen_Text: "t", X_hyphen_Flag: true), ["x-text": "t", "x-flag": "true"]), (.init(), [:]),
        ]
    )
    func clientsEncodeHeaders(headers: Operations.sendHeaders.Input.Headers, fields: [String: String]) async throws {
        #expect(try await written(headers) == fields)
    }

    @Test func theHeadersThatHTTPItselfUsesAreNoParameters() {
        #expect(
            Mirror(reflecting: Headers()).children.map { $0.label ?? "" } == [
                "X_hyphen_Text", "X_hyphen_Whole", "X_hyphen_Number", "X_hyphen_Flag", "X_hyphen_Moment",
                "X_hyphen_Colour",
                "X_hyphen_List", "X_hyphen_Point", "X_hyphen_Json",
            ]
        )
    }

    // MARK: What the server reads

    @Test(
        arguments: [
            ("X-Text", "plain", Operations.sendHeaders.Input.Headers(X_hyphen_Text: "plain")),
            ("x-text", "lower", .init(X_hyphen_Text: "lower")), ("X-TEXT", "upper", .init(X_hyphen_Text: "upper")),
            ("X-Text", "a%20b%2Fc%2Cd", .init(X_hyphen_Text: "a b/c,d")),
            ("X-Text", "a b", .init(X_hyphen_Text: "a b")),
            ("X-Text", "a+b", .init(X_hyphen_Text: "a+b")), ("X-Whole", "-7", .init(X_hyphen_Whole: -7)),
            ("X-Number", "2", .init(X_hyphen_Number: 2)), ("X-Flag", "true", .init(X_hyphen_Flag: true)),
            ("X-Moment", "2023-11-14T22%3A13%3A20Z", .init(X_hyphen_Moment: .november)),
            ("X-Moment", "2023-11-14T22:13:20Z", .init(X_hyphen_Moment: .november)),
            ("X-Colour", "dark-blue", .init(X_hyphen_Colour: .dark_hyphen_blue)),
            ("X-List", "a,b%2Cc", .init(X_hyphen_List: ["a", "b,c"])),
            ("X-Point", "y,2,x,1", .init(X_hyphen_Point: .init(x: 1, y: 2))),
            ("X-Json", #"{ "weight": 2, "text": "é" }"#, .init(X_hyphen_Json: .init(text: "é", weight: 2))),
            ("X-Other", "1", .init()),
        ]
    )
    func serversDecodeHeaders(name: String, value: String, headers: Operations.sendHeaders.Input.Headers) async throws {
        #expect(try await read(name, value) == headers)
    }

    @Test(
        arguments: [
            ("X-Whole", "x"), ("X-Whole", "1.5"), ("X-Number", ""), ("X-Flag", "yes"), ("X-Moment", "now"),
            ("X-Colour", "pink"), ("X-Point", "x,1"), ("X-Json", "{"), ("X-Json", #"{"weight":1}"#), ("X-Json", ""),
        ]
    )
    func aServerRefuses(name: String, value: String) async throws {
        #expect(try await Handlers().answer(.get, "/headers", [.custom(name): value]) == Message(start: "400"))
    }

    @Test func missingRequiredHeadersAreABadRequest() async throws {
        let fields: HTTPFields = [try .custom("X-Key"): "k", try .custom("X-Note"): #"{"text":"t"}"#]
        #expect(
            try await received(\.requireHeader, .get, "/headers/required", fields).headers
                == .init(X_hyphen_Key: "k", X_hyphen_Note: .init(text: "t"))
        )
        for field in fields {
            let answer = try await Handlers().answer(.get, "/headers/required", [field.name: field.value])
            #expect(answer == Message(start: "400"))
        }
    }
}

/// Parameters that are defined in the path item or in the components.
struct SharedParameterTests {
    @Test func parametersOfThePathItemComeFirstAndThoseOfTheOperationReplaceThem() async throws {
        let wire = Wire()
        _ = try await wire.client().overlap(
            path: .init(id: "p"),
            query: .init(second: 2, id: "q", third: 3, first: "one"),
            headers: .init(X_hyphen_Trace: .red)
        )
        #expect(
            try wire.request
                == Message(start: "GET /overlap/p?second=2&id=q&third=3&first=one", fields: ["x-trace": "red"])
        )
    }

    @Test func equalNamesInDifferentPlacesAreDifferentParameters() async throws {
        let input = try await received(\.overlap, .get, "/overlap/p?id=q&first=not%20a%20number")
        #expect(input == .init(path: .init(id: "p"), query: .init(id: "q", first: "not a number")))
    }

    @Test func everyOperationOfThePathItemHasItsParameters() async throws {
        let wire = Wire()
        _ = try await wire.client().deleteOverlap(path: .init(id: "p"), query: .init(first: 1, second: 2))
        #expect(try wire.request == Message(start: "DELETE /overlap/p?first=1&second=2"))
        #expect(try await Handlers().answer(.delete, "/overlap/p?first=one") == Message(start: "400"))
    }

    @Test func referencedParametersAreNamedByTheirNameAndTypedByTheirKey() async throws {
        let key: Components.Parameters.KeyInPath = "k"
        let size: Components.Parameters.PageSize = 5
        let trace: Components.Parameters.TraceHeader = .dark_hyphen_blue
        let wire = Wire()
        _ = try await wire.client().useReferences(
            path: .init(key: key),
            query: .init(page_hyphen_size: size),
            headers: .init(X_hyphen_Trace: trace)
        )
        #expect(
            try wire.request == Message(start: "GET /references/k?page-size=5", fields: ["x-trace": "dark-blue"])
        )
    }
}

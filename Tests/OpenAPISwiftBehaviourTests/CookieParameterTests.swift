import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

/// Cookies, delimited lists and JSON as parameters. Client and server are tested separately.
struct CookieParameterTests {
    private typealias Cookies = Operations.sendCookies.Input.Cookies

    @Test func cookiesStandInOneHeaderFieldInTheirOrder() async throws {
        let wire = Wire()
        _ = try await wire.client().sendCookies(
            headers: .init(X_hyphen_Text: "t"),
            cookies: .init(session: "a;b c", visits: 3, colour: .dark_hyphen_blue)
        )
        #expect(
            try wire.request
                == Message(
                    start: "GET /cookies",
                    fields: ["cookie": "session=a%3Bb%20c; visits=3; colour=dark-blue", "x-text": "t"]
                )
        )
    }

    @Test func withoutCookiesThereIsNoHeaderField() async throws {
        let wire = Wire()
        _ = try await wire.client().sendCookies()
        #expect(try wire.request == Message(start: "GET /cookies"))
    }

    @Test func cookiesAreReadAmongThoseOfOthers() async throws {
        let fields: HTTPFields = [.cookie: "other=1; visits=3; flag; session=a%3Bb%20c"]
        let input = try await received(\.sendCookies, .get, "/cookies", fields)
        #expect(input.cookies == Cookies(session: "a;b c", visits: 3))
        #expect(try await received(\.sendCookies, .get, "/cookies").cookies == Cookies())
    }

    @Test(arguments: ["visits=x", "colour=pink", "visits="])
    func aCookieOfTheWrongTypeIsABadRequest(text: String) async throws {
        #expect(try await Handlers().answer(.get, "/cookies", [.cookie: text]) == Message(start: "400"))
    }

    @Test func aRequiredCookieMayNotBeMissing() async throws {
        #expect(try await Handlers().answer(.get, "/cookies/required") == Message(start: "400"))
        let input = try await received(\.requireCookie, .get, "/cookies/required", [.cookie: "session-id=s"])
        #expect(input == .init(cookies: .init(session_hyphen_id: "s")))
    }

    @Test func delimitedListsAreOneItem() async throws {
        let wire = Wire()
        _ = try await wire.client().queryDelimited(query: .init(spaced: ["a", "b,c"], piped: [1, 2]))
        #expect(try wire.target == "/delimited?spaced=a%20b%2Cc&piped=1%7C2")
    }

    @Test(arguments: ["spaced=a%20b%2Cc&piped=1%7C2", "piped=1|2&spaced=a%20b,c"])
    func delimitedListsAreSplit(text: String) async throws {
        #expect(
            try await received(\.queryDelimited, .get, "/delimited?\(text)").query
                == .init(spaced: ["a", "b,c"], piped: [1, 2])
        )
    }

    @Test func jsonOfParametersIsOneEscapedText() async throws {
        let wire = Wire()
        _ = try await wire.client().sendJson(
            path: .init(note: .init(text: "a/b")),
            query: .init(filter: .init(name: "n", Max: 1), points: [.init(x: 1, y: 2)])
        )
        #expect(
            try wire.target
                == "/json/%7B%22text%22%3A%22a%2Fb%22%7D?filter=%7B%22Max%22%3A1%2C%22name%22%3A%22n%22%7D"
                + "&points=%5B%7B%22x%22%3A1%2C%22y%22%3A2%7D%5D"
        )
    }

    @Test func jsonOfParametersIsRead() async throws {
        let target = #"/json/%7B%22text%22:%22a%2Fb%22%7D?points=%5B%5D&filter=%7B%22tags%22%3A%5B%22x%22%5D%7D"#
        let input = try await received(\.sendJson, .get, target)
        #expect(
            input == .init(path: .init(note: .init(text: "a/b")), query: .init(filter: .init(tags: ["x"]), points: []))
        )
    }

    @Test func parametersThatAreNoJSONAreABadRequest() async throws {
        #expect(try await Handlers().answer(.get, "/json/x") == Message(start: "400"))
        #expect(try await Handlers().answer(.get, "/json/%7B%22text%22:%22t%22%7D?filter=x") == Message(start: "400"))
    }
}

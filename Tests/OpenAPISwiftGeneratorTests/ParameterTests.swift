import HTTPTypes
import OpenAPISwiftGenerator
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Cookies, JSON in parameters, delimited lists, and forms whose members have their own styles.
struct ParameterTests {
    private typealias Input = Operations.Search.Input
    private typealias Form = Input.Body.UrlEncodedFormPayload

    private let input = Input(
        path: .init(scope: .init(text: "a/b", weight: 1)),
        query: .init(filter: .init(text: "ü&="), words: ["one", "t|wo"], years: [2001, -3], weight: 0.1),
        cookies: .init(
            sessionId: "a;b=c",
            seen: [1, 2],
            since: Date(timeIntervalSince1970: 1_700_000_000),
            note: .init(text: "n", weight: 2.5)
        ),
        body: .urlEncodedForm(
            Form(
                value1: .init(all: [], code: "7"),
                value2: .init(near: .init(place: "x y", at: [1.5, 2]), lists: [3, 4], note: .init(text: "+"))
            )
        )
    )

    @Test func everyParameterArrivesAsItWasSent() async throws {
        let client: Client = try Library(search: { [input] received in
            #expect(received == input)
            return .noContent
        }).client()
        #expect(try await client.search(input) == .noContent)
    }

    @Test func theyAreSpelledAsTheirStylesSay() async throws {
        let transport = CannedTransport(status: 204)
        _ = try await transport.client().search(input)
        let request = try #require(await transport.request)
        let path = "/search/%7B%22text%22%3A%22a%2Fb%22%2C%22weight%22%3A1.0%7D"
        let query =
            "filter=%7B%22text%22%3A%22%C3%BC%26%3D%22%7D&words=one%20t%7Cwo&years=2001%7C-3&weight=0.1"
        #expect(request.path == "\(path)?\(query)")
        #expect(
            request.headerFields[.cookie]
                == "session%20id=a%3Bb%3Dc; seen=1; seen=2; since=2023-11-14T22%3A13%3A20Z; "
                + "note=%7B%22text%22%3A%22n%22%2C%22weight%22%3A2.5%7D"
        )
        #expect(
            await transport.requestBody
                == "code=7&lists=3,4&near%5Bat%5D=1.5&near%5Bat%5D=2.0&near%5Bplace%5D=x+y"
                + "&note=%7B%22text%22%3A%22%2B%22%7D"
        )
    }

    @Test func aRequiredCookieIsAskedFor() async throws {
        let transport = RawTransport()
        try Library().registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        let (response, _) = try await transport.send(
            .post,
            "/search/{scope}",
            headerFields: [.contentType: "application/x-www-form-urlencoded"],
            body: "",
            parameters: ["scope": #"{"text":"a"}"#]
        )
        #expect(response.status == .badRequest)
    }

    @Test func anInputWithoutRequiredCookiesNeedsNone() {
        let generation = Generation(
            document: """
                openapi: 3.2.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    get:
                      operationId: a
                      parameters:
                        - {name: c, in: cookie, style: cookie, schema: {type: string}}
                        - {name: h, in: header, explode: true, schema: {type: array, items: {type: string}}}
                        - {name: s, in: query, style: spaceDelimited, explode: true, schema: {type: array, items: {type: string}}}
                        - {name: q, in: querystring, content: {application/json: {}}}
                        - {name: x, in: query, content: {text/plain: {}}}
                      responses: {"204": {description: None.}}
                """,
            modes: [.types, .client]
        )
        let operations = "Types+Operations.swift"
        #expect(generation.contains("cookies: Operations.a.Input.Cookies = .init()", in: operations))
        #expect(
            generation.contains(
                #"try request.add(.cookie, "c", input.cookies.c, style: .cookie, explode: true)"#,
                in: "Client.swift"
            )
        )
        #expect(generation.contains(#"try request.addHeader("h", input.headers.h)"#, in: "Client.swift"))
        #expect(generation.contains(#"try request.add(.query, "s", input.query.s)"#, in: "Client.swift"))
        #expect(generation.warnings.count == 2)
    }

    @Test func placeholdersHaveTheStylesOfPaths() {
        func generation(_ parameter: String) -> Generation {
            Generation(
                document: """
                    openapi: 3.1.0
                    info: {title: Test, version: "1"}
                    paths:
                      /a/{m}:
                        get:
                          operationId: a
                          parameters: [{name: m, in: path, required: true, \(parameter)}]
                          responses: {"204": {description: None.}}
                    """,
                modes: [.types, .client, .server]
            )
        }
        let matrix = generation("style: matrix, explode: true, schema: {type: array, items: {type: string}}")
        #expect(matrix.diagnostics == [])
        #expect(
            matrix.contains(
                #"try request.addPath(parameter: input.path.m, named: "m", style: .matrix, explode: true)"#,
                in: "Client.swift"
            )
        )
        #expect(
            matrix.contains(
                #"try request.path("m", .array(.string), [Swift.String].self, style: .matrix, explode: true)"#,
                in: "Server.swift"
            )
        )
        let label = generation("style: label, schema: {type: string}")
        #expect(
            label.contains(
                #"try request.addPath(parameter: input.path.m, named: "m", style: .label, explode: false)"#,
                in: "Client.swift"
            )
        )
        for parameter in ["style: form, schema: {type: string}", "content: {text/plain: {}}"] {
            let other = generation(parameter)
            #expect(other.files.isEmpty)
            #expect(
                other.errors == [
                    "openapi.yaml:6:7: error: The operation GET /a/{m} has no form for its path parameter 'm'. (describe the "
                        + "parameter by a schema of text, numbers, arrays or objects, in the style 'simple', 'label' or 'matrix')"
                ]
            )
            #expect(other.warnings.count == 1)
        }
    }

    @Test func aQueryStringIsTheWholeQuery() {
        let generation = Generation(
            document: """
                openapi: 3.2.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    get:
                      operationId: a
                      parameters:
                        - name: filter
                          in: querystring
                          content:
                            application/x-www-form-urlencoded:
                              schema: {type: object, properties: {n: {type: integer}, l: {type: array, items: {type: string}}}}
                              encoding: {l: {style: pipeDelimited, explode: false}}
                      responses: {"204": {description: None.}}
                    post:
                      operationId: b
                      parameters:
                        - {name: days, in: querystring, required: true, content: {application/json: {schema: {type: integer}}}}
                      responses: {"204": {description: None.}}
                """,
            modes: [.types, .client, .server]
        )
        #expect(generation.warnings == [])
        let styles = #", styles: ["l": OpenAPISwiftRuntime.FormMemberStyle(.pipeDelimited, explode: false)]"#
        let shape = #".object(["n": .number, "l": .array(.string)], additional: nil)"#
        let type = "Operations.a.Input.Query.filterPayload.self"
        for (text, file) in [
            ("public struct filterPayload", "Types+Operations.swift"),
            ("public init(filter: Operations.a.Input.Query.filterPayload? = nil)", "Types+Operations.swift"),
            ("try request.setFormQuery(input.query.filter\(styles))", "Client.swift"),
            ("try request.setJSONQuery(input.query.days)", "Client.swift"),
            (#"filter: try request.formQuery("filter", \#(shape), \#(type)\#(styles))"#, "Server.swift"),
            (#"days: try request.requiredJSONQuery("days", Swift.Int.self)"#, "Server.swift"),
        ] {
            #expect(generation.contains(text, in: file), "\(text)")
        }
    }

    @Test func operationsOfAnyMethodAreGenerated() {
        let generation = Generation(
            document: """
                openapi: 3.2.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    query: {operationId: a, responses: {"204": {description: None.}}}
                    additionalOperations:
                      COPY: {operationId: b, responses: {"204": {description: None.}}}
                      mKcol: {responses: {"204": {description: None.}}}
                """,
            modes: [.types, .client, .server]
        )
        #expect(generation.warnings == [])
        #expect(generation.contains("- Remark: HTTP `COPY /a`.", in: "Types+Operations.swift"))
        #expect(generation.contains("enum mkcol_sol_a ", in: "Types+Operations.swift"))
        for file in ["Client.swift", "Server.swift"] {
            #expect(generation.contains("method: .query,", in: file))
            #expect(generation.contains(#"method: OpenAPISwiftRuntime.requestMethod("COPY"),"#, in: file))
            #expect(generation.contains(#"method: OpenAPISwiftRuntime.requestMethod("mKcol"),"#, in: file))
        }
    }
}

import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

/// The method QUERY, and operations with methods that are not standard.
struct AdditionalOperationTests {
    private typealias Tidy = Operations.x_hyphen_tidy_excl__sol_shelves_sol__lcub_id_rcub_

    private func method(_ token: String) throws -> HTTPRequest.Method {
        try #require(HTTPRequest.Method(token))
    }

    // MARK: What the client writes

    @Test func aQueryIsSentWithItsBody() async throws {
        let wire = Wire(json: "[]")
        let output = try await wire.client().queryShelf(path: .init(id: "a b"), body: .json(.init(Max: 2)))
        #expect(try output.ok.body.json == [])
        let request = try wire.request
        #expect(request.start == "QUERY /shelves/a%20b")
        #expect(request.fields["accept"] == "application/json")
        #expect(request.fields["content-type"] == "application/json; charset=utf-8")
        #expect(request.body == "{\n  \"Max\" : 2\n}")
    }

    @Test func additionalMethodsAreSentAsTheyAreWritten() async throws {
        let wire = Wire(201)
        _ = try await wire.client().copyShelf(path: .init(id: "1"), headers: .init(Destination: "2"))
        #expect(try wire.request == Message(start: "COPY /shelves/1", fields: ["destination": "2"]))
        _ = try await wire.client().x_hyphen_tidy_excl__sol_shelves_sol__lcub_id_rcub_(path: .init(id: "1"))
        #expect(try wire.request == Message(start: "x-tidy! /shelves/1"))
    }

    // MARK: What the server reads

    @Test func aServerTellsMethodsApart() async throws {
        let json: HTTPFields = [.contentType: "application/json"]
        let query = try await received(\.queryShelf, .query, "/shelves/1", json, #"{"name":"n"}"#)
        #expect(query == .init(path: .init(id: "1"), body: .json(.init(name: "n"))))
        let fields: HTTPFields = [try .custom("destination"): "2"]
        let copy = try await received(\.copyShelf, method("COPY"), "/shelves/1", fields)
        #expect(copy == .init(path: .init(id: "1"), headers: .init(Destination: "2")))
        #expect(try await received(\.tidyShelf, method("x-tidy!"), "/shelves/1").path.id == "1")
    }

    @Test func methodsAreTheSameOnlyInTheirOwnCase() async throws {
        for other in ["copy", "X-TIDY!", "GET", "query"] {
            let allowed = ["allow": "COPY, QUERY, x-tidy!"]
            #expect(try await Handlers().answer(method(other), "/shelves/1") == Message(start: "405", fields: allowed))
        }
    }

    // MARK: Both

    @Test func aQueryIsAnswered() async throws {
        let client: Client = try Handlers(queryShelf: { input in
            .ok(.init(body: .json([input.path.id, try input.body.json.name ?? ""])))
        }).client()
        let output = try await client.queryShelf(path: .init(id: "a/b"), body: .json(.init(name: "n")))
        #expect(try output.ok.body.json == ["a/b", "n"])
    }

    @Test func operationsWithoutAnIdentifierAreNamedByMethodAndPath() {
        #expect(Tidy.id == "x-tidy!/shelves/{id}")
    }
}

import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The text of JSON bodies: the layout that is written, and the layouts that are read.
struct JSONTextTests {
    private func written(
        _ value: OpenAPIValueContainer,
        _ options: JSONEncodingOptions = [.sortedKeys, .prettyPrinted]
    ) async throws -> String? {
        let wire = Wire(json: "null")
        _ = try await wire.client(configuration: .init(jsonEncodingOptions: options)).sendFree(body: .json(value))
        return try wire.request.body
    }

    private func object(_ members: [String: (any Sendable)?]) throws -> OpenAPIValueContainer {
        try OpenAPIValueContainer(unvalidatedValue: members)
    }

    // MARK: Layout

    @Test func bodiesAreIndentedByTwoAndSorted() async throws {
        let inner: [String: (any Sendable)?] = ["b": true, "a": nil]
        let list: [(any Sendable)?] = [1, "x"]
        #expect(
            try await written(object(["z": inner, "list": list])) == """
                {
                  "list" : [
                    1,
                    "x"
                  ],
                  "z" : {
                    "a" : null,
                    "b" : true
                  }
                }
                """
        )
    }

    @Test func keysAreSortedByTheirCodePoints() async throws {
        let value = try object(["a2": 1, "a10": 2, "B": 3, "a": 4, "é": 5, "_": 6])
        #expect(try await written(value, .sortedKeys) == #"{"B":3,"_":6,"a":4,"a10":2,"a2":1,"é":5}"#)
    }

    @Test func emptyObjectsAndListsHaveAnEmptyLine() async throws {
        #expect(try await written(object([:])) == "{\n\n}")
        #expect(try await written(.init(unvalidatedValue: [] as [any Sendable])) == "[\n\n]")
        #expect(try await written(object([:]), []) == "{}")
    }

    @Test func slashesAreEscapedUnlessTheConfigurationSaysOtherwise() async throws {
        #expect(try await written("a/b") == #""a\/b""#)
        #expect(try await written("a/b", .withoutEscapingSlashes) == #""a/b""#)
    }

    @Test func controlCharactersAreEscapedAndOthersAreNot() async throws {
        #expect(try await written("\n\r\t\u{8}\u{C}\u{1}\u{1F}") == #""\n\r\t\b\f\u0001\u001f""#)
        #expect(try await written("é😀\u{7F}\u{2028}\"\\") == "\"é😀\u{7F}\u{2028}\\\"\\\\\"")
    }

    @Test(arguments: [(1.0, "1"), (0.1, "0.1"), (1e21, "1e+21"), (-0.0, "-0"), (1e-7, "1e-07"), (-2.5, "-2.5")])
    func numbersAreWrittenInTheirShortestForm(number: Double, text: String) async throws {
        let wire = Wire()
        _ = try await wire.client(configuration: .init(jsonEncodingOptions: []))
            .patchOptional(body: .json(.init(text: "", weight: number)))
        #expect(try wire.request.body == #"{"text":"","weight":\#(text)}"#)
    }

    @Test func theConfigurationDecidesForAnswersToo() async throws {
        let handlers = Handlers(failing: { _ in .ok(.init(body: .json(.init(text: "a/b", weight: 1)))) })
        let answer = try await handlers.answer(
            .get,
            "/failures",
            configuration: .init(jsonEncodingOptions: .withoutEscapingSlashes)
        )
        #expect(answer.body == #"{"text":"a/b","weight":1}"#)
        #expect(answer.fields["content-length"] == "25")
    }

    // MARK: Reading

    private func read(_ text: HTTPBody) async throws -> Components.Schemas.Point? {
        let input = try await received(\.sendList, .post, "/bodies/list", [:], text)
        guard case .json(let points) = input.body else { return nil }
        return points.first
    }

    @Test(
        arguments: [
            #"[{"x":1,"y":2}]"#, " \n\t[ {\r\n\"y\" : 2 , \"x\" : 1 } ] \n", "\u{FEFF}[{\"x\":1,\"y\":2}]",
            #"[{"x":1.0,"y":2e0}]"#, #"[{"x":1,"y":20e-1}]"#, #"[{"x":1,"y":2,"z":{"x":[7,{"y":null}]}}]"#,
            #"[{"\u0078":1,"y":2}]"#, #"[{"z":"\ud83d\ude00\/","x":1,"y":2}]"#,
        ]
    )
    func theSameValueIsReadFrom(text: String) async throws {
        #expect(try await read(HTTPBody(text)) == .init(x: 1, y: 2))
        #expect(try await read(.dripping(text)) == .init(x: 1, y: 2))
    }

    @Test(
        arguments: [
            "", " ", "[", "[{}]", #"[{"x":1}]"#, #"[{"x":1,"y":2}"#, #"[{"x":1,"y":2}]]"#, #"[{"x":1,"y":2}] x"#,
            #"[{"x":1.5,"y":2}]"#, #"[{"x":"1","y":2}]"#, #"[{"x":true,"y":2}]"#, #"[{"x":null,"y":2}]"#,
            #"[{"x":9223372036854775808,"y":2}]"#, #"[{"x":01,"y":2}]"#, #"[{"x":+1,"y":2}]"#, #"[{"x":1,"y":NaN}]"#,
            #"[{"x":1,/* */"y":2}]"#, "[{\"x\":1,\"y\":2} // \n]", "[{'x':1,'y':2}]", #"[{x:1,"y":2}]"#, "{}", "7",
            "null",
            "[{\"z\":\"\u{1}\",\"x\":1,\"y\":2}]", #"[{"z":"\x","x":1,"y":2}]"#, #"[{"x":1 "y":2}]"#,
            #"[{"x":1,"y":2},,{}]"#,
        ]
    )
    func textThatIsNoSuchValueIsABadRequest(text: String) async throws {
        #expect(try await Handlers().answer(.post, "/bodies/list", [:], HTTPBody(text)) == Message(start: "400"))
    }

    @Test func bytesThatAreNotTextAreABadRequest() async throws {
        let body = HTTPBody([UInt8(ascii: "\""), 0xFF, UInt8(ascii: "\"")])
        #expect(try await Handlers().answer(.post, "/bodies/string", [:], body) == Message(start: "400"))
    }

    @Test func tooDeepNestingIsABadRequest() async throws {
        let deep: String = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(try await Handlers().answer(.post, "/bodies/free", [:], HTTPBody(deep)) == Message(start: "400"))
        let shallow: String = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        _ = try await received(\.sendFree, .post, "/bodies/free", [:], HTTPBody(shallow))
    }
}

import OpenAPISwiftGenerator
import Testing

/// Small documents that stand for very much, and keys that are the same to Swift but not to JSON.
struct LimitTests {
    private let head = "openapi: 3.1.0\ninfo: {title: Test, version: '1'}\npaths: {}\n"

    /// Anchors of which each names the one before it twice.
    private func doubling(_ levels: Int) -> String {
        (1...levels).map { "x-\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1)]\n" }.reduce("x-0: &a0 [lol, lol]\n", +)
    }

    private let tooMany =
        "openapi.yaml:1:1: error: The document holds too many values once its aliases are written out. "
        + "(use '$ref' instead of aliases)"

    // MARK: Aliases

    @Test func anAliasOfAliasesIsNoKey() {
        let bomb = Generation(document: head + doubling(40) + "x-last: {? *a40 : 1}\n")
        #expect(bomb.errors == [tooMany])
        let few = Generation(document: head + doubling(3) + "x-last: {? *a3 : 1}\n")
        #expect(
            few.errors == [
                "openapi.yaml:8:12: error: A key is text, this is an alias of an array. "
                    + "(quote text that begins with a brace, a bracket or an asterisk)"
            ]
        )
    }

    @Test func anAliasOfTextIsAKey() {
        let generation = Generation(
            document: head + "x-name: &name Pet\ncomponents: {schemas: {? *name : {type: string}}}\n"
        )
        #expect(generation.errors == [])
        #expect(generation.contains("public typealias Pet = Swift.String\n"))
    }

    @Test func anAliasIsDefinedBeforeItIsUsed() {
        #expect(
            Generation(document: head + "x-a: &a [*a]\n").errors == [
                "openapi.yaml:4:10: error: The document is not valid YAML: found undefined alias '*a' "
                    + "(an alias names a value that ends before it: '&a')"
            ]
        )
    }

    @Test func aliasesDoNotNestBeyondTheLimit() {
        let levels = (1...600).map { "x-\($0): &a\($0) [*a\($0 - 1)]\n" }
        let generation = Generation(document: head + "x-0: &a0 []\n" + levels.joined())
        #expect(generation.errors.count == 1)
        #expect(generation.errors.first?.contains("The document nests more than 512 levels deep.") == true)
    }

    @Test func aFilteredDocumentIsNotMuchLargerThanTheDocument() {
        for levels in [16, 24] {
            #expect(throws: Diagnostic.self) {
                _ = try DocumentFilter.filter(
                    [UInt8]((head + doubling(levels)).utf8),
                    named: "openapi.yaml",
                    by: nil,
                    as: .yaml
                )
            }
        }
        let long = String(repeating: "long ", count: 20_000)
        let text = "x-0: &a \(long)\nx-1: [\(String(repeating: "*a, ", count: 5000))]\n"
        #expect(Generation(document: head + text).errors == [tooMany])
    }

    @Test func pathItemsAreNotInlinedWithoutEnd() {
        let operations = (1...300).map { "    x-\($0): [\(String(repeating: "1, ", count: 100))]\n" }.joined()
        let paths = (1...100).map { "  /a\($0): {$ref: '#/x-item'}\n" }.joined()
        let generation = Generation(
            document: "openapi: 3.1.0\ninfo: {title: Test, version: '1'}\nx-item:\n\(operations)paths:\n\(paths)"
        )
        #expect(generation.errors.count == 1)
        #expect(generation.errors.first?.contains("too many operations once its references to path items") == true)
    }

    // MARK: Chains

    @Test(.timeLimit(.minutes(1))) func aLongChainOfReferencesIsFollowedOnce() {
        let count = 20_000
        let links = (0..<count).map { "    A\($0): {$ref: '#/components/schemas/A\($0 + 1)'}\n" }.joined()
        let responses = (0..<count).map { "    R\($0): {$ref: '#/components/responses/R\($0 + 1)'}\n" }.joined()
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    get:
                      operationId: a
                      parameters: [{name: q, in: query, schema: {$ref: '#/components/schemas/A0'}}]
                      responses: {'200': {$ref: '#/components/responses/R0'}}
                components:
                  schemas:
                \(links)    A\(count): {type: [string, 'null']}
                  responses:
                \(responses)    R\(count): {description: Fine.}
                """,
            modes: [.types, .server]
        )
        #expect(generation.errors == [])
        let isAlias = generation.contains("public typealias A0 = Components.Schemas.A1\n")
        let call = #"request.parameter(.query, "q", .string, Components.Schemas.A0.self)"#
        let isText = generation.contains(call, in: "Server.swift")
        #expect(isAlias)
        #expect(isText)
    }

    @Test func arraysOfArraysHaveALimit() {
        let links = (0..<2000).map { "    A\($0): {type: array, items: {$ref: '#/components/schemas/A\($0 + 1)'}}" }
        let generation = Generation(schemas: links.joined(separator: "\n") + "\n    A2000: {type: string}")
        #expect(generation.errors.count == 1)
        #expect(generation.errors.first?.contains("holds more than 256 arrays in each other") == true)
    }

    @Test func bracketsHaveALimit() {
        func generation(_ count: Int) -> Generation {
            let opening = String(repeating: "{type: array, items: ", count: count)
            return Generation(schemas: "    A: \(opening){type: string}\(String(repeating: "}", count: count))")
        }
        #expect(generation(12).errors == [])
        #expect(
            generation(13).errors == [
                "openapi.yaml:6:260: error: More than 12 arrays are written in each other. "
                    + "(make some of them component schemas, and refer to them)"
            ]
        )
    }

    @Test func aCircleOfComponentsIsNamed() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  responses:
                    A: {$ref: '#/components/responses/B'}
                    B: {$ref: '#/components/responses/A'}
                    C: {$ref: '#/components/responses/A'}
                  parameters:
                    P: {$ref: '#/components/parameters/P'}
                """
        )
        #expect(
            generation.errors == [
                "openapi.yaml:10:15: error: The reference '#/components/parameters/P' closes a circle of "
                    + "'#/components/parameters' without a value: 'P' → 'P'. (write the value in one of them)",
                "openapi.yaml:7:15: error: The reference '#/components/responses/A' closes a circle of "
                    + "'#/components/responses' without a value: 'A' → 'B' → 'A'. (write the value in one of them)",
            ]
        )
    }

    // MARK: Keys

    @Test func keysWithDifferentScalarsAreDifferentKeys() {
        let (one, two) = ("caf\u{E9}", "cafe\u{301}")
        let generation = Generation(
            schemas: """
                    \(one): {type: object, required: [\(two)], properties: {\(one): {type: string}, \(two): {type: integer}}}
                    \(two): {type: object, properties: {a: {$ref: '#/components/schemas/\(two)'}}}
                    other: {$ref: '#/components/schemas/\(one)'}
                """
        )
        #expect(generation.errors == [])
        let lines = (generation.files["Types+Schemas.swift"] ?? "").utf8.split(separator: 10)
        func has(_ line: String) -> Bool {
            lines.contains { $0.drop { $0 == 32 }.elementsEqual(line.utf8) }
        }
        #expect(has("public var \(one): Swift.String?"))
        #expect(has("public var \(two)_2: Swift.Int"))
        #expect(has("private static let __keys: StreamingJSON.JSONKeys = .init(\"\(one)\", \"\(two)\")"))
        #expect(has("public struct \(two)_2: StreamingJSON.JSONCodable, Swift.Sendable {"))
        #expect(has("public typealias other = Components.Schemas.\(one)"))
    }
}

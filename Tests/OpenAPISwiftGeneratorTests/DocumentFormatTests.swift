import OpenAPISwiftGenerator
import Testing

/// YAML and JSON: what the generator reads, and its diagnostics about everything else.
struct DocumentFormatTests {
    private let head = "openapi: 3.1.0\ninfo: {title: Test, version: '1'}\n"

    private func generate(_ bytes: [UInt8]) -> GeneratorResult {
        Generator(configuration: GeneratorConfiguration(modes: [.types]))
            .generate(from: bytes, named: "openapi.yaml")
    }

    private func errors(_ bytes: [UInt8]) -> [String] {
        generate(bytes).diagnostics.filter { $0.severity == .error }.map(\.description)
    }

    private func errors(_ text: String) -> [String] { errors([UInt8](text.utf8)) }

    // MARK: Encodings

    @Test func byteOrderMarksAndLineEndsChangeNothing() {
        let yaml = head + "paths: {}\ncomponents:\n  schemas:\n    A: {type: string}\n"
        let json =
            #"{"openapi": "3.1.0", "info": {"title": "Test"}, "paths": {}, "components": {"schemas": {"A": {"type": "string"}}}}"#
        let expected: [GeneratedFile] = generate([UInt8](yaml.utf8)).files
        #expect(!expected.isEmpty)
        let bom: [UInt8] = [0xEF, 0xBB, 0xBF]
        #expect(generate(bom + yaml.utf8).files == expected)
        #expect(generate([UInt8](yaml.utf8).flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }).files == expected)
        #expect(generate([UInt8](json.utf8)).files == expected)
        #expect(generate(bom + json.utf8).files == expected)
    }

    @Test func placesAreCountedAfterAByteOrderMark() {
        let json = "{\"openapi\": \"4\"}"
        #expect(errors([0xEF, 0xBB, 0xBF] + json.utf8).map { $0.prefix(18) } == ["openapi.yaml:1:13:"])
        #expect(errors(json).map { $0.prefix(18) } == ["openapi.yaml:1:13:"])
    }

    @Test func columnsCountCharactersAndNotBytes() {
        #expect(errors("{\"x\": \"äöü€😀\", \"openapi\": 4}").map { $0.prefix(18) } == ["openapi.yaml:1:27:"])
        #expect(errors("{x: \"äöü€😀\", openapi: 4}").map { $0.prefix(18) } == ["openapi.yaml:1:23:"])
    }

    @Test func otherEncodingsSayHowToConvert() {
        let text = head + "paths: {}\n"
        let big: [UInt8] = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let little: [UInt8] = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        for bytes in [big, little, [0xFE, 0xFF] + big, [0xFF, 0xFE] + little] {
            #expect(
                errors(bytes) == [
                    "openapi.yaml:1:1: error: The document is not UTF-8 but looks like UTF-16 or UTF-32. "
                        + "(save it as UTF-8, for instance by 'iconv -f UTF-16 -t UTF-8')"
                ]
            )
        }
        let latin: [UInt8] = Array("openapi: 3.1.0\ninfo: {title: b".utf8) + [0xE4] + Array("r}\n".utf8)
        #expect(
            errors(latin) == ["openapi.yaml:2:16: error: The document is not valid UTF-8. (save it as UTF-8)"]
        )
    }

    // MARK: YAML

    @Test func anchorsAliasesAndMergesAreWrittenOut() {
        let generation = Generation(
            document: head + """
                x-base: &base {type: object, description: A base., properties: &names {a: {type: string}}}
                x-more: &more {required: [a], description: Not this one.}
                paths: {}
                components:
                  schemas:
                    A: *base
                    B:
                      <<: [*base, *more]
                      properties: {<<: *names, b: {type: integer}}
                """
        )
        #expect(generation.diagnostics == [])
        #expect(generation.contains("/// A base.\npublic struct B:"))
        #expect(generation.contains("public init(b: Swift.Int? = nil, a: Swift.String)"))
        #expect(generation.contains("public init(a: Swift.String? = nil)"))
    }

    @Test func onlyObjectsCanBeMerged() {
        #expect(
            errors(head + "paths: {}\ncomponents: {<<: 3}\n") == [
                "openapi.yaml:4:18: error: The key '<<' merges an object or a list of objects, this is an integer."
            ]
        )
    }

    @Test func aliasesOfAliasesEnd() {
        let levels = (1...2000).map { "x-\($0): &a\($0) [*a\($0 - 1)]\n" }.joined()
        #expect(
            errors(head + "x-0: &a0 []\n\(levels)paths: {}\n").map { $0.contains("more than 512 levels") } == [true]
        )
        #expect(errors(head + "x-0: &a0 [*a0]\npaths: {}\n").map { $0.contains("undefined alias") } == [true])
    }

    @Test func keysThatAreNoStringsAreTheirText() {
        let generation = Generation(
            document: head + """
                paths:
                  /a:
                    get:
                      operationId: true
                      tags: [1, no]
                      responses:
                        200: {description: x}
                        404: {description: y}
                        5XX: {description: z}
                components:
                  schemas:
                    2020-01-01: {type: string, enum: [2020-01-01, yes, 1.5, 7, null, ~]}
                    true: {type: object, properties: {1: {type: string}, null: {type: integer}}}
                """
        ) { $0.filter = DocumentFilter(operations: ["true"], schemas: ["2020-01-01", "true"]) }
        #expect(generation.errors == [])
        #expect(generation.contains("enum _true", in: "Types+Operations.swift"))
        #expect(generation.contains("case badGateway", in: "Types+Operations.swift") == false)
        #expect(generation.contains("case _2020_hyphen_01_hyphen_01 = \"2020-01-01\""))
        #expect(generation.contains("case yes = \"yes\""))
        #expect(generation.contains("struct _true:"))
        #expect(generation.contains("var _1: Swift.String?"))
    }

    @Test func keysThatAreNotTextAreErrors() {
        #expect(
            errors(head + "paths: {}\ncomponents:\n  {{name}}: x\n") == [
                "openapi.yaml:5:3: error: A key is text, this is an object. "
                    + "(quote text that begins with a brace, a bracket or an asterisk)"
            ]
        )
    }

    @Test func theSameKeyTwiceIsAnErrorInBothFormats() {
        #expect(
            errors("{\n  \"openapi\": \"3.1.0\",\n  \"paths\": {},\n  \"paths\": {}\n}") == [
                "openapi.yaml:4:12: error: The document is not valid JSON: the same key appears twice: 'paths'"
            ]
        )
        #expect(errors(head + "paths: {}\npaths: {}\n").map { $0.prefix(24) } == ["openapi.yaml:4:1: error:"])
        #expect(
            errors(head + "paths: {/a: {get: {responses: {200: {description: x}, '200': {description: y}}}}}\n") == [
                "openapi.yaml:3:55: error: The document is not valid YAML: the same key appears twice: '200'"
            ]
        )
    }

    @Test func malformedYAMLSaysWhatToDo() {
        #expect(errors(head + "paths:\n\t/a: {}\n").first?.contains("indent with spaces, not tabs") == true)
        #expect(errors(head + "paths: {}\n---\n" + head).first?.contains("keep one document in the file") == true)
        #expect(errors(head + "x: a: b\n").first?.contains("quote text that holds ': '") == true)
        for text in ["paths: {", "paths: [}", "paths: \"x", "x: *none", "x:\n  y: 1\n z: 2", "%YAML 9\n---\n"] {
            let found: [String] = errors(head + text)
            #expect(found.count == 1 && found[0].hasPrefix("openapi.yaml:"), "\(text)")
        }
    }

    // MARK: JSON

    @Test func whatBeginsWithAQuotedKeyIsJSON() {
        for text in ["{\"a\": }", "{\"a\": 1,}", "{\"a\": 'b'}", "{\"a\": 1", "{\"a\": 1} x"] {
            #expect(errors(text).map { $0.contains("not valid JSON") } == [true], "\(text)")
        }
        #expect(errors("{openapi: 3.1.0, paths: {}}") == [])
    }

    @Test func valuesThatNestTooDeepAreErrors() {
        let deep = String(repeating: "[", count: 5000)
        #expect(errors(deep).count == 1)
        #expect(errors("{\"a\": \(deep)").count == 1)
        #expect(errors("a:\n" + (0..<2000).map { String(repeating: " ", count: $0) + "- \n" }.joined()).count == 1)
        let items = (0..<600).reduce("{}") { schema, _ in "{type: array, items: \(schema)}" }
        #expect(errors(head + "paths: {}\ncomponents: {schemas: {A: \(items)}}\n").count == 1)
    }

    // MARK: Versions and several errors

    @Test(arguments: ["3.0.0", "3.0.4", "3.1.0", "3.1.2", "3.2.0"])
    func everyVersionIsReadFromBothFormats(version: String) {
        let yaml = "openapi: \(version)\npaths: {}\ncomponents: {schemas: {A: {type: [string, 'null']}}}\n"
        let json = """
            {"openapi": "\(version)", "paths": {}, "components": {"schemas": {"A": {"type": ["string", "null"]}}}}
            """
        #expect(errors(yaml) == [])
        #expect(generate([UInt8](yaml.utf8)).files == generate([UInt8](json.utf8)).files)
    }

    @Test func oneRunReportsEveryMistake() {
        let document =
            head + """
                servers: [{description: No address.}]
                paths:
                  /a:
                    get: {responses: {}}
                    put: {operationId: x, responses: {'20': {description: x}}}
                    post: 3
                  /b: {get: {responses: {'200': {description: x, content: {json: {}}}}}}
                components:
                  schemas: {A: {properties: 3}, B: [], C: {type: object}}
                  parameters: {P: {in: query}, Q: {name: q, in: body}}
                """
        #expect(
            errors(document) == [
                "openapi.yaml:11:29: error: 'properties' must be an object, this is an integer.",
                "openapi.yaml:11:36: error: A schema must be an object, this is an array.",
                "openapi.yaml:12:19: error: A parameter needs a 'name'.",
                "openapi.yaml:12:35: error: The parameter 'q' needs an 'in' of path, query, header or cookie.",
                "openapi.yaml:6:10: error: The operation GET /a has no response. (document at least one response)",
                "openapi.yaml:7:45: error: '20' is not a response status.",
                "openapi.yaml:8:11: error: 'post /a' must be an object, this is an integer.",
                "openapi.yaml:9:66: error: 'json' is not a media type. (write type/subtype)",
                "openapi.yaml:3:11: error: A server needs a 'url'.",
            ]
        )
    }

    @Test func resolutionReportsEveryMistakeToo() {
        let document =
            head + """
                paths:
                  /a/{id}: {get: {operationId: x, responses: {'200': {description: x}}}}
                  /b: {get: {operationId: y, responses: {'200': {$ref: '#/components/responses/R'}}}}
                  /c: {get: {operationId: y, responses: {'200': {description: x}}}}
                components:
                  schemas:
                    A: {type: object, properties: {x: {$ref: '#/components/schemas/X'}, y: {$ref: '#/components/schemas/Y'}}}
                """
        #expect(errors(document).count == 5)
    }

    @Test func keysWithValuesOfAnotherKindAreSaid() {
        let generation = Generation(
            schemas: """
                    A: {type: object, required: x, discriminator: kind, nullable: 'yes', properties: {x: {type: 3, enum: a}}}
                    B: {type: string, format: 3, deprecated: 1}
                    C: {oneOf: [{type: string}, {type: integer}], discriminator: {mapping: {}}}
                """
        )
        #expect(generation.errors == [])
        #expect(
            generation.warnings == [
                "openapi.yaml:6:33: warning: 'required' has no effect: it must be an array, this is a string.",
                "openapi.yaml:6:51: warning: 'discriminator' has no effect: it must be an object with a 'propertyName', this is "
                    + "a string.",
                "openapi.yaml:6:67: warning: 'nullable' has no effect: it must be a boolean, this is a string.",
                "openapi.yaml:6:97: warning: 'type' has no effect: it must be a string or an array, this is an integer.",
                "openapi.yaml:6:106: warning: 'enum' has no effect: it must be an array, this is a string.",
                "openapi.yaml:7:31: warning: 'format' has no effect: it must be a string, this is an integer.",
                "openapi.yaml:7:46: warning: 'deprecated' has no effect: it must be a boolean, this is an integer.",
                "openapi.yaml:8:66: warning: 'discriminator' has no effect: it must be an object with a 'propertyName', this is "
                    + "an object.",
            ]
        )
        #expect(
            Generation(schemas: "    A: {$ref: 3}").errors == [
                "openapi.yaml:6:15: error: A '$ref' is text, this is an integer."
            ]
        )
    }

    // MARK: What is not generated

    @Test func constructsWithoutCounterpartAreSaidOnce() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                webhooks: {new: {post: {responses: {'200': {description: x}}}}, old: {}}
                paths:
                  /a:
                    get: {operationId: a, callbacks: {x: {}}, responses: {'200': {description: x, links: {l: {}}}}}
                    put: {operationId: b, callbacks: {x: {}}, responses: {'200': {description: x}}}
                security: [{key: []}]
                components:
                  securitySchemes: {key: {type: http, scheme: basic}}
                """
        )
        #expect(
            generation.diagnostics.map(\.message) == [
                "Webhooks are not generated: 2 left out.",
                "Callbacks are not generated: 2 operations have some.",
                "Links are not generated: one response has some.",
                "Security schemes are not generated.",
            ]
        )
        #expect(generation.errors == [])
    }

    @Test func serverVariablesHaveDistinctNamesAndValues() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                servers:
                  - url: https://{base_path}/{basePath}/{any}
                    variables:
                      base_path: {default: b c, enum: [a, a, b-c, b c]}
                      basePath: {default: d, enum: [d]}
                      any: {default: z, enum: []}
                paths: {}
                """,
            naming: .idiomatic
        )
        #expect(generation.errors == [])
        #expect(
            generation.warnings == [
                "openapi.yaml:6:43: warning: The value 'a' of the server variable 'base_path' appears twice, the second is "
                    + "dropped.",
                "openapi.yaml:8:31: warning: The 'enum' of the server variable 'any' has no effect: it must be a list of at "
                    + "least one value. (list the allowed values, or leave 'enum' out to allow any)",
            ]
        )
        let file = "Types.swift"
        #expect(generation.contains("case a = \"a\"\ncase bC = \"b-c\"\ncase bC_2 = \"b c\"", in: file))
        let parameters = "basePath: BasePath = .bC_2,\nbasePath_2: Basepath = .d,\nany: Swift.String = \"z\""
        #expect(generation.contains(parameters, in: file))
        #expect(
            generation.contains(
                #"[.init(name: "base_path", value: basePath.rawValue), .init(name: "basePath", value: basePath_2.rawValue), "#
                    + #".init(name: "any", value: any)]"#,
                in: file
            )
        )
    }

    @Test func aServerVariableHasItsDefaultAmongItsValues() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                servers: [{url: 'https://{host}', variables: {host: {default: c, enum: [a, b]}}}]
                paths: {}
                """
        )
        #expect(generation.warnings.map { $0.contains("'c' of the server variable 'host'") } == [true])
        #expect(generation.contains("case c = \"c\"", in: "Types.swift"))
    }

    @Test func commentsHoldNoControlCharacters() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: "A\\nB"}
                paths: {}
                components:
                  schemas:
                    A: {type: string, description: "one\\0 two \\r\\nthree\\rlet x = 1\\ffour\\e[31m"}
                """
        ) { $0.additionalFileComments = ["first\rlet y = 2"] }
        #expect(
            generation.contains(
                "/// one two\n/// three\n/// let x = 1\n/// four[31m\npublic typealias A = Swift.String"
            )
        )
        #expect(generation.contains("// first\n// let y = 2\n"))
    }

    @Test(arguments: ["allOf", "anyOf", "oneOf", "items", "properties", "additionalProperties"])
    func deeplyNestedSchemasAreGenerated(key: String) {
        let nest = (0..<(key == "items" ? 12 : 80)).reduce("{type: string}") { schema, _ in
            switch key {
            case "items": "{type: array, items: \(schema)}"
            case "properties": "{type: object, properties: {x: \(schema)}}"
            case "additionalProperties": "{type: object, additionalProperties: \(schema)}"
            default: "{\(key): [\(schema), {type: integer}]}"
            }
        }
        let generation = Generation(schemas: "    A: \(nest)\n")
        #expect(generation.errors == [])
        #expect(generation.contains("A"))
    }

    @Test func longChainsOfReferencesEnd() {
        // Each schema is unsupported because the next one is, and the next one comes later in the document.
        let schemas = (0..<3000).map { "    S\($0): {$ref: '#/components/schemas/S\($0 + 1)'}\n" }.joined()
        let generation = Generation(schemas: "\(schemas)    S3000: {type: 'null'}\n")
        #expect(generation.errors == [])
        #expect(generation.warnings.count == 3001)
    }
}

import OpenAPISwiftGenerator
import Testing

/// The diagnostics about documents that the generator cannot use, or cannot use completely.
struct DiagnosticsTests {
    private func head(_ rest: String) -> String {
        "openapi: 3.0.3\ninfo: {title: Test, version: '1'}\n" + rest
    }

    private let ok = "{description: Fine.}"

    // MARK: Errors

    @Test func yamlErrorsHaveLineAndColumn() {
        let generation = Generation(document: head("paths:\n  /a: {get: [}\n"))
        #expect(generation.files.isEmpty)
        #expect(generation.errors.count == 1)
        #expect(generation.errors.first?.hasPrefix("openapi.yaml:4:14: error: The document is not valid YAML") == true)
    }

    @Test func jsonErrorsHaveLineAndColumn() {
        let generation = Generation(document: "{\n  \"openapi\": \"3.0.3\",\n  \"paths\": }\n}")
        #expect(generation.errors.count == 1)
        #expect(generation.errors.first?.hasPrefix("openapi.yaml:3:12: error: The document is not valid JSON") == true)
    }

    @Test func duplicateKeysOfYAMLAreAnError() {
        let generation = Generation(document: head("paths: {}\npaths: {}\n"))
        #expect(generation.errors.first?.contains("the same key appears twice: 'paths'") == true)
    }

    @Test func aliasesThatMultiplyAreAnError() {
        let levels = (1...30).map { "x-\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1), *a\($0 - 1), *a\($0 - 1)]\n" }
        let generation = Generation(document: head("x-0: &a0 [lol, lol]\n\(levels.joined())paths: {}\n"))
        #expect(generation.files.isEmpty)
        #expect(
            generation.errors == [
                "openapi.yaml:1:1: error: The document holds too many values once its aliases are written out. "
                    + "(use '$ref' instead of aliases)"
            ]
        )
        let few = Generation(document: head("x-0: &a0 [lol, lol]\n\(levels[0])\(levels[1])paths: {}\n"))
        #expect(few.errors == [])
    }

    @Test(arguments: ["", "   \n", "[]", "just text", "3"])
    func whatIsNoObjectIsNoDocument(text: String) {
        #expect(Generation(document: text).errors.count == 1)
    }

    @Test func theVersionMustBeThereAndKnown() {
        #expect(
            Generation(document: "info: {}\n").errors
                == ["openapi.yaml:1:1: error: The key 'openapi' is missing."]
        )
        #expect(Generation(document: "swagger: '2.0'\n").errors.first?.contains("Swagger 2.0") == true)
        let unknown = Generation(document: "openapi: 4.0.0\npaths: {}\n").errors
        #expect(
            unknown == [
                "openapi.yaml:1:10: error: OpenAPI version '4.0.0' is not known. "
                    + "(use 3.0.0 to 3.0.4, 3.1.0 to 3.1.2 or 3.2.0)"
            ]
        )
        for version in ["3.0.0", "3.0.4", "3.1.0", "3.1.2", "3.2.0"] {
            #expect(Generation(document: "openapi: \(version)\npaths: {}\n").errors == [])
        }
    }

    @Test func aDocumentSaysWhatItIsAndHasPaths() {
        #expect(
            Generation(document: "openapi: 3.1.0\npaths: {}\n").warnings == [
                "openapi.yaml:1:1: warning: The key 'info' is missing. "
                    + "(say what the document describes: info: {title: …, version: …})"
            ]
        )
        #expect(
            Generation(document: head("pahts: {}\n")).errors
                == ["openapi.yaml:1:1: error: The key 'paths' is missing. (did you mean 'paths' by 'pahts'?)"]
        )
        let new = "openapi: 3.1.0\ninfo: {title: Test, version: '1'}\n"
        #expect(
            Generation(document: new).errors == [
                "openapi.yaml:1:1: error: The document has neither 'paths' nor 'components' nor 'webhooks'. "
                    + "(write 'paths: {}' for a document without paths)"
            ]
        )
        for rest in ["paths: {}\n", "components: {}\n", "webhooks: {}\n"] {
            #expect(Generation(document: new + rest).errors == [])
        }
    }

    @Test(
        arguments: [
            ("/a/{b", "a brace is not closed"), ("/a/b}", "a brace is closed that was not opened"),
            ("/a/{}", "a placeholder has no name"), ("/{a{b}}", "a brace is opened inside of a placeholder"),
        ]
    )
    func pathsHaveMatchingBraces(path: String, problem: String) {
        let generation = Generation(document: head("paths:\n  '\(path)': {get: {responses: {'200': \(ok)}}}\n"))
        #expect(
            generation.errors.map { $0.split(separator: ": ", maxSplits: 1).last.map(String.init) } == [
                "error: The path '\(path)' is not a template: \(problem). (write a placeholder as '{name}')"
            ]
        )
    }

    @Test func anOperationNeedsAResponse() {
        let generation = Generation(document: head("paths:\n  /a:\n    get:\n      responses: {}\n"))
        #expect(
            generation.errors == [
                "openapi.yaml:6:7: error: The operation GET /a has no response. (document at least one response)"
            ]
        )
    }

    @Test func operationIdentifiersAreUnique() {
        let operation = "{operationId: a, responses: {'200': \(ok)}}"
        let generation = Generation(document: head("paths:\n  /a:\n    get: \(operation)\n    put: \(operation)\n"))
        #expect(
            generation.errors == [
                "openapi.yaml:6:10: error: The operationId 'a' is used twice. "
                    + "(give each operation an operationId of its own)"
            ]
        )
    }

    @Test func pathPlaceholdersWithoutAParameterAreErrors() {
        let generation = Generation(document: head("paths:\n  /a/{b}:\n    get: {responses: {'200': \(ok)}}\n"))
        #expect(generation.errors.count == 1)
        #expect(generation.errors.first?.contains("'{b}'") == true)
    }

    @Test func mediaTypesHaveTwoParts() {
        let generation = Generation(
            document: head(
                "paths:\n  /a:\n    get: {responses: {'200': {description: x, content: {json: {}}}}}\n"
            )
        )
        #expect(generation.errors.first?.contains("'json' is not a media type.") == true)
    }

    @Test func referencesWithoutATargetAreErrors() {
        let missing = Generation(
            schemas: "    A: {type: object, properties: {b: {$ref: '#/components/schemas/B'}}}"
        )
        #expect(
            missing.errors.first
                == "openapi.yaml:6:46: error: The reference '#/components/schemas/B' has no target. "
                + "(add the schema to '#/components/schemas' or correct the name)"
        )
        let external = Generation(schemas: "    A: {type: object, properties: {b: {$ref: 'other.yaml#/B'}}}")
        #expect(external.errors.first?.contains("leaves the document") == true)
        let response = Generation(
            document: head("paths:\n  /a:\n    get: {responses: {'200': {$ref: '#/components/responses/X'}}}\n")
        )
        #expect(response.errors.first?.contains("has no target in '#/components/responses'") == true)
    }

    @Test func aliasesOfEachOtherAreAnError() {
        let generation = Generation(
            schemas: """
                    A: {$ref: '#/components/schemas/B'}
                    B: {$ref: '#/components/schemas/A'}
                """
        )
        #expect(generation.errors.first?.contains("'A' is a reference to itself") == true)
    }

    @Test func arraysOfNothingButThemselvesAreAnError() {
        let generation = Generation(
            schemas: """
                    A: {type: array, items: {type: array, items: {$ref: '#/components/schemas/B'}}}
                    B: {$ref: '#/components/schemas/A'}
                    C: {type: array, items: {$ref: '#/components/schemas/C'}}
                    D: {type: object, properties: {d: {type: array, items: {$ref: '#/components/schemas/D'}}}}
                """
        )
        #expect(generation.errors.count == 2)
        #expect(generation.errors.first?.contains("'A' is a reference to itself") == true)
        #expect(generation.errors.last?.contains("'C' is a reference to itself") == true)
    }

    // MARK: Warnings

    @Test func unsupportedPartsAreSaidAndSkipped() {
        let generation = Generation(
            document: head(
                """
                paths:
                  /a:
                    get:
                      operationId: a
                      parameters:
                        - {name: c, in: cookie, style: deepObject, schema: {type: object}}
                        - {name: s, in: query, style: deepObject, explode: false, schema: {type: object}}
                        - {name: q, in: query, content: {text/plain: {}}}
                        - {name: fine, in: query, schema: {type: string}}
                      requestBody: {content: {multipart/form-data: {schema: {type: string}}, application/x-www-form-urlencoded: {schema: {type: string, contentEncoding: binary}}}}
                      responses: {'200': \(ok)}
                """
            ),
            modes: [.types, .client, .server]
        )
        #expect(generation.errors == [])
        #expect(
            generation.warnings == [
                "openapi.yaml:9:11: warning: The query parameter 's' is left out: style 'deepObject' without explode is "
                    + "not supported there. [context: foundIn=Operations.a.Input.Query]",
                "openapi.yaml:10:11: warning: The query parameter 'q' is left out: content of type 'text/plain' is not "
                    + "supported there. [context: foundIn=Operations.a.Input.Query]",
                "openapi.yaml:8:11: warning: The cookie parameter 'c' is left out: style 'deepObject' is not supported "
                    + "there. [context: foundIn=Operations.a.Input.Cookies]",
                "openapi.yaml:12:52: warning: A multipart body is left out: it needs the schema of an object. "
                    + "[context: foundIn=Operations.a.Input.Body.multipartFormPayload] "
                    + "(describe the parts as an object's properties)",
                "openapi.yaml:12:113: warning: The media type 'application/x-www-form-urlencoded' is left out: a form has no "
                    + "place for binary data. [context: foundIn=Operations.a.Input.Body] "
                    + "(use 'multipart/form-data' or 'application/octet-stream')",
            ]
        )
        #expect(generation.contains("public init(fine: Swift.String? = nil)", in: "Types+Operations.swift"))
        #expect(generation.files["Types+Operations.swift"]?.contains("Body") == false)
    }

    @Test func serversOfOperationsAndReservedCharactersAreSaidOnce() {
        let generation = Generation(
            document: head(
                """
                servers: [{url: 'https://a.example'}]
                paths:
                  /a:
                    servers: [{url: 'https://b.example'}]
                    get:
                      operationId: a
                      servers: [{url: 'https://a.example'}]
                      parameters:
                        - {name: q, in: query, allowReserved: true, schema: {type: string}}
                        - {name: r, in: query, allowReserved: true, schema: {type: string}}
                      responses: {'200': \(ok)}
                    put: {operationId: b, servers: [{url: 'https://c.example'}], responses: {'200': \(ok)}}
                """
            )
        )
        #expect(generation.errors == [])
        #expect(
            generation.warnings == [
                "openapi.yaml:6:14: warning: Servers of paths and operations have no effect: 2 left out. "
                    + "(make a client with the address of such a server, and call these operations with it)",
                "openapi.yaml:11:11: warning: 'allowReserved' has no effect: the reserved characters of 2 parameters are "
                    + "percent-encoded.",
            ]
        )
    }

    @Test func partsOfALaterVersionAreSaidAndSkipped() {
        let generation = Generation(
            document: head(
                """
                paths:
                  /a:
                    get: {operationId: a, responses: {'200': \(ok)}}
                    query: {operationId: b, responses: {'200': \(ok)}}
                    additionalOperations: {COPY: {operationId: c, responses: {'200': \(ok)}}}
                """
            )
        )
        #expect(
            generation.warnings == [
                "openapi.yaml:6:12: warning: 'query' of a path needs OpenAPI 3.2 and is left out. "
                    + "[context: foundIn=/a] (write 'openapi: 3.2.0')",
                "openapi.yaml:7:27: warning: 'additionalOperations' of a path needs OpenAPI 3.2 and is left out. "
                    + "[context: foundIn=/a] (write 'openapi: 3.2.0')",
            ]
        )
        let parameter = Generation(
            document: head(
                """
                paths:
                  /a:
                    get:
                      parameters: [{name: q, in: querystring, content: {application/json: {}}}]
                      responses: {'200': \(ok)}
                """
            )
        )
        #expect(
            parameter.errors == [
                "openapi.yaml:6:20: error: The location 'querystring' of the parameter 'q' exists in OpenAPI 3.2 alone. "
                    + "(write 'openapi: 3.2.0')"
            ]
        )
    }

    @Test func additionalOperationsAreNamedByMethodsOfTheirOwn() {
        let generation = Generation(
            document: """
                openapi: 3.2.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    additionalOperations:
                      POST: {operationId: a, responses: {'200': \(ok)}}
                      QUERY: {operationId: b, responses: {'200': \(ok)}}
                      "two words": {operationId: c, responses: {'200': \(ok)}}
                """
        )
        #expect(
            generation.errors == [
                "openapi.yaml:6:13: error: The method POST is not an additional method. (describe the operation as 'post' of the path)",
                "openapi.yaml:7:14: error: The method QUERY is not an additional method. (describe the operation as 'query' of the path)",
                "openapi.yaml:8:20: error: 'two words' is not a method. (name the operation by the method that is sent, such as COPY)",
            ]
        )
    }

    @Test func queryStringsThatCannotBeWrittenAreSaidAndSkipped() {
        func warnings(_ parameters: String) -> [String] {
            Generation(
                document: """
                    openapi: 3.2.0
                    info: {title: Test, version: "1"}
                    paths:
                      /a:
                        get:
                          operationId: a
                          parameters: [\(parameters)]
                          responses: {'200': \(ok)}
                    """
            ).warnings.compactMap { $0.split(separator: "left out: ").last.map(String.init) }
        }
        let json = "in: querystring, content: {application/json: {}}"
        let alone =
            "a query string cannot be combined with query parameters. [context: foundIn=Operations.a]"
        #expect(warnings("{name: q, in: query, schema: {type: string}}, {name: r, \(json)}") == [alone])
        #expect(warnings("{name: q, \(json)}, {name: r, \(json)}") == [alone])
        let place = "[context: foundIn=Operations.a.Input.Query]"
        #expect(
            warnings("{name: q, in: querystring, schema: {type: string}}") == [
                "a query string needs 'content'. \(place)"
            ]
        )
        #expect(
            warnings(
                "{name: q, in: querystring, content: {application/x-www-form-urlencoded: {schema: {type: string}}}}"
            )
                == ["a form needs the schema of an object. \(place)"]
        )
        #expect(
            warnings("{name: q, in: querystring, content: {text/plain: {}}}")
                == ["content of type 'text/plain' is not supported there. \(place)"]
        )
    }

    @Test func arraysOfBinaryDataHaveNoJSONFormEither() {
        let generation = Generation(
            schemas: """
                    A: {type: object, properties: {a: {type: array, items: {type: string, contentEncoding: binary}}}}
                """
        )
        #expect(generation.warnings.map { $0.contains("'a' is left out: binary data has no JSON form.") } == [true])
    }

    @Test func namesThatAreOnlyRequiredAreLeftOut() {
        let generation = Generation(schemas: "    A: {type: object, required: [b, a], properties: {a: {type: string}}}")
        #expect(generation.warnings.count == 1)
        #expect(generation.warnings.first?.contains("'b' is required but not among the properties") == true)
        #expect(generation.contains("public init(a: Swift.String)"))
    }

    @Test func binaryPropertiesAreLeftOut() {
        let generation = Generation(
            document: head(
                """
                paths: {}
                components:
                  schemas:
                    A: {type: object, properties: {a: {type: string, format: binary}, b: {type: string}}}
                """
            )
        )
        #expect(generation.warnings.first?.contains("'a' is left out: binary data has no JSON form.") == true)
        #expect(generation.contains("public init(b: Swift.String? = nil)"))
    }

    @Test func whatUsesAnUnsupportedSchemaIsLeftOutWithIt() {
        let generation = Generation(
            schemas: """
                    Nothing: {type: 'null'}
                    A: {type: object, properties: {n: {$ref: '#/components/schemas/Nothing'}, b: {type: string}}}
                """
        )
        #expect(generation.warnings.count == 2)
        #expect(generation.files["Types+Schemas.swift"]?.contains("Nothing") == false)
        #expect(generation.contains("public init(b: Swift.String? = nil)"))
    }

    @Test func aTypeOverrideWithoutASchemaIsSaid() {
        let generation = Generation(document: head("paths: {}\n")) { $0.typeOverrides = ["X": "Y"] }
        #expect(generation.warnings == ["warning: The type override for 'X' has no effect: there is no such schema."])
    }

    @Test func schemasWhoseSwiftNamesCollideAreRenamedWithANote() {
        let generation = Generation(
            schemas: "    a b: {type: string}\n    a-b: {type: integer}\n    aB: {type: boolean}",
            naming: .idiomatic
        )
        #expect(generation.errors == [])
        #expect(generation.contains("typealias AB = Swift.String"))
        #expect(generation.contains("typealias AB_2 = Swift.Int"))
        #expect(generation.contains("typealias AB_3 = Swift.Bool"))
        #expect(generation.diagnostics.map(\.severity) == [.note, .note])
    }

    @Test func bufferedResponsesNameOperationsWithJSON() {
        let document = head(
            """
            paths:
              /a:
                get: {operationId: a, responses: {'200': {description: Text., content: {text/plain: {}}}}}
                post: {operationId: b, responses: {'200': {description: JSON., content: {application/json: {}}}}}
            """
        )
        func generation(_ selection: OperationSelection) -> Generation {
            Generation(document: document, modes: [.client]) { $0.bufferedResponses = selection }
        }
        #expect(
            generation(.named(["a", "b", "c"])).errors == [
                "openapi.yaml:5:10: error: 'bufferedResponses' names the operation 'a', which has no success with JSON as its "
                    + "only content.",
                "error: 'bufferedResponses' names the operation 'c', which the document does not have.",
            ]
        )
        for selection in [OperationSelection.all, .named(["b"])] {
            let client = generation(selection).files["Client.swift"] ?? ""
            #expect(client.contains("buffering input: Operations.b.Input"))
            #expect(!client.contains("buffering input: Operations.a.Input"))
        }
    }

    @Test func pathTypesNameEqualParameters() {
        let document = head(
            """
            paths:
              /{x}/{y}/a:
                parameters: [{$ref: '#/components/parameters/X'}, {$ref: '#/components/parameters/Y'}]
                get: {operationId: a, responses: {'204': {description: None.}}}
                post: {operationId: b, responses: {'204': {description: None.}}}
              /{y}/{x}/c:
                parameters: [{$ref: '#/components/parameters/Y'}, {$ref: '#/components/parameters/X'}]
                get: {operationId: c, responses: {'204': {description: None.}}}
              /{z}/d:
                parameters: [{name: z, in: path, required: true, schema: {type: string, enum: [one]}}]
                get: {operationId: d, responses: {'204': {description: None.}}}
            components:
              parameters:
                X: {name: x, in: path, required: true, schema: {type: string}}
                Y: {name: y, in: path, required: true, schema: {type: string}}
            """
        )
        func generation(_ types: [String: [String]], paths: [String] = []) -> Generation {
            Generation(document: document) {
                $0.pathTypes = types
                if !paths.isEmpty { $0.filter = DocumentFilter(operations: [], tags: [], paths: paths, schemas: []) }
            }
        }
        let shared = generation(["XY": ["y", "x"]], paths: ["/{x}/{y}/a"])
        #expect(shared.errors == [])
        let parameters = shared.files["Types+Parameters.swift"] ?? ""
        #expect(parameters.contains("public struct XY: OpenAPISwiftRuntime.OperationValue {"))
        #expect(shared.files.values.joined().ranges(of: "typealias Path = Components.Parameters.XY").count == 2)
        #expect(
            generation(["X": ["a"], "XY": ["x", "y"], "YX": ["x", "y"], "Z": ["z"]]).errors == [
                "error: 'pathTypes' names the type 'X', which is the name of a parameter among the components.",
                "error: 'pathTypes' has 'XY' and 'YX' for the same parameters.",
                "openapi.yaml:10:10: error: 'pathTypes' names the type 'XY', but the path parameters of 'a' and 'c' differ in "
                    + "their types, their descriptions or their order. (declare the parameters under 'components', and "
                    + "refer to them)",
                "openapi.yaml:13:10: error: 'pathTypes' names the type 'Z', but a path parameter of 'd' has a type of its own. "
                    + "(declare the parameters under 'components', and refer to them)",
                "error: 'pathTypes' names the type 'X', but no operation has exactly the path parameters a.",
                "error: 'pathTypes' names the type 'YX', but no operation has exactly the path parameters x, y.",
                "error: 'pathTypes' names the type 'Z', but no operation has exactly the path parameters z.",
            ]
        )
    }
}

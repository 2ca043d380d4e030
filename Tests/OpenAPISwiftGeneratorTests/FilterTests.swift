import Foundation
import OpenAPISwiftGenerator
import Testing

/// Selected parts of documents, with everything that they refer to.
struct FilterTests {
    private let document = """
        openapi: 3.0.3
        info: {title: Test, version: '1'}
        tags: [{name: unused}]
        paths:
          /a:
            parameters: [{$ref: '#/components/parameters/P'}]
            get: {operationId: getA, tags: [one], responses: {'200': {$ref: '#/components/responses/R'}}}
            put: {operationId: putA, responses: {'204': {description: x}}}
          /b:
            get: {operationId: getB, tags: [two], responses: {'204': {description: x}}}
        components:
          parameters:
            P: {name: p, in: query, schema: {$ref: '#/components/schemas/InP'}}
          responses:
            R: {description: x, content: {application/json: {schema: {$ref: '#/components/schemas/InR'}}}}
            Other: {description: x}
          schemas:
            InP: {type: string}
            InR: {type: object, properties: {x: {type: array, items: {$ref: '#/components/schemas/Deep'}}}}
            Deep: {type: integer}
            Alone: {type: object, properties: {x: {$ref: '#/components/schemas/InP'}}}
            Unused: {type: string}
        """

    private func generate(_ filter: DocumentFilter) -> Generation {
        Generation(document: document) { $0.filter = filter }
    }

    private func names(_ generation: Generation) -> [String] {
        let all: [(name: String, text: String, file: String)] = [
            ("getA", "enum getA ", "Types+Operations.swift"), ("putA", "enum putA ", "Types+Operations.swift"),
            ("getB", "enum getB ", "Types+Operations.swift"), ("P", "typealias P ", "Types+Parameters.swift"),
            ("R", "typealias R ", "Types+Responses.swift"), ("Other", "typealias Other ", "Types+Responses.swift"),
            ("InP", "typealias InP ", "Types+Schemas.swift"), ("InR", "struct InR:", "Types+Schemas.swift"),
            ("Deep", "typealias Deep ", "Types+Schemas.swift"), ("Alone", "struct Alone:", "Types+Schemas.swift"),
            ("Unused", "typealias Unused ", "Types+Schemas.swift"),
        ]
        return all.filter { generation.files[$0.file]?.contains($0.text) == true }.map(\.name)
    }

    @Test func anOperationBringsWhatItNeeds() {
        #expect(names(generate(.init(operations: ["getA"]))) == ["getA", "P", "R", "InP", "InR", "Deep"])
        #expect(names(generate(.init(operations: ["putA"]))) == ["putA", "P", "InP"])
    }

    @Test func tagsPathsAndSchemasSelectToo() {
        #expect(names(generate(.init(tags: ["two"]))) == ["getB"])
        #expect(names(generate(.init(tags: ["unused"]))) == [])
        #expect(names(generate(.init(paths: ["/a"]))) == ["getA", "putA", "P", "R", "InP", "InR", "Deep"])
        #expect(names(generate(.init(schemas: ["Alone"]))) == ["InP", "Alone"])
    }

    @Test func filterKeepsWhateverOneOfItsListsNames() {
        #expect(
            names(generate(.init(operations: ["getA"], tags: ["two"], paths: ["/a"])))
                == ["getA", "putA", "getB", "P", "R", "InP", "InR", "Deep"]
        )
    }

    @Test func emptyListsSelectEverything() {
        #expect(generate(.init()).files == Generation(document: document).files)
    }

    @Test func unknownNamesAreErrors() {
        for filter in [
            DocumentFilter(operations: ["x"]), DocumentFilter(tags: ["x"]), DocumentFilter(paths: ["x"]),
            DocumentFilter(schemas: ["x"]),
        ] {
            #expect(generate(filter).errors.first?.contains("'x', which the document does not have") == true)
        }
    }

    @Test func aFilteredDocumentIsADocument() throws {
        let filter = DocumentFilter(operations: ["getA"])
        for format in DocumentFilter.OutputFormat.allCases {
            let text: String = try DocumentFilter.filter(
                [UInt8](document.utf8),
                named: "openapi.yaml",
                by: filter,
                as: format
            )
            #expect(Generation(document: text).files == generate(filter).files)
        }
    }

    @Test func everyKindOfComponentIsFollowed() throws {
        let document = """
            openapi: 3.1.0
            info: {title: Test, version: '1'}
            servers: [{url: /api}]
            tags: [{name: t}]
            security: [{key: []}]
            paths:
              /a:
                $ref: '#/components/pathItems/I'
              /b:
                get: {operationId: b, responses: {'200': {$ref: '#/components/responses/Unused'}}}
            components:
              pathItems:
                I:
                  parameters: [{$ref: '#/components/parameters/P'}]
                  post:
                    operationId: a
                    requestBody: {$ref: '#/components/requestBodies/B'}
                    responses: {'200': {$ref: '#/components/responses/R'}}
                    callbacks: {c: {$ref: '#/components/callbacks/C'}}
                  get: {operationId: other, responses: {'200': {$ref: '#/components/responses/Unused'}}}
              parameters: {P: {name: p, in: query, examples: {e: {$ref: '#/components/examples/E'}}, schema: {type: string}}, Unused: {}}
              examples: {E: {value: x}, Unused: {}}
              requestBodies:
                B:
                  content:
                    multipart/form-data:
                      schema: {type: object, properties: {f: {$ref: '#/components/schemas/F'}}}
                      encoding: {f: {headers: {X: {$ref: '#/components/headers/H'}}}}
                Unused: {}
              headers: {H: {schema: {$ref: '#/components/schemas/InH'}}, Unused: {}}
              responses:
                R: {description: x, headers: {Y: {$ref: '#/components/headers/H2'}}, links: {l: {$ref: '#/components/links/L'}}}
                Unused: {description: x}
              links: {L: {operationId: a}, Unused: {}}
              callbacks:
                C: {'{$url}': {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/InC'}}}}}}}
                Unused: {}
              schemas:
                F: {not: {$ref: '#/components/schemas/InNot'}, additionalProperties: {$ref: '#/components/schemas/InA'}}
                InH: {oneOf: [{$ref: '#/components/schemas/InO'}], discriminator: {propertyName: x, mapping: {a: InM}}}
                InC: {type: string}
                InNot: {type: string}
                InA: {type: string}
                InO: {type: object}
                InM: {type: object}
                Unused: {type: string}
              securitySchemes: {key: {type: http, scheme: basic}}
            """
            .replacingOccurrences(of: "headers: {H:", with: "headers: {H2: {schema: {type: string}}, H:")
        let text: String = try DocumentFilter.filter(
            [UInt8](document.utf8),
            named: "openapi.yaml",
            by: DocumentFilter(operations: ["a"]),
            as: .yaml
        )
        for name in ["P", "E", "B", "H", "H2", "R", "L", "C", "F", "InH", "InC", "InNot", "InA", "InO", "InM"] {
            #expect(text.contains("    \(name):\n"), "\(name)")
        }
        for name in ["Unused", "securitySchemes", "/b", "other"] { #expect(!text.contains(name), "\(name)") }
        for name in ["servers", "tags", "security", "info"] { #expect(text.contains("\n\(name):\n"), "\(name)") }
        #expect(text.contains("  /a:\n    parameters:"))
    }

    @Test func whatIsInOtherFilesIsSelectedToo() throws {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                paths: {/a: {$ref: paths.yaml#/a}, /b: {$ref: paths.yaml#/b}}
                """,
            configure: { $0.filter = DocumentFilter(tags: ["one"]) },
            load: { _ in
                [UInt8](
                    """
                    a: {get: {operationId: getA, tags: [one], responses: {'200': {$ref: '#/R'}}}}
                    b: {get: {operationId: getB, tags: [two], responses: {'200': {$ref: '#/S'}}}}
                    R: {description: x}
                    S: {description: x}
                    """.utf8
                )
            }
        )
        #expect(generation.errors == [])
        #expect(generation.files["Types+Operations.swift"]?.contains("getA") == true)
        #expect(generation.files["Types+Operations.swift"]?.contains("getB") == false)
        #expect(generation.files["Types+Responses.swift"]?.contains("enum S") != true)
    }
}

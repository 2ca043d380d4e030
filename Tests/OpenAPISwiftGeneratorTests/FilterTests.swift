import OpenAPISwiftGenerator
import Testing

/// Parts of documents, with all that they refer to.
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

    @Test func theListsAreAUnion() {
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
}

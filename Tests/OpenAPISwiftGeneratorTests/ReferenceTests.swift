import OpenAPISwiftGenerator
import Testing

/// References of every kind: below components, into operations, and into other files.
struct ReferenceTests {
    /// Files by path; the generator begins with `openapi.yaml`.
    private func generate(
        _ files: [String: String],
        from name: String = "openapi.yaml",
        configure: (inout GeneratorConfiguration) -> Void = { _ in }
    ) -> Generation {
        Generation(document: files[name] ?? "", named: name, modes: [.types, .client, .server], configure: configure) {
            (path: String) throws in
            guard let text = files[path] else { throw NoSuchFile() }
            return [UInt8](text.utf8)
        }
    }

    private struct NoSuchFile: Error, CustomStringConvertible {
        var description: String { "there is no such file." }
    }

    private let head = "openapi: 3.1.0\ninfo: {title: Test, version: '1'}\n"

    // MARK: Inside one document

    @Test func aPropertyOfAComponentIsATypeOfItsOwnUsedInBothPlaces() {
        let generation = generate([
            "openapi.yaml": head + """
                paths: {}
                components:
                  schemas:
                    Pet:
                      type: object
                      properties:
                        owner: {type: object, properties: {name: {type: string}}}
                    House:
                      type: object
                      properties:
                        owner: {$ref: '#/components/schemas/Pet/properties/owner'}
                """
        ])
        #expect(generation.diagnostics == [])
        #expect(generation.contains("public struct Pet_owner:"))
        #expect(generation.contains("public init(owner: Components.Schemas.Pet_owner? = nil)"))
        #expect(generation.files["Types+Schemas.swift"]?.contains("ownerPayload") == false)
    }

    @Test func partsOfOperationsCanBeReferredTo() {
        let generation = generate([
            "openapi.yaml": head + """
                paths:
                  /a/{id}:
                    get:
                      operationId: a
                      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
                      responses:
                        '200':
                          description: Fine.
                          content: {application/json: {schema: {type: object, properties: {x: {type: integer}}}}}
                  /b/{id}:
                    get:
                      operationId: b
                      parameters: [{$ref: '#/paths/~1a~1%7Bid%7D/get/parameters/0'}]
                      responses:
                        '200': {$ref: '#/paths/~1a~1%7Bid%7D/get/responses/200'}
                        '400':
                          description: Bad.
                          content:
                            application/json:
                              schema:
                                $ref: '#/paths/~1a~1%7Bid%7D/get/responses/200/content/application~1json/schema'
                """
        ])
        #expect(generation.diagnostics == [])
        #expect(generation.contains("public struct a_id_get_200_application_json:"))
        #expect(generation.contains("public typealias a_id_get_200 =", in: "Types+Responses.swift"))
        #expect(generation.contains("public typealias a_id_get_0 = Swift.String", in: "Types+Parameters.swift"))
    }

    @Test func aSchemaBelowAComponentCanHoldItself() {
        let generation = generate([
            "openapi.yaml": head + """
                paths: {}
                components:
                  schemas:
                    Tree:
                      type: object
                      properties:
                        root:
                          type: object
                          properties:
                            child: {$ref: '#/components/schemas/Tree/properties/root'}
                """
        ])
        #expect(generation.diagnostics == [])
        #expect(generation.contains("public struct Tree_root:"))
    }

    @Test func definitionsAndAnchorsAreFound() {
        let generation = generate([
            "openapi.yaml": head + """
                paths: {}
                components:
                  schemas:
                    Pet:
                      type: object
                      properties:
                        tag: {$ref: '#/components/schemas/Pet/$defs/Tag'}
                        kind: {$ref: '#kind'}
                      $defs:
                        Tag: {type: object, properties: {x: {type: string}}}
                        K: {$anchor: kind, type: string, enum: [cat, dog]}
                """
        ])
        #expect(generation.diagnostics == [])
        #expect(
            generation.contains(
                "public init(tag: Components.Schemas.Pet_Tag? = nil, kind: Components.Schemas.Pet_K? = nil)"
            )
        )
    }

    // MARK: Other files

    @Test func schemasComeFromOtherFiles() {
        let generation = generate(
            [
                "api/openapi.yaml": head + """
                    paths:
                      /pets:
                        get:
                          operationId: pets
                          responses:
                            '200':
                              description: Fine.
                              content:
                                application/json:
                                  schema: {type: array, items: {$ref: 'schemas/pet.json'}}
                            default: {$ref: '../common/responses.yaml#/Problem'}
                    """,
                "api/schemas/pet.json": """
                {"type": "object", "required": ["owner"], "properties": {
                    "owner": {"$ref": "../../common/people.yaml#/components/schemas/Person"},
                    "friends": {"type": "array", "items": {"$ref": "#"}}
                }}
                """,
                "common/people.yaml": """
                components:
                  schemas:
                    Person: {type: object, properties: {pets: {type: array, items: {$ref: '../api/schemas/pet.json'}}, home: {$ref: '#/components/schemas/Home'}}}
                    Home: {type: object, properties: {street: {type: string}}}
                """,
                "common/responses.yaml": """
                Problem: {description: Bad., content: {application/json: {schema: {$ref: '#/Text'}}}}
                Text: {type: object, properties: {message: {type: string}}}
                """,
            ],
            from: "api/openapi.yaml"
        )
        #expect(generation.diagnostics == [])
        #expect(generation.contains("public var owner: Components.Schemas.Person"))
        #expect(generation.contains("public var friends: [Components.Schemas.pet]?"))
        #expect(generation.contains("public var home: Components.Schemas.Home?"))
        #expect(generation.contains("public struct Text:"))
        #expect(generation.contains("public typealias Problem =", in: "Types+Responses.swift"))
    }

    @Test func aComponentThatIsOnlyAReferenceGivesItsNameToTheFile() {
        let generation = generate([
            "openapi.yaml": head + """
                paths: {}
                components:
                  schemas:
                    Animal: {$ref: schemas/pet.yaml}
                    Zoo: {type: object, properties: {first: {$ref: 'schemas/pet.yaml'}}}
                """,
            "schemas/pet.yaml": "type: object\nproperties: {zoo: {$ref: '../openapi.yaml#/components/schemas/Zoo'}}\n",
        ])
        #expect(generation.diagnostics == [])
        #expect(generation.contains("public struct Animal:"))
        #expect(generation.contains("Components.Schemas.Zoo?"))
        #expect(generation.files["Types+Schemas.swift"]?.contains("pet") == false)
    }

    @Test func namesOfOtherFilesDoNotCollide() {
        let generation = generate([
            "openapi.yaml": head + """
                paths: {}
                components:
                  schemas:
                    Pet: {type: object, properties: {a: {$ref: 'a.yaml#/Pet'}, b: {$ref: 'b.yaml#/Pet'}, c: {$ref: 'x/b.yaml#/Pet'}}}
                """,
            "a.yaml": "Pet: {type: object, properties: {x: {type: string}}}\n",
            "b.yaml": "Pet: {type: object, properties: {y: {type: string}}}\n",
            "x/b.yaml": "Pet: {type: object, properties: {z: {type: string}}}\n",
        ])
        #expect(generation.errors == [])
        for name in ["Pet", "a_Pet", "b_Pet", "b_Pet_2"] {
            #expect(generation.contains("public struct \(name):"))
        }
        #expect(
            generation.diagnostics.map(\.description).last
                == "openapi.yaml:6:100: note: What is referred to here is named 'b_Pet_2' because 'Pet' is taken."
        )
    }

    @Test func pathItemsComeFromOtherFiles() {
        let generation = generate([
            "openapi.yaml": head + "paths:\n  /pets/{id}:\n    $ref: 'paths/pets.yaml#/~1pets'\n",
            "paths/pets.yaml": """
            /pets:
              parameters: [{$ref: parameters.yaml#/id}]
              get: {operationId: pet, responses: {'204': {description: Gone.}}}
            """,
            "paths/parameters.yaml": "id: {name: id, in: path, required: true, schema: {type: integer}}\n",
        ])
        #expect(generation.diagnostics == [])
        #expect(generation.contains("public typealias id = Swift.Int", in: "Types+Parameters.swift"))
        #expect(generation.contains("enum pet", in: "Types+Operations.swift"))
    }

    @Test func discriminatorMappingsMayNameFiles() {
        let generation = generate([
            "openapi.yaml": head + """
                paths: {}
                components:
                  schemas:
                    Pet:
                      oneOf: [{$ref: cat.yaml}, {$ref: dog.yaml}]
                      discriminator: {propertyName: kind, mapping: {c: cat.yaml, d: ./dog.yaml}}
                """,
            "cat.yaml": "type: object\nproperties: {kind: {type: string}}\n",
            "dog.yaml": "type: object\nproperties: {kind: {type: string}}\n",
        ])
        #expect(generation.diagnostics == [])
        #expect(generation.contains("case \"c\""))
    }

    @Test func yamlAndJSONMix() {
        let yaml = "type: object\nproperties:\n  a: {type: integer}\n"
        let json = #"{"type": "object", "properties": {"a": {"type": "integer"}}}"#
        let root = head + "paths: {}\ncomponents: {schemas: {A: {$ref: other}}}\n"
        let first = generate(["openapi.yaml": root, "other": yaml])
        #expect(first.errors == [])
        #expect(first.files == generate(["openapi.yaml": root, "other": json]).files)
    }

    // MARK: Mistakes

    @Test func pathItemsThatReferToEachOtherAreAnError() {
        let generation = generate([
            "openapi.yaml": head + "paths: {/x: {$ref: 'paths.yaml#/a'}}\n",
            "paths.yaml": "a: {$ref: '#/b', summary: A}\nb: {$ref: '#/a', summary: B}\n",
        ])
        #expect(generation.files.isEmpty)
        #expect(generation.errors.count == 1)
    }

    @Test func errorsNameTheFileTheyAreIn() {
        let generation = generate([
            "openapi.yaml": head + "paths: {}\ncomponents: {schemas: {A: {$ref: a.yaml}, B: {$ref: b.json}}}\n",
            "a.yaml": "type: object\nproperties:\n  x: {$ref: '#/nowhere'}\n  y: 3\n",
            "b.json": "{\n  \"type\": \"object\",\n  \"properties\": []\n}",
        ])
        #expect(
            generation.errors == [
                "a.yaml:4:6: error: A schema must be an object, this is an integer.",
                "b.json:3:17: error: 'properties' must be an object, this is an array.",
            ]
        )
        let dangling = generate([
            "openapi.yaml": head + "paths: {}\ncomponents: {schemas: {A: {$ref: a.yaml}, B: {$ref: c.yaml}}}\n",
            "a.yaml": "type: object\nproperties:\n  x: {$ref: '#/nowhere'}\n",
        ])
        #expect(
            dangling.errors == [
                "a.yaml:3:13: error: The reference '#/nowhere' has no target: 'nowhere' does not exist. "
                    + "(correct the reference or add what it names)",
                "openapi.yaml:4:53: error: The reference 'c.yaml' leaves the document for 'c.yaml', which cannot be read: "
                    + "there is no such file. (paths are relative to the file that the reference stands in)",
            ]
        )
    }

    @Test func aFileThatDoesNotParseIsAnErrorInThatFile() {
        let generation = generate([
            "openapi.yaml": head + "paths: {}\ncomponents: {schemas: {A: {$ref: a.json}}}\n",
            "a.json": "{\n  \"type\": }",
        ])
        #expect(generation.errors.map { $0.hasPrefix("a.json:2:11: error: The document is not valid JSON") } == [true])
    }

    @Test(arguments: [
        ("https://example.com/pet.yaml", "names another machine"), ("/etc/pet.yaml", "is an absolute path"),
        ("#nothing", "no '$anchor' has that name"),
        ("#/components/schemas/A/properties/b", "'properties' does not exist"),
        ("#/components/parameters/P", "has no target"),
        ("other.yaml#/components/parameters/P", "refers to '#/components/parameters'"),
        ("loop.yaml", "leads back to itself"),
    ])
    func referencesThatCannotBeFollowedAreErrors(reference: String, message: String) {
        let generation = generate([
            "openapi.yaml": head + """
                paths: {}
                components:
                  parameters: {P: {name: p, in: query, schema: {type: string}}}
                  schemas: {A: {type: object}, B: {type: object, properties: {x: {$ref: '\(reference)'}}}}
                """,
            "loop.yaml": "$ref: loop.yaml\n", "other.yaml": "components: {parameters: {P: {}}}\n",
        ])
        #expect(generation.errors.count == 1)
        #expect(generation.errors.first?.contains(message) == true)
        #expect(generation.errors.first?.hasPrefix("openapi.yaml:6:") == true)
    }

    @Test func withoutALoaderOtherFilesAreAnError() {
        let generation = Generation(document: head + "paths: {}\ncomponents: {schemas: {A: {$ref: a.yaml}}}\n")
        #expect(generation.errors.first?.contains("there is no access to other files here") == true)
    }

    @Test func brokenReferencesOutsideTheFilterDoNotMatter() {
        let files = [
            "openapi.yaml": head + """
                paths:
                  /a: {get: {operationId: a, responses: {'204': {description: x}}}}
                  /b: {get: {operationId: b, responses: {'200': {$ref: 'lost.yaml'}}}}
                """
        ]
        #expect(generate(files).errors.count == 1)
        #expect(generate(files) { $0.filter = DocumentFilter(operations: ["a"]) }.errors == [])
    }
}

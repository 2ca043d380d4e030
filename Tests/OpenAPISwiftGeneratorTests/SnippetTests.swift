import OpenAPISwiftGenerator
import Testing

/// Snippets of documents, and the Swift code for them.
struct SnippetTests {
    // MARK: Aliases and scalars

    struct Scalar: Sendable, CustomTestStringConvertible {
        var schema: String
        var type: String
        var isOld = false
        var testDescription: String { schema }
    }

    static let scalars: [Scalar] = [
        Scalar(schema: "{type: string}", type: "Swift.String"),
        Scalar(schema: "{type: string, format: uuid}", type: "Swift.String"),
        Scalar(schema: "{type: string, format: date}", type: "Swift.String"),
        Scalar(schema: "{type: string, format: date-time}", type: "OpenAPISwiftRuntime.OpenAPIDate"),
        Scalar(schema: "{type: string, format: byte}", type: "Swift.String"),
        Scalar(schema: "{type: string, format: byte}", type: "OpenAPISwiftRuntime.Base64EncodedData", isOld: true),
        Scalar(schema: "{type: string, contentEncoding: base64}", type: "OpenAPISwiftRuntime.Base64EncodedData"),
        Scalar(schema: "{type: string, format: binary}", type: "OpenAPISwiftRuntime.HTTPBody", isOld: true),
        Scalar(schema: "{type: string, format: binary}", type: "Swift.String"),
        Scalar(schema: "{type: integer}", type: "Swift.Int"),
        Scalar(schema: "{type: integer, format: int32}", type: "Swift.Int32"),
        Scalar(schema: "{type: integer, format: int64}", type: "Swift.Int64"),
        Scalar(schema: "{type: integer, format: uint64}", type: "Swift.Int"),
        Scalar(schema: "{type: number}", type: "Swift.Double"),
        Scalar(schema: "{type: number, format: float}", type: "Swift.Float"),
        Scalar(schema: "{type: number, enum: [1, 2]}", type: "Swift.Double"),
        Scalar(schema: "{type: boolean}", type: "Swift.Bool"),
        Scalar(schema: "{type: boolean, enum: [true]}", type: "Swift.Bool"),
        Scalar(schema: "{}", type: "OpenAPISwiftRuntime.OpenAPIValueContainer"),
        Scalar(schema: "{enum: [a]}", type: "OpenAPISwiftRuntime.OpenAPIValueContainer"),
        Scalar(schema: "{type: object}", type: "OpenAPISwiftRuntime.OpenAPIObjectContainer"),
        Scalar(schema: "{type: array}", type: "OpenAPISwiftRuntime.OpenAPIArrayContainer"),
        Scalar(schema: "{type: [string, 'null']}", type: "Swift.String"),
        Scalar(schema: "{type: [integer, string]}", type: "Swift.Int"),
        Scalar(schema: "{type: array, items: {type: string}}", type: "[Swift.String]"),
        Scalar(schema: "{type: array, items: {type: [string, 'null']}}", type: "[Swift.String?]"),
        Scalar(schema: "{$ref: '#/components/schemas/Other'}", type: "Components.Schemas.Other"),
        Scalar(
            schema: "{type: array, items: {$ref: '#/components/schemas/Other'}}",
            type: "[Components.Schemas.Other]"
        ),
        Scalar(schema: "{oneOf: [{type: 'null'}, {type: integer}]}", type: "Swift.Int"),
    ]

    @Test(arguments: scalars)
    func aSchemaWithoutATypeOfItsOwnIsAnAlias(scalar: Scalar) {
        let generation = Generation(
            document: """
                openapi: \(scalar.isOld ? "3.0.3" : "3.1.0")
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  schemas:
                    Alias: \(scalar.schema)
                    Other: {type: string}
                """
        )
        #expect(generation.errors == [])
        #expect(generation.contains("public typealias Alias = \(scalar.type)\n"))
    }

    // MARK: Enumerations

    @Test func enumerationsWriteEveryRawValue() {
        let generation = Generation(
            schemas: "    E: {type: string, enum: [a, $b, public, a, '']}\n    I: {type: integer, enum: [0, 10, -3]}"
        )
        #expect(
            generation.contains(
                """
                @frozen
                public enum E: Swift.String, Swift.Codable, Swift.Hashable, Swift.Sendable, Swift.CaseIterable, StreamingJSON.JSONReadable, StreamingJSON.JSONWritable {
                case a = "a"
                case _dollar_b = "$b"
                case _public = "public"
                case _empty = ""
                """
            )
        )
        #expect(generation.contains("case _0 = 0\ncase _10 = 10\ncase _n3 = -3"))
        #expect(generation.warnings.count == 1)
    }

    @Test(arguments: AccessModifier.allCases)
    func theAccessModifierIsOnEveryDeclaration(access: AccessModifier) {
        let generation = Generation(schemas: "    E: {type: string, enum: [a, b]}", access: access)
        let file: String = access == .private || access == .fileprivate ? "Types.swift" : "Types+Schemas.swift"
        let word: String = access == .internal ? "" : "\(access.rawValue) "
        // A private member of a type is not visible to the types beside it in the file, so it is fileprivate.
        let innerWord: String = access == .private ? "fileprivate " : word
        #expect(generation.contains("\(innerWord)enum E: Swift.String", in: file))
        #expect(generation.files[file]?.contains("@frozen") == (access == .public || access == .package))
        #expect(generation.contains("\(word)enum Components {", in: "Types.swift"))
        #expect(generation.contains("\(word)protocol APIProtocol: Sendable {}", in: "Types.swift"))
    }

    @Test(arguments: [AccessModifier.fileprivate, .private])
    func whatOneFileSeesStandsInOneFile(access: AccessModifier) throws {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    post:
                      operationId: a
                      requestBody: {required: true, content: {multipart/form-data: {schema: {$ref: '#/components/schemas/A'}}}}
                      responses:
                        '200':
                          description: The same.
                          content: {multipart/form-data: {schema: {$ref: '#/components/schemas/A'}}}
                components:
                  schemas: {A: {type: object, properties: {a: {type: string}}}}
                """,
            modes: [.types, .client, .server],
            access: access,
            configure: { $0.splitsByTag = true }
        )
        #expect(generation.errors == [])
        #expect(
            generation.files.keys.sorted() == [.types, .client, .server].flatMap(Generator.fileNames).sorted()
        )
        let text = try #require(generation.files["Types.swift"])
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        let once = [
            "import StreamingJSON", "import HTTPTypes", "import FoundationEssentials",
            "@_spi(Generated) @_exported public import OpenAPISwiftRuntime",
            "fileprivate static func partRequirements() -> OpenAPISwiftRuntime.MultipartRequirements {",
            "\(access.rawValue) struct Client: APIProtocol {", "fileprivate func registerHandlers(",
        ]
        for line in once { #expect(lines.filter { $0 == line }.count == 1, "\(line)") }
        for (name, text) in generation.files where name != "Types.swift" {
            #expect(!text.contains("import"), "\(name)")
        }
    }

    // MARK: Objects

    @Test func aStructReadsWithASwitchAndWritesInOrder() {
        let generation = Generation(
            schemas: "    A: {type: object, required: [b], properties: {b: {type: integer}, a: {type: string}}}"
        )
        #expect(
            generation.contains(
                """
                public struct A: StreamingJSON.JSONCodable, Swift.Sendable {
                public var b: Swift.Int
                public var a: Swift.String?
                /// Creates a `A`.
                public init(b: Swift.Int, a: Swift.String? = nil) {
                self.b = b
                self.a = a
                }
                public typealias CodingKeys = OpenAPISwiftRuntime.PropertyKey<Self>
                private static let __keys: StreamingJSON.JSONKeys = .init("b", "a")
                public init(json reader: inout StreamingJSON.JSONReader) throws(StreamingJSON.JSONError) {
                var v0: Swift.Int? = nil
                var v1: Swift.String? = nil
                let start: StreamingJSON.JSONReader.Position = reader.position
                reader.beginMembers()
                while let key: Swift.Int = reader.nextMember(in: Self.__keys) {
                switch key {
                case 0:
                reader.readInt(required: &v0)
                case 1:
                reader.readString(optional: &v1)
                default:
                reader.skipMember()
                }
                }
                try reader.endMembers()
                guard let v0 else {
                throw reader.missingMember(of: ["b"], since: start, in: "A")
                }
                self.b = v0
                self.a = v1
                }
                public func write(json writer: inout StreamingJSON.JSONWriter) {
                writer.beginObject()
                writer.member("a", string: self.a)
                writer.member("b", int: self.b)
                writer.endObject()
                }
                }
                """
            )
        )
    }

    @Test func codingKeysStandBehindTheTypes() {
        let generation = Generation(
            schemas: """
                    A:
                      type: object
                      properties: {a-b: {type: string}, default: {type: object, properties: {c: {}}}}
                """
        )
        #expect(
            generation.contains(
                """
                extension OpenAPISwiftRuntime.PropertyKey where Owner == Components.Schemas.A._defaultPayload {
                public static var c: Self {
                Self("c")
                }
                }

                extension OpenAPISwiftRuntime.PropertyKey where Owner == Components.Schemas.A {
                public static var a_hyphen_b: Self {
                Self("a-b")
                }
                public static var _default: Self {
                Self("default")
                }
                }
                """
            )
        )
    }

    @Test func whatStandsInSomethingDeprecatedIsDeprecatedOutsideOfItToo() {
        var schema = "{type: object, properties: {z: {type: string}}}"
        for _ in 0..<10 { schema = "{type: object, properties: {a: \(schema)}}" }
        let generation = Generation(schemas: "    Old: {deprecated: true, \(schema.dropFirst())")
        let lines: [Substring] = (generation.files["Types+Schemas.swift"] ?? "").split(separator: "\n")
        let places: [Int] = lines.indices.filter { lines[$0].hasPrefix("extension") }
        #expect(places.dropFirst().allSatisfy { lines[$0 - 1] == "@available(*, deprecated)" })
        #expect(places.count == 13)
    }

    @Test func aRequiredReferenceToSomethingNullableIsOptional() {
        let generation = Generation(
            schemas: """
                    N: {type: [string, 'null']}
                    S: {type: string}
                    M: {$ref: '#/components/schemas/N'}
                    A:
                      type: object
                      required: [m, s]
                      properties: {m: {$ref: '#/components/schemas/M'}, s: {$ref: '#/components/schemas/S'}}
                """
        )
        #expect(
            generation.contains("public init(m: Components.Schemas.M? = nil, s: Components.Schemas.S)")
        )
    }

    @Test func inlineTypesNestUnderTheNameOfTheirProperty() {
        let generation = Generation(
            schemas: """
                    A:
                      type: object
                      properties:
                        inner_obj: {type: object, properties: {x: {type: string}}}
                        list: {type: array, items: {type: object, properties: {y: {type: string}}}}
                """
        )
        #expect(generation.contains("public var inner_obj: Components.Schemas.A.inner_objPayload?"))
        #expect(generation.contains("public typealias listPayload = [Components.Schemas.A.listPayloadPayload]"))
        let idiomatic = Generation(
            schemas: "    user.list: {type: array, items: {type: object, properties: {a: {type: string}}}}",
            naming: .idiomatic
        )
        #expect(idiomatic.contains("public typealias User_list = [Components.Schemas.UserListPayload]"))
    }

    @Test func deprecatedPropertiesSaySo() {
        let generation = Generation(
            schemas: "    A: {type: object, properties: {a: {type: string, deprecated: true}, b: {type: string}}}"
        )
        #expect(generation.contains("@available(*, deprecated)\npublic var a: Swift.String? {"))
        #expect(generation.contains("}\n}\npublic var b: Swift.String?"))
    }

    // MARK: Compositions

    @Test func allOfMembersAreNotOptional() {
        let generation = Generation(
            schemas: """
                    F: {}
                    A: {allOf: [{$ref: '#/components/schemas/F'}, {type: string}, {type: array, items: {type: integer}}]}
                    B: {allOf: [{$ref: '#/components/schemas/A'}]}
                """
        )
        #expect(
            generation.contains(
                "public init(value1: Components.Schemas.F, value2: Swift.String, value3: [Swift.Int]) {"
            )
        )
        #expect(generation.contains("writer.write(self.value2)\n}\n}"))
        #expect(generation.contains("public init(value1: Components.Schemas.A) {"))
    }

    @Test func anyOfMembersAreOptional() {
        let generation = Generation(
            schemas: "    A: {anyOf: [{type: string}, {type: object, properties: {a: {type: string}}}]}"
        )
        #expect(
            generation.contains(
                "public init(value1: Swift.String? = nil, value2: Components.Schemas.A.Value2Payload? = nil) {"
            )
        )
    }

    @Test func aDiscriminatorTakesOnlyReferences() {
        let generation = Generation(
            schemas: """
                    X: {type: object, required: [t], properties: {t: {type: string}}}
                    Y: {type: object, required: [t], properties: {t: {type: string}}}
                    A:
                      oneOf:
                        - {$ref: '#/components/schemas/X'}
                        - {$ref: '#/components/schemas/Y'}
                        - {type: string}
                      discriminator: {propertyName: t, mapping: {b: '#/components/schemas/Y', A: Y}}
                """
        )
        #expect(
            generation.contains(
                "case A(Components.Schemas.Y)\ncase b(Components.Schemas.Y)\ncase X(Components.Schemas.X)"
            )
        )
        #expect(generation.contains(##"case "X", "#/components/schemas/X":"##))
        #expect(generation.warnings.count == 1)
    }

    @Test func nullAmongMembersMeansOptional() {
        let generation = Generation(
            schemas: """
                    A:
                      type: object
                      required: [a, b]
                      properties:
                        a: {oneOf: [{type: string}, {type: integer}, {type: 'null'}]}
                        b: {anyOf: [{type: 'null'}, {$ref: '#/components/schemas/A'}]}
                """
        )
        #expect(generation.errors == [] && generation.warnings == [])
        #expect(
            generation.contains("public init(a: Components.Schemas.A.aPayload? = nil, b: Components.Schemas.A? = nil)")
        )
    }

    @Test func cyclesThroughArraysAndMapsNeedNoBox() {
        let generation = Generation(
            schemas: """
                    A:
                      type: object
                      properties:
                        list: {type: array, items: {$ref: '#/components/schemas/A'}}
                        map: {type: object, additionalProperties: {$ref: '#/components/schemas/A'}}
                """
        )
        #expect(generation.files["Types+Schemas.swift"]?.contains("IndirectValue") == false)
    }

    @Test func anOverrideReplacesTheType() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  schemas:
                    a: {type: string, format: uuid}
                    B: {type: object, properties: {a: {$ref: '#/components/schemas/a'}}}
                """
        ) {
            $0.typeOverrides = ["a": "Mine.Identifier"]
            $0.nameOverrides = ["a": "ID"]
            $0.additionalImports = ["Mine"]
        }
        #expect(generation.contains("public import Mine"))
        #expect(generation.contains("public typealias ID = Mine.Identifier"))
        #expect(generation.contains("public var ID: Components.Schemas.ID?"))
    }

    @Test func foundationIsImportedWholeWhereTheUserAsksForIt() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths: {}
                components: {schemas: {a: {type: string, format: uuid}}}
                """,
            modes: [.types, .client]
        ) {
            $0.typeOverrides = ["a": "Foundation.UUID"]
            $0.additionalImports = ["Foundation"]
        }
        #expect(generation.contains("import StreamingJSON\npublic import Foundation\n"))
        #expect(generation.contains("public import Foundation\nimport HTTPTypes\n", in: "Client.swift"))
        #expect(!generation.files.values.contains { $0.contains("FoundationEssentials") })
    }

    // MARK: Files

    @Test func schemasAloneGoWithoutOtherParts() {
        let document =
            "openapi: 3.1.0\npaths: {}\ncomponents: {schemas: {A: {type: object, properties: {a: {type: string}}}}}\n"
        let alone = Generation(document: document, modes: [.schemas])
        #expect(alone.errors == [])
        #expect(alone.files.keys.sorted() == Generator.fileNames(for: .schemas).sorted())
        #expect(
            alone.contains("public struct A: StreamingJSON.JSONCodable, Swift.Sendable {\n", in: "Types+Schemas.swift")
        )
        let both = Generation(document: document, modes: [.schemas, .client])
        #expect(both.files.isEmpty)
        #expect(both.errors.first?.contains("'schemas' cannot be generated together with other parts.") == true)
    }

    @Test func fileNamesAreKnownBeforeTheDocument() {
        let generation = Generation(
            document: "openapi: 3.1.0\npaths: {}\n",
            modes: [.types, .client, .server]
        )
        let names: [String] = [.types, .client, .server].flatMap(Generator.fileNames)
        #expect(generation.files.keys.sorted() == names.sorted())
        for text in generation.files.values {
            #expect(text.hasPrefix("// Generated by openapi-swift. Do not edit"))
        }
        #expect(generation.contains("public func registerHandlers(", in: "Server.swift"))
    }

    @Test func fileCommentsFollowTheFirstLine() {
        let generation = Generation(document: "openapi: 3.1.0\npaths: {}\n") {
            $0.additionalFileComments = ["one", "two\nthree"]
        }
        let lines: [Substring] = generation.files["Types.swift"]?.split(separator: "\n") ?? []
        #expect(lines[1...3] == ["// one", "// two", "// three"])
    }

    @Test func stringsOfTheDocumentAreEscaped() {
        let generation = Generation(schemas: #"    A: {type: string, enum: ['a"b', 'c\d', '#e']}"#)
        #expect(generation.contains(#"= "a\"b""#))
        #expect(generation.contains(#"= "c\\d""#))
        #expect(generation.contains(##"= "#e""##))
    }

    @Test func compositionsThatMultiplyTakeNoLonger() {
        let schemas = (0..<40).map { number in
            let next = "{$ref: '#/components/schemas/S\(number + 1)'}"
            return "    S\(number): {allOf: [\(next), \(next)]}\n"
        }
        let generation = Generation(
            schemas: schemas.joined() + "    S40: {type: object, properties: {a: {type: string}}}"
        )
        #expect(generation.diagnostics == [])
        #expect(generation.contains("public struct S0: StreamingJSON.JSONCodable, Swift.Sendable {"))
        #expect(generation.contains("public init(value1: Components.Schemas.S1, value2: Components.Schemas.S1) {"))
    }

    @Test func yamlAndJSONOfOneDocumentGiveOneOutput() {
        let yaml = Generation(
            schemas: "    A: {type: object, properties: {a: {type: string, enum: [x]}, b: {type: number}}}"
        )
        let json = Generation(
            document: #"""
                {"openapi": "3.1.0", "info": {"title": "Test", "version": "1"}, "paths": {}, "components": {"schemas":
                {"A": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"type": "number"}}}}}}
                """#
        )
        #expect(yaml.files == json.files)
        #expect(yaml.files.count == Generator.fileNames(for: .types).count)
    }

    @Test func numbersOfJSONAreNotRoundedOnTheirWay() {
        func generate(_ schema: String) -> Generation {
            Generation(
                document: """
                    {\t"openapi": "3.1.0", "info": {"title": "Test", "version": "1"}, "paths": {},
                    \t"components": {"schemas": {"A": \(schema)}}}
                    """
            )
        }
        let ends = generate(#"{"type": "integer", "enum": [9223372036854775807, -9223372036854775808, 1e2]}"#)
        #expect(ends.errors == [])
        #expect(ends.contains("= 9223372036854775807\n"))
        #expect(ends.contains("= -9223372036854775808\n"))
        #expect(ends.contains("= 100\n"))
        let fraction = generate(#"{"type": "number", "default": 9007199254740993.5}"#)
        #expect(fraction.errors == [])
        #expect(fraction.contains("public typealias A = Swift.Double"))
    }

    @Test(arguments: [AccessModifier.public, .package])
    func aModuleThatNothingExposesIsImportedWithNoLevel(access: AccessModifier) throws {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths:
                  /a: {get: {operationId: a, responses: {'204': {description: Done.}}}}
                """,
            modes: [.types, .client],
            access: access,
            configure: { $0.additionalImports = ["Mine"] }
        )
        // A hand-written `import HTTPTypes` beside `internal import HTTPTypes` would be ambiguous.
        let client = try #require(generation.files["Client.swift"]).split(separator: "\n")
        #expect(client.contains("import HTTPTypes"))
        #expect(client.contains("import Mine"))
        #expect(client.contains("\(access.rawValue) import FoundationEssentials"))
        // A document without servers has no use for Foundation in its types.
        let types = try #require(generation.files["Types.swift"])
        #expect(!types.contains("import Foundation"))
    }

    @Test(arguments: [
        ("{type: string}", "public "), ("{type: array, items: {$ref: '#/components/schemas/A'}}", "public "),
        ("{$ref: '#/components/schemas/A'}", ""), ("{$ref: '#/components/schemas/Text'}", "public "),
        ("{$ref: '#/components/schemas/Again'}", "public "), ("{$ref: '#/components/schemas/List'}", "public "),
        ("{$ref: '#/components/schemas/Any'}", ""),
    ])
    func importsOfStreamingJSONHaveTheLevelThatBodiesNeed(schema: String, level: String) {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  schemas:
                    A: {type: object, properties: {a: {type: string}}}
                    Any: {}
                    Text: {type: string}
                    Again: {$ref: '#/components/schemas/Text'}
                    List: {type: array, items: {type: object, properties: {a: {type: string}}}}
                  requestBodies: {B: {content: {application/json: {schema: \(schema)}}}}
                """
        )
        let lines = generation.files["Types+RequestBodies.swift"]?.split(separator: "\n") ?? []
        // `internal import` would make a plain import of a hand-written file ambiguous.
        #expect(lines.contains("\(level)import StreamingJSON"))
    }

    // MARK: Parameters

    @Test func deprecatedParametersAndTypesOfComponentsAreDeclaredWhereTheyAreUsed() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    get:
                      operationId: a
                      parameters:
                        - {name: old, in: query, deprecated: true, schema: {type: string}}
                        - {$ref: '#/components/parameters/Limit'}
                      responses: {'204': {description: Done., headers: {X-A: {$ref: '#/components/headers/Total'}}}}
                components:
                  parameters: {Limit: {name: limit, in: query, schema: {type: integer, enum: [1, 2]}}}
                  headers: {Total: {deprecated: true, schema: {type: string, enum: [a]}}}
                """,
            modes: [.types, .client]
        )
        #expect(
            generation.contains(
                """
                public typealias Limit = Components.Parameters.Limit
                public var __old: Swift.String?
                @available(*, deprecated)
                public var old: Swift.String? {
                """,
                in: "Types+Operations.swift"
            )
        )
        #expect(generation.contains("public typealias Total = Components.Headers.Total", in: "Types+Operations.swift"))
        #expect(generation.files["Types+Operations.swift"]?.contains("__X_hyphen_A") == false)
        #expect(generation.files["Client.swift"]?.contains("input.query.__old") == true)
    }

    // MARK: Extensions of operations

    @Test func extensionsOfOperationsAreTables() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    get: {operationId: a, x-cost: 3, x-note: 'say "a"', x-odd: 1, responses: {'204': {description: none}}}
                    put: {operationId: b, x-cost: 1, x-is-safe: true, x-odd: [1], responses: {'204': {description: none}}}
                    post: {responses: {'204': {description: none}}}
                """,
            naming: .idiomatic,
            configure: { $0.operationExtensions = ["x-cost", "x-note", "x-is-safe", "x-odd", "x-none"] }
        )
        #expect(
            generation.contains(
                """
                /// `x-cost` of the operations that have it, by their `id`.
                public static let cost: [Swift.String: Swift.Int] = [
                "a": 3,
                "b": 1,
                ]
                /// `x-note` of the operations that have it, by their `id`.
                public static let note: [Swift.String: Swift.String] = [
                "a": "say \\"a\\"",
                ]
                /// `x-is-safe` of the operations that have it, by their `id`.
                public static let isSafe: [Swift.String: Swift.Bool] = [
                "b": true,
                ]
                }
                """,
                in: "Types.swift"
            )
        )
        #expect(
            generation.warnings == [
                "openapi.yaml:6:62: warning: The extension 'x-odd' is left out: this value is an array, and others are Swift.Int. "
                    + "(give each operation a boolean, each an integer, each a number, or each a string)",
                "warning: No operation has the extension 'x-none'. (did you mean 'x-note'?)",
            ]
        )
    }
}

import OpenAPISwiftGenerator
import Testing

/// Kinds of schemas, one by one, and the Swift code for them.
struct SchemaSnippetTests {
    private func generate(_ schemas: String, configure: (inout GeneratorConfiguration) -> Void = { _ in }) -> Generation
    {
        Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  schemas:
                    Plain: {type: object, properties: {a: {type: string}}}
                \(schemas)
                """,
            configure: configure
        )
    }

    // MARK: Nesting

    @Test func typesDeepInsideOfOneAnotherStandInExtensions() {
        var schema = "{type: string}"
        for level in (1...10).reversed() { schema = "{type: object, properties: {p\(level): \(schema)}}" }
        let generation = generate("    A: \(schema)")
        #expect(generation.errors == [])
        let path = "Components.Schemas.A." + (1...7).map { "p\($0)Payload" }.joined(separator: ".")
        // Every path and every name is the same as without the extension.
        #expect(
            generation.contains(
                """
                extension \(path) {
                    public struct p8Payload: StreamingJSON.JSONCodable, Swift.Sendable {
                """
            )
        )
        #expect(generation.contains("public var p8: \(path).p8Payload?"))
        #expect(generation.contains("public var p9: \(path).p8Payload.p9Payload?"))
    }

    @Test func typesNotSoDeepStandInsideOfOneAnother() {
        var schema = "{type: string}"
        for level in (1...7).reversed() { schema = "{type: object, properties: {p\(level): \(schema)}}" }
        let generation = generate("    A: \(schema)")
        #expect(generation.contains("public struct p6Payload: StreamingJSON.JSONCodable, Swift.Sendable {"))
        #expect(!generation.contains("extension Components.Schemas.A"))
    }

    // MARK: Names

    @Test func typesThatWouldHideAModuleOfTheOutputAreNumbered() {
        let generation = generate(
            """
                Swift: {type: object, properties: {Components: {type: string}}}
                Components: {type: object, properties: {a: {$ref: '#/components/schemas/Swift'}}}
            """
        )
        #expect(generation.errors == [])
        #expect(generation.contains("public struct Swift_2: StreamingJSON.JSONCodable, Swift.Sendable {"))
        #expect(generation.contains("public var Components: Swift.String?"))
        #expect(generation.contains("public var a: Components.Schemas.Swift_2?"))
    }

    @Test func casesThatWouldHideWhatEnumerationsHaveAreNumbered() {
        let generation = generate("    E: {type: string, enum: [rawValue, allCases, hashValue, init, self]}")
        #expect(
            generation.contains(
                """
                case rawValue_2 = "rawValue"
                case allCases_2 = "allCases"
                case hashValue = "hashValue"
                case _init = "init"
                case _self = "self"
                """
            )
        )
    }

    @Test func propertiesAreNamedLikeHelpersOfTheOutput() {
        let generation = generate(
            "    A: {type: object, properties: {json: {type: string}, reader: {type: string}, v0: {type: string}}}"
        )
        #expect(
            generation.contains(
                """
                public init(json: Swift.String? = nil, reader: Swift.String? = nil, v0: Swift.String? = nil) {
                """
            )
        )
    }

    // MARK: Compositions

    @Test(arguments: ["{required: [a]}", "{type: object, required: [a, other]}"])
    func aMemberThatOnlyRequiresIsAnEmptyObject(member: String) {
        let generation = generate(
            """
                All: {allOf: [{$ref: '#/components/schemas/Plain'}, \(member)]}
                Alone: \(member)
            """
        )
        #expect(generation.errors == [])
        #expect(
            generation.contains(
                """
                public init(value1: Components.Schemas.Plain, value2: Components.Schemas.All.Value2Payload) {
                """
            )
        )
        #expect(generation.contains("public struct Value2Payload: StreamingJSON.JSONCodable, Swift.Sendable {"))
        #expect(generation.contains("public init() {"))
        #expect(generation.contains("public struct Alone: StreamingJSON.JSONCodable, Swift.Sendable {"))
    }

    @Test(
        arguments: [
            ("{}", "OpenAPIValueContainer"), ("{description: Only said.}", "OpenAPIValueContainer"),
            ("{minProperties: 1}", "OpenAPIObjectContainer"), ("{type: object}", "OpenAPIObjectContainer"),
            ("{type: object, required: []}", "OpenAPIObjectContainer"), ("{required: true}", "OpenAPIValueContainer"),
        ]
    )
    func aMemberWithoutPropertiesIsWrittenBeforeTheOthers(member: String, type: String) {
        let generation = generate("    All: {allOf: [{$ref: '#/components/schemas/Plain'}, \(member)]}")
        #expect(generation.errors == [])
        #expect(generation.contains("public var value2: OpenAPISwiftRuntime.\(type)\n"))
        #expect(generation.contains("writer.writeMerged([self.value2, self.value1])"))
    }

    @Test(
        arguments: [
            "{oneOf: [{type: [integer, 'null']}, {type: string}]}",
            "{anyOf: [{type: string}, {type: ['null', boolean]}]}",
            "{allOf: [{$ref: '#/components/schemas/Plain'}, {type: [object, 'null'], properties: {a: {type: string}}}]}",
            "{oneOf: [{type: string}, {anyOf: [{type: boolean}, {allOf: [{type: [integer, 'null']}]}]}]}",
            "{$ref: '#/components/schemas/Alias'}",
        ]
    )
    func aMemberThatMayBeNullMakesAPropertyOptional(schema: String) {
        let generation = generate(
            """
                Nullable: {oneOf: [{type: [integer, 'null']}, {type: string}]}
                Alias: {$ref: '#/components/schemas/Nullable'}
                A: {type: object, required: [p], properties: {p: \(schema)}}
            """
        )
        #expect(generation.errors == [])
        let file = generation.files["Types+Schemas.swift"] ?? ""
        #expect(
            file.contains("public init(p: Components.Schemas.A.pPayload? = nil) {")
                || file.contains("public init(p: Components.Schemas.Alias? = nil) {")
        )
    }

    @Test func aCaseHoldsAnOptionalWhereItsMemberMayBeNull() {
        let generation = generate(
            """
                Nullable: {oneOf: [{type: [integer, 'null']}, {type: string}]}
                Choice: {oneOf: [{$ref: '#/components/schemas/Nullable'}, {type: ['null', boolean]}, {$ref: '#/components/schemas/Plain'}]}
            """
        )
        #expect(
            generation.contains(
                """
                case Nullable(Components.Schemas.Nullable?)
                case case2(Swift.Bool?)
                case Plain(Components.Schemas.Plain)
                """
            )
        )
    }

    @Test func elementsMayBeNullWhereTheyNeedNoTypeOfTheirOwn() {
        let generation = generate(
            """
                Rows: {type: array, items: {type: [array, 'null'], items: {type: [number, 'null']}}}
                Map: {type: object, additionalProperties: {oneOf: [{type: [integer, 'null']}, {type: string}]}}
            """
        )
        #expect(generation.contains("public typealias Rows = [[Swift.Double?]?]"))
        #expect(
            generation.contains(
                "additionalProperties: [Swift.String: Components.Schemas.Map.additionalPropertiesPayload?] = .init()"
            )
        )
    }

    // MARK: Deprecation

    @Test func anUnusedDeprecatedTypeIsMarkedDeprecated() {
        let generation = generate("    Old: {type: object, deprecated: true, properties: {a: {type: string}}}")
        #expect(
            generation.contains(
                "@available(*, deprecated)\npublic struct Old: StreamingJSON.JSONCodable, Swift.Sendable {"
            )
        )
    }

    @Test func aDeprecatedTypeThatOthersUseWarnsCallersAlone() {
        let generation = generate(
            """
                Old: {type: object, deprecated: true, properties: {a: {type: string}}}
                User: {type: object, properties: {old: {$ref: '#/components/schemas/Old'}}}
            """
        )
        #expect(
            generation.contains(
                """
                @available(*, deprecated)
                public typealias Old = Components.Schemas.__Old
                public struct __Old: StreamingJSON.JSONCodable, Swift.Sendable {
                """
            )
        )
        #expect(generation.contains("public var old: Components.Schemas.__Old?"))
    }

    @Test func enumerationsAreNeverDeprecated() {
        let generation = generate("    Old: {type: string, deprecated: true, enum: [a]}")
        #expect(generation.files["Types+Schemas.swift"]?.contains("deprecated") == false)
    }

    // MARK: Enumerations

    @Test func openEnumerationsKeepOtherValues() {
        let generation = generate("    E: {type: string, enum: [a, b-c]}\n    I: {type: integer, enum: [1]}") {
            $0.enumerations = .open
        }
        #expect(
            generation.contains(
                """
                public struct E: OpenAPISwiftRuntime.OpenStringEnumeration {
                public var rawValue: Swift.String
                /// Creates a value, whether the document lists it or not.
                public init(rawValue: Swift.String) {
                self.rawValue = rawValue
                }
                /// Creates a value, whether the document lists it or not.
                public init(stringLiteral value: Swift.String) {
                self.rawValue = value
                }
                public static var a: Self {
                Self(rawValue: "a")
                }
                public static var b_hyphen_c: Self {
                Self(rawValue: "b-c")
                }
                /// The values that the document lists.
                public static var allCases: [Self] {
                [Self.a, Self.b_hyphen_c]
                }
                }
                """
            )
        )
        #expect(generation.contains("public static var _1: Self {\nSelf(rawValue: 1)\n}"))
    }

    @Test func theConfigurationFileAsksForOpenEnumerations() throws {
        let file = try ConfigurationFile(
            parsing: Array("generate: [types]\nenumerations: open\n".utf8),
            named: "config.yaml"
        )
        #expect(file.settings.enumerations == .open)
        let error = #expect(throws: Diagnostic.self) {
            try ConfigurationFile(parsing: Array("generate: []\nenumerations: half\n".utf8), named: "config.yaml")
        }
        #expect(error?.description.contains("closed, open") == true)
    }

    @Test func theConfigurationFileAsksForUnknownMembers() throws {
        func rule(_ text: String) throws -> UnknownMembersRule {
            try ConfigurationFile(parsing: Array("generate: [types]\n\(text)\n".utf8), named: "config.yaml")
                .settings.unknownMembers
        }
        #expect(try rule("") == UnknownMembersRule(.skip))
        #expect(try rule("unknownMembers: keep") == UnknownMembersRule(.keep))
        #expect(
            try rule("unknownMembers: {default: keep, schemas: {A: keepAll, B: skip}}")
                == UnknownMembersRule(.keep, schemas: ["A": .keepAll, "B": .skip])
        )
        let error = #expect(throws: Diagnostic.self) { try rule("unknownMembers: {schemas: {A: all}}") }
        #expect(
            error?.description
                == "config.yaml:2:31: error: The value of 'unknownMembers.schemas.A' must be one of skip, keep, keepAll."
        )
        let generation = generate("    A: {type: object, properties: {a: {type: string}}}") {
            $0.unknownMembers = UnknownMembersRule(schemas: ["B": .keep])
        }
        #expect(generation.warnings.contains { $0.contains("'unknownMembers' of 'B' has no effect") })
    }

    @Test func constantsOfStringsAreEnumerationsOfOne() {
        let generation = generate(
            "    C: {type: string, const: abc}\n    N: {const: abc}\n    B: {type: boolean, const: true}"
        )
        #expect(generation.contains("case abc = \"abc\"\n"))
        #expect(generation.contains("public typealias N = OpenAPISwiftRuntime.OpenAPIValueContainer"))
        #expect(generation.contains("public typealias B = Swift.Bool"))
    }

    // MARK: Overrides

    @Test func overridesAreReadAndWrittenBySpecialFunctions() {
        let generation = generate(
            """
                ID: {type: string, format: uuid}
                User:
                  type: object
                  required: [id]
                  properties: {id: {$ref: '#/components/schemas/ID'}, all: {type: array, items: {$ref: '#/components/schemas/ID'}}}
            """
        ) { $0.typeOverrides = ["ID": "Foundation.UUID"] }
        #expect(generation.contains("public import Foundation\n"))
        #expect(generation.contains("public typealias ID = Foundation.UUID"))
        #expect(generation.contains("try reader.readOverride() as Components.Schemas.ID }"))
        #expect(generation.contains("try reader.readOverride() as [Components.Schemas.ID] }"))
        #expect(generation.contains("writer.writeOverride(value)"))
    }

    // MARK: Boxes

    @Test func valuesOfManyPartsAreHeldInBoxes() {
        let generation = generate(
            """
                Wide: {type: object, properties: {a: {type: string}, b: {type: string}, c: {type: string}, d: {type: string}, e: {type: string}}}
                User: {type: object, properties: {wide: {$ref: '#/components/schemas/Wide'}, plain: {$ref: '#/components/schemas/Plain'}}}
                Choice: {oneOf: [{$ref: '#/components/schemas/Plain'}, {$ref: '#/components/schemas/Wide'}]}
                Large: {oneOf: [{$ref: '#/components/schemas/User'}, {$ref: '#/components/schemas/Wide'}, {type: object, required: [a], properties: {a: {type: array, items: {}}, b: {type: string}, c: {type: string}}}]}
            """
        )
        #expect(
            generation.contains(
                "private var __wide: OpenAPISwiftRuntime.IndirectValue<Components.Schemas.Wide>?\n"
                    + "public var wide: Components.Schemas.Wide? {"
            )
        )
        #expect(generation.contains("public var plain: Components.Schemas.Plain?\n"))
        #expect(generation.contains("public enum Choice:"))
        #expect(generation.contains("public indirect enum Large:"))
    }

    // MARK: Deprecation

    @Test func deprecatedInlineObjectsHaveASecondNameForGeneratedCode() {
        let generation = generate(
            """
                A: {type: object, properties: {b: {type: object, deprecated: true, properties: {c: {type: string}}}, d: {type: string, deprecated: true, enum: [e]}}}
            """
        )
        #expect(
            generation.contains(
                "@available(*, deprecated)\npublic typealias bPayload = Components.Schemas.A.__bPayload\n"
                    + "public struct __bPayload: "
            )
        )
        #expect(
            generation.contains(
                "@available(*, deprecated)\npublic var b: Components.Schemas.A.__bPayload? {"
            )
        )
        #expect(generation.contains("public enum dPayload: "))
    }

    // MARK: Diagnostics about what is left out

    struct Gap: Sendable, CustomTestStringConvertible {
        var schema: String
        var words: String
        var testDescription: String { schema }
    }

    static let gaps: [Gap] = [
        Gap(schema: "{type: [integer, string]}", words: "only the first"),
        Gap(schema: "{type: object, required: [b], properties: {a: {type: string}}}", words: "'b' is required"),
        Gap(schema: "{type: object, properties: {a: {type: string, format: binary}}}", words: "binary data"),
        Gap(schema: "{type: object, properties: {a: {type: 'null'}}}", words: "only null"),
        Gap(schema: "{not: {type: string}}", words: "'not' is not supported"),
        Gap(schema: "{type: string, enum: [a, a]}", words: "appears twice"),
        Gap(
            schema: "{oneOf: [{$ref: '#/components/schemas/Plain'}, {$ref: '#/components/schemas/Plain'}]}",
            words: "twice"
        ),
        Gap(
            schema:
                "{properties: {own: {type: string}}, allOf: [{$ref: '#/components/schemas/Plain'}, {type: string}]}",
            words: "its values are not objects"
        ),
        Gap(
            schema: "{type: string, properties: {own: {type: string}}, oneOf: [{type: string}, {type: integer}]}",
            words: "'properties' has no effect: the type is 'string'"
        ),
    ]

    @Test(arguments: gaps)
    func whatIsLeftOutIsSaid(gap: Gap) {
        let generation = generate("    A: \(gap.schema)")
        #expect(generation.errors == [])
        #expect(generation.warnings.count == 1)
        #expect(generation.warnings.first?.contains(gap.words) == true)
    }
}

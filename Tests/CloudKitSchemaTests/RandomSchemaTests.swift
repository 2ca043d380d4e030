import CloudKitModel
import CloudKitSchema
import Foundation
import TestSupport
import Testing

/// The schemas of `../shared/schemas`.
enum SharedSchemas {
    static func files() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: SharedFolder.url.appending(path: "schemas"),
            includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "ckdb" }.sorted { $0.path < $1.path }
    }
}

struct RandomSchemaTests {
    @Test func randomSchemasSurviveTheirText() throws {
        var generator = SeededGenerator()
        for _ in 0..<500 {
            let schema = ContainerSchema.random(using: &generator)
            let text = schema.description
            let document = try SchemaDocument(parsing: text)
            #expect(document.schema == schema, "seed \(SeededGenerator.seed)")
            #expect(document.formatted() == text, "seed \(SeededGenerator.seed)")
            #expect(document.problems() == [], "seed \(SeededGenerator.seed)")
        }
    }

    /// Any text is read, or refused with a position within it. A schema that was read has one canonical form.
    @Test func brokenTextsAreReadOrRefused() throws {
        var generator = SeededGenerator()
        var texts = [ContainerSchema.random(using: &generator).description, Self.commented]
        if SharedFolder.exists("schemas") {
            texts += try SharedSchemas.files().map { try String(contentsOf: $0, encoding: .utf8) }
        }
        var refused = 0
        for _ in 0..<3_000 {
            var bytes = Array(texts.randomElement(using: &generator)?.utf8 ?? "".utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let index = bytes.indices.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes.remove(at: index)
                case 1: bytes[index] = .random(in: 0...255, using: &generator)
                case 2: bytes.insert("\"/*-,;()<>\n".utf8.randomElement(using: &generator) ?? 0, at: index)
                default: bytes.removeSubrange(index...)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            do {
                let document = try SchemaDocument(parsing: text)
                let formatted = document.formatted()
                let again = try SchemaDocument(parsing: formatted)
                #expect(again.schema == document.schema, "seed \(SeededGenerator.seed): \(text)")
                #expect(again.formatted() == formatted, "seed \(SeededGenerator.seed): \(text)")
                _ = document.problems()
            } catch let error as SchemaSyntaxError {
                refused += 1
                #expect(error.location.line >= 1 && error.location.column >= 1)
            }
        }
        #expect(refused > 100, "seed \(SeededGenerator.seed)")
    }

    private static let commented = """
        // a
        DEFINE SCHEMA -- b
        /* c */ RECORD TYPE T ( // d
            f STRING, // e
            /* f
               g */
            g LIST<INT64> /* h */ QUERYABLE // i
            , GRANT READ TO "_world" -- j
            // k
        ) /* l */; // m
        // n
        """
}

extension ContainerSchema {
    /// A random schema without problems.
    fileprivate static func random(using generator: inout SeededGenerator) -> ContainerSchema {
        func names(_ count: ClosedRange<Int>, _ generator: inout SeededGenerator) -> [String] {
            let words = ["Type", "read", "Note", "list", "title", "x", "A_1", "define", "preferred", "asset", "Größe"]
            return Array(words.dropLast().shuffled(using: &generator).prefix(.random(in: count, using: &generator)))
        }
        var schema = ContainerSchema(roles: names(0...2, &generator))
        let roles = schema.roles + PredefinedRole.allCases.map(\.rawValue)
        for name in names(0...3, &generator) {
            var type = RecordType(name: name)
            for name in names(1...6, &generator) {
                let element = SchemaFieldType.Element.allCases.randomElement(using: &generator) ?? .string
                var field = Field(name: name, type: SchemaFieldType(element, isList: .random(using: &generator)))
                for index in [FieldIndexes.queryable, .sortable, .searchable] where Bool.random(using: &generator) {
                    var indexed = field
                    indexed.indexes.formUnion(index)
                    let other = RecordType(name: name, fields: [indexed])
                    if ContainerSchema(recordTypes: [other]).problems().isEmpty { field = indexed }
                }
                type.fields.append(field)
            }
            for role in roles where Bool.random(using: &generator) {
                let permissions = Permissions(rawValue: .random(in: 1...7, using: &generator))
                type.grants.append(Grant(permissions, to: role))
            }
            schema.recordTypes.append(type)
        }
        return schema
    }
}

import OpenAPISwiftGenerator
import Testing

/// `openapi-generator-config.yaml`.
struct ConfigurationFileTests {
    private func parse(_ text: String) throws -> ConfigurationFile {
        try ConfigurationFile(parsing: [UInt8](text.utf8), named: "config.yaml")
    }

    private func error(_ text: String) -> String? {
        do {
            _ = try parse(text)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func everyKeyIsRead() throws {
        let file: ConfigurationFile = try parse(
            """
            generate: [types, server]
            accessModifier: package
            additionalImports: [A, B]
            additionalFileComments: [one]
            filter: {operations: [o], tags: [t], paths: [/p], schemas: [s]}
            namingStrategy: idiomatic
            nameOverrides: {a: b}
            typeOverrides: {schemas: {S: M.S}, other: ignored}
            operationExtensions: [x-cost]
            handlerContext: true
            bufferedResponses: [a, b]
            pathTypes: {P: [a, b]}
            referenceFolders: [../shared]
            featureFlags: []
            """
        )
        var expected = ConfigurationFile()
        expected.generate = [.types, .server]
        expected.settings.accessModifier = .package
        expected.settings.additionalImports = ["A", "B"]
        expected.settings.additionalFileComments = ["one"]
        expected.settings.filter = DocumentFilter(operations: ["o"], tags: ["t"], paths: ["/p"], schemas: ["s"])
        expected.settings.namingStrategy = .idiomatic
        expected.settings.nameOverrides = ["a": "b"]
        expected.settings.typeOverrides = ["S": "M.S"]
        expected.settings.operationExtensions = ["x-cost"]
        expected.settings.handlerContext = true
        expected.settings.bufferedResponses = .named(["a", "b"])
        expected.settings.pathTypes = ["P": ["a", "b"]]
        expected.settings.referenceFolders = ["../shared"]
        expected.warnings = [
            Diagnostic(
                severity: .warning,
                message: "The key 'typeOverrides.other' is not known and has no effect.",
                location: SourceLocation(file: "config.yaml", line: 8, column: 43),
                remedy: "known keys: schemas"
            )
        ]
        #expect(file == expected)
    }

    @Test func onlyWhatToGenerateMustBeSaid() throws {
        var expected = ConfigurationFile()
        expected.generate = [.client]
        #expect(try parse("generate: [client]\n") == expected)
        #expect(error("accessModifier: public\n")?.contains("The key 'generate' is missing.") == true)
    }

    @Test func keysInsideOfKeysAreChecked() throws {
        let file = try parse(
            """
            generate: [types]
            filter: {tag: [a], paths: []}
            unknownMembers: {defualt: keep}
            typeOverrides: {schema: {A: B}}
            """
        )
        #expect(
            file.warnings.map(\.description) == [
                "config.yaml:2:15: warning: The key 'filter.tag' is not known and has no effect. "
                    + "(did you mean 'tags'? known keys: operations, tags, paths, schemas)",
                "config.yaml:3:27: warning: The key 'unknownMembers.defualt' is not known and has no effect. "
                    + "(did you mean 'default'? known keys: default, schemas)",
                "config.yaml:4:25: warning: The key 'typeOverrides.schema' is not known and has no effect. "
                    + "(did you mean 'schemas'? known keys: schemas)",
            ]
        )
    }

    @Test func valuesThatBecomeCodeAreChecked() {
        let remedy = "(letters, digits and underscores; a reserved word is written in backticks)"
        for value in ["x {} ; import Evil", "", "_", "1a", "a b", "a-b", "class", "a.b", "``", "`a", "a\\n"] {
            #expect(
                error("generate: [types]\nnameOverrides:\n  a: \"\(value)\"\n")
                    == "config.yaml:3:6: error: The value '\(value == "a\\n" ? "a\n" : value)' of 'nameOverrides' for 'a' is not a "
                    + "Swift identifier. \(remedy)",
                "\(value)"
            )
        }
        for value in ["x", "_x1", "`class`", "größe", "default", "名"] {
            #expect(error("generate: [types]\nnameOverrides:\n  a: \"\(value)\"\n") == nil, "\(value)")
        }
        #expect(error("generate: [schemas]\nnameOverrides: {a: Shipment.State}\n") == nil)
        func typeError(_ value: String) -> String? {
            error("generate: [types]\ntypeOverrides:\n  schemas:\n    a: \"\(value)\"\n")
        }
        for value in ["Foundation.URL; import Evil", "A<B", "[A", "A..B", "() -> Void", "[A: B: C]", ""] {
            #expect(
                typeError(value)
                    == "config.yaml:4:8: error: The value '\(value)' of 'typeOverrides.schemas' for 'a' is not "
                    + "a Swift type. "
                    + remedy,
                "\(value)"
            )
        }
        for value in ["UUID", "Foundation.URL", "[A.B: [C?]]", "A<B, C.D<E>>.F?", "`Type`.A"] {
            #expect(typeError(value) == nil, "\(value)")
        }
        let importError = error("generate: [types]\nadditionalImports: [A, 'B; x']\n")
        #expect(importError?.hasPrefix("config.yaml:2:24: error: The value 'B; x'") == true)
        #expect(error("generate: [types]\nadditionalImports: [A.B, struct A.C]\n") == nil)
        let pathError = error("generate: [types]\npathTypes: {'A {}': [b]}\n")
        #expect(pathError?.contains("'A {}' of 'pathTypes' is not a Swift") == true)
    }

    @Test func namesThatTheDocumentDoesNotHaveAreSaid() throws {
        func generate(_ text: String) throws -> [String] {
            var file = try parse("generate: [types, client]\n" + text)
            file.settings.modes = [.types, .client]
            let generation = Generation(
                document: """
                    openapi: 3.1.0
                    info: {title: Test, version: "1"}
                    paths:
                      /birds: {get: {tags: [birds], responses: {'200': {description: Fine.}}}}
                    components: {schemas: {Taxon: {type: object, properties: {name: {type: string}}}}}
                    """,
                configure: { $0 = file.settings }
            )
            return generation.diagnostics.map(\.description)
        }
        #expect(try generate("nameOverrides: {name: b, 'get/birds': c, Taxon: d}\n") == [])
        #expect(
            try generate("nameOverrides:\n  naem: b\n") == [
                "config.yaml:3:9: warning: The name override for 'naem' has no effect: the document has no such name. "
                    + "(did you mean 'name'?)"
            ]
        )
        #expect(
            try generate("typeOverrides: {schemas: {Taxn: A}}\nunknownMembers:\n  schemas: {Taxons: keep}\n") == [
                "config.yaml:2:33: warning: The type override for 'Taxn' has no effect: there is no such schema. "
                    + "(did you mean 'Taxon'?)",
                "config.yaml:4:21: warning: 'unknownMembers' of 'Taxons' has no effect: there is no such schema. "
                    + "(did you mean 'Taxon'?)",
            ]
        )
        #expect(
            try generate("filter: {tags: [brids]}\n") == [
                "config.yaml:2:17: error: The filter names the tag 'brids', which the document does not have. "
                    + "(did you mean 'birds'?)"
            ]
        )
        #expect(
            try generate("bufferedResponses: [get/bird]\n") == [
                "config.yaml:2:21: error: 'bufferedResponses' names the operation 'get/bird', which the document does not have. "
                    + "(did you mean 'get/birds'?)"
            ]
        )
        #expect(
            try generate("operationExtensions: [x-cost]\n") == [
                "config.yaml:2:23: warning: No operation has the extension 'x-cost'."
            ]
        )
    }

    @Test func operationsAreAllOrNamed() throws {
        #expect(try parse("generate: [client]\nbufferedResponses: all\n").settings.bufferedResponses == .all)
        #expect(try parse("generate: [client]\nbufferedResponses:\n").settings.bufferedResponses == .named([]))
        #expect(
            error("generate: [client]\nbufferedResponses: some\n")
                == "config.yaml:2:20: error: The value of 'bufferedResponses' must be all, or a list of operations."
        )
    }

    @Test func mistakesNameTheKeyAndTheLine() {
        #expect(
            error("generate: [types]\nacess: public\n")
                == "config.yaml:2:8: error: The key 'acess' is not known. (known keys: generate, accessModifier, "
                + "namingStrategy, nameOverrides, typeOverrides, enumerations, unknownMembers, handlerContext, "
                + "bufferedResponses, pathTypes, operationExtensions, referenceFolders, additionalImports, "
                + "additionalFileComments, filter, featureFlags)"
        )
        #expect(
            error("generate: [types, clients]\n")
                == "config.yaml:1:11: error: The value of 'generate' must be a list of types, client, server, schemas."
        )
        #expect(
            error("generate: [types]\nnamingStrategy: camel\n")
                == "config.yaml:2:17: error: The value of 'namingStrategy' must be one of defensive, idiomatic."
        )
        #expect(
            error("generate: [types]\nhandlerContext: Caller\n")
                == "config.yaml:2:17: error: The value of 'handlerContext' must be true or false."
        )
        #expect(error("generate: [types]\nfilter: {tags: x}\n")?.contains("'filter.tags'") == true)
    }
}

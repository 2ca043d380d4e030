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
        #expect(file == expected)
    }

    @Test func onlyWhatToGenerateMustBeSaid() throws {
        var expected = ConfigurationFile()
        expected.generate = [.client]
        #expect(try parse("generate: [client]\n") == expected)
        #expect(error("accessModifier: public\n")?.contains("The key 'generate' is missing.") == true)
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
                + "additionalImports, additionalFileComments, filter, namingStrategy, nameOverrides, typeOverrides, "
                + "enumerations, unknownMembers, operationExtensions, handlerContext, bufferedResponses, pathTypes, "
                + "featureFlags)"
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

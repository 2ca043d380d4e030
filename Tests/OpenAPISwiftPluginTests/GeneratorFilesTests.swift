import Foundation
import OpenAPISwiftGenerator
import Testing

/// The plugins' source files, compiled into this target as well as into the plugins.
struct GeneratorFilesTests {
    private func files(_ paths: String...) throws -> GeneratorFiles {
        try GeneratorFiles(of: "Store", among: paths.map { URL(fileURLWithPath: "/store/\($0)") })
    }

    private func error(_ paths: String...) -> String? {
        do {
            _ = try GeneratorFiles(of: "Store", among: paths.map { URL(fileURLWithPath: "/store/\($0)") })
            return nil
        } catch {
            return error.description
        }
    }

    @Test func aBuildIsPromisedExactlyTheFilesThatTheGeneratorWrites() {
        #expect(GeneratorFiles.outputNames == [.types, .client, .server].flatMap(Generator.fileNames))
    }

    @Test(arguments: ["openapi.yaml", "openapi.yml", "openapi.json"])
    func filesAreFoundByTheirNamesWhereverTheyAre(document: String) throws {
        let found = try files("Store.swift", "API/openapi-generator-config.yml", "Documents/\(document)")
        #expect(found.configuration.path == "/store/API/openapi-generator-config.yml")
        #expect(found.document.path == "/store/Documents/\(document)")
        #expect(found.others.isEmpty)
    }

    @Test func otherDocumentsOfTheTargetAreInputsAsWell() throws {
        let found = try files(
            "openapi.yaml",
            "openapi-generator-config.yaml",
            "schemas/item.yaml",
            "order.json",
            "a.yml",
            "Store.swift"
        )
        #expect(found.others.map(\.path) == ["/store/schemas/item.yaml", "/store/order.json", "/store/a.yml"])
    }

    @Test func whatIsMissingIsSaidAtOnce() {
        #expect(
            error("Store.swift")
                == "No code can be generated for the target 'Store': it has no configuration file, add "
                + "openapi-generator-config.yaml or openapi-generator-config.yml; it has no OpenAPI document, add "
                + "openapi.yaml or openapi.yml or openapi.json."
        )
    }

    @Test func duplicateAndMissingFilesAreReportedTogether() {
        #expect(
            error("openapi.yaml", "old/openapi.json")
                == "No code can be generated for the target 'Store': it has no configuration file, add "
                + "openapi-generator-config.yaml or openapi-generator-config.yml; it has more than one OpenAPI document, "
                + "keep one of /store/openapi.yaml, /store/old/openapi.json."
        )
    }

    @Test func aTargetTakesPartAsSoonAsItHasOneOfTheFiles() {
        func areExpected(_ path: String) -> Bool {
            GeneratorFiles.areExpected(among: [URL(fileURLWithPath: path)])
        }
        #expect(areExpected("/store/openapi.json"))
        #expect(areExpected("/store/openapi-generator-config.yaml"))
        #expect(!areExpected("/store/schemas.json"))
    }

    @Test func theToolIsCalledWithTheFilesAndTheFolder() throws {
        let found = try files("openapi.yaml", "openapi-generator-config.yaml")
        let output = URL(fileURLWithPath: "/work/GeneratedSources")
        #expect(
            found.arguments(writingTo: output, plugin: "build", package: URL(fileURLWithPath: "/package")) == [
                "generate", "/store/openapi.yaml", "--config", "/store/openapi-generator-config.yaml",
                "--output-directory", "/work/GeneratedSources", "--plugin-source", "build", "--package-directory",
                "/package",
            ]
        )
    }
}

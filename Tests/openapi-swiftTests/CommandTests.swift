import Foundation
import OpenAPISwiftGenerator
import Testing

/// The built command, run in its own folder, as a user or a plugin runs it.
struct CommandTests {
    struct Outcome: Equatable {
        var status: Int32
        var output: String
        var errors: String
    }

    /// The executable is beside the test bundle.
    static let executable = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("openapi-swift")

    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("openapi-swift-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try write(
            """
            openapi: 3.0.3
            info: {title: Pets, version: '1'}
            tags: [{name: pets}]
            paths:
              /pets:
                get:
                  operationId: listPets
                  tags: [pets]
                  responses:
                    '200': {description: All., content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
              /shops:
                get:
                  operationId: listShops
                  tags: [shops]
                  responses:
                    '200': {description: All., content: {application/json: {schema: {$ref: '#/components/schemas/Shop'}}}}
            components:
              schemas:
                Pet: {type: object, properties: {name: {type: string}, address: {$ref: '#/components/schemas/Address'}}}
                Shop: {type: object, properties: {address: {$ref: '#/components/schemas/Address'}}}
                Address: {type: object, properties: {street: {type: string}}}
                Unused: {type: object, properties: {x: {type: string}}}
            """,
            to: "openapi.yaml"
        )
    }

    private func write(_ text: String, to name: String) throws {
        let url = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
    }

    /// The names of the files in a folder, sorted.
    private func files(in name: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(name).path)) ?? [])
            .sorted()
    }

    private func run(_ arguments: String...) throws -> Outcome { try run(arguments) }

    private func run(_ arguments: [String]) throws -> Outcome {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = [:]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // Neither pipe fills up in these tests, so they can be read one after the other.
        let outputData: Data = output.fileHandleForReading.readDataToEndOfFile()
        let errorData: Data = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus,
            output: String(decoding: outputData, as: UTF8.self),
            errors: String(decoding: errorData, as: UTF8.self)
        )
    }

    private static let typeFiles: [String] = Generator.fileNames(for: .types).sorted()

    // MARK: generate

    @Test func withoutArgumentsTheOverviewIsPrinted() throws {
        let outcome: Outcome = try run()
        #expect(outcome.status == 0)
        for word in ["generate", "filter", "lint", "USAGE: openapi-swift"] { #expect(outcome.output.contains(word)) }
        #expect(try run("help", "generate").output == (try run("generate", "--help").output))
    }

    @Test func filesAreWrittenOnceAndSettingsAreSaidApart() throws {
        let first: Outcome = try run("generate", "openapi.yaml", "--mode", "types", "--output-directory", "a/b")
        #expect(first.status == 0)
        #expect(files(in: "a/b") == Self.typeFiles)
        #expect(first.output.split(separator: "\n").count == Self.typeFiles.count)
        #expect(first.output.split(separator: "\n").allSatisfy { $0.hasPrefix("Writing Types") })
        #expect(
            first.errors == """
                openapi.yaml:
                - modes: types
                - access modifier: internal
                - naming strategy: defensive
                - name overrides: <none>
                - type overrides: <none>
                - enumerations: closed
                - unknown members: skip
                - handler context: false
                - buffered responses: <none>
                - path types: <none>
                - operation extensions: <none>
                - reference folders: <none>
                - additional imports: <none>
                - additional file comments: <none>
                - output directory: a/b

                """
        )
        let url = folder.appendingPathComponent("a/b/Types.swift")
        let old = Date(timeIntervalSince1970: 1_000_000)
        try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: url.path)
        let second: Outcome = try run("generate", "openapi.yaml", "--mode", "types", "--output-directory", "a/b")
        #expect(second.output.split(separator: "\n").allSatisfy { $0.hasSuffix("is already up to date.") })
        #expect(
            try FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate] as? Date == old
        )
    }

    @Test func aDryRunWritesNothing() throws {
        let outcome: Outcome = try run(
            "generate",
            "openapi.yaml",
            "--mode=client",
            "--output-directory=out",
            "--dry-run"
        )
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("Writing Client.swift (dry run)"))
        #expect(files(in: ".") == ["openapi.yaml"])
    }

    @Test func theBuildPluginGetsEveryFile() throws {
        #expect(
            try run(
                "generate",
                "openapi.yaml",
                "--mode",
                "types",
                "--output-directory",
                "o",
                "--plugin-source",
                "build"
            ).status
                == 0
        )
        #expect(files(in: "o") == (["Client.swift", "Server.swift"] + Self.typeFiles).sorted())
        #expect(try text(of: "o/Client.swift") == "")
        #expect(
            try run(
                "generate",
                "openapi.yaml",
                "--mode",
                "client",
                "--output-directory",
                "p",
                "--plugin-source",
                "command"
            )
            .status == 0
        )
        #expect(files(in: "p") == ["Client.swift"])
    }

    @Test func theCommandLineReplacesTheConfiguration() throws {
        try write(
            """
            generate: [types, server]
            accessModifier: package
            namingStrategy: idiomatic
            additionalImports: [A, B]
            additionalFileComments: [one]
            filter: {operations: [listPets]}
            """,
            to: "config.yaml"
        )
        let file: Outcome = try run("generate", "openapi.yaml", "--config", "config.yaml", "--dry-run")
        #expect(
            file.errors.contains("- modes: types, server\n- access modifier: package\n- naming strategy: idiomatic\n")
        )
        #expect(file.errors.contains("- additional imports: A, B\n- additional file comments: one\n"))
        #expect(file.errors.contains("- filter operations: listPets\n"))
        let replaced: Outcome = try run(
            "generate",
            "openapi.yaml",
            "--config",
            "config.yaml",
            "--mode",
            "client",
            "--access-modifier",
            "public",
            "--naming-strategy",
            "defensive",
            "--additional-import",
            "C",
            "--additional-file-comment",
            "two",
            "--feature-flag",
            "empty",
            "--dry-run"
        )
        #expect(replaced.errors.contains("- modes: client\n- access modifier: public\n- naming strategy: defensive\n"))
        #expect(replaced.errors.contains("- additional imports: C\n- additional file comments: two\n"))
        #expect(replaced.output.split(separator: "\n").count == 1)
    }

    @Test func nothingToGenerateIsNoError() throws {
        try write("generate: []\n", to: "config.yaml")
        let outcome: Outcome = try run(
            "generate",
            "openapi.yaml",
            "--config",
            "config.yaml",
            "--output-directory",
            "out"
        )
        #expect(outcome.status == 0)
        #expect(outcome.output == "")
        #expect(files(in: ".") == ["config.yaml", "openapi.yaml"])
    }

    // MARK: Failures

    @Test func misuseHasAStatusOfItsOwn() throws {
        try write("generate: [types]\nacess: public\n", to: "unknown-key.yaml")
        try write("generate: [typos]\n", to: "unknown-mode.yaml")
        try write("accessModifier: public\n", to: "no-mode.yaml")
        let cases: [(arguments: [String], message: String)] = [
            (["openapi.yaml"], "Nothing to generate"),
            ([], "Missing expected argument '<doc-path>'"),
            (["openapi.yaml", "--mode", "typos"], "'typos' is invalid"),
            (
                ["none.yaml", "--mode", "types"],
                "Cannot read the OpenAPI document at 'none.yaml': there is no such file."
            ),
            (["openapi.yaml", "--config", "none.yaml"], "Cannot read the configuration at 'none.yaml'"),
            (
                ["openapi.yaml", "--config", "unknown-key.yaml"],
                "unknown-key.yaml:2:8: error: The key 'acess' is not known."
            ),
            (["openapi.yaml", "--config", "unknown-mode.yaml"], "The value of 'generate' must be a list of"),
            (["openapi.yaml", "--config", "no-mode.yaml"], "The key 'generate' is missing."),
            (["openapi.yaml", "--mode", "types", "--split", "--plugin-source", "build"], "--split goes without it"),
        ]
        for (arguments, message) in cases {
            let process: Outcome = try run(["generate"] + arguments)
            #expect(process.status == 64, "\(arguments)")
            #expect(process.errors.contains(message), "\(arguments): \(process.errors)")
            #expect(process.output == "")
        }
    }

    @Test func aBadDocumentWritesDiagnosticsAndNothingElse() throws {
        try write(
            "openapi: 3.0.3\npaths:\n  /a: {get: {responses: {}}}\n  /b: 3\ninfo: {title: T, version: '1'}\n",
            to: "bad.yaml"
        )
        let outcome: Outcome = try run(
            "generate",
            "bad.yaml",
            "--mode",
            "types",
            "--output-directory",
            "out",
            "--diagnostics",
            "json",
            "--diagnostics-output-path",
            "d/diagnostics.yaml"
        )
        #expect(outcome.status == 1)
        #expect(outcome.output == "")
        #expect(
            outcome.errors == """
                {"severity":"error","message":"The operation GET /a has no response.","location":{"file":"bad.yaml","line":3,\
                "column":13},"remedy":"document at least one response"}
                {"severity":"error","message":"'/b' must be an object, this is an integer.","location":{"file":"bad.yaml",\
                "line":4,"column":7}}

                """
        )
        #expect(files(in: ".") == ["bad.yaml", "d", "openapi.yaml"])
        #expect(
            try text(of: "d/diagnostics.yaml") == """
                diagnostics:
                - context: {}
                  location:
                    columnNumber: 13
                    filePath: "bad.yaml"
                    lineNumber: 3
                  message: "The operation GET /a has no response."
                  remedy: "document at least one response"
                  severity: error
                - context: {}
                  location:
                    columnNumber: 7
                    filePath: "bad.yaml"
                    lineNumber: 4
                  message: "'/b' must be an object, this is an integer."
                  severity: error
                uniqueMessages:
                - "'/b' must be an object, this is an integer."
                - "The operation GET /a has no response."

                """
        )
    }

    @Test func theDiagnosticsFileIsWrittenWithoutADocumentToo() throws {
        let outcome: Outcome = try run(
            "generate",
            "none.yaml",
            "--mode",
            "types",
            "--diagnostics-output-path",
            "diagnostics.yaml"
        )
        #expect(outcome.status == 64)
        #expect(try text(of: "diagnostics.yaml").contains("there is no such file"))
    }

    // MARK: References

    @Test func filesBesideTheDocumentAreRead() throws {
        try write(
            "openapi: 3.0.3\npaths: {}\ncomponents: {schemas: {A: {$ref: 'schemas/a.json#/A'}}}\n"
                + "info: {title: T, version: '1'}\n",
            to: "api/openapi.yaml"
        )
        try write(#"{"A": {"type": "object", "properties": {"b": {"$ref": "b.json"}}}}"#, to: "api/schemas/a.json")
        let missing: Outcome = try run("lint", "api/openapi.yaml")
        #expect(missing.status == 1)
        #expect(
            missing.output.hasPrefix(
                "api/schemas/a.json:1:55: error: The reference 'b.json' leaves the document for 'api/schemas/b.json', which "
                    + "does not exist."
            )
        )
        try write(#"{"type": "string"}"#, to: "api/schemas/b.json")
        #expect(
            try run("lint", "api/openapi.yaml")
                == Outcome(status: 0, output: "api/openapi.yaml: 0 errors, 0 warnings, 0 notes\n", errors: "")
        )
    }

    // MARK: lint and filter

    @Test func lintReportsAndCounts() throws {
        try write(
            "openapi: 3.0.3\npaths: {}\nwebhooks: {a: {}}\ncomponents: {schemas: {A: {type: object, required: [x]}}}\n"
                + "info: {title: T, version: '1'}\n",
            to: "a.yaml"
        )
        let outcome: Outcome = try run("lint", "a.yaml")
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        #expect(outcome.output.hasPrefix("a.yaml:3:11: warning: Webhooks are not generated: 1 left out."))
        #expect(outcome.output.hasSuffix("a.yaml: 0 errors, 2 warnings, 0 notes\n"))
        #expect(files(in: ".") == ["a.yaml", "openapi.yaml"])
        let json: Outcome = try run("lint", "a.yaml", "--diagnostics", "json")
        #expect(json.output.hasSuffix("\n{\"errors\":0,\"warnings\":2,\"notes\":0}\n"))
        try write("openapi: 3.0.3\npaths: 3\ninfo: {title: T, version: '1'}\n", to: "b.yaml")
        #expect(
            try run("lint", "b.yaml")
                == Outcome(
                    status: 1,
                    output: "b.yaml:2:8: error: 'paths' must be an object, this is an integer.\n"
                        + "b.yaml: 1 error, 0 warnings, 0 notes\n",
                    errors: ""
                )
        )
        #expect(try run("lint", "none.yaml").status == 64)
    }

    @Test func filterPrintsADocument() throws {
        try write("filter: {tags: [shops]}\nwhatever: 1\n", to: "config.yaml")
        let yaml: Outcome = try run("filter", "--config", "config.yaml", "openapi.yaml")
        #expect(yaml.status == 0)
        #expect(yaml.output.hasPrefix("openapi: \"3.0.3\"\n"))
        #expect(yaml.output.contains("  /shops:\n"))
        #expect(!yaml.output.contains("Pet:"))
        let json: Outcome = try run("filter", "--config", "config.yaml", "--output-format", "json", "openapi.yaml")
        #expect(json.output.hasPrefix("{\n  \"openapi\""))
        try write("generate: [types]\n", to: "config.yaml")
        let whole: Outcome = try run("filter", "--config", "config.yaml", "openapi.yaml")
        #expect(whole.errors == "warning: the configuration has no 'filter', the whole document follows\n")
        #expect(whole.output.contains("Unused:"))
        try write("filter: {tags: [none]}\n", to: "config.yaml")
        #expect(try run("filter", "--config", "config.yaml", "openapi.yaml").status == 1)
        #expect(try run("filter", "openapi.yaml").status == 64)
    }

    // MARK: --split

    @Test func tagsGetFilesOfTheirOwn() throws {
        let outcome: Outcome = try run(
            "generate",
            "openapi.yaml",
            "--mode",
            "types",
            "--split",
            "--output-directory",
            "o"
        )
        #expect(outcome.status == 0)
        #expect(
            files(in: "o")
                == (Self.typeFiles + ["Types+Operations+pets.swift", "Types+Operations+shops.swift"]).sorted()
        )
        let pets: String = try text(of: "o/Types+Operations+pets.swift")
        for part in ["struct Pet:", "enum listPets"] { #expect(pets.contains(part)) }
        #expect(!pets.contains("struct Address:"))
        let shared: String = try Self.typeFiles.map { try text(of: "o/\($0)") }.joined()
        for part in ["struct Address:", "struct Unused:"] { #expect(shared.contains(part)) }
        #expect(!shared.contains("struct Pet:"))
        #expect(!shared.contains("enum listPets"))
    }

    @Test func filesOfTagsThatAreGoneAreRemovedWhereTheyAreOurs() throws {
        for arguments in [["--split"], []] {
            try write("// Mine.\n", to: "o/Types+Operations+mine.swift")
            let outcome: Outcome = try run(
                ["generate", "openapi.yaml", "--mode", "types", "--output-directory", "o"] + arguments
            )
            #expect(outcome.status == 0)
            #expect(files(in: "o").contains("Types+Operations+mine.swift"))
            #expect(files(in: "o").contains("Types+Operations+pets.swift") == !arguments.isEmpty)
        }
    }
}

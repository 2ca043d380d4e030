import Foundation

/// Measures the way from the document to files on disk, with types, client and server.
struct Generation {
    private static let stated: [(document: String, elsewhere: String, budget: String)] = [
        ("discord.json", "3.9 s", "0.2 s"),
        ("box.json", "4.0 s", "0.3 s"),
        ("github-ghes-3.0.yaml", "8.2 s", "1.5 s, under 200 MB"),
    ]

    func report(rounds: Int) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("generation-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        GeneratorBenchmarks.tell("Generation: types, client and server; medians of \(rounds) runs")
        for (name, elsewhere, budget) in Generation.stated {
            guard let document = GeneratorBenchmarks.document(name) else { continue }
            GeneratorBenchmarks.progress("generation: \(name)")
            let usage = try measure(document, in: folder, rounds: rounds)
            GeneratorBenchmarks.tell("  \(line(name, usage))   Apple's generator \(elsewhere), budget \(budget)")
        }
        var seconds: [Double] = []
        for count in [1000, 2000] {
            let document = folder.appendingPathComponent("operations-\(count).json")
            GeneratorBenchmarks.progress("generation: synthetic, \(count) operations")
            try Data(SyntheticDocument.json(operations: count).utf8).write(to: document)
            let usage = try measure(document, in: folder, rounds: rounds)
            seconds.append(usage.processor)
            GeneratorBenchmarks.tell("  " + line("synthetic, \(count) operations", usage))
        }
        GeneratorBenchmarks.tell(String(format: "  twice the operations: %.2f x the time\n", seconds[1] / seconds[0]))
    }

    private func measure(_ document: URL, in folder: URL, rounds: Int) throws -> Usage {
        let tool = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("openapi-swift")
        let usages = try (0..<rounds).map { round in
            try Usage.ofRunning(
                tool,
                [
                    "generate", document.path, "--mode", "types", "--mode", "client", "--mode", "server",
                    "--output-directory", folder.appendingPathComponent("output-\(round)").path,
                ]
            )
        }
        return Usage.median(of: usages)
    }

    private func line(_ name: String, _ usage: Usage) -> String {
        GeneratorBenchmarks.column(name, 28)
            + String(
                format: "%6.3f s elapsed %6.3f s processor %5d MB",
                usage.elapsed,
                usage.processor,
                usage.peakBytes >> 20
            )
    }
}

/// A document with a given number of operations.
private enum SyntheticDocument {
    static func json(operations count: Int) -> String {
        let paths = (0..<count).map { number in
            """
            "/things\(number)/{id}": {"get": {"operationId": "thing\(number)", "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "limit", "in": "query", "schema": {"type": "integer"}}],
            "responses": {"200": {"description": "A thing.", "content": {"application/json": {"schema":
            {"$ref": "#/components/schemas/Thing\(number)"}}}}}}}
            """
        }
        let schemas = (0..<count).map { number in
            """
            "Thing\(number)": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"},
            "size": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
            "state": {"type": "string", "enum": ["new", "used"]},
            "next": {"$ref": "#/components/schemas/Thing\((number + 1) % count)"}}}
            """
        }
        return """
            {"openapi": "3.1.0", "info": {"title": "Synthetic", "version": "1"},
            "paths": {\(paths.joined(separator: ",\n"))},
            "components": {"schemas": {\(schemas.joined(separator: ",\n"))}}}
            """
    }
}

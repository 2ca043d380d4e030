import Foundation

/// Measures the way from generated files to object code, with `Scripts/compile-documents`.
struct Compilation {
    /// The arguments of a run of the script, with the stated time of Apple's generator and the budget of this project.
    private struct Case {
        var document: String
        var options: [String]
        var elsewhere: String
        var budget: String
    }

    private static let cases: [Case] = [
        Case(
            document: "cloudkit",
            options: ["--client"],
            elsewhere: "8.9 s for 17 operations",
            budget: "3 s for 17 operations"
        ),
        Case(
            document: "cloudkit",
            options: ["--client", "--release"],
            elsewhere: "17.8 s for 17 operations",
            budget: "6 s for 17 operations"
        ),
        Case(document: "box.json", options: ["--client"], elsewhere: "182 s, 4100 MB", budget: "36 s, 1000 MB"),
        Case(document: "box.json", options: ["--client", "--release"], elsewhere: "", budget: ""),
        Case(
            document: "discord.json",
            options: ["--client"],
            elsewhere: "does not compile",
            budget: "compiles, no warning"
        ),
        Case(document: "discord.json", options: ["--client", "--release"], elsewhere: "", budget: ""),
        // The nearest to a document of 4 MB.
        Case(
            document: "github-ghes-3.0.yaml",
            options: [],
            elsewhere: "674 s, 9300 MB (4 MB)",
            budget: "120 s, 2000 MB"
        ),
    ]

    func report(rounds: Int) throws {
        GeneratorBenchmarks.tell(
            "Compilation of the output; medians of \(rounds) \(rounds == 1 ? "run" : "runs") on all processors of this machine"
        )
        GeneratorBenchmarks.tell(
            row(
                [
                    "document", "output", "build", "lines", "processor", "elapsed", "memory", "Apple's generator",
                    "budget, elapsed",
                ]
            )
        )
        for (index, item) in Compilation.cases.enumerated() {
            if item.document != "cloudkit", GeneratorBenchmarks.document(item.document) == nil { continue }
            GeneratorBenchmarks.progress(
                "compilation \(index + 1) of \(Compilation.cases.count): \(item.document) \(item.options.joined(separator: " "))"
            )
            let fields = try run(item, rounds: rounds)
            GeneratorBenchmarks.tell(row(fields + [item.elsewhere, item.budget]))
        }
    }

    /// The fields of the line that the script prints.
    private func run(_ item: Case, rounds: Int) throws -> [String] {
        let process = Process()
        process.executableURL = GeneratorBenchmarks.package.deletingLastPathComponent()
            .appendingPathComponent("Scripts/compile-documents")
        process.arguments = item.options + ["--runs", String(rounds), item.document]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let line = text.split(separator: "\n").last { $0.hasPrefix(item.document) } ?? ""
        let words = line.split(separator: " ").map(String.init)
        guard process.terminationStatus == 0, words.count > 6 else {
            throw RunError(program: "compile-documents \(item.document)", status: process.terminationStatus)
        }
        let figures = words.suffix(4)
        return [
            words[0], words[1..<words.count - 5].joined(separator: ", "), words[words.count - 5],
            figures[figures.startIndex],
            "\(figures[figures.startIndex + 1]) s", "\(figures[figures.startIndex + 2]) s",
            "\(figures[figures.startIndex + 3]) MB",
        ]
    }

    private func row(_ fields: [String]) -> String {
        let widths = [22, 22, 9, 8, 11, 10, 9, 26, 0]
        return zip(fields, widths).map { GeneratorBenchmarks.column($0, $1) }.joined()
    }
}

import Foundation

/// From the generated files to object code, which `Scripts/compile-documents` measures.
struct Compilation {
    func report(rounds: Int) throws {
        print("Compilation of the output; medians of \(rounds) runs, all processors of this machine")
        for options in [["--client"], ["--client", "--release"], [], ["--release"]] {
            let process = Process()
            process.executableURL = GeneratorBenchmarks.package.deletingLastPathComponent()
                .appendingPathComponent("Scripts/compile-documents")
            process.arguments = options + ["--runs", String(rounds)]
            try process.run()
            process.waitUntilExit()
        }
        print(
            """
            Stated: Apple's generator, client, debug, elapsed: box.json 182 s and 4.1 GB, a 4 MB document 674 s and 9.3 GB; the output for
            discord.json does not compile. CloudKit's document of 17 operations: 8.9 s debug, 17.8 s release.
            Budgets: box.json, client, debug 36 s and 1 GB; cloudkit a third of the figures above for each operation; a 4 MB document 120 s
            and 2 GB; discord.json compiles without a warning.
            """
        )
    }
}

import ArgumentParser
import OpenAPISwiftGenerator

/// `openapi-swift lint`.
struct LintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Reports what generation would refuse or leave out, and writes nothing.",
        discussion: """
            Errors would stop generation, warnings name parts that would be missing from the output, notes change nothing. \
            Without a --mode and a configuration types, client and server are checked.

              openapi-swift lint openapi.yaml

            The report goes to standard output and ends with a line of totals. The exit status is 0, 1 when there are errors, or \
            64 when the command line, the configuration or a file named here cannot be used.
            """
    )

    @OptionGroup
    var options: GenerationOptions

    func run() throws {
        let all: Set<GeneratorConfiguration.Mode> = [.types, .client, .server]
        let result = try options.generate(with: try options.configuration(defaultModes: all), checksKeys: true)
        let report = DiagnosticsReport(diagnostics: result.diagnostics).sorted
        for line in report.lines(as: options.diagnosticsFormat) { print(line) }
        print(report.summary(of: FileAccess.name(ofDocument: options.docPath), as: options.diagnosticsFormat))
        if report.hasErrors { throw ExitCode.failure }
    }
}

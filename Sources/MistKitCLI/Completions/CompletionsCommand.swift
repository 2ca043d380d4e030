import ArgumentParser
import Foundation

/// `mistkit completions`
struct CompletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Let the shell complete commands, options, record types, fields and zones.",
        subcommands: [InstallCompletionsCommand.self]
    )
}

/// `mistkit completions install`
struct InstallCompletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Write the script of completions where the shell looks for it.",
        discussion: """
            Record types, fields and zones come from the container of the settings, as a command would find them. Names from a service are \
            cached for five minutes. If the service does not respond within a second, nothing is completed.

            Examples:
              mistkit completions install --shell fish
              mistkit completions install --shell zsh --print
            """
    )

    @Option(
        help: ArgumentHelp("bash, zsh or fish; without it the shell of the variable SHELL.", valueName: "name"),
        completion: .list(CompletionShell.allCases.map(\.rawValue)),
        transform: CompletionScript.shell(named:)
    )
    var shell: CompletionShell?

    @Flag(name: .customLong("print"), help: "Write the script to standard output instead.")
    var prints = false

    @Flag(help: "Replace a file that this command has not written.")
    var force = false

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let script = CompletionScript(shell: try shell ?? CompletionScript.shell(of: environment))
        if prints { return Terminal.write(script.text) }
        let path = try script.path(in: environment)
        // If the path is a symbolic link, the link stays, and the file that it leads to is written.
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        if let present = FileManager.default.contents(atPath: file.path), !force,
            !CompletionScript.isOwn(String(decoding: present, as: UTF8.self))
        {
            throw CommandError(
                code: .usage,
                message: "The file \(path) exists, and this command has not written it.",
                remedy: "Replace it with --force, or write the script to standard output with --print."
            )
        }
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(script.text.utf8).write(to: file, options: .atomic)
        } catch {
            throw CommandError.unwritable(path, error)
        }
        Terminal.writeLine("Wrote the completions of \(script.shell.rawValue) into \(path).")
        let steps = script.nextSteps(path: path, environment: environment) { path in
            FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
        }
        for line in steps { Terminal.writeLine(line) }
    }
}

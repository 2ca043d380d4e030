import Foundation

/// The manual page of a command, in the language `mdoc` of `man`.
struct ManualPage {
    /// Something with a name and an explanation, such as a variable of the environment.
    struct Entry {
        var name: String
        var text: String
    }

    let command: CommandDescription
    let root: CommandDescription
    /// The names of the options that choose the service; each page has them in a section of their own.
    let connectionOptions: Set<String>
    let version: String
    /// The day of the page, such as `November 3, 2026`.
    let date: String

    /// The name of a command's page, such as `mistkit-records-query`.
    static func name(of command: CommandDescription) -> String { command.path.joined(separator: "-") }

    /// The file of the page.
    var fileName: String { Self.name(of: command) + ".1" }

    var text: String { lines.joined(separator: "\n") + "\n" }

    private var lines: [String] {
        let isRoot = command.path == root.path
        var lines = [
            ".Dd \(date)", ".Dt \(Self.name(of: command).uppercased()) 1", ".Os MistKit \(version)",
            ".Sh NAME", ".Nm \(Self.name(of: command))",
            ".Nd \(Self.description(command.abstract))",
            ".Sh SYNOPSIS",
        ]
        lines += synopsis
        let (prose, examples) = Self.parts(of: command.discussion)
        lines += [".Sh DESCRIPTION"] + ManualText.prose(command.abstract)
        for paragraph in prose { lines += [".Pp"] + ManualText.prose(paragraph) }
        if !command.aliases.isEmpty {
            lines +=
                [".Pp"]
                + ManualText.prose("Other names of the command: " + command.aliases.joined(separator: ", ") + ".")
        }
        lines += subcommands
        let (common, own) = (shown.filter(isConnectionOption), shown.filter { !isConnectionOption($0) })
        lines += Self.section("OPTIONS", of: own) + Self.section("CONNECTION OPTIONS", of: common)
        if isRoot { lines += Self.section("ENVIRONMENT", tagged: ".Ev", ManualPage.environment) }
        if isRoot { lines += Self.section("FILES", tagged: ".Pa", ManualPage.files) }
        if isRoot {
            let success = Entry(name: "0", text: "The command has done its work.")
            let failures = CommandError.Code.allCases.map { Entry(name: "\($0.rawValue)", text: $0.meaning) }
            lines += Self.section("EXIT STATUS", tagged: "", [success] + failures)
        } else {
            lines += [".Sh EXIT STATUS", "0 on success; the other codes are those of", ".Xr mistkit 1 ."]
        }
        if !examples.isEmpty {
            lines += [".Sh EXAMPLES", ".Bd -literal"] + examples.map(ManualText.literal) + [".Ed"]
        }
        return lines + seeAlso
    }

    /// The arguments that help shows.
    private var shown: [CommandDescription.Argument] { command.arguments.filter(\.isShown) }

    private func isConnectionOption(_ argument: CommandDescription.Argument) -> Bool {
        argument.names.contains { connectionOptions.contains($0) }
    }

    private var synopsis: [String] {
        let name = ".Nm \(command.path.joined(separator: " "))"
        guard command.subcommands.isEmpty else {
            let optional = command.defaultSubcommand != nil
            return [name, optional ? ".Op Ar subcommand" : ".Ar subcommand", ".Op Ar options"]
        }
        var lines = [name]
        var hasConnection = false
        // Every command has these two options.
        for argument in shown where argument.names.last != "--help" && argument.names.last != "--version" {
            if isConnectionOption(argument) {
                hasConnection = true
            } else {
                let words = Self.words(of: argument, namesLast: true) + (argument.isRepeating ? " ..." : "")
                lines.append(argument.isOptional ? ".Op \(words)" : ".\(words)")
            }
        }
        return lines + (hasConnection ? [".Op Ar \"connection options\""] : [])
    }

    private var subcommands: [String] {
        guard !command.subcommands.isEmpty else { return [] }
        var lines = [".Sh COMMANDS", ".Bl -tag -width Ds"]
        for subcommand in command.subcommands {
            let isDefault = subcommand.path.last == command.defaultSubcommand
            lines.append(".It Xr \(Self.name(of: subcommand)) 1")
            lines += ManualText.prose(
                subcommand.abstract + (isDefault ? " It is meant where no command is given." : "")
            )
        }
        return lines + [".El"]
    }

    private var seeAlso: [String] {
        let group = root.all.first { $0.path == command.path.dropLast() }
        let related = ([root] + (group.map { [$0] + $0.subcommands } ?? []) + command.subcommands).map(Self.name)
        let pages = Set(related).subtracting([Self.name(of: command)]).sorted()
        guard !pages.isEmpty else { return [] }
        return [".Sh SEE ALSO"]
            + pages.enumerated().map { ".Xr \($1) 1" + ($0 == pages.count - 1 ? "" : " ,") }
    }

    private static func section(_ title: String, of arguments: [CommandDescription.Argument]) -> [String] {
        guard !arguments.isEmpty else { return [] }
        var lines = [".Sh \(title)", ".Bl -tag -width Ds"]
        for argument in arguments {
            lines.append(".It \(words(of: argument, namesLast: false))")
            lines += ManualText.prose(argument.abstract)
            if !argument.allValues.isEmpty {
                lines += ManualText.prose("The values are " + argument.allValues.joined(separator: ", ") + ".")
            }
            if let value = argument.defaultValue { lines += ManualText.prose("The default is \(value).") }
            if !argument.discussion.isEmpty { lines += ManualText.prose(argument.discussion) }
        }
        return lines + [".El"]
    }

    private static func section(_ title: String, tagged macro: String, _ entries: [Entry]) -> [String] {
        var lines = [".Sh \(title)", ".Bl -tag -width Ds"]
        for entry in entries {
            lines.append(
                [".It", String(macro.dropFirst()), ManualText.argument(entry.name)].filter { !$0.isEmpty }.joined(
                    separator: " "
                )
            )
            lines += ManualText.prose(entry.text)
        }
        return lines + [".El"]
    }

    /// An argument in macros: `Fl f , Fl \-format Ar format`.
    private static func words(of argument: CommandDescription.Argument, namesLast: Bool) -> String {
        let value = "Ar " + ManualText.argument(argument.valueName)
        guard argument.kind != .positional else { return value }
        // In a synopsis one name is enough.
        let names = namesLast ? argument.names.suffix(1) : argument.names[...]
        let flags = names.map { "Fl \(ManualText.argument(String($0.dropFirst())))" }.joined(separator: " , ")
        return argument.kind == .option ? "\(flags) \(value)" : flags
    }

    /// The text after the name on the first line. It is not a sentence, so it has no full stop.
    private static func description(_ abstract: String) -> String {
        let text = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
        return ManualText.prose(text.replacingOccurrences(of: ". ", with: "; ")).joined(separator: " ")
    }

    /// The paragraphs of a discussion, and the examples at its end.
    private static func parts(of discussion: String) -> (prose: [String], examples: [String]) {
        let halves = discussion.components(separatedBy: "Examples:\n")
        let examples =
            halves.count == 2 ? halves[1].split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } : []
        let prose = halves[0].components(separatedBy: "\n\n").filter { !$0.allSatisfy(\.isWhitespace) }
        return (prose, examples)
    }
}

extension ManualPage {
    /// The variables that the command reads.
    private static var environment: [Entry] {
        let settings = Settings.Key.allCases.map { key in
            Entry(name: key.environmentVariable, text: explanation(of: key))
        }
        return settings + [
            Entry(name: "MISTKIT_CONFIG", text: "The file of settings, as --config."),
            Entry(name: "MISTKIT_PROFILE", text: "The profile, as --profile."),
            Entry(name: "VISUAL", text: "The editor of records edit; before EDITOR, and without both vi."),
            Entry(
                name: "MISTKIT_PAGER",
                text: "The program that shows tables longer than the terminal; empty or cat for none."
            ),
            Entry(name: "PAGER", text: "The same, where MISTKIT_PAGER is not set. The default is less."),
            Entry(name: "LESS", text: "The options of less; without it FRX, or FX where NO_COLOR is set."),
            Entry(name: "NO_COLOR", text: "Where it is not empty, nothing is set off by colours or bold type."),
            Entry(name: "SHELL", text: "The shell whose completions are installed."),
            Entry(
                name: "XDG_DATA_HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME",
                text: "Where completions are installed, and names for them are kept where there is no data folder."
            ),
        ]
    }

    private static func explanation(of key: Settings.Key) -> String {
        switch key {
        case .container: "The container, as --container."
        case .environment: "The environment, as --environment."
        case .database: "The database, as --database."
        case .serverURL: "The address of the service, as --server-url."
        case .apiToken: "An API token, as --api-token."
        case .webAuthToken: "A user's web authentication token, as --web-auth-token."
        case .keyID: "The ID of a server-to-server key, as --key-id."
        case .privateKey: "The PEM text of the key. No option has it: command lines are visible to other users."
        case .privateKeyFile: "The PEM file of the key, as --private-key-file."
        case .dataFolder: "The folder of the embedded emulator's data, as --data-folder."
        case .user: "A user of the emulator on this machine, as --as."
        }
    }

    /// The files that the command reads and writes by itself.
    private static var files: [Entry] {
        [
            Entry(
                name: "mistkit.json, .mistkit/config.json",
                text: "Settings; the first of the two that exists is read."
            ),
            Entry(name: ".mistkit/emulator.sqlite", text: "The records of the embedded emulator."),
            Entry(name: ".mistkit/account.json", text: "The API token and the user of the embedded emulator."),
            Entry(name: ".mistkit/session-*.json", text: "The token of a person who signed in."),
            Entry(name: ".mistkit/completions-*.json", text: "Names that the shell completes to, for five minutes."),
        ]
    }
}

import ArgumentParser
import StreamingJSON

/// The argument parser's description of a command: its words, its arguments and its help.
struct CommandDescription {
    struct Argument {
        enum Kind: String {
            case positional, option, flag
        }

        var kind: Kind
        /// The names with their hyphens, such as `-f` and `--format`; none for a positional argument.
        var names: [String]
        var valueName: String
        var abstract: String
        var discussion: String
        var defaultValue: String?
        var allValues: [String]
        var isOptional: Bool
        var isRepeating: Bool
        var isShown: Bool
    }

    /// The words that call the command.
    var path: [String]
    var abstract: String
    var discussion: String
    var aliases: [String]
    var arguments: [Argument]
    var subcommands: [CommandDescription]
    /// The name of the subcommand that runs where the command line names none.
    var defaultSubcommand: String?

    /// The command and all below it, without those that help leaves out.
    var all: [CommandDescription] { [self] + subcommands.flatMap(\.all) }

    /// Describes a command and all below it.
    ///
    /// - Throws: A `JSONError` where the parser's description has another form.
    static func describing(_ command: (some ParsableArguments).Type) throws -> CommandDescription {
        let tool = try JSONReader.read(JSONValue.self, from: command._dumpHelp())
        return CommandDescription(tool["command"] ?? .null, within: [])
    }

    private init(_ value: JSONValue, within group: [String]) {
        func texts(_ value: JSONValue?) -> [String] { value?.arrayValue?.compactMap(\.stringValue) ?? [] }
        path = group + [value["commandName"]?.stringValue ?? ""]
        abstract = value["abstract"]?.stringValue ?? ""
        discussion = value["discussion"]?.stringValue ?? ""
        aliases = texts(value["aliases"])
        defaultSubcommand = value["defaultSubcommand"]?.stringValue
        arguments = value["arguments"]?.arrayValue?.compactMap(Argument.init) ?? []
        let path = path
        subcommands = (value["subcommands"]?.arrayValue ?? [])
            .filter { $0["commandName"] != "help" && $0["shouldDisplay"] != false }
            .map { CommandDescription($0, within: path) }
    }
}

extension CommandDescription.Argument {
    fileprivate init?(_ value: JSONValue) {
        guard let kind = value["kind"]?.stringValue.flatMap(Kind.init) else { return nil }
        self.kind = kind
        names = (value["names"]?.arrayValue ?? []).compactMap { name in
            name["name"]?.stringValue.map { (name["kind"] == "long" ? "--" : "-") + $0 }
        }
        // The short name first, as manuals have it.
        names.sort { !$0.hasPrefix("--") && $1.hasPrefix("--") }
        valueName = value["valueName"]?.stringValue ?? ""
        abstract = value["abstract"]?.stringValue ?? ""
        discussion = value["discussion"]?.stringValue ?? ""
        defaultValue = value["defaultValue"]?.stringValue
        allValues = value["allValues"]?.arrayValue?.compactMap(\.stringValue) ?? []
        isOptional = value["isOptional"]?.boolValue ?? true
        isRepeating = value["isRepeating"]?.boolValue ?? false
        isShown = value["shouldDisplay"]?.boolValue ?? true
    }
}

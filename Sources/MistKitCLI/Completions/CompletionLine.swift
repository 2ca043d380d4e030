import ArgumentParser

/// The arguments of an unfinished command line that decide which names complete it.
struct CompletionArguments: ParsableArguments {
    @OptionGroup var connection: ConnectionOptions

    @Option var zone: String?
    @Option var zoneOwner: String?
    @Option var type: String?

    @Argument(parsing: .allUnrecognized)
    var others: [String] = []

    /// The record type that the line names: the value of `--type`, else a word that is a known record type.
    ///
    /// Where no word is known, it is the first argument of a command such as `records query`: the types of a public
    /// database are known only after a query for them.
    func recordType(among known: some Collection<String>) -> String? {
        type ?? others.first { known.contains($0) }
            ?? others.dropFirst(2).first { $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && !$0.isEmpty }
    }
}

/// A command line whose current word a shell wants to complete.
struct CompletionLine: Equatable {
    /// The words without the shell's quotes. The first is the command.
    let words: [String]
    /// The part of the word being typed that the shell replaces.
    let current: String

    /// Reads the words of a shell.
    ///
    /// - Parameters:
    ///   - words: The words as they are typed, with quotes.
    ///   - index: The index of the word that is being typed.
    ///   - shell: The shell. In bash, `=` and `:` are separate words, also inside of an argument.
    init(words: [String], index: Int, shell: CompletionShell?) {
        let unquoted = words.map(Self.unquoted)
        current = unquoted.indices.contains(index) ? unquoted[index] : ""
        guard shell == .bash else {
            self.words = unquoted
            return
        }
        var joined: [String] = []
        var continues = false
        for (index, word) in unquoted.enumerated() {
            let separates = words[index] == "=" || words[index] == ":"
            if continues || separates, !joined.isEmpty {
                joined[joined.count - 1] += word
            } else {
                joined.append(word)
            }
            continues = separates
        }
        self.words = joined
    }

    /// The settings and names of the line; `nil` where the line cannot be parsed yet.
    func arguments() -> CompletionArguments? {
        try? CompletionArguments.parse(Array(words.dropFirst()))
    }

    /// The record type whose fields complete the line.
    func recordType(in names: ContainerNames) -> String? {
        arguments()?.recordType(among: names.recordTypes.keys)
    }

    /// A word without the quotes and backslashes of a shell. A quote may still be open.
    static func unquoted(_ word: String) -> String {
        var result = ""
        var quote: Character?
        var rest = word[...]
        while let character = rest.popFirst() {
            switch (quote, character) {
            case ("'", "'"), ("\"", "\""): quote = nil
            case (nil, "'"), (nil, "\""): quote = character
            case (nil, "\\"): if let next = rest.popFirst() { result.append(next) }
            case ("\"", "\\"):
                if let next = rest.first, "\\\"$`".contains(next) {
                    result.append(next)
                    rest.removeFirst()
                } else {
                    result.append(character)
                }
            default: result.append(character)
            }
        }
        return result
    }

    /// A candidate with the escapes that make the script of a shell read exactly this text.
    ///
    /// The script for bash expands candidates as `compgen -W` does: without escapes, the name of a zone that another
    /// user has chosen could run a command. The script for zsh reads the text after a colon as a description.
    ///
    /// - Returns: `nil` for a text with control characters, such as line ends.
    static func literal(_ candidate: String, in shell: CompletionShell?) -> String? {
        guard !candidate.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else { return nil }
        switch shell {
        case .bash:
            return "'" + candidate.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
                + "'"
        case .zsh: return String(candidate.flatMap { $0 == ":" || $0 == "\\" ? ["\\", $0] : [$0] })
        default: return candidate
        }
    }
}

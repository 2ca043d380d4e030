import ArgumentParser

/// What of a command line that is being typed decides which names complete it.
struct CompletionArguments: ParsableArguments {
    @OptionGroup var connection: ConnectionOptions

    @Option var zone: String?
    @Option var zoneOwner: String?
    @Option var type: String?

    @Argument(parsing: .allUnrecognized)
    var others: [String] = []

    /// The record type that the line names: that of `--type`, else a known one.
    ///
    /// Where no word is known, it is the first word that a command such as `records query` takes: types of a public database are known
    /// only once they are asked for.
    func recordType(among known: some Collection<String>) -> String? {
        type ?? others.first { known.contains($0) }
            ?? others.dropFirst(2).first { $0.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && !$0.isEmpty }
    }
}

/// A command line of which a shell asks how its current word may go on.
struct CompletionLine: Equatable {
    /// The words without the shell's quotes. The first is the command.
    let words: [String]
    /// The word that is being typed, as far as the shell replaces it.
    let current: String

    /// Reads the words of a shell.
    ///
    /// - Parameters:
    ///   - words: The words as they are typed, with quotes.
    ///   - index: The index of the word that is being typed.
    ///   - shell: The shell. For bash, `=` and `:` are words of their own, also within what other programs call a word.
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

    /// The settings and names of the line; `nil` where it makes no sense yet.
    func arguments() -> CompletionArguments? {
        try? CompletionArguments.parse(Array(words.dropFirst()))
    }

    /// The record type whose fields are meant.
    func recordType(in names: ContainerNames) -> String? {
        arguments()?.recordType(among: names.recordTypes.keys)
    }

    /// A word without the quotes and backslashes of a shell. A quote may be open still.
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

    /// A candidate as the script of a shell takes it for exactly this text.
    ///
    /// The script for bash expands candidates as `compgen -W` does: the name of a zone, which another person may have chosen, would run a
    /// command there. That for zsh takes what follows a colon for a description.
    ///
    /// - Returns: `nil` for a text that does not fit in a line.
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

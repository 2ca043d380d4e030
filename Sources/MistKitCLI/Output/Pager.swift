import Foundation

/// The program that shows long tables page by page on a terminal.
struct Pager: Hashable, Sendable {
    /// The command that the shell runs. It reads the table from standard input.
    let command: String
    /// The options of `less`, where the environment has none in `LESS`.
    let lessOptions: String
    /// Whether the program shows bold type and colours, and not their sequences.
    let showsStyles: Bool

    /// The pager of the environment: `MISTKIT_PAGER`, else `PAGER`, else `less`.
    ///
    /// `less` ends by itself where the text fits on the screen (`F`), shows colours (`R`) unless `NO_COLOR` is set, and
    /// leaves the text on the screen (`X`), as it does under `git`.
    ///
    /// - Returns: `nil` where the variable is empty or says `cat`.
    init?(environment: [String: String]) {
        let chosen = (environment["MISTKIT_PAGER"] ?? environment["PAGER"])?.trimmingCharacters(in: .whitespaces)
        guard chosen != "", chosen != "cat" else { return nil }
        command = chosen ?? "command -v less > /dev/null || exit 127; less"
        showsStyles = (chosen ?? "less").contains("less") && (environment["LESS"]?.contains("R") ?? true)
        lessOptions = (environment["NO_COLOR"] ?? "").isEmpty ? "FRX" : "FX"
    }

    /// Shows a text, and waits until the user has closed the pager.
    ///
    /// It is not a failure if the pager is closed before it has read everything.
    ///
    /// - Returns: Whether the pager could be started. Where it could not, nothing was shown.
    func show(_ text: String) -> Bool {
        // The pager is started before the signals are changed here, so that they have their usual effect in the pager.
        guard let pipe = popen("LESS=\"${LESS-\(lessOptions)}\"; export LESS; \(command)", "w") else { return false }
        // Ctrl-C is for the pager. A pager that ends early closes the pipe.
        let previous = [SIGPIPE, SIGINT].map { ($0, signal($0, SIG_IGN)) }
        defer { for (number, handler) in previous { signal(number, handler) } }
        fputs(text, pipe)
        let status = pclose(pipe)
        // The shell's exit code for a command that it does not find.
        return status >> 8 & 0xFF != 127
    }
}

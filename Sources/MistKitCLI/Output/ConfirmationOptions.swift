import ArgumentParser
import Foundation

/// Whether a command asks before it changes much at once.
struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Do not ask.")
    var yes = false

    /// Asks a question on the terminal.
    ///
    /// - Parameter question: A question to which "yes" means to go on.
    /// - Returns: Whether to go on.
    /// - Throws: A ``CommandError`` where standard input is not a terminal.
    func confirms(_ question: String) throws(CommandError) -> Bool {
        if yes { return true }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                code: .usage,
                message: "\(question) Standard input is not a terminal, so the command cannot ask.",
                remedy: "Give --yes to do it."
            )
        }
        Terminal.writeError("\(question) [y/N] ", terminator: "")
        let answer = readLine()?.lowercased() ?? ""
        if answer == "y" || answer == "yes" { return true }
        Terminal.writeError("Nothing was changed.")
        return false
    }
}

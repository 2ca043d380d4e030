import ArgumentParser
import Foundation

/// Where a list of changes begins, and where the token for the next list is kept.
struct TokenOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The token of an earlier run.", valueName: "token"))
    var since: String?

    @Option(
        help: ArgumentHelp("A file that keeps the token between runs.", valueName: "file"),
        completion: .anyFile
    )
    var tokenFile: String?

    func validate() throws {
        guard since == nil || tokenFile == nil else {
            throw ValidationError(
                "--since and --token-file cannot be combined.\nGive one of them: the token itself, or the file that keeps it."
            )
        }
    }

    /// The token to begin with.
    ///
    /// - Parameter read: Makes a token of its text.
    /// - Returns: The token; `nil` to begin with the whole history.
    /// - Throws: A ``CommandError`` for a text that is not a token.
    func start<Token>(_ read: (String) -> Token?) throws(CommandError) -> Token? {
        var text = since
        if let tokenFile, let data = FileManager.default.contents(atPath: tokenFile) {
            text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
        guard let text else { return nil }
        guard let token = read(text) else {
            throw CommandError(
                code: .data,
                message: "\(tokenFile ?? "--since") does not hold a token.",
                remedy: "Leave it out, or remove the file, to begin with the whole history."
            )
        }
        return token
    }

    /// Writes the token for the next run into the file, or to standard error.
    func keep(_ token: String) throws(CommandError) {
        guard let tokenFile else { return Terminal.writeError("token: \(token)") }
        do {
            try Data((token + "\n").utf8).write(to: URL(fileURLWithPath: tokenFile), options: .atomic)
        } catch {
            throw CommandError.unwritable(tokenFile, error)
        }
    }
}

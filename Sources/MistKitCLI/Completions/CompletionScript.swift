import ArgumentParser
import Foundation

/// The script that completes command lines of `mistkit` in a shell, and the file in which the shell looks for it.
struct CompletionScript {
    /// The last line of each script: a file that ends with it can be replaced.
    private static let signature = "# Written by `mistkit completions install`."

    let shell: CompletionShell

    var text: String {
        var script = MistKitCommand.completionScript(for: shell)
        // A shell reads the file and does not execute it, so this line would have no effect.
        if script.hasPrefix("#!"), let end = script.firstIndex(of: "\n") { script.removeSubrange(...end) }
        if !script.hasSuffix("\n") { script += "\n" }
        if shell == .bash { script += Self.addition }
        return script + Self.signature + "\n"
    }

    /// Suppresses the space after a candidate that ends with `=`, as in `--field title=`.
    private static let addition = """

        _mistkit_without_space() {
            _mistkit "${@}"
            if [[ "${#COMPREPLY[@]}" -gt 0 && "${COMPREPLY[0]}" = *= ]]; then
                compopt -o nospace 2>/dev/null
            fi
        }
        complete -o filenames -F _mistkit_without_space mistkit

        """

    /// Whether `mistkit` wrote the file, possibly an earlier version of it.
    static func isOwn(_ text: String) -> Bool {
        text.split(whereSeparator: \.isNewline).last == Substring(signature)
    }

    /// The shell of this name.
    ///
    /// - Throws: A `ValidationError` of two lines for other names.
    static func shell(named name: String) throws -> CompletionShell {
        guard let shell = CompletionShell(rawValue: name) else {
            throw ValidationError("There are no completions for the shell \(name).\nName bash, zsh or fish.")
        }
        return shell
    }

    /// The shell of the environment.
    ///
    /// - Throws: ``CommandError`` where `SHELL` is not set, or names a shell without completions.
    static func shell(of environment: [String: String]) throws(CommandError) -> CompletionShell {
        let name = environment["SHELL"].map { ($0 as NSString).lastPathComponent } ?? ""
        guard let shell = CompletionShell(rawValue: name) else {
            throw CommandError(
                code: .usage,
                message: name.isEmpty ? "SHELL is not set." : "There are no completions for the shell \(name).",
                remedy: "Name a shell: --shell bash, --shell zsh or --shell fish."
            )
        }
        return shell
    }

    /// The file in which the shell looks for the completions of a user.
    ///
    /// - Throws: ``CommandError`` where the environment names no home folder.
    func path(in environment: [String: String]) throws(CommandError) -> String {
        func base(_ name: String, _ fallback: String) throws(CommandError) -> String {
            // The specification of these folders says that a relative path in such a variable is ignored.
            if let path = environment[name], path.hasPrefix("/") { return path }
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw CommandError(
                    code: .usage,
                    message: "HOME is not set, so the folder of completions is not known.",
                    remedy: "Set HOME, or write the script to standard output with --print."
                )
            }
            return home + "/" + fallback
        }
        switch shell {
        case .fish: return try base("XDG_CONFIG_HOME", ".config") + "/fish/completions/mistkit.fish"
        case .zsh: return try base("XDG_DATA_HOME", ".local/share") + "/zsh/site-functions/_mistkit"
        default:
            if let folder = environment["BASH_COMPLETION_USER_DIR"], folder.hasPrefix("/") {
                return folder + "/completions/mistkit"
            }
            return try base("XDG_DATA_HOME", ".local/share") + "/bash-completion/completions/mistkit"
        }
    }

    /// What the user has to do after the script was written.
    ///
    /// - Parameters:
    ///   - path: The file of the script.
    ///   - environment: The environment, with the folders of zsh's functions where the shell exports them.
    ///   - read: Returns the text of a file, `nil` where there is none.
    /// - Returns: Lines for standard output.
    func nextSteps(path: String, environment: [String: String], read: (String) -> String?) -> [String] {
        switch shell {
        case .fish: return ["Each new fish finds it."]
        case .zsh:
            let folder = (path as NSString).deletingLastPathComponent
            guard !isInFunctionPath(folder, environment: environment, read: read) else {
                return ["Each new zsh finds it."]
            }
            return [
                "Add this line to ~/.zshrc, before a call of compinit that is there, and start a new zsh:",
                "  fpath=('\(folder)' $fpath); autoload -Uz compinit && compinit",
            ]
        default:
            let loaders = [
                "/usr/share/bash-completion/bash_completion", "/etc/bash_completion",
                "/usr/local/etc/profile.d/bash_completion.sh",
            ]
            guard environment["BASH_COMPLETION_VERSINFO"] == nil, !loaders.contains(where: { read($0) != nil }) else {
                return ["Each new bash finds it, where the package bash-completion is switched on."]
            }
            return [
                "The package bash-completion, which finds it, is not there. Install that, or add this line to ~/.bashrc:",
                "  source '\(path)'",
            ]
        }
    }

    /// Whether zsh looks for functions in the folder: `FPATH` has the folder, or `.zshrc` mentions it.
    private func isInFunctionPath(_ folder: String, environment: [String: String], read: (String) -> String?) -> Bool {
        if (environment["FPATH"] ?? "").split(separator: ":").contains(Substring(folder)) { return true }
        let home = environment["HOME"] ?? ""
        guard let settings = read((environment["ZDOTDIR"] ?? home) + "/.zshrc") else { return false }
        var names = [folder]
        if folder.hasPrefix(home + "/") {
            names += ["~", "$HOME", "${HOME}"].map { $0 + folder.dropFirst(home.count) }
        }
        return settings.split(whereSeparator: \.isNewline).contains { line in
            !line.drop(while: \.isWhitespace).hasPrefix("#") && line.contains("fpath")
                && names.contains { line.contains($0) }
        }
    }
}

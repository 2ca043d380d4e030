import ArgumentParser
import Testing

@testable import MistKitCLI

struct CompletionScriptTests {
    @Test(
        arguments: [
            (["HOME": "/h"], "bash", "/h/.local/share/bash-completion/completions/mistkit"),
            (["HOME": "/h", "XDG_DATA_HOME": "/d"], "bash", "/d/bash-completion/completions/mistkit"),
            (["XDG_DATA_HOME": "/d", "BASH_COMPLETION_USER_DIR": "/b"], "bash", "/b/completions/mistkit"),
            (["HOME": "/h"], "fish", "/h/.config/fish/completions/mistkit.fish"),
            (["XDG_CONFIG_HOME": "/c"], "fish", "/c/fish/completions/mistkit.fish"),
            (["HOME": "/h", "XDG_DATA_HOME": "relative"], "zsh", "/h/.local/share/zsh/site-functions/_mistkit"),
        ]
    )
    func theFileIsWhereTheShellLooks(_ environment: [String: String], _ shell: String, _ path: String) throws {
        let script = CompletionScript(shell: try #require(CompletionShell(rawValue: shell)))
        #expect(try script.path(in: environment) == path)
        #expect(throws: CommandError.self) { try script.path(in: [:]) }
    }

    @Test func theShellIsThatOfTheEnvironment() throws {
        #expect(try CompletionScript.shell(of: ["SHELL": "/usr/bin/fish"]) == .fish)
        #expect(throws: CommandError.self) { try CompletionScript.shell(of: ["SHELL": "/bin/tcsh"]) }
        #expect(throws: CommandError.self) { try CompletionScript.shell(of: [:]) }
    }

    @Test(
        arguments: [
            ([:], nil, true), (["FPATH": "/usr/share/zsh:/h/f"], nil, false), ([:], "fpath=(~/f $fpath)\n", false),
            ([:], "fpath+=( \"$HOME/f\" )", false), ([:], "# fpath=(~/f $fpath)", true), ([:], "export X=/h/f", true),
        ] as [([String: String], String?, Bool)]
    )
    func zshNeedsALineUnlessItLooksThere(_ variables: [String: String], _ settings: String?, _ needsLine: Bool) {
        let environment = variables.merging(["HOME": "/h"]) { $1 }
        let steps = CompletionScript(shell: .zsh).nextSteps(path: "/h/f/_mistkit", environment: environment) { path in
            path == "/h/.zshrc" ? settings : nil
        }
        #expect(steps.contains { $0.contains("fpath=('/h/f' $fpath)") } == needsLine)
    }

    @Test func bashNeedsTheLineWithoutItsPackage() {
        let script = CompletionScript(shell: .bash)
        let without = script.nextSteps(path: "/h/mistkit", environment: [:]) { _ in nil }
        #expect(without.last == "  source '/h/mistkit'")
        let with = script.nextSteps(path: "/h/mistkit", environment: [:]) { $0 == "/etc/bash_completion" ? "" : nil }
        #expect(with.count == 1 && !with[0].contains("source"))
    }

    @Test func scriptsOfThisCommandAreKnown() {
        for shell in CompletionShell.allCases { #expect(CompletionScript.isOwn(CompletionScript(shell: shell).text)) }
        #expect(!CompletionScript.isOwn("complete -F _other mistkit\n"))
        #expect(!CompletionScript.isOwn(CompletionScript(shell: .bash).text + "alias m=mistkit\n"))
    }
}

import ArgumentParser
import Testing

@testable import MistKitCLI

struct CompletionLineTests {
    @Test(
        arguments: [
            ("Note", "Note"), ("'rating > 3'", "rating > 3"), ("'rating >", "rating >"),
            (#""a \"b\" \n""#, #"a "b" \n"#),
            (#"a\ b"#, "a b"), (#"'it'\''s'"#, "it's"), ("", ""), (#"a\"#, "a"),
        ]
    )
    func quotesOfTheShellAreTakenAway(_ word: String, _ text: String) {
        #expect(CompletionLine.unquoted(word) == text)
    }

    /// bash treats each character of COMP_WORDBREAKS as a word.
    @Test func wordsThatBashDividesAreOneAgain() {
        let words = ["mistkit", "zones", "--server-url", "http", ":", "//127.0.0.1", ":", "80", "--zone", "=", "No"]
        let bash = CompletionLine(words: words, index: 10, shell: .bash)
        #expect(bash.words == ["mistkit", "zones", "--server-url", "http://127.0.0.1:80", "--zone=No"])
        #expect(bash.current == "No")
        let zsh = CompletionLine(words: words, index: 10, shell: .zsh)
        #expect(zsh.words == words && zsh.current == "No")
    }

    @Test(
        arguments: [
            ("records query Note --filter", "Note"), ("records create --type List --field", "List"),
            ("records query Sno --fields", "Sno"),
            ("records count --zone Notes --filter", nil), ("zones list", nil),
        ]
    )
    func theRecordTypeOfTheLineIsFound(_ line: String, _ type: String?) throws {
        let words = ["mistkit"] + line.split(separator: " ").map(String.init) + [""]
        let arguments = CompletionLine(words: words, index: words.count - 1, shell: nil).arguments()
        #expect(try #require(arguments).recordType(among: ["Note", "List"]) == type)
    }

    @Test func settingsOfTheLineAreFound() throws {
        let text = [
            "mistkit", "records", "query", "-f", "csv", "--environment", "production", "Note", "--zone", "'My Zone'",
            "--data-folder", "d", "--sort", "-",
        ]
        let arguments = try #require(CompletionLine(words: text, index: 13, shell: .zsh).arguments())
        #expect(arguments.connection.environment == "production")
        #expect(arguments.connection.dataFolder == "d")
        #expect(arguments.zone == "My Zone")
    }

    /// Another user may have chosen the name of a zone.
    @Test(
        arguments: [
            ("bash", "Note", "'Note'"), ("bash", "$(touch x)", "'$(touch x)'"), ("bash", "it's", #"'it'\''s'"#),
            ("zsh", "a:b\\", #"a\:b\\"#),
            ("fish", "$(touch x)", "$(touch x)"), ("bash", "a\nb", nil), ("zsh", "a\u{1B}b", nil),
        ]
    )
    func candidatesAreTakenAsTheyAre(_ shell: String, _ candidate: String, _ literal: String?) {
        #expect(CompletionLine.literal(candidate, in: CompletionShell(rawValue: shell)) == literal)
    }
}

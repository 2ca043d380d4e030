import Foundation
import Testing

/// Records that a user changes in an editor. Here, a shell command is the editor.
struct EditTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
        try commands.mistkit("records", "create", "--type", "Note", "--name", "n", "-F", "title=old", "-F", "n=1")
    }

    private func edit(_ editor: String) throws -> CommandTests.Outcome {
        try commands.mistkit(
            "records",
            "edit",
            "n",
            "-f",
            "csv",
            environment: ["EDITOR": editor, "PATH": "/usr/bin:/bin"]
        )
    }

    /// The fields `title` and `n` in the service.
    private func fields() throws -> String {
        let output = try commands.mistkit("records", "lookup", "n", "--fields", "title,n", "-f", "csv").output
        return output.split(separator: "\r\n").last?.split(separator: ",").suffix(2).joined(separator: ",") ?? ""
    }

    @Test func recordsEditSavesOnlyChangedFields() throws {
        let edited = try edit("sed -i s/old/new/")
        #expect(edited.status == 0 && edited.output.contains(",new,1"), "\(edited.errors)")
        #expect(try fields() == "new,1")
        let unchanged = try edit("true")
        #expect(unchanged.status == 0 && unchanged.output == "" && unchanged.errors == "Nothing was changed.\n")
        let cleared = try edit("sed -i s/[[:space:]]1,/null,/")
        #expect(cleared.status == 0, "\(cleared.errors)")
        #expect(try commands.mistkit("records", "lookup", "n", "-f", "ndjson").output.contains(#""n":{"value":null}"#))
    }

    @Test(arguments: [
        ("false", 1, "The editor ended with the exit code 1."),
        ("sed -i s/{/x/", 65, "The file is not a record in JSON: "),
        (#"sed -i s/Name"[[:space:]]:/X":/"#, 65, "The name and the type of a record cannot be changed."),
    ])
    func refusesWhatIsNoRecord(_ editor: String, _ status: Int32, _ message: String) throws {
        let outcome = try edit(editor)
        #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 2)
        #expect(try fields() == "old,1")
    }

    /// What was typed stays in its file, whatever the reason is that it was not saved.
    @Test func theTextIsKeptWhenTheServiceRefusesIt() throws {
        func script(_ lines: String) throws -> String {
            let script = commands.folder.appending(path: "editor-\(UUID().uuidString).sh")
            try lines.write(to: script, atomically: true, encoding: .utf8)
            return "sh \(script.path)"
        }
        let wrong = try edit("sed -i s/INT64/DOUBLE/")
        #expect(wrong.status == 1 && wrong.errors.contains("BAD_REQUEST"), "\(wrong.errors)")
        let ended = try edit(script("sed -i s/old/mine/ \"$1\"; exit 3"))
        #expect(ended.status == 1 && ended.errors.contains("ended with the exit code 3."), "\(ended.errors)")
        let delete = "'\(CommandTests.executable.path)' records delete n > /dev/null"
        let gone = try edit(script("sed -i s/old/mine/ \"$1\"; \(delete)"))
        #expect(gone.status == 1, "\(gone.errors)")
        for (outcome, text) in [(wrong, "DOUBLE"), (gone, "mine"), (ended, "mine")] {
            let path = try #require(outcome.errors.firstMatch(of: /Your text is in (\S+\/record\.json)[;.]/)?.1)
            #expect(try String(contentsOfFile: String(path), encoding: .utf8).contains(text))
        }
    }

    @Test func whatOthersChangedMeanwhileIsMerged() throws {
        let script = commands.folder.appending(path: "editor.sh")
        try """
        #!/bin/sh
        "\(CommandTests.executable.path)" records update n -F n=2 > /dev/null
        sed -i s/old/mine/ "$1"
        """.write(to: script, atomically: true, encoding: .utf8)
        let conflict = try edit("sh \(script.path)")
        #expect(conflict.status == 1)
        let remedy = try #require(conflict.errors.split(separator: "\n").last)
        let words = remedy.split(separator: " ").map(String.init)
        let start = try #require(words.firstIndex(of: "resolve-conflict"))
        let resolved = try commands.mistkit(arguments: ["records"] + words[start...])
        #expect(resolved.status == 0, "\(resolved.errors)")
        #expect(try fields() == "mine,2")
    }

    @Test func conflictsOfOneFieldAreDecidedByThePerson() throws {
        try #"{"recordName":"n","fields":{"n":{"value":7}}}"#
            .write(to: commands.folder.appending(path: "mine.json"), atomically: true, encoding: .utf8)
        let undecided = try commands.mistkit("records", "resolve-conflict", "mine.json")
        #expect(undecided.status == 1)
        #expect(undecided.errors.contains("n: yours \"7\", the service's \"1\""))
        #expect(try fields() == "old,1")
        let theirs = try commands.mistkit("records", "resolve-conflict", "mine.json", "--prefer", "theirs")
        #expect(theirs.status == 0 && theirs.errors.contains("nothing was saved"))
        let mine = try commands.mistkit("records", "resolve-conflict", "mine.json", "--prefer", "mine")
        #expect(mine.status == 0, "\(mine.errors)")
        #expect(try fields() == "old,7")
        let nameless = try commands.mistkit("records", "resolve-conflict", "-", input: "{}")
        #expect(nameless.status == 65 && nameless.errors.contains("has no name."))
    }

    @Test func recordsOfAFileAreUpdated() throws {
        let lines = [
            #"{"recordName":"n","fields":{"n":{"value":8}}}"#, #"{"recordName":"absent","fields":{"n":{"value":8}}}"#,
        ]
        let outcome = try commands.mistkit("records", "update", "--from", "-", input: lines.joined(separator: "\n"))
        #expect(outcome.status == 1 && outcome.errors.contains("Record absent: "), "\(outcome.errors)")
        #expect(try fields() == "old,8")
        let old = #"{"recordName":"n","recordChangeTag":"x","fields":{"n":{"value":9}}}"#
        #expect(try commands.mistkit("records", "update", "--from", "-", input: old).status == 1)
        #expect(try fields() == "old,8")
        #expect(try commands.mistkit("records", "update", "--from", "-", "--force", input: old).status == 0)
        #expect(try fields() == "old,9")
        let nameless = try commands.mistkit("records", "update", "--from", "-", input: "{}")
        #expect(nameless.status == 65 && nameless.errors.contains("Record 1 of - has no name."))
        for arguments in [["n"], ["n", "--from", "x"], []] {
            #expect(try commands.mistkit(arguments: ["records", "update"] + arguments).status == 64)
        }
    }
}

import Foundation
import MistKit
import Testing

@testable import MistKitCLI

/// What an import reads, and what it checks before anything is sent.
struct ImportFormTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: commands.folder.appendingPathComponent(name))
    }

    private func contents(of name: String) -> String? {
        try? String(contentsOf: commands.folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// The fields of a record.
    private func fields(_ name: String) throws -> String {
        let output = try commands.mistkit("records", "lookup", name, "-f", "ndjson").output
        return try #require(output.firstMatch(of: /"fields":(\{.*?\}),"pluginFields"/)).1.description
    }

    @Test(arguments: [
        (#"{"title":"Hello","rating":4}"#, ["rating=4 INT64", "title=Hello STRING"]),
        (
            #"{"share":0.5,"big":1e3,"done":true,"gone":null,"none":[]}"#,
            ["big=1000.0 DOUBLE", "done=1 INT64", "share=0.5 DOUBLE"]
        ),
        (
            #"{"tags":["a,b",""],"numbers":[1,2],"shares":[1,2.5]}"#,
            [
                "numbers=1, 2 INT64_LIST", "shares=1.0, 2.5 DOUBLE_LIST", "tags=a,b,  STRING_LIST",
            ]
        ),
        (
            #"{"due:TIMESTAMP":"2026-01-01","dates:TIMESTAMP_LIST":["2026-01-01"],"zip:STRING":4}"#,
            [
                "dates=2026-01-01T00:00:00Z TIMESTAMP_LIST", "due=2026-01-01T00:00:00Z TIMESTAMP", "zip=4 STRING",
            ]
        ),
    ])
    func membersOfPlainObjectsAreFields(_ text: String, _ expected: [String]) throws {
        let record = try ImportReader.record(inJSON: Array(text.utf8), isPlain: true).get()
        let found = record.fields.map {
            "\($0.name)=\(FieldText.describe($0.value)) \($0.value.plain.type?.rawValue ?? "")"
        }
        #expect(found.sorted() == expected)
    }

    @Test(arguments: [
        (#"{"a":{"b":1}}"#, "The field a is an object, which no field of CloudKit is."),
        (#"{"a":[1,"b"]}"#, "The list a has values of several kinds, or values that are no text or number."),
        (#"{"a":9223372036854775808}"#, "\"9223372036854775808\" is not a valid INT64, the type of the field a."),
        (#"{"recordName":4}"#, "recordName is not a text."),
        (#"{"a:STRNG":"x"}"#, "The field a has the type STRNG, which does not exist."),
    ])
    func plainObjectsAreChecked(_ text: String, _ message: String) {
        let record = ImportReader.record(inJSON: Array(text.utf8), isPlain: true)
        #expect(throws: CommandError.self) { try record.get() }
        if case .failure(let error) = record { #expect(error.message == message) }
    }

    /// The members of a plain object are not lost where --plain is missing.
    @Test func aPlainObjectIsNotARecord() throws {
        let plain = #"{"recordName":"a","title":"Hello"}"#
        for text in [plain, "[\(plain)]"] {
            let created = try commands.mistkit("records", "create", "--type", "Note", "--from", "-", input: text)
            #expect(created.status == 65 && created.errors.contains("records import --plain"), "\(created.errors)")
        }
        let outcome = try commands.mistkit("records", "import", "-", "--type", "Note", input: plain)
        #expect(outcome.status == 65 && outcome.errors.contains("Give --plain"), "\(outcome.errors)")
        let imported = try commands.mistkit("records", "import", "-", "--type", "Note", "--plain", input: plain)
        #expect(imported.status == 0 && imported.errors.contains("1 record imported from standard input"))
        #expect(try fields("a") == #"{"title":{"value":"Hello","type":"STRING"}}"#)
    }

    @Test(arguments: [
        ("recordName;title;rating\na;\"x;y\";4\n", [String]()), ("recordName\ttitle\trating\na\tx;y\t4\n", []),
        ("recordName|title|rating\na|x;y|4\n", ["--separator", "|"]),
        ("recordName,title,rating\na,x;y,4\n", ["--separator", ","]),
    ])
    func separatorsAreFoundInTheHeader(_ text: String, _ options: [String]) throws {
        try write(text, to: "notes.csv")
        let outcome = try commands.mistkit(
            arguments: ["records", "import", "notes.csv", "--type", "Note"] + options
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try fields("a").contains(#""title":{"value":"x;y""#))
        #expect(try fields("a").contains(#""rating":{"value":4"#))
    }

    @Test func optionsOfAnotherFormatAreRefused() throws {
        try write("a\n1\n", to: "notes.csv")
        try write("{}\n", to: "notes.ndjson")
        for arguments in [
            ["notes.csv", "--plain"], ["notes.ndjson", "--separator", ";"], ["notes.csv", "--separator", "ab"],
        ] {
            #expect(try commands.mistkit(arguments: ["records", "import"] + arguments).status == 64)
        }
    }

    /// Where the first records are all wrong, the options are, and nothing is sent or written.
    @Test func theBeginningIsCheckedBeforeAnythingIsSent() throws {
        try write(String(repeating: "{}\n", count: 2000), to: "notes.ndjson")
        let address = ["--server-url", "http://127.0.0.1:9", "--container", "c", "--api-token", "t"]
        let outcome = try commands.mistkit(arguments: ["records", "import", "notes.ndjson"] + address)
        #expect(outcome.status == 65)
        #expect(
            outcome.errors == """
                mistkit: notes.ndjson, line 1: The record has no type.
                  Write it into the file, or give --type. Nothing was sent.

                """
        )
        #expect(contents(of: "notes.ndjson.journal") == nil && contents(of: "notes.ndjson.failed") == nil)
    }

    @Test func equalErrorsAreCountedAfterTen() throws {
        let wrong = (1...50).map { #"{"recordName":"n\#($0)","recordType":"Note","fields":{"n":{"value":"x\#($0)"}}}"# }
        let right = #"{"recordName":"first","recordType":"Note","fields":{"n":{"value":1,"type":"INT64"}}}"#
        try write(([right] + wrong + ["no record"]).joined(separator: "\n"), to: "notes.ndjson")
        let outcome = try commands.mistkit("records", "import", "notes.ndjson")
        let lines = outcome.errors.split(separator: "\n")
        #expect(outcome.status == 1)
        #expect(lines.count { $0.contains("notes.ndjson, line ") } == 11, "\(outcome.errors)")
        #expect(outcome.errors.contains("mistkit: and 40 more for the same reason, in notes.ndjson.failed: "))
        #expect(contents(of: "notes.ndjson.failed")?.split(separator: "\n").count == 51)
    }

    @Test func aRepeatedNameFails() throws {
        let lines = ["a", "b", "a"].enumerated().map {
            #"{"recordName":"\#($1)","fields":{"n":{"value":\#($0),"type":"INT64"}}}"#
        }
        try write(lines.joined(separator: "\n"), to: "notes.ndjson")
        let message = "notes.ndjson, line 3: The file has another record of the name a before this one."
        let check = try commands.mistkit("records", "import", "notes.ndjson", "--type", "Note", "--dry-run")
        #expect(check.status == 65 && check.errors.contains(message), "\(check.errors)")
        let outcome = try commands.mistkit("records", "import", "notes.ndjson", "--type", "Note")
        #expect(outcome.status == 1 && outcome.errors.contains(message), "\(outcome.errors)")
        #expect(contents(of: "notes.ndjson.failed") == lines[2] + "\n")
        #expect(try fields("a").contains(#""n":{"value":0"#))
    }

    /// The copy of a pipe is kept where the import does not end, and removed otherwise.
    @Test func pipesAreReadThroughACopy() throws {
        let shell = URL(fileURLWithPath: "/bin/bash")
        let environment = ["TMPDIR": commands.folder.path + "/tmp"]
        try FileManager.default.createDirectory(
            at: commands.folder.appendingPathComponent("tmp"),
            withIntermediateDirectories: true
        )
        func copies() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: commands.folder.path + "/tmp").sorted()
        }
        let line = #"'\#(CommandTests.executable.path)' records import <(echo '[{"recordName":"a"}]') --type Note"#
        let piped = try commands.run(shell, arguments: ["-c", line], environment: environment)
        #expect(piped.status == 0 && piped.errors.contains("1 record imported from /dev/fd/"), "\(piped.errors)")
        #expect(try copies() == [])
        let address = ["--server-url", "http://127.0.0.1:9", "--container", "c", "--api-token", "t"]
        let lost = try commands.mistkit(
            arguments: ["records", "import", "-", "--type", "Note"] + address,
            environment: environment,
            input: "title\nHello\n"
        )
        #expect(lost.status == 75, "\(lost.errors)")
        let names = try copies()
        #expect(names.count == 2 && names.first?.hasSuffix(".csv") == true, "\(names)")
        let copy = "tmp/\(names.first ?? "")"
        #expect(lost.errors.contains("standard input is in \(commands.folder.path)/\(copy): "), "\(lost.errors)")
        #expect(try commands.mistkit("records", "import", copy, "--type", "Note").status == 0)
        #expect(try commands.mistkit("records", "count", "Note").output == "2\n")
    }
}

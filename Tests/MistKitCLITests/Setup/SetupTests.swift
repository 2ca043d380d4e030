import CloudKitSchema
import Foundation
import Testing

@testable import MistKitCLI

/// The commands with which a person begins.
struct SetupTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: commands.folder.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func aProjectBeginsWithFilesThatWorkTogether() throws {
        let made = try commands.mistkit("init", "my-notes", "--container", "iCloud.com.example.notes")
        #expect(made.status == 0, "\(made.errors)")
        #expect(
            made.lines == [
                "mistkit.json", "schema.ckdb", "Sources/Mynotes/Note.swift", "Tests/MynotesTests/NoteTests.swift",
                "Package.swift",
            ]
        )
        #expect(try text("my-notes/Sources/Mynotes/Note.swift").contains("@CloudKitRecord\nstruct Note"))
        #expect(try text("my-notes/Tests/MynotesTests/NoteTests.swift").contains("@testable import Mynotes"))
        #expect(made.errors.contains("expects a clone of MistKit in ../MistKit, where there is none"))
        try FileManager.default.createDirectory(
            at: commands.folder.appendingPathComponent("MistKit"),
            withIntermediateDirectories: true
        )
        try Data().write(to: commands.folder.appendingPathComponent("MistKit/Package.swift"))
        #expect(try !commands.mistkit("init", "others").errors.contains("clone"))
        let again = try commands.mistkit("init", "my-notes")
        #expect(again.status == 64 && again.errors.contains("mistkit.json exists already; nothing was written."))
        let line = "cd my-notes && '\(CommandTests.executable.path)' "
        func run(_ words: String) throws -> CommandTests.Outcome {
            try commands.run(URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", line + words])
        }
        #expect(try run("schema import schema.ckdb").status == 0)
        #expect(try run("records create --type Note --field title=Milk --field rating=4").status == 0)
        #expect(try run("records query Note --filter 'rating > 3'").output.contains("Milk"))
        #expect(try run("auth status").output.contains("iCloud.com.example.notes"))
        let served = try run("emulator --exec -- '\(CommandTests.executable.path)' records count Note")
        #expect(served.output == "1\n", "\(served.errors)")
        #expect(try commands.mistkit("init", "other", "--container", "a\"b").status == 64)
    }

    @Test func theNameOfAPackageIsAnIdentifier() {
        for (folder, name) in [("notes", "Notes"), ("/a/my notes", "Mynotes"), ("/x/1", "App"), ("Ä", "App")] {
            #expect(NewProject(folder: folder, container: nil, clone: "").name == name)
        }
    }

    /// A package file that exists stays.
    @Test func aPackageIsNotChanged() throws {
        try Data("mine".utf8).write(to: commands.folder.appendingPathComponent("Package.swift"))
        let made = try commands.mistkit("init")
        #expect(made.status == 0 && !made.output.contains("Package.swift"), "\(made.errors)")
        #expect(try text("Package.swift") == "mine")
    }

    @Test func recordTypesAreListedAndShown() throws {
        let none = try commands.mistkit("records", "types")
        #expect(none.output.contains("No record types: "), "\(none.output)")
        try commands.mistkit("records", "create", "--type", "Note", "-F", "title=x", "-F", "rating=4")
        let types = try commands.mistkit("records", "types", "-f", "csv")
        #expect(types.output == "type,fields\r\nNote,\"rating:INT64, title:STRING\"\r\n", "\(types.output)")
        let shown = try commands.mistkit("schema", "show", "Note")
        #expect(shown.output.contains("RECORD TYPE Note (") && shown.output.contains("title"), "\(shown.output)")
        let absent = try commands.mistkit("schema", "show", "Noet")
        #expect(absent.status == 64 && absent.errors.contains("Did you mean Note?"), "\(absent.errors)")
    }

    /// The schema of a running emulator is that of its data folder.
    @Test func theSchemaOfARunningEmulatorIsShown() throws {
        let program = "'\(CommandTests.executable.path)'"
        let script = "\(program) records create --type Note -F title=x && \(program) schema show Note"
        let outcome = try commands.mistkit("emulator", "--exec", "--", "/bin/sh", "-c", script)
        #expect(outcome.status == 0 && outcome.output.contains("RECORD TYPE Note ("), "\(outcome.errors)")
    }

    @Test func theDoctorFindsWhatIsWrong() throws {
        let well = try commands.mistkit("doctor", environment: ["PATH": "/nowhere"])
        #expect(well.status == 0, "\(well.errors)")
        for part in [
            "ok    mistkit      0.", "note  swift        not found", "ok    access       the private database answers",
        ] {
            #expect(well.output.contains(part), "\(well.output)")
        }
        let key = ["--container", "c", "--key-id", "k", "--private-key-file", "none.pem"]
        let ill = try commands.mistkit(arguments: ["doctor"] + key)
        #expect(ill.status == 1 && ill.errors.contains("1 thing is wrong."), "\(ill.errors)")
        #expect(
            ill.output.contains("wrong credentials  The private key file none.pem cannot be read."),
            "\(ill.output)"
        )
    }

    /// The address of the settings says which emulator is meant.
    @Test func theDoctorLooksAtThePortOfTheSettings() throws {
        let program = "'\(CommandTests.executable.path)'"
        let script = "\(program) doctor; echo $MISTKIT_SERVER_URL"
        let running = try commands.mistkit("emulator", "--exec", "--", "/bin/sh", "-c", script)
        let port = try #require(running.lines.last?.split(separator: ":").last)
        #expect(running.output.contains("ok    port         \(port) of the settings answers\n"), "\(running.output)")
        let stopped = try commands.mistkit("doctor", "--server-url", "http://127.0.0.1:\(port)", "--api-token", "a")
        #expect(stopped.status == 1)
        #expect(stopped.output.contains("wrong port         nothing listens on \(port), which the settings name\n"))
        #expect(stopped.output.contains("Start `mistkit emulator --port \(port)`"))
    }

    @Test(arguments: [
        ("Apple Swift version 6.3.1 (swiftlang)", DoctorCommand.Finding.State.ok),
        ("Swift version 6.2 (swift-6.2)", .ok),
        ("Swift version 5.10 (x)", .note), ("", .note),
    ]) func doctorReportsAnOldToolchain(_ text: String, _ state: DoctorCommand.Finding.State) {
        #expect(DoctorCommand.toolchain(of: text).state == state)
    }

    @Test(arguments: [
        (20.0, DoctorCommand.Finding.State.ok), (-290, .ok), (301, .wrong), (-4000, .wrong),
    ]) func doctorReportsAClockThatIsWrong(_ offset: Double, _ state: DoctorCommand.Finding.State) {
        let now = Date(timeIntervalSince1970: 1_700_000_000 + offset)
        #expect(DoctorCommand.clock(date: "Tue, 14 Nov 2023 22:13:20 GMT", now: now).state == state)
        #expect(DoctorCommand.clock(date: "no time", now: now).state == .note)
    }

    @Test func typesWithoutAnIndexAreNamed() throws {
        let schema = try SchemaDocument(
            parsing: "DEFINE SCHEMA\n RECORD TYPE A (t STRING);\n RECORD TYPE B (t STRING QUERYABLE);\n"
        )
        .schema
        let finding = DoctorCommand.indexes(of: schema)
        #expect(finding.state == .note && finding.text == "no query finds the records of A")
    }

    @Test func thePageOfAnEmulatorIsPrinted() throws {
        let none = try commands.mistkit("open", "--no-browser")
        #expect(none.status == 64 && none.errors.contains("The embedded emulator has no page."))
        let program = "'\(CommandTests.executable.path)'"
        let outcome = try commands.mistkit("emulator", "--exec", "--", "/bin/sh", "-c", "\(program) open --no-browser")
        #expect(outcome.status == 0 && outcome.output.hasPrefix("http://127.0.0.1:"), "\(outcome.errors)")
    }
}

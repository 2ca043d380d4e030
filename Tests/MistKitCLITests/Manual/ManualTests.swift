import ArgumentParser
import Foundation
import Testing

@testable import MistKitCLI

struct ManualTests {
    private func pages() throws -> [ManualPage] { try ManualCommand.pages(date: Date(timeIntervalSince1970: 0)) }

    @Test(
        arguments: [
            ("One. Two.", ["One.", "Two."]), (".Sh is a macro", ["\\&.Sh is a macro"]), ("a\\b", ["a\\eb"]),
            ("Use --filter for web-auth tokens", ["Use \\-\\-filter for web-auth tokens"]), ("'x'", ["\\(aqx\\(aq"]),
            ("a … b", ["a \\[u2026] b"]),
        ]
    )
    func proseOfManualPagesIsEscaped(_ text: String, _ lines: [String]) {
        #expect(ManualText.prose(text) == lines)
    }

    @Test(arguments: [
        ("name", "name"), ("Op", "\\&Op"), ("user record name", "\"user record name\""), ("-format", "\\-format"),
        ("", "\"\""),
    ])
    func argumentsOfMacrosAreNoMacros(_ text: String, _ argument: String) {
        #expect(ManualText.argument(text) == argument)
    }

    @Test func eachCommandHasAPage() throws {
        let root = try CommandDescription.describing(MistKitCommand.self)
        #expect(root.all.count > 50)
        #expect(try pages().map(\.fileName) == root.all.map { $0.path.joined(separator: "-") + ".1" })
        #expect(!root.all.contains { $0.path == ["mistkit", "manual"] })
    }

    @Test func aPageHasWhatHelpHas() throws {
        let page = try #require(try pages().first { $0.fileName == "mistkit-records-query.1" }).text
        for part in [
            ".Dd January 1, 1970\n.Dt MISTKIT-RECORDS-QUERY 1\n.Os MistKit \(MistKitCommand.version)\n",
            ".Nd Find the records of a type\n",
            ".Nm mistkit records query\n.Ar type\n.Op Fl \\-filter Ar condition ...\n",
            ".It Fl f , Fl \\-format Ar format\n",
            ".It Fl \\-no\\-pager\n", "The default is table.\n", ".Sh CONNECTION OPTIONS\n",
            ".It Fl \\-container Ar identifier\n",
            ".Sh EXAMPLES\n.Bd -literal\nmistkit records query Note \\-\\-filter \\(aqrating > 3\\(aq \\-\\-sort \\-rating\n",
            ".Xr mistkit-records 1 ,\n",
        ] {
            #expect(page.contains(part), "\(part)")
        }
        let main = try #require(try pages().first { $0.fileName == "mistkit.1" }).text
        for part in [
            ".It Xr mistkit-records 1\n", ".It 77\n", ".It Ev MISTKIT_PRIVATE_KEY\n", ".It Ev MISTKIT_PAGER\n",
        ] {
            #expect(main.contains(part), "\(part)")
        }
    }

    /// The manual names the variables from which the settings are read.
    @Test func eachSettingIsReadFromItsVariable() throws {
        for key in Settings.Key.allCases {
            let flags = try ConnectionOptions.parse([])
            let settings = try Settings.read(
                flags: flags,
                environment: [key.environmentVariable: "x-\(key.rawValue)"],
                folder: "/"
            )
            #expect(settings.values == [key: "x-\(key.rawValue)"])
        }
    }

    /// The programs that format the pages report no warnings.
    @Test(
        arguments: [
            ("mandoc", ["-Tlint", "-Wwarning"]), ("groff", ["-mandoc", "-ww", "-z", "-Tutf8"]),
        ]
    )
    func pagesAreFormattedWithoutAWarning(_ program: String, _ options: [String]) throws {
        guard let formatter = CommandTests.installed(program) else { return }
        let commands = try CommandTests()
        #expect(try commands.mistkit("manual", "pages", environment: ["SOURCE_DATE_EPOCH": "0"]).status == 0)
        let folder = commands.folder.appendingPathComponent("pages")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(files == (try pages().map(\.fileName).sorted()))
        // groff reads several files as one document.
        for files in program == "groff" ? files.map({ [$0] }) : [files] {
            let paths = files.map { folder.appendingPathComponent($0).path }
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
            let outcome = try commands.run(formatter, arguments: options + paths, environment: ["PATH": path])
            #expect(outcome.output + outcome.errors == "")
            #expect(outcome.status == 0)
        }
    }
}

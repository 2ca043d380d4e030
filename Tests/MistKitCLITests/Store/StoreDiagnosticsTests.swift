import Foundation
import Testing

/// `mistkit store diagnostics`, for the store of another program.
struct StoreDiagnosticsTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    @Test func theReportOfAStoreHasItsSchemaAndCounts() throws {
        #expect(try commands.mistkit("demo", "sync", "--count", "10", "--folder", "stores").status == 0)
        let report = try commands.mistkit("store", "diagnostics", "stores/phone")
        #expect(report.status == 0)
        for text in ["user.sqlite", "public.sqlite", "  type ", "  private", "    condition: none", "  lease: free"] {
            #expect(report.output.contains(text), "\(text) is not in:\n\(report.output)")
        }
    }

    @Test func theReportHasTheFilesOfAllUsersWithoutTheirNames() throws {
        #expect(try commands.mistkit("demo", "sync", "--count", "10", "--folder", "stores").status == 0)
        let phone = commands.folder.appending(path: "stores/phone")
        try FileManager.default.createDirectory(at: phone.appending(path: "users"), withIntermediateDirectories: true)
        for name in ["users/_mei.sqlite", "signed-out.sqlite"] {
            try FileManager.default.copyItem(at: phone.appending(path: "user.sqlite"), to: phone.appending(path: name))
        }
        let report = try commands.mistkit("store", "diagnostics", "stores/phone")
        #expect(report.status == 0, "\(report.errors)")
        let files = report.lines.filter { !$0.hasPrefix(" ") }.dropFirst()
        #expect(
            files == [
                "user.sqlite (open)", "signed-out.sqlite (not open)", "users/, file 1 of 1 (not open)", "public.sqlite",
            ]
        )
        #expect(!report.output.contains("_mei"))
        let absent = try commands.mistkit("store", "diagnostics", "stores/phone", "--user", "_ben")
        #expect(absent.status == 65)
        #expect(absent.errors.contains("The store has no records of the user."), "\(absent.errors)")
    }

    @Test func aFolderThatIsNoStoreIsRefused() throws {
        let report = try commands.mistkit("store", "diagnostics", "missing")
        #expect(report.status == 65)
        #expect(report.errors.contains("There is no such folder. Name the folder of a store"))
        let other = try commands.mistkit("store", "diagnostics", ".")
        #expect(other.status == 65)
        #expect(other.errors.contains("This folder is no store"), "\(other.errors)")
        try Data().write(to: commands.folder.appending(path: "notes.txt"))
        #expect(try commands.mistkit("store", "diagnostics", ".").errors.contains("It has notes.txt"))
        try Data("no database, and long enough for one".utf8 + Array(repeating: 0, count: 1000))
            .write(to: commands.folder.appending(path: "public.sqlite"))
        #expect(try commands.mistkit("store", "diagnostics", ".").status == 65)
    }
}

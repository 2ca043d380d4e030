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

    @Test func aFolderThatIsNoStoreIsRefused() throws {
        let report = try commands.mistkit("store", "diagnostics", "missing")
        #expect(report.status == 65)
        #expect(report.errors.contains("There is no such file. Name the folder of a store."))
        try Data("no database, and long enough for one".utf8 + Array(repeating: 0, count: 1000))
            .write(to: commands.folder.appending(path: "user.sqlite"))
        #expect(try commands.mistkit("store", "diagnostics", ".").status == 65)
    }
}

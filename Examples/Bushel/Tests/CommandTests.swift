import ArgumentParser
import BushelHistory
import BushelSources
import CloudKitSchema
import ExampleTesting
import Foundation
import MistModels
import MistTesting
import ProgramSupport
import Testing
import WebFetching

@testable import bushel

struct CommandTests {
    private let clock = TestClock()

    /// Runs a test with a database that a run has filled, and the run's report.
    private func withHistory(
        _ site: SampleSite = SampleSite(),
        _ body: @Sendable (CloudKitDatabase, UpdateReport) async throws -> Void
    ) async throws {
        try await withWebServer(hosts: Source.all.count) { server in
            server.respond { site.reply(to: $0) }
            try await withCloudKitEmulator(clock: clock) { emulator in
                let database = try bushelDatabase(of: emulator)
                let report = try await withWebFetcher(
                    .bushel,
                    clock: TestClock(skippingWaits: true).timer,
                    timer: TestClock().timer
                ) {
                    var run = UpdateRun(database: database, fetcher: $0)
                    run.now = { [clock] in clock.now }
                    run.sources = SampleSite.sources(of: server)
                    return try await run.update()
                }
                try await body(database, report)
            }
        }
    }

    private func words(_ line: some StringProtocol) -> [String] {
        line.components(separatedBy: " ").filter { !$0.isEmpty }
    }

    @Test func theReportSaysWhatWasDone() async throws {
        var site = SampleSite()
        site.damages = [.appleDB: .serverError]
        try await withHistory(site) { _, report in
            let text = try UpdateCommand.parse([]).text(of: report)
            let lines = text.components(separatedBy: "\n")
            #expect(words(lines[0]) == ["source", "outcome", "releases", "left", "out", "reason"])
            #expect(words(lines[2]) == ["apple-catalog", "fetched", "1", "0"])
            #expect(words(lines[4]).prefix(4) == ["appledb", "failed", "0", "0"])
            #expect(lines[4].hasSuffix("answers with status 500."))
            #expect(words(lines[7]) == ["xcodereleases", "fetched", "2", "1"])
            #expect(lines[10] == "")
            #expect(words(lines[13]) == ["restore", "images", "6", "0", "0", "0"])
            #expect(words(lines[14]) == ["Swift", "releases", "4", "0", "0", "0"])
            #expect(words(lines[15]) == ["Xcode", "releases", "2", "0", "0", "0"])
            #expect(lines.last == "2 references of Xcode releases are missing; --all lists them")
            let all = try UpdateCommand.parse(["--all"]).text(of: report)
            #expect(all.contains("left out: xcodereleases: [2].version.build is missing"))
            #expect(all.contains("missing: Xcode 16.2 (16C5023f) names Swift 6.1, which no source lists"))

            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let json = try UpdateCommand.parse(["--json"]).text(of: report)
            #expect(try decoder.decode(UpdateReport.self, from: Data(json.utf8)) == report)
        }
    }

    @Test func exitCodesAreForSchedules() async throws {
        try await withHistory { _, report in
            #expect(UpdateCommand.failure(of: report) == nil)
            var failed = report
            failed.sources[0].outcome = .failed
            failed.sources[0].reason = "gone"
            let one = UpdateCommand.failure(of: failed)
            #expect(one?.kind == .unavailable)
            #expect(one?.description == "1 of 8 sources failed; what they said before stays. The reason: gone")
            for index in failed.sources.indices { failed.sources[index].outcome = .failed }
            let all = UpdateCommand.failure(of: failed)
            #expect(all?.description.hasPrefix("Every source failed; the network may be missing.") == true)
            failed.kinds[0].notSaved = 1
            #expect(UpdateCommand.failure(of: failed)?.kind == .tryAgain)
            failed.kinds[0].notSaved = 0
            failed.stateFailure = "no"
            #expect(UpdateCommand.failure(of: failed)?.kind == .tryAgain)
        }
    }

    @Test func releasesAreListed() async throws {
        try await withHistory { database, _ in
            func list(_ arguments: String...) async throws -> [[String]] {
                try await ListCommand.parse(arguments).text(of: database).split(separator: "\n").map { words($0) }
            }
            let all = try await list()
            #expect(all.count == 15)
            #expect(all[0] == ["kind", "version", "stage", "build", "released", "signed", "swift", "needs", "macOS"])
            #expect(all[2] == ["images", "15.2", "beta", "24C5057p", "2024-10-23"])
            #expect(all[3] == ["images", "15.1", "release", "24B83", "2024-10-28", "yes"])
            #expect(all[9] == ["xcode", "16.2", "beta", "3", "16C5023f", "2024-10-28", "6.1", "99.0"])
            #expect(try await list("swift").dropFirst(2).map { $0[1] } == ["6.0.3", "6.0.2", "6.0", "5.10"])
            #expect(
                try await list("images", "--version", "15.1").dropFirst(2).map { $0.contains("24B83") } == [
                    true, false,
                ]
            )
            #expect(try await list("--signed").dropFirst(2).map { $0[3] } == ["24B83"])
            #expect(try await list("--no-signed").count == 6)
            #expect(try await list("--prerelease", "xcode").dropFirst(2).map { $0[4] } == ["16C5023f"])
            #expect(try await list("--no-prerelease", "xcode").dropFirst(2).map { $0[3] } == ["16B40"])
            #expect(try await list("--version", "99") == [words("None of 13 releases fits the filters.")])

            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let json = try await ListCommand.parse(["--json", "xcode", "--version", "16.1"]).text(of: database)
            let rows = try decoder.decode([ReleaseRow].self, from: Data(json.utf8))
            #expect(rows.map(\.swiftVersion) == ["SwiftVersion-6.0.2"])
            #expect(rows.map(\.minimumMacOS) == ["RestoreImage-23F79"])
            #expect(rows.map(\.sources) == [[.appleReleases, .xcodeReleases]])
        }
    }

    @Test func anEmptyHistorySaysWhatToDo() async throws {
        try await withCloudKitEmulator { emulator in
            let database = try bushelDatabase(of: emulator)
            #expect(
                try await ListCommand.parse([]).text(of: database)
                    == "There are no releases. `bushel update` fetches them."
            )
            let report = try await StatusCommand.parse([]).report(of: database, at: clock.now)
            #expect(report.sources.map(\.state) == Array(repeating: .neverAsked, count: Source.all.count))
            #expect(StatusCommand.failure(of: report)?.kind == .unavailable)
        }
    }

    @Test func theHistoryIsExported() async throws {
        try await withHistory { database, _ in
            let csv = try await ExportCommand.parse(["--format", "csv"]).text(of: database)
            let lines = csv.split(separator: "\r\n").map(String.init)
            #expect(lines.count == 14)
            #expect(lines[0].hasPrefix("kind,version,build,stage,releaseDate,isSigned,fileSize,"))
            #expect(
                lines[2].hasPrefix(
                    "images,15.1,24B83,release,2024-10-28T17:04:37Z,true,15772829127,\(SampleDocuments.sha1),"
                )
            )
            #expect(lines[2].hasSuffix(",apple-catalog; appledb; ipsw.me"))
            #expect(lines.allSatisfy { $0.split(separator: ",", omittingEmptySubsequences: false).count == 19 })

            let json = try await ExportCommand.parse([]).text(of: database)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
            #expect((object["releases"] as? [Any])?.count == 13)
            let sources = try #require(object["sources"] as? [[String: Any]]).map { $0["source"] as? String }
            #expect(sources == Source.all.map(\.id).sorted().map(\.rawValue))
        }
    }

    @Test(arguments: [
        ("a", "a"), ("", ""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\nb", "\"a\nb\""), ("\"", "\"\"\"\""),
    ])
    func fieldsOfCSVAreQuotedWhereTheyNeedIt(field: String, escaped: String) {
        #expect(CSV.escaped(field) == escaped)
    }

    @Test func statusShowsTheStateOfEachSource() async throws {
        var site = SampleSite()
        site.damages = [.ipswMe: .garbage]
        try await withHistory(site) { database, _ in
            let command = try StatusCommand.parse(["--stale-after", "1h"])
            let report = try await command.report(of: database, at: clock.now.addingTimeInterval(60))
            #expect(report.sources.filter { $0.state == .failed }.map(\.source) == [.ipswMe])
            #expect(report.sources.count { $0.state == .good } == 7)
            #expect(StatusCommand.failure(of: report)?.description == "These sources have problems: ipsw.me (failed).")
            let lines = try command.text(of: report).components(separatedBy: "\n")
            #expect(words(lines[3]).prefix(3) == ["ipsw.me", "failed", "never"])
            #expect(lines[3].hasSuffix("ipsw.me: the document is not valid JSON."))
            #expect(lines[11] == "restore images: 6")
            let later = try await command.report(of: database, at: clock.now.addingTimeInterval(7200))
            #expect(later.sources.count { $0.state == .stale } == 7)
            #expect(StatusCommand.failure(of: later)?.description.contains("appledb (stale)") == true)
            var often = report
            often.sources[1].failures = 3
            #expect(try command.text(of: often).contains("ipsw.me: the document is not valid JSON. (3 failures)"))
        }
    }

    @Test func theStatusNamesWhatNoSourceListsAndUnknownSources() async throws {
        try await withHistory { database, _ in
            var image = RestoreImage(key: "20A1")
            image.version = "11.0"
            try await database.save(image, named: image.recordName)
            let other = DataSource(SourceID(rawValue: "newer"), address: "https://a.example/")
            try await database.save(other, named: DataSource.recordName(for: other.source))
            let report = try await StatusCommand.parse([]).report(of: database, at: clock.now)
            #expect(report.kinds.map(\.unlisted) == [1, 0, 0])
            #expect(report.sources.last?.source.rawValue == "newer")
            #expect(report.sources.last?.state == nil)
            #expect(StatusCommand.failure(of: report) == nil)
            let text = try StatusCommand.parse([]).text(of: report)
            #expect(text.contains("restore images: 8, of which 1 are no longer listed by any source"))
        }
    }

    @Test func optionsAreChecked() throws {
        func sources(_ arguments: String...) throws -> [Source] { try SourceOptions.parse(arguments).sources() }
        #expect(try sources().map(\.id) == Source.all.map(\.id))
        #expect(try sources("--source", "swift.org", "--source", "ipsw.me").map(\.id) == [.ipswMe, .swiftOrg])
        #expect(
            try sources("--address", "ipsw.me=http://127.0.0.1:1/x", "--source", "ipsw.me").map(\.address) == [
                "http://127.0.0.1:1/x"
            ]
        )
        #expect(
            try sources("--address", "ipsw.me=HTTP://A.example:80/x", "--source", "ipsw.me").map(\.address) == [
                "http://a.example/x"
            ]
        )
        for arguments in [
            ["--source", "x"], ["--address", "x=http://a/"], ["--address", "ipsw.me"],
            ["--address", "ipsw.me=ftp://a/"],
        ] {
            let error = #expect(throws: CommandFailure.self) { try SourceOptions.parse(arguments).sources() }
            #expect(error?.kind == .usage)
        }
        for arguments in [["--version", "x"], ["--version", ""], ["ios"]] {
            #expect(throws: (any Error).self) { try ListCommand.parse(arguments) }
        }
        #expect(throws: (any Error).self) { try StatusCommand.parse(["--stale-after", "x"]) }
    }

    @Test func theSchemaHasAllTypes() throws {
        let text = try Bushel.schema().description
        for type in ["RestoreImage", "XcodeVersion", "SwiftVersion", "DataSource"] {
            #expect(text.contains("RECORD TYPE \(type) ("))
        }
        #expect(text.contains("minimumMacOS"))
    }
}

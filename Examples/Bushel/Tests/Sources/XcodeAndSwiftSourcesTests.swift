import Foundation
import MistModels
import Testing

@testable import BushelSources

/// The releases of each source: how entries are read, and what is left out of malformed ones.
struct XcodeAndSwiftSourcesTests {
    private typealias Sample = SampleDocuments

    private func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }

    private func problems(_ contents: SourceContents) -> [String] { contents.problems.map(\.description) }

    // MARK: - xcodereleases.com

    @Test func anEntryOfXcodeReleasesIsARelease() throws {
        let contents = try XcodeReleases.parse(Sample.bytes("[\(Sample.xcode())]"))
        var expected = XcodeVersion(key: "16B40")
        expected.version = "16.1"
        expected.stage = "release"
        expected.releaseDate = try date("2024-10-28T00:00:00Z")
        expected.downloadURL = "https://x.example/16.1.xip"
        expected.notesURL = "https://x.example/16.1"
        expected.sha1 = Sample.sha1
        expected.requiresMacOS = "14.5"
        expected.swiftNumber = "6.0.2"
        expected.sdks = ["iOS 22B74", "macOS 15.1"]
        #expect(contents.xcode == [expected])
        #expect(contents.problems == [])
    }

    @Test(arguments: [
        ("{\"release\": true}", "release"), ("{\"gm\": true}", "release"), ("{\"beta\": 3}", "beta 3"),
        ("{\"beta\": 1}", "beta"),
        ("{\"rc\": 1}", "RC"), ("{\"rc\": 2}", "RC 2"), ("{\"gmSeed\": 2}", "RC 2"), ("{\"dp\": 4}", "beta 4"),
    ])
    func stagesAreRead(release: String, stage: String) throws {
        let version = "{\"number\": \"16.1\", \"build\": \"16B40\", \"release\": \(release)}"
        let contents = try XcodeReleases.parse(Sample.bytes("[\(Sample.xcode("", ["version": version]))]"))
        #expect(contents.xcode.map(\.stage) == [stage])
    }

    @Test(arguments: [
        ("{\"number\": \"1.0\", \"release\": {\"gm\": true}}", "[1].version.build is missing"),
        ("{\"number\": null, \"build\": \"7D175\", \"release\": {\"gm\": true}}", "[1].version.number is missing"),
        (
            "{\"number\": \"16\", \"build\": \"16A1\", \"release\": {\"alpha\": 1}}",
            "[1].version.release is not a stage that is known"
        ),
        ("{\"number\": \"16\", \"build\": \"16A1\"}", "[1].version.release is not a stage that is known"),
        (
            "{\"number\": \"16\", \"build\": \"16A1\", \"release\": {\"beta\": \"x\"}}",
            "[1].version.release.beta is not an integer"
        ),
        ("\"16\"", "[1].version is not an object"),
    ])
    func badEntriesAreLeftOut(version: String, problem: String) throws {
        let document = "[\(Sample.xcode()),\(Sample.xcode("", ["version": version]))]"
        let contents = try XcodeReleases.parse(Sample.bytes(document))
        #expect(contents.xcode.map(\.key) == ["16B40"])
        #expect(problems(contents) == [problem])
    }

    @Test func aBuildThatBecameFinalIsFinal() throws {
        func entry(_ release: String, _ day: Int) -> String {
            Sample.xcode(
                "",
                [
                    "version": "{\"number\": \"13.1\", \"build\": \"13A1030d\", \"release\": \(release)}",
                    "date": "{\"year\": 2021, \"month\": 10, \"day\": \(day)}",
                ]
            )
        }
        let entries = [entry("{\"rc\": 1}", 18), entry("{\"release\": true}", 25), entry("{\"beta\": 5}", 30)]
        for list in [entries, entries.reversed()] {
            let contents = try XcodeReleases.parse(Sample.bytes("[\(list.joined(separator: ","))]"))
            #expect(contents.xcode.map(\.stage) == ["release"])
            #expect(contents.xcode.map(\.releaseDate) == [try date("2021-10-25T00:00:00Z")])
        }
    }

    @Test func whatAnOldReleaseDoesNotHaveIsUnknown() throws {
        let absent = [
            "requires": "\"\"", "sdks": "", "compilers": "{\"gcc\": []}", "links": "{}", "checksums": "", "date": "",
        ]
        let contents = try XcodeReleases.parse(Sample.bytes("[\(Sample.xcode("4A304a", absent))]"))
        var expected = XcodeVersion(key: "4A304a")
        expected.version = "16.1"
        expected.stage = "release"
        #expect(contents.xcode == [expected])
        #expect(contents.problems == [])
    }

    // MARK: - Apple's feed

    @Test func theFeedHasReleasesOfXcodeAmongOthers() throws {
        let feed = Sample.releases(
            "iOS 18.1 (22B83)",
            "Xcode 16.2 beta 3 (16C5023f)",
            "Xcode 16.1 (16B40)",
            "Xcode Cloud is now available",
            "Xcode 16.3 RC",
            "TestFlight for Xcode 16.1 (16T1)"
        )
        let contents = try AppleReleases.parse(Sample.bytes(feed))
        #expect(contents.xcode.map(\.key) == ["16B40", "16C5023f"])
        #expect(contents.xcode.map(\.version) == ["16.1", "16.2"])
        #expect(contents.xcode.map(\.stage) == ["release", "beta 3"])
        #expect(
            contents.xcode.map(\.releaseDate) == [try date("2024-10-28T17:00:00Z"), try date("2024-10-28T17:00:00Z")]
        )
        #expect(problems(contents) == ["item[3].build is missing", "item[4].build is missing"])
    }

    // MARK: - swift.org

    @Test func anEntryOfSwiftOrgIsARelease() throws {
        let contents = try SwiftOrg.parse(Sample.bytes("[\(Sample.toolchain()),\(Sample.toolchain("5.10"))]"))
        var expected = SwiftVersion(key: "6.0.3")
        expected.stage = "release"
        expected.releaseDate = try date("2024-12-11T00:00:00Z")
        expected.tag = "swift-6.0.3-RELEASE"
        expected.xcodeVersion = "16.2"
        #expect(contents.swift.last == expected)
        #expect(contents.swift.map(\.key) == ["5.10", "6.0.3"])
        #expect(contents.problems == [])
    }

    @Test(arguments: [
        (["name": ""], "[1].name is missing"), (["name": "\"main\""], "[1].name is not a version: \"main\""),
        (["date": "7"], "[1].date is not a text"),
    ])
    func badToolchainsAreLeftOut(changes: [String: String], problem: String) throws {
        let contents = try SwiftOrg.parse(Sample.bytes("[\(Sample.toolchain()),\(Sample.toolchain("6.1", changes))]"))
        #expect(contents.swift.map(\.key) == ["6.0.3"])
        #expect(problems(contents) == [problem])
    }

    @Test func anEmptyXcodeVersionIsUnknown() throws {
        let contents = try SwiftOrg.parse(Sample.bytes("[\(Sample.toolchain("2.2.1", ["xcode": "\"\""]))]"))
        #expect(contents.swift.map(\.xcodeVersion) == [nil])
        #expect(contents.problems == [])
    }

    // MARK: - swiftversion.net

    @Test func aRowOfSwiftVersionNetIsARelease() throws {
        let table = Sample.swiftTable(("28 Oct 24", "6.0.2", "16.1"), ("22 Sep 14", "1.0", "6.0.1"))
        let contents = try SwiftVersionNet.parse(Sample.bytes(table))
        var expected = SwiftVersion(key: "6.0.2")
        expected.stage = "release"
        expected.releaseDate = try date("2024-10-28T00:00:00Z")
        expected.xcodeVersion = "16.1"
        #expect(contents.swift.last == expected)
        #expect(contents.swift.map(\.key) == ["1.0", "6.0.2"])
        #expect(contents.problems == [])
    }

    @Test func badRowsAreLeftOut() throws {
        let table = Sample.swiftTable(
            ("28 Oct 24", "6.0.2", "16.1"),
            ("9 Jun 25", "6.2 beta", "26.0"),
            ("x", "6.1", ""),
            ("", "", "")
        )
        let contents = try SwiftVersionNet.parse(Sample.bytes(table))
        #expect(contents.swift.map(\.key) == ["6.0.2", "6.1"])
        #expect(
            problems(contents) == [
                "row 3.swift is not a final release: \"6.2 beta\"", "row 4.date is not a date: \"x\"",
                "row 5.swift is missing",
            ]
        )
    }
}

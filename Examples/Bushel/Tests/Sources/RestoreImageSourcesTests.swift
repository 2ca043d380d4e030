import Foundation
import MistModels
import Testing

@testable import BushelSources

/// The images of each source: how entries are read, and what is left out of malformed ones.
struct RestoreImageSourcesTests {
    private typealias Sample = SampleDocuments

    private func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }

    private func problems(_ contents: SourceContents) -> [String] { contents.problems.map(\.description) }

    // MARK: - ipsw.me

    @Test func aFirmwareOfIPSWMeIsAnImage() throws {
        let contents = try IPSWMe.parse(Sample.bytes(Sample.device(Sample.firmware())))
        var expected = RestoreImage(key: "24B83")
        expected.version = "15.1"
        expected.releaseDate = try date("2024-10-28T17:04:37Z")
        expected.downloadURL = "https://updates.example/UniversalMac_15.1_24B83_Restore.ipsw"
        expected.fileSize = 15_772_829_127
        expected.sha1 = Sample.sha1
        expected.sha256 = Sample.sha256
        expected.isSigned = true
        #expect(contents.images == [expected])
        #expect(contents.problems == [])
    }

    @Test(arguments: [
        (["sha1sum": "\"xyz\""], "firmwares[0].sha1sum is not a hash of 40 hexadecimal digits: \"xyz\""),
        (["sha1sum": "\"abc\""], "firmwares[0].sha1sum is not a hash of 40 hexadecimal digits: \"abc\""),
        (["url": "\"protected://a.ipsw\""], "firmwares[0].url is not an address of the web: \"protected://a.ipsw\""),
        (["releasedate": "\"soon\""], "firmwares[0].releasedate is not a date: \"soon\""),
        (["filesize": "-1"], "firmwares[0].filesize is not a number of bytes: -1"),
    ])
    func aBadValueIsLeftOutAndTheFirmwareStays(changes: [String: String], problem: String) throws {
        let contents = try IPSWMe.parse(Sample.bytes(Sample.device(Sample.firmware("24B83", changes))))
        #expect(contents.images.map(\.key) == ["24B83"])
        #expect(problems(contents) == [problem])
    }

    @Test(arguments: [
        (["buildid": ""], "firmwares[1].buildid is missing"),
        (["buildid": "\"../x\""], "firmwares[1].buildid is not a build number: \"../x\""),
        (
            ["buildid": "\"24B83aaaaaaaaaaaaaaaa\""],
            "firmwares[1].buildid is not a build number: \"24B83aaaaaaaaaaaaaaaa\""
        ),
        (["version": "\"Sequoia\""], "firmwares[1].version is not a version: \"Sequoia\""),
        (["filesize": "\"12\""], "firmwares[1].filesize is not an integer"),
        (["signed": "\"yes\""], "firmwares[1].signed is not true or false"),
        (["version": "15.1"], "firmwares[1].version is not a text"),
    ])
    func aBadFirmwareIsLeftOutAndTheOthersStay(changes: [String: String], problem: String) throws {
        let document = Sample.device(
            Sample.firmware("24A335"),
            Sample.firmware("24B83", changes),
            Sample.firmware("24C101")
        )
        let contents = try IPSWMe.parse(Sample.bytes(document))
        #expect(contents.images.map(\.key) == ["24A335", "24C101"])
        #expect(problems(contents) == [problem])
    }

    @Test func absentValuesAreUnknown() throws {
        let absent = [
            "sha1sum": "\"\"", "sha256sum": "null", "releasedate": "null", "signed": "", "filesize": "0", "url": "",
        ]
        let contents = try IPSWMe.parse(Sample.bytes(Sample.device(Sample.firmware("24B83", absent))))
        var expected = RestoreImage(key: "24B83")
        expected.version = "15.1"
        #expect(contents.images == [expected])
        #expect(contents.problems == [])
    }

    // MARK: - AppleDB

    @Test func aBuildOfAppleDBIsAnImage() throws {
        let contents = try AppleDB.parse(Sample.bytes("[\(Sample.build())]"))
        var expected = RestoreImage(key: "24B5055e")
        expected.version = "15.1"
        expected.stage = "beta 5"
        expected.releaseDate = try date("2024-09-23T00:00:00Z")
        expected.downloadURL = "https://updates.example/a.ipsw"
        expected.fileSize = 15_734_924_985
        expected.sha1 = Sample.sha1
        expected.sha256 = Sample.sha256
        #expect(contents.images == [expected])
        #expect(contents.problems == [])
    }

    @Test(
        arguments: [
            (["version": "\"15.1\"", "beta": ""], "release", nil),
            (["version": "\"15.1\"", "beta": "", "rc": "true"], "RC", nil),
            (["version": "\"15.1\""], "beta", nil), (["signed": "true"], "beta 5", true),
            (["signed": "false"], "beta 5", false),
            (["signed": "[\"Mac14,2\"]"], "beta 5", false), (["signed": "[\"VirtualMac2,1\"]"], "beta 5", true),
        ] as [([String: String], String, Bool?)]
    )
    func flagsOfABuildAreRead(changes: [String: String], stage: String, isSigned: Bool?) throws {
        let image = try #require(try AppleDB.parse(Sample.bytes("[\(Sample.build("24B5055e", changes))]")).images.first)
        #expect(image.stage == stage)
        #expect(image.isSigned == isSigned)
    }

    @Test(
        arguments: [
            // No image for Macs with Apple silicon, another system, an internal build: not releases, and no problems.
            (["sources": "[]"], []), (["sources": ""], []), (["osStr": "\"iOS\""], []), (["internal": "true"], []),
            (
                ["sources": "[{\"type\": \"installassistant\", \"links\": [{\"url\": \"https://a.example/a.pkg\"}]}]"],
                []
            ),
            (["sources": "[{\"type\": 7}]"], ["[1].sources[0].type is not a text"]),
            (["build": ""], ["[1].build is missing"]), (["osStr": ""], ["[1].osStr is missing"]),
            (["signed": "7"], ["[1].signed is not a list"]),
        ] as [([String: String], [String])]
    )
    func otherBuildsAreLeftOut(changes: [String: String], expected: [String]) throws {
        let contents = try AppleDB.parse(Sample.bytes("[\(Sample.build()),\(Sample.build("24C101", changes))]"))
        #expect(contents.images.map(\.key) == ["24B5055e"])
        #expect(problems(contents) == expected)
    }

    @Test func thePreferredAddressOfAFileCounts() throws {
        let sources = """
            [{"type": "ipsw", "deviceMap": ["VirtualMac2,1"], "links": [{"url": "https://a.example/a.ipsw"},
              {"url": "https://b.example/a.ipsw", "active": false, "preferred": true},
              {"url": "https://c.example/a.ipsw", "preferred": true}]}]
            """
        let contents = try AppleDB.parse(Sample.bytes("[\(Sample.build("24B5055e", ["sources": sources]))]"))
        #expect(contents.images.map(\.downloadURL) == ["https://c.example/a.ipsw"])
    }

    @Test(arguments: ["\"2024\"", "\"2024-09\"", "null"])
    func aDateThatIsNotADayIsUnknown(released: String) throws {
        let contents = try AppleDB.parse(Sample.bytes("[\(Sample.build("24B5055e", ["released": released]))]"))
        #expect(contents.images.map(\.releaseDate) == [nil])
        #expect(contents.problems == [])
    }

    // MARK: - Apple's catalog

    @Test func theCatalogHasTheNewestImageOnce() throws {
        let contents = try AppleCatalog.parse(Sample.bytes(Sample.catalog()))
        var expected = RestoreImage(key: "24B83")
        expected.version = "15.1"
        expected.stage = "release"
        expected.downloadURL = "https://updates.example/a.ipsw"
        expected.sha1 = Sample.sha1
        expected.isSigned = true
        #expect(contents.images == [expected])
        #expect(contents.problems == [])
    }

    @Test func aBadEntryOfTheCatalogIsLeftOut() throws {
        let text = Sample.catalog().replacing(
            "<key>24A335</key><dict><key>SameAs</key><string>24B83</string></dict>",
            with: "<key>24A335</key><string>x</string><key>24A1</key><dict/>"
        )
        let contents = try AppleCatalog.parse(Sample.bytes(text))
        #expect(contents.images.map(\.key) == ["24B83"])
        #expect(
            problems(contents) == ["VirtualMac2,1.24A1.Restore is missing", "VirtualMac2,1.24A335 is not a dictionary"]
        )
    }

    // MARK: - Mr. Macintosh

    @Test func aRowOfMrMacintoshIsAnImage() throws {
        let contents = try MrMacintosh.parse(Sample.bytes(Sample.images(Sample.imageRow(signed: "YES"))))
        var expected = RestoreImage(key: "24B5055e")
        expected.version = "15.1"
        expected.stage = "beta 5"
        expected.releaseDate = try date("2024-09-23T00:00:00Z")
        expected.downloadURL = "https://updates.example/UniversalMac_15.1_24B5055e_Restore.ipsw"
        expected.isSigned = true
        #expect(contents.images == [expected])
        #expect(contents.problems == [])
    }

    @Test(
        arguments: [
            (SampleDocuments.imageRow("15.1", "24B83", "10/28", signed: "NO"), "release", nil, false),
            (
                SampleDocuments.imageRow("15.1 RC", "24B83", "10/21/2024", signed: "N/A"), "RC", "2024-10-21T00:00:00Z",
                nil
            ),
            (SampleDocuments.imageRow("15.1 &#40;Final&#41;", "24B83", "N/A", signed: ""), "release", nil, nil),
        ] as [(String, String, String?, Bool?)]
    )
    func oddRowsAreRead(row: String, stage: String, released: String?, isSigned: Bool?) throws {
        let contents = try MrMacintosh.parse(Sample.bytes(Sample.images(row)))
        let image = try #require(contents.images.first)
        #expect(image.stage == stage)
        #expect(try image.releaseDate == released.map { try date($0) })
        #expect(image.isSigned == isSigned)
        #expect(contents.problems == [])
    }

    @Test func theLinkOfARowIsThatOfAnImage() throws {
        let row = """
            <tr><td>15.1</td><td>24B83</td><td>N/A</td><td><a href="https://notes.example/">Notes</a>
            <a href="https://updates.example/a.ipsw">Link</a></td><td></td></tr>
            """
        let contents = try MrMacintosh.parse(Sample.bytes(Sample.images(row)))
        #expect(contents.images.map(\.downloadURL) == ["https://updates.example/a.ipsw"])
    }

    @Test func badRowsAreLeftOut() throws {
        let page = Sample.images(
            Sample.imageRow(),
            "<tr><th>Version</th><th>Build</th></tr>",
            "<tr><td colspan=5>macOS 14</td></tr>",
            Sample.imageRow("15.2", "?"),
            Sample.imageRow("Sonoma", "23A344"),
            Sample.imageRow("14.0", "23A344", "13/45/24")
        )
        let contents = try MrMacintosh.parse(Sample.bytes(page))
        #expect(contents.images.map(\.key) == ["23A344", "24B5055e"])
        #expect(
            problems(contents) == [
                "table 2, row 5.build is not a build number: \"?\"",
                "table 2, row 6.version is not a version: \"Sonoma\"",
                "table 2, row 7.date is not a date: \"2024-13-45\"",
            ]
        )
    }
}

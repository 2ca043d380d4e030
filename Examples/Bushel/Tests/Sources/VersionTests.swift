import BushelSources
import Testing

struct VersionTests {
    @Test(arguments: [
        ("15.1", "15.1"), ("15", "15.0"), ("5.10.0", "5.10"), ("6.0.0", "6.0"), ("6.0.3", "6.0.3"),
        ("10.15.7", "10.15.7"),
        ("013.1", "13.1"),
    ])
    func aVersionIsWrittenInOneWay(text: String, expected: String) {
        #expect(VersionNumber(text)?.text == expected)
    }

    @Test(arguments: ["", ".", "15.", ".1", "15.1b", "15..1", "-1", "1.2.3.4.5.6", "1234567", "１５", "15.1 "])
    func otherTextsAreNotVersions(text: String) {
        #expect(VersionNumber(text) == nil)
    }

    @Test func versionsCompareByNumber() {
        let texts = ["15.10", "15.9", "5.10", "5.9.2", "15", "15.9.0", "15.9.1"]
        let sorted = texts.compactMap { VersionNumber($0) }.sorted().map(\.text)
        #expect(sorted == ["5.9.2", "5.10", "15.0", "15.9", "15.9", "15.9.1", "15.10"])
    }

    @Test(arguments: [
        ("15.1.1", "15.1", true), ("15.1", "15.1", true), ("15.10", "15.1", false), ("15.1", "15", true),
        ("15.1", "1", false),
        ("15.1", "15.1.0", true), ("15.1", "15.1.1", false), ("15.1", "x", false), ("15.1", "", false),
    ])
    func aPrefixIsOneOfNumbers(version: String, prefix: String, expected: Bool) {
        #expect(VersionNumber(version)?.begins(with: prefix) == expected)
    }

    @Test(
        arguments: [
            ("15.1", "15.1", nil), ("15.1 beta 5", "15.1", "beta 5"), ("26.1 Beta 4", "26.1", "beta 4"),
            ("15.1 beta", "15.1", "beta"),
            ("15.1 Beta 1", "15.1", "beta"), ("macOS Sequoia 15.2 RC", "15.2", "RC"), ("15.2 RC 2", "15.2", "RC 2"),
            ("26.0 Release Candidate 2", "26.0", "RC 2"), ("12.0 GM seed", "12.0", "RC"), ("11 GM", "11.0", "release"),
            ("15.1 (Final)", "15.1", "release"), ("Xcode 16.2 beta 3", "16.2", "beta 3"), ("13.0 (a)", "13.0", nil),
        ] as [(String, String, String?)]
    )
    func aStageIsInTheTextOfAVersion(text: String, version: String, stage: String?) throws {
        let parts = try #require(Stage.split(text))
        #expect(parts.version.text == version)
        #expect(parts.stage == stage)
    }

    @Test(arguments: ["", "beta", "macOS", "Sequoia beta 5x"])
    func aTextWithoutVersionHasNone(text: String) {
        #expect(Stage.split(text) == nil)
    }

    @Test(arguments: [
        ("24B83", "release"), ("24B5055e", "beta"), ("24B2083", "release"), ("20G71", "release"), ("17A5241o", "beta"),
        ("24A32190v", "release"), ("13A1030d", "release"), ("24B583a", "release"),
        ("", "release"),
    ])
    func aBuildSaysWhetherItIsASeed(build: String, stage: String) {
        #expect(Stage.ofBuild(build) == stage)
    }
}

import BushelHistory
import BushelSources
import ExampleTesting
import Foundation
import MistModels
import Testing

/// The precedence of sources, field by field.
struct MergeTests {
    private let day = Date(timeIntervalSince1970: 1_730_073_600)

    /// An image of a source, with values that no other source has.
    private func image(_ source: SourceID, _ number: Int) -> RestoreImage {
        var image = RestoreImage(key: "24B83")
        image.version = "15.\(number)"
        image.stage = "beta \(number + 2)"
        image.releaseDate = day.addingTimeInterval(Double(number))
        image.downloadURL = "https://\(source).example/a.ipsw"
        image.fileSize = number + 1
        image.sha1 = "sha1 of \(source)"
        image.sha256 = "sha256 of \(source)"
        image.isSigned = number % 2 == 0
        return image
    }

    private func xcode(_ source: SourceID, _ number: Int) -> XcodeVersion {
        var xcode = XcodeVersion(key: "16B40")
        xcode.version = "16.\(number)"
        xcode.stage = "beta \(number + 2)"
        xcode.releaseDate = day.addingTimeInterval(Double(number))
        xcode.downloadURL = "https://\(source).example/a.xip"
        xcode.notesURL = "https://\(source).example/notes"
        xcode.sha1 = "sha1 of \(source)"
        xcode.requiresMacOS = "14.\(number)"
        xcode.swiftNumber = "6.\(number)"
        xcode.sdks = ["macOS 15.\(number)"]
        return xcode
    }

    private func swift(_ source: SourceID, _ number: Int) -> SwiftVersion {
        var swift = SwiftVersion(key: "6.0")
        swift.stage = "beta \(number + 2)"
        swift.releaseDate = day.addingTimeInterval(Double(number))
        swift.tag = "tag of \(source)"
        swift.xcodeVersion = "16.\(number)"
        return swift
    }

    private func statements<R: MergedRelease>(
        _ sources: some Sequence<SourceID>,
        of all: [SourceID: R],
        statedAt: [SourceID: Date] = [:]
    ) -> Statements<R> {
        Statements(sources.reduce(into: [:]) { $0[$1] = all[$1].map { [$0] } }, statedAt: statedAt)
    }

    /// Checks a row of the table of precedence: the first source with a value wins, also when any of the sources before
    /// it are missing.
    private func check<R: MergedRelease, Value: Equatable>(
        _ name: String,
        _ path: KeyPath<R, Value>,
        _ order: [SourceID],
        of all: [SourceID: R],
        sourceLocation: SourceLocation
    ) {
        for first in order.indices {
            let present = order[first...]
            let merged = statements(present, of: all).merged(key: all[order[first]]?.key ?? "", into: nil)
            #expect(merged.provenance[name] == order[first], "\(name) of \(present)", sourceLocation: sourceLocation)
            #expect(merged[keyPath: path] == all[order[first]]?[keyPath: path], sourceLocation: sourceLocation)
        }
    }

    @Test func eachRowOfTheTableOfImages() {
        let sources: [SourceID] = [.appleCatalog, .ipswMe, .appleDB, .mrMacintosh]
        let all = Dictionary(uniqueKeysWithValues: sources.enumerated().map { ($1, image($1, $0)) })
        func row<Value: Equatable>(
            _ name: String,
            _ path: KeyPath<RestoreImage, Value?>,
            _ order: SourceID...,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            check(name, path, order, of: all, sourceLocation: sourceLocation)
        }
        row("version", \.version, .appleCatalog, .appleDB, .ipswMe, .mrMacintosh)
        row("stage", \.stage, .appleCatalog, .appleDB, .mrMacintosh, .ipswMe)
        row("releaseDate", \.releaseDate, .ipswMe, .appleDB, .mrMacintosh)
        row("downloadURL", \.downloadURL, .appleCatalog, .ipswMe, .appleDB, .mrMacintosh)
        row("fileSize", \.fileSize, .ipswMe, .appleDB)
        row("sha1", \.sha1, .appleCatalog, .ipswMe, .appleDB)
        row("sha256", \.sha256, .ipswMe, .appleDB)
        row("isSigned", \.isSigned, .appleCatalog, .ipswMe, .appleDB, .mrMacintosh)
        #expect(RestoreImage.rules.count == 8)
    }

    @Test func eachRowOfTheTableOfXcode() {
        let sources: [SourceID] = [.appleReleases, .xcodeReleases]
        let all = Dictionary(uniqueKeysWithValues: sources.enumerated().map { ($1, xcode($1, $0)) })
        func row<Value: Equatable>(
            _ name: String,
            _ path: KeyPath<XcodeVersion, Value?>,
            _ order: SourceID...,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            check(name, path, order, of: all, sourceLocation: sourceLocation)
        }
        row("version", \.version, .appleReleases, .xcodeReleases)
        row("stage", \.stage, .appleReleases, .xcodeReleases)
        row("releaseDate", \.releaseDate, .xcodeReleases, .appleReleases)
        row("downloadURL", \.downloadURL, .xcodeReleases)
        row("notesURL", \.notesURL, .xcodeReleases)
        row("sha1", \.sha1, .xcodeReleases)
        row("requiresMacOS", \.requiresMacOS, .xcodeReleases)
        row("swiftNumber", \.swiftNumber, .xcodeReleases)
        row("sdks", \.sdks, .xcodeReleases)
        #expect(XcodeVersion.rules.count == 9)
    }

    @Test func eachRowOfTheTableOfSwift() {
        let sources: [SourceID] = [.swiftOrg, .swiftVersionNet]
        let all = Dictionary(uniqueKeysWithValues: sources.enumerated().map { ($1, swift($1, $0)) })
        func row<Value: Equatable>(
            _ name: String,
            _ path: KeyPath<SwiftVersion, Value?>,
            _ order: SourceID...,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            check(name, path, order, of: all, sourceLocation: sourceLocation)
        }
        row("stage", \.stage, .swiftOrg, .swiftVersionNet)
        row("releaseDate", \.releaseDate, .swiftOrg, .swiftVersionNet)
        row("tag", \.tag, .swiftOrg)
        row("xcodeVersion", \.xcodeVersion, .swiftOrg, .swiftVersionNet)
        #expect(SwiftVersion.rules.count == 4)
    }

    @Test func theNewestStatementSaysWhetherAnImageIsSigned() {
        let all: [SourceID: RestoreImage] = [
            .appleCatalog: image(.appleCatalog, 0), .mrMacintosh: image(.mrMacintosh, 1),
        ]
        func isSigned(_ catalog: Double, _ page: Double) -> Bool? {
            let dates = [
                SourceID.appleCatalog: day.addingTimeInterval(catalog), .mrMacintosh: day.addingTimeInterval(page),
            ]
            return statements(all.keys, of: all, statedAt: dates).merged(key: "24B83", into: nil).isSigned
        }
        #expect(isSigned(1, 0) == true)
        #expect(isSigned(0, 1) == false)
        #expect(isSigned(1, 1) == true)
    }

    @Test func aFinalReleaseBeatsTheCandidateOfTheSameBuild() {
        var candidate = xcode(.appleReleases, 0)
        candidate.stage = "RC"
        var final = xcode(.xcodeReleases, 1)
        final.stage = "release"
        let all: [SourceID: XcodeVersion] = [.appleReleases: candidate, .xcodeReleases: final]
        let merged = statements(all.keys, of: all).merged(key: "16B40", into: nil)
        #expect(merged.stage == "release")
        #expect(merged.isPrerelease == false)
        #expect(merged.releaseDate == final.releaseDate)
        #expect(merged.version == candidate.version)
    }

    @Test(arguments: [("24B83", "release", false), ("24B5055e", "beta", true)])
    func whereNoSourceSaysItTheBuildSaysTheStage(build: String, stage: String, isPrerelease: Bool) {
        var image = RestoreImage(key: build)
        image.version = "15.1"
        let merged = Statements([.ipswMe: [image]], statedAt: [:]).merged(key: build, into: nil)
        #expect(merged.stage == stage)
        #expect(merged.isPrerelease == isPrerelease)
        #expect(merged.provenance == ["version": .ipswMe])
    }

    // MARK: - The history and later runs

    @Test func aSourceThatWasNotFetchedKeepsItsWord() {
        let all: [SourceID: RestoreImage] = [.ipswMe: image(.ipswMe, 1), .appleDB: image(.appleDB, 2)]
        let stored = statements([.ipswMe], of: all).merged(key: "24B83", into: nil)
        let merged = statements([.appleDB], of: all).merged(key: "24B83", into: stored)
        #expect(merged.sha1 == "sha1 of ipsw.me")
        #expect(merged.version == "15.2")
        #expect(merged.sources == [.appleDB, .ipswMe])
    }

    @Test func aValueThatItsSourceTakesBackStaysAndGivesWay() {
        let all: [SourceID: RestoreImage] = [.ipswMe: image(.ipswMe, 1), .appleDB: image(.appleDB, 2)]
        let stored = statements([.ipswMe], of: all).merged(key: "24B83", into: nil)
        var without = image(.ipswMe, 1)
        without.sha1 = nil
        let second = Statements([.ipswMe: [without]], statedAt: [:]).merged(key: "24B83", into: stored)
        #expect(second.sha1 == "sha1 of ipsw.me")
        #expect(second.provenance["sha1"] == nil)
        let third = statements([.appleDB], of: all).merged(key: "24B83", into: second)
        #expect(third.sha1 == "sha1 of appledb")
        #expect(third.sha256 == "sha256 of ipsw.me")
    }

    @Test func whatIsTakenBackHasToBeHeardFromTheOthers() {
        let all: [SourceID: RestoreImage] = [
            .ipswMe: image(.ipswMe, 1), .appleDB: image(.appleDB, 2), .mrMacintosh: image(.mrMacintosh, 3),
        ]
        let stored = statements(all.keys, of: all).merged(key: "24B83", into: nil)
        // The best source of a value repeats it, then withdraws the value, and then no longer lists the release.
        #expect(statements([.ipswMe], of: all).successors([stored]) == [])
        var without = image(.ipswMe, 1)
        without.sha256 = nil
        #expect(Statements([.ipswMe: [without]], statedAt: [:]).successors([stored]) == [.appleDB, .mrMacintosh])
        let other = Statements([.ipswMe: [RestoreImage(key: "24C101")], .appleDB: [image(.appleDB, 2)]], statedAt: [:])
        #expect(other.successors([stored]) == [.mrMacintosh])
        // A source whose value was not the best one withdraws nothing.
        let last = Statements([.mrMacintosh: [RestoreImage(key: "24C101")]], statedAt: [:])
        #expect(last.successors([stored]) == [])
    }

    @Test func aReleaseThatNoSourceListsStays() {
        let all: [SourceID: RestoreImage] = [.ipswMe: image(.ipswMe, 1)]
        let stored = statements([.ipswMe], of: all).merged(key: "24B83", into: nil)
        let other = Statements([.ipswMe: [RestoreImage(key: "24C101")]], statedAt: [:])
        let merged = other.merged(key: "24B83", into: stored)
        var expected = stored
        expected.sources = []
        expected.provenance = [:]
        #expect(merged == expected)
        // Later a source lists it again.
        #expect(statements([.ipswMe], of: all).merged(key: "24B83", into: merged) == stored)
    }

    @Test func aRunThatFetchesNothingChangesNothing() {
        let all: [SourceID: RestoreImage] = [.ipswMe: image(.ipswMe, 1)]
        let stored = statements([.ipswMe], of: all).merged(key: "24B83", into: nil)
        #expect(statements([], of: all).merged(key: "24B83", into: stored) == stored)
        #expect(statements([.ipswMe], of: all).merged(key: "24B83", into: stored) == stored)
    }

    @Test func aSourceOfANewerProgramGivesWay() {
        var stored = image(.ipswMe, 1)
        stored.provenance = ["sha1": SourceID(rawValue: "unknown")]
        stored.sources = [SourceID(rawValue: "unknown")]
        let merged = Statements([.appleDB: [image(.appleDB, 2)]], statedAt: [:]).merged(key: "24B83", into: stored)
        #expect(merged.sha1 == "sha1 of appledb")
        #expect(merged.sources.map(\.rawValue) == ["appledb", "unknown"])
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func theOrderOfTheSourcesDoesNotMatter(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let sources: [SourceID] = [.appleCatalog, .ipswMe, .appleDB, .mrMacintosh]
        var all: [SourceID: RestoreImage] = [:]
        var dates: [SourceID: Date] = [:]
        for source in sources where Int.random(in: 0..<5, using: &random) > 0 {
            var image = image(source, Int.random(in: 0..<4, using: &random))
            if Bool.random(using: &random) { image.sha1 = nil }
            if Bool.random(using: &random) { image.stage = Bool.random(using: &random) ? nil : "release" }
            if Bool.random(using: &random) { image.releaseDate = nil }
            if Int.random(in: 0..<3, using: &random) == 0 { image.isSigned = nil }
            all[source] = image
            dates[source] = day.addingTimeInterval(Double.random(in: 0..<3, using: &random).rounded(.down))
        }
        guard !all.isEmpty else { return }
        let together = statements(all.keys, of: all, statedAt: dates).merged(key: "24B83", into: nil)
        for _ in 0..<4 {
            let order = all.keys.sorted().shuffled(using: &random)
            let split = Int.random(in: 0...order.count, using: &random)
            let first = statements(order[..<split], of: all, statedAt: dates)
            var stored = split == 0 ? nil : first.merged(key: "24B83", into: nil)
            for source in order[split...] {
                stored = statements([source], of: all, statedAt: dates).merged(key: "24B83", into: stored)
            }
            #expect(stored == together, "seed \(seed), order \(order), split \(split)")
        }
    }

    /// While another run is at work, the date of a source may not be known yet.
    @Test func aStatementWithoutADateIsFromTheRun() {
        var (old, new) = (RestoreImage(key: "24B83"), RestoreImage(key: "24B83"))
        (old.isSigned, new.isSigned) = (true, false)
        let statements = Statements(
            [.appleCatalog: [old], .appleDB: [new]],
            statedAt: [.appleCatalog: Date(timeIntervalSince1970: 500)],
            now: Date(timeIntervalSince1970: 1000)
        )
        #expect(statements.merged(key: "24B83", into: nil).isSigned == false)
    }
}

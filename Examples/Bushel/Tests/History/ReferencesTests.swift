import BushelHistory
import BushelSources
import Foundation
import MistModels
import Testing

struct ReferencesTests {
    private func image(_ build: String, _ version: String, stage: String = "release", day: Double = 0) -> RestoreImage {
        var image = RestoreImage(key: build)
        image.version = version
        image.stage = stage
        image.releaseDate = Date(timeIntervalSince1970: day * 86_400)
        return image
    }

    private func xcode(requires: String? = nil, swift: String? = nil) -> XcodeVersion {
        var xcode = XcodeVersion(key: "16B40")
        xcode.version = "16.1"
        xcode.requiresMacOS = requires
        xcode.swiftNumber = swift
        return xcode
    }

    private var references: References {
        References(
            images: [
                image("23F79", "14.5", day: 2), image("23F80", "14.5", day: 1), image("23G80", "14.6.1"),
                image("23G5052d", "14.6", stage: "beta"), image("24A335", "15.0"), image("24B83", "15.1"),
                image("25A1", "beta of nothing"),
            ],
            swift: [SwiftVersion(key: "6.0.2"), SwiftVersion(key: "5.10")]
        )
    }

    @Test(
        arguments: [
            // The image of the version itself, the earlier of two builds, the next version, but no other major version
            // and no beta.
            ("15.1", "RestoreImage-24B83"), ("15", "RestoreImage-24A335"), ("14.5", "RestoreImage-23F80"),
            ("14.0", "RestoreImage-23F80"),
            ("14.6", "RestoreImage-23G80"), ("14.7", nil), ("13.0", nil), ("10.15.4", nil), ("15.2", nil),
        ] as [(String, String?)]
    )
    func theMinimumIsTheFirstImageThatFits(requires: String, name: String?) {
        let result = references.resolved(xcode(requires: requires), stored: nil)
        #expect(result.xcode.minimumMacOS?.recordName == name)
        #expect(result.missing.map(\.target) == (name == nil ? ["macOS \(requires)"] : []))
    }

    @Test(
        arguments: [("6.0.2", "SwiftVersion-6.0.2"), ("5.10", "SwiftVersion-5.10"), ("6.0", nil)] as [(String, String?)]
    )
    func swiftIsFoundByItsVersion(number: String, name: String?) {
        let result = references.resolved(xcode(swift: number), stored: nil)
        #expect(result.xcode.swiftVersion?.recordName == name)
        #expect(
            result.missing.map(\.description)
                == (name == nil ? ["Xcode 16.1 (16B40) names Swift \(number), which no source lists"] : [])
        )
    }

    @Test func aReleaseWithoutVersionsHasNoMissingReferences() {
        let result = references.resolved(xcode(), stored: nil)
        #expect(result.xcode == xcode())
        #expect(result.missing == [])
    }

    @Test func aPointerStaysWhileItsVersionIsTheSame() {
        let nothing = References(images: [], swift: [])
        let stored = references.resolved(xcode(requires: "15.1", swift: "6.0.2"), stored: nil).xcode
        let kept = nothing.resolved(stored, stored: stored)
        #expect(kept.xcode == stored)
        #expect(kept.missing == [])
        let changed = nothing.resolved(xcode(requires: "15.2", swift: "6.1"), stored: stored)
        #expect(changed.xcode.minimumMacOS == nil)
        #expect(changed.xcode.swiftVersion == nil)
        #expect(changed.missing.map(\.target) == ["Swift 6.1", "macOS 15.2"])
    }
}

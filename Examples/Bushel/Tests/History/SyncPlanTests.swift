import BushelSources
import Foundation
import MistModels
import Testing

@testable import BushelHistory

struct SyncPlanTests {
    private func image(_ build: String, sha1: String = "a") -> RestoreImage {
        var image = RestoreImage(key: build)
        image.version = "15.1"
        image.sha1 = sha1
        image.provenance = ["sha1": .ipswMe, "version": .appleDB]
        image.sources = [.appleDB, .ipswMe]
        return image
    }

    private func stored(_ images: RestoreImage...) -> [String: StoredRecord<RestoreImage>] {
        images.reduce(into: [:]) {
            $0[$1.key] = StoredRecord(stored: $1, recordName: $1.recordName, recordChangeTag: "1")
        }
    }

    @Test func aReleaseWithoutARecordIsNew() throws {
        let plan = SyncPlan([image("24B83")], stored: [:])
        #expect(plan.new.map(\.recordName) == ["RestoreImage-24B83"])
        #expect(plan.new.first?.recordChangeTag == nil)
        #expect(plan.changed.isEmpty && plan.unchanged == 0)
    }

    @Test func aChangedReleaseSendsWhatChangedUnderItsTag() throws {
        let plan = SyncPlan([image("24B83", sha1: "b")], stored: stored(image("24B83")))
        #expect(plan.new.isEmpty && plan.unchanged == 0)
        let record = try #require(plan.changed.first)
        #expect(record.changedFields.map(\.name) == ["sha1"])
        #expect(record.recordChangeTag == "1")
    }

    @Test func anEqualReleaseIsNotSent() {
        let plan = SyncPlan([image("24B83"), image("24C101")], stored: stored(image("24B83"), image("24C101")))
        #expect(plan.new.isEmpty && plan.changed.isEmpty)
        #expect(plan.unchanged == 2)
    }

    @Test func aClearedValueIsSent() throws {
        var cleared = image("24B83")
        cleared.version = nil
        let plan = SyncPlan([cleared], stored: stored(image("24B83")))
        #expect(plan.changed.first?.changedFields.map(\.name) == ["version"])
    }

    @Test func recordsWithoutAReleaseAreLeftAlone() {
        let plan = SyncPlan<RestoreImage>([], stored: stored(image("24B83")))
        #expect(plan.new.isEmpty && plan.changed.isEmpty && plan.unchanged == 0)
    }

    @Test func theFirstReasonIsReported() {
        var report = KindReport(.images)
        report.fail("first")
        report.fail("second", count: 2)
        #expect(report.notSaved == 3)
        #expect(report.reason == "first")
    }
}

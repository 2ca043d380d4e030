import CloudKitEmulator
import MistKit
import Testing

/// The tests of a program import the client and the emulator's rules, and name the types of both without their modules.
struct ImportingBothTests {
    @Test func noTypeOfOneHidesOneOfTheOther() {
        let ofTheClient: [Any.Type] = [
            RecordPage<Record>.self, ZoneChanges.self, AssetUpload.self, AssetDownload.self, RecordError.self,
        ]
        let ofTheRules: [Any.Type] = [
            RecordResults.self, ZoneChangesPage.self, IncomingAsset.self, OutgoingAsset.self, EmulatorError.self,
        ]
        #expect(Set((ofTheClient + ofTheRules).map { "\($0)" }).count == 10)
    }
}

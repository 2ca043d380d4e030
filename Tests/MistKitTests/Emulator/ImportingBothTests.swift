import CloudKitEmulator
import MistKit
import Testing

/// The tests of an app import both the client and the emulator's rules, and use the types of both without a module
/// name.
struct ImportingBothTests {
    @Test func noTypeOfOneHidesOneOfTheOther() {
        let ofTheClient: [Any.Type] = [
            RecordPage<Record>.self, ZoneChanges.self, AssetUpload.self, AssetDownload.self, RecordError.self,
        ]
        let ofTheRules: [Any.Type] = [
            RecordCount.self, SignInRequest.self, IncomingAsset.self, OutgoingAsset.self, EmulatorError.self,
        ]
        #expect(Set((ofTheClient + ofTheRules).map { "\($0)" }).count == 10)
    }
}

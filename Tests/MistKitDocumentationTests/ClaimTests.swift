import MistKit
import Testing

/// What the pages say without Swift.
struct ClaimTests {
    /// "Credentials": a text that is not a private key is refused at once.
    @Test func aPublicKeyIsNoPrivateKey() {
        let publicKey = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----"
        let error = #expect(throws: CloudKitError.self) { try ServerToServerKey(publicKey) }
        #expect(error?.code == .invalidCredentials)
    }

    /// "Errors": a code that this version of MistKit does not know is kept.
    @Test func aCodeOfALaterServiceIsKept() {
        let code = CloudKitError.Code(serverErrorCode: "BRAND_NEW")
        #expect(code.serverErrorCode == "BRAND_NEW")
        #expect(CloudKitError.Code.conflict.serverErrorCode == "CONFLICT")
        #expect(CloudKitError.Code.network.serverErrorCode == nil)
    }
}

import MistModels
import MistTesting
import Testing

/// What the pages say without Swift.
struct ClaimTests {
    /// "Credentials": a text that is not a private key is refused at once.
    @Test func aPublicKeyIsNoPrivateKey() {
        let publicKey = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----"
        let error = #expect(throws: CloudKitError.self) { try ServerToServerKey(publicKey) }
        #expect(error?.code == .invalidCredentials)
    }

    /// "Writes and conflicts": a stored record is deleted as it is known, and a name alone by force.
    @Test func deletingByName() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let feed = try await database.save(Feed.swift)
            try await database.delete(feed)
            let another = try await database.save(Feed.swift, named: "another")
            try await database.forceDelete(another.recordName)
            let error = await #expect(throws: CloudKitError.self) {
                try await database.fetch(Feed.self, named: "another")
            }
            #expect(error?.code == .notFound)
        }
    }

    /// "Errors": a code that this version of MistKit does not know is kept.
    @Test func aCodeOfALaterServiceIsKept() {
        let code = CloudKitError.Code(serverErrorCode: "BRAND_NEW")
        #expect(code.serverErrorCode == "BRAND_NEW")
        #expect(CloudKitError.Code.conflict.serverErrorCode == "CONFLICT")
        #expect(CloudKitError.Code.network.serverErrorCode == nil)
    }
}

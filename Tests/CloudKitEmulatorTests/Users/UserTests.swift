import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

struct UserTests {
    @Test func theCurrentUserIsReturned() throws {
        let world = try World()
        #expect(
            try world.asAnn(in: .public).fetchCaller()
                == .init(
                    userRecordName: world.ann,
                    nameComponents: NameComponents(givenName: "Ann", familyName: "Example")
                )
        )
        #expect(text(try world.asBen(in: .public).fetchCaller()) == #"{"userRecordName":"\#(world.ben)"}"#)
        #expect(
            try world.asAnn(in: .public).fetchCurrentUser()
                == CurrentUser(userRecordName: world.ann, firstName: "Ann", lastName: "Example")
        )
    }

    @Test func withoutAUserThereIsNoCaller() throws {
        let world = try World()
        let required = "AUTHENTICATION_REQUIRED request needs authorization"
        #expect(
            refusal { try world.emulator.request(in: world.publicDatabase, as: .anonymous).fetchCaller() } == required
        )
        #expect(
            refusal { try world.emulator.request(in: world.publicDatabase, as: .anonymous).fetchCurrentUser() }
                == required
        )
    }

    /// Apple's sample for Node first asks for the user of its key.
    @Test func aServerKeyIsTheDeveloperInWhoseNameItWrites() throws {
        let world = try World()
        let key = Caller.serverKey(keyID: "k")
        let name = try #require(key.userRecordName)
        #expect(
            text(try world.emulator.request(in: world.publicDatabase, as: key).fetchCaller())
                == #"{"userRecordName":"\#(name)"}"#
        )
        #expect(
            try world.emulator.request(in: world.publicDatabase, as: key).fetchCurrentUser()
                == CurrentUser(userRecordName: name)
        )
        let strict = try World { $0.unsettled.serverKeyAsCaller = .refused }
        let failed = "AUTHENTICATION_FAILED Authentication failed"
        #expect(refusal { try strict.emulator.request(in: world.publicDatabase, as: key).fetchCaller() } == failed)
        #expect(refusal { try strict.emulator.request(in: world.publicDatabase, as: key).fetchCurrentUser() } == failed)
    }

    @Test func aUserCanBeMadeUnderAGivenName() throws {
        let world = try World()
        let name = "_00112233445566778899aabbccddeeff"
        for given in ["Old", "New"] {
            #expect(try world.emulator.createUser(NameComponents(givenName: given), userRecordName: name) == name)
        }
        #expect(
            try world.emulator.request(in: world.publicDatabase, as: .user(name)).fetchCurrentUser().firstName == "New"
        )
        #expect(try world.emulator.listUsers() == [world.ann, world.ben, name].sorted())
        #expect(
            refusal { try world.emulator.createUser(userRecordName: "ann") }
                == "BAD_REQUEST a user record name is an underscore and 32 lower-case hexadecimal digits"
        )
    }
}

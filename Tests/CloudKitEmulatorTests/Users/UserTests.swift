import CloudKitEmulator
import CloudKitModel
import Testing

struct UserTests {
    @Test func theCallerLearnsWhoItIs() throws {
        let world = try World()
        #expect(
            text(try world.emulator.fetchCaller(as: .user(world.ann)))
                == #"{"userRecordName":"\#(world.ann)","nameComponents":{"givenName":"Ann","familyName":"Example"}}"#
        )
        #expect(text(try world.emulator.fetchCaller(as: .user(world.ben))) == #"{"userRecordName":"\#(world.ben)"}"#)
        #expect(
            try world.emulator.fetchCurrentUser(as: .user(world.ann))
                == CurrentUser(userRecordName: world.ann, firstName: "Ann", lastName: "Example")
        )
    }

    @Test func withoutAUserThereIsNoCaller() throws {
        let world = try World()
        let required = "AUTHENTICATION_REQUIRED request needs authorization"
        let failed = "AUTHENTICATION_FAILED Authentication failed"
        #expect(refusal { try world.emulator.fetchCaller(as: .anonymous) } == required)
        #expect(refusal { try world.emulator.fetchCurrentUser(as: .anonymous) } == required)
        #expect(refusal { try world.emulator.fetchCaller(as: .serverKey(keyID: "k")) } == failed)
        #expect(refusal { try world.emulator.fetchCurrentUser(as: .serverKey(keyID: "k")) } == failed)
    }

    @Test func aUserCanBeMadeUnderAGivenName() throws {
        let world = try World()
        let name = "_00112233445566778899aabbccddeeff"
        for given in ["Old", "New"] {
            #expect(try world.emulator.createUser(NameComponents(givenName: given), userRecordName: name) == name)
        }
        #expect(try world.emulator.fetchCurrentUser(as: .user(name)).firstName == "New")
        #expect(try world.emulator.listUsers() == [world.ann, world.ben, name].sorted())
        #expect(
            refusal { try world.emulator.createUser(userRecordName: "ann") }
                == "BAD_REQUEST a user record name is an underscore and 32 lower-case hexadecimal digits"
        )
    }
}

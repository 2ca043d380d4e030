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
        #expect(refusal { try world.emulator.fetchCaller(as: .anonymous) } == required)
        #expect(refusal { try world.emulator.fetchCurrentUser(as: .anonymous) } == required)
    }

    /// Apple's sample for Node begins by asking who its key is.
    @Test func aServerKeyIsTheDeveloperInWhoseNameItWrites() throws {
        let world = try World()
        let key = Caller.serverKey(keyID: "k")
        let name = try #require(key.userRecordName)
        #expect(text(try world.emulator.fetchCaller(as: key)) == #"{"userRecordName":"\#(name)"}"#)
        #expect(try world.emulator.fetchCurrentUser(as: key) == CurrentUser(userRecordName: name))
        let strict = try World { $0.unsettled.serverKeyAsCaller = .refused }
        let failed = "AUTHENTICATION_FAILED Authentication failed"
        #expect(refusal { try strict.emulator.fetchCaller(as: key) } == failed)
        #expect(refusal { try strict.emulator.fetchCurrentUser(as: key) } == failed)
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

import CloudKitEmulator
import CloudKitModel
import MistKit
import MistTesting
import Testing

/// Users find other users who are discoverable.
@Suite(.serialized)
struct UserDiscoveryTests {
    @Test(arguments: EmulatorConnection.allCases)
    func peopleAreFoundByWhateverOthersKnowOfThem(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let name = NameComponents(givenName: "Ann", middleName: "B.", familyName: "Example")
            let ann = try emulator.rules.createUser(name, emailAddress: "ann@example.com", phoneNumber: "+4712345678")
            try emulator.rules.createUser(emailAddress: "shy@example.com", isDiscoverable: false)
            let service = emulator.service(as: .user)

            let lookups: [LookupInfo] = [
                .emailAddress("Ann@Example.com"), .emailAddress("unknown@example.com"), .phoneNumber("+4712345678"),
                .emailAddress("shy@example.com"), .userRecordName(ann),
            ]
            let results = try await service.discoverUsers(lookups)
            #expect(
                results.map { summary($0) { $0.userRecordName == ann && $0.nameComponents == name ? "Ann" : "?" } }
                    == ["Ann", "NOT_FOUND unknown@example.com", "Ann", "NOT_FOUND shy@example.com", "Ann"]
            )
            let all = try await service.discoverAllUsers()
            #expect(all.map(\.userRecordName) == [ann])
            let error = try await failure {
                try await service.discoverUser(.phoneNumber("1"))
            }
            #expect(error.item == .user("1"))
            #expect(error.requestUUID != nil)
        }
    }

    @Test func whoIsNotFoundMayStandInTheReplyAllTheSame() async throws {
        var configuration = EmulatorConfiguration()
        configuration.unsettled.usersNotFound = .withoutName
        configuration.unsettled.discoverAllUsers = .fails
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let service = emulator.service(as: .user)
            let results = try await service.discoverUsers([
                .emailAddress("unknown@example.com"), .emailAddress("mei@example.com"),
            ])
            #expect(results.map { summary($0) } == ["NOT_FOUND unknown@example.com", "ok"])
            let error = try await failure { try await service.discoverAllUsers() }
            #expect(error.code == .internalError)
        }
    }

    @Test func aLookupNeedsSomethingToLookFor() async throws {
        try await withCloudKitEmulator { emulator in
            let error = try await failure {
                try await emulator.service(as: .user).discoverUsers([.emailAddress("mei@example.com"), LookupInfo()])
            }
            #expect(error.code == .invalidArgument)
            #expect(error.message.contains("index 1"))
        }
    }

    @Test(arguments: [
        (RunningEmulator.Identity.apiToken, "AUTHENTICATION_REQUIRED"), (.serverKey, "AUTHENTICATION_FAILED"),
    ])
    func onlyPeopleMayLookForPeople(identity: RunningEmulator.Identity, code: String) async throws {
        try await withCloudKitEmulator { emulator in
            let error = try await failure {
                try await emulator.service(as: identity).discoverUser(.emailAddress("mei@example.com"))
            }
            #expect(error.code.description == code)
        }
    }

    @Test func aUserThatIsNotDiscoverableHasNoName() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            #expect(try await service.fetchCaller().nameComponents?.familyName == "Chen")
            try emulator.rules.createUser(
                NameComponents(givenName: "Mei", familyName: "Chen"),
                isDiscoverable: false,
                userRecordName: emulator.userRecordName
            )
            #expect(try await service.fetchCaller() == UserIdentity(userRecordName: emulator.userRecordName))
        }
    }
}

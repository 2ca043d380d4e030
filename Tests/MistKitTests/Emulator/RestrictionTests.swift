import CloudKitEmulator
import CloudKitModel
import MistKit
import MistTesting
import Testing

/// People restrict the access to their data.
@Suite(.serialized)
struct RestrictionTests {
    @Test(arguments: EmulatorConnection.allCases)
    func restrictedPeopleGetErrorsUntilTheRestrictionEnds(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let ann = emulator.service(as: .user)
            let ben = try emulator.service(asUser: emulator.rules.createUser())
            try await ann.privateDatabase.save(Record(recordType: "Note", recordName: "a", fields: ["title": "A"]))
            try await ann.restrictUser()
            // Once more changes nothing.
            try await ann.restrictUser()
            for scope in [DatabaseScope.private, .public, .shared] {
                let error = try await failure { try await ann.database(scope).fetchZones() }
                #expect(error.code == .accessDenied, "\(scope)")
            }
            #expect(try await failure { try await ann.fetchCaller() }.code == .accessDenied)
            #expect(try await ben.fetchCaller().userRecordName != nil)
            try await ann.unrestrictUser()
            let note = try await ann.privateDatabase.fetch("a")
            #expect(note["title"]?.stringValue == "A")
        }
    }

    @Test func theCodeOfTheErrorCanBeChosen() async throws {
        var configuration = EmulatorConfiguration()
        configuration.unsettled.restrictedUser = .authenticationFailed
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let service = emulator.service(as: .user)
            try await service.restrictUser()
            #expect(try await failure { try await service.fetchCaller() }.code == .authenticationFailed)
        }
    }

    @Test func onlyPrivateDatabasesHaveRestrictions() throws {
        let emulator = try CloudKitEmulator()
        let user = try emulator.createUser()
        let database = DatabaseAddress("iCloud.test", .development, .public)
        #expect(throws: EmulatorError.self) { try emulator.request(in: database, as: .user(user)).restrictUser() }
    }
}

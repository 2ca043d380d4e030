import CloudKitModel
import MistKit
import MistTesting
import Testing

struct WithCloudKitEmulatorTests {
    @Test(arguments: EmulatorConnection.allCases)
    func whatAServiceSavesItFinds(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).publicDatabase
            _ = try await database.create(Record(recordType: "Note", recordName: "n", fields: ["title": "Milk"]))
            for identity in RunningEmulator.Identity.allCases {
                let database = emulator.service(as: identity).publicDatabase
                let page = try await database.records(matching: Query(recordType: "Note")).collect()
                #expect(page.map(\.recordName) == ["n"])
            }
        }
    }
}

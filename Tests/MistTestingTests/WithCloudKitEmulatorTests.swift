import CloudKitEmulator
import CloudKitModel
import Foundation
import HTTPTypes
import MistKit
import MistTesting
import Testing

@Suite(.serialized)
struct WithCloudKitEmulatorTests {
    static let connections = EmulatorConnection.allCases

    @Test(arguments: connections)
    func whatAServiceSavesEveryIdentityFinds(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).publicDatabase
            let saved = try await database.create(
                Record(recordType: "Note", recordName: "n", fields: ["title": "Milk"])
            )
            for identity in RunningEmulator.Identity.allCases {
                let database = emulator.service(as: identity).publicDatabase
                let found = try await database.records(matching: Query(recordType: "Note")).collect()
                #expect(found == [saved], "\(identity)")
            }
        }
    }

    @Test(arguments: connections)
    func aFieldOfEveryTypeIsSaved(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let fixture = Fixtures.recordOfEveryFieldType(named: "all", encrypted: true)
            let database = emulator.service(as: .user).privateDatabase
            let saved = try await database.create(fixture)
            #expect(try await database.fetch("all") == saved)
            #expect(Set(saved.fields.map(\.name)) == Set(fixture.fields.map(\.name)))
        }
    }

    @Test(arguments: connections)
    func theSameSeedGivesTheSameResponses(_ connection: EmulatorConnection) async throws {
        var runs: [[RawResponse]] = []
        for seed: UInt64 in [1, 1, 2] {
            let responses = try await withCloudKitEmulator(over: connection, clock: TestClock(), seed: seed) {
                emulator in
                var responses: [RawResponse] = []
                for (endpoint, body) in [
                    ("records/modify", #"{"operations":[{"operationType":"create","record":{"recordType":"Note"}}]}"#),
                    ("records/query", #"{"query":{"recordType":"Note"}}"#),
                    ("records/query", "nonsense"),
                ] {
                    let token = emulator.webAuthToken.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                    let query = "?ckAPIToken=\(emulator.apiToken)&ckWebAuthToken=\(token)"
                    let path = emulator.path(endpoint, in: .public) + query
                    let request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: path)
                    var response = try await emulator.send(request, body: Array(body.utf8))
                    response.headerFields[.date] = nil
                    responses.append(response)
                }
                return responses
            }
            #expect(responses.map(\.status.code) == [200, 200, 400])
            runs.append(responses)
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0] != runs[2])
    }

    @Test(arguments: connections)
    func aFileKeepsTheDataForTheNextEmulator(_ connection: EmulatorConnection) async throws {
        let file = FileManager.default.temporaryDirectory.path + "/mistkit-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) } }
        let saved = try await withCloudKitEmulator(over: connection, storage: .file(path: file)) { emulator in
            try await emulator.service(as: .serverKey).publicDatabase
                .create(Record(recordType: "Note", recordName: "n", fields: ["title": "Milk"]))
        }
        try await withCloudKitEmulator(over: connection, storage: .file(path: file)) { emulator in
            let found = try await emulator.service(as: .apiToken).publicDatabase.fetch("n")
            #expect(found == saved)
        }
    }

    @Test(arguments: connections)
    func filesOfAnotherPersonStayAtTheEmulator(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
            let database = try emulator.service(asUser: ben).privateDatabase
            let upload = try await database.upload(.bytes([1, 2, 3]), for: "file", of: "Note")
            let record = try await database.create(upload.record())
            #expect(try await database.download(AssetField("file", of: record)) == [1, 2, 3])
        }
    }

    @Test(arguments: connections)
    func theClockOfTheTestIsTheClockOfStampsAndSignatures(_ connection: EmulatorConnection) async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(over: connection, clock: clock) { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            clock.advance(by: 365 * 24 * 60 * 60)
            let record = try await database.create(Record(recordType: "Note", recordName: "n"))
            #expect(record.created?.timestamp == clock.now)
        }
    }
}

import CloudKitEmulator
import CloudKitSchema
import Foundation
import MistModels
import MistTesting
import Testing

/// The part of a program that is under test: it needs a database and knows nothing of where that is.
struct Library {
    var database: CloudKitDatabase

    /// The best feeds of a category, best first.
    func best(_ category: String, limit: Int = 10) async throws -> [StoredRecord<Feed>] {
        let query = Query<Feed> {
            Filter(\.category == category)
            Sort(\.qualityScore, ascending: false)
        }
        return try await database.records(matching: query).collect(limit: limit)
    }
}

@Suite(.serialized)
struct LibraryTests {
    @Test func theBestComesFirst() async throws {
        try await withCloudKitEmulator { emulator in
            try emulator.rules.importSchema(ContainerSchema(of: Feed.self), into: emulator.containerIdentifier)
            let library = Library(database: emulator.service(as: .user).privateDatabase)
            var good = Feed.swift
            good.title = "Good"
            good.qualityScore = 95
            for result in try await library.database.save([Feed.swift, good]) { _ = try result.get() }

            let best = try await library.best("programming")
            #expect(best.map(\.title) == ["Good", "Swift.org"])
        }
    }
}

/// The rest of the Swift of "Testing your program".
@Suite(.serialized)
struct TestingTests {
    @Test func aTypeWithoutARecord() async throws {
        try await withCloudKitEmulator { emulator in
            let library = Library(database: emulator.service(as: .user).privateDatabase)
            let error = await #expect(throws: CloudKitError.self) { try await library.best("programming") }
            #expect(error?.reason == "Did not find record type: Feed")

            try emulator.rules.importSchema(ContainerSchema(of: Feed.self), into: emulator.containerIdentifier)
            let best = try await library.best("programming")
            #expect(best.isEmpty)
        }
    }

    @Test func everyIdentityIsThere() async throws {
        try await withCloudKitEmulator { emulator in
            let server = emulator.service(as: .serverKey).publicDatabase
            let anonymous = emulator.service(as: .apiToken).publicDatabase
            let feed = try await server.save(Feed.swift, named: "feed-swift")
            #expect(try await anonymous.fetch(Feed.self, named: "feed-swift").model == feed.model)
        }
    }

    @Test func timeIsTheTests() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(clock: clock) { emulator in
            let service = emulator.service(as: .user)
            try await service.privateDatabase.save(Feed.swift)
            clock.advance(by: 31 * 60)
            let error = await #expect(throws: CloudKitError.self) { try await service.fetchCaller() }
            #expect(error?.code == .authenticationRequired)
        }
    }

    @Test func theEmulatorCanBeStricter() async throws {
        var configuration = EmulatorConfiguration()
        configuration.limits.recordSize = 1000
        configuration.unsettled.createOnExisting = .exists
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            var long = Feed.swift
            long.title = String(repeating: "x", count: 2000)
            await #expect(throws: CloudKitError.self) { try await database.save(long) }
        }
    }

    @Test func aRecordWithoutAService() {
        let stamp = Record.Stamp(timestamp: Date(timeIntervalSince1970: 0), userRecordName: "_mei")
        let feed = StoredRecord(
            stored: Feed.swift,
            recordName: "feed-1",
            recordChangeTag: "a1",
            created: stamp
        )
        #expect(feed.title == "Swift.org")
        #expect(!feed.hasChanges)
    }

    @Test func aSeedRepeatsEverything() async throws {
        func recordName() async throws -> String? {
            try await withCloudKitEmulator(clock: TestClock(), seed: 42) { emulator in
                let database = emulator.service(as: .user).privateDatabase
                return try await database.save(Record(recordType: "Note")).recordName
            }
        }
        #expect(try await recordName() == recordName())
    }
}

import Foundation
import GRDB
import MistKit
import MistModels
import MistStore
import MistTesting
import TestSupport
import Testing

/// A field of each type that a model can have.
@CloudKitRecord
private struct Sample: Hashable {
    var text: String
    var empty: String?
    var count: Int
    var small: Int8
    var isDone: Bool
    var ratio: Double
    var part: Float
    var date: Date
    var data: Data
    var link: URL
    var number: UUID
    var place: Location?
    var target: RecordReference<Sample>?
    var texts: [String]
    var counts: [Int]
    var ratios: [Double]
    var dates: [Date]
    @CloudKitField(.encrypted) var secret: String
}

/// A version of the program that knows only two of the fields.
@CloudKitRecord("Sample")
private struct OldSample: Hashable {
    var count: Int
    var text: String
}

struct ReadingRowsTests {
    private static let sample = Sample(
        text: "a\u{0}b 🥛",
        count: .min,
        small: -128,
        isDone: true,
        ratio: -0.1,
        part: 0.5,
        date: Date(timeIntervalSince1970: 1_686_106_171.024),
        data: Data([0, 255]),
        link: URL(filePath: "/a b"),
        number: UUID(),
        place: Location(latitude: 1, longitude: 2),
        texts: ["", "x"],
        counts: [1, -1],
        ratios: [],
        dates: [.distantPast],
        secret: "hidden"
    )

    @Test func aRowIsReadAsItWasWritten() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Sample.self])
            try await store.privateDatabase.add(Self.sample, named: "a")
            let found = try await store.privateDatabase.find(Query<Sample>())
            #expect(found.map(\.model) == [Self.sample])
            #expect(found.first?.recordName == "a")
            #expect(found.first?.recordChangeTag == nil)
            #expect(found.first?.zoneID == ZoneID(zoneName: "Records"))
            #expect(found.first?.otherFields.isEmpty == true)
            #expect(try await store.privateDatabase.fetch(Sample.self, named: "a").model == Self.sample)
            try store.close()
        }
    }

    @Test func fieldsThatTheModelLacksAreOtherFields() async throws {
        try await inTemporaryFolder { folder in
            let new = try MistStore(at: folder, records: [Sample.self])
            try await new.privateDatabase.add(Self.sample, named: "a")
            try new.close()
            let old = try MistStore(at: folder, records: [OldSample.self])
            let found = try #require(try await old.privateDatabase.find(Query<OldSample>()).first)
            #expect(found.model == OldSample(count: .min, text: Self.sample.text))
            #expect(found.otherFields["ratio"] == .double(-0.1))
            #expect(found.otherFields["text"] == nil)
            try old.close()
        }
    }

    @Test func fieldsWithoutAColumnAreOtherFields() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                let zone = try await service.privateDatabase.createZone("Records").zoneID
                let fields: MistKit.Record.Fields = ["text": "T", "count": 1, "colour": "red"]
                let saved = try await service.privateDatabase.create(
                    MistKit.Record(recordType: "Sample", recordName: "a", fields: fields),
                    inZone: zone
                )
                let store = try MistStore(at: folder, records: [OldSample.self], service: service)
                try await store.sync()
                let found = try #require(try await store.privateDatabase.find(Query<OldSample>()).first)
                #expect(found.model == OldSample(count: 1, text: "T"))
                #expect(found.otherFields["colour"] == "red")
                #expect(found.recordChangeTag == saved.recordChangeTag)
                try store.close()
            }
        }
    }

    @Test func aRowThatDoesNotFitHidesNoOthersAndIsNamed() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Sample.self])
            let samples = store.privateDatabase
            for name in ["a", "b", "c"] { try await samples.add(Self.sample, named: name) }
            let queue = try DatabaseQueue(path: folder.appending(path: "user.sqlite").path)
            try await queue.write { db in
                try db.execute(
                    sql: """
                        PRAGMA ignore_check_constraints = ON;
                        UPDATE "Sample" SET "small" = 300 WHERE _recordName = 'a';
                        UPDATE "Sample" SET "counts" = 'many' WHERE _recordName = 'b'
                        """
                )
            }
            #expect(try await samples.find(Query<Sample>()).map(\.recordName) == ["c"])
            // Records that cannot be read do not count towards the limit.
            #expect(try await samples.find(Query<Sample>(limit: 1)).map(\.recordName) == ["c"])
            let unreadable = try await samples.findUnreadable(Query<Sample>(limit: 1))
            #expect(unreadable.map(\.recordName) == ["a", "b"])
            #expect(unreadable.first?.reason.contains(#"the field "small" does not fit"#) == true)
            #expect(unreadable.first?.fields["small"] == .int64(300))
            let reason =
                #"The field "counts" cannot be read. The column holds a value that no field of type INT64_LIST has."#
            #expect(unreadable.last?.reason == reason)
            #expect(unreadable.last?.fields["text"] == .string(Self.sample.text))
            let large = await #expect(throws: StoreError.self) { try await samples.fetch(Sample.self, named: "a") }
            #expect(large?.code == .value)
            #expect(large?.recordName == "a")
            await #expect(
                throws: StoreError(
                    .value,
                    "The column holds a value that no field of type INT64_LIST has.",
                    recordType: "Sample",
                    recordName: "b",
                    fieldName: "counts"
                )
            ) { try await samples.fetch(Sample.self, named: "b") }
            // The observation sees both records leave the list of unreadable ones.
            var lists = samples.unreadableUpdates(of: Query<Sample>()).makeAsyncIterator()
            #expect(try await lists.next()?.map(\.recordName) == ["a", "b"])
            for name in ["a", "b"] { try await samples.add(Self.sample, named: name) }
            while let list = try await lists.next(), !list.isEmpty {}
            #expect(try await samples.find(Query<Sample>()).map(\.model) == [Self.sample, Self.sample, Self.sample])
            try queue.close()
            try store.close()
        }
    }

    @Test func aReplacedOrRenamedRowKeepsTheTagOfItsName() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let store = try MistStore(at: folder, records: [OldSample.self], service: emulator.service(as: .user))
                let samples = store.privateDatabase
                try await samples.add(OldSample(count: 1, text: "T"), named: "a")
                try await store.sync()
                let tag = try await samples.fetch(OldSample.self, named: "a").recordChangeTag
                #expect(tag != nil)
                let queue = try DatabaseQueue(path: folder.appending(path: "user.sqlite").path)
                try await queue.write { db in
                    try db.execute(
                        sql: #"INSERT OR REPLACE INTO "Sample" (_recordName, "count", "text") VALUES ('a', 2, 'U')"#
                    )
                }
                #expect(try await samples.find(Query<OldSample>()).map(\.recordChangeTag) == [tag])
                try await queue.write { try $0.execute(sql: #"UPDATE "Sample" SET _recordName = 'b'"#) }
                #expect(try await samples.find(Query<OldSample>()).map(\.recordChangeTag) == [nil])
                try queue.close()
                try store.close()
            }
        }
    }
}

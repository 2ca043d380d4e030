import CloudKitEmulatorServer
import Foundation
import MistTesting
import Testing

@testable import MistKit

/// Batches with several items for the same record.
@Suite(.serialized)
struct DuplicateNamesTests {
    @Test(arguments: [
        (DuplicateNames.fail, ["a", "b", "a", nil, nil, "a", "b"], [0, 1, 0, 3, 4, 0, 1]),
        (.keepFirst, ["a", "b", "a", nil, nil, "a", "b"], [0, 1, 0, 3, 4, 0, 1]),
        (.keepLast, ["a", "b", "a", nil, nil, "a", "b"], [5, 6, 5, 3, 4, 5, 6]),
        (.keepLast, [], []),
    ])
    func oneItemIsChosenForEachRecord(duplicates: DuplicateNames, names: [String?], sources: [Int]) {
        #expect(duplicates.choose(among: names).sources == sources)
    }

    private static let memos = [
        Memo(title: "first a", count: 1), Memo(title: "only b"), Memo(title: "second a"),
        Memo(title: "third a", count: nil),
    ]
    private static let name: @Sendable (Memo) -> String = { String($0.title.suffix(1)) }

    @Test func theLaterOnesFailAndTheRestIsSent() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let results = try await database.save(Self.memos, named: Self.name)
            #expect(results.map { summary($0) } == ["ok", "ok", "invalidArgument a", "invalidArgument a"])
            #expect(
                results[3].error?.message == """
                    The operation at index 3 is for the same record as the one at index 0, and was not sent: a batch takes one for each \
                    record. To send one of them, pass duplicates: .keepFirst or .keepLast.
                    """
            )
            #expect(results[3].error?.mayHaveBeenDone == false)
            let fetched = try await database.fetch(Memo.self, named: ["a", "b"]).allOrThrow()
            #expect(fetched.map(\.title) == ["first a", "only b"])
            #expect(emulator.faults.requests.filter { $0.hasSuffix("modify") }.count == 1)

            let untyped = try await database.forceDelete(["a", "b", "a"])
            #expect(untyped.map { summary($0) } == ["ok", "ok", "invalidArgument a"])
        }
    }

    @Test(arguments: [(DuplicateNames.keepFirst, "first a", 1 as Int?), (.keepLast, "third a", nil)])
    func theOneThatIsKeptGivesAllTheirResult(duplicates: DuplicateNames, title: String, count: Int?) async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let results = try await database.save(Self.memos, named: Self.name, duplicates: duplicates).allOrThrow()
            #expect(results.map(\.title) == [title, "only b", title, title])
            #expect(results.map(\.recordName) == ["a", "b", "a", "a"])
            #expect(results.map(\.count) == [count, nil, count, count])
            #expect(Set(results.map(\.recordChangeTag)).count == 2)
            #expect(try await database.fetch(Memo.self, named: "a") == results[0])

            // The same holds for records without a type, and for updates of fetched records.
            let records = Self.memos.map { StoredRecord($0, recordName: Self.name($0) + "2").record }
            let saved = try await database.save(records, duplicates: duplicates).allOrThrow()
            #expect(saved.map { $0["title"]?.stringValue } == [title, "only b", title, title])
        }
    }

    @Test func anAtomicBatchIsRefusedAsAWhole() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Notes").zoneID
            emulator.faults.forgetRequests()
            let error = try await failure {
                try await database.save(Self.memos, named: Self.name, inZone: zone, atomic: true)
            }
            #expect(error.code == .invalidArgument)
            #expect(error.item == .record(name: "a"))
            #expect(emulator.faults.requests.isEmpty)
            let results = try await database.save(
                Self.memos,
                named: Self.name,
                inZone: zone,
                atomic: true,
                duplicates: .keepLast
            )
            #expect(results.map { summary($0) } == ["ok", "ok", "ok", "ok"])
        }
    }

    /// One name in two zones is two records.
    @Test(arguments: [DuplicateNames.fail, .keepFirst, .keepLast])
    func recordsOfOneNameInTwoZonesAreNotDuplicates(duplicates: DuplicateNames) async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let records = ["Notes", "Letters"].map { zone in
                Record(recordType: "Memo", recordName: "a", zoneID: ZoneID(zoneName: zone))
            }
            let error = try await failure { try await database.save(records, duplicates: duplicates) }
            #expect(error.code == .invalidArgument)
            #expect(error.message.hasPrefix("The records are in more than one zone (Notes, and Letters at index 1)."))
            #expect(emulator.faults.requests.isEmpty)
        }
    }

    @Test func errorsNameTheIndexInTheArrayOfTheCaller() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let unchanged = try await database.save(StoredRecord(Memo(title: "unchanged"), recordName: "a"))
            let other = StoredRecord(Memo(title: "other"), recordName: "b")
            let results = try await database.save([unchanged, other, other])
            #expect(results.map { summary($0) } == ["ok", "ok", "invalidArgument b"])
            let message = "The operation at index 2 is for the same record as the one at index 1, and was not sent"
            #expect(results[2].error?.message.hasPrefix(message) == true)
            let error = try await failure { try await database.update([unchanged, other]) }
            #expect(error.message.hasPrefix("The operation at index 1 (update) needs the change tag"))
        }
    }
}

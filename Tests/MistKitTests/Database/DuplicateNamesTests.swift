import CloudKitEmulatorServer
import Foundation
import MistTesting
import Testing

@testable import MistKit

/// Several items of a batch for one record.
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
            let fetched = try await database.fetch(Memo.self, ["a", "b"]).allOrThrow()
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
            #expect(try await database.fetch(Memo.self, "a") == results[0])

            // The same for records without a type, and for changes of what was fetched.
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
}

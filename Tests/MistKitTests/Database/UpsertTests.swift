import CloudKitEmulatorServer
import Foundation
import MistKit
import MistTesting
import Testing

/// Saving a record that may or may not exist.
@Suite(.serialized)
struct UpsertTests {
    @Test func aRecordIsMadeOrItsFieldsAreSet() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let new = try await database.upsert(Memo(title: "A", count: 1), named: "memo")
            #expect(new.recordChangeTag != nil)

            // Another client, with another version of the program, adds a field and changes one.
            var other = try await database.fetch("memo")
            other["color"] = "red"
            other["count"] = 7
            try await database.update(&other)

            let saved = try await database.upsert(Memo(title: "B"), named: "memo")
            #expect(saved.model == Memo(title: "B", count: nil))
            let fetched = try await database.fetch(Memo.self, named: "memo")
            #expect(fetched.model == Memo(title: "B", count: nil))
            #expect(fetched.otherFields == ["color": "red"])
            #expect(fetched.recordChangeTag == saved.recordChangeTag)

            // The returned record can be updated.
            var again = saved
            again.count = 2
            try await database.update(&again)
            #expect(try await database.fetch(Memo.self, named: "memo").count == 2)
        }
    }

    @Test func saveUpdates250ExistingRecords() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            for title in ["old", "new"] {
                let memos = (0..<250).map { Memo(title: title, count: $0) }
                let saved = try await database.upsert(memos, named: { "memo-\($0.count ?? 0)" }).allOrThrow()
                #expect(saved.count == 250)
            }
            let fetched = try await database.fetch(Memo.self, named: (0..<250).map { "memo-\($0)" }).allOrThrow()
            #expect(fetched.allSatisfy { $0.title == "new" })
        }
    }

    @Test func aLostReplyIsNotOverwrittenBlindly() async throws {
        try await withCloudKitEmulator(faults: [FaultRule(.loseReply, on: "records/modify")]) { emulator in
            let service = emulator.service(as: .user) {
                $0.retryPolicy = RetryPolicy()
                $0.clock = TestClock(skippingWaits: true).timer
                $0.random = { 0.5 }
            }
            let saved = try await service.privateDatabase.upsert(Memo(title: "A"), named: "memo")
            #expect(saved.title == "A")
            #expect(emulator.faults.requests.map { $0.split(separator: "/").last } == ["modify", "lookup"])
        }
    }

    @Test func aRecordTakesItsNewTagInPlace() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            var memo = StoredRecord(Memo(title: "A"), recordName: "typed")
            var note = Record.note("untyped", "A")
            try await database.save(&memo)
            try await database.save(&note)
            for title in ["B", "C", "D"] {
                memo.title = title
                note["title"] = .string(title)
                try await database.update(&memo)
                try await database.update(&note)
            }
            memo.count = 1
            note["count"] = 1
            try await database.replace(&memo)
            try await database.replace(&note)
            memo.title = "E"
            try await database.save(&memo)
            #expect(try await database.fetch(Memo.self, named: "typed") == memo)
            #expect(try await database.fetch("untyped").recordChangeTag == note.recordChangeTag)
            #expect(memo.model == Memo(title: "E", count: 1))

            // A failure leaves the record as it is.
            var stale = memo
            stale.title = "stale"
            memo.title = "F"
            try await database.update(&memo)
            let before = stale
            do {
                try await database.update(&stale)
                Issue.record("This is a conflict.")
            } catch let error as CloudKitError where error.code == .conflict {
                #expect(stale == before)
                #expect(stale.hasChanges)
            }
        }
    }
}

import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitWebServices
import Foundation
import MistKit
import MistTesting
import Testing

/// Updates whose reply is lost while another client writes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LostReplyTests {
    /// A tally of 5, and a database that loses its first update. Another client adds 10 before the update is sent
    /// again.
    private func withInterference(
        isDone: Bool,
        _ body: (StoredRecord<Tally>, CloudKitDatabase) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            let tally = try await emulator.service(as: .user).privateDatabase.save(Tally(count: 5), named: "tally")
            emulator.faults.add(FaultRule(isDone ? .loseReply : .loseRequest, on: "records/modify"))
            let address = DatabaseAddress(emulator.containerIdentifier, .development, .private)
            let theirs = Record(recordType: "Tally", recordName: "tally", fields: ["count": isDone ? 16 : 15])
            // The random source is called before the retry, so the other client's write happens in its closure.
            let database = emulator.service(as: .user) {
                $0.retryPolicy = RetryPolicy()
                $0.clock = TestClock(skippingWaits: true).timer
                $0.random = {
                    _ = try? emulator.rules.request(in: address, as: .user(emulator.userRecordName)).modifyRecords(
                        .init(operations: [RecordOperation(.forceUpdate, record: theirs)])
                    )
                    return 0.5
                }
            }.privateDatabase
            try await body(tally, database)
        }
    }

    @Test(arguments: [true, false])
    func aConflictAfterALostReplySaysThatTheWriteMayHaveBeenDone(isDone: Bool) async throws {
        try await withInterference(isDone: isDone) { tally, database in
            var mine = tally
            mine.count += 1
            let stale = mine
            let error = try #require(await #expect(throws: CloudKitError.self) { try await database.update(stale) })
            #expect(error.code == .conflict)
            #expect(error.mayHaveBeenDone)
            #expect(error.message.contains("serverRecord may already hold it"))
            #expect(error.serverRecord(as: Tally.self)?.count == (isDone ? 16 : 15))
            // A second call does not know the attempts of the first one.
            let again = try #require(await #expect(throws: CloudKitError.self) { try await database.update(stale) })
            #expect(again.code == .conflict)
            #expect(!again.mayHaveBeenDone)
        }
    }

    @Test(arguments: [true, false])
    func aCounterThatRecognisesItsWriteIsRightWhateverWasLost(isDone: Bool) async throws {
        try await withInterference(isDone: isDone) { stored, database in
            var tally = stored
            var flags: [Bool] = []
            let write = UUID().uuidString
            tally.count += 1
            tally.recentWrites = (tally.recentWrites + [write]).suffix(50)
            let saved = try await database.update(tally) { conflict in
                flags.append(conflict.serverMayHoldOwnWrite)
                var merged = conflict.server
                if merged.recentWrites.contains(write) { return merged }  // it was done before
                merged.count += 1
                merged.recentWrites = (merged.recentWrites + [write]).suffix(50)
                return merged
            }
            #expect(flags == [true])
            #expect(saved.count == 16)
            #expect(saved.recentWrites == [write])
            #expect(try await database.fetch(Tally.self, named: "tally") == saved)
        }
    }

    @Test func theDoubtOutlivesTheAttemptInWhichItBegan() async throws {
        try await withInterference(isDone: true) { stored, database in
            var tally = stored
            tally.count += 1
            let mine = tally
            var flags: [Bool] = []
            do {
                _ = try await database.update(mine, attempts: 3) { conflict in
                    flags.append(conflict.serverMayHoldOwnWrite)
                    // Another client is faster again, and this time no response is lost.
                    var quick = conflict.server
                    quick.count += 100
                    _ = try await database.update(quick)
                    var merged = conflict.server
                    merged.count += 1
                    return merged
                }
                Issue.record("The third attempt is a conflict.")
            } catch {
                let error = try #require(error as? CloudKitError)
                #expect(error.code == .conflict)
                #expect(error.mayHaveBeenDone)
            }
            #expect(flags == [true, true])
        }
    }
}

/// A counter that recognises its own writes.
struct Tally: Hashable {
    var count: Int
    var recentWrites: [String] = []
}

extension Tally: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let count = RecordField<Int>("count")
        let recentWrites = RecordField<[String]>("recentWrites")
    }

    static let recordType = "Tally"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.count, fields.recentWrites)

    init(fields reader: inout FieldReader) throws(FieldError) {
        var count: Int?
        var recentWrites: [String] = []
        while let field = try reader.next() {
            switch field {
            case 0: count = try reader.value()
            case 1: recentWrites = try reader.value() ?? []
            default: try reader.skip()
            }
        }
        self.count = try reader.required(count, 0)
        self.recentWrites = recentWrites
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, count)
        writer.write(1, recentWrites)
    }
}

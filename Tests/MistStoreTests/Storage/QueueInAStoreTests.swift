import Foundation
import GRDB
import MistKit
import MistMutationQueue
import MistTesting
import Synchronization
import TestSupport
import Testing

@testable import MistStore

/// A queue of mutations in the file of a store.
struct QueueInAStoreTests {
    private struct Report: Codable, Sendable {
        var book: String
    }

    @Test("37. A change of a record and a mutation are one transaction; the store and the queue send their own part")
    func oneTransactionHasBoth() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                func open() throws -> MistStore {
                    try MistStore(
                        at: folder,
                        records: [Shelf.self, Book.self],
                        service: emulator.service(as: .user)
                    )
                }
                var store = try open()
                var settings = Configuration()
                settings.busyMode = .timeout(20)
                let pool = try DatabasePool(path: folder.appending(path: "user.sqlite").path, configuration: settings)
                let sent = Mutex<[String]>([])
                let queue = try MutationQueue(
                    pool,
                    MutationHandlers<Report> { report in
                        sent.withLock { $0.append(report.mutation.book) }
                        return MutationEffects { db in
                            try db.execute(
                                sql: "UPDATE Book SET note = 'reported' WHERE _recordName = ?",
                                arguments: [report.mutation.book]
                            )
                        }
                    }
                )
                struct Withdrawn: Error {}
                await #expect(throws: Withdrawn.self) {
                    try await pool.write { db in
                        try db.execute(sql: "INSERT INTO Book (_recordName, title) VALUES ('no', 'No')")
                        try queue.enqueue(Report(book: "no"), entity: "no", in: db)
                        throw Withdrawn()
                    }
                }
                try await pool.write { db in
                    try db.execute(sql: "INSERT INTO Book (_recordName, title) VALUES ('yes', 'Yes')")
                    try queue.enqueue(Report(book: "yes"), entity: "yes", in: db)
                }
                #expect(try await store.sync().sent == 1)
                // Another process of the program opens the store while a mutation waits.
                try store.close()
                store = try open()
                #expect(try await queue.drain().sent == 1)
                #expect(sent.withLock { $0 } == ["yes"])
                #expect(try await store.privateDatabase.fetch(Book.self, named: "yes").note == "reported")
                // What an answer changes is a change like any other.
                #expect(try await store.sync().sent == 1)
                #expect(try await store.verify().isEqual)
                try store.close()
                try pool.close()
            }
        }
    }
}

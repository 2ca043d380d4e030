import Dispatch
import Foundation
import GRDB
import TestSupport
import Testing

@testable import MistStore

/// Operations of the engine on one file, from several threads. Each test would wait forever where one waits for another.
@Suite(.timeLimit(.minutes(10)))
struct ConcurrentOperationsTests {
    @Test func aReadOfTheEngineGoesOnBesideAWrite() throws {
        try withTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self])
            let file = store.privateDatabase.file
            let count = try file.wrapping {
                try file.database.write { db in
                    try db.execute(sql: #"INSERT INTO "Shelf" ("name") VALUES ('Garden')"#)
                    return try Self.onOtherThread { try file.wrapping { try Self.shelves(in: file) } }
                }
            }
            #expect(count == 0, "The read sees the state before the transaction.")
            try store.close()
        }
    }

    @Test func closingWaitsForAnOperationThatIsUnderWay() throws {
        try withTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self])
            let file = store.privateDatabase.file
            let closed = DispatchSemaphore(value: 0)
            try file.wrapping {
                Thread.detachNewThread {
                    try? file.close(because: .storeIsClosed)
                    closed.signal()
                }
                // Operations that come later are refused from now on.
                while (try? file.wrapping {}) != nil { Thread.sleep(forTimeInterval: 0.001) }
                #expect(closed.wait(timeout: .now() + 0.3) == .timedOut)
                let count = try Self.shelves(in: file)
                #expect(count == 0, "The connections are open.")
            }
            closed.wait()
            #expect(throws: StoreError.storeIsClosed) { try file.wrapping {} }
        }
    }

    private static func shelves(in file: StoreFile) throws -> Int? {
        try file.database.read { try Int.fetchOne($0, sql: #"SELECT count(*) FROM "Shelf""#) }
    }

    /// Runs a closure on a thread of its own, and waits for it.
    private static func onOtherThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let ended = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var result: Result<Value, any Error>?
        Thread.detachNewThread {
            result = Result { try body() }
            ended.signal()
        }
        ended.wait()
        return try #require(result).get()
    }
}

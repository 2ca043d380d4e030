import Foundation
import MistKit
import MistStore
import Synchronization

/// A process that reads all the time. It ends with an error when something cannot be read, or is half a transaction.
final class Reader: Sendable {
    private let folder: URL
    private let store: MistStore
    private let parent = getppid()
    private let counts = Mutex((reads: 0, lists: 0))

    init(folder: URL) throws {
        self.folder = folder
        store = try MistStore(readingAt: folder.appending(path: "store"), records: [Book.self])
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.observe() }
            group.addTask { try await self.read() }
            try await group.next()
            group.cancelAll()
        }
    }

    private func observe() async throws {
        for try await found in store.privateDatabase.recordUpdates(of: Query<Book>()) {
            try check(found)
            counts.withLock { $0.lists += 1 }
        }
        throw Problem("The observation has ended.")
    }

    private func read() async throws {
        let books = store.privateDatabase
        while getppid() == parent {
            try check(try await books.find(Query<Book>()))
            _ = try await books.status()
            _ = try await books.recoveryLog(limit: 10)
            let text = counts.withLock { counts in
                counts.reads += 1
                return "\(counts.reads) \(counts.lists)"
            }
            try Data(text.utf8).write(to: folder.appending(path: "reads"), options: .atomic)
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Expects that both counters of each pair are equal.
    private func check(_ books: [StoredRecord<Book>]) throws {
        let loans = Dictionary(books.map { ($0.recordName, $0.model.loans) }, uniquingKeysWith: { $1 })
        for worker in 0..<Driver.workers {
            let pair = Worker.pair("pair-\(worker)").map { loans[$0] }
            guard pair[0] != nil, pair[0] == pair[1] else {
                throw Problem("The reader sees half a transaction: \(pair).")
            }
        }
    }
}

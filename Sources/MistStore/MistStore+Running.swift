import GRDB
import MistKit
import Synchronization

extension MistStore {
    /// Synchronises until the task is cancelled: immediately, after local changes, and at intervals.
    ///
    /// ```swift
    /// try await withThrowingTaskGroup { group in
    ///     group.addTask { try await store.run() }
    ///     // … the program …
    ///     group.cancelAll()
    /// }
    /// ```
    ///
    /// Changes of this process and of others are sent about a second after the first of them. While nothing changes,
    /// the interval grows from ``StoreConfiguration/syncInterval`` to ``StoreConfiguration/longestSyncInterval``. If
    /// the service cannot be reached, the next synchronisation tries again. Of several processes that run on the same
    /// files, one asks the service at a time, and the others leave out what it has done within their interval.
    ///
    /// Calls of ``MistStore/sync()`` beside it are independent of it: cancelling them does not end it.
    ///
    /// - Throws: A ``StoreError``: `noService` when the store has no service, `readOnly` when it was opened for reading,
    ///   `closed` when it is closed, `otherUser` when another user is signed in, or a code about the file;
    ///   `CancellationError` when the task is cancelled.
    public func run() async throws {
        // Before anything is observed: of a store that is closed, the observations have an error of their own.
        _ = try startedLoop()
        let (wakes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let edits = NewEdits()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for database in [privateDatabase, publicDatabase] {
                group.addTask {
                    var last: [ServiceTime?]?
                    for try await latest in database.observe(watchesOtherProcesses: true, Self.latestEdits) {
                        // Edits that were acknowledged have no time any more.
                        if let last, zip(latest, last).contains(where: { $0 != nil && $0 != $1 }) {
                            edits.isThere.withLock { $0 = true }
                            continuation.yield()
                        }
                        last = latest
                    }
                }
            }
            group.addTask { try await self.synchronise(wakes, continuation, edits) }
            defer { group.cancelAll() }
            try await group.next()
            // The observations end without an error when the task is cancelled.
            throw CancellationError()
        }
    }

    /// Values that change with every local edit.
    private static func latestEdits(_ db: Database) throws -> [ServiceTime?] {
        try [PendingEdits(db: db).latestTime(), Tombstones(db: db).latestTime()]
    }

    private func synchronise(
        _ wakes: AsyncStream<Void>,
        _ continuation: AsyncStream<Void>.Continuation,
        _ edits: NewEdits
    ) async throws {
        let loop = try startedLoop()
        var interval = configuration.syncInterval
        var signals = wakes.makeAsyncIterator()
        while true {
            // While nothing changes, one process asks the service for all of them.
            let asker = edits.take() ? SyncEngine.Asker.loop : .interval(interval)
            if try asker == .loop || loop.rest(of: interval) == .zero {
                let isIdle = try await sync(by: asker).isEmpty
                interval = isIdle ? min(interval * 2, configuration.longestSyncInterval) : configuration.syncInterval
            }
            let rest = try loop.rest(of: interval)
            let pause = rest == .zero ? interval : rest
            let timer = Task {
                try await Task.sleep(for: pause)
                continuation.yield()
            }
            defer { timer.cancel() }
            guard await signals.next(isolation: nil) != nil else { throw CancellationError() }
            // Further changes within a second are sent together with the first.
            try await Task.sleep(for: .seconds(1))
        }
    }
}

/// Whether there are edits that came after the beginning of the last synchronisation.
private final class NewEdits: Sendable {
    /// The first synchronisation is due as if there were edits.
    let isThere = Mutex(true)

    /// Whether there are such edits. Then a synchronisation begins.
    func take() -> Bool {
        isThere.withLock { isThere in
            defer { isThere = false }
            return isThere
        }
    }
}

import GRDB
import MistKit

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
    /// the service cannot be reached, the next synchronisation tries again.
    ///
    /// Calls of ``MistStore/sync()`` beside it are independent of it: cancelling them does not end it.
    ///
    /// - Throws: A ``StoreError``: `noService` when the store has no service, `closed` when it is closed, `otherUser` when
    ///   another user is signed in, or a code about the file; `CancellationError` when the task is cancelled.
    public func run() async throws {
        // Before anything is observed: of a store that is closed, the observations have an error of their own.
        _ = try startedLoop()
        let (wakes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            do {
                let database = publicDatabase
                group.addTask { try await Self.observe(database, continuation) }
            }
            group.addTask { try await self.observePrivateRecords(continuation) }
            group.addTask { try await self.synchronise(wakes, continuation) }
            defer { group.cancelAll() }
            try await group.next()
            // The observations end without an error when the task is cancelled.
            throw CancellationError()
        }
    }

    /// Wakes the loop after each local edit.
    private static func observe(
        _ database: LocalDatabase,
        _ continuation: AsyncStream<Void>.Continuation
    ) async throws {
        var last: [ServiceTime?]?
        for try await edits in database.observe(watchesOtherProcesses: true, latestEdits) {
            if last != nil, edits != last { continuation.yield() }
            last = edits
        }
    }

    /// Observes the private records that are open, and after a switch those of the next user.
    private func observePrivateRecords(_ continuation: AsyncStream<Void>.Continuation) async throws {
        while true {
            do {
                return try await Self.observe(privateDatabase, continuation)
            } catch let error as StoreError where error.code == .accountChanged {
                try await waitForSwitch()
                continuation.yield()
            }
        }
    }

    /// Waits for the end of a switch that is under way.
    func waitForSwitch() async throws {
        try await switching.lock()
        switching.unlock()
    }

    /// Synchronises the open records, also where another user's records are opened meanwhile.
    private func syncOpenRecords() async throws -> SyncSummary {
        while true {
            do {
                return try await sync(by: .loop)
            } catch let error as StoreError where error.code == .accountChanged {
                try await waitForSwitch()
            }
        }
    }

    /// Values that change with every local edit.
    private static func latestEdits(_ db: Database) throws -> [ServiceTime?] {
        try [PendingEdits(db: db).latestTime(), Tombstones(db: db).latestTime()]
    }

    private func synchronise(_ wakes: AsyncStream<Void>, _ continuation: AsyncStream<Void>.Continuation) async throws {
        var interval = configuration.syncInterval
        var signals = wakes.makeAsyncIterator()
        while true {
            let isIdle = try await syncOpenRecords().isEmpty
            interval = isIdle ? min(interval * 2, configuration.longestSyncInterval) : configuration.syncInterval
            let pause = interval
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

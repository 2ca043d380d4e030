public import GRDB
import SQLiteTables
import Synchronization

extension MutationQueue {
    /// Each mutation that fails, once: also one that failed while nothing listened, or in another process.
    ///
    /// A failure counts as reported when it leaves the sequence. One that the program loses after that is still among
    /// ``mutations(of:in:after:limit:_:)`` with the state ``MutationState/failed``.
    public func failures() -> MutationQueueUpdates<MutationFailure> {
        MutationQueueUpdates { [self] in
            let watch = QueueWatch(database, signal, every: configuration.pollInterval)
            let waiting = Mutex<[MutationFailure]>([])
            return { [self] in
                while true {
                    if let first = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return first }
                    guard await watch.next() else { return nil }
                    let found = try await takeFailure()
                    waiting.withLock { $0 += found }
                    // There may be more, which no commit announces.
                    if !found.isEmpty { watch.lookAgain() }
                }
            }
        }
    }

    private func takeFailure() async throws -> [MutationFailure] {
        let queue = engine.queue
        let isFound = try await read { db in try !Mutations(db: db, queue: queue).unreported(limit: 1).isEmpty }
        guard isFound else { return [] }
        return try await write { db in
            let mutations = Mutations(db: db, queue: queue)
            return try mutations.unreported(limit: 1).map { row in
                try mutations.noteReported(row.number)
                return MutationFailure(
                    id: row.id,
                    entity: row.entity,
                    state: row.progress.state,
                    attempts: row.progress.attempts,
                    message: row.progress.error ?? ""
                )
            }
        }
    }

    /// Sends a mutation again that failed, under the same key, with all attempts; or one that waits for its time, at
    /// once.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - db: The connection, in a transaction that writes.
    /// - Throws: A ``MutationQueueError``: `notFound`, or one about the file.
    public func retry(_ id: MutationID, in db: Database) throws {
        try MutationQueueError.wrapping {
            guard let row = try Mutations(db: db, queue: engine.queue).row(id) else { throw Self.notFound(id) }
            guard row.progress.state != .sending else { return }
            let now = self.now
            try engine.checkClock(db, at: now)
            try engine.apply(.retried, to: row, epoch: nil, db, at: now)
        }
    }

    /// Sends all mutations again that failed or could not be read, each under its key.
    ///
    /// - Parameter db: The connection, in a transaction that writes.
    /// - Returns: The number of mutations.
    /// - Throws: A ``MutationQueueError`` about the file.
    @discardableResult
    public func retryAll(in db: Database) throws -> Int {
        try MutationQueueError.wrapping {
            let mutations = Mutations(db: db, queue: engine.queue)
            let now = self.now
            try engine.checkClock(db, at: now)
            var count = 0
            for state in [MutationState.failed, .unreadable] {
                while case let page = try mutations.page(of: nil, in: state, after: 0, limit: 100), !page.isEmpty {
                    for row in page { try engine.apply(.retried, to: row, epoch: nil, db, at: now) }
                    count += page.count
                }
            }
            return count
        }
    }

    /// Removes a mutation that is not wanted any more, and all that depend on it, which could never be sent.
    ///
    /// Later mutations of its entity stay, and are sent: where they make no sense without it, let them depend on it. A
    /// mutation whose ``QueuedMutation/hasBeenSent`` is true may have been done by the service.
    ///
    /// ```swift
    /// try await database.write { db in
    ///     try queue.discard(id, in: db) { discarded in
    ///         try db.execute(sql: "DELETE FROM tasting WHERE id = ?", arguments: [discarded.entity])
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - db: The connection, in a transaction that writes.
    ///   - compensate: Undoes in the file what was written for a mutation. It is called for each one that is removed,
    ///     the last one first.
    /// - Returns: The identifiers of the mutations that were removed, the last one first.
    /// - Throws: A ``MutationQueueError``: `notFound`, `underWay`, or one about the file; and what the closure throws.
    ///   Nothing was removed then, and the transaction can go on.
    @discardableResult
    public func discard(
        _ id: MutationID,
        in db: Database,
        compensating compensate: (QueuedMutation<Mutation>) throws -> Void = { _ in }
    ) throws -> [MutationID] {
        try MutationQueueError.wrapping {
            var removed: [MutationID] = []
            try db.inSavepoint {
                let mutations = Mutations(db: db, queue: engine.queue)
                guard let row = try mutations.row(id) else { throw Self.notFound(id) }
                var found: Set<MutationNumber> = [row.number]
                var next = [row.number]
                while let number = next.popLast() {
                    for child in try mutations.children(of: number) where found.insert(child).inserted {
                        next.append(child)
                    }
                }
                let now = self.now
                for number in found.sorted(by: >) {
                    guard let row = try mutations.row(number) else { continue }
                    guard row.progress.state != .sending else {
                        throw MutationQueueError(
                            .underWay,
                            "The mutation \(row.id) is being sent. Discard it when its attempt has ended."
                        )
                    }
                    try compensate(shown(row, db))
                    try engine.remove(row, db)
                    try mutations.noteDiscarded(row.id, at: now)
                    removed.append(row.id)
                }
                return .commit
            }
            return removed
        }
    }

    private static func notFound(_ id: MutationID) -> MutationQueueError {
        MutationQueueError(.notFound, "The queue has no mutation \(id): it was done, discarded or never added.")
    }
}

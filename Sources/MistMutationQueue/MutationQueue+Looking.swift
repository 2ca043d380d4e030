public import GRDB
import ProcessLeases
import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension MutationQueue {
    /// The state of the queue.
    ///
    /// - Parameter db: The connection; reading is enough.
    /// - Returns: The status.
    /// - Throws: A ``MutationQueueError`` about the file.
    public func status(in db: Database) throws -> MutationQueueStatus {
        try MutationQueueError.wrapping {
            let mutations = Mutations(db: db, queue: engine.queue)
            var status = MutationQueueStatus()
            for (state, isReady, count) in try mutations.counts() {
                switch state {
                case .waiting:
                    status.waiting += count
                    if !isReady { status.blocked += count }
                case .sending: status.sending += count
                case .failed: status.failed += count
                case .unreadable: status.unreadable += count
                }
            }
            let now = self.now
            status.pause = try Queues(db: db).pause(of: engine.queue).flatMap { $0.isOver(at: now) ? nil : $0.shown }
            if let oldest = try mutations.oldest() {
                status.oldest = oldest.date
                status.age = .milliseconds(max(now - oldest, 0))
            }
            status.nextAttempt = try mutations.earliestAttempt()?.date
            status.sender = try engine.lease.holder(db).map {
                MutationQueueStatus.Sender(
                    isThisQueue: $0.isThisMember,
                    programName: $0.programName,
                    processIdentifier: $0.processIdentifier
                )
            }
            return status
        }
    }

    /// The state of the queue now, then after each change.
    public func statusUpdates() -> MutationQueueUpdates<MutationQueueStatus> {
        MutationQueueUpdates { [self] in
            let watch = QueueWatch(database, signal, every: configuration.pollInterval)
            let last = Mutex<MutationQueueStatus?>(nil)
            return { [self] in
                while await watch.next() {
                    let status = try await read { db in try self.status(in: db) }
                    // The age alone is not a change.
                    var compared = status
                    compared.age = .zero
                    let isNew = last.withLock { last in
                        defer { last = compared }
                        return last != compared
                    }
                    if isNew { return status }
                }
                return nil
            }
        }
    }

    /// A mutation.
    ///
    /// - Parameters:
    ///   - id: Its identifier.
    ///   - db: The connection; reading is enough.
    /// - Returns: The mutation; `nil` where the queue does not have it: it was done, discarded or never added.
    /// - Throws: A ``MutationQueueError`` about the file.
    public func mutation(_ id: MutationID, in db: Database) throws -> QueuedMutation<Mutation>? {
        try MutationQueueError.wrapping {
            try Mutations(db: db, queue: engine.queue).row(id).map { try shown($0, db) }
        }
    }

    /// A page of mutations, in the order in which they were added.
    ///
    /// - Parameters:
    ///   - entity: What they change; `nil` for all.
    ///   - state: Their state; `nil` for all.
    ///   - position: The ``QueuedMutation/position`` of the last mutation of the page before; `nil` for the first page.
    ///   - limit: The most mutations of the page, from 1 to 1,000.
    ///   - db: The connection; reading is enough.
    /// - Returns: The mutations.
    /// - Throws: A ``MutationQueueError`` about the file.
    public func mutations(
        of entity: String? = nil,
        in state: MutationState? = nil,
        after position: Int64? = nil,
        limit: Int = 100,
        _ db: Database
    ) throws -> [QueuedMutation<Mutation>] {
        try MutationQueueError.wrapping {
            let entity = try entity.map { try Identifiers(db: db, queue: engine.queue).adopted($0) }
            return try Mutations(db: db, queue: engine.queue).page(
                of: entity,
                in: state,
                after: MutationNumber(position ?? 0),
                limit: min(max(limit, 1), 1000)
            ).map { try shown($0, db) }
        }
    }

    func shown(_ row: MutationRow, _ db: Database) throws -> QueuedMutation<Mutation> {
        let mutation: Mutation?
        do {
            mutation = try engine.decode(row, db)
        } catch let error as DatabaseError {
            throw error
        } catch {
            mutation = nil
        }
        let progress = row.progress
        return QueuedMutation(
            id: row.id,
            position: row.number.rawValue,
            entity: row.entity,
            mutation: mutation,
            json: Data(row.json.utf8),
            version: row.version,
            created: row.created.date,
            state: progress.state,
            isBlocked: progress.state == .waiting && !row.isReady,
            attempts: progress.attempts,
            limit: progress.limit,
            nextAttempt: progress.state == .waiting ? progress.nextAttempt.date : nil,
            hasBeenSent: progress.hasBeenSent,
            lastError: progress.error
        )
    }
}

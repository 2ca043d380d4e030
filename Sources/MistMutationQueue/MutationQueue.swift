public import GRDB
import Logging
package import ProcessLeases
import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Changes for a service that is not CloudKit, kept in the program's own SQLite file until they are sent.
///
/// A mutation is added in the transaction of the rows that it belongs to, so that either both are in the file or none.
/// It is sent later, also after the process has died, under an identifier that stays the same. When the service has
/// done it, the mutation is removed in the transaction of what the answer changes.
///
/// ```swift
/// let queue = try MutationQueue(
///     database,
///     MutationHandlers<Toast> { toast in
///         let answer = try await client.toast(id: toast.mutation.tasting, idempotencyKey: toast.id.rawValue)
///         return MutationEffects { db in try db.execute(sql: "UPDATE toast SET isSent = 1 WHERE id = ?", arguments:
///   [answer.id]) } }
/// )
/// try await database.write { db in
///     try db.execute(sql: "INSERT INTO toast …")
///     try queue.enqueue(Toast(tasting: "4711"), entity: "tasting 4711", in: db)
/// }
/// try await queue.drain()
/// ```
///
/// Mutations of one entity are sent in the order in which they were added; those of different entities at the same
/// time. Of several processes with the file open, one sends.
///
/// ## Topics
///
/// ### Adding
/// - ``enqueue(_:entity:after:attempts:id:in:)``
///
/// ### Sending
/// - ``drain()``
/// - ``run()``
/// - ``pause(_:_:in:)``
/// - ``resume(_:in:)``
///
/// ### Looking
/// - ``status(in:)``
/// - ``statusUpdates()``
/// - ``mutation(_:in:)``
/// - ``mutations(of:in:after:limit:_:)``
///
/// ### Failures
/// - ``failures()``
/// - ``retry(_:in:)``
/// - ``retryAll(in:)``
/// - ``discard(_:in:compensating:)``
public final class MutationQueue<Mutation: Codable & Sendable>: Sendable {
    let database: any DatabaseWriter
    let configuration: MutationQueueConfiguration
    package let engine: MutationEngine<Mutation>
    let name: String
    let observer: QueueObserver
    let signal = CommitSignal()
    /// Whether a call sends. Two at a time in one process wait for each other.
    let isSending = Mutex(false)

    private var now: MachineTime { MachineTime(configuration.clock()) }

    /// Opens a queue in a file, and makes its tables where there are none.
    ///
    /// The tables begin with `mist_`, and leave those of the program as they are. The file may be that of a store.
    ///
    /// - Parameters:
    ///   - database: The file. The queue is used with transactions of this database.
    ///   - name: The name of the queue: a file may have several, such as one for each user. 1 to 1,000 bytes.
    ///   - configuration: The settings.
    ///   - handlers: What the program does for the queue.
    /// - Throws: A ``MutationQueueError`` about the file, such as `otherTables` or `newerFormat`.
    public convenience init(
        _ database: any DatabaseWriter,
        named name: String = "mutations",
        configuration: MutationQueueConfiguration = MutationQueueConfiguration(),
        _ handlers: MutationHandlers<Mutation>
    ) throws {
        try self.init(database, named: name, configuration: configuration, handlers, leaseTiming: LeaseTiming())
    }

    package init(
        _ database: any DatabaseWriter,
        named name: String,
        configuration: MutationQueueConfiguration,
        _ handlers: MutationHandlers<Mutation>,
        leaseTiming: LeaseTiming
    ) throws {
        self.database = database
        self.configuration = configuration
        self.name = name
        observer = QueueObserver(queue: name, logger: configuration.logger, tracer: configuration.tracer)
        let now = MachineTime(configuration.clock())
        let (queue, path) = try QueueFile.open(database, queue: name, leases: { try Leases.create(in: $0) }, at: now)
        let engine = MutationEngine(
            queue: queue,
            lease: FileLease("queue-\(queue)", ofFile: path, timing: leaseTiming),
            handlers: handlers,
            configuration: configuration
        )
        self.engine = engine
        try MutationQueueError.wrapping {
            try database.write { db in
                // This program may have got a closure that reads them.
                try engine.rereadOlder(before: configuration.version + 1, db, at: now)
            }
        }
        database.add(transactionObserver: signal, extent: .observerLifetime)
    }

    // MARK: - Adding

    /// Adds a mutation, in the transaction of the program.
    ///
    /// ```swift
    /// try await database.write { db in
    ///     try db.execute(sql: "INSERT INTO tasting (id, text) VALUES ('local-7', 'Peat and smoke')")
    ///     let upload = try queue.enqueue(.upload(picture), entity: "picture \(picture)", in: db)
    ///     try queue.enqueue(.taste("local-7", picture), entity: "local-7", after: [upload.id], in: db)
    /// }
    /// // BEGIN IMMEDIATE
    /// // INSERT INTO tasting …
    /// // INSERT INTO mist_mutation (id, entity, json, …) VALUES ('0d0a8f6e-…', 'picture …', '{…}', …)
    /// // …
    /// // COMMIT
    /// ```
    ///
    /// - Parameters:
    ///   - mutation: The mutation. It is kept as JSON.
    ///   - entity: What it changes: mutations of one entity are sent in their order, one at a time. 1 to 1,000 bytes.
    ///     Where the service has replaced the identifier of an entity, either one names it.
    ///   - dependencies: The mutations that have to be done before. One that is not in the queue any more was done.
    ///   - limit: The limit of attempts, at least 1; `nil` for that of the configuration.
    ///   - id: The identifier and key; `nil` for a new one.
    ///   - db: The connection, in a transaction that writes to the queue's file.
    /// - Returns: Whether the mutation was added, or joined with one that waits.
    /// - Throws: A ``MutationQueueError``: `encoding`, `text`, `limit`, `identifierTaken`, `dependencyDiscarded`, or
    ///   one about the file. The mutation was not added then, and the transaction can go on.
    @discardableResult
    public func enqueue(
        _ mutation: Mutation,
        entity: String,
        after dependencies: [MutationID] = [],
        attempts limit: Int? = nil,
        id: MutationID? = nil,
        in db: Database
    ) throws -> EnqueuedMutation {
        try QueueFile.checkText(entity, "An entity")
        if let id { try QueueFile.checkText(id.rawValue, "The identifier of a mutation") }
        let limit = limit ?? configuration.attempts
        guard limit >= 1 else {
            throw MutationQueueError(.limit, "A mutation has at least one attempt, and not \(limit).")
        }
        let encoded = try Self.encoded(mutation)
        let now = self.now
        var result: EnqueuedMutation?
        try MutationQueueError.wrapping {
            try db.inSavepoint {
                result = try add(
                    mutation,
                    encoded,
                    entity: entity,
                    after: dependencies,
                    MutationProgress(limit: limit, nextAttempt: now),
                    id: id,
                    at: now,
                    db
                )
                return .commit
            }
        }
        // A savepoint that did not throw has run its closure.
        return result ?? .added(id ?? configuration.makeID())
    }

    private static func encoded(_ mutation: Mutation) throws -> EncodedMutation {
        do {
            return try EncodedMutation(mutation)
        } catch {
            throw MutationQueueError(.encoding, "The mutation cannot be written as JSON: \(error)")
        }
    }

    private func add(
        _ mutation: Mutation,
        _ encoded: EncodedMutation,
        entity: String,
        after dependencies: [MutationID],
        _ progress: MutationProgress,
        id: MutationID?,
        at now: MachineTime,
        _ db: Database
    ) throws -> EnqueuedMutation {
        let mutations = Mutations(db: db, queue: engine.queue)
        let identifiers = Identifiers(db: db, queue: engine.queue)
        let entity = try identifiers.adopted(entity)
        let parents = try dependencies.compactMap { dependency in
            if let number = try mutations.number(of: dependency) { return number }
            guard try mutations.isDiscarded(dependency) else { return nil as MutationNumber? }
            throw MutationQueueError(
                .dependencyDiscarded,
                "The mutation \(dependency) was discarded, so one that depends on it can never be sent."
            )
        }
        if let join = engine.handlers.join, let last = try mutations.last(of: entity),
            last.progress.state == .waiting, !last.progress.hasBeenSent,
            try mutations.children(of: last.number).isEmpty,
            // One that cannot be read cannot be joined.
            let earlier = try? engine.decode(last, db)
        {
            switch join(earlier, mutation) {
            case .separate: break
            case .annihilated:
                try engine.remove(last, db)
                try mutations.noteDiscarded(last.id, at: now)
                return .annihilated(last.id)
            case .replaced(by: let joined):
                let encoded = try Self.encoded(joined)
                try mutations.replace(
                    last.number,
                    version: configuration.version,
                    json: String(decoding: encoded.json, as: UTF8.self),
                    parents: parents
                )
                try identifiers.setNames(of: last.number, to: encoded.names)
                return .joined(last.id)
            }
        }
        let id = id ?? configuration.makeID()
        if try mutations.number(of: id) != nil || mutations.isDiscarded(id) {
            throw MutationQueueError(
                .identifierTaken,
                "The file has, or had, a mutation with the identifier \(id). Each one needs an identifier of its own."
            )
        }
        let number = try mutations.add(
            id,
            entity: entity,
            version: configuration.version,
            json: String(decoding: encoded.json, as: UTF8.self),
            parents: parents,
            progress,
            at: now
        )
        if !encoded.names.isEmpty { try identifiers.setNames(of: number, to: encoded.names) }
        return .added(id)
    }

    // MARK: - Looking

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

    private func shown(_ row: MutationRow, _ db: Database) throws -> QueuedMutation<Mutation> {
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

    // MARK: - Failures

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

    // MARK: - Pausing

    /// Pauses the queue for all processes, until ``resume(_:in:)``. Attempts that are under way go on.
    ///
    /// Where the queue pauses already until the program ends it, that reason stays.
    ///
    /// - Parameters:
    ///   - reason: Why.
    ///   - message: A text for people; `nil` for none.
    ///   - db: The connection, in a transaction that writes.
    /// - Throws: A ``MutationQueueError`` about the file.
    public func pause(_ reason: MutationPause.Reason, _ message: String? = nil, in db: Database) throws {
        try QueueFile.checkText(reason.rawValue, "The reason of a pause")
        try MutationQueueError.wrapping {
            try engine.pause(StoredPause(reason: reason, message: message, since: now, until: nil), db)
        }
    }

    /// Ends a pause.
    ///
    /// - Parameters:
    ///   - reason: The reason that does not hold any more: a pause with another one goes on. `nil` ends any.
    ///   - db: The connection, in a transaction that writes.
    /// - Throws: A ``MutationQueueError`` about the file.
    public func resume(_ reason: MutationPause.Reason? = nil, in db: Database) throws {
        try MutationQueueError.wrapping {
            let queues = Queues(db: db)
            guard let pause = try queues.pause(of: engine.queue), reason == nil || reason == pause.reason else {
                return
            }
            try queues.setPause(nil, of: engine.queue)
        }
    }

    /// The pause, as the file has it.
    package func storedPause(in db: Database) throws -> StoredPause? { try Queues(db: db).pause(of: engine.queue) }

    // MARK: - Connections

    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await database.read(body)
        } catch let error as DatabaseError {
            throw MutationQueueError(error)
        }
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await database.write(body)
        } catch let error as DatabaseError {
            throw MutationQueueError(error)
        }
    }
}

extension StoredPause {
    /// The pause, as the program sees it.
    var shown: MutationPause {
        MutationPause(reason: reason, message: message, since: since.date, until: until?.date)
    }
}

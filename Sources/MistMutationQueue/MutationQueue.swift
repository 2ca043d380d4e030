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
///         return MutationEffects { db in
///             try db.execute(sql: "UPDATE toast SET isSent = 1 WHERE id = ?", arguments: [answer.id])
///         }
///     }
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
    /// The attempts of the call that sends. Two at a time in one process wait for each other.
    let sender = Mutex<SentAttempts<Mutation>?>(nil)

    var now: MachineTime { MachineTime(configuration.clock()) }

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
                try engine.checkClock(db, at: now)
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

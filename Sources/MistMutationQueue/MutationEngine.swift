package import GRDB
package import ProcessLeases
package import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The steps of a process that sends the mutations of a queue: each is one transaction.
///
/// Everything that a step needs is in the file and in its parameters, so that a simulation can run it at any time, and
/// a process can end between any two steps.
package struct MutationEngine<Mutation: Codable & Sendable>: Sendable {
    let queue: QueueRowID
    package let lease: FileLease
    let handlers: MutationHandlers<Mutation>
    let configuration: MutationQueueConfiguration

    /// An attempt that is in the file.
    package struct Attempt: Sendable {
        package let number: MutationNumber
        /// The epoch of the lease in which it was noted.
        let epoch: Int64
        /// Whether the mutation was given to the send closure before.
        let hadBeenSent: Bool
        package let mutation: OutgoingMutation<Mutation>
    }

    /// The end of an attempt.
    package enum End: Sendable {
        case answer(MutationEffects)
        case error(any Error)
        case deadline
        case cancelled
        /// The send closure was not called.
        case notBegun
    }

    /// What follows from a step.
    package enum Next: Hashable, Sendable {
        /// Nothing can be sent before this time, unless an attempt ends or the program adds mutations; without a time,
        /// not at all. The queue may wait because it pauses.
        case wait(until: MachineTime?)
        /// As many attempts are in the file as may be.
        case busy
        /// Another process sends.
        case otherProcess
    }

    /// A step.
    package struct Step: Sendable {
        /// The attempts that the step has noted in the file.
        package var noted: [Attempt] = []
        package var next = Next.otherProcess
        /// The numbers of attempts that ended, by outcome, for reports.
        var outcomes: [Outcome] = []
        package var pause: StoredPause?
        /// Whether the pause began with this step.
        var pauseBegan = false

        /// Notes an end that came too late to count. An attempt that never began has no outcome.
        mutating func noteLate(_ end: End) {
            if case .notBegun = end { return }
            outcomes.append(.late)
        }
    }

    /// The outcome of an attempt, as reports name it.
    enum Outcome: String, Hashable, Sendable {
        case sent, again, failed, paused, unknown, unreadable, late
    }

    // MARK: Sending

    /// Takes the ends of attempts, and notes others.
    ///
    /// - Parameters:
    ///   - db: The connection, in a transaction that writes.
    ///   - ends: The attempts that ended.
    ///   - underWay: Those that this process still makes, or is about to make.
    ///   - ahead: How many more attempts to note than can be under way at a time.
    ///   - isForProgram: Whether a call of the program waits for the queue to be empty.
    ///   - now: The machine's time.
    /// - Returns: The step.
    /// - Throws: A `DatabaseError`. Then nothing was changed.
    package func step(
        _ db: Database,
        ends: [(attempt: Attempt, end: End)],
        underWay: [Attempt],
        ahead: Int = 0,
        isForProgram: Bool,
        at now: MachineTime
    ) throws -> Step {
        var step = Step()
        guard try lease.hold(db, isForProgram: isForProgram, at: now), let epoch = lease.heldEpoch?.rawValue else {
            for (_, end) in ends { step.noteLate(end) }
            return step
        }
        let mutations = Mutations(db: db, queue: queue)
        try checkClock(db, at: now)
        for (attempt, end) in ends { try finish(attempt, end, in: epoch, &step, db, at: now) }
        try recover(besides: underWay.map(\.number), in: epoch, &step, db, at: now)
        step.pause = try presentPause(db, at: now)
        if let pause = step.pause {
            step.next = .wait(until: pause.until)
            return step
        }
        try rereadOlder(before: configuration.version, db, at: now)
        var room = max(configuration.concurrency, 1) + ahead - underWay.count
        while room > 0 {
            let due = try mutations.due(at: now, limit: room)
            for row in due {
                if let attempt = try note(row, in: epoch, &step, db, at: now) {
                    step.noted.append(attempt)
                    room -= 1
                }
            }
            if due.isEmpty { break }
        }
        step.next = room > 0 ? .wait(until: try mutations.earliestAttempt()) : .busy
        return step
    }

    /// Takes the last ends of attempts, and gives up the lease.
    package func end(
        _ db: Database,
        ends: [(attempt: Attempt, end: End)],
        isDone: Bool,
        at now: MachineTime
    ) throws {
        guard try lease.isStillHeld(db), let epoch = lease.heldEpoch?.rawValue else { return }
        var step = Step()
        for (attempt, end) in ends { try finish(attempt, end, in: epoch, &step, db, at: now) }
        try lease.release(db, doneAt: isDone ? now : nil)
    }

    private func note(
        _ row: MutationRow,
        in epoch: Int64,
        _ step: inout Step,
        _ db: Database,
        at now: MachineTime
    ) throws -> Attempt? {
        let mutation: Mutation
        do {
            mutation = try decode(row, db)
        } catch let error as DatabaseError {
            throw error
        } catch {
            try apply(.isUnreadable(error: Self.text(error)), to: row, epoch: Int64(configuration.version), db, at: now)
            step.outcomes.append(.unreadable)
            return nil
        }
        let progress = try apply(.begins, to: row, epoch: epoch, db, at: now)
        return Attempt(
            number: row.number,
            epoch: epoch,
            hadBeenSent: row.progress.hasBeenSent,
            mutation: OutgoingMutation(
                id: row.id,
                entity: row.entity,
                mutation: mutation,
                created: row.created.date,
                attempt: progress.attempts,
                limit: progress.limit
            )
        )
    }

    private func finish(
        _ attempt: Attempt,
        _ end: End,
        in epoch: Int64,
        _ step: inout Step,
        _ db: Database,
        at now: MachineTime
    ) throws {
        let mutations = Mutations(db: db, queue: queue)
        // Where another process has sent it meanwhile, its answer counts.
        guard attempt.epoch == epoch, let row = try mutations.row(attempt.number),
            row.progress.state == .sending, row.epoch == epoch
        else {
            return step.noteLate(end)
        }
        switch end {
        case .answer(let effects):
            do {
                try db.inCompiledSavepoint {
                    try effects.apply(db)
                    for (local, service) in effects.adoptions { try adopt(local.rawValue, service, db, at: now) }
                    // The entity may be another one now.
                    let adopted = effects.adoptions.isEmpty ? nil : try mutations.row(attempt.number)
                    try apply(.succeeded, to: adopted ?? row, epoch: nil, db, at: now)
                }
                step.outcomes.append(.sent)
            } catch let error as DatabaseError where error.isAboutFile {
                throw error
            } catch {
                try apply(.effectsFailed(error: "The effects failed: \(Self.text(error))"), to: row, &step, db, at: now)
            }
        case .error(let error):
            let progress = row.progress
            let decision = handlers.decide(
                error,
                MutationAttempt(
                    id: row.id,
                    entity: row.entity,
                    number: progress.attempts,
                    limit: progress.limit
                )
            )
            try apply(.failed(decision, error: Self.text(error)), to: row, &step, db, at: now)
        case .deadline: try apply(.deadlineEnded, to: row, &step, db, at: now)
        case .cancelled: try apply(.cancelled, to: row, &step, db, at: now)
        case .notBegun:
            try apply(.notBegun(hadBeenSent: attempt.hadBeenSent), to: row, epoch: nil, db, at: now)
        }
    }

    /// Attempts of a process that has ended have an unknown outcome: they are made again, under the same key.
    private func recover(
        besides underWay: [MutationNumber],
        in epoch: Int64,
        _ step: inout Step,
        _ db: Database,
        at now: MachineTime
    ) throws {
        for row in try Mutations(db: db, queue: queue).beingSent(besides: underWay, in: epoch) {
            try apply(.processEnded, to: row, &step, db, at: now)
        }
    }

    private func apply(
        _ event: MutationEvent,
        to row: MutationRow,
        _ step: inout Step,
        _ db: Database,
        at now: MachineTime
    ) throws {
        let progress = try apply(event, to: row, epoch: nil, db, at: now)
        switch (event, progress.state) {
        case (.processEnded, _), (.cancelled, _): step.outcomes.append(.unknown)
        case (_, .failed): step.outcomes.append(.failed)
        case (.failed(let decision, _), _):
            if case .wait = decision.kind {
                step.outcomes.append(.paused)
                step.pauseBegan = true
            } else {
                step.outcomes.append(.again)
            }
        default: step.outcomes.append(.again)
        }
    }

    /// Decides what follows from an event, and stores it.
    @discardableResult
    func apply(
        _ event: MutationEvent,
        to row: MutationRow,
        epoch: Int64?,
        _ db: Database,
        at now: MachineTime
    ) throws -> MutationProgress {
        let backOff = BackOff(shortest: configuration.shortestBackOff, longest: configuration.longestBackOff)
        let (progress, action) = row.progress.after(event, at: now, backOff, random: configuration.random())
        let mutations = Mutations(db: db, queue: queue)
        switch action {
        case .remove: try remove(row, db)
        case .keep, .report: try mutations.store(progress, of: row, epoch: epoch)
        case .pause(let reason, let time, let message):
            try mutations.store(progress, of: row, epoch: epoch)
            let until = time.map { now + max($0.milliseconds, 0) }
            try pause(StoredPause(reason: reason, message: message, since: now, until: until), db)
        }
        return progress
    }

    func remove(_ row: MutationRow, _ db: Database) throws {
        try Mutations(db: db, queue: queue).remove(row)
        try Identifiers(db: db, queue: queue).removeNames(of: row.number)
    }

    private func adopt(_ local: String, _ service: String, _ db: Database, at now: MachineTime) throws {
        try QueueFile.checkText(service, "An identifier of the service")
        try Identifiers(db: db, queue: queue).adopt(local, as: service, at: now)
        try Mutations(db: db, queue: queue).rename(local, to: service)
    }

    // MARK: Waiting

    /// How far the clock goes before the file is told, in milliseconds. A write in each step would take longer.
    private static var clockStep: Int64 { 1000 }

    /// Where the clock was set back, times in the file are too far in the future, and waiting for them could take
    /// years. Whatever writes a time comes here before.
    func checkClock(_ db: Database, at now: MachineTime) throws {
        let queues = Queues(db: db)
        guard let latest = try queues.clock(of: queue) else { return try queues.setClock(of: queue, to: now) }
        if ClockCheck.isSetBack(from: latest, to: now) {
            try Mutations(db: db, queue: queue).endWaits(at: now)
            if let pause = try queues.pause(of: queue), pause.until != nil { try queues.setPause(nil, of: queue) }
        } else if now - latest < Self.clockStep {
            return
        }
        try queues.setClock(of: queue, to: now)
    }

    /// The pause that holds; one that is over is removed.
    private func presentPause(_ db: Database, at now: MachineTime) throws -> StoredPause? {
        let queues = Queues(db: db)
        guard let pause = try queues.pause(of: queue) else { return nil }
        guard pause.isOver(at: now) else { return pause }
        try queues.setPause(nil, of: queue)
        return nil
    }

    /// Pauses the queue, or keeps the pause that holds.
    func pause(_ pause: StoredPause, _ db: Database) throws {
        let queues = Queues(db: db)
        try queues.setPause(try queues.pause(of: queue).map { $0.joined(with: pause) } ?? pause, of: queue)
    }

    // MARK: Reading

    /// The mutation of a row, with the identifiers of the service.
    ///
    /// - Throws: A `DatabaseError`, or the reason why this version of the program cannot read it.
    func decode(_ row: MutationRow, _ db: Database) throws -> Mutation {
        let json = Data(row.json.utf8)
        if row.version != configuration.version, let readOlder = handlers.readOlder {
            // What the closure returns may name identifiers that the service has replaced, so it is read once more.
            let mutation = try readOlder(row.version, json)
            let encoded = try EncodedMutation(mutation)
            let identifiers = Identifiers(db: db, queue: queue)
            let services = try Dictionary(
                encoded.names.map { ($0, try identifiers.adopted($0)) },
                uniquingKeysWith: { $1 }
            )
            return try EncodedMutation.decode(Mutation.self, from: encoded.json, adopting: services)
        }
        guard row.version <= configuration.version else {
            throw UnreadableMutation(
                description: """
                    Version \(row.version) of the program wrote it, and this is version \(configuration.version).
                    """
            )
        }
        let services = try Identifiers(db: db, queue: queue).adopted(by: row.number)
        return try EncodedMutation.decode(Mutation.self, from: json, adopting: services)
    }

    /// Lets mutations wait that an earlier version of the program could not read.
    func rereadOlder(before version: Int, _ db: Database, at now: MachineTime) throws {
        let mutations = Mutations(db: db, queue: queue)
        for row in try mutations.unreadable(before: version) {
            try apply(.versionChanged, to: row, epoch: nil, db, at: now)
        }
    }

    /// The text of an error, for people: at most 1,000 characters, without a NUL.
    static func text(_ error: any Error) -> String {
        String(String(describing: error).replacing("\0", with: "").prefix(1000))
    }
}

/// The reason why a mutation cannot be read.
struct UnreadableMutation: Error, CustomStringConvertible {
    let description: String
}

extension DatabaseError {
    /// Whether the file is at fault, and not the statement.
    fileprivate var isAboutFile: Bool {
        [
            .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_READONLY, .SQLITE_CORRUPT,
            .SQLITE_CANTOPEN, .SQLITE_NOMEM, .SQLITE_PERM, .SQLITE_NOTADB, .SQLITE_INTERRUPT,
        ].contains(resultCode)
    }
}

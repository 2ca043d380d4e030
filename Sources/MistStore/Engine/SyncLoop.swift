import MistKit
import ProcessLeases
import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The asynchronous loop around the engines: it sends their requests and passes the replies to them.
///
/// Calls wait for passes over all scopes, and one task makes the passes, one after the other. A call that comes while a
/// pass is under way waits for that pass and for the next one: so what was there before the call is in its result. The
/// task ends when no call waits any more.
final class SyncLoop: Sendable {
    let engines: [SyncEngine]
    /// The file of the private records.
    private let place: UserFile
    /// The file that has the service of the store.
    private let publicFile: StoreFile
    private let service: any SyncService
    private let configuration: StoreConfiguration
    private let state = Mutex(State())

    /// The calls that wait, and the task that works for them.
    private struct State {
        var work: Task<Void, Never>?
        /// The calls that wait for the end of the pass under way, and those that also wait for the pass after it.
        var underWay: [Waiter] = []
        var next: [Waiter] = []
        var calls = 0
        /// Whether `work` was cancelled, because the last call had ended.
        var isCancelled = false
        /// Why the loop has ended: the store was closed, or the records of another user were opened.
        var end: StoreError?
        /// The session of the last request.
        var session: UInt64 = 0
        /// When the files that nothing refers to were collected last.
        var collected: MachineTime?
    }

    /// A call that waits.
    private struct Waiter {
        let call: Int
        let asker: SyncEngine.Asker
        /// The databases that it waits for.
        let scopes: Set<DatabaseScope>
        let continuation: CheckedContinuation<SyncSummary, any Error>
        /// The result of the pass that was under way when the call came.
        var summary = SyncSummary()
        /// Whether its task was cancelled. It waits on, because the work that it was the last to wait for still ends.
        var isCancelled = false
    }

    init(
        engines: [SyncEngine],
        place: UserFile,
        publicFile: StoreFile,
        service: any SyncService,
        configuration: StoreConfiguration
    ) throws {
        self.engines = engines
        self.place = place
        self.publicFile = publicFile
        self.service = service
        self.configuration = configuration
        for engine in engines { try engine.open(at: now) }
    }

    private var now: MachineTime { configuration.clock().machineTime }

    // MARK: Waiting

    /// The number of calls that wait, for tests.
    var waitingCalls: Int { state.withLock { $0.underWay.count + $0.next.count } }

    /// Waits for a pass over all scopes that begins now, or for the pass under way and the one after it.
    ///
    /// - Parameters:
    ///   - asker: The code that asks.
    ///   - scopes: The databases to synchronise.
    /// - Returns: The counts of the passes.
    /// - Throws: A ``StoreError`` when the file fails, when the store is closed, or when another user is signed in;
    ///   `CancellationError` when the task of this call was cancelled. Other calls wait on.
    func sync(by asker: SyncEngine.Asker, of scopes: Set<DatabaseScope>) async throws -> SyncSummary {
        let call = state.withLock { state in
            state.calls += 1
            return state.calls
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = Waiter(call: call, asker: asker, scopes: scopes, continuation: continuation)
                let refusal = state.withLock { state -> (any Error)? in
                    if let end = state.end { return end }
                    // If the task was cancelled before this, the cancellation handler found no call to end.
                    if Task.isCancelled { return CancellationError() }
                    state.next.append(waiter)
                    if state.work == nil { state.work = Task { await self.work() } }
                    return nil
                }
                if let refusal { continuation.resume(throwing: refusal) }
            }
        } onCancel: {
            leave(call)
        }
    }

    /// Ends the wait of a call. If no other call waits, the work is cancelled, and the call ends with it.
    private func leave(_ call: Int) {
        let (waiter, work) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = (state.underWay + state.next).first(where: { $0.call == call }) else {
                return (nil, nil)
            }
            func isOther(_ waiter: Waiter) -> Bool { waiter.call != call && !waiter.isCancelled }
            guard state.underWay.contains(where: isOther) || state.next.contains(where: isOther) else {
                for index in state.underWay.indices { state.underWay[index].isCancelled = true }
                for index in state.next.indices { state.next[index].isCancelled = true }
                state.isCancelled = true
                return (nil, state.work)
            }
            state.underWay.removeAll { $0.call == call }
            state.next.removeAll { $0.call == call }
            return (waiter, nil)
        }
        work?.cancel()
        waiter?.continuation.resume(throwing: CancellationError())
    }

    /// Makes passes as long as calls wait.
    private func work() async {
        while let (asker, scopes) = beginPass() {
            do {
                endPass(.success(try await cycle(by: asker, of: scopes)))
            } catch {
                endPass(.failure(error))
            }
        }
    }

    /// Begins a pass for the calls that wait for the next one.
    ///
    /// - Returns: The code that asks for the pass, and its databases. `nil` when no call waits, or when this task was
    ///   cancelled. Then another task makes the pass of the calls that came since.
    private func beginPass() -> (SyncEngine.Asker, Set<DatabaseScope>)? {
        let (pass, cancelled) = state.withLock { state -> ((SyncEngine.Asker, Set<DatabaseScope>)?, [Waiter]) in
            let cancelled = state.next.filter(\.isCancelled)
            state.next.removeAll(where: \.isCancelled)
            guard !state.next.isEmpty, !state.isCancelled else {
                state.isCancelled = false
                state.work = state.next.isEmpty ? nil : Task { await self.work() }
                return (nil, cancelled)
            }
            (state.underWay, state.next) = (state.next, [])
            let scopes = state.underWay.reduce(into: Set()) { $0.formUnion($1.scopes) }
            return ((.together(state.underWay.map(\.asker)), scopes), cancelled)
        }
        for waiter in cancelled { waiter.continuation.resume(throwing: CancellationError()) }
        return pass
    }

    /// Ends a pass, and the calls that waited for it.
    private func endPass(_ result: Result<SyncSummary, any Error>) {
        let (ended, closed, end) = state.withLock { state -> ([Waiter], [Waiter], StoreError) in
            let ended = state.underWay
            state.underWay = []
            if case .success(let summary) = result {
                for index in state.next.indices { state.next[index].summary += summary }
            }
            guard let end = state.end else { return (ended, [], .storeIsClosed) }
            defer { state.next = [] }
            if case .failure = result { return ([], ended + state.next, end) }
            return (ended, state.next, end)
        }
        for waiter in closed { waiter.continuation.resume(throwing: end) }
        for waiter in ended {
            waiter.continuation.resume(
                with: waiter.isCancelled ? .failure(CancellationError()) : result.map { waiter.summary + $0 }
            )
        }
    }

    /// Ends the work. The calls that wait, and later ones, throw an error.
    ///
    /// - Parameter error: The error: ``StoreError/Code-swift.struct/closed`` or
    ///   ``StoreError/Code-swift.struct/accountChanged``.
    /// - Returns: The work, which ends soon.
    @discardableResult
    func close(because error: StoreError) -> Task<Void, Never>? {
        let work = state.withLock { state in
            state.end = error
            return state.work
        }
        work?.cancel()
        return work
    }

    /// For how long nothing need be synchronised, because other processes have done it.
    ///
    /// - Parameter interval: The time between two synchronisations.
    /// - Returns: The shortest rest of all files; zero when a synchronisation is due.
    /// - Throws: A ``StoreError`` when a file fails.
    func rest(of interval: Duration) throws -> Duration {
        try engines.map { try $0.rest(of: interval, at: now) }.min() ?? .zero
    }

    // MARK: Working

    private func cycle(by asker: SyncEngine.Asker, of scopes: Set<DatabaseScope>) async throws -> SyncSummary {
        if let service = StoreService(service) { try publicFile.note(service, isUsed: true) }
        var summary = SyncSummary()
        var refusal: StoreError?
        let engines = engines.filter { scopes.contains($0.scope) }.inOrderOfUsers
        // A synchronisation that another process begins later contains what was there before.
        let epochs = try engines.map { try $0.leaseEpoch(for: asker, at: now) }
        for (engine, epoch) in zip(engines, epochs) {
            let observer = SyncObserver(
                scope: engine.scope,
                logger: configuration.logger,
                tracer: configuration.tracer
            )
            let cycle = try await observer.cycle { try await run(engine, by: asker, after: epoch, observer) }
            // Public changes of a user who is not signed in wait, and nothing else does.
            if cycle.end == .blocked(.otherUser), engine.scope == .private { refusal = try .otherUser(engine.file) }
            summary += cycle.summary
            // Another program on the same file may have fetched records whose types it does not know.
            summary += try engine.adoptForeign(at: now)
            let scopeSummary = try engine.scopeSummary(of: cycle, at: now)
            if let removal = scopeSummary.massRemoval { observer.report(removal) }
            summary.scopes[engine.scope] = scopeSummary
            if engine.scope == .private, let owner = try engine.owner { try publicFile.note(author: owner, of: place) }
            for other in engines where other.keepsUsers {
                if let user = try engine.confirmedUser { try other.note(user: user) }
            }
        }
        if let refusal { throw refusal }
        try collectFiles()
        return summary
    }

    /// Waits until no other process synchronises the file, and sends until there is nothing left to do now.
    ///
    /// - Returns: What was done. Where another process has done all of it meanwhile, the counts are 0.
    private func run(
        _ engine: SyncEngine,
        by asker: SyncEngine.Asker,
        after epoch: LeaseEpoch,
        _ observer: SyncObserver
    ) async throws -> SyncCycle {
        defer { try? engine.releaseLease() }
        let began = now
        var earlier = SyncSummary()
        while true {
            try Task.checkCancellation()
            switch try engine.turn(of: asker, after: epoch, at: FileLease.present) {
            case .waiting:
                try await Task.sleep(for: engine.file.lease.timing.look)
            case .done:
                var cycle = SyncCycle(began: began)
                cycle.summary = earlier
                cycle.condition = try engine.condition(at: now)
                return cycle
            case .free:
                guard try engine.requestPull(by: asker, at: now) else { continue }
                var cycle = try await withHeartbeat(of: engine) { try await self.sendWithFiles(engine, observer) }
                if cycle.end != .otherProcess {
                    cycle.summary = earlier + cycle.summary
                    return cycle
                }
                earlier += cycle.summary
            }
        }
    }

    /// Shows other processes that this one lives, while a closure runs. The closure is cancelled when another process
    /// has taken the lease.
    private func withHeartbeat(
        of engine: SyncEngine,
        _ body: @escaping @Sendable () async throws -> SyncCycle
    ) async throws -> SyncCycle {
        let superseded = SyncCycle(began: now, end: .otherProcess)
        return try await withThrowingTaskGroup(of: SyncCycle.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await body() }
            group.addTask {
                while true {
                    try await Task.sleep(for: engine.file.lease.timing.beat)
                    do {
                        if try engine.keepLease(at: self.now) == .lost { return superseded }
                    } catch let error as StoreError where error.code == .storage {
                        // The file is busy. While another process writes, none can take the lease, either.
                    }
                }
            }
            return try await group.next() ?? superseded
        }
    }

    /// Sends, and transfers files beside it, until there is nothing left to do now, or until another process has taken
    /// the lease.
    private func sendWithFiles(_ engine: SyncEngine, _ observer: SyncObserver) async throws -> SyncCycle {
        let driver = FileTransferDriver(
            engine: engine,
            service: service,
            configuration: configuration,
            session: { self.noteSession() }
        )
        return try await withThrowingTaskGroup(of: SyncCycle?.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                try await driver.run()
                return nil
            }
            group.addTask { try await self.send(engine, observer, driver) }
            while let cycle = try await group.next() {
                if let cycle { return cycle }
            }
            throw CancellationError()
        }
    }

    /// Sends until there is nothing left to do now and no file is transferred, or until another process has taken the
    /// lease.
    private func send(
        _ engine: SyncEngine,
        _ observer: SyncObserver,
        _ files: FileTransferDriver
    ) async throws -> SyncCycle {
        let offset = try engine.clockOffset()
        let service = service
        return try await withThrowingTaskGroup(of: SyncResponse?.self) { group in
            defer { group.cancelAll() }
            var cycle = SyncCycle(began: now)
            /// The request that a task of the group has sent already, with its session.
            var ahead: (request: SyncRequest, session: UInt64)?
            var droppedReplies = 0
            while true {
                try Task.checkCancellation()
                let session = noteSession()
                let limit = ContinuousClock.now.advanced(by: engine.file.lease.timing.beat * 2)
                let step = try engine.next(at: now, isTransferring: files.isTransferring)
                files.wake()
                if step == .transfer {
                    try await files.waitForEnd()
                    continue
                }
                guard case .send(let request, let number) = step else {
                    cycle.end = step
                    cycle.condition = try engine.condition(at: now)
                    cycle.correction = try engine.clockOffset() - offset
                    return cycle
                }
                cycle.requests += 1
                let isAhead = ahead?.request == request
                let sentIn = isAhead ? ahead?.session ?? session : session
                if !isAhead {
                    // Requests of a scope are sent one after the other, so the loop waits even for a reply that it does
                    // not use.
                    if ahead != nil { _ = try await group.next() }
                    group.addTask {
                        // A process that was stopped since the decision may have lost the lease.
                        if request.isWrite, ContinuousClock.now > limit, try engine.keepLease(at: self.now) != .keep {
                            return nil
                        }
                        return try await observer.send(request, over: service, ofSession: session)
                    }
                }
                guard let response = try await group.next() ?? nil else {
                    cycle.end = .otherProcess
                    return cycle
                }
                // A reply of another session may be about another user's records. Without its reply, the request has an
                // unknown outcome. A sign-in that fails again and again ends like any other refusal.
                if service.session != sentIn, droppedReplies < Self.mostDroppedReplies {
                    droppedReplies += 1
                    ahead = nil
                    continue
                }
                ahead = RequestAhead.request(after: request, response.result).map { ($0, session) }
                if let ahead {
                    group.addTask { try await observer.send(ahead.request, over: service, ofSession: ahead.session) }
                }
                cycle.summary += try engine.handle(
                    response.result,
                    to: number,
                    at: now,
                    // The engine does not know when a request that was sent ahead was sent.
                    date: isAhead ? nil : response.date.map { ServiceTime($0.milliseconds) }
                )
            }
        }
    }

    /// The most replies that one synchronisation of a scope drops because the session has changed.
    private static let mostDroppedReplies = 3

    /// Collects the files that nothing refers to, every ten minutes at most: it reads each row with a file.
    private func collectFiles() throws {
        let present = now
        let isDue = state.withLock { state in
            if let last = state.collected, present - last < 10 * 60 * 1000, present >= last { return false }
            state.collected = present
            return true
        }
        if isDue { for engine in engines { try engine.collectFiles(at: present) } }
    }

    /// Lets the engines check the user again after a sign-in.
    ///
    /// - Returns: The session.
    private func noteSession() -> UInt64 {
        let session = service.session
        let hasChanged = state.withLock { state in
            defer { state.session = session }
            return state.session != session
        }
        if hasChanged { for engine in engines { engine.sessionHasChanged() } }
        return session
    }
}

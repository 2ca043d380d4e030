import GRDB
import Logging
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
    /// With ``setSynchronisesAutomatically(_:)``, changes are sent at once, and a push of the service wakes exactly the
    /// database and the zone that it is about.
    ///
    /// Calls of ``MistStore/sync()`` beside it are independent of it: cancelling them does not end it.
    ///
    /// - Throws: A ``StoreError``: `noService` when the store has no service, `readOnly` when it was opened for reading,
    ///   `closed` when it is closed, `otherUser` when another user is signed in, or a code about the file;
    ///   `CancellationError` when the task is cancelled.
    public func run() async throws {
        // Before anything is observed: of a store that is closed, the observations have an error of their own.
        _ = try startedLoop()
        let signals = Wakes()
        try await withThrowingTaskGroup(of: Void.self) { group in
            do {
                let database = publicDatabase
                group.addTask { try await Self.observe(database, signals) }
            }
            group.addTask { try await self.observePrivateRecords(signals) }
            group.addTask { try await self.watchOtherProcesses() }
            group.addTask { try await self.listen(signals) }
            group.addTask { try await self.synchronise(signals) }
            defer { group.cancelAll() }
            try await group.next()
            // The observations end without an error when the task is cancelled.
            throw CancellationError()
        }
    }

    /// Wakes the loop after each local edit.
    private static func observe(
        _ database: LocalDatabase,
        _ signals: Wakes
    ) async throws {
        var last: [ServiceTime?]?
        // SQLite does not report changes of the table of edits, which has no row numbers.
        for try await latest in database.observe(in: .fullDatabase, watchesOtherProcesses: true, latestEdits) {
            // Edits that were acknowledged have no time any more.
            if let last, zip(latest, last).contains(where: { $0 != nil && $0 != $1 }) { signals.wake(.edit) }
            last = latest
        }
    }

    /// Observes the private records that are open, and after a switch those of the next user.
    private func observePrivateRecords(_ signals: Wakes) async throws {
        try await acrossSwitches {
            try await Self.observe(privateDatabase, signals)
        } onSwitch: {
            signals.wake(.edit)
        }
    }

    /// Runs a closure that uses the open records, and again after each switch to another user's records.
    ///
    /// - Parameters:
    ///   - body: The closure. It is run again when it throws ``StoreError/Code-swift.struct/accountChanged``.
    ///   - onSwitch: Is run before the closure is run again.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws otherwise.
    func acrossSwitches<Value>(
        _ body: () async throws -> Value,
        onSwitch: () -> Void = {}
    ) async throws -> Value {
        while true {
            do {
                return try await body()
            } catch let error as StoreError where error.code == .accountChanged {
                // The switch may still be under way: the new records are open when it has ended.
                try await switching.lock()
                switching.unlock()
                onSwitch()
            }
        }
    }

    /// Synchronises the open records, also where another user's records are opened meanwhile.
    private func syncOpenRecords(
        by asker: SyncEngine.Asker,
        of scopes: Set<DatabaseScope> = [.public, .private]
    ) async throws -> SyncSummary {
        try await acrossSwitches { try await sync(by: asker, of: scopes) }
    }

    /// For how long nothing need be synchronised, because other processes have done it.
    private func rest(of interval: Duration) throws -> Duration {
        do {
            return try startedLoop().rest(of: interval)
        } catch let error as StoreError where error.code == .accountChanged {
            return .zero
        }
    }

    /// Values that change with every local edit.
    private static func latestEdits(_ db: Database) throws -> [ServiceTime?] {
        try [PendingEdits(db: db).latestTime(), Tombstones(db: db).latestTime()]
    }

    private func synchronise(_ signals: Wakes) async throws {
        var interval = configuration.syncInterval
        var wakes = signals.stream.makeAsyncIterator()
        var work = Work()
        work.needsAll = true
        while true {
            // While nothing changes, one process asks the service for all of them.
            let asker = work.needsAll ? SyncEngine.Asker.loop : .interval(interval)
            if try work.needsAll || (work.isDue && rest(of: interval) == .zero) {
                let isIdle = try await syncOpenRecords(by: asker).isEmpty
                interval = isIdle ? min(interval * 2, configuration.longestSyncInterval) : configuration.syncInterval
            } else {
                for (scope, zones) in work.pushed { _ = try await syncOpenRecords(by: .push(zones), of: [scope]) }
            }
            if signals.isListening { interval = configuration.longestSyncInterval }
            let rest = try rest(of: interval)
            let pause = rest == .zero ? interval : rest
            let timer = Task {
                try await Task.sleep(for: pause)
                signals.wake(.timer)
            }
            defer { timer.cancel() }
            guard await wakes.next(isolation: nil) != nil else { throw CancellationError() }
            // Further changes within a second are sent together with the first.
            if !signals.isListening { try await Task.sleep(for: .seconds(1)) }
            work = signals.take()
        }
    }

    /// Passes pushes on while ``synchronisesAutomatically`` is set. A connection that fails is tried again, later each
    /// time.
    private func listen(_ signals: Wakes) async throws {
        guard let service = service as? any NotifyingService else {
            return try await Task.sleep(for: .seconds(1 << 40))
        }
        try await acrossSwitches { try await listenForOpenRecords(service, signals) }
    }

    private func listenForOpenRecords(_ service: any NotifyingService, _ signals: Wakes) async throws {
        let changes = privateDatabase.observe(watchesOtherProcesses: true) { db in try PushSubscriptions(db: db).all() }
        var listener: Task<Void, Never>?
        defer {
            listener?.cancel()
            signals.setListening(false)
        }
        for try await subscriptions in changes {
            listener?.cancel()
            signals.setListening(false)
            guard !subscriptions.isEmpty else { continue }
            listener = Task { await self.listen(to: subscriptions, service, signals) }
        }
    }

    private func listen(
        to subscriptions: [DatabaseScope: [String]],
        _ service: any NotifyingService,
        _ signals: Wakes
    ) async {
        var pause = configuration.syncInterval
        while !Task.isCancelled {
            signals.setListening(true)
            // What changed before the connection was there has no push.
            signals.wake(.push(.all))
            do {
                for try await push in service.pushes() {
                    pause = configuration.syncInterval
                    signals.wake(.push(PushWake(push, of: subscriptions)))
                }
            } catch {
                configuration.logger.notice("There is no connection for pushes.", metadata: ["error": "\(error)"])
            }
            guard !Task.isCancelled else { return }
            signals.setListening(false)
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, configuration.longestSyncInterval)
        }
    }
}

/// What there is to do for ``MistStore/MistStore/run()``.
struct Work: Equatable {
    /// All databases are to be synchronised: there are edits, or a push does not say what it is about.
    var needsAll = false
    /// It is time to look at all databases, unless another process has done it.
    var isDue = false
    /// The databases that pushes were about, with the zones; without zones, all of the database.
    var pushed: [DatabaseScope: Set<ZoneID>] = [:]

    mutating func add(_ wake: PushWake) {
        switch wake {
        case .nothing: break
        case .all: needsAll = true
        case .scope(let scope, let zones):
            // A database as a whole contains its zones.
            if zones.isEmpty || pushed[scope]?.isEmpty == true {
                pushed[scope] = []
            } else {
                pushed[scope, default: []].formUnion(zones)
            }
        }
    }
}

/// Wakes the loop of a store, and collects what for.
private final class Wakes: Sendable {
    enum Reason {
        case edit, timer
        case push(PushWake)
    }

    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let state = Mutex((work: Work(), isListening: false))

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether pushes arrive.
    var isListening: Bool { state.withLock { $0.isListening } }

    func setListening(_ isListening: Bool) {
        state.withLock { $0.isListening = isListening }
    }

    func wake(_ reason: Reason) {
        let isNothing = state.withLock { state in
            switch reason {
            case .edit: state.work.needsAll = true
            case .timer: state.work.isDue = true
            case .push(let wake): state.work.add(wake)
            }
            return state.work == Work()
        }
        if !isNothing { continuation.yield() }
    }

    func take() -> Work {
        state.withLock { state in
            defer { state.work = Work() }
            return state.work
        }
    }
}

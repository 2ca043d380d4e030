import GRDB
public import MistStore

/// A moment of a commit of a store's file: see `StoreConfiguration.onCommit(_:)`.
public enum CommitMoment: Hashable, Sendable {
    /// The changes of the transaction are written, and not committed. A process that dies now has lost them.
    case before
    /// The changes are on the disk.
    case after
}

extension StoreConfiguration {
    /// Calls a closure before and after each commit of the store's files: those of the program, and those of the
    /// synchronisation.
    ///
    /// A test can end the process there, copy the files, or count the transactions:
    ///
    /// ```swift
    /// let commits = Mutex(0)
    /// configuration.onCommit { if $0 == .after { commits.withLock { $0 += 1 } } }
    /// ```
    ///
    /// The closure is called on the thread that writes, while the file is locked for writing. It must not use the store.
    /// Opening a store has commits, too. A second call replaces the closure.
    ///
    /// - Parameter body: The closure.
    public mutating func onCommit(_ body: @escaping @Sendable (CommitMoment) -> Void) {
        transactionObserver = CommitHook(body: body)
    }
}

private final class CommitHook: TransactionObserver, Sendable {
    private let body: @Sendable (CommitMoment) -> Void

    init(body: @escaping @Sendable (CommitMoment) -> Void) {
        self.body = body
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { body(.before) }
    func databaseDidCommit(_ db: Database) { body(.after) }
    func databaseDidRollback(_ db: Database) {}
}

public import GRDB
import SQLiteTables
import Synchronization

extension MutationQueue {
    /// Pauses the queue for all processes, until ``resume(_:in:)``. Attempts that are under way go on. After the commit,
    /// this process begins no other attempt. Another process that sends at the time may begin some for a tenth of a
    /// second.
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
            db.afterNextTransaction { [self] _ in sender.withLock { $0 }?.hold() }
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
}

extension StoredPause {
    /// The pause, as the program sees it.
    var shown: MutationPause {
        MutationPause(reason: reason, message: message, since: since.date, until: until?.date)
    }
}

import CloudKitModel
import GRDB
import GRDBSQLite
import Synchronization

/// Ends the read of a request from another thread, when no client waits for the response any more.
///
/// A read is a call of SQLite, which does not look at the cancellation of tasks. Without an interruption, a query that
/// looks at a million records would go on, and keep its connection from other requests.
package final class ReadInterruption: Sendable {
    private struct State {
        var isInterrupted = false
        /// The address of the connection that reads; 0 while none does.
        var connection: UInt = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends the read that is under way, and those that would follow.
    package func interrupt() {
        state.withLock { state in
            state.isInterrupted = true
            // The connection stays open while the read holds it.
            if let connection = OpaquePointer(bitPattern: state.connection) { sqlite3_interrupt(connection) }
        }
    }

    /// Reads from a connection, unless or until the request is interrupted.
    ///
    /// - Throws: What `body` throws. When it is interrupted, it throws SQLite's error, or an ``EmulatorError`` if it had
    ///   not begun.
    func run<Value>(on db: Database, _ body: () throws -> Value) throws -> Value {
        try state.withLock { state in
            guard !state.isInterrupted else { throw EmulatorError(.internalError, "the client has left") }
            state.connection = UInt(bitPattern: db.sqliteConnection)
        }
        defer { state.withLock { $0.connection = 0 } }
        return try body()
    }
}

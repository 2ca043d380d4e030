import Synchronization

/// The failures of one request, with what explains them.
///
/// The reply has a code and the service's words. Someone who looks at the request in the log wants the rule behind them,
/// and what helps.
package final class RefusalNotes: Sendable {
    /// One failure.
    package struct Note: Sendable {
        /// The name of the record that failed; `nil` for the whole request.
        package var item: String?
        package var error: EmulatorError
    }

    private let state = Mutex<[Note]>([])

    /// Makes an empty list.
    package init() {}

    /// The failures so far, in the order in which they happened. A request of 200 operations has 200 at most.
    package var notes: [Note] { state.withLock { $0 } }

    /// Adds a failure.
    package func add(_ error: EmulatorError, of item: String?) {
        state.withLock { $0.append(Note(item: item, error: error)) }
    }
}

import Synchronization

/// The attempts of one operation, for whoever tells of them: log lines, metrics, spans.
///
/// It is put in place outside of the retries, and counted up inside of them, so that it does not matter who repeats or
/// why.
final class Attempts: Sendable {
    @TaskLocal static var current: Attempts?

    private let state = Mutex<(number: Int, failure: CloudKitError.Code?)>((0, nil))

    /// The number of the attempt that is under way, or was the last; 0 before the first.
    var number: Int { state.withLock { $0.number } }

    /// Begins the next attempt.
    ///
    /// - Returns: Its number, from 1, and how the one before it failed.
    func begin() -> (number: Int, failureBefore: CloudKitError.Code?) {
        state.withLock {
            $0.number += 1
            return ($0.number, $0.failure)
        }
    }

    /// Keeps how an attempt failed.
    func end(_ failure: CloudKitError.Code) {
        state.withLock { $0.failure = failure }
    }
}

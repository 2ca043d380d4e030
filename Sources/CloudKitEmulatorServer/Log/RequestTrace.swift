import CloudKitEmulator
import OpenAPISwiftRuntime
import Synchronization

/// What the parts of the server find out about one request, for the log.
///
/// Nothing is copied and nothing is written as text until someone looks at the request.
final class RequestTrace: Sendable {
    struct Contents: Sendable {
        /// The caller, once the credentials are accepted.
        var caller: Caller?
        /// The body; `nil` where it was not read as a whole.
        var body: ArraySlice<UInt8>?
        /// The fault that a rule made.
        var fault: Fault?
    }

    private let state = Mutex(Contents())
    /// Why the request, or items of it, were refused.
    let refusals = RefusalNotes()

    var contents: Contents { state.withLock { $0 } }

    func note(_ change: (inout sending Contents) -> Void) {
        state.withLock { change(&$0) }
    }
}

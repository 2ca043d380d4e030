import MistKit
import SQLiteTables

/// Waits after failures.
extension EngineProcedure {
    /// Lets the scope rest. A time that the service named holds for all requests of the scope; another wait
    /// ends when the program or a local edit asks.
    func restScope(because error: CloudKitError, as condition: SyncCondition? = nil) throws {
        let condition = condition ?? error.condition
        let end = now + delay(after: try scopeState.row().failures, error)
        // After the rest, a single record is sent, to find out whether there is space again.
        if condition == .quotaExceeded { try scopeState.setBatch(1) }
        try scopeState.rest(until: end, because: condition, error.redirectURL ?? error.message)
        if error.retryAfter != nil { try scopeState.hold(until: end, since: now) }
    }

    /// Lets one zone rest, because the service could not deliver its changes.
    func restZone(_ zone: StoredZone, because error: CloudKitError) throws {
        // An earlier page of the same reply may have changed the number of failures.
        let failures = try zones.fetch(zone.id)?.failures ?? 0
        try zones.rest(
            zone.id,
            until: now + delay(after: failures, error),
            because: error.description,
            heldSince: error.retryAfter == nil ? nil : now
        )
    }

    /// How long to wait before a request that failed is sent again, in milliseconds: as long as the service says, and
    /// up to a second more; otherwise longer with each failure.
    func delay(after failures: Int64, _ error: CloudKitError) -> Int64 {
        error.retryAfter.map { $0.milliseconds + Int64(configuration.random() * 1000) } ?? backoff(after: failures)
    }

    /// A random wait in milliseconds: up to a second, two, four, … at most five minutes.
    func backoff(after failures: Int64) -> Int64 {
        BackOff().wait(after: Int(min(failures, 40)) + 1, random: configuration.random()) + 1
    }
}

extension CloudKitError {
    /// Why requests rest after the error.
    var condition: SyncCondition {
        switch code {
        case .quotaExceeded: .quotaExceeded
        case .authenticationRequired, .authenticationFailed: .signedOut
        case .network: .offline
        default: .throttled
        }
    }

    /// The name of the record that the error is about.
    var recordName: String? {
        if case .record(let name)? = item { name } else { nil }
    }
}

import MistKit

/// The engine's reaction to the outcome of one operation: a pure decision. The chapter "When something waits" has it as
/// a table.
enum ItemOutcome: Hashable {
    /// It was done.
    case acknowledged
    /// The service has another version: it is looked up and merged.
    case lookUp
    /// The record is gone at the service: the delete wins.
    case deletedElsewhere
    /// The zone is gone.
    case zoneIsGone
    /// The failure is of the service, not of the record: sent again later.
    case later
    /// The storage is full: pushes rest.
    case quota
    /// A user must sign in.
    case signIn
    /// Another item of an atomic request failed: this item is sent again without that item.
    case again
    /// The service knows records that refer to this record, and this device does not. The zone is fetched, then the
    /// operation is sent again.
    case fetchZone
    /// The outcome is unknown.
    case unknown
    /// The service does not know the field or the type: all records of the type wait.
    case parkType(field: String?)
    /// The service refuses this record: it waits for a change.
    case park

    /// Decides about an operation by the failure of its item; a failure of `nil` is a success.
    static func of(_ error: CloudKitError?, _ operation: SentOperation.Kind) -> ItemOutcome {
        guard let error else { return .acknowledged }
        switch error.code {
        case .conflict, .exists: return .lookUp
        case .notFound:
            switch operation {
            case .delete: return .acknowledged
            case .update: return .deletedElsewhere
            // A record that is created does not exist yet, so it is the type that the schema lacks.
            case .create: return .parkType(field: "")
            }
        case .zoneNotFound: return .zoneIsGone
        case .throttled, .tryAgainLater, .zoneBusy, .internalError, .serviceUnavailable, .misdirectedRequest:
            return .later
        case .quotaExceeded: return .quota
        case .authenticationRequired, .authenticationFailed: return .signIn
        case .atomicError: return .again
        case .validatingReferenceError: return .fetchZone
        case .outcomeUnknown, .network, .cancelled, .unexpectedResponse: return .unknown
        case .badRequest:
            return error.unknownField.map { .parkType(field: $0) } ?? .park
        default:
            return error.retryAfter == nil ? .park : .later
        }
    }
}

extension CloudKitError {
    /// The name of the field that the schema lacks, from the text of the reason; empty where the schema lacks the type.
    ///
    /// "Field X not found in Note" was observed of development containers; the texts of production are those of Apple's
    /// framework.
    fileprivate var unknownField: String? {
        guard let reason else { return nil }
        if let match = reason.firstMatch(of: /Field '?([A-Za-z][A-Za-z0-9_]*)'? not found in/) {
            return String(match.1)
        }
        if let match = reason.firstMatch(of: /Cannot create or modify field '([A-Za-z][A-Za-z0-9_]*)'/) {
            return String(match.1)
        }
        return reason.contains("Cannot create new type") ? "" : nil
    }
}

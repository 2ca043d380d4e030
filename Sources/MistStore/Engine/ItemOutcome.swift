import MistKit

/// What the engine does after one operation of a request: a pure decision, the table of outcomes in the documentation.
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
    /// Another item of an atomic request failed: sent again without it.
    case again
    /// Records refer to it that the service knows and this device does not: the zone is fetched, then it is tried again.
    case fetchZone
    /// Whether it was done is unknown.
    case unknown
    /// The service does not know the field or the type: all records of the type wait.
    case parkType(field: String?)
    /// The service refuses this record: it waits for a change.
    case park

    enum Operation { case create, update, delete }

    /// Decides about an operation by the failure of its item; `nil` is a success.
    static func of(_ error: CloudKitError?, _ operation: Operation) -> ItemOutcome {
        guard let error else { return .acknowledged }
        switch error.code {
        case .conflict, .exists: return .lookUp
        case .notFound: return operation == .delete ? .acknowledged : .deletedElsewhere
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
    /// The field that the schema does not have, as the reason names it; empty where it is the type.
    ///
    /// "Field X not found in Note" was observed of development containers; the texts of production are those of Apple's framework.
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

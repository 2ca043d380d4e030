public import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error of a request to CloudKit: one type for every cause.
///
/// ```swift
/// do {
///     try await database.update(note)
/// } catch let error as CloudKitError where error.code == .conflict {
///     // Another client changed the record since it was fetched: fetch it again, merge, update.
/// }
/// ```
///
/// An error says what happened and what can be done about it, and never holds a credential: tokens, signatures and
/// key identifiers are removed from every text in it, ``cause`` included.
///
/// ## Topics
///
/// ### Deciding what to do
/// - ``code-swift.property``
/// - ``retryAfter``
/// - ``redirectURL``
/// - ``isTransient``
/// - ``mayHaveBeenDone``
///
/// ### Telling people
/// - ``message``
/// - ``reason``
/// - ``requestUUID``
/// - ``description``
///
/// ### Where it happened
/// - ``operation``
/// - ``httpStatus``
/// - ``item``
/// - ``attempts``
/// - ``cause``
///
/// ### Merging
/// - ``serverRecord``
/// - ``serverRecord(as:)``
public struct CloudKitError: Error, Sendable {
    /// The kind of the failure.
    public var code: Code

    /// A text for programmers: what happened, the likely cause, and what to do.
    public var message: String

    /// The reason that the service gave, in its own words.
    public var reason: String?

    /// How long the service asks to wait before the request is sent again; `nil` when it did not say.
    public var retryAfter: Duration?

    /// The service's identifier of the request, which Apple's support can look up.
    public var requestUUID: String?

    /// The address where a person signs in; present with ``Code-swift.struct/authenticationRequired``.
    public var redirectURL: String?

    /// The status of the response; `nil` for a failed item of a batch, whose response was a success, and for failures
    /// that no response caused.
    public var httpStatus: HTTPResponse.Status?

    /// The record, zone, subscription or person of a batch that failed; `nil` when the request as a whole failed.
    public var item: Item?

    /// The operation that failed, by its name in the protocol's OpenAPI document, such as `modifyRecords`.
    public var operation: String?

    /// The error underneath, such as the transport's.
    public var cause: (any Error)?

    /// How often the request was sent before the call gave up with this error; 0 when it was never sent.
    ///
    /// See ``RetryPolicy``.
    public var attempts = 0

    /// Whether the write may have been done although it failed with this error.
    ///
    /// It is `true` in these cases:
    ///
    /// - A reply was lost, could not be read, or was not waited for because the task was cancelled.
    /// - With ``Code-swift.struct/conflict`` and ``Code-swift.struct/exists``: the reply to an earlier attempt of this call was lost, and
    ///   then another client changed the record. ``serverRecord`` may already hold the write.
    ///
    /// `false` means that this call wrote nothing. If you repeat a call yourself, the new call does not know of the
    /// earlier one.
    public var mayHaveBeenDone = false

    /// The record as the service has it, with ``Code-swift.struct/conflict`` and ``Code-swift.struct/exists`` of a write.
    ///
    /// The client fetches it, as the service does not send it with the error; it is `nil` if that failed. See
    /// ``serverRecord(as:)``.
    public var serverRecord: Record? {
        get { serverRecordBox?.record }
        set { serverRecordBox = newValue.map(RecordBox.init) }
    }
    private var serverRecordBox: RecordBox?

    /// A record on the heap, so that errors stay small.
    private final class RecordBox: Sendable {
        let record: Record

        init(_ record: Record) {
            self.record = record
        }
    }

    /// Makes an error; token managers and transports of your own use this.
    ///
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - message: What happened, its likely cause and the way out. Never put a credential in it.
    ///   - cause: The error underneath.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The part of a batch that an error is about.
    public enum Item: Hashable, Sendable {
        /// A record, by name.
        case record(name: String)
        /// A zone, by name.
        case zone(name: String)
        /// A subscription, by identifier.
        case subscription(id: String)
        /// A person, by the address, phone number or record name that was looked up.
        case user(String)
        /// A share, by the short GUID that its link ends with.
        case share(shortGUID: String)
    }

    /// Whether the same request may succeed later without a change: throttling, a busy zone, a service that is down, a
    /// network that failed.
    ///
    /// This says nothing about whether repeating is safe; see ``RetryPolicy``.
    public var isTransient: Bool {
        switch code {
        case .throttled, .tryAgainLater, .zoneBusy, .internalError, .serviceUnavailable, .misdirectedRequest, .network:
            true
        default:
            retryAfter != nil
        }
    }
}

extension CloudKitError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The error on one line: code, status, operation, item, message, the service's reason and the request's uuid.
    public var description: String {
        var text = code.description
        if let httpStatus { text += " (HTTP \(httpStatus.code))" }
        if let operation { text += " in \(operation)" }
        switch item {
        case .record(let name): text += " for record \(name)"
        case .zone(let name): text += " for zone \(name)"
        case .subscription(let id): text += " for subscription \(id)"
        case .user(let lookup): text += " for user \(lookup)"
        case .share(let shortGUID): text += " for share \(shortGUID)"
        case nil: break
        }
        text += ": \(message)"
        if attempts > 1 { text += " It was sent \(attempts) times." }
        if let reason { text += " The service said: \(reason)." }
        if let retryAfter { text += " It may be tried again in \(retryAfter)." }
        // This error's message already contains the message of a transport's error.
        if let cause = cause is TransportError ? (cause as? TransportError)?.cause : cause {
            text += " Underneath: \(cause)"
        }
        if let requestUUID { text += " [request \(requestUUID)]" }
        return text
    }

    /// The same as ``description``.
    public var debugDescription: String { description }
}

extension CloudKitError: LocalizedError {
    /// The same as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

import CloudKitEmulator
public import CloudKitModel
import HTTPTypes

/// A fault of the emulator, and the requests that it affects.
///
/// ```swift
/// emulator.faults.add(FaultRule(.throttle(retryAfter: 3), on: "records/modify", calls: .first(2)))
/// // POST /database/1/iCloud.test.mistkit/development/private/records/modify
/// // 429, {"uuid":…,"serverErrorCode":"THROTTLED","reason":"Too many requests","retryAfter":3}   twice
/// ```
///
/// A rule counts the requests that match its endpoint and database, and applies to those that ``calls`` names. Where
/// several rules apply to a request, the first one wins. The others count the request as well.
public struct FaultRule: Sendable {
    /// The numbers of the matching requests that a rule applies to, from 1.
    public struct Calls: Hashable, Sendable {
        let first: Int
        let last: Int
        let step: Int

        /// Every request.
        public static let all = Calls(first: 1, last: .max, step: 1)
        /// The first `count` requests.
        ///
        /// - Parameter count: The number of requests.
        /// - Returns: The calls.
        public static func first(_ count: Int) -> Calls { Calls(first: 1, last: count, step: 1) }
        /// A single request.
        ///
        /// - Parameter number: The number of the request, from 1.
        /// - Returns: The call.
        public static func only(_ number: Int) -> Calls { Calls(first: number, last: number, step: 1) }
        /// A request and all that follow.
        ///
        /// - Parameter number: The number of the request, from 1.
        /// - Returns: The calls.
        public static func from(_ number: Int) -> Calls { Calls(first: number, last: .max, step: 1) }
        /// Every `number`th request: `every(3)` is the third, the sixth and so on.
        ///
        /// - Parameter number: The distance between two requests, from 1. A smaller number counts as 1.
        /// - Returns: The calls.
        public static func every(_ number: Int) -> Calls {
            Calls(first: max(number, 1), last: .max, step: max(number, 1))
        }

        func contains(_ number: Int) -> Bool {
            number >= first && number <= last && (number - first).isMultiple(of: step)
        }
    }

    /// Who sends a request, as its credentials say. Whether they are valid does not matter.
    public struct Identity: Hashable, Sendable, CustomStringConvertible {
        /// `nobody`, `server` or a user record name.
        package let text: String

        package init(_ text: String) {
            self.text = text
        }

        /// A client with an API token alone, or without credentials.
        public static let nobody = Identity("nobody")
        /// A client with a server-to-server key.
        public static let server = Identity("server")
        /// A user.
        ///
        /// - Parameter recordName: The user record name.
        /// - Returns: The identity.
        public static func user(_ recordName: String) -> Identity { Identity(recordName) }

        /// `nobody`, `server` or a user record name.
        public var description: String { text }
    }

    /// The fault.
    public var fault: Fault
    /// The end of the path, such as `records/modify`; every path when `nil`.
    public var endpoint: String?
    /// The database; every database when `nil`.
    public var database: DatabaseScope?
    /// The numbers of the matching requests that the rule applies to.
    public var calls: Calls
    /// Who sends the requests; everyone when `nil`.
    public var identity: Identity?
    /// The probability with which the rule applies to a request that ``calls`` names, from 0 to 1.
    public var probability: Double
    /// The seed of the random numbers of ``probability``. Whether the rule applies to a request depends on it and on
    /// the number of the request alone, so the same requests go wrong again.
    public var seed: UInt64

    /// Makes a rule.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - endpoint: The end of the path, such as `records/modify`; every path when `nil`.
    ///   - database: The database; every database when `nil`.
    ///   - calls: The numbers of the matching requests that the rule applies to. By default the first.
    ///   - identity: Who sends the requests; everyone when `nil`.
    ///   - probability: The probability with which the rule applies to a request that `calls` names, from 0 to 1.
    ///   - seed: The seed of the random numbers of `probability`.
    public init(
        _ fault: Fault,
        on endpoint: String? = nil,
        in database: DatabaseScope? = nil,
        calls: Calls = .first(1),
        by identity: Identity? = nil,
        probability: Double = 1,
        seed: UInt64 = 0
    ) {
        self.fault = fault
        self.endpoint = endpoint
        self.database = database
        self.calls = calls
        self.identity = identity
        self.probability = probability
        self.seed = seed
    }

    /// Whether the rule applies to a matching request.
    ///
    /// - Parameter number: The number of the request among the matching ones, from 1.
    /// - Returns: Whether it goes wrong.
    func applies(toCall number: Int) -> Bool {
        guard calls.contains(number) else { return false }
        guard probability < 1 else { return true }
        // SplitMix64: the draw of a number does not depend on how many draws there were, so requests that arrive at the
        // same time draw the same in every order.
        var mixed = seed &+ UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return Double(mixed >> 11) / Double(1 << 53) < probability
    }

    func matches(path: Substring) -> Bool {
        if let endpoint, !path.hasSuffix("/" + endpoint) { return false }
        guard let database else { return true }
        // /database/1/{container}/{environment}/{database}/{entity}/{action}
        let parts = path.split(separator: "/", maxSplits: 5)
        return parts.count == 6 && parts[0] == "database" && parts[4] == database.rawValue
    }
}

/// One fault that a test can order of the emulator.
///
/// ## Topics
///
/// ### Connections
/// - ``loseRequest``
/// - ``loseReply``
/// - ``resetReply(afterBytes:)``
/// - ``hang``
/// - ``hang(for:)``
///
/// ### Refusals of the service
/// - ``throttle(retryAfter:header:)``
/// - ``refuse(_:status:reason:retryAfter:header:)``
/// - ``refuseItems(_:named:reason:retryAfter:)``
/// - ``undeliveredRecords(named:code:)``
/// - ``expiredToken``
///
/// ### Answers of others
/// - ``misdirected``
/// - ``htmlPage(status:)``
/// - ``emptyReply(status:header:)``
///
/// ### Replies that are damaged
/// - ``invalidJSON``
/// - ``truncateReply(afterBytes:)``
/// - ``contentType(_:)``
///
/// ### Time
/// - ``slowReply(chunkSize:pause:)``
/// - ``delay(_:)``
/// - ``clockSkew(seconds:)``
public struct Fault: Sendable {
    enum Kind: Sendable {
        case loseRequest
        case loseReply
        case reset(afterBytes: Int)
        case hang(Duration)
        case fail(RequestFailure, retryAfterHeader: String?)
        case failItems(ItemFault)
        case failDelivery(ItemFault)
        case answer(HTTPResponse, body: String?)
        case garble
        case truncate(afterBytes: Int)
        case contentType(String)
        case slow(chunkSize: Int, pause: Duration)
        case delay(Duration)
        case clockSkew(seconds: Double)
    }

    let kind: Kind

    /// The connection breaks, and the request is not carried out.
    public static let loseRequest = Fault(kind: .loseRequest)

    /// The request is carried out, and the connection breaks before the reply.
    public static let loseReply = Fault(kind: .loseReply)

    /// The request is carried out, and the connection breaks in the middle of the reply.
    ///
    /// - Parameter count: The number of bytes of the body that are sent before.
    /// - Returns: The fault.
    public static func resetReply(afterBytes count: Int = 10) -> Fault { Fault(kind: .reset(afterBytes: count)) }

    /// The request is not carried out, and no reply comes: ``hang(for:)`` for 60 seconds, the timeout of the client's
    /// transport.
    public static let hang = hang(for: .seconds(60))

    /// The request is not carried out, and no reply comes.
    ///
    /// The fault ends when the client's task is cancelled or the client closes its connection. Otherwise it ends after
    /// `duration`: in process with a `TransportError` of the code `timedOut`, over a socket with the end of the
    /// connection.
    ///
    /// - Parameter duration: How long to wait before it ends, on the clock of the server's configuration.
    /// - Returns: The fault.
    public static func hang(for duration: Duration) -> Fault { Fault(kind: .hang(duration)) }

    /// The request is not carried out: 429, `THROTTLED`.
    ///
    /// - Parameters:
    ///   - retryAfter: The seconds to wait, in the body; none when `nil`.
    ///   - header: The header field `Retry-After`: seconds, or a date; none when `nil`.
    /// - Returns: The fault.
    public static func throttle(retryAfter: Double? = nil, header: String? = nil) -> Fault {
        var failure = RequestFailure(EmulatorError(.throttled, "Too many requests", retryAfter: retryAfter))
        failure.status = .tooManyRequests
        return Fault(kind: .fail(failure, retryAfterHeader: header))
    }

    /// The request is not carried out: it is refused as a whole, with an error dictionary.
    ///
    /// - Parameters:
    ///   - code: The code, one of the service's or any other.
    ///   - status: The status; the usual status of the code when `nil`.
    ///   - reason: The service's words; words about the fault rule when `nil`.
    ///   - retryAfter: The seconds to wait, in the body; none when `nil`.
    ///   - header: The header field `Retry-After`: seconds, or a date; none when `nil`.
    /// - Returns: The fault.
    public static func refuse(
        _ code: ServerErrorCode,
        status: Int? = nil,
        reason: String? = nil,
        retryAfter: Double? = nil,
        header: String? = nil
    ) -> Fault {
        var failure = RequestFailure(EmulatorError(code, reason ?? defaultReason, retryAfter: retryAfter))
        if let status { failure.status = HTTPResponse.Status(code: status) }
        return Fault(kind: .fail(failure, retryAfterHeader: header))
    }

    /// The words of a refusal that does not have its own.
    private static let defaultReason = "A fault rule of the emulator refused this request"

    /// Single records of `records/modify` or `records/lookup` fail, and the others succeed. An atomic batch fails as a
    /// whole.
    ///
    /// - Parameters:
    ///   - code: The code, one of the service's or any other.
    ///   - names: The records' names; all when `nil`.
    ///   - reason: The service's words; words about the fault rule when `nil`.
    ///   - retryAfter: The seconds to wait; none when `nil`.
    /// - Returns: The fault.
    public static func refuseItems(
        _ code: ServerErrorCode,
        named names: Set<String>? = nil,
        reason: String? = nil,
        retryAfter: Double? = nil
    ) -> Fault {
        let error = EmulatorError(code, reason ?? defaultReason, retryAfter: retryAfter)
        return Fault(kind: .failItems(ItemFault(names: names, error: error)))
    }

    /// Single records of `changes/zone`, `records/changes`, `records/query` or `records/lookup` have an error in place of
    /// their fields, and the others are delivered. The token of the page is behind all of them.
    ///
    /// ```swift
    /// emulator.faults.add(FaultRule(.undeliveredRecords(named: ["milk"]), on: "changes/zone"))
    /// // {"zones":[{"records":[{"recordName":"milk","serverErrorCode":"INTERNAL_ERROR",…},…],"syncToken":…}]}
    /// ```
    ///
    /// - Parameters:
    ///   - names: The records' names; all when `nil`.
    ///   - code: The code, one of the service's or any other.
    /// - Returns: The fault.
    public static func undeliveredRecords(
        named names: Set<String>? = nil,
        code: ServerErrorCode = .internalError
    ) -> Fault {
        let error = EmulatorError(code, "A fault rule of the emulator did not deliver this record")
        return Fault(kind: .failDelivery(ItemFault(names: names, error: error)))
    }

    /// The web authentication token counts as expired: 421, `AUTHENTICATION_REQUIRED`, with a `redirectURL`.
    public static let expiredToken = refuse(.authenticationRequired, reason: "request needs authorization")

    /// The status 421 in its meaning of HTTP/2, as from a server of another host on the same connection. There is no
    /// error dictionary.
    public static let misdirected = Fault(
        kind: .answer(
            HTTPResponse(status: .misdirectedRequest, headerFields: [.contentType: "text/plain"]),
            body: "Misdirected Request"
        )
    )

    /// The request is not carried out, and the reply is an HTML page, as from a proxy or the sign-in page of a network.
    ///
    /// - Parameter status: The status, such as 200 or 502.
    /// - Returns: The fault.
    public static func htmlPage(status: Int) -> Fault {
        Fault(
            kind: .answer(
                HTTPResponse(
                    status: HTTPResponse.Status(code: status),
                    headerFields: [.contentType: "text/html; charset=utf-8"]
                ),
                body: "<!DOCTYPE html><html><body><h1>Something else answers here</h1></body></html>"
            )
        )
    }

    /// The request is not carried out, and the reply is a status without a body.
    ///
    /// - Parameters:
    ///   - status: The status, such as 503.
    ///   - header: The header field `Retry-After`; none when `nil`.
    /// - Returns: The fault.
    public static func emptyReply(status: Int, header: String? = nil) -> Fault {
        var response = HTTPResponse(status: HTTPResponse.Status(code: status))
        response.headerFields[.retryAfter] = header
        return Fault(kind: .answer(response, body: nil))
    }

    /// The request is carried out, and the reply is not valid JSON.
    public static let invalidJSON = Fault(kind: .garble)

    /// The request is carried out, and the JSON of the reply is cut.
    ///
    /// The message is complete in the sense of HTTP.
    ///
    /// - Parameter count: The number of bytes of the body that are sent.
    /// - Returns: The fault.
    public static func truncateReply(afterBytes count: Int) -> Fault { Fault(kind: .truncate(afterBytes: count)) }

    /// The request is carried out, and the reply has another content type than JSON.
    ///
    /// - Parameter type: The content type, such as `text/plain`.
    /// - Returns: The fault.
    public static func contentType(_ type: String) -> Fault { Fault(kind: .contentType(type)) }

    /// The request is carried out, and the reply comes in small pieces.
    ///
    /// - Parameters:
    ///   - chunkSize: The number of bytes of a piece, at least 1.
    ///   - pause: How long to wait before each piece, on the clock of the server's configuration.
    /// - Returns: The fault.
    public static func slowReply(chunkSize: Int, pause: Duration = .zero) -> Fault {
        Fault(kind: .slow(chunkSize: max(chunkSize, 1), pause: pause))
    }

    /// The request is carried out after a delay.
    ///
    /// - Parameter duration: How long to wait before the request is carried out, on the clock of the server's
    ///   configuration.
    /// - Returns: The fault.
    public static func delay(_ duration: Duration) -> Fault { Fault(kind: .delay(duration)) }

    /// The emulator's clock is wrong for the request.
    ///
    /// This affects signatures, the expiry of tokens, and timestamps.
    ///
    /// - Parameter seconds: The number of seconds by which it is ahead; negative when it is behind.
    /// - Returns: The fault.
    public static func clockSkew(seconds: Double) -> Fault { Fault(kind: .clockSkew(seconds: seconds)) }
}

extension Fault: CustomStringConvertible {
    /// The fault, in a few words.
    public var description: String {
        switch kind {
        case .loseRequest: "lost request"
        case .loseReply: "lost reply"
        case .reset(let count): "reset after \(count) bytes"
        case .hang(let duration): "no reply for \(duration)"
        case .fail(let failure, let header):
            "\(failure.status.code) \(failure.error.serverErrorCode.rawValue)"
                + (failure.error.retryAfter.map { ", retryAfter \($0)" } ?? "")
                + (header.map { ", Retry-After \($0)" } ?? "")
        case .failItems(let items):
            "\(items.error.serverErrorCode.rawValue) for \(items.names?.sorted().joined(separator: ", ") ?? "all items")"
                + (items.error.retryAfter.map { ", retryAfter \($0)" } ?? "")
        case .failDelivery(let items):
            "\(items.error.serverErrorCode.rawValue) in place of \(items.names?.sorted().joined(separator: ", ") ?? "all records")"
        case .answer(let response, let body):
            "\(response.status.code) " + (body == nil ? "without a body" : response.headerFields[.contentType] ?? "")
                + (response.headerFields[.retryAfter].map { ", Retry-After \($0)" } ?? "")
        case .garble: "invalid JSON"
        case .truncate(let count): "JSON cut after \(count) bytes"
        case .contentType(let type): "content type \(type)"
        case .slow(let size, let pause): "pieces of \(size) bytes, \(pause) apart"
        case .delay(let duration): "delay of \(duration)"
        case .clockSkew(let seconds): "clock off by \(seconds) s"
        }
    }
}

extension FaultRule.Calls: CustomStringConvertible {
    /// The numbers of the requests.
    public var description: String {
        if first == last { return "\(first)" }
        let range = last == .max ? "\(first)…" : "\(first)…\(last)"
        return step == 1 ? range : "every \(step)"
    }
}

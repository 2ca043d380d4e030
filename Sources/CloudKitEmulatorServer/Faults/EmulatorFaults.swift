import CloudKitEmulator
import HTTPTypes
import OpenAPISwiftRuntime
import ServiceLifecycle
import Synchronization

/// The faults that a test orders of an emulator, and a list of the requests so far. The faults can be changed while the
/// emulator runs.
///
/// ```swift
/// try await withCloudKitEmulator(faults: [FaultRule(.loseReply, on: "records/modify")]) { emulator in
///     // the first write is done, and its reply does not come
///     emulator.faults.removeAll()
///     // everything works
///     emulator.faults.requests   // ["private/records/modify", …]
/// }
/// ```
public final class EmulatorFaults: Sendable {
    private struct State {
        var rules: [(rule: FaultRule, count: Int, fired: Int)] = []
        var requests: [String] = []
    }

    private let state = Mutex(State())

    /// Makes a list of rules.
    ///
    /// - Parameter rules: The rules. Where several apply to a request, the first one wins.
    public init(_ rules: [FaultRule] = []) {
        state.withLock { $0.rules = rules.map { ($0, 0, 0) } }
    }

    /// Adds a rule after the others.
    ///
    /// - Parameter rule: The rule; it counts from now on.
    public func add(_ rule: FaultRule) {
        state.withLock { $0.rules.append((rule, 0, 0)) }
    }

    /// Replaces all rules.
    ///
    /// - Parameter rules: The rules; they count from now on.
    public func replaceAll(with rules: [FaultRule]) {
        state.withLock { $0.rules = rules.map { ($0, 0, 0) } }
    }

    /// The rules, each with the number of requests that matched its endpoint and database so far.
    public var rules: [(rule: FaultRule, matchedRequests: Int)] {
        state.withLock { $0.rules.map { ($0.rule, $0.count) } }
    }

    /// The rules, each with the number of requests that matched it, and of those that it affected.
    package var states: [(rule: FaultRule, matchedRequests: Int, firedRequests: Int)] {
        state.withLock { $0.rules.map { ($0.rule, $0.count, $0.fired) } }
    }

    /// Removes one rule.
    ///
    /// - Parameter number: The number of the rule, from 1.
    /// - Returns: Whether there was such a rule.
    package func remove(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.rules.indices.contains(number - 1) else { return false }
            state.rules.remove(at: number - 1)
            return true
        }
    }

    /// Removes all rules: everything works again.
    public func removeAll() {
        state.withLock { $0.rules = [] }
    }

    /// The requests since the beginning or the last ``forgetRequests()``, in the order of their arrival.
    ///
    /// Each is given by the last three parts of its path, such as `private/records/modify`.
    public var requests: [String] { state.withLock { $0.requests } }

    /// Empties the list of ``requests``.
    ///
    /// The counts of the rules go on.
    public func forgetRequests() {
        state.withLock { $0.requests = [] }
    }

    var hasRules: Bool { state.withLock { !$0.rules.isEmpty } }

    /// Adds a request to the list, and returns its fault; `nil` for no fault.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - identity: Who sends it. It is asked for only where a rule needs it.
    /// - Returns: The fault.
    func next(for request: HTTPRequest, by identity: (HTTPRequest) -> FaultRule.Identity) -> Fault? {
        let path = (request.path ?? "/").prefix { $0 != "?" }
        let needsIdentity = state.withLock { $0.rules.contains { $0.rule.identity != nil } }
        let sender = needsIdentity ? identity(request) : nil
        return state.withLock { state in
            state.requests.append(path.split(separator: "/").suffix(3).joined(separator: "/"))
            var fault: Fault?
            for index in state.rules.indices where state.rules[index].rule.matches(path: path) {
                let rule = state.rules[index].rule
                guard rule.identity == nil || rule.identity == sender else { continue }
                state.rules[index].count += 1
                if fault == nil, rule.applies(toCall: state.rules[index].count) {
                    fault = rule.fault
                    state.rules[index].fired += 1
                }
            }
            return fault
        }
    }
}

extension CloudKitEmulatorServer {
    /// Answers a request with a fault.
    func respond(
        to request: HTTPRequest,
        body: HTTPBody?,
        at route: ServerRoutes.Match,
        with fault: Fault,
        trace: RequestTrace?
    ) async throws -> (HTTPResponse, HTTPBody?) {
        switch fault.kind {
        case .loseRequest:
            throw TransportError.lost
        case .loseReply:
            _ = try await serve(request, body: body, at: route, trace: trace)
            throw TransportError.lost
        case .hang(let duration):
            try await wait(for: duration)
            throw TransportError(
                code: .timedOut,
                message: "A fault rule delayed the request for \(duration), and the emulator sent no response."
            )
        case .fail(let failure, let header):
            trace?.refusals.add(EmulatorError(answering: failure, as: failure), of: nil)
            var (response, body) = ResponseBuilder(request, with: self).reply(failure)
            response.headerFields[.retryAfter] = header
            return (response, body)
        case .failItems(let fault):
            return try await serve(request, body: body, at: route, trace: trace, itemFault: fault)
        case .failDelivery(let fault):
            return try await serve(request, body: body, at: route, trace: trace, deliveryFault: fault)
        case .answer(let response, let text):
            return (response, text.map { HTTPBody($0) })
        case .clockSkew(let seconds):
            return try await serve(request, body: body, at: route, trace: trace, clockSkew: seconds)
        case .delay(let duration):
            try await wait(for: duration)
            return try await serve(request, body: body, at: route, trace: trace)
        case .contentType(let type):
            var (response, body) = try await serve(request, body: body, at: route, trace: trace)
            response.headerFields[.contentType] = type
            return (response, body)
        case .garble:
            let (response, bytes) = try await reply(to: request, body: body, at: route, trace: trace)
            return Self.complete(response, Array("{\"records\" [".utf8) + bytes.dropFirst())
        case .truncate(let count):
            let (response, bytes) = try await reply(to: request, body: body, at: route, trace: trace)
            return Self.complete(response, Array(bytes.prefix(max(count, 0))))
        case .reset(let count):
            let (response, bytes) = try await reply(to: request, body: body, at: route, trace: trace)
            let pieces = Pieces(bytes: bytes.prefix(count), size: max(count, 1), breaks: true) {}
            return (response, HTTPBody(pieces, length: .known(Int64(bytes.count)), iterationBehavior: .single))
        case .slow(let size, let pause):
            let (response, bytes) = try await reply(to: request, body: body, at: route, trace: trace)
            let pieces = Pieces(bytes: bytes[...], size: size, breaks: false) {
                if pause > .zero { try await wait(for: pause) }
            }
            return (response, HTTPBody(pieces, length: .known(Int64(bytes.count)), iterationBehavior: .single))
        }
    }

    /// Waits because of a fault, until the server stops at the latest.
    private func wait(for duration: Duration) async throws {
        let clock = configuration.clock
        try await cancelWhenGracefulShutdown { try await clock.sleep(for: duration) }
    }

    /// A reply with another body, and with the length of that body. With the former length, a client would wait for more
    /// bytes.
    private static func complete(_ response: HTTPResponse, _ bytes: [UInt8]) -> (HTTPResponse, HTTPBody?) {
        var response = response
        response.headerFields[.contentLength] = "\(bytes.count)"
        return (response, HTTPBody(bytes))
    }

    /// The reply without the fault, as bytes.
    private func reply(
        to request: HTTPRequest,
        body: HTTPBody?,
        at route: ServerRoutes.Match,
        trace: RequestTrace?
    ) async throws -> (HTTPResponse, [UInt8]) {
        let (response, body) = try await serve(request, body: body, at: route, trace: trace)
        guard let body else { return (response, []) }
        return (response, try await [UInt8](collecting: body, upTo: .max))
    }
}

extension TransportError {
    /// The error of a client whose connection breaks.
    fileprivate static var lost: TransportError {
        TransportError(code: .connectionLost, message: "A fault rule of the emulator closed the connection.")
    }
}

/// A body in pieces, which may end with a broken connection.
private struct Pieces: AsyncSequence, Sendable {
    var bytes: ArraySlice<UInt8>
    var size: Int
    var breaks: Bool
    var pause: @Sendable () async throws -> Void

    struct AsyncIterator: AsyncIteratorProtocol {
        var pieces: Pieces

        mutating func next() async throws -> ArraySlice<UInt8>? {
            try Task.checkCancellation()
            guard !pieces.bytes.isEmpty else {
                if pieces.breaks { throw TransportError.lost }
                return nil
            }
            try await pieces.pause()
            defer { pieces.bytes = pieces.bytes.dropFirst(pieces.size) }
            return pieces.bytes.prefix(pieces.size)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: self) }
}

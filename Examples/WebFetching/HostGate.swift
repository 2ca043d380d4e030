import Synchronization

/// Lets one request at a time go to a host, with a pause after each request.
///
/// Requests to one host wait in the order in which they arrived. Requests to different hosts do not wait for each
/// other.
final class HostGate: Sendable {
    /// The state of a host.
    private struct Host {
        var isBusy = false
        var waiting: [(id: Int, turn: CheckedContinuation<Void, any Error>)] = []
        /// When the next request may be sent.
        var opens = Duration.zero
        /// Until when the host is closed because it sent Retry-After.
        var isClosedUntil = Duration.zero
    }

    private struct State {
        var hosts: [String: Host] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())
    private let clock: ElapsedTime

    init(clock: ElapsedTime) {
        self.clock = clock
    }

    /// Waits for the host to be free and for the end of the pause, and runs a closure that sends one request.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - pause: The time between the end of this request and the next request to the host.
    ///   - body: Sends the request and reads the response.
    /// - Returns: The result of the closure.
    /// - Throws: The error of the closure, or `CancellationError`.
    func withTurn<Value>(at host: String, pause: Duration, _ body: () async throws -> Value) async throws -> Value {
        try await takeTurn(at: host)
        defer { endTurn(at: host, pause: pause) }
        let opens = state.withLock { $0.hosts[host]?.opens ?? .zero }
        let rest = opens - clock.now()
        if rest > .zero { try await clock.sleep(rest) }
        return try await body()
    }

    /// Closes a host for some time after a Retry-After. No request is sent meanwhile, so the host cannot ask for
    /// another time.
    func close(_ host: String, for duration: Duration) {
        let end = clock.now() + duration
        state.withLock { $0.hosts[host, default: Host()].isClosedUntil = end }
    }

    /// The remaining time for which a host is closed, or `nil` if it is open.
    func closedFor(_ host: String) -> Duration? {
        let end = state.withLock { $0.hosts[host]?.isClosedUntil ?? .zero }
        let rest = end - clock.now()
        return rest > .zero ? rest : nil
    }

    private func takeTurn(at host: String) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (turn: CheckedContinuation<Void, any Error>) in
                let result: Result<Void, any Error>? = state.withLock { state in
                    // If the task was cancelled before, the cancellation handler has run already and found no
                    // continuation.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.hosts[host, default: Host()].isBusy {
                        state.hosts[host, default: Host()].waiting.append((id, turn))
                        return nil
                    }
                    state.hosts[host, default: Host()].isBusy = true
                    return .success(())
                }
                if let result { turn.resume(with: result) }
            }
        } onCancel: {
            let turn = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                guard let index = state.hosts[host]?.waiting.firstIndex(where: { $0.id == id }) else { return nil }
                return state.hosts[host]?.waiting.remove(at: index).turn
            }
            turn?.resume(throwing: CancellationError())
        }
    }

    private func endTurn(at host: String, pause: Duration) {
        let opens = clock.now() + pause
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.hosts[host, default: Host()].opens = max(state.hosts[host, default: Host()].opens, opens)
            if state.hosts[host, default: Host()].waiting.isEmpty {
                state.hosts[host, default: Host()].isBusy = false
                return nil
            }
            return state.hosts[host, default: Host()].waiting.removeFirst().turn
        }
        next?.resume()
    }
}

/// The time since the creation of the value, measured with a clock, and waits on that clock.
struct ElapsedTime: Sendable {
    let now: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }
}

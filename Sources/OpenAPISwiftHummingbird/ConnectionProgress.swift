import NIOCore

/// The state of a connection of HTTP/1.1: what it waits for, and since when.
///
/// It is a value without side effects. The handlers of a channel report events to it, and ask it at intervals whether a
/// timeout has passed.
struct ConnectionProgress {

    /// What a connection waited for when a timeout passed.
    enum Stall: Hashable {
        /// The client sent no request.
        case idle
        /// The client sent only a part of a request's head.
        case head
        /// The client sent only a part of a request's body.
        case requestBody
        /// The client does not receive the bytes of a response.
        case response
    }

    private enum Input {
        case idle
        case head
        case body
    }

    private var input = Input.idle
    /// While a head arrives, the time of its first byte; otherwise the time of the last progress.
    private var inputTime: NIODeadline
    /// Whether the server waits for bytes. While it does not, the client is not responsible for a delay.
    private var isReading = false
    /// The number of requests whose response has not ended.
    private var pendingResponses = 0

    private var writeCount = 0
    private var lastOutput = (buffered: 0, writeCount: 0)
    private var outputTime: NIODeadline

    init(openedAt now: NIODeadline) {
        inputTime = now
        outputTime = now
    }

    /// Records that the server asks for bytes.
    mutating func startReading(at now: NIODeadline) {
        guard !isReading else { return }
        isReading = true
        if input == .body { inputTime = now }
    }

    /// Records that bytes arrived.
    mutating func receiveBytes(at now: NIODeadline) {
        switch input {
        case .idle: (input, inputTime) = (.head, now)
        case .head: break
        case .body: inputTime = now
        }
    }

    /// Records that the server has read all bytes that had arrived.
    mutating func stopReading() {
        isReading = false
    }

    /// Records that the head of a request is complete.
    mutating func receiveHead(at now: NIODeadline) {
        (input, inputTime) = (.body, now)
        pendingResponses += 1
    }

    /// Records that a request is complete.
    mutating func receiveEnd(at now: NIODeadline) {
        (input, inputTime) = (.idle, now)
    }

    /// Records that bytes of a response were written to the channel.
    mutating func write() {
        writeCount += 1
    }

    /// Records that a whole response was written to the channel.
    mutating func endResponse(at now: NIODeadline) {
        // The response to a request that cannot be parsed follows no request's head, so the count can be zero.
        pendingResponses = max(pendingResponses - 1, 0)
        if input != .body { inputTime = now }
    }

    /// Compares the connection with the timeouts.
    /// - Parameters:
    ///   - limits: The timeouts.
    ///   - now: The time.
    ///   - bufferedBytes: The number of bytes of responses that the client has not received yet.
    /// - Returns: What the connection waited for too long; `nil` if no timeout has passed.
    mutating func stall(_ limits: ServerLimits, at now: NIODeadline, bufferedBytes: Int) -> Stall? {
        if bufferedBytes == 0 || lastOutput != (bufferedBytes, writeCount) {
            lastOutput = (bufferedBytes, writeCount)
            outputTime = now
        }
        func isOver(_ timeout: Duration, since time: NIODeadline) -> Bool { now >= time + TimeAmount(timeout.bounded) }
        if isOver(limits.transferTimeout, since: outputTime) { return .response }
        switch input {
        case .idle:
            let isIdle = pendingResponses == 0 && bufferedBytes == 0
            return isIdle && isOver(limits.idleTimeout, since: inputTime) ? .idle : nil
        case .head:
            return pendingResponses == 0 && isOver(limits.headTimeout, since: inputTime) ? .head : nil
        case .body:
            return isReading && isOver(limits.transferTimeout, since: inputTime) ? .requestBody : nil
        }
    }
}

import NIOCore

/// What a connection of HTTP/1.1 waits for, and since when.
///
/// A value without effects: the handlers of a channel tell it what happens, and ask it at intervals whether a timeout has passed.
struct ConnectionProgress {

    /// What a client did not do in time.
    enum Stall: Hashable {
        /// It sent no request.
        case idle
        /// It sent a part of a request's head.
        case head
        /// It sent a part of a request's body.
        case requestBody
        /// It takes no bytes of a response.
        case response
    }

    private enum Input {
        case idle
        case head
        case body
    }

    private var input = Input.idle
    /// Of a head the time of its first byte, otherwise the time of the last step.
    private var inputTime: NIODeadline
    /// Whether the server has asked for bytes and got none yet. Bytes that it does not read are not missed.
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

    /// The server asks for bytes.
    mutating func startReading(at now: NIODeadline) {
        guard !isReading else { return }
        isReading = true
        if input == .body { inputTime = now }
    }

    /// Bytes of any kind arrived.
    mutating func receiveBytes(at now: NIODeadline) {
        switch input {
        case .idle: (input, inputTime) = (.head, now)
        case .head: break
        case .body: inputTime = now
        }
    }

    /// All bytes that were there have been read.
    mutating func stopReading() {
        isReading = false
    }

    /// The head of a request is complete.
    mutating func receiveHead(at now: NIODeadline) {
        (input, inputTime) = (.body, now)
        pendingResponses += 1
    }

    /// A request is complete.
    mutating func receiveEnd(at now: NIODeadline) {
        (input, inputTime) = (.idle, now)
    }

    /// Bytes of a response were handed to the channel.
    mutating func write() {
        writeCount += 1
    }

    /// A response was handed to the channel as a whole.
    mutating func endResponse(at now: NIODeadline) {
        // The answer to a request that cannot be parsed has no head before it.
        pendingResponses = max(pendingResponses - 1, 0)
        if input != .body { inputTime = now }
    }

    /// Compares the connection with the timeouts.
    /// - Parameters:
    ///   - limits: The timeouts.
    ///   - now: The time.
    ///   - bufferedBytes: The bytes of responses that the client's side has not taken.
    /// - Returns: What has lasted too long; `nil` when nothing has.
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

import HTTPTypes
import Logging
import Synchronization

/// The web authentication token of a person, which every response may replace and a storage keeps.
///
/// ## Requests at the same time
///
/// The live service also accepts earlier tokens of the same person, so requests run at the same time, each with the
/// token that is the newest when it starts. Apple's page says that a token is good for one use. A service that enforces
/// this refuses all requests with the same token except for the first; ``refusalReason(of:operation:)`` distinguishes this
/// from a session that is over. The client then sends the request again with the newest token, and from then on
/// requests take turns: each begins when the earlier requests have ended and brought their tokens.
///
/// ## The person of a response
///
/// Tokens and requests share one sequence of numbers. So the number of a request shows whether its token was still the
/// newest. A response to a request from before the person changed is ignored.
final class TokenRotation: Sendable {
    /// Why a request was refused, as far as the client can know.
    enum RefusalReason {
        /// The token was not the newest any more when the service looked at it.
        case superseded
        /// There was no person when the request was sent, and there is one now.
        case signedInSince
        /// Another person is signed in now, or no person.
        case formerPerson
        /// The newest token was refused: the session is over.
        case sessionOver
        /// There is no person.
        case noPerson
    }

    private struct State {
        var token: Secret?
        var isLoaded: Bool
        /// The last number of the sequence; it grows with every token and every request.
        var number: UInt64 = 1
        /// The number of the present token, and the number of the first token of this person.
        var tokenNumber: UInt64 = 1
        var personNumber: UInt64 = 1
        /// The numbers of the time without a person, directly before this person signed in; and the numbers of the
        /// session that ended by a refusal.
        var numbersWithoutPerson: Range<UInt64> = 0..<0
        var numbersOfLostSession: Range<UInt64> = 0..<0
        /// Whether the service accepted a token of this person.
        var wasAccepted = false

        /// Whether requests take turns from the start, and whether they do now.
        let usesTokensOnce: Bool
        var takesTurns: Bool
        /// The requests that have not ended, and the request among them that has the turn.
        var underway: Set<UInt64> = []
        var holder: UInt64?
        /// Resumes the request that has the turn and waits for the requests that began before requests took turns.
        var drained: CheckedContinuation<Void, Never>?

        var storedNumber: UInt64 = 0
        var hasStorageFailed = false

        /// Why a request was refused; `nil` while another request under way may still bring a newer token.
        mutating func refusalReason(of number: UInt64, isLast: Bool) -> RefusalReason? {
            if numbersOfLostSession.contains(number) { return .sessionOver }
            if number < personNumber {
                return numbersWithoutPerson.contains(number) && token != nil ? .signedInSince : .formerPerson
            }
            guard token != nil else { return .noPerson }
            if number < tokenNumber || !isLast {
                // Until the reason is known, no other request uses the token.
                takesTurns = true
                return isLast || number < tokenNumber ? .superseded : nil
            }
            takesTurns = usesTokensOnce
            return .sessionOver
        }

        mutating func beginRequest() -> (token: Secret?, number: UInt64) {
            number += 1
            underway.insert(number)
            return (token, number)
        }

        /// Continues as another person, or without a person.
        mutating func become(_ token: Secret?) {
            let hadNoPerson = self.token == nil
            let first = personNumber
            number += 1
            numbersWithoutPerson = hadNoPerson ? first..<number : 0..<0
            self.token = token
            tokenNumber = number
            personNumber = number
            isLoaded = true
            wasAccepted = false
            takesTurns = usesTokensOnce
        }
    }

    private let state: Mutex<State>
    private let storage: (any TokenStorage)?
    private let logger: Logger
    private let sending = AsyncMutex()
    private let storing = AsyncMutex()
    private let loading = AsyncMutex()

    /// Begins with a given token.
    init(_ token: Secret?, usesTokensOnce: Bool, logger: Logger) {
        storage = nil
        self.logger = logger
        state = Mutex(State(token: token, isLoaded: true, usesTokensOnce: usesTokensOnce, takesTurns: usesTokensOnce))
    }

    /// Begins with the stored token, which is read when it is first needed.
    init(_ storage: any TokenStorage, usesTokensOnce: Bool, logger: Logger) {
        self.storage = storage
        self.logger = logger
        state = Mutex(State(token: nil, isLoaded: false, usesTokensOnce: usesTokensOnce, takesTurns: usesTokensOnce))
    }

    /// The newest token.
    var current: Secret? {
        get async throws(CloudKitError) {
            try await load()
            return state.withLock { $0.token }
        }
    }

    /// Whether there is a person, or the storage was not read yet and may have one.
    var mayHavePerson: Bool { state.withLock { !$0.isLoaded || $0.token != nil } }

    // MARK: - The steps of a request

    /// The token for a request, and the number that identifies its response. If requests take turns, this method waits
    /// for the turn. Call ``end(_:)`` when the request has ended.
    func begin(operation: String) async throws(CloudKitError) -> (token: Secret?, number: UInt64) {
        try await load()
        let present = state.withLock { state -> (Secret?, UInt64)? in
            state.takesTurns && state.token != nil ? nil : state.beginRequest()
        }
        if let present { return present }
        do {
            try await sending.lock()
            do {
                try await waitForOthers()
            } catch {
                sending.unlock()
                throw error
            }
        } catch {
            throw .cancelled(operation: operation)
        }
        return state.withLock {
            let request = $0.beginRequest()
            $0.holder = request.number
            return request
        }
    }

    /// Waits until no request is under way any more: requests that began before requests took turns do not hold the
    /// lock.
    private func waitForOthers() async throws(CancellationError) {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isQuiet = state.withLock { state -> Bool in
                    if state.underway.isEmpty || Task.isCancelled { return true }
                    state.drained = continuation
                    return false
                }
                if isQuiet { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.drained.take() }?.resume()
        }
        if Task.isCancelled { throw CancellationError() }
    }

    /// Ends a request. If requests take turns, the next request may begin. A second call for the same number does
    /// nothing.
    func end(_ number: UInt64) {
        let (held, drained) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.underway.remove(number) != nil else { return (false, nil) }
            let held = state.holder == number
            if held { state.holder = nil }
            return (held, state.underway.isEmpty ? state.drained.take() : nil)
        }
        drained?.resume()
        if held { sending.unlock() }
    }

    /// Adopts the token of a response, unless the person changed since the request was sent, and stores it.
    ///
    /// When this returns, the storage has the token of this response or a newer one. A failure of the storage is
    /// logged, and does not affect the response.
    ///
    /// CloudKit JS reads both header fields, and adopts a new token only if it has one already.
    func adopt(from response: HTTPResponse, number: UInt64) async {
        let text = response.headerFields[.webAuthToken] ?? response.headerFields[.cloudKitSession] ?? ""
        let isNew = state.withLock { state -> Bool in
            guard number >= state.personNumber, state.token != nil else { return false }
            if response.status.kind == .successful { state.wasAccepted = true }
            let token = Secret(text)
            guard !text.isEmpty, state.token != token else { return false }
            state.token = token
            state.number += 1
            state.tokenNumber = state.number
            return true
        }
        end(number)
        guard isNew else { return }
        do {
            try await store()
        } catch {
            let isFirst = state.withLock { state -> Bool in
                defer { state.hasStorageFailed = true }
                return !state.hasStorageFailed
            }
            guard isFirst else { return }
            logger.warning(
                "The next web authentication token could not be stored; the person will have to sign in again in the next run",
                metadata: ["error": "\(error.message)"]
            )
        }
    }

    /// Finds out why the service did not accept a request's token, after that request has ended.
    ///
    /// A refusal can arrive before the response to the request that used up the token. So this method first waits for
    /// the other requests that are under way with the same token.
    func refusalReason(of number: UInt64, operation: String) async throws(CloudKitError) -> RefusalReason {
        if let reason = state.withLock({ $0.refusalReason(of: number, isLast: $0.underway.isEmpty) }) { return reason }
        do {
            try await sending.lock()
            defer { sending.unlock() }
            try await waitForOthers()
        } catch {
            throw .cancelled(operation: operation)
        }
        return state.withLock { $0.refusalReason(of: number, isLast: true) } ?? .sessionOver
    }

    /// The number of the first token of the present person. It changes with each person.
    var personNumber: UInt64 { state.withLock { $0.personNumber } }

    /// Whether the service accepted a token of the present person.
    var wasAccepted: Bool { state.withLock { $0.wasAccepted } }

    // MARK: - Persons

    /// Continues as another person or without a person, and stores the change.
    func replace(with token: Secret?) async throws(CloudKitError) {
        state.withLock { $0.become(token) }
        try await store()
    }

    /// Continues without a person, unless the person changed since a request was sent.
    func forget(ifNotSince number: UInt64) async throws(CloudKitError) {
        let isForgotten = state.withLock { state -> Bool in
            guard number >= state.personNumber else { return false }
            let first = state.personNumber
            state.become(nil)
            state.numbersOfLostSession = first..<state.personNumber
            return true
        }
        if isForgotten { try await store() }
    }

    // MARK: - The storage

    private func load() async throws(CloudKitError) {
        guard let storage, !state.withLock({ $0.isLoaded }) else { return }
        do {
            try await loading.lock()
            defer { loading.unlock() }
            guard !state.withLock({ $0.isLoaded }) else { return }
            let token = try await storage.webAuthToken().map(Secret.init)
            state.withLock {
                guard !$0.isLoaded else { return }
                $0.isLoaded = true
                $0.token = token
                $0.storedNumber = $0.tokenNumber
            }
        } catch {
            throw .ofStorage(error, "The stored web authentication token could not be read.")
        }
    }

    /// Stores the newest token. When several requests wait here, the first of them stores it for all.
    private func store() async throws(CloudKitError) {
        guard let storage else { return }
        await storing.lockDespiteCancellation()
        defer { storing.unlock() }
        let (token, number) = state.withLock { ($0.token, $0.tokenNumber) }
        guard number > state.withLock({ $0.storedNumber }) else { return }
        do {
            // A separate task: even a cancelled request has replaced the token.
            try await Task { try await storage.store(webAuthToken: token?.revealed) }.value
        } catch {
            var redactor = Redactor()
            if let token { redactor.hide(token.revealed) }
            throw redactor.redact(.ofStorage(error, "The web authentication token could not be stored."))
        }
        state.withLock {
            $0.storedNumber = number
            $0.hasStorageFailed = false
        }
    }
}

extension CloudKitError {
    fileprivate static func ofStorage(_ error: any Error, _ message: String) -> CloudKitError {
        switch error {
        case let error as CloudKitError: error
        case is CancellationError:
            CloudKitError(code: .cancelled, message: "The task was cancelled while it waited for the token storage.")
        default: .tokenStorage(message, cause: error)
        }
    }
}

extension HTTPField.Name {
    static let webAuthToken = Self("X-Apple-CloudKit-Web-Auth-Token")!
    static let cloudKitSession = Self("X-Apple-CloudKit-Session")!
}

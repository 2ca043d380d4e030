import HTTPTypes
import Logging
import Synchronization

/// The web authentication token of a person, which every response may replace, and its way into a storage.
///
/// ## Requests at the same time
///
/// The live service also accepts earlier tokens of the same person, so requests run at the same time, each with the
/// token that is the newest when it starts. Apple's page says that a token is good for one use. A service that enforces
/// this refuses all requests with the same token except for the first; ``refusal(of:operation:)`` distinguishes this
/// from a session that is over. The client then sends the request again with the newest token, and from then on requests
/// take turns: each begins when the earlier ones have ended and brought their tokens.
///
/// ## Who a response belongs to
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
        /// Another person is signed in now, or none.
        case formerPerson
        /// The newest token was refused: the session is over.
        case sessionOver
        /// There is no person.
        case noPerson
    }

    private struct State {
        var token: Secret?
        var isLoaded: Bool
        /// Grows with every token and every request.
        var number: UInt64 = 1
        /// The number of the present token, and of the first of this person.
        var tokenNumber: UInt64 = 1
        var personNumber: UInt64 = 1
        /// The numbers from before this person when there was none, and those of the session that ended by a refusal.
        var numbersWithoutPerson: Range<UInt64> = 0..<0
        var numbersOfLostSession: Range<UInt64> = 0..<0
        /// Whether the service took a token of this person.
        var wasAccepted = false

        /// Whether requests take turns from the start, and whether they do now.
        let usesTokensOnce: Bool
        var takesTurns: Bool
        /// The requests that have not ended, and the one of them whose turn it is.
        var underway: Set<UInt64> = []
        var holder: UInt64?
        /// The request that has the turn and waits for those from before turns were taken.
        var drained: CheckedContinuation<Void, Never>?

        var storedNumber: UInt64 = 0
        var hasStorageFailed = false

        /// Why a request was refused; nil while one that is under way may still bring a newer token.
        mutating func refusal(of number: UInt64, isLast: Bool) -> RefusalReason? {
            if numbersOfLostSession.contains(number) { return .sessionOver }
            if number < personNumber {
                return numbersWithoutPerson.contains(number) && token != nil ? .signedInSince : .formerPerson
            }
            guard token != nil else { return .noPerson }
            if number < tokenNumber || !isLast {
                // Until more is known, no other request uses the token.
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

        /// Goes on as another person, or as none.
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

    /// Begins with a token that is given.
    init(_ token: Secret?, usesTokensOnce: Bool, logger: Logger) {
        storage = nil
        self.logger = logger
        state = Mutex(State(token: token, isLoaded: true, usesTokensOnce: usesTokensOnce, takesTurns: usesTokensOnce))
    }

    /// Begins with the token that is stored, which is read when it is first needed.
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

    /// Whether there is a person, or may be one in the storage that was not read yet.
    var mayHavePerson: Bool { state.withLock { !$0.isLoaded || $0.token != nil } }

    // MARK: - A request's way

    /// The token for a request, and the number to tell its response by. Where requests take turns, waits for this
    /// one's; ``end(_:)`` has to follow.
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

    /// Waits until no request is under way any more. Those that began before turns were taken have none.
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

    /// Ends a request, and lets the next one go where requests take turns. More than once does no harm.
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
    /// When this returns, the storage has the token of this response or a newer one. A storage that fails is logged;
    /// the response is good all the same.
    ///
    /// CloudKit JS reads both header fields, and adopts a token only where it held one.
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

    /// Tells why the service did not take a request's token, once that request has ended.
    ///
    /// A refusal can overtake the response to the request that used the token up. So while others are under way with the same token, these
    /// are waited for.
    func refusal(of number: UInt64, operation: String) async throws(CloudKitError) -> RefusalReason {
        if let refusal = state.withLock({ $0.refusal(of: number, isLast: $0.underway.isEmpty) }) { return refusal }
        do {
            try await sending.lock()
            defer { sending.unlock() }
            try await waitForOthers()
        } catch {
            throw .cancelled(operation: operation)
        }
        return state.withLock { $0.refusal(of: number, isLast: true) } ?? .sessionOver
    }

    /// Whether the service took a token of the present person.
    var wasAccepted: Bool { state.withLock { $0.wasAccepted } }

    // MARK: - Persons

    /// Goes on as another person or as none, and stores that.
    func replace(with token: Secret?) async throws(CloudKitError) {
        state.withLock { $0.become(token) }
        try await store()
    }

    /// Goes on without a person, unless the person changed since a request was sent.
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

    /// Brings the newest token into the storage. Of requests that wait here together the first stores for all.
    private func store() async throws(CloudKitError) {
        guard let storage else { return }
        await storing.lockDespiteCancellation()
        defer { storing.unlock() }
        let (token, number) = state.withLock { ($0.token, $0.tokenNumber) }
        guard number > state.withLock({ $0.storedNumber }) else { return }
        do {
            // A task of its own: a request that is cancelled has rotated the token all the same.
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

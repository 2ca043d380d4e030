/// Pushes as they come, for as long as you go through them.
///
/// ```swift
/// try await service.privateDatabase.save(Subscription("notes", toZone: notes))
/// for try await notification in service.notifications() {
///     print(notification.subscriptionID ?? "", notification.change)
/// }
/// // POST .../tokens/create, POST .../tokens/register, then
/// // GET  https://webcourier.push.apple.com/aps?…      again and again: each answer is one push
/// ```
///
/// The request for the next push is sent when it is asked for; what comes meanwhile waits at the courier. A lost connection, a
/// timeout and a failing courier are followed by another request, after the waits of the service's ``RetryPolicy``; the loop ends with
/// the error when as many attempts in a row failed as the policy allows. A courier that does not know the token any more gets a
/// new one, once.
///
/// The loop never ends by itself. A cancelled task gets ``CloudKitError/Code-swift.struct/cancelled`` at once, and the request that
/// waits is ended; nothing runs while the loop's body does.
public struct NotificationSequence: AsyncSequence, Sendable {
    let service: CloudKitService
    let apnsEnvironment: APNsEnvironment?
    let clientID: String?
    let token: DeviceToken?
    /// The database whose pushes are passed on; all when `nil`.
    var scope: DatabaseScope?

    /// Starts to go through the pushes; the token is made when the first one is asked for.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(sequence: self, courier: Courier(service), token: token)
    }

    /// Goes through the pushes.
    public struct Iterator: AsyncIteratorProtocol {
        let sequence: NotificationSequence
        let courier: Courier
        var token: DeviceToken?
        /// The failures since the courier last answered.
        var failures: RetryBudget?
        /// Whether the token took the place of one that the courier did not know, and the courier has not answered since.
        var isTokenRenewed = false
        var isFinished = false

        /// Waits for the next push.
        ///
        /// - Parameter actor: Where the caller runs.
        /// - Returns: The push; `nil` only after an error.
        /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/cancelled``; the error of the token's
        ///   making; the last error of the courier, when it failed too often in a row.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> CloudKitNotification? {
            guard !isFinished else { return nil }
            do {
                while true {
                    guard let payload = try await nextPayload() else { continue }
                    let notification = CloudKitNotification(payload)
                    if let scope = sequence.scope, let other = notification.databaseScope, other != scope { continue }
                    return notification
                }
            } catch {
                isFinished = true
                throw error
            }
        }

        /// Asks the courier once; `nil` when it is to be asked again.
        private mutating func nextPayload() async throws -> PushPayload? {
            if Task.isCancelled { throw CloudKitError.cancelled(operation: Courier.operation) }
            let token = try await usableToken()
            do throws(CloudKitError) {
                let payload = try await courier.poll(token)
                failures = nil
                isTokenRenewed = false
                guard let payload else {
                    try await courier.pauseAfterNothing()
                    return nil
                }
                return payload
            } catch {
                try await recover(from: error)
                return nil
            }
        }

        private mutating func usableToken() async throws -> DeviceToken {
            if let token { return token }
            let token = try await sequence.service.createDeviceToken(
                apnsEnvironment: sequence.apnsEnvironment,
                clientID: sequence.clientID
            )
            try await sequence.service.registerDeviceToken(token)
            self.token = token
            return token
        }

        /// Gets ready to ask again, or throws the error.
        private mutating func recover(from error: CloudKitError) async throws(CloudKitError) {
            if Courier.isUnknownToken(error) {
                guard !isTokenRenewed, sequence.token == nil else { throw error }
                isTokenRenewed = true
                token = nil
                return
            }
            if Courier.isTimeout(error) { return }
            let failures = failures ?? courier.beginFailures()
            self.failures = failures
            try await courier.waitForAnotherAttempt(after: error, failures)
        }
    }
}

extension CloudKitService {
    /// Waits for pushes of the caller's subscriptions, in all databases.
    ///
    /// ```swift
    /// for try await notification in service.notifications() {
    ///     guard case .record(let change) = notification.change else { continue }
    ///     print(change.reason, change.recordName)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - apnsEnvironment: The environment of the push service; the one of the container's environment when `nil`.
    ///   - clientID: A UUID by which the service knows this client; a new one for each loop when `nil`.
    /// - Returns: The pushes; nothing is sent yet.
    public func notifications(
        apnsEnvironment: APNsEnvironment? = nil,
        clientID: String? = nil
    ) -> NotificationSequence {
        NotificationSequence(service: self, apnsEnvironment: apnsEnvironment, clientID: clientID, token: nil)
    }

    /// Waits for the pushes of a token that was made before.
    ///
    /// - Parameter token: A token with a courier's address. When the courier does not know it any more, the loop ends with the
    ///   error.
    /// - Returns: The pushes; nothing is sent yet.
    public func notifications(of token: DeviceToken) -> NotificationSequence {
        NotificationSequence(service: self, apnsEnvironment: nil, clientID: nil, token: token)
    }
}

extension CloudKitDatabase {
    /// Waits for pushes of the caller's subscriptions in this database.
    ///
    /// Pushes say the database by a number whose meaning over the web courier is not settled
    /// (``CloudKitNotification/databaseScope``); one that is not known is passed on. Where that matters, go through
    /// ``CloudKitService/notifications(apnsEnvironment:clientID:)`` and tell pushes by their subscription.
    ///
    /// - Parameters:
    ///   - apnsEnvironment: The environment of the push service; the one of the container's environment when `nil`.
    ///   - clientID: A UUID by which the service knows this client; a new one for each loop when `nil`.
    /// - Returns: The pushes; nothing is sent yet.
    public func notifications(
        apnsEnvironment: APNsEnvironment? = nil,
        clientID: String? = nil
    ) -> NotificationSequence {
        var notifications = service.notifications(apnsEnvironment: apnsEnvironment, clientID: clientID)
        notifications.scope = scope
        return notifications
    }
}

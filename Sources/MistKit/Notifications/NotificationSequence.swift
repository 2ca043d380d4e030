/// An endless sequence of pushes, as they arrive.
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
/// The loop sends the request for the next push when it needs that push; pushes that arrive earlier wait at the
/// courier. After a timeout the loop sends another request. After a lost connection or a failure of the courier it does
/// so, too, with the waits of the service's ``RetryPolicy``. It ends with the error when as many attempts in a row
/// failed as the policy allows. If the courier does not know the token any more, the loop makes a new token, once.
///
/// The loop ends only with an error. A cancelled task gets ``CloudKitError/Code-swift.struct/cancelled`` at once, and
/// its waiting request is cancelled. While the body of the loop runs, no request is under way.
public struct NotificationSequence: AsyncSequence, Sendable {
    let service: CloudKitService
    let apnsEnvironment: APNsEnvironment?
    let clientID: String?
    let token: DeviceToken?
    /// The database whose pushes are returned; with `nil`, all databases.
    var scope: DatabaseScope?

    /// Starts an iteration; the first call of `next` makes the token.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(sequence: self, courier: CourierClient(service), token: token)
    }

    /// Iterates over the pushes.
    public struct Iterator: AsyncIteratorProtocol {
        let sequence: NotificationSequence
        let courier: CourierClient
        var token: DeviceToken?
        /// The failures since the courier last answered.
        var failures: RetryBudget?
        /// Whether the token replaced a token that the courier did not know, and the courier has not answered since.
        var isTokenRenewed = false
        var isFinished = false

        /// Waits for the next push.
        ///
        /// - Parameter actor: The actor of the caller.
        /// - Returns: The push; `nil` only after an error.
        /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/cancelled``; an error of the requests that
        ///   make and register the token; or the last error of the courier, when it failed too often in a row.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> CloudKitNotification? {
            guard !isFinished else { return nil }
            do {
                while true {
                    guard let payload = try await nextPayload() else { continue }
                    let notification = CloudKitNotification(payload, from: .webCourier)
                    if let scope = sequence.scope, !notification.mayConcern(scope) { continue }
                    return notification
                }
            } catch {
                isFinished = true
                throw error
            }
        }

        /// Sends one request to the courier; `nil` when the caller should send another one.
        private mutating func nextPayload() async throws -> PushPayload? {
            if Task.isCancelled { throw CloudKitError.cancelled(operation: CourierClient.operation) }
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

        /// Prepares another request, or throws the error.
        private mutating func recover(from error: CloudKitError) async throws(CloudKitError) {
            if CourierClient.isUnknownToken(error) {
                guard !isTokenRenewed, sequence.token == nil else { throw error }
                isTokenRenewed = true
                token = nil
                return
            }
            if CourierClient.isTimeout(error) { return }
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
    ///   - apnsEnvironment: The environment of the push service; with `nil`, the one of the container's environment.
    ///   - clientID: A UUID that identifies this client; with `nil`, a new UUID for each loop.
    /// - Returns: The pushes; nothing is sent yet.
    public func notifications(
        apnsEnvironment: APNsEnvironment? = nil,
        clientID: String? = nil
    ) -> NotificationSequence {
        NotificationSequence(service: self, apnsEnvironment: apnsEnvironment, clientID: clientID, token: nil)
    }

    /// Waits for the pushes of an existing token.
    ///
    /// - Parameter token: A token with a courier's address. When the courier does not know it any more, the loop ends
    ///   with the error.
    /// - Returns: The pushes; nothing is sent yet.
    public func notifications(of token: DeviceToken) -> NotificationSequence {
        NotificationSequence(service: self, apnsEnvironment: nil, clientID: nil, token: token)
    }
}

extension CloudKitDatabase {
    /// Waits for pushes of the caller's subscriptions in this database.
    ///
    /// A push names its database by a number, and two ways of counting are in use
    /// (``CloudKitNotification/databaseScope``). A push that is about this database by one of them is returned, and so is
    /// a push with an unknown number. If that matters, use
    /// ``CloudKitService/notifications(apnsEnvironment:clientID:)`` and distinguish pushes by their subscription.
    ///
    /// - Parameters:
    ///   - apnsEnvironment: The environment of the push service; with `nil`, the one of the container's environment.
    ///   - clientID: A UUID that identifies this client; with `nil`, a new UUID for each loop.
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

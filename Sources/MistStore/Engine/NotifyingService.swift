public import CloudKitModel
public import MistKit

/// A service that also says when something has changed. `CloudKitService` is one.
///
/// With such a service a store can synchronise automatically: ``MistStore/MistStore/setSynchronisesAutomatically(_:)``.
public protocol NotifyingService: SyncService {
    /// Saves subscriptions in a database. One with the name of an earlier subscription replaces it.
    ///
    /// - Throws: An error for the first subscription that was not saved.
    func save(_ subscriptions: [Subscription], toNotifyAbout scope: DatabaseScope) async throws

    /// Deletes subscriptions of a database. Those that are not there are no error.
    ///
    /// - Throws: An error for the first subscription that was not deleted.
    func deleteSubscriptions(_ names: [String], about scope: DatabaseScope) async throws

    /// The pushes of the user's subscriptions, as they arrive. It ends with an error when there is no connection.
    func pushes() -> AsyncThrowingStream<CloudKitNotification, any Error>
}

extension CloudKitService: NotifyingService {
    /// Saves subscriptions in a database: `subscriptions/modify`.
    public func save(_ subscriptions: [Subscription], toNotifyAbout scope: DatabaseScope) async throws {
        for case .failure(let error) in try await database(scope).save(subscriptions) { throw error }
    }

    /// Deletes subscriptions of a database: `subscriptions/modify`.
    public func deleteSubscriptions(_ names: [String], about scope: DatabaseScope) async throws {
        for case .failure(let error) in try await database(scope).deleteSubscriptions(names)
        where error.code != .notFound { throw error }
    }

    /// The pushes of the user's subscriptions: `tokens/create`, `tokens/register`, then a request to the courier for each.
    public func pushes() -> AsyncThrowingStream<CloudKitNotification, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    for try await notification in notifications() { continuation.yield(notification) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

package import CloudKitModel
import GRDB
import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A push that a subscription sent.
package struct SentPush: Sendable {
    package var time: Date
    package var container: String
    package var environment: ContainerEnvironment
    package var subscriptionID: String
    package var owner: String
    /// The number of devices of the owner that it was sent to.
    package var devices: Int
    /// The payload in JSON. Where it was sent to several devices, that of the first: badges differ.
    package var payload: [UInt8]
    /// The row of the subscription.
    var subscription: Int64
}

/// The latest pushes of an emulator, for those who look at it. They are in memory, and those of other processes are not
/// among them.
final class PushHistory: Sendable {
    private struct State {
        var pushes: [SentPush] = []
        var counts: [Int64: Int] = [:]
    }

    private static let capacity = 1000
    private let state = Mutex(State())

    func add(_ pushes: [SentPush]) {
        state.withLock { state in
            for push in pushes { state.counts[push.subscription, default: 0] += 1 }
            state.pushes += pushes
            // In one move for many pushes, not one for each.
            if state.pushes.count > 2 * Self.capacity {
                state.pushes.removeFirst(state.pushes.count - Self.capacity)
            }
        }
    }

    /// The pushes, the newest first.
    var latest: [SentPush] { state.withLock { $0.pushes.suffix(Self.capacity).reversed() } }

    /// How often a subscription has fired.
    func count(of subscription: Int64) -> Int { state.withLock { $0.counts[subscription] ?? 0 } }
}

/// A subscription of any user.
package struct SubscriptionSummary: Sendable {
    package var subscriptionID: String
    package var owner: String
    package var scope: DatabaseScope
    /// The subscription in JSON.
    package var body: [UInt8]
    /// The number of devices that the owner has registered.
    package var devices: Int
    /// How often it has fired since the start.
    package var pushes: Int
}

extension CloudKitEmulator {
    /// The latest pushes in an environment of a container, the newest first.
    package func sentPushes(of container: String, in environment: ContainerEnvironment) -> [SentPush] {
        pushHistory.latest.filter { $0.container == container && $0.environment == environment }
    }

    /// The subscriptions of all users, in creation order.
    package func subscriptions(
        of container: String,
        in environment: ContainerEnvironment
    ) throws(EmulatorError) -> [SubscriptionSummary] {
        try read { db in
            try db.rows(
                """
                SELECT subscription.id, subscription.name, subscription.owner, database.owner, subscription.body,
                    (SELECT count(*) FROM device_token WHERE device_token.container = container.id
                        AND device_token.owner = subscription.owner)
                FROM subscription JOIN database ON database.id = subscription.database
                JOIN container ON container.id = database.container
                WHERE container.identifier = ? AND container.environment = ? ORDER BY subscription.id
                """,
                [container, environment.rawValue]
            ).map { row in
                let key: String = row[3]
                let isShared = key.hasPrefix(DatabaseContext.ownerKey(of: .shared, for: nil))
                return SubscriptionSummary(
                    subscriptionID: row[1],
                    owner: row[2],
                    scope: key.isEmpty ? .public : isShared ? .shared : .private,
                    body: Array(row[4] as Data),
                    devices: row[5],
                    pushes: pushHistory.count(of: row[0])
                )
            }
        }
    }
}

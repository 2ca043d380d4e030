import CloudKitEmulator
import MistModels
import MistTesting
import Testing

/// The Swift of "Subscriptions and notifications".
@Suite(.serialized)
struct SubscriptionTests {
    @Test func threeKindsOfSubscriptions() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Feeds").zoneID

            try await database.save(
                Subscription(
                    "best-feeds",
                    to: Query<Feed> { Filter(\.qualityScore > 50) },
                    firesOn: [.create, .update],
                    inZone: zone,
                    notificationInfo: NotificationInfo(alertBody: "A good feed", additionalFields: ["title"])
                )
            )
            try await database.save(Subscription("feeds", toZone: zone))
            try await database.save(.toDatabase("everything"))

            let subscriptions = try await database.fetchSubscriptions()
            #expect(Set(subscriptions.compactMap(\.subscriptionID)) == ["best-feeds", "feeds", "everything"])
        }
    }

    @Test func aWriteIsHeard() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.save(Subscription("feeds", to: Query<Feed>(), firesOn: [.create]))

            let listening = Task { () async throws -> CloudKitNotification? in
                for try await notification in database.notifications() {
                    switch notification.change {
                    case .record(let change):
                        print(change.reason, change.recordName, change.recordFields["title"]?.stringValue ?? "")
                    case .zone(let zone): print("something changed in", zone.zoneName)
                    case .database: print("something changed somewhere")
                    case .other: break
                    }
                    return notification
                }
                return nil
            }
            await emulator.rules.waitForCouriers(1)
            try await database.save(Feed.swift, named: "feed-swift")
            let notification = try await listening.value
            guard case .record(let change)? = notification?.change else {
                Issue.record("It is about a record.")
                return
            }
            #expect(change.recordName == "feed-swift")
        }
    }

    @Test func aPushSaysWhenAndAFeedSaysWhat() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Feeds").zoneID
            try await database.save(Feed.swift, named: "a", inZone: zone)
            try await database.save(Subscription("feeds", toZone: zone))

            let following = Task {
                var copy = FeedCopy()
                try await copy.followOrStartOver(zone, in: database)
                for try await _ in database.notifications() {
                    try await copy.followOrStartOver(zone, in: database)
                    if copy.titles.count == 2 { break }
                }
                return copy.titles
            }
            await emulator.rules.waitForCouriers(1)
            try await database.save(Feed.swift, named: "b", inZone: zone)
            #expect(try await following.value == ["a": "Swift.org", "b": "Swift.org"])
        }
    }
}

import MistKit
import MistTesting
import Testing

@Suite(.serialized)
struct SubscriptionTests {
    private static let memos = Query<Memo> {
        Filter(\.count > 3)
        Sort(\.title)
    }

    @Test(arguments: EmulatorConnection.allCases)
    func subscriptionsAreSavedListedFetchedAndDeleted(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let notes = try await database.createZone("Notes").zoneID
            let long = Subscription(
                "long",
                to: Self.memos,
                firesOn: [.create, .update],
                inZone: ZoneID(zoneName: "Notes"),
                notificationInfo: NotificationInfo(
                    alertBody: "Long",
                    alertLocalizationKey: "LONG %@",
                    alertLocalizationArgs: ["title"],
                    alertActionLocalizationKey: "OPEN",
                    alertLaunchImage: "launch.png",
                    soundName: "bell",
                    shouldBadge: true,
                    shouldSendContentAvailable: true,
                    additionalFields: ["title"]
                )
            )
            let zone = Subscription("zone", toZone: ZoneID(zoneName: "Notes"))
            #expect(try await database.save(long) == long)
            #expect(try await database.save([zone, .toDatabase("all")]).map { summary($0) } == ["ok", "ok"])
            #expect(try await database.save(long) == long)

            #expect(try await database.fetchSubscriptions().map(\.subscriptionID) == ["long", "zone", "all"])
            #expect(try await database.fetchSubscription("long") == long)
            #expect(long.query?.sorts == [])
            let fetched = try await database.fetchSubscriptions(["all", "none", "zone"])
            #expect(fetched.map { summary($0) { $0.subscriptionID ?? "?" } } == ["all", "NOT_FOUND none", "zone"])

            var changed = long
            changed.firesOn = [.delete]
            #expect(try await database.update(changed) == changed)
            let none = try await failure {
                try await database.update(Subscription("none", toZone: notes))
            }
            #expect(none.code == .notFound)
            #expect(none.item == .subscription(id: "none"))

            try await database.deleteSubscription("long")
            #expect(
                try await database.deleteSubscriptions(["zone", "long"]).map { summary($0) } == [
                    "ok", "NOT_FOUND long",
                ]
            )
            #expect(try await database.fetchSubscriptions().map(\.subscriptionID) == ["all"])
        }
    }

    @Test func aSecondSubscriptionToTheSameIsNamed() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            try await database.save(Subscription("first", to: Query<Memo>(), firesOn: [.create]))
            let error = try await failure {
                try await database.save(Subscription("second", to: Query<Memo>(), firesOn: [.create]))
            }
            #expect(error.code == .exists)
            #expect(error.reason == "could not find subscription we just created")
            #expect(error.item == .subscription(id: "second"))
            #expect(error.operation == "modifySubscriptions")
            #expect(error.requestUUID != nil)
        }
    }

    @Test func whatTheServiceWouldNotTakeIsNotSent() async throws {
        let transport = FakeTransport(json: "{}")
        let database = fakeService(transport).privateDatabase
        for subscription in [
            Subscription("", to: Query<Memo>(), firesOn: [.create]),
            Subscription("a", to: Query<Memo>(), firesOn: []),
            Subscription(subscriptionID: nil),
            Subscription(subscriptionID: "a", subscriptionType: .query, firesOn: [.create]),
        ] {
            let error = try await failure { try await database.save(subscription) }
            #expect(error.code == .invalidArgument)
        }
        #expect(try await database.save([]).isEmpty)
        #expect(transport.sent.isEmpty)
    }

    @Test func manySubscriptionsAreSentInParts() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).publicDatabase
            let subscriptions = (0..<201).map { number in
                Subscription("s\(number)", to: Query(recordType: "T\(number)"), firesOn: [.create])
            }
            let saved = try await database.save(subscriptions)
            #expect(saved.map { summary($0) } == Array(repeating: "ok", count: 201))
            #expect(try await database.fetchSubscriptions().count == 201)
            #expect(try await database.fetchSubscriptions(subscriptions.compactMap(\.subscriptionID)).count == 201)
        }
    }

    @Test func whatIsSentIsWhatTheProtocolSays() async throws {
        let transport = FakeTransport(json: #"{"subscriptions":[{"subscriptionID":"a"}]}"#)
        let database = fakeService(transport).privateDatabase
        try await database.save(
            Subscription("a", to: Self.memos, firesOn: [.create], zoneWide: true, firesOnce: true)
        )
        try await database.deleteSubscription("a")
        _ = try await database.fetchSubscription("a")
        _ = try await database.fetchSubscriptions()
        #expect(
            try transport.requests == [
                """
                POST private/subscriptions/modify {"operations":[{"operationType":"create","subscription":\
                {"firesOn":["create"],"firesOnce":true,"query":{"filterBy":[{"comparator":"GREATER_THAN",\
                "fieldName":"count","fieldValue":{"type":"INT64","value":3}}],"recordType":"Memo"},\
                "subscriptionID":"a","subscriptionType":"query","zoneWide":true}}]}
                """,
                """
                POST private/subscriptions/modify {"operations":[{"operationType":"delete","subscription":\
                {"subscriptionID":"a"}}]}
                """,
                #"POST private/subscriptions/lookup {"subscriptions":[{"subscriptionID":"a"}]}"#,
                "GET private/subscriptions/list",
            ]
        )
    }
}

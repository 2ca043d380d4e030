import CloudKitEmulator
import CloudKitModel
import Foundation
import StreamingJSON
import Testing

struct PushTests {
    /// A world in which Ann has a device.
    private struct Device {
        let world: World
        let token: DeviceToken

        init(_ configure: (inout EmulatorConfiguration) -> Void = { _ in }) throws {
            world = try World(configure)
            token = try world.emulator.request(
                in: DatabaseAddress(World.container, .development, .public),
                as: .user(world.ann)
            ).createDeviceToken(apnsEnvironment: "development", clientID: "client")
        }

        func subscribe(
            _ subscriptions: Subscription...,
            in address: DatabaseAddress? = nil,
            as user: String? = nil
        ) throws {
            for result in try world.emulator.request(in: address ?? world.privateDatabase, as: .user(user ?? world.ann))
                .modifySubscriptions(subscriptions.map { SubscriptionOperation(.create, subscription: $0) })
            { _ = try result.get() }
        }

        /// The pushes in the device's queue, in short: `s created a in Notes`, `s zone Notes`.
        func pushes() throws -> [String] {
            try payloads().map { payload in
                let content = try #require(payload.content)
                if let query = content.query {
                    let reason = ["?", "created", "updated", "deleted"][Int(query.reason ?? 0)]
                    return
                        "\(query.subscriptionID ?? "?") \(reason) \(query.recordName ?? "?") in \(query.zoneName ?? "?")"
                }
                if let zone = content.zone { return "\(zone.subscriptionID ?? "?") zone \(zone.zoneName ?? "?")" }
                let database = try #require(content.database)
                return "\(database.subscriptionID ?? "?") database \(database.zoneName ?? "?")"
            }
        }

        func payloads() throws -> [PushPayload] {
            var payloads: [PushPayload] = []
            while let push = try world.emulator.takePush(forCourier: token.courierID) {
                payloads.append(try JSONReader.read(PushPayload.self, from: push))
            }
            return payloads
        }
    }

    private static let all: [Subscription.Event] = [.create, .update, .delete]

    private func notes(_ id: String, _ events: [Subscription.Event] = all, _ filters: QueryFilter...) -> Subscription {
        Subscription(subscriptionID: id, query: RecordQuery(recordType: "Note", filters: filters), firesOn: events)
    }

    @Test func aQuerySubscriptionSendsPushesForMatchingRecords() throws {
        let device = try Device()
        let world = device.world
        // The type and its fields do not exist yet.
        try device.subscribe(notes("long", Self.all, QueryFilter("stars", .greaterThan, 3)))
        try world.modify(.note(.create, "a", ["stars": 5]), .note(.create, "b", ["stars": 1]))
        try world.modify(.note(.forceUpdate, "b", ["stars": 4]), .note(.forceUpdate, "a", ["stars": 2]))
        try world.modify(.note(.forceDelete, "a"), .note(.forceDelete, "b"))
        #expect(
            try device.pushes() == [
                "long created a in Notes", "long updated b in Notes", "long deleted b in Notes",
            ]
        )
    }

    @Test func onlyTheEventsAskedForAreTold() throws {
        let device = try Device()
        try device.subscribe(notes("new", [.create]), notes("gone", [.delete]))
        try device.world.modify(.note(.create, "a"))
        try device.world.modify(.note(.forceUpdate, "a", ["title": "x"]))
        try device.world.modify(.note(.forceDelete, "a"))
        #expect(try device.pushes() == ["new created a in Notes", "gone deleted a in Notes"])
    }

    @Test func whatIsUndoneOrRefusedIsNotTold() throws {
        let device = try Device()
        try device.subscribe(notes("new"), Subscription(subscriptionID: "zone", zoneID: World.notes))
        try device.world.modify(.note(.create, "a"), .note(.update, "b", tag: "1"), atomic: true)
        try device.world.modify(.note(.update, "b", tag: "1"))
        #expect(try device.pushes() == [])
        try device.world.modify(.note(.create, "a"), .note(.update, "b", tag: "1"))
        #expect(try device.pushes() == ["new created a in Notes", "zone zone Notes"])
    }

    @Test func recordsThatGoWithAnotherAreToldToo() throws {
        let device = try Device()
        try device.subscribe(notes("gone", [.delete]))
        let parent = FieldValue.reference(Reference(recordName: "a", action: .deleteSelf))
        try device.world.modify(.note(.create, "a"), .note(.create, "b", ["parent": parent]))
        try device.world.modify(.note(.forceDelete, "a"))
        #expect(try device.pushes() == ["gone deleted b in Notes", "gone deleted a in Notes"])
    }

    @Test func aZoneSubscriptionTellsOnceOfARequest() throws {
        let device = try Device()
        try device.subscribe(Subscription(subscriptionID: "zone", zoneID: World.notes))
        try device.world.modify(.note(.create, "a"), .note(.create, "b"))
        try device.world.modify([.note(.create, "c")], zoneID: nil)
        #expect(try device.pushes() == ["zone zone Notes"])
    }

    @Test func aDatabaseSubscriptionSendsPushesForAllZones() throws {
        let device = try Device()
        let world = device.world
        try device.subscribe(Subscription(subscriptionID: "all", subscriptionType: .database))
        try world.modify(.note(.create, "a"))
        try world.modify([.note(.create, "b")], zoneID: nil)
        for type in [ZoneOperation.OperationType.create, .delete] {
            _ = try world.asAnn().modifyZones([ZoneOperation(type, zone: Zone(zoneID: ZoneID(zoneName: "New")))])
        }
        #expect(
            try device.pushes() == [
                "all database Notes", "all database _defaultZone", "all database New", "all database New",
            ]
        )
    }

    @Test func aQuerySubscriptionWatchesItsZoneOrAllOrTheDefaultZone() throws {
        func pushes(_ zoneWide: Bool?, _ zoneID: ZoneID?, isWide: Bool = true) throws -> [String] {
            let device = try Device { $0.unsettled.querySubscriptionsAreZoneWide = isWide }
            var subscription = notes("n")
            (subscription.zoneWide, subscription.zoneID) = (zoneWide, zoneID)
            try device.subscribe(subscription)
            try device.world.modify(.note(.create, "a"))
            try device.world.modify([.note(.create, "b")], zoneID: nil)
            return try device.pushes()
        }
        let (custom, standard) = ("n created a in Notes", "n created b in _defaultZone")
        #expect(try pushes(nil, World.notes) == [custom])
        #expect(try pushes(true, nil) == [custom, standard])
        #expect(try pushes(false, nil) == [standard])
        #expect(try pushes(nil, nil) == [custom, standard])
        #expect(try pushes(nil, nil, isWide: false) == [standard])
    }

    @Test func aSubscriptionThatFiresOnceIsDeletedAfterItsPush() throws {
        let device = try Device()
        var once = notes("once", [.create])
        once.firesOnce = true
        try device.subscribe(once)
        try device.world.modify(.note(.create, "a"), .note(.create, "b"))
        try device.world.modify(.note(.create, "c"))
        #expect(try device.pushes() == ["once created a in Notes"])
        #expect(
            try device.world.asAnn().subscriptions()
                == []
        )
    }

    @Test func othersAreToldOfThePublicDatabaseOnly() throws {
        let device = try Device()
        let world = device.world
        try device.subscribe(notes("all"))
        try device.subscribe(notes("public"), in: world.publicDatabase)
        for address in [world.publicDatabase, world.privateDatabase] {
            _ = try world.emulator.request(in: address, as: .user(world.ben)).modifyRecords([.note(.create, "a")])
        }
        #expect(try device.pushes() == ["public created a in _defaultZone"])
    }

    @Test func aPushSaysWhatTheSubscriptionWants() throws {
        let device = try Device()
        var subscription = notes("s", [.create])
        subscription.notificationInfo = NotificationInfo(
            alertBody: "New",
            alertLocalizationKey: "new %@ %@",
            alertLocalizationArgs: ["title", "stars", "none"],
            alertActionLocalizationKey: "open",
            alertLaunchImage: "image",
            soundName: "ding",
            shouldBadge: true,
            shouldSendContentAvailable: true,
            additionalFields: ["title", "stars", "none"]
        )
        try device.subscribe(subscription)
        try device.world.modify(.note(.create, "a", ["title": "x", "stars": 3]))
        try device.world.modify(.note(.create, "b"))
        let payloads = try device.payloads()
        let content = try #require(payloads[0].content)
        #expect(
            payloads[0]
                == PushPayload(
                    presentation: PushPayload.Presentation(
                        contentAvailable: 1,
                        alert: PushPayload.Alert(
                            body: "New",
                            localizationKey: "new %@ %@",
                            localizationArguments: ["x", "3", ""],
                            actionLocalizationKey: "open",
                            launchImage: "image"
                        ),
                        badge: 1,
                        sound: "ding"
                    ),
                    content: PushPayload.Content(
                        version: 2,
                        containerIdentifier: World.container,
                        notificationID: content.notificationID,
                        userRecordName: device.world.ann,
                        query: PushPayload.Change(
                            databaseNumber: 1,
                            zoneName: "Notes",
                            zoneOwner: "_defaultOwner",
                            recordName: "a",
                            subscriptionID: "s",
                            reason: 1,
                            fields: ["title": "x", "stars": 3]
                        )
                    )
                )
        )
        #expect(content.notificationID?.count == 36)
        #expect(payloads[1].presentation?.badge == 2)
        #expect(payloads[1].content?.query?.fields == [:])
    }

    @Test func aPushThatIsTooLargeLosesTheFields() throws {
        let device = try Device()
        var subscription = notes("s", [.create])
        subscription.notificationInfo = NotificationInfo(additionalFields: ["title"])
        try device.subscribe(subscription)
        try device.world.modify(.note(.create, "a", ["title": .string(String(repeating: "x", count: 5000))]))
        let content = try #require(try device.payloads().first?.content)
        #expect(content.isPruned)
        #expect(content.query?.fields == nil)
    }

    @Test func aFullQueueLosesTheOldest() throws {
        let device = try Device { $0.limits.pushesPerDevice = 2 }
        try device.subscribe(notes("s", [.create]))
        for name in ["a", "b", "c"] { try device.world.modify(.note(.create, name)) }
        #expect(try device.pushes() == ["s created b in Notes", "s created c in Notes"])
    }

    @Test func pushesOutliveTheProcess() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "push-\(UUID()).sqlite").path
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        let emulator = try CloudKitEmulator(storage: .file(path: path))
        let user = try emulator.createUser()
        let address = DatabaseAddress(World.container, .development, .private)
        let token = try emulator.request(in: DatabaseAddress(World.container, .development, .public), as: .user(user))
            .createDeviceToken(apnsEnvironment: "production", clientID: "c")
        _ = try emulator.request(in: address, as: .user(user)).modifySubscriptions([
            SubscriptionOperation(.create, subscription: notes("s"))
        ])
        _ = try emulator.request(in: address, as: .user(user)).modifyRecords([.note(.create, "a")])
        try emulator.close()
        let again = try CloudKitEmulator(storage: .file(path: path))
        #expect(try again.takePush(forCourier: token.courierID) != nil)
        #expect(try again.takePush(forCourier: token.courierID) == nil)
        try again.close()
    }

    // MARK: Tokens

    @Test func aClientKeepsItsTokenAndItsQueue() throws {
        let device = try Device()
        let emulator = device.world.emulator
        func token(_ client: String?, _ environment: String = "development", as caller: Caller? = nil) throws
            -> DeviceToken
        {
            try emulator.request(
                in: DatabaseAddress(World.container, .development, .public),
                as: caller ?? .user(device.world.ann)
            ).createDeviceToken(apnsEnvironment: environment, clientID: client)
        }
        #expect(try token("client") == device.token)
        #expect(try token("client", "production") != device.token)
        #expect(try token("other") != device.token)
        #expect(try token("client", as: .user(device.world.ben)) != device.token)
        #expect(try token(nil) != token(nil))
        #expect(
            refusal { try token("c", "staging") }
                == "BAD_REQUEST apnsEnvironment is development or production, not 'staging'"
        )
        #expect(refusal { try token("c", as: .anonymous) } == "AUTHENTICATION_REQUIRED request needs authorization")
    }

    @Test func aDeviceOfApplesPushServiceIsTold() throws {
        let device = try Device { $0.unsettled.deviceTokensNeedRegistration = true }
        let world = device.world
        try world.emulator.request(in: DatabaseAddress(World.container, .development, .public), as: .user(world.ann))
            .registerDeviceToken("bmF0aXZl", apnsEnvironment: "development", clientID: "phone")
        try device.subscribe(notes("s"))
        try world.modify(.note(.create, "a"))
        #expect(try world.emulator.takePushes(forDeviceToken: "bmF0aXZl").count == 1)
        #expect(try world.emulator.takePushes(forDeviceToken: "bmF0aXZl").count == 0)
        // The other device token was never registered.
        #expect(try device.pushes() == [])
    }

    @Test func aPushWakesAWaitingCall() async throws {
        let device = try Device()
        let world = device.world
        try device.subscribe(notes("s"))
        async let push = world.emulator.nextPush(forCourier: device.token.courierID)
        try world.modify(.note(.create, "a"))
        let payload = try JSONReader.read(PushPayload.self, from: try await push)
        #expect(payload.content?.query?.recordName == "a")
    }

    @Test func waitingEndsWhenTheTaskIsCancelledAndWhenTheTokenIsRevoked() async throws {
        let device = try Device()
        let (emulator, courierID) = (device.world.emulator, device.token.courierID)
        let cancelled = Task { try await emulator.nextPush(forCourier: courierID) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let waiting = Task { try await emulator.nextPush(forCourier: courierID) }
        try emulator.revokeDeviceTokens(of: device.world.ann)
        await #expect(throws: EmulatorError(.notFound, "there is no such token")) { try await waiting.value }
    }

    @Test func eachPushGoesToOneWaitingCall() async throws {
        let device = try Device()
        let world = device.world
        try device.subscribe(notes("s", [.create]))
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let push = try await world.emulator.nextPush(forCourier: device.token.courierID)
                    return try JSONReader.read(PushPayload.self, from: push).content?.query?.recordName ?? "?"
                }
            }
            for number in 0..<8 {
                group.addTask {
                    try world.modify(.note(.create, "n\(number)"))
                    return ""
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(names.filter { !$0.isEmpty }.sorted() == (0..<8).map { "n\($0)" })
    }

    @Test(arguments: zip([EmulatorConfiguration.Unsettled.DatabaseNumbers.fromOne, .fromZero], [2, 1]))
    func databasesAreNumberedAsConfigured(
        numbers: EmulatorConfiguration.Unsettled.DatabaseNumbers,
        expected: Int64
    ) throws {
        let device = try Device { $0.unsettled.databaseNumbersInPushes = numbers }
        try device.subscribe(Subscription(subscriptionID: "zone", zoneID: World.notes))
        try device.world.modify(.note(.create, "a"))
        #expect(try device.payloads().map { $0.content?.zone?.databaseNumber } == [expected])
    }
}

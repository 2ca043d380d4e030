import CloudKitEmulator
import CloudKitModel
import StreamingJSON
import Testing

struct SubscriptionTests {
    private static let artworks = RecordQuery(recordType: "Artwork")

    private func query(_ id: String?, _ events: [Subscription.Event], _ query: RecordQuery = artworks) -> Subscription {
        Subscription(subscriptionID: id, subscriptionType: .query, query: query, firesOn: events)
    }

    private func apply(
        _ type: SubscriptionOperation.OperationType,
        _ subscription: Subscription,
        in world: World,
        _ address: DatabaseAddress? = nil
    ) throws -> String {
        let results = try world.emulator.request(in: address ?? world.privateDatabase, as: .user(world.ann))
            .modifySubscriptions([SubscriptionOperation(type, subscription: subscription)])
        return results.map(summary).joined()
    }

    private func list(_ world: World) throws -> [String] {
        try world.asAnn().subscriptions().map(summary)
    }

    private func summary(_ result: SubscriptionResult) -> String {
        switch result {
        case .success(let subscription): text(subscription)
        case .failure(let error):
            "\(error.id ?? "?")! \(error.serverErrorCode.rawValue) \(error.reason ?? "")"
        }
    }

    @Test func aNameThatExistsTakesTheNewContent() throws {
        let world = try World()
        _ = try apply(.create, query("a", [.create]), in: world)
        _ = try apply(.create, query("b", [.update]), in: world)
        _ = try apply(.create, query("a", [.delete]), in: world)
        #expect(
            try list(world) == [
                #"{"subscriptionID":"a","subscriptionType":"query","query":{"recordType":"Artwork"},"firesOn":["delete"]}"#,
                #"{"subscriptionID":"b","subscriptionType":"query","query":{"recordType":"Artwork"},"firesOn":["update"]}"#,
            ]
        )
    }

    @Test func typeAndIdentifierAreFilledIn() throws {
        let world = try World()
        let unnamed = Subscription(subscriptionID: nil, query: Self.artworks, firesOn: [.create])
        let results = try world.asAnn().modifySubscriptions([
            SubscriptionOperation(.create, subscription: unnamed),
            SubscriptionOperation(.create, subscription: Subscription(subscriptionID: "z", zoneID: World.notes)),
        ])
        #expect(try results.map { try $0.get().subscriptionType } == [.query, .zone])
        #expect(try results[0].get().subscriptionID?.count == 36)
    }

    @Test func invalidSubscriptionsAreRefused() throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["title": "x"]))
        let filter = RecordQuery(recordType: "Note", filters: [QueryFilter("title", .near, "x")])
        let noZone = Subscription(subscriptionID: "z", zoneID: ZoneID(zoneName: "None"))
        for (subscription, refusal) in [
            (query("a", []), "a! BAD_REQUEST a query subscription needs firesOn, of create, update and delete"),
            (query("a", ["read"]), "a! BAD_REQUEST a query subscription needs firesOn, of create, update and delete"),
            (
                Subscription(subscriptionID: "a", subscriptionType: .query),
                "a! BAD_REQUEST a query subscription needs a query"
            ),
            (query("a", [.create], RecordQuery(recordType: "1")), "a! BAD_REQUEST '1' is not a valid record type name"),
            (
                query("a", [.create], filter),
                "a! BAD_REQUEST Field 'title' has a value type of STRING and cannot be queried using filter type NEAR"
            ),
            (noZone, "z! ZONE_NOT_FOUND Zone 'None' does not exist"),
            (Subscription(subscriptionID: "a"), "a! BAD_REQUEST a subscription is of the type query, zone or database"),
            (query("", [.create]), "! BAD_REQUEST '' is not a valid subscription name"),
        ] {
            #expect(try apply(.create, subscription, in: world) == refusal)
        }
        #expect(
            try apply(.update, query("a", [.create]), in: world) == "a! NOT_FOUND Subscription not found"
        )
        #expect(
            try apply(.delete, Subscription(subscriptionID: "a"), in: world) == "a! NOT_FOUND Subscription not found"
        )
        #expect(try apply("bend", query("a", [.create]), in: world) == "a! BAD_REQUEST unknown operation 'bend'")
        #expect(try list(world) == [])
    }

    @Test func filtersTellSubscriptionsApartUnlessToldOtherwise() throws {
        func second(_ configure: (inout EmulatorConfiguration) -> Void = { _ in }) throws -> String {
            let world = try World(configure)
            let filtered = RecordQuery(recordType: "Artwork", filters: [QueryFilter("title", .equals, "x")])
            _ = try apply(.create, query("a", [.create, .update]), in: world)
            return try apply(.create, query("b", [.update, .create], filtered), in: world)
        }
        #expect(try second().hasPrefix(#"{"subscriptionID":"b""#))
        #expect(
            try second { $0.unsettled.duplicateSubscriptions = .sameTypeAndEvents }
                == "b! INTERNAL_ERROR could not find subscription we just created"
        )
    }

    @Test func databaseSubscriptionsAreForPrivateAndSharedDatabases() throws {
        let database = Subscription(subscriptionID: "d", subscriptionType: .database)
        let refusal = "d! BAD_REQUEST database subscriptions are not for this database"
        let world = try World()
        #expect(try apply(.create, database, in: world) == #"{"subscriptionID":"d","subscriptionType":"database"}"#)
        #expect(try apply(.create, database, in: world, world.publicDatabase) == refusal)
        let strict = try World { $0.unsettled.servesDatabaseSubscriptions = false }
        #expect(try apply(.create, database, in: strict) == refusal)
    }

    @Test func databasesKeepTheirSubscriptionsApart() throws {
        let world = try World()
        _ = try apply(.create, query("a", [.create]), in: world)
        _ = try apply(.create, query("a", [.delete]), in: world, world.publicDatabase)
        #expect(try list(world).count == 1)
        #expect(
            refusal { try world.emulator.request(in: world.publicDatabase, as: .anonymous).subscriptions() }
                == "AUTHENTICATION_REQUIRED request needs authorization"
        )
        #expect(try world.asBen(in: .public).subscriptions() == [])
    }
}

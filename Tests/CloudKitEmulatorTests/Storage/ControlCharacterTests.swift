import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

/// A name with a control character is not the name before that character: nothing of that name is found, changed or
/// deleted.
struct ControlCharacterTests {
    private static let characters = ["\u{0}", "\u{0}zzz", "\u{1}", "\n", "\u{7F}"]

    @Test(arguments: characters)
    func anOperationOnARecordChangesNothing(_ ending: String) throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["title": "old"]))
        let before = try world.contents()
        let tag = try world.tag("a")
        let operations: [RecordOperation] = [
            .note(.forceDelete, "a" + ending), .note(.delete, "a" + ending, tag: tag),
            .note(.update, "a" + ending, tag: tag, ["title": "new"]),
            .note(.forceUpdate, "a" + ending, ["title": "new"]), .note(.create, "b" + ending, ["title": "new"]),
        ]
        for operation in operations {
            let results = try world.modify(operation)
            let name = operation.record.recordName ?? "?"
            #expect(results == ["\(name)! BAD_REQUEST a record name cannot have control characters"])
        }
        #expect(try world.contents() == before)
        let lookup = try world.asAnn().lookupRecords([RecordLookup(recordName: "a" + ending)], zoneID: World.notes)
        #expect(lookup.records.map(summary) == ["a\(ending)! BAD_REQUEST a record name cannot have control characters"])
    }

    @Test(arguments: characters)
    func anOperationOnAZoneChangesNothing(_ ending: String) throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["title": "old"]))
        let before = try world.contents()
        let zoneID = ZoneID(zoneName: "Notes" + ending)
        for type in [ZoneOperation.OperationType.delete, .create] {
            let results = try world.asAnn().modifyZones([ZoneOperation(type, zone: Zone(zoneID: zoneID))])
            #expect(results.map(summary) == ["Notes\(ending)! BAD_REQUEST"])
        }
        #expect(
            refusal { try world.modify([.note(.forceDelete, "a")], zoneID: zoneID) }
                == "BAD_REQUEST a zone ID cannot have control characters"
        )
        let owned = ZoneID(zoneName: "Notes", ownerRecordName: world.ann + ending)
        #expect(
            refusal { try world.modify([.note(.forceDelete, "a")], zoneID: owned) }
                == "BAD_REQUEST a zone ID cannot have control characters"
        )
        #expect(try world.contents() == before)
        #expect(try world.asAnn().zones().zones.map(summary) == ["_defaultZone", "Notes"])
    }

    @Test func referencesParentsAndSubscriptionsAreNotTakenForOthers() throws {
        let world = try World()
        try world.modify(.note(.create, "a"))
        var child = Record(recordType: "Note", recordName: "child")
        child.parent = Reference(recordName: "a\u{0}b")
        let results = try world.modify(
            .note(.create, "b", ["link": .reference(Reference(recordName: "a\u{0}b", action: .deleteSelf))]),
            RecordOperation(.create, record: child)
        )
        #expect(
            results == [
                "b! BAD_REQUEST the record name of a reference cannot have control characters",
                "child! BAD_REQUEST the record name of a parent cannot have control characters",
            ]
        )
        #expect(try world.contents() == ["a@1 {}"])

        let subscription = Subscription(subscriptionID: "s", zoneID: World.notes)
        _ = try world.asAnn().modifySubscriptions([SubscriptionOperation(.create, subscription: subscription)])
        var other = subscription
        other.subscriptionID = "s\u{0}t"
        for type in [SubscriptionOperation.OperationType.delete, .update, .create] {
            let results = try world.asAnn().modifySubscriptions([SubscriptionOperation(type, subscription: other)])
            #expect(results.allSatisfy { if case .failure = $0 { true } else { false } }, "\(type)")
        }
        #expect(try world.asAnn().subscriptions().map(\.itemID) == ["s"])
    }

    @Test func aCredentialWithMoreBehindItIsNotThatCredential() throws {
        let world = try World()
        let token = try world.emulator.registerAPIToken(for: World.container)
        for (token, container) in [(token + "\u{0}junk", World.container), (token, World.container + "\u{0}x")] {
            #expect(
                refusal {
                    try world.emulator.authenticate(Credentials(apiToken: token), for: container, in: .development)
                } == "AUTHENTICATION_FAILED Authentication failed"
            )
        }
        #expect(
            refusal {
                try world.emulator.request(
                    in: DatabaseAddress(World.container + "\u{0}x", .development, .private),
                    as: .user(world.ann)
                )
            } == "BAD_REQUEST a container identifier cannot have control characters"
        )
        let device = try world.asAnn().createDeviceToken(apnsEnvironment: "development", clientID: "c")
        #expect(refusal { try world.emulator.takePush(forCourier: device.courierID + "\u{0}x") } != "accepted")
        #expect(refusal { try world.emulator.registerContainer("a\u{0}b") } != "accepted")
        #expect(try world.emulator.takePush(forCourier: device.courierID) == nil)
    }
}

import CloudKitRuleIDs
import StreamingJSON

/// References between records.
let referenceRules: [ContractRule] = [
    ContractRule("a reference without an action is taken as NONE, or refused", [.unconfirmed]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify(
            [.create("a", ["link": .typed(["recordName": "t"], "REFERENCE")])],
            in: zone
        )
        try reply.expectRecords([.anyOf([.record("a", ["link": .reference("t")]), .failure("a", "BAD_REQUEST")])])
    },
    ContractRule("a reference comes back with its name and action", [.recorded]) { session in
        let zone = try await session.makeZone()
        try await session.save("t", in: zone)
        let record = JSONPattern.record("a", ["link": .reference("t")])
        try await session.modify([.create("a", ["link": .reference("t")])], in: zone).expectRecords([record])
        let reply = try await session.lookup(["a"], in: zone)
        try reply.expectRecords([record])
        if let zoneID = reply.records[0]["fields"]?["link"]?["value"]?["zoneID"] {
            try reply.require(zoneID["zoneName"] == .string(zone.zoneName), "the reference's zone to be the record's")
        }
    },
    ContractRule("a reference with the action NONE may dangle", [.archive]) { session in
        let zone = try await session.makeZone()
        try await session.save("t", in: zone)
        try await session.save("a", ["link": .reference("t")], in: zone)
        try await session.save("b", ["link": .reference("missing")], in: zone)
        try await session.modify([.forceDelete("t")], in: zone).expectRecords([.deleted("t")])
        try await session.lookup(["a", "b", "t"], in: zone).expectRecords([
            .record("a", ["link": .reference("t")]), .record("b", ["link": .reference("missing")]),
            .failure("t", "NOT_FOUND"),
        ])
    },
    ContractRule(
        "deleting a record deletes what refers to it with DELETE_SELF, over all levels",
        [.archive, .inferred]
    ) {
        session in
        let zone = try await session.makeZone()
        try await session.save("root", in: zone)
        try await session.save("child", ["link": .reference("root", "DELETE_SELF")], in: zone)
        try await session.save("grandchild", ["link": .reference("child", "DELETE_SELF")], in: zone)
        try await session.save("friend", ["link": .reference("root")], in: zone)
        let (_, token) = try await session.allChanges(in: zone)
        try await session.modify([.forceDelete("root")], in: zone).expectRecords([.deleted("root")])
        try await session.lookup(["root", "child", "grandchild", "friend"], in: zone).expectRecords([
            .failure("root", "NOT_FOUND"), .failure("child", "NOT_FOUND"), .failure("grandchild", "NOT_FOUND"),
            .record("friend", ["link": .reference("root")]),
        ])
        try await session.changes(in: zone, since: token).expectZones([
            .including([
                "records": .unordered([.tombstone("root"), .tombstone("child"), .tombstone("grandchild")])
            ])
        ])
    },
    ContractRule("a child may be created before its parent in one batch", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.modify(
            [.create("child", ["link": .reference("parent", "DELETE_SELF")]), .create("parent")],
            in: zone
        )
        .expectRecords([.record("child", ["link": .reference("parent", "DELETE_SELF")]), .record("parent")])
        try await session.modify([.forceDelete("parent")], in: zone).expectRecords([.deleted("parent")])
        try await session.lookup(["child"], in: zone).expectRecords([.failure("child", "NOT_FOUND")])
    },
    ContractRule("a reference that was changed does not delete its record any more", [.archive]) { session in
        let zone = try await session.makeZone()
        for name in ["one", "two"] { try await session.save(name, in: zone) }
        try await session.save("child", ["link": .reference("one", "DELETE_SELF")], in: zone)
        try await session.modify([.forceUpdate("child", ["link": .reference("two", "DELETE_SELF")])], in: zone)
            .expectRecords([.record("child", ["link": .reference("two", "DELETE_SELF")])])
        try await session.modify([.forceDelete("one")], in: zone).expectRecords([.deleted("one")])
        try await session.lookup(["child"], in: zone)
            .expectRecords([.record("child", ["link": .reference("two", "DELETE_SELF")])])
        try await session.modify([.forceDelete("two")], in: zone).expectRecords([.deleted("two")])
        try await session.lookup(["child"], in: zone).expectRecords([.failure("child", "NOT_FOUND")])
    },
    ContractRule(.targetOfValidate, "a VALIDATE reference needs its target", [.archive]) { session in
        let zone = try await session.makeZone()
        try await session.save("t", in: zone)
        try await session.modify(
            [
                .create("a", ["link": .reference("t", "VALIDATE")]),
                .create("b", ["link": .reference("missing", "VALIDATE")]),
            ],
            in: zone
        )
        .expectRecords([
            .record("a", ["link": .reference("t", "VALIDATE")]), .failure("b", "VALIDATING_REFERENCE_ERROR"),
        ])
        try await session.lookup(["b"], in: zone).expectRecords([.failure("b", "NOT_FOUND")])
    },
    ContractRule(
        .deletionOfValidatedTarget,
        "what a VALIDATE reference points to cannot be deleted until the referrer is",
        [.archive]
    ) { session in
        let zone = try await session.makeZone()
        try await session.save("t", ["title": "t"], in: zone)
        try await session.save("a", ["link": .reference("t", "VALIDATE")], in: zone)
        try await session.modify([.forceDelete("t")], in: zone)
            .expectRecords([.failure("t", "VALIDATING_REFERENCE_ERROR")])
        try await session.lookup(["t"], in: zone).expectRecords([.record("t", ["title": "t"])])
        try await session.modify([.forceDelete("a")], in: zone).expectRecords([.deleted("a")])
        try await session.modify([.forceDelete("t")], in: zone).expectRecords([.deleted("t")])
    },
    ContractRule("a VALIDATE reference may point to a record created earlier in its batch", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.modify([.create("t"), .create("a", ["link": .reference("t", "VALIDATE")])], in: zone)
            .expectRecords([.record("t"), .record("a", ["link": .reference("t", "VALIDATE")])])
    },
    ContractRule("a text is no reference", [.inferred]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify([.create("a", ["link": .typed("t", "REFERENCE")])], in: zone)
        try reply.expectRecords([.failure("a", "BAD_REQUEST", reason: "could not decode reference object")])
    },
    ContractRule("a reference does not lead to another custom zone", [.native]) { session in
        let (zone, other) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        try await session.save("t", in: other)
        let link: JSONValue = ["recordName": "t", "action": "NONE", "zoneID": other.zoneID ?? nil]
        try await session.modify([.create("a", ["link": .typed(link, "REFERENCE")])], in: zone)
            .expectRecords([.failure("a", "BAD_REQUEST")])
    },
    ContractRule("deleting any target of a list of DELETE_SELF references deletes the record", [.inferred]) { session in
        let zone = try await session.makeZone()
        for name in ["one", "two"] { try await session.save(name, in: zone) }
        let links = Field.list(
            "REFERENCE",
            [Field.referenceValue("one", "DELETE_SELF"), Field.referenceValue("two", "DELETE_SELF")]
        )
        try await session.save("a", ["links": links], in: zone)
        try await session.modify([.forceDelete("two")], in: zone).expectRecords([.deleted("two")])
        try await session.lookup(["a", "one"], in: zone).expectRecords([.failure("a", "NOT_FOUND"), .record("one")])
    },
    ContractRule("a VALIDATE reference to a record created later in its batch is saved, or refused", [.unconfirmed]) {
        session in
        let zone = try await session.makeZone()
        let reply = try await session.modify(
            [.create("a", ["link": .reference("t", "VALIDATE")]), .create("t")],
            in: zone
        )
        try reply.expectRecords([
            .anyOf([.record("a", ["link": .reference("t", "VALIDATE")]), .failure("a", "VALIDATING_REFERENCE_ERROR")]),
            .record("t"),
        ])
    },
    ContractRule(.referencesWithDeleteSelf, "at most 750 references with DELETE_SELF lead to one record", [.archive]) {
        session in
        let zone = try await session.makeZone()
        try await session.save("t", in: zone)
        let link: Fields = ["link": .reference("t", "DELETE_SELF")]
        try await session.save((0..<750).map { .create("r\($0)", link) }, in: zone)
        let reply = try await session.modify([.create("one more", link)], in: zone)
        let item = reply.records.first
        try reply.require(item?["serverErrorCode"]?.stringValue != nil, "a failure of the 751st")
        try await session.lookup(["one more"], in: zone).expectRecords([.failure("one more", "NOT_FOUND")])
    },
]

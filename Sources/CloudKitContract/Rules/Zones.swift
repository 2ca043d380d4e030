import StreamingJSON

/// Zones: zones/list, zones/lookup, zones/modify.
let zoneRules: [ContractRule] = [
    ContractRule("zones/list of a private database has the default zone", [.inferred, .recorded]) { session in
        let reply = try await session.get("zones/list", in: .privateDatabase)
        try reply.expect(.including(["zones": .anything, "moreComing": false, "syncToken": .text]))
        let zone = reply.zones.first { $0["zoneID"]?["zoneName"] == "_defaultZone" }
        try reply.require(
            zone.map { JSONPattern.zone("_defaultZone", type: "DEFAULT_ZONE").difference(from: $0) == nil } ?? false,
            "_defaultZone among the zones"
        )
    },
    ContractRule("the public database has the default zone alone", [.archive], requires: []) { session in
        try await session.get("zones/list", in: .publicDatabase(as: .apiToken))
            .expectZones([.zone("_defaultZone", type: "DEFAULT_ZONE")])
    },
    ContractRule("the shared database lists the zones of others alone", [.inferred]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.get("zones/list", in: .sharedDatabase)
        try reply.expect(.including(["zones": .anything, "moreComing": false, "syncToken": .text]))
        let names = reply.zones.compactMap { $0["zoneID"]?["zoneName"]?.stringValue }
        try reply.require(
            !names.contains(zone.zoneName) && !names.contains("_defaultZone"),
            "no zone of the user's own"
        )
    },
    ContractRule("a zone made comes back with owner, type and sync token, and is in the list", [.archive, .recorded]) {
        session in
        let name = session.unique("Notes")
        session.willDelete(zone: .privateDatabase.zone(name))
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        try await session.modifyZones([("create", name)], in: .privateDatabase).expectZones([
            .including([
                "zoneID": .including([
                    "zoneName": .value(.string(name)), "ownerRecordName": .value(.string(caller)),
                    "zoneType": "REGULAR_CUSTOM_ZONE",
                ]),
                "syncToken": .text,
                "atomic": true,
            ])
        ])
        let list = try await session.get("zones/list", in: .privateDatabase)
        try list.require(list.zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == name }, "\(name) in the list")
    },
    ContractRule("making a zone that exists does no harm to its records", [.peers, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        try await session.modifyZones([("create", zone.zoneName)], in: .privateDatabase)
            .expectZones([.anyOf([.zone(zone.zoneName), .zoneFailure(zone.zoneName, "EXISTS")])])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": "a"])])
    },
    ContractRule("a deleted zone is gone, and its records with it", [.archive, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        let reply = try await session.modifyZones([("delete", zone.zoneName)], in: .privateDatabase)
        try reply.expectZones([
            .including(
                ["zoneID": .including(["zoneName": .value(.string(zone.zoneName))])],
                without: ["serverErrorCode"]
            )
        ])
        let list = try await session.get("zones/list", in: .privateDatabase)
        try list.require(
            !list.zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName },
            "\(zone.zoneName) not in the list"
        )
        try await session.lookup(["a"], in: zone).expectError("ZONE_NOT_FOUND")
    },
    ContractRule("deleting a zone that does not exist is a failure", [.peers]) { session in
        let name = session.unique("None")
        try await session.modifyZones([("delete", name)], in: .privateDatabase)
            .expectZones([.zoneFailure(name, "ZONE_NOT_FOUND")])
    },
    ContractRule("operations on zones are all tried, in order", [.archive]) { session in
        let (one, none, two) = (session.unique("One"), session.unique("None"), session.unique("Two"))
        for name in [one, two] { session.willDelete(zone: .privateDatabase.zone(name)) }
        let results: [JSONPattern] = [.zone(one), .zoneFailure(none, "ZONE_NOT_FOUND"), .zone(two)]
        try await session.modifyZones([("create", one), ("delete", none), ("create", two)], in: .privateDatabase)
            .expectZones(results)
        let zones = [one, none, two].map { JSONValue.object(["zoneName": .string($0)]) }
        try await session.post("zones/lookup", ["zones": .array(zones)], in: .privateDatabase).expectZones(results)
    },
    ContractRule("zones/lookup answers in the order asked, missing zones included", [.archive]) { session in
        let zone = try await session.makeZone()
        let none = session.unique("None")
        let zones: JSONValue = [zone.zoneID ?? nil, ["zoneName": .string(none)], ["zoneName": "_defaultZone"]]
        try await session.post("zones/lookup", ["zones": zones], in: .privateDatabase).expectZones([
            .zone(zone.zoneName), .zoneFailure(none, "ZONE_NOT_FOUND"), .zone("_defaultZone", type: "DEFAULT_ZONE"),
        ])
    },
    ContractRule("records of an unknown zone are a failure of the request", [.archive, .inferred]) { session in
        let zone = Destination.privateDatabase.zone(session.unique("None"))
        try await session.query(in: zone).expectError("ZONE_NOT_FOUND")
        try await session.lookup(["a"], in: zone).expectError("ZONE_NOT_FOUND")
        try await session.modify([.create("a")], in: zone).expectError("ZONE_NOT_FOUND")
    },
    ContractRule("zone names are not empty, not longer than 255 characters, ASCII, and do not begin with _", [.native])
    {
        session in
        for name in ["", "_" + session.ending, "Größe" + session.ending, String(repeating: "z", count: 256)] {
            let reply = try await session.modifyZones([("create", name)], in: .privateDatabase)
            try reply.expectZones([.zoneFailure(nil, "BAD_REQUEST")])
        }
    },
    ContractRule("a zone name may have 255 characters", [.native]) { session in
        let name = session.ending + String(repeating: "z", count: 255 - session.ending.utf8.count)
        session.willDelete(zone: .privateDatabase.zone(name))
        try await session.modifyZones([("create", name)], in: .privateDatabase).expectZones([.zone(name)])
    },
    ContractRule("a zone name with a control character is no other zone's name", [.inferred, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        for ending in ["\u{0}", "\u{0}b", "\u{1}"] {
            let reply = try await session.modifyZones([("delete", zone.zoneName + ending)], in: .privateDatabase)
            if reply.status == 200 { try reply.expectZones([.zoneFailure(nil, "BAD_REQUEST", "ZONE_NOT_FOUND")]) }
            let deletion = try await session.modify(
                [.forceDelete("a")],
                in: .privateDatabase.zone(zone.zoneName + ending)
            )
            try deletion.require((400..<500).contains(deletion.status), "a refusal")
        }
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": "a"])])
    },
    ContractRule("the default zone cannot be deleted", [.inferred]) { session in
        try await session.modifyZones([("delete", "_defaultZone")], in: .privateDatabase)
            .expectZones([.zoneFailure("_defaultZone", "BAD_REQUEST")])
    },
    ContractRule("a zone ID may name its owner, by name or as _defaultOwner", [.archive, .observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        for (key, owner) in [("ownerRecordName", caller), ("ownerRecordName", "_defaultOwner"), ("ownerName", caller)] {
            let zoneID: JSONValue = ["zoneName": .string(zone.zoneName), key: .string(owner)]
            try await session.lookup(["a"], in: zone, ["zoneID": zoneID]).expectRecords([.record("a", ["title": "a"])])
        }
    },
    ContractRule("a private zone of another owner is unknown", [.inferred]) { session in
        let zone = try await session.makeZone()
        let zoneID: JSONValue = [
            "zoneName": .string(zone.zoneName), "ownerRecordName": "_0123456789abcdef0123456789abcdef",
        ]
        try await session.lookup(["a"], in: zone, ["zoneID": zoneID]).expectError("ZONE_NOT_FOUND")
        try await session.post("zones/lookup", ["zones": [zoneID]], in: zone)
            .expectZones([.zoneFailure(zone.zoneName, "ZONE_NOT_FOUND")])
    },
    ContractRule("a zone made again after its deletion is empty", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        for operation in ["delete", "create"] {
            _ = try await session.modifyZones([(operation, zone.zoneName)], in: .privateDatabase)
        }
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
        try await session.changes(in: zone).expectZones([.including(["records": [], "moreComing": false])])
    },
    ContractRule("zone names are told apart by case", [.inferred]) { session in
        let (upper, lower) = (try await session.makeZone("Notes"), try await session.makeZone("notes"))
        try await session.save("a", ["title": "upper"], in: upper)
        try await session.lookup(["a"], in: lower).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule("one request has at most one operation for a zone", [.archive, .unconfirmed]) { session in
        let name = session.unique("Notes")
        session.willDelete(zone: .privateDatabase.zone(name))
        let reply = try await session.modifyZones([("create", name), ("delete", name)], in: .privateDatabase)
        if reply.status == 200 {
            try reply.require(reply.zones.count == 2, "two results")
        } else {
            try reply.expectError("BAD_REQUEST")
        }
    },
]

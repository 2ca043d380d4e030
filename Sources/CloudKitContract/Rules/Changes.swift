import StreamingJSON

/// changes/zone, and the older records/changes.
let zoneChangesRules: [ContractRule] = [
    ContractRule("without a token, changes/zone gives all records as they are", [.archive, .observed]) { session in
        let zone = try await session.makeZone()
        for name in ["a", "b"] { try await session.save(name, ["title": .string(name)], in: zone) }
        try await session.changes(in: zone).expectZones([
            .including([
                "zoneID": .zoneID(zone.zoneName),
                "records": .unordered([.record("a", ["title": "a"]), .record("b", ["title": "b"])]),
                "syncToken": .text,
                "moreComing": false,
            ])
        ])
    },
    ContractRule("with the last token and nothing new, changes/zone gives nothing and the same token", [.observed]) {
        session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        let (_, token) = try await session.allChanges(in: zone)
        try await session.changes(in: zone, since: token).expectZones([
            .including(["records": [], "moreComing": false, "syncToken": .value(.string(token))])
        ])
    },
    ContractRule("after a change and a deletion, changes/zone gives the record and a tombstone", [.observed]) {
        session in
        let zone = try await session.makeZone()
        for name in ["a", "b", "c"] { try await session.save(name, ["title": "old"], in: zone) }
        let (_, token) = try await session.allChanges(in: zone)
        try await session.modify([.forceUpdate("a", ["title": "new"]), .forceDelete("b")], in: zone)
            .expectRecords([.record("a", ["title": "new"]), .deleted("b")])
        try await session.changes(in: zone, since: token).expectZones([
            .including(["records": .unordered([.record("a", ["title": "new"]), .tombstone("b")]), "moreComing": false])
        ])
    },
    ContractRule("a record that changed often appears once, as it is", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["count": 0], in: zone)
        let (_, token) = try await session.allChanges(in: zone)
        for count in 1...3 {
            try await session.modify([.forceUpdate("a", ["count": .int64(Int64(count))])], in: zone)
                .expectRecords([.record("a", ["count": .int64(Int64(count))])])
        }
        try await session.changes(in: zone, since: token)
            .expectZones([.including(["records": [.record("a", ["count": 3])], "moreComing": false])])
    },
    ContractRule("a record made and deleted since the token appears as deleted, or not at all", [.inferred]) {
        session in
        let zone = try await session.makeZone()
        let (_, token) = try await session.allChanges(in: zone)
        try await session.save("a", in: zone)
        try await session.modify([.forceDelete("a")], in: zone).expectRecords([.deleted("a")])
        try await session.changes(in: zone, since: token)
            .expectZones([.including(["records": .anyOf([[.tombstone("a")], []]), "moreComing": false])])
    },
    ContractRule("an old token gives the same changes again, and what came since", [.observed]) { session in
        let zone = try await session.makeZone()
        let (_, start) = try await session.allChanges(in: zone)
        try await session.save("a", ["title": "a"], in: zone)
        let first = try await session.changes(in: zone, since: start)
        try first.expectZones([.including(["records": [.record("a", ["title": "a"])]])])
        let middle = try first.text("zones", "0", "syncToken")
        try await session.save("b", ["title": "b"], in: zone)
        for _ in 0..<2 {
            try await session.changes(in: zone, since: middle)
                .expectZones([.including(["records": [.record("b", ["title": "b"])]])])
            try await session.changes(in: zone, since: start).expectZones([
                .including(["records": .unordered([.record("a", ["title": "a"]), .record("b", ["title": "b"])])])
            ])
        }
    },
    ContractRule("the same question about changes has the same answer", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save((0..<5).map { .create("r\($0)", ["count": .int64(Int64($0))]) }, in: zone)
        let first = try await session.changes(in: zone)
        try await session.changes(in: zone).expectZones(first.zones.map(JSONPattern.value))
    },
    ContractRule("a string that is not a token is an error of the zone", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        for token in ["not-a-token", "AAAA", "c29tZSBvdGhlciB0ZXh0"] {
            try await session.changes(in: zone, since: token)
                .expectZones([.zoneFailure(zone.zoneName, "BAD_REQUEST", reason: "Unknown sync continuation type")])
        }
    },
    ContractRule("a token cut in half is an error of the zone", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        let (_, token) = try await session.allChanges(in: zone)
        let half = String(token.prefix(token.count / 8 * 4))
        try await session.changes(in: zone, since: half)
            .expectZones([.zoneFailure(zone.zoneName, "BAD_REQUEST", reason: "Invalid continuation format")])
    },
    ContractRule("a token of the database is not a token of a zone", [.observed]) { session in
        let zone = try await session.makeZone()
        let token = try await session.post("changes/database", [:], in: .privateDatabase).text("syncToken")
        try await session.changes(in: zone, since: token).expectZones([.zoneFailure(zone.zoneName, "BAD_REQUEST")])
    },
    ContractRule("a token of another zone is not a token of this one", [.inferred]) { session in
        let (zone, other) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        let (_, token) = try await session.allChanges(in: other)
        try await session.changes(in: zone, since: token).expectZones([.zoneFailure(zone.zoneName, "BAD_REQUEST")])
    },
    ContractRule("a token from before its zone was deleted and made again has expired", [.peers, .unconfirmed]) {
        session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        let (_, token) = try await session.allChanges(in: zone)
        for operation in ["delete", "create"] {
            _ = try await session.modifyZones([(operation, zone.zoneName)], in: .privateDatabase)
        }
        try await session.changes(in: zone, since: token)
            .expectZones([.zoneFailure(zone.zoneName, "CHANGE_TOKEN_EXPIRED", "BAD_REQUEST", "ZONE_NOT_FOUND")])
    },
    ContractRule("an unknown zone is an error in its place, between those that are known", [.archive, .observed]) {
        session in
        let (one, two) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        try await session.save("a", ["title": "one"], in: one)
        try await session.save("a", ["title": "two"], in: two)
        let none = session.unique("None")
        let zones = [one.zoneName, none, two.zoneName].map { JSONValue.object(["zoneID": ["zoneName": .string($0)]]) }
        try await session.post("changes/zone", ["zones": .array(zones)], in: .privateDatabase).expectZones([
            .including(["zoneID": .zoneID(one.zoneName), "records": [.record("a", ["title": "one"])]]),
            .zoneFailure(none, "ZONE_NOT_FOUND"),
            .including(["zoneID": .zoneID(two.zoneName), "records": [.record("a", ["title": "two"])]]),
        ])
    },
    ContractRule("450 changes come in pages of 200, 200 and 50, each with a token", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save((0..<450).map { .create("r\($0)", ["count": .int64(Int64($0))]) }, in: zone)
        var token: String?
        var tokens: Set<String> = []
        var names: [String] = []
        for (size, more) in [(200, true), (200, true), (50, false)] {
            let reply = try await session.changes(in: zone, since: token)
            try reply.expectZones([
                .including(["records": .elements(size), "moreComing": .value(.bool(more)), "syncToken": .text])
            ])
            names += (reply.zones[0]["records"]?.arrayValue ?? []).compactMap { $0["recordName"]?.stringValue }
            token = try reply.text("zones", "0", "syncToken")
            tokens.insert(token ?? "")
        }
        let reply = try await session.changes(in: zone, since: token)
        try reply.require(Set(names) == Set((0..<450).map { "r\($0)" }) && names.count == 450, "each record once")
        try reply.require(tokens.count == 3, "three tokens")
    },
    ContractRule("resultsLimit makes pages of changes smaller, and never larger than 200", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save((0..<205).map { .create("r\($0)") }, in: zone)
        for (limit, size) in [(3, 3), (200, 200), (1000, 200)] {
            try await session.changes(in: zone, options: ["resultsLimit": .integer(Int64(limit))])
                .expectZones([.including(["records": .elements(size), "moreComing": true])])
        }
    },
    ContractRule("a record that changes between two pages is not lost", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save((0..<6).map { .create("r\($0)", ["title": "old"]) }, in: zone)
        let first = try await session.changes(in: zone, options: ["resultsLimit": 3])
        try first.expectZones([.including(["records": .elements(3), "moreComing": true])])
        let firstNames = (first.zones[0]["records"]?.arrayValue ?? []).compactMap { $0["recordName"]?.stringValue }
        try await session.modify(
            [.forceUpdate(firstNames[0], ["title": "new"]), .forceUpdate("r5", ["title": "new"])],
            in: zone
        )
        .expectNames([firstNames[0], "r5"])
        let rest = try await session.allChanges(in: zone, since: try first.text("zones", "0", "syncToken")).records
        let restNames = rest.compactMap { $0["recordName"]?.stringValue }
        let all = try await session.changes(in: zone)
        try all.require(restNames.contains(firstNames[0]), "the record that changed again, in a later page")
        try all.require(Set(firstNames + restNames) == Set((0..<6).map { "r\($0)" }), "all records over the pages")
        try all.require(
            rest.filter { $0["fields"]?["title"]?["value"] == "new" }.count == 2,
            "both changes in the later pages"
        )
    },
    ContractRule("the token of a page in the middle is as good as the last one", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save((0..<7).map { .create("r\($0)") }, in: zone)
        let first = try await session.changes(in: zone, options: ["resultsLimit": 3])
        let middle = try first.text("zones", "0", "syncToken")
        let rest = try await session.allChanges(in: zone, since: middle).records
        try first.require(rest.count == 4, "four records after the first three")
        try await session.save("late", in: zone)
        let later = try await session.allChanges(in: zone, since: middle).records
        try first.require(later.count == 5, "five records after the first three and a save")
    },
    ContractRule("an empty token is no token or the last one", [.unconfirmed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        try await session.changes(in: zone, since: "").expectZones([
            .anyOf([
                .including(["records": [], "moreComing": false]), .including(["records": [.record("a")]]),
                .zoneFailure(zone.zoneName, "BAD_REQUEST"),
            ])
        ])
    },
    ContractRule("a member at the top level applies to each zone that does not set it", [.archive]) { session in
        let (one, two) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        for zone in [one, two] { try await session.save("a", ["title": "a", "count": 1], in: zone) }
        let body: JSONValue = [
            "zones": [["zoneID": one.zoneID ?? nil], ["zoneID": two.zoneID ?? nil, "desiredKeys": ["count"]]],
            "desiredKeys": ["title"],
        ]
        try await session.post("changes/zone", body, in: .privateDatabase).expectZones([
            .including(["records": [.record("a", ["title": "a"])]]),
            .including(["records": [.record("a", ["count": 1])]]),
        ])
    },
    ContractRule("desiredRecordTypes limits changes to records of these types", [.archive, .cloudKitJS]) { session in
        let zone = try await session.makeZone()
        try await session.save("note", ["title": "a"], in: zone)
        try await session.save("anchor", ["title": "a"], in: zone, type: "ContractAnchor")
        try await session.changes(in: zone, options: ["desiredRecordTypes": ["ContractAnchor"]])
            .expectZones([.including(["records": [.record("anchor", ["title": "a"], type: "ContractAnchor")]])])
    },
    ContractRule("reverse gives the newest changes first", [.archive]) { session in
        let zone = try await session.makeZone()
        for name in ["a", "b", "c"] { try await session.save(name, in: zone) }
        try await session.changes(in: zone, options: ["reverse": true])
            .expectZones([.including(["records": [.record("c"), .record("b"), .record("a")]])])
    },
    ContractRule("the default zone has no changes", [.inferred, .observed]) { session in
        try await session.changes(in: .privateDatabase)
            .expectZones([.zoneFailure("_defaultZone", "BAD_REQUEST", reason: "cannot get changes in default zone")])
    },
    ContractRule("records/changes answers for one zone, at the top", [.archive]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        let body: JSONValue = ["zoneID": zone.zoneID ?? nil]
        let reply = try await session.post("records/changes", body, in: zone)
        try reply.expectRecords([.record("a", ["title": "a"])], and: ["syncToken": .text, "moreComing": false])
        let token = try reply.text("syncToken")
        try await session.post(
            "records/changes",
            ["zoneID": zone.zoneID ?? nil, "syncToken": .string(token)],
            in: zone
        )
        .expectRecords([], and: ["syncToken": .text, "moreComing": false])
        // The token is also valid for changes/zone.
        try await session.changes(in: zone, since: token)
            .expectZones([.including(["records": [], "moreComing": false])])
    },
    ContractRule("records/changes is not for the default zone", [.observed]) { session in
        try await session.post("records/changes", ["zoneID": ["zoneName": "_defaultZone"]], in: .privateDatabase)
            .expectError("BAD_REQUEST", reason: "cannot get changes in default zone")
    },
    ContractRule("records/changes refuses a string that is not a token", [.inferred]) { session in
        let zone = try await session.makeZone()
        let body: JSONValue = ["zoneID": zone.zoneID ?? nil, "syncToken": "not-a-token"]
        try await session.post("records/changes", body, in: zone)
            .expectError("BAD_REQUEST", reason: "Unknown sync continuation type")
    },
]

/// changes/database, and the older zones/changes.
let databaseChangesRules: [ContractRule] = [
    ContractRule("without a token, changes/database gives every zone, and a token", [.archive, .observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        let (zones, _) = try await databaseChanges(nil, session)
        let reply = try await session.post("changes/database", [:], in: .privateDatabase)
        try reply.expect(.including(["zones": .anything, "syncToken": .text, "moreComing": .anything]))
        let found = zones.first { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName }
        try reply.require(
            found.map { JSONPattern.zone(zone.zoneName).difference(from: $0) == nil && $0["syncToken"] != nil }
                ?? false,
            "\(zone.zoneName) with its sync token"
        )
    },
    ContractRule("changes/database gives the zones that changed since", [.observed]) { session in
        let (one, two) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        let (_, token) = try await databaseChanges(nil, session)
        try await session.save("a", in: one)
        let names = try await databaseChanges(token, session).zones.compactMap {
            $0["zoneID"]?["zoneName"]?.stringValue
        }
        let reply = try await session.post("changes/database", ["syncToken": .string(token)], in: .privateDatabase)
        try reply.require(names.contains(one.zoneName), "the zone that was written to")
        try reply.require(!names.contains(two.zoneName), "not the zone that was left alone")
    },
    ContractRule("changes/database gives deleted zones as deleted", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        let (_, token) = try await databaseChanges(nil, session)
        _ = try await session.modifyZones([("delete", zone.zoneName)], in: .privateDatabase)
        let zones = try await databaseChanges(token, session).zones
        let reply = try await session.post("changes/database", ["syncToken": .string(token)], in: .privateDatabase)
        try reply.require(
            zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName && $0["deleted"] == true },
            "\(zone.zoneName) as deleted"
        )
    },
    ContractRule("the zone token of changes/database is one of changes/zone", [.archive, .inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        let zones = try await databaseChanges(nil, session).zones
        let token = zones.first { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName }?["syncToken"]?.stringValue
        try await session.changes(in: zone, since: token).expectZones([
            .including(["syncToken": .text, "moreComing": false], without: ["serverErrorCode"])
        ])
    },
    ContractRule("changes/database refuses a string that is not one of its tokens", [.inferred]) { session in
        let zone = try await session.makeZone()
        let (_, token) = try await session.allChanges(in: zone)
        try await session.post("changes/database", ["syncToken": "not-a-token"], in: .privateDatabase)
            .expectError("BAD_REQUEST", reason: "Unknown sync continuation type")
        try await session.post("changes/database", ["syncToken": .string(token)], in: .privateDatabase)
            .expectError("BAD_REQUEST")
    },
    ContractRule("zones/changes goes by metaSyncToken alone", [.observed]) { session in
        let zone = try await session.makeZone()
        let first = try await session.post("zones/changes", [:], in: .privateDatabase)
        try first.expect(["moreComing": .anything, "metaSyncToken": .text, "zones": .anything])
        guard first.body?["moreComing"] == false else { return }
        try first.require(
            first.zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName },
            "\(zone.zoneName) among the zones"
        )
        let token = JSONValue.string(try first.text("metaSyncToken"))
        let wrong = try await session.post("zones/changes", ["syncToken": token], in: .privateDatabase)
        try wrong.expect(.including(["moreComing": .anything, "metaSyncToken": .text, "zones": .anything]))
        try wrong.require(
            wrong.zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName },
            "the first page again, for `syncToken` is no key of this endpoint"
        )
        let right = try await session.post("zones/changes", ["metaSyncToken": token], in: .privateDatabase)
        try right.require(
            !right.zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName },
            "no zone that did not change since"
        )
    },
]

/// All changes of the private database since a token, over all pages.
private func databaseChanges(
    _ token: String?,
    _ session: ContractSession
) async throws -> (zones: [JSONValue], token: String) {
    var token = token
    var zones: [JSONValue] = []
    while true {
        let body: JSONValue = token.map { ["syncToken": .string($0)] } ?? [:]
        let reply = try await session.post("changes/database", body, in: .privateDatabase)
        try reply.expect(.including(["zones": .anything, "syncToken": .text, "moreComing": .anything]))
        let next = try reply.text("syncToken")
        zones += reply.zones
        if reply.body?["moreComing"] != true { return (zones, next) }
        try reply.require(!reply.zones.isEmpty || next != token, "no more to come, or another token")
        token = next
    }
}

extension JSONPattern {
    /// An array of `count` elements.
    static func elements(_ count: Int) -> JSONPattern {
        satisfying("an array of \(count)") { $0.arrayValue?.count == count }
    }
}

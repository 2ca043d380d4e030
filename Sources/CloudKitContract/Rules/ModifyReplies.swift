import CloudKitRuleIDs
import StreamingJSON

/// The members of replies to records/modify, and the limits of its requests.
let modifyReplyRules: [ContractRule] = [
    ContractRule(
        "a saved record comes back with its name, type, fields, change tag and both stamps",
        [.archive, .recorded]
    ) {
        session in
        let zone = try await session.makeZone()
        let reply = try await session.modify([.create("a", ["title": "a", "count": 1])], in: zone)
        try reply.expectRecords([
            .record(
                "a",
                ["title": "a", "count": 1],
                and: [
                    "pluginFields": [:],
                    "deleted": false,
                    "created": .including(["timestamp": .wholeNumber, "userRecordName": .text, "deviceID": .text]),
                    "modified": .including(["timestamp": .wholeNumber, "userRecordName": .text, "deviceID": .text]),
                ]
            )
        ])
    },
    ContractRule("`created` stays and `modified` moves on, in whole milliseconds", [.archive, .recorded]) { session in
        let zone = try await session.makeZone()
        let first = try await session.save("a", ["title": "a"], in: zone)
        let reply = try await session.modify([.forceUpdate("a", ["title": "b"])], in: zone)
        let second = try reply.record()
        try reply.require(second["created"] == first["created"], "`created` to stay")
        let (created, modified) = (second["created"]?["timestamp"], second["modified"]?["timestamp"])
        try reply.require(
            (modified?.int64Value ?? 0) >= (created?.int64Value ?? .max),
            "`modified` not to lie before `created`"
        )
        try reply.require((created?.int64Value ?? 0) > 1_500_000_000_000, "`created` in milliseconds since 1970")
    },
    ContractRule("`modified` says who wrote last", [.archive], requires: [.serverKey]) { session in
        let destination = Destination.publicDatabase(as: .serverKey)
        let name = session.unique("a")
        let first = try await session.save(name, ["title": "a"], in: destination)
        let reply = try await session.modify([.forceUpdate(name, ["title": "b"])], in: destination)
        let record = try reply.record()
        try reply.require(
            record["modified"]?["userRecordName"] == first["created"]?["userRecordName"],
            "the key's user as the last writer"
        )
    },
    ContractRule("operations are applied in their order", [.archive]) { session in
        let zone = try await session.makeZone()
        let operations = (0..<20).map { Operation.create("r\($0)", ["count": .int64(Int64($0))]) }
        try await session.modify(operations, in: zone).expectNames((0..<20).map { "r\($0)" })
        let changes = try await session.allChanges(in: zone).records
        let names = changes.compactMap { $0["recordName"]?.stringValue }
        let reply = try await session.changes(in: zone)
        try reply.require(names == (0..<20).map { "r\($0)" }, "the feed in the order of the operations")
    },
    ContractRule("one request has at most one operation for a record", [.archive, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify(
            [.create("a", ["title": "a"]), .create("b"), Operation("forceUpdate", "a", ["title": "b"])],
            in: zone
        )
        if reply.status == 200 {
            try reply.expectRecords([.anything, .record("b"), .anything])
        } else {
            try reply.expectError("BAD_REQUEST")
            try await session.lookup(["a", "b"], in: zone)
                .expectRecords([.failure("a", "NOT_FOUND"), .failure("b", "NOT_FOUND")])
        }
    },
    ContractRule("a request takes 200 operations", [.archive]) { session in
        let zone = try await session.makeZone()
        let operations = (0..<200).map { Operation.create("r\($0)", ["count": .int64(Int64($0))]) }
        let expected = (0..<200).map { JSONPattern.record("r\($0)", ["count": .int64(Int64($0))]) }
        try await session.modify(operations, in: zone).expectRecords(expected)
        try await session.lookup((0..<200).map { "r\($0)" }, in: zone).expectRecords(expected)
    },
    ContractRule("a request of 201 operations is refused, and nothing is saved", [.archive, .inferred]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify((0..<201).map { .create("r\($0)") }, in: zone)
        try reply.expectError("BAD_REQUEST")
        let changes = try await session.changes(in: zone)
        try changes.expectZones([.including(["records": [], "moreComing": false])])
    },
    ContractRule("no operations give no records", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.modify([], in: zone).expectRecords([])
    },
    ContractRule(
        .recordSize,
        "a record of more than 1 MB is refused, and the rest of the batch is saved",
        [.archive, .unconfirmed]
    ) { session in
        let zone = try await session.makeZone()
        let large = String(repeating: "AAAA", count: 400_000)
        let reply = try await session.modify([.create("large", ["data": .bytes(large)]), .create("small")], in: zone)
        if reply.status == 200 {
            try reply.expectRecords([.failure("large", "BAD_REQUEST", "LIMIT_EXCEEDED"), .record("small")])
        } else {
            try reply.require(reply.status == 400 || reply.status == 413, "400 or 413")
        }
        try await session.lookup(["large"], in: zone).expectRecords([.failure("large", "NOT_FOUND")])
    },
    ContractRule("a record of 900 kB is saved", [.archive]) { session in
        let zone = try await session.makeZone()
        let data = String(repeating: "AAAA", count: 300_000)
        try await session.modify([.create("a", ["data": .bytes(data)])], in: zone, ["desiredKeys": []])
            .expectRecords([.record("a")])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["data": .bytes(data)])])
    },
    ContractRule(
        "getCurrentSyncToken=true gives modify, lookup and query the zone's sync token",
        [.recorded, .observed]
    ) {
        session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        for endpoint in ["records/modify", "records/lookup", "records/query"] {
            let body: JSONValue =
                switch endpoint {
                case "records/modify":
                    ["operations": [Operation.forceUpdate("a", ["title": "a"]).json], "zoneID": zone.zoneID ?? nil]
                case "records/lookup": ["records": [["recordName": "a"]], "zoneID": zone.zoneID ?? nil]
                default: ["query": ["recordType": .string(noteType)], "zoneID": zone.zoneID ?? nil]
                }
            var request = try session.request(endpoint, body, in: zone)
            let plain = try await session.send(request)
            try plain.require(plain.body?["syncToken"] == nil, "no sync token unless it is asked for")
            request.query = [("getCurrentSyncToken", "true")]
            let reply = try await session.send(request)
            try reply.expectRecords([.record("a", ["title": "a"])], and: ["syncToken": .text])
        }
    },
    ContractRule("the sync token of a modify stands after the write: its changes are known", [.observed]) { session in
        let zone = try await session.makeZone()
        var request = try session.request(
            "records/modify",
            ["operations": [Operation.create("a", ["title": "a"]).json], "zoneID": zone.zoneID ?? nil],
            in: zone
        )
        request.query = [("getCurrentSyncToken", "true")]
        let token = try await session.send(request).text("syncToken")
        try await session.changes(in: zone, since: token)
            .expectZones([.including(["records": [], "moreComing": false, "syncToken": .text])])
    },
]

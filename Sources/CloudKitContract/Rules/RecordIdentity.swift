import CloudKitRuleIDs
import StreamingJSON

/// Names, types, zones and change tags of records.
let recordIdentityRules: [ContractRule] = [
    ContractRule("create without a record name makes names, a new one each time", [.archive]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify([.create(nil, ["title": "a"]), .create(nil, ["title": "b"])], in: zone)
        try reply.expectRecords([.record(nil, ["title": "a"]), .record(nil, ["title": "b"])])
        try reply.require(Set(reply.names).count == 2, "two names")
        try await session.lookup(reply.names, in: zone).expectRecords([
            .record(reply.names[0], ["title": "a"]), .record(reply.names[1], ["title": "b"]),
        ])
    },
    ContractRule(
        .createWithoutType,
        "create without a record type is refused, and nothing is saved",
        [.archive, .inferred]
    ) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify([Operation("create", "a", ["title": "a"], type: nil)], in: zone)
        try reply.expectRecords([.failure("a", "BAD_REQUEST")])
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule(
        .forcedOperationWithoutType,
        "forceUpdate and forceReplace of a missing record need a record type",
        [.archive, .inferred]
    ) {
        session in
        let zone = try await session.makeZone()
        for type in ["forceUpdate", "forceReplace"] {
            let reply = try await session.modify([Operation(type, "a", ["title": "a"], type: nil)], in: zone)
            try reply.expectRecords([.failure("a", "BAD_REQUEST")])
        }
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule("create without fields makes a record that has none", [.archive]) { session in
        let zone = try await session.makeZone()
        try await session.modify([Operation("create", "a")], in: zone).expectRecords([.record("a")])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a")])
    },
    ContractRule("update needs no record type", [.archive]) { session in
        let zone = try await session.makeZone()
        let tag = try await session.save("a", ["title": "a", "count": 1], in: zone)["recordChangeTag"]?.stringValue
        try await session.modify([Operation("update", "a", ["title": "b"], type: nil, tag: tag)], in: zone)
            .expectRecords([.record("a", ["title": "b", "count": 1])])
    },
    ContractRule(
        .updateWithAnotherType,
        "update with another record type does not change the record's type",
        [.unconfirmed]
    ) { session in
        let zone = try await session.makeZone()
        let before = try await session.save("a", ["title": "a"], in: zone)
        let tag = before["recordChangeTag"]?.stringValue
        let reply = try await session.modify(
            [Operation("update", "a", ["title": "b"], type: "ContractAnchor", tag: tag)],
            in: zone
        )
        try reply.expectRecords([.anyOf([.failure("a", "BAD_REQUEST"), .record("a", ["title": "b"])])])
        let title = reply.records[0]["serverErrorCode"] == nil ? "b" : "a"
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": .string(title)])])
    },
    ContractRule("a field set to null is cleared, and the others stay", [.inferred, .observed]) { session in
        let zone = try await session.makeZone()
        let tag = try await session.save("a", ["title": "a", "count": 1], in: zone)["recordChangeTag"]?.stringValue
        let cleared = JSONPattern.record("a", ["count": 1], cleared: ["title"])
        try await session.modify([.update("a", ["title": .null], tag: tag)], in: zone).expectRecords([cleared])
        try await session.lookup(["a"], in: zone).expectRecords([cleared])
    },
    ContractRule("deletion ignores the record's fields, and needs no type", [.archive, .cloudKitJS]) { session in
        let zone = try await session.makeZone()
        let tag = try await session.save("a", ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
        try await session.save("b", ["title": "b"], in: zone)
        let fields: Fields = ["count": .typed("not a number", "INT64"), "unheard": 1]
        let reply = try await session.modify(
            [
                Operation("delete", "a", fields, type: nil, tag: tag),
                Operation("forceDelete", "b", fields, type: nil),
            ],
            in: zone
        )
        try reply.expectRecords([.deleted("a"), .deleted("b")])
    },
    ContractRule("the name of a deleted record is free, and its old change tags stay invalid", [.inferred]) { session in
        let zone = try await session.makeZone()
        let first = try await session.save("a", ["title": "first"], in: zone)["recordChangeTag"]?.stringValue
        try await session.modify([.forceDelete("a")], in: zone).expectRecords([.deleted("a")])
        let reply = try await session.modify([.create("a", ["title": "second"])], in: zone)
        try reply.expectRecords([.record("a", ["title": "second"], tag: .text(otherThan: first ?? ""))])
        try await session.modify([.update("a", ["title": "late"], tag: first)], in: zone)
            .expectRecords([.failure("a", "CONFLICT", "NOT_FOUND")])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": "second"])])
    },
    ContractRule("an unknown operation type is refused, and nothing is saved", [.inferred]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify([Operation("upsert", "a", ["title": "a"])], in: zone)
        if reply.status == 200 {
            try reply.expectRecords([.failure("a", "BAD_REQUEST")])
        } else {
            try reply.expectError("BAD_REQUEST")
        }
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule("an operation without its type, or without its record, is refused", [.inferred]) { session in
        let zone = try await session.makeZone()
        let incomplete: [JSONValue] = [
            ["record": ["recordName": "a", "recordType": .string(noteType)]],
            ["operationType": "create"],
        ]
        for operation in incomplete {
            let reply = try await session.modify([Operation(json: operation)], in: zone)
            if reply.status == 200 {
                try reply.expectRecords([.failure(nil, "BAD_REQUEST")])
            } else {
                try reply.expectError("BAD_REQUEST")
            }
        }
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule(.missingRecordName, "update, replace and delete need a record name", [.archive, .inferred]) {
        session in
        let zone = try await session.makeZone()
        let tag = try await session.save("a", ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
        for type in ["update", "replace", "delete"] {
            let reply = try await session.modify([Operation(type, nil, ["title": "b"], tag: tag)], in: zone)
            if reply.status == 200 {
                try reply.expectRecords([.failure(nil, "BAD_REQUEST")])
            } else {
                try reply.expectError("BAD_REQUEST")
            }
        }
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": "a"])])
    },
    ContractRule("record names hold spaces and punctuation, up to 255 characters", [.archive, .native, .inferred]) {
        session in
        let zone = try await session.makeZone()
        let names = ["Mei Chen", "a/b", "it's \"quoted\"", "%2F?#&+=", String(repeating: "n", count: 255)]
        let records = names.map { JSONPattern.record($0, ["title": .string($0)]) }
        try await session.modify(names.map { .create($0, ["title": .string($0)]) }, in: zone).expectRecords(records)
        try await session.lookup(names, in: zone).expectRecords(records)
    },
    ContractRule(
        .recordNameForm,
        "record names are not empty, not longer than 255 characters, ASCII, and do not begin with _",
        [.native]
    ) {
        session in
        let zone = try await session.makeZone()
        let names = ["", "_reserved", "naïve", String(repeating: "n", count: 256)]
        for name in names {
            let reply = try await session.modify([.create(name, ["title": "a"]), .create("good")], in: zone)
            try reply.expectRecords([.failure(nil, "BAD_REQUEST"), .anything])
        }
        try await session.query(in: zone).expectNames(["good"])
    },
    ContractRule(
        .controlCharacterInRecordName,
        "a record name with a control character is refused, and no record changes",
        [.inferred, .unconfirmed]
    ) { session in
        let zone = try await session.makeZone()
        let tag = try await session.save("a", ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
        for ending in ["\u{0}", "\u{0}b", "\u{1}"] {
            let operations: [Operation] = [
                .forceDelete("a" + ending), .delete("a" + ending, tag: tag), .create("a" + ending, ["title": "b"]),
                .forceUpdate("a" + ending, ["title": "b"]),
            ]
            for operation in operations {
                // What the service answers is not known; a forced deletion may succeed, as for any missing record.
                _ = try await session.modify([operation], in: zone)
            }
            let reply = try await session.lookup(["a" + ending], in: zone)
            if reply.status == 200 { try reply.expectRecords([.failure(nil, "BAD_REQUEST", "NOT_FOUND")]) }
        }
        try await session.lookup(["a"], in: zone)
            .expectRecords([.record("a", ["title": "a"], tag: .value(tag.map(JSONValue.string) ?? nil))])
    },
    ContractRule("a zone ID inside a record is ignored: the request's zone counts", [.observed]) { session in
        let zone = try await session.makeZone()
        let name = session.unique("stray")
        session.willDelete(name, in: .privateDatabase)
        let aimed = Operation("create", name, ["title": "a"], record: ["zoneID": zone.zoneID ?? nil])
        try await session.modify([aimed], in: .privateDatabase).expectRecords([.record(name, ["title": "a"])])
        try await session.lookup([name], in: zone).expectRecords([.failure(name, "NOT_FOUND")])
        try await session.lookup([name], in: .privateDatabase).expectRecords([.record(name, ["title": "a"])])
    },
    ContractRule("an update aimed by a zone ID inside the record misses it", [.observed]) { session in
        let zone = try await session.makeZone()
        let name = session.unique("a")
        let tag = try await session.save(name, ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
        let aimed = Operation("update", name, ["title": "b"], tag: tag, record: ["zoneID": zone.zoneID ?? nil])
        try await session.modify([aimed], in: .privateDatabase)
            .expectRecords([.failure(name, "NOT_FOUND", reason: "recordChangeTag specified, but record not found")])
        try await session.lookup([name], in: zone).expectRecords([.record(name, ["title": "a"])])
    },
    ContractRule("a record name may stand in two zones, for two records", [.archive]) { session in
        let (zone, other) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        try await session.save("a", ["title": "one"], in: zone)
        try await session.save("a", ["title": "two"], in: other)
        try await session.modify([.forceDelete("a")], in: other).expectRecords([.deleted("a")])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": "one"])])
        try await session.lookup(["a"], in: other).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule("each write gives a change tag that the record never had", [.recorded, .inferred]) { session in
        let zone = try await session.makeZone()
        var tags: [String] = []
        tags.append(try await session.modify([.create("a", ["count": 0])], in: zone).tag())
        for count in 1...5 {
            let reply = try await session.modify(
                [.update("a", ["count": .int64(Int64(count))], tag: tags.last)],
                in: zone
            )
            try reply.expectRecords([.record("a", ["count": .int64(Int64(count))])])
            try reply.require(!tags.contains(try reply.tag()), "a tag that differs from each of \(tags)")
            tags.append(try reply.tag())
        }
    },
    ContractRule("a write that fails leaves the change tag as it was", [.inferred]) { session in
        let zone = try await session.makeZone()
        let stale = try await session.save("a", ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
        let present = try await session.modify([.forceUpdate("a", ["title": "b"])], in: zone).tag()
        try await session.modify([.update("a", ["title": "c"], tag: stale)], in: zone)
            .expectRecords([.failure("a", "CONFLICT")])
        try await session.lookup(["a"], in: zone)
            .expectRecords([.record("a", ["title": "b"], tag: .value(.string(present)))])
    },
    ContractRule("a write that changes nothing gives a new change tag all the same", [.inferred]) { session in
        let zone = try await session.makeZone()
        let tag = try await session.save("a", ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
        try await session.modify([.forceUpdate("a", ["title": "a"])], in: zone)
            .expectRecords([.record("a", ["title": "a"], tag: .text(otherThan: tag ?? ""))])
    },
]

import StreamingJSON

/// Batches: the order of their results, and the effect of `atomic`.
let batchRules: [ContractRule] = [
    ContractRule("the result of an operation stands at its place, failures included", [.archive, .recorded]) {
        session in
        let zone = try await session.makeZone()
        try await session.save("taken", in: zone)
        let reply = try await session.modify(
            [
                .create("a", ["count": 1]), .create("taken"), .create("b", ["count": 2]),
                .update("none", ["count": 3], tag: "1"), .create("c", ["count": 4]),
            ],
            in: zone
        )
        try reply.expectRecords([
            .record("a", ["count": 1]), .failure("taken", "EXISTS", "CONFLICT"), .record("b", ["count": 2]),
            .failure("none", "NOT_FOUND"), .record("c", ["count": 4]),
        ])
    },
    ContractRule("a batch of which all items fail succeeds as a request", [.archive, .recorded, .observed]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify(
            [.update("a", ["count": 1], tag: "1"), .update("b", ["count": 1], tag: "1")],
            in: zone
        )
        try reply.expectRecords([.failure("a", "NOT_FOUND"), .failure("b", "NOT_FOUND")])
    },
    ContractRule("with `atomic` false, each operation stands for itself", [.archive, .recorded]) { session in
        try await checkBatch(["atomic": false], in: try await session.makeZone(), &session)
    },
    ContractRule("a request that does not say `atomic` is one or the other, never half of both", [.unconfirmed]) {
        session in
        let zone = try await session.makeZone()
        let reply = try await mixedBatch(["atomic": nil], in: zone, &session)
        var isSaved = false
        if reply.status == 200 {
            try reply.expectRecords([.anything, .failure("stale", "CONFLICT"), .anything])
            isSaved = reply.records[0]["serverErrorCode"] == nil
        } else {
            try reply.expectError("ATOMIC_ERROR")
        }
        try await session.lookup(["a", "b"], in: zone).expectRecords(
            ["a", "b"].map { isSaved ? .record($0) : .failure($0, "NOT_FOUND") }
        )
    },
    ContractRule("an atomic batch of good operations is saved whole", [.archive]) { session in
        let zone = try await session.makeZone()
        try await session.save("old", ["title": "old"], in: zone)
        let reply = try await session.modify(
            [
                .create("a", ["count": 1]), Operation("forceUpdate", "old", ["title": "new"]),
                .create("b", ["count": 2]),
            ],
            in: zone,
            ["atomic": true]
        )
        let expected: [JSONPattern] = [
            .record("a", ["count": 1]), .record("old", ["title": "new"]), .record("b", ["count": 2]),
        ]
        try reply.expectRecords(expected)
        try await session.lookup(["a", "old", "b"], in: zone).expectRecords(expected)
    },
    ContractRule(
        "an atomic batch with one bad operation changes nothing: no record, no tag, no feed",
        [.archive, .peers]
    ) {
        session in
        let zone = try await session.makeZone()
        let stale = try await session.save("stale", ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
        let victim = try await session.save("victim", ["title": "b"], in: zone)["recordChangeTag"]?.stringValue
        try await session.modify([.forceUpdate("stale", ["title": "newer"])], in: zone)
            .expectRecords([.record("stale", ["title": "newer"])])
        let before = try await session.state(of: ["stale", "victim"], in: zone)
        let (_, token) = try await session.allChanges(in: zone)

        let reply = try await session.modify(
            [.create("a"), .update("stale", ["title": "late"], tag: stale), .delete("victim", tag: victim)],
            in: zone,
            ["atomic": true]
        )
        if reply.status == 200 {
            try reply.expectRecords([
                .failure("a", "ATOMIC_ERROR"), .failure("stale", "CONFLICT"), .failure("victim", "ATOMIC_ERROR"),
            ])
        } else {
            try reply.expectError("ATOMIC_ERROR")
        }
        try await session.lookup(["stale", "victim", "a"], in: zone)
            .expectRecords(before.map(JSONPattern.value) + [.failure("a", "NOT_FOUND")])
        try await session.changes(in: zone, since: token).expectZones([
            .including(["records": [], "moreComing": false])
        ])
    },
    ContractRule("of an atomic batch with two bad operations, one says at least what was wrong", [.peers]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify(
            [.create("a"), .update("none", ["title": "a"], tag: "1"), .update("nor", ["title": "b"], tag: "1")],
            in: zone,
            ["atomic": true]
        )
        if reply.status == 200 {
            try reply.expectRecords([
                .failure("a", "ATOMIC_ERROR"), .failure("none", "NOT_FOUND"),
                .failure("nor", "NOT_FOUND", "ATOMIC_ERROR"),
            ])
        } else {
            try reply.expectError("ATOMIC_ERROR")
        }
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule("in the default zone `atomic` is ignored or refused, never kept by half", [.unconfirmed]) { session in
        let names = ["a", "stale", "b"].map(session.unique)
        for name in names { session.willDelete(name, in: .privateDatabase) }
        let reply = try await session.modify(
            [.create(names[0]), .update(names[1], ["title": "a"], tag: "1"), .create(names[2])],
            in: .privateDatabase,
            ["atomic": true]
        )
        let missing = names.map { JSONPattern.failure($0, "NOT_FOUND") }
        let after = try await session.lookup(names, in: .privateDatabase)
        if reply.status != 200 {
            try reply.expectError("BAD_REQUEST", "ATOMIC_ERROR")
            try after.expectRecords(missing)
        } else if reply.records.first?["serverErrorCode"] == nil {
            try reply.expectRecords([.record(names[0]), .failure(names[1], "NOT_FOUND"), .record(names[2])])
            try after.expectRecords([.record(names[0]), missing[1], .record(names[2])])
        } else {
            try after.expectRecords(missing)
        }
    },
    ContractRule("a failed create without a name is a failure with a code", [.unconfirmed]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify([Operation("create", nil, ["title": "a"], type: nil)], in: zone)
        try reply.expectRecords([.failure(nil, "BAD_REQUEST")])
    },
    ContractRule("a write that fails appears in no feed", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        let (_, token) = try await session.allChanges(in: zone)
        try await session.modify([.update("a", ["title": "b"], tag: "no tag of it")], in: zone)
            .expectRecords([.failure("a", "CONFLICT", "BAD_REQUEST")])
        try await session.changes(in: zone, since: token).expectZones([
            .including(["records": [], "moreComing": false])
        ])
    },
]

/// A batch of two creates around an update with an old tag.
private func mixedBatch(
    _ options: [String: JSONValue],
    in zone: Destination,
    _ session: inout ContractSession
) async throws -> ContractReply {
    let stale = try await session.save("stale", ["title": "a"], in: zone)["recordChangeTag"]?.stringValue
    try await session.modify([.forceUpdate("stale", ["title": "newer"])], in: zone)
        .expectRecords([.record("stale", ["title": "newer"])])
    return try await session.modify(
        [.create("a"), .update("stale", ["title": "late"], tag: stale), .create("b")],
        in: zone,
        options
    )
}

private func checkBatch(
    _ options: [String: JSONValue],
    in zone: Destination,
    _ session: inout ContractSession
) async throws {
    let reply = try await mixedBatch(options, in: zone, &session)
    try reply.expectRecords([
        .record("a"), .failure("stale", "CONFLICT", reason: "client oplock error updating record"), .record("b"),
    ])
    try await session.lookup(["a", "stale", "b"], in: zone)
        .expectRecords([.record("a"), .record("stale", ["title": "newer"]), .record("b")])
}

import StreamingJSON

/// `desiredKeys`: the fields that replies have.
let desiredKeysRules: [ContractRule] = [
    desiredKeysRule(
        "desiredKeys limits the fields of replies, and nothing else of a record",
        ["title"],
        [.archive, .recorded]
    ) {
        .record($0, ["title": "a"])
    },
    desiredKeysRule("an empty list of desiredKeys gives no fields", [], [.archive]) { .record($0) },
    desiredKeysRule("desiredKeys that are null give all fields", nil, [.archive]) {
        .record($0, ["title": "a", "count": 1])
    },
    desiredKeysRule(
        "desiredKeys may name fields that do not exist, and parts of the record",
        ["title", "unheard", "recordName", "recordType", "recordChangeTag"],
        [.recorded]
    ) { .record($0, ["title": "a"]) },
    ContractRule("desiredKeys of one looked-up record go before those of the request", [.archive]) { session in
        let zone = try await session.makeZone()
        for name in ["a", "b"] { try await session.save(name, ["title": "t", "count": 1], in: zone) }
        let body: JSONValue = [
            "records": [["recordName": "a", "desiredKeys": ["count"]], ["recordName": "b"]],
            "desiredKeys": ["title"],
            "zoneID": zone.zoneID ?? nil,
        ]
        try await session.post("records/lookup", body, in: zone)
            .expectRecords([.record("a", ["count": 1]), .record("b", ["title": "t"])])
    },
    ContractRule("desiredKeys of one operation go before those of the request", [.archive, .cloudKitJS]) { session in
        let zone = try await session.makeZone()
        let fields: Fields = ["title": "t", "count": 1]
        let reply = try await session.modify(
            [
                Operation("create", "a", fields, beside: ["desiredKeys": ["count"]]),
                Operation("create", "b", fields, record: ["desiredKeys": []]),
                Operation("create", "c", fields),
            ],
            in: zone,
            ["desiredKeys": ["title"]]
        )
        try reply.expectRecords([.record("a", ["count": 1]), .record("b"), .record("c", ["title": "t"])])
    },
    ContractRule("desiredKeys limits the reply, not what is saved", [.recorded]) { session in
        let zone = try await session.makeZone()
        try await session.modify([.create("a", ["title": "t", "count": 1])], in: zone, ["desiredKeys": []])
            .expectRecords([.record("a")])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": "t", "count": 1])])
    },
]

/// Makes a rule about `desiredKeys`, which is checked at the four endpoints that reply with records.
private func desiredKeysRule(
    _ name: String,
    _ keys: JSONValue,
    _ evidence: Set<ContractRule.Evidence>,
    record: @escaping @Sendable (String) -> JSONPattern
) -> ContractRule {
    ContractRule(name, evidence) { session in
        let zone = try await session.makeZone()
        let options = ["desiredKeys": keys]
        try await session.modify([.create("a", ["title": "a", "count": 1])], in: zone, options)
            .expectRecords([record("a")])
        try await session.lookup(["a"], in: zone, options).expectRecords([record("a")])
        try await session.query(in: zone, options).expectRecords([record("a")])
        try await session.changes(in: zone, options: options)
            .expectZones([.including(["records": .array([record("a")])])])
    }
}

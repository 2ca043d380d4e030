import StreamingJSON

/// records/lookup.
let lookupRules: [ContractRule] = [
    ContractRule("lookup answers in the order asked, missing records included", [.archive, .peers]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        try await session.save("b", ["title": "b"], in: zone)
        try await session.lookup(["b", "missing", "a"], in: zone).expectRecords([
            .record("b", ["title": "b"]), .failure("missing", "NOT_FOUND", reason: "Record not found"),
            .record("a", ["title": "a"]),
        ])
    },
    ContractRule("lookup finds a record as soon as it is saved, as the save answered it", [.archive, .observed]) {
        session in
        let zone = try await session.makeZone()
        let saved = try await session.save("a", ["title": "a", "count": 1], in: zone)
        let reply = try await session.lookup(["a"], in: zone)
        try reply.expectRecords([.record("a", ["title": "a", "count": 1])])
        for key in ["recordChangeTag", "created", "modified", "fields"] {
            try reply.require(reply.records[0][key] == saved[key], "`\(key)` as the save answered it")
        }
    },
    ContractRule("a name asked twice is answered twice", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        try await session.lookup(["a", "a"], in: zone)
            .expectRecords([.record("a", ["title": "a"]), .record("a", ["title": "a"])])
    },
    ContractRule("without a zone ID, lookup and modify are about the default zone", [.archive]) { session in
        let zone = try await session.makeZone()
        let name = session.unique("a")
        try await session.save(name, ["title": "default"], in: .privateDatabase)
        try await session.save(name, ["title": "custom"], in: zone)
        try await session.lookup([name], in: .privateDatabase).expectRecords([.record(name, ["title": "default"])])
        try await session.lookup([name], in: .privateDatabase.zone("_defaultZone"))
            .expectRecords([.record(name, ["title": "default"])])
        try await session.lookup([name], in: zone).expectRecords([.record(name, ["title": "custom"])])
    },
    ContractRule("a lookup of 201 names is refused, one of none is answered", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.lookup((0..<201).map { "r\($0)" }, in: zone).expectError("BAD_REQUEST")
        try await session.lookup([], in: zone).expectRecords([])
        try await session.lookup((0..<200).map { "r\($0)" }, in: zone)
            .expectRecords((0..<200).map { .failure("r\($0)", "NOT_FOUND") })
    },
    ContractRule("records of custom zones say their zone", [.recorded]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        try await session.query(in: zone)
            .expectRecords([.record("a", ["title": "a"], and: ["zoneID": .zoneID(zone.zoneName)])])
    },
]

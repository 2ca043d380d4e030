import StreamingJSON

/// Pages of queries.
let pagingRules: [ContractRule] = [
    ContractRule("450 records come in pages of 200, 200 and 50, in one order", [.archive, .recorded]) {
        session in
        let zone = try await session.makeZone()
        try await session.save((0..<450).map { .create("r\($0)", ["count": .int64(Int64($0 * 7 % 450))]) }, in: zone)
        var marker: JSONValue?
        var counts: [Int64] = []
        for (size, more) in [(200, true), (200, true), (50, false)] {
            var options: [String: JSONValue] = [:]
            options["continuationMarker"] = marker
            let reply = try await session.query(sorts: [.sort("count")], in: zone, options)
            try reply.expect(
                .including(["records": .elements(size)], optional: ["continuationMarker": more ? .text : nil])
            )
            marker = reply.body?["continuationMarker"]
            try reply.require((marker?.stringValue != nil) == more, more ? "a marker" : "no marker on the last page")
            counts += reply.records.compactMap { $0["fields"]?["count"]?["value"]?.int64Value }
        }
        let reply = try await session.query(in: zone)
        try reply.require(counts == Array(0..<450), "each record once, in order")
    },
    ContractRule(
        "resultsLimit makes pages of records smaller, and never larger than 200",
        [.observed]
    ) {
        session in
        let zone = try await session.makeZone()
        try await session.save((0..<205).map { .create("r\($0)") }, in: zone)
        for (limit, size) in [(3, 3), (200, 200), (1000, 200)] {
            try await session.query(in: zone, ["resultsLimit": .integer(Int64(limit))])
                .expect(.including(["records": .elements(size), "continuationMarker": .text]))
        }
    },
    ContractRule("a resultsLimit that is a number in text is a limit, or refused", [.cloudKitJS, .unconfirmed]) {
        session in
        let zone = try await session.makeZone()
        try await session.save(["a", "b", "c"].map { .create($0) }, in: zone)
        let reply = try await session.query(in: zone, ["resultsLimit": "2"])
        if reply.status == 200 {
            try reply.expect(.including(["records": .elements(2), "continuationMarker": .text]))
        } else {
            try reply.expectError("BAD_REQUEST")
        }
    },
    ContractRule("a resultsLimit below one is refused, or taken as none", [.unconfirmed]) {
        session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        for limit in [0, -1] as [Int64] {
            let reply = try await session.query(in: zone, ["resultsLimit": .integer(limit)])
            if reply.status == 200 {
                try reply.expect(.including(["records": .anyOf([[.record("a")], []])]))
            } else {
                try reply.expectError("BAD_REQUEST")
            }
        }
    },
    ContractRule("a last page carries no marker, also when it is full or empty", [.recorded, .inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("first", ["title": "x"], in: zone)
        try await session.query(filters: [.filter("EQUALS", "title", "none")], in: zone).expectRecords([])
        try await session.save((1..<200).map { .create("r\($0)") }, in: zone)
        let reply = try await session.query(in: zone)
        try reply.expect(.including(["records": .elements(200)], without: ["continuationMarker"]))
    },
    ContractRule("a marker used twice gives the same page twice", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save((0..<7).map { .create("r\($0)") }, in: zone)
        let first = try await session.query(in: zone, ["resultsLimit": 3])
        let options: [String: JSONValue] = [
            "resultsLimit": 3, "continuationMarker": .string(try first.text("continuationMarker")),
        ]
        let second = try await session.query(in: zone, options)
        try second.expect(.including(["records": .elements(3)]))
        try second.require(Set(second.names).isDisjoint(with: first.names), "none of the first page")
        try await session.query(in: zone, options).expectRecords(second.records.map(JSONPattern.value))
    },
    ContractRule("a string that is not a marker is refused", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", in: zone)
        for marker in ["garbage", "AAAA"] {
            try await session.query(in: zone, ["continuationMarker": .string(marker)]).expectError("BAD_REQUEST")
        }
    },
    ContractRule("a marker of another query is refused", [.unconfirmed]) { session in
        let zone = try await session.makeItems()
        let first = try await session.query("ContractItem", in: zone, ["resultsLimit": 2])
        let options: [String: JSONValue] = ["continuationMarker": .string(try first.text("continuationMarker"))]
        try await session.query("ContractAnchor", in: zone, options).expectError("BAD_REQUEST")
        try await session.query("ContractItem", filters: [.filter("GREATER_THAN", "count", 0)], in: zone, options)
            .expectError("BAD_REQUEST")
    },
    ContractRule("the next page may have another size and other keys", [.inferred]) {
        session in
        let zone = try await session.makeZone()
        try await session.save((0..<7).map { .create("r\($0)", ["title": "t", "count": .int64(Int64($0))]) }, in: zone)
        let first = try await session.query(sorts: [.sort("count")], in: zone, ["resultsLimit": 2, "desiredKeys": []])
        try first.expectRecords([.record("r0"), .record("r1")])
        let options: [String: JSONValue] = [
            "resultsLimit": 3, "desiredKeys": ["count"],
            "continuationMarker": .string(try first.text("continuationMarker")),
        ]
        try await session.query(sorts: [.sort("count")], in: zone, options)
            .expectRecords([.record("r2", ["count": 2]), .record("r3", ["count": 3]), .record("r4", ["count": 4])])
    },
    ContractRule(
        "what changes between two pages neither repeats nor hides the others",
        [.inferred]
    ) { session in
        let zone = try await session.makeZone()
        try await session.save((0..<9).map { .create("r\($0)", ["count": .int64(Int64($0))]) }, in: zone)
        let first = try await session.query(sorts: [.sort("count")], in: zone, ["resultsLimit": 4])
        try first.expectNames(["r0", "r1", "r2", "r3"])
        try await session.modify([.forceDelete("r1"), .forceDelete("r3"), .create("new", ["count": -1])], in: zone)
            .expectRecords([.deleted("r1"), .deleted("r3"), .record("new", ["count": -1])])
        let options: [String: JSONValue] = ["continuationMarker": .string(try first.text("continuationMarker"))]
        try await session.query(sorts: [.sort("count")], in: zone, options).expectNames(["r4", "r5", "r6", "r7", "r8"])
    },
    ContractRule("zoneWide with a zone ID is about that zone alone", [.archive, .recorded]) {
        session in
        let (one, two) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        try await session.save("a", ["title": "one"], in: one)
        try await session.save("b", ["title": "two"], in: two)
        try await session.query(in: one, ["zoneWide": true]).expectRecords([.record("a", ["title": "one"])])
    },
    ContractRule("zoneWide without a zone ID is about all zones", [.archive, .observed]) { session in
        let (one, two) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        let title = session.unique("everywhere")
        try await session.save("a", ["title": .string(title)], in: one)
        try await session.save("a", ["title": .string(title)], in: two)
        let filter = JSONValue.filter("EQUALS", "title", .string(title))
        try await session.query(filters: [filter], in: .privateDatabase).expectRecords([])
        let reply = try await session.query(filters: [filter], in: .privateDatabase, ["zoneWide": true])
        try reply.expectRecordsUnordered(
            [one, two].map {
                .record("a", ["title": .string(title)], and: ["zoneID": .zoneID($0.zoneName)])
            }
        )
    },
    ContractRule(
        "what is saved or deleted is at once in a query or out of it",
        [.inferred],
        requires: [.user, .indexesAtOnce]
    ) {
        session in
        let zone = try await session.makeZone()
        let query = [JSONValue.filter("EQUALS", "title", "x")]
        try await session.save("a", ["title": "x"], in: zone)
        try await session.query(filters: query, in: zone).expectNames(["a"])
        try await session.modify([.forceUpdate("a", ["title": "y"])], in: zone).expectNames(["a"])
        try await session.query(filters: query, in: zone).expectNames([])
        try await session.modify([.forceUpdate("a", ["title": "x"])], in: zone).expectNames(["a"])
        try await session.modify([.forceDelete("a")], in: zone).expectRecords([.deleted("a")])
        try await session.query(filters: query, in: zone).expectNames([])
    },
]

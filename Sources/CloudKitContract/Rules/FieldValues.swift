import StreamingJSON

/// The values that replies have for saved fields.
let fieldValueRules: [ContractRule] = [
    keptRule("a text without a type is a STRING", ["title": (.untyped("x"), "x")], [.archive, .recorded]),
    keptRule(
        "a whole number without a type is an INT64",
        ["count": (.untyped(1), 1), "numbers": (.list("INT64", [1, -1]), .list("INT64", [1, -1]))],
        [.archive, .recorded]
    ),
    ContractRule("1.0 and 1e2 are whole numbers, or refused as doubles", [.observed, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        try await session.save("first", ["count": 1], in: zone)
        let fields = ["a": "1.0", "b": "1e2"]
        for (name, number) in fields.sorted(by: { $0.key < $1.key }) {
            let body = """
                {"operations": [{"operationType": "create", "record": {"recordName": "\(name)", "recordType": "\(noteType)",
                "fields": {"count": {"value": \(number)}}}}], "atomic": false, "zoneID": {"zoneName": "\(zone.zoneName)"}}
                """
            var request = try session.request("records/modify", nil, in: zone)
            request.body = Array(body.utf8)
            try await session.send(request).expectRecords([
                .anyOf([.record(name, ["count": number == "1.0" ? 1 : 100]), .failure(name, "BAD_REQUEST")])
            ])
        }
    },
    keptRule("a number with a fraction and no type is a DOUBLE", ["price": (.untyped(1.5), 1.5)], [.inferred]),
    keptRule(
        "a whole number tagged DOUBLE is a DOUBLE",
        [
            "price": (.typed(2, "DOUBLE"), .double(2)),
            "amounts": (.list("DOUBLE", [1, 2.5]), .list("DOUBLE", [1, 2.5])),
        ],
        [.observed]
    ),
    ContractRule(
        "a number of the type NUMBER_INT64 or NUMBER_DOUBLE is kept as a number",
        [.recorded, .inferred],
        requires: [.user, .openSchema]
    ) { session in
        let (zone, type) = (try await session.makeZone(), session.ownType)
        let numbers: [(field: String, value: JSONValue, types: [String])] = [
            ("whole", 10, ["INT64", "NUMBER_INT64"]), ("other", 9.5, ["DOUBLE", "NUMBER_DOUBLE"]),
        ]
        let fields = numbers.map { ($0.field, Field.typed($0.value, $0.types[1])) }
        try await session.save("a", Dictionary(uniqueKeysWithValues: fields), in: zone, type: type)
        let kept = numbers.map { number in
            let types = number.types.map { JSONPattern.value(.string($0)) }
            return (number.field, JSONPattern.including(["value": .value(number.value), "type": .anyOf(types)]))
        }
        try await session.lookup(["a"], in: zone)
            .expectRecords([.including(["fields": .including(Dictionary(uniqueKeysWithValues: kept))])])
    },
    keptRule(
        "a TIMESTAMP is milliseconds, and may lie before 1970",
        ["due": (.timestamp(-62_135_596_800_000), .timestamp(-62_135_596_800_000))],
        [.peers]
    ),
    keptRule(
        "a TIMESTAMP keeps its milliseconds",
        ["due": (.timestamp(1_422_312_944_104), .timestamp(1_422_312_944_104))],
        [.archive, .observed]
    ),
    keptRule("BYTES keep their base64", ["data": (.bytes("AQID/+8="), .bytes("AQID/+8="))], [.archive, .observed]),
    keptRule("true and false are kept as 1 and 0", ["count": (.untyped(true), 1)], [.archive, .unconfirmed]),
    keptRule(
        "lists keep order and duplicates, and come back with a list type of their own",
        [
            "tags": (.list("STRING", ["b", "a", "b"]), .list("STRING", ["b", "a", "b"])),
            "numbers": (.list("INT64", [3, 1, 3]), .list("INT64", [3, 1, 3])),
            "amounts": (.list("DOUBLE", [0.5, -1.25]), .list("DOUBLE", [0.5, -1.25])),
            "dates": (.list("TIMESTAMP", [1000, 0]), .list("TIMESTAMP", [1000, 0])),
            "blobs": (.list("BYTES", ["AQID", "AAAA"]), .list("BYTES", ["AQID", "AAAA"])),
            "links": (
                .list("REFERENCE", [Field.referenceValue("t1"), Field.referenceValue("t2")]),
                .list("REFERENCE", [Field.referenceValue("t1"), Field.referenceValue("t2")])
            ),
            "places": (
                .list("LOCATION", [["latitude": 1.5, "longitude": 2.5]]),
                .list("LOCATION", [["latitude": 1.5, "longitude": 2.5]])
            ),
        ],
        [.recorded, .observed]
    ),
    keptRule(
        "a list of texts without a type is a STRING_LIST",
        ["tags": (.untyped(["a"]), .list("STRING", ["a"]))],
        [.inferred]
    ),
    keptRule(
        "an empty list tagged with its type is kept",
        ["tags": (.list("STRING", []), .list("STRING", []))],
        [.observed]
    ),
    keptRule(
        "a LOCATION keeps all that is said of it",
        ["place": (wholeLocation, wholeLocation)],
        [.archive]
    ),
    keptRule(
        "a LOCATION needs latitude and longitude alone",
        ["place": (.location(59.9, 10.7), .location(59.9, 10.7))],
        [.archive]
    ),
    keptRule(
        "texts come back as the same Unicode text",
        [
            "title": (
                "A \"quoted\" \\ line\n\ttab \u{1F600} \u{65}\u{301} /",
                "A \"quoted\" \\ line\n\ttab \u{1F600} \u{65}\u{301} /"
            )
        ],
        [.inferred]
    ),
    ContractRule("64-bit integers come back exactly", [.inferred]) { session in
        let zone = try await session.makeZone()
        let fields: Fields = [
            "count": .int64(.max), "numbers": .list("INT64", [.integer(.min), 9_007_199_254_740_993]),
        ]
        try await session.save("a", fields, in: zone)
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", fields)])
    },
    ContractRule("an integer beyond 64 bits is refused", [.inferred]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.modify(
            [.create("a", ["count": .typed(.unsignedInteger(9_223_372_036_854_775_808), "INT64")]), .create("b")],
            in: zone
        )
        if reply.status == 200 {
            try reply.expectRecords([.failure("a", "BAD_REQUEST"), .record("b")])
        } else {
            try reply.expectError("BAD_REQUEST")
        }
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule("an empty list without a type is kept as an empty list", [.peers, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["tags": .list("STRING", ["x"])], in: zone)
        let reply = try await session.modify([.forceUpdate("a", ["tags": .untyped([])])], in: zone)
        try reply.expectRecords([
            .anyOf([.record("a", ["tags": .list("STRING", [])]), .record("a", cleared: ["tags"])])
        ])
    },
    ContractRule("fields that were never set are absent", [.recorded]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a", "count": 1], in: zone)
        try await session.save("b", ["title": "b"], in: zone)
        try await session.lookup(["b"], in: zone).expectRecords([.record("b", ["title": "b"])])
    },
]

private let wholeLocation = Field.typed(
    [
        "latitude": 59.9139, "longitude": 10.7522, "horizontalAccuracy": 5.5, "verticalAccuracy": 3.25,
        "altitude": 12.5,
        "speed": 1.25, "course": 270.5, "timestamp": 1_422_312_944_104,
    ],
    "LOCATION"
)

/// Makes a rule: the reply and a lookup have the value `kept` for each field that was sent.
private func keptRule(
    _ name: String,
    _ fields: [String: (sent: Field, kept: Field)],
    _ evidence: Set<ContractRule.Evidence>
) -> ContractRule {
    ContractRule(name, evidence) { session in
        let zone = try await session.makeZone()
        let kept = JSONPattern.record("a", fields.mapValues(\.kept))
        try await session.modify([.create("a", fields.mapValues(\.sent))], in: zone).expectRecords([kept])
        try await session.lookup(["a"], in: zone).expectRecords([kept])
    }
}

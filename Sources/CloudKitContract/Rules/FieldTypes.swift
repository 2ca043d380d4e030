import CloudKitRuleIDs
import StreamingJSON

/// The values that a field refuses.
let fieldTypeRules: [ContractRule] = [
    refusedRule(
        "an untyped whole number in a field of doubles",
        "price",
        1.5,
        .untyped(2),
        [.observed],
        as: ("INT64", "DOUBLE")
    ),
    refusedRule(
        "an untyped number in a field of dates",
        "due",
        .timestamp(1),
        .untyped(2),
        [.observed],
        as: ("INT64", "TIMESTAMP")
    ),
    refusedRule(
        "untyped base64 in a field of bytes",
        "data",
        .bytes("AAAA"),
        .untyped("AQID"),
        [.observed],
        as: ("STRING", "BYTES")
    ),
    refusedRule("a text in a field of numbers", "count", 1, "one", [.observed], as: ("STRING", "INT64")),
    refusedRule("a number in a field of texts", "title", "a", 1, [.observed], as: ("INT64", "STRING")),
    refusedRule(
        "a list in a field of single values",
        "title",
        "a",
        .list("STRING", ["a"]),
        [.observed],
        as: ("STRING_LIST", "STRING")
    ),
    refusedRule(
        "a TIMESTAMP with a fraction",
        "due",
        .timestamp(1),
        .typed(1000.5, "TIMESTAMP"),
        [.observed],
        reason: "Invalid value, expected type TIMESTAMP."
    ),
    refusedRule(
        "a TIMESTAMP that is a text",
        "due",
        .timestamp(1),
        .typed("2016-01-25T22:15:43Z", "TIMESTAMP"),
        [.inferred]
    ),
    refusedRule("BYTES that are not base64", "data", .bytes("AAAA"), .bytes("not base64!"), [.inferred]),
    refusedRule("a list of different kinds", "tags", .list("STRING", ["a"]), .list("STRING", ["a", 1]), [.inferred]),
    refusedRule("a list with a null inside", "tags", .list("STRING", ["a"]), .list("STRING", ["a", nil]), [.inferred]),
    refusedRule(
        "a LOCATION without latitude",
        "place",
        .location(1, 2),
        .typed(["longitude": 2.5], "LOCATION"),
        [.archive]
    ),
    refusedRule(
        "a LOCATION whose timestamp has a fraction",
        "place",
        .location(1, 2),
        .typed(["latitude": 1, "longitude": 2, "timestamp": 1000.5], "LOCATION"),
        [.observed]
    ),
    refusedRule("a LOCATION beyond the pole", "place", .location(1, 2), .location(91, 2), [.inferred]),
    ContractRule(
        "a type that does not exist is refused with the request, or with the record",
        [.observed, .unconfirmed]
    ) { session in
        let zone = try await session.makeZone()
        let odd = Operation.create("b", ["title": .typed("red", "COLOR")])
        let reply = try await session.modify([.create("a"), odd], in: zone)
        if reply.status == 200 {
            try reply.expectRecords([.record("a"), .failure("b", "BAD_REQUEST")])
        } else {
            try reply.expectError("BAD_REQUEST", reason: "BadRequestException: Unexpected input")
            try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
        }
        try await session.lookup(["b"], in: zone).expectRecords([.failure("b", "NOT_FOUND")])
    },
    ContractRule("a filter with a type that does not exist is refused", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        let filter: JSONValue = [
            "comparator": "EQUALS", "fieldName": "title", "fieldValue": ["value": "a", "type": "COLOR"],
        ]
        try await session.query(filters: [filter], in: zone)
            .expectError("BAD_REQUEST", reason: "BadRequestException: Unexpected input")
    },
    ContractRule(
        .fieldNameForm,
        "field names begin with a letter and hold letters, digits and underscores",
        [.inferred]
    ) { session in
        let zone = try await session.makeZone()
        for name in ["1a", "a-b", "a b", "", "_a"] {
            let reply = try await session.modify([.create("a", [name: "x"])], in: zone)
            try reply.expectRecords([.failure("a", "BAD_REQUEST")])
        }
        try await session.lookup(["a"], in: zone).expectRecords([.failure("a", "NOT_FOUND")])
    },
    ContractRule("the first save of a field fixes its type", [.observed], requires: [.user, .openSchema]) { session in
        let zone = try await session.makeZone()
        let type = "ContractNew_\(session.ending)"
        try await session.save("a", ["fresh": 1], in: zone, type: type)
        let reply = try await session.modify([.create("b", ["fresh": "one"], type: type)], in: zone)
        try reply.expectRecords([
            .failure(
                "b",
                "BAD_REQUEST",
                reason:
                    "invalid attempt to set value type STRING for field 'fresh' for type '\(type)', defined to be: INT64"
            )
        ])
        try await session.lookup(["a", "b"], in: zone)
            .expectRecords([.record("a", ["fresh": 1], type: type), .failure("b", "NOT_FOUND")])
    },
    ContractRule(
        "a field that an untyped number made takes whole numbers and others",
        [.inferred],
        requires: [.user, .openSchema]
    ) { session in
        let (zone, type) = (try await session.makeZone(), session.ownType)
        try await session.save("a", ["whole": .untyped(10), "other": .untyped(9.99)], in: zone, type: type)
        let turned: Fields = ["whole": .untyped(9.99), "other": .untyped(10)]
        let typed: Fields = ["whole": 9.99, "other": 10]
        try await session.modify([.create("b", turned, type: type), .create("c", typed, type: type)], in: zone)
            .expectRecords([.record("b", typed, type: type), .record("c", typed, type: type)])
        try await session.query(type, sorts: [.sort("whole"), .sort("other")], in: zone)
            .expectNames(unordered: ["a", "b", "c"])
        try await session.query(type, filters: [.filter("EQUALS", "other", 10)], in: zone)
            .expectNames(unordered: ["b", "c"])
        try await session.query(type, filters: [.filter("LESS_THAN", "whole", 10)], in: zone)
            .expectNames(unordered: ["b", "c"])
    },
    ContractRule(
        .fieldsOfType,
        "a record type has at most 256 fields",
        [.native, .unconfirmed],
        requires: [.user, .openSchema]
    ) {
        session in
        let zone = try await session.makeZone()
        let type = "ContractWide_\(session.ending)"
        let fields = Fields(uniqueKeysWithValues: (0..<256).map { ("f\($0)", .int64($0)) })
        try await session.save("a", fields, in: zone, type: type)
        try await session.modify([.create("b", ["one_more": 1], type: type)], in: zone)
            .expectRecords([.failure("b", "BAD_REQUEST", "LIMIT_EXCEEDED")])
        try await session.lookup(["a", "b"], in: zone)
            .expectRecords([.record("a", fields, type: type), .failure("b", "NOT_FOUND")])
    },
    ContractRule(.unknownField, "a field that the record type does not have is refused", [.observed]) { session in
        // Where the schema is open, the save creates the field instead.
        let zone = try await session.makeZone()
        let open = session.target.hasOpenSchema
        let type = open ? "ContractOpen_\(session.ending)" : noteType
        let reply = try await session.modify([.create("a", ["unheard": "x"], type: type)], in: zone)
        try reply.expectRecords([
            open
                ? .record("a", ["unheard": "x"], type: type)
                : .failure("a", "BAD_REQUEST", reason: "Field unheard not found in \(noteType)")
        ])
    },
]

/// Makes a rule: a value is refused in a field whose type is known, and the record does not change.
private func refusedRule(
    _ name: String,
    _ field: String,
    _ known: Field,
    _ refused: Field,
    _ evidence: Set<ContractRule.Evidence>,
    as types: (sent: String, defined: String)? = nil,
    reason: String? = nil
) -> ContractRule {
    let reason =
        reason
        ?? types.map {
            "invalid attempt to set value type \($0.sent) for field '\(field)' for type '\(noteType)', "
                + "defined to be: \($0.defined)"
        }
    return ContractRule("\(name) is refused, and changes nothing", evidence) { session in
        let zone = try await session.makeZone()
        try await session.save("a", [field: known], in: zone)
        let before = try await session.state(of: ["a"], in: zone)
        let reply = try await session.modify([.forceUpdate("a", [field: refused]), .create("b")], in: zone)
        try reply.expectRecords([.failure("a", "BAD_REQUEST", reason: reason), .record("b")])
        try await session.lookup(["a"], in: zone).expectRecords(before.map(JSONPattern.value))
    }
}

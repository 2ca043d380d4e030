import StreamingJSON

/// Filters, and the filters that are refused.
let filterRules: [ContractRule] = [
    ContractRule(
        "one filter may stand without a list, and an empty list is none",
        [.recorded, .inferred]
    ) { session in
        let zone = try await session.makeItems()
        let filter = JSONValue.filter("EQUALS", "name", "Apple")
        for (filterBy, names) in [(filter, ["r1"]), ([filter], ["r1"]), ([], ["r1", "r2", "r3", "r4", "r5"])] {
            let body: JSONValue = [
                "query": ["recordType": "ContractItem", "filterBy": filterBy], "zoneID": zone.zoneID ?? nil,
            ]
            try await session.post("records/query", body, in: zone).expectNames(unordered: names)
        }
    },
    refusedFilter(
        "IN with an untyped list",
        [.observed],
        reason: "BadRequestException: Unexpected input",
        [
            .filter("IN", "name", .untyped(["Apple"])), .filter("NOT_IN", "name", .untyped(["Apple", "Banana"])),
            .filter("IN", "name", .untyped([])), .filter("NOT_IN", "name", .untyped([])),
        ]
    ),
    refusedFilter(
        "IN with one value",
        [.inferred],
        [.filter("IN", "name", "Apple"), .filter("NOT_IN", "name", "Apple")]
    ),
    refusedFilter(
        "IN with 251 values",
        [.native, .unconfirmed],
        [
            .filter("IN", "count", .list("INT64", (0..<251).map { .integer($0) }))
        ]
    ),
    refusedFilter(
        "an unknown comparator, or none",
        [.inferred],
        [
            .filter("LIKE", "name", "Apple"), .filter("equals", "name", "Apple"),
            ["fieldName": "name", "fieldValue": ["value": "Apple"]],
        ]
    ),
    refusedFilter(
        "a filter on a field that no record has",
        [.native],
        reason: "Unknown field 'unheard'",
        [
            .filter("EQUALS", "unheard", "x")
        ]
    ),
    refusedFilter(
        "a filter with a value of another type than the field's",
        [.inferred],
        [
            .filter("EQUALS", "count", "1"), .filter("EQUALS", "name", 1), .filter("LIST_CONTAINS", "nums", "1"),
            .filter("IN", "count", .list("STRING", ["1"])),
        ]
    ),
    refusedFilter(
        "a filter without a field, or without a value",
        [.archive],
        [
            .filter("EQUALS", nil, "Apple"), .filter("EQUALS", "name", nil),
        ]
    ),
    refusedFilter(
        "a comparator that does not fit the field",
        [.archive, .inferred],
        [
            .near("count", .location(59.9, 10.7), within: 1000), .filter("LIST_CONTAINS", "name", "Apple"),
            .filter("BEGINS_WITH", "count", "1"), .filter("CONTAINS_ALL_TOKENS", "count", "1"),
            .filter("EQUALS", "tags", "red"), .filter("LESS_THAN", "link", .reference("t1")),
        ]
    ),
    refusedFilter("NEAR without a distance", [.inferred], [.near("place", .location(59.9, 10.7), within: nil)]),
    ContractRule("a query for an unknown record type is refused", [.native, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        let type = "ContractNone_\(session.ending)"
        try await session.query(type, in: zone)
            .expectError("BAD_REQUEST", "NOT_FOUND", reason: "Did not find record type: \(type)")
    },
    ContractRule("a query needs a record type", [.archive]) { session in
        try await session.post("records/query", ["query": [:]], in: .privateDatabase).expectError("BAD_REQUEST")
    },
]

private func refusedFilter(
    _ name: String,
    _ evidence: Set<ContractRule.Evidence>,
    reason: String? = nil,
    _ filters: [JSONValue]
) -> ContractRule {
    ContractRule("\(name) is refused", evidence) { session in
        let zone = try await session.makeItems()
        for filter in filters {
            try await session.query("ContractItem", filters: [filter], in: zone)
                .expectError("BAD_REQUEST", reason: reason)
        }
    }
}

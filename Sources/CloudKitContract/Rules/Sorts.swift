import StreamingJSON

/// Sorting.
let sortRules: [ContractRule] = [
    sortRule("numbers are sorted ascending by default", [.sort("count")], "r4 r1 r2 r3", [.archive]),
    sortRule("numbers are sorted ascending", [.sort("count", ascending: true)], "r4 r1 r2 r3", [.archive]),
    sortRule("numbers are sorted descending", [.sort("count", ascending: false)], "r3 r2 r1 r4", [.archive]),
    sortRule("doubles are sorted by value", [.sort("price")], "r3 r4 r1 r2", [.archive]),
    sortRule("dates are sorted by time", [.sort("due", ascending: false)], "r2 r1 r4 r3", [.archive]),
    ContractRule("texts are sorted in a fixed order", [.unconfirmed]) { session in
        let zone = try await session.makeItems()
        let reply = try await session.query("ContractItem", sorts: [.sort("name")], in: zone)
        let names = reply.names.filter { $0 != "r5" }
        try reply.require(
            [["r4", "r1", "r3", "r2"], ["r4", "r1", "r2", "r3"]].contains(names),
            "names by code points, or without regard to case"
        )
    },
    sortRule(
        "the second sort decides among what is equal for the first",
        [.sort("link"), .sort("count", ascending: false)],
        "r3 r1 r2",
        [.archive, .inferred],
        ignoring: ["r4", "r5"]
    ),
    sortRule(
        "places are sorted by their distance from another",
        [["fieldName": "place", "relativeLocation": Field.location(59.9, 10.7).json, "ascending": true]],
        "r1 r2 r3",
        [.archive],
        ignoring: ["r4", "r5"]
    ),
    sortRule(
        "places are sorted by their distance from another, the farthest first",
        [["fieldName": "place", "relativeLocation": Field.location(59.9, 10.7).json, "ascending": false]],
        "r3 r2 r1",
        [.archive],
        ignoring: ["r4", "r5"]
    ),
    sortRule(
        "a sort by distance may hold the location alone",
        [["fieldName": "place", "relativeLocation": Field.location(59.9, 10.7).value, "ascending": true]],
        "r1 r2 r3",
        [.samples],
        ignoring: ["r4", "r5"]
    ),
    ContractRule("records without the field stand together at one end", [.unconfirmed]) {
        session in
        let zone = try await session.makeItems()
        for ascending in [true, false] {
            let reply = try await session.query("ContractItem", sorts: [.sort("count", ascending: ascending)], in: zone)
            try reply.require(reply.names.first == "r5" || reply.names.last == "r5", "r5 first or last")
        }
    },
    ContractRule("without a sort, the order is the same each time", [.unconfirmed]) { session in
        let zone = try await session.makeItems()
        let first = try await session.query("ContractItem", in: zone)
        try await session.query("ContractItem", in: zone).expectRecords(first.records.map(JSONPattern.value))
    },
    ContractRule("lists cannot be sorted by", [.inferred]) { session in
        let zone = try await session.makeItems()
        try await session.query("ContractItem", sorts: [.sort("tags")], in: zone).expectError("BAD_REQUEST")
    },
]

/// Makes a rule: sorts give an order. Records of `ignoring` are not compared, such as `r5`, which has no fields and may
/// come first or last.
private func sortRule(
    _ name: String,
    _ sorts: [JSONValue],
    _ order: String,
    _ evidence: Set<ContractRule.Evidence>,
    ignoring others: Set<String> = ["r5"]
) -> ContractRule {
    ContractRule(name, evidence) { session in
        let zone = try await session.makeItems()
        let reply = try await session.query("ContractItem", sorts: sorts, in: zone)
        try reply.expectNames(unordered: items.map(\.name))
        let names = reply.names.filter { !others.contains($0) }
        try reply.require(names == order.split(separator: " ").map(String.init), "the order \(order)")
    }
}

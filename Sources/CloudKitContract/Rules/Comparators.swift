import StreamingJSON

/// The comparators of queries, each against the same five records.
///
/// |    | name         | count | price | due   | tags        | nums | link | data | place        | note            |
/// | -- | ------------ | ----- | ----- | ----- | ----------- | ---- | ---- | ---- | ------------ | --------------- |
/// | r1 | Apple        | 1     | 1.5   | 1000  | red green   | 1 2  | t1   | AQID | 59.9 10.7    | Quick brown fox |
/// | r2 | apple pie    | 2     | 2.0   | 2000  | red         | 2 3  | t2   | AQIE | 59.91 10.75  | brown bear      |
/// | r3 | Banana       | 3     | -1.25 | -1000 | yellow red  | none | t1   | -    | 60.39 5.32   | the fox is quick |
/// | r4 | (empty text) | 0     | 0.0   | 0     | none        | -    | -    | -    | -            | -               |
/// | r5 | no fields    |       |       |       |             |      |      |      |              |                 |
let comparatorRules: [ContractRule] = [
    ContractRule(
        "a query without filters gives all records of the type, and of no other",
        [.archive, .recorded]
    ) {
        session in
        let zone = try await session.makeItems()
        try await session.query("ContractItem", in: zone).expectRecordsUnordered(
            items.map { .record($0.name, $0.fields, type: "ContractItem") }
        )
        try await session.query("ContractAnchor", in: zone).expectNames(unordered: ["t1", "t2"])
    },
    comparatorRule(
        "EQUALS compares texts, numbers, dates, references and bytes; absent fields never match",
        [.archive, .inferred],
        [
            (.filter("EQUALS", "name", "Apple"), "r1"), (.filter("EQUALS", "name", "apple"), ""),
            (.filter("EQUALS", "name", ""), "r4"), (.filter("EQUALS", "count", 2), "r2"),
            (.filter("EQUALS", "count", 9), ""),
            (.filter("EQUALS", "price", .double(2)), "r2"), (.filter("EQUALS", "due", .timestamp(2000)), "r2"),
            (.filter("EQUALS", "due", .timestamp(-1000)), "r3"), (.filter("EQUALS", "link", .reference("t1")), "r1 r3"),
            (.filter("EQUALS", "data", .bytes("AQID")), "r1"), (.filter("EQUALS", "count", 0), "r4"),
        ]
    ),
    comparatorRule(
        "EQUALS takes a reference without type or action",
        [.archive, .cloudKitJS],
        [
            (.filter("EQUALS", "link", .typed(["recordName": "t1"], "REFERENCE")), "r1 r3"),
            (.filter("EQUALS", "link", .untyped(["recordName": "t1"])), "r1 r3"),
            (.filter("EQUALS", "link", .reference("t1", "DELETE_SELF")), "r1 r3"),
        ]
    ),
    ContractRule("EQUALS with a text instead of a reference is refused", [.observed]) { session in
        let zone = try await session.makeItems()
        try await session.query(
            "ContractItem",
            filters: [.filter("EQUALS", "link", .typed("t1", "REFERENCE"))],
            in: zone
        )
        .expectError("BAD_REQUEST", reason: "could not decode reference object")
    },
    negationRule(
        "NOT_EQUALS",
        [
            (.filter("NOT_EQUALS", "name", "Apple"), "r2 r3 r4", "r5"),
            (.filter("NOT_EQUALS", "link", .reference("t1")), "r2", "r4 r5"),
            (.filter("NOT_EQUALS", "count", 2), "r1 r3 r4", "r5"),
        ]
    ),
    comparatorRule(
        "LESS_THAN compares numbers, dates and texts",
        [.archive],
        [
            (.filter("LESS_THAN", "count", 2), "r1 r4"), (.filter("LESS_THAN", "price", 1.5), "r3 r4"),
            (.filter("LESS_THAN", "due", .timestamp(0)), "r3"), (.filter("LESS_THAN", "count", 0), ""),
            (.filter("LESS_THAN", "name", "B"), "r1 r4"),
        ]
    ),
    comparatorRule(
        "LESS_THAN_OR_EQUALS takes what is equal, too",
        [.archive],
        [
            (.filter("LESS_THAN_OR_EQUALS", "count", 2), "r1 r2 r4"),
            (.filter("LESS_THAN_OR_EQUALS", "price", .double(-1.25)), "r3"),
            (.filter("LESS_THAN_OR_EQUALS", "due", .timestamp(0)), "r3 r4"),
        ]
    ),
    comparatorRule(
        "GREATER_THAN compares numbers and dates",
        [.archive],
        [
            (.filter("GREATER_THAN", "count", 1), "r2 r3"), (.filter("GREATER_THAN", "due", .timestamp(1000)), "r2"),
            (.filter("GREATER_THAN", "price", 1.5), "r2"), (.filter("GREATER_THAN", "count", 3), ""),
        ]
    ),
    comparatorRule(
        "GREATER_THAN_OR_EQUALS takes what is equal, too",
        [.archive],
        [
            (.filter("GREATER_THAN_OR_EQUALS", "count", 1), "r1 r2 r3"),
            (.filter("GREATER_THAN_OR_EQUALS", "due", .timestamp(1000)), "r1 r2"),
            (.filter("GREATER_THAN_OR_EQUALS", "price", .double(0)), "r1 r2 r4"),
        ]
    ),
    comparatorRule(
        "NEAR measures in metres",
        [.archive],
        [
            (.near("place", .location(59.9, 10.7), within: 1000), "r1"),
            (.near("place", .location(59.9, 10.7), within: 5000), "r1 r2"),
            (.near("place", .location(59.9, 10.7), within: 400_000), "r1 r2 r3"),
            (.near("place", .location(59.9, 10.7), within: 30_000_000), "r1 r2 r3"),
            (.near("place", .location(-59.9, 10.7), within: 5000), ""),
        ]
    ),
    ContractRule("NEAR finds records across the date line and at the poles", [.inferred]) { session in
        let zone = try await session.makeZone()
        let points = [("west", 0, 179.99), ("east", 0, -179.99), ("pole", 89.99, 100)]
        try await session.save(
            points.map { .create($0.0, ["place": .location($0.1, $0.2)], type: "ContractItem") },
            in: zone
        )
        for (center, names) in [
            (Field.location(0, 180), ["west", "east"]), (.location(0, -180), ["west", "east"]),
            (.location(89.99, -80), ["pole"]),
        ] {
            try await session.query("ContractItem", filters: [.near("place", center, within: 5000)], in: zone)
                .expectNames(unordered: names)
        }
    },
    comparatorRule(
        "CONTAINS_ALL_TOKENS finds whole words, whatever their order and case",
        [.archive, .native],
        [
            (.filter("CONTAINS_ALL_TOKENS", "note", "fox quick"), "r1 r3"),
            (.filter("CONTAINS_ALL_TOKENS", "note", "QUICK"), "r1 r3"),
            (.filter("CONTAINS_ALL_TOKENS", "note", "quíck"), "r1 r3"),
            (.filter("CONTAINS_ALL_TOKENS", "note", "qui"), ""),
            (.filter("CONTAINS_ALL_TOKENS", "note", "brown missing"), ""),
        ]
    ),
    comparatorRule(
        "CONTAINS_ANY_TOKENS finds any of the words",
        [.archive, .native],
        [
            (.filter("CONTAINS_ANY_TOKENS", "note", "bear fox"), "r1 r2 r3"),
            (.filter("CONTAINS_ANY_TOKENS", "note", "missing"), ""),
            (.filter("CONTAINS_ANY_TOKENS", "note", "Bear"), "r2"),
        ]
    ),
    comparatorRule(
        "a search for words without a field looks into all",
        [.native],
        [
            (.filter("CONTAINS_ALL_TOKENS", nil, "Apple"), "r1 r2"),
            (.filter("CONTAINS_ANY_TOKENS", nil, "banana bear"), "r2 r3"),
        ]
    ),
    comparatorRule(
        "IN matches any value of the list",
        [.archive],
        [
            (.filter("IN", "name", .list("STRING", ["Apple", "Banana", "x"])), "r1 r3"),
            (.filter("IN", "count", .list("INT64", [1, 3])), "r1 r3"),
            (.filter("IN", "link", .list("REFERENCE", [["recordName": "t1"]])), "r1 r3"),
            (.filter("IN", "due", .list("TIMESTAMP", [1000, 0])), "r1 r4"),
            (.filter("IN", "price", .list("DOUBLE", [1.5])), "r1"),
            (.filter("IN", "name", .list("STRING", ["x"])), ""), (.filter("IN", "name", .list("STRING", [])), ""),
        ]
    ),
    negationRule(
        "NOT_IN",
        [
            (.filter("NOT_IN", "name", .list("STRING", ["Apple", "Banana"])), "r2 r4", "r5"),
            (.filter("NOT_IN", "count", .list("INT64", [0, 1, 2])), "r3", "r5"),
        ]
    ),
    comparatorRule(
        "LIST_CONTAINS asks for one member of a list",
        [.archive],
        [
            (.filter("LIST_CONTAINS", "tags", "red"), "r1 r2 r3"), (.filter("LIST_CONTAINS", "nums", 2), "r1 r2"),
            (.filter("LIST_CONTAINS", "tags", "blue"), ""), (.filter("LIST_CONTAINS", "tags", "re"), ""),
        ]
    ),
    negationRule("NOT_LIST_CONTAINS", [(.filter("NOT_LIST_CONTAINS", "tags", "red"), "", "r4 r5")]),
    comparatorRule(
        "LIST_CONTAINS_ANY asks for any overlap",
        [.cloudKitJS],
        [
            (.filter("LIST_CONTAINS_ANY", "tags", .list("STRING", ["green", "yellow"])), "r1 r3"),
            (.filter("LIST_CONTAINS_ANY", "tags", .list("STRING", ["green", "red"])), "r1 r2 r3"),
            (.filter("LIST_CONTAINS_ANY", "nums", .list("INT64", [3, 9])), "r2"),
        ]
    ),
    negationRule(
        "NOT_LIST_CONTAINS_ANY",
        [
            (.filter("NOT_LIST_CONTAINS_ANY", "tags", .list("STRING", ["green", "yellow"])), "r2", "r4 r5")
        ]
    ),
    comparatorRule(
        "LIST_CONTAINS_ALL asks for all members",
        [.archive],
        [
            (.filter("LIST_CONTAINS_ALL", "tags", .list("STRING", ["red", "green"])), "r1"),
            (.filter("LIST_CONTAINS_ALL", "tags", .list("STRING", ["red"])), "r1 r2 r3"),
            (.filter("LIST_CONTAINS_ALL", "tags", .list("STRING", ["red", "blue"])), ""),
        ]
    ),
    negationRule(
        "NOT_LIST_CONTAINS_ALL",
        [
            (.filter("NOT_LIST_CONTAINS_ALL", "tags", .list("STRING", ["red", "green"])), "r2 r3", "r4 r5")
        ]
    ),
    comparatorRule(
        "BEGINS_WITH compares beginnings, with no wildcards",
        [.archive, .native],
        [
            (.filter("BEGINS_WITH", "name", "Ban"), "r3"), (.filter("BEGINS_WITH", "name", "Banana"), "r3"),
            (.filter("BEGINS_WITH", "name", "%"), ""), (.filter("BEGINS_WITH", "name", "_"), ""),
            (.filter("BEGINS_WITH", "name", "pple"), ""), (.filter("BEGINS_WITH", "name", "Bananas"), ""),
        ]
    ),
    ContractRule("BEGINS_WITH may or may not go by case", [.native, .unconfirmed]) { session in
        let zone = try await session.makeItems()
        for (prefix, name) in [("app", "r2"), ("App", "r1")] {
            let filter = JSONValue.filter("BEGINS_WITH", "name", .string(prefix))
            let reply = try await session.query("ContractItem", filters: [filter], in: zone)
            try reply.require([[name], ["r1", "r2"]].contains(reply.names.sorted()), "\(name), and maybe the other")
        }
    },
    negationRule("NOT_BEGINS_WITH", [(.filter("NOT_BEGINS_WITH", "name", "App"), "r3 r4", "r2 r5")]),
    ContractRule("LIST_MEMBER_BEGINS_WITH looks at any member, or at the first", [.archive, .unconfirmed]) { session in
        let zone = try await session.makeItems()
        for (prefix, answers) in [("gr", [["r1"], []]), ("re", [["r1", "r2", "r3"], ["r1", "r2"]]), ("ed", [[]])] {
            let filter = JSONValue.filter("LIST_MEMBER_BEGINS_WITH", "tags", .string(prefix))
            let reply = try await session.query("ContractItem", filters: [filter], in: zone)
            try reply.require(answers.contains(reply.names.sorted()), "one of \(answers)")
        }
    },
    negationRule(
        "NOT_LIST_MEMBER_BEGINS_WITH",
        [
            (.filter("NOT_LIST_MEMBER_BEGINS_WITH", "tags", "yel"), "r1 r2", "r4 r5"),
            (.filter("NOT_LIST_MEMBER_BEGINS_WITH", "tags", "re"), "", "r3 r4 r5"),
        ]
    ),
    comparatorRule("two filters must both hold", [.archive], []) { session, zone in
        let filters: [(filters: [JSONValue], names: [String])] = [
            ([.filter("GREATER_THAN_OR_EQUALS", "count", 1), .filter("LIST_CONTAINS", "tags", "green")], ["r1"]),
            (
                [.filter("GREATER_THAN_OR_EQUALS", "count", 1), .filter("LESS_THAN_OR_EQUALS", "count", 2)],
                ["r1", "r2"]
            ),
            ([.filter("EQUALS", "count", 1), .filter("EQUALS", "name", "Banana")], []),
        ]
        for (filters, names) in filters {
            try await session.query("ContractItem", filters: filters, in: zone).expectNames(unordered: names)
        }
    },
]

// MARK: - The records

let items: [(name: String, fields: Fields)] = [
    (
        "r1",
        [
            "name": "Apple", "count": 1, "price": 1.5, "due": .timestamp(1000),
            "tags": .list("STRING", ["red", "green"]),
            "nums": .list("INT64", [1, 2]), "link": .reference("t1"), "data": .bytes("AQID"),
            "place": .location(59.9, 10.7),
            "note": "Quick brown fox",
        ]
    ),
    (
        "r2",
        [
            "name": "apple pie", "count": 2, "price": .double(2), "due": .timestamp(2000),
            "tags": .list("STRING", ["red"]),
            "nums": .list("INT64", [2, 3]), "link": .reference("t2"), "data": .bytes("AQIE"),
            "place": .location(59.91, 10.75),
            "note": "brown bear",
        ]
    ),
    (
        "r3",
        [
            "name": "Banana", "count": 3, "price": .double(-1.25), "due": .timestamp(-1000),
            "tags": .list("STRING", ["yellow", "red"]), "nums": .list("INT64", []), "link": .reference("t1"),
            "place": .location(60.39, 5.32), "note": "the fox is quick",
        ]
    ),
    ("r4", ["name": "", "count": 0, "price": .double(0), "due": .timestamp(0), "tags": .list("STRING", [])]),
    ("r5", [:]),
]

extension ContractSession {
    /// A zone with the five records, and the two that they refer to.
    mutating func makeItems() async throws -> Destination {
        let zone = try await makeZone("Items")
        var operations = ["t1", "t2"].map { Operation.create($0, type: "ContractAnchor") }
        operations += items.map { .create($0.name, $0.fields, type: "ContractItem") }
        try await save(operations, in: zone)
        return zone
    }
}

/// Makes a rule: each filter finds exactly the records of the names beside it.
private func comparatorRule(
    _ name: String,
    _ evidence: Set<ContractRule.Evidence>,
    _ lines: [(filter: JSONValue, names: String)],
    also check: (@Sendable (inout ContractSession, Destination) async throws -> Void)? = nil
) -> ContractRule {
    ContractRule(name, evidence) { session in
        let zone = try await session.makeItems()
        for (filter, names) in lines {
            try await session.query("ContractItem", filters: [filter], in: zone)
                .expectNames(unordered: names.split(separator: " ").map(String.init))
        }
        try await check?(&session, zone)
    }
}

/// Makes a rule: a negation finds the records that have the field and do not match. It may also find the records of
/// `unsettled`, which lack the field.
private func negationRule(
    _ comparator: String,
    _ lines: [(filter: JSONValue, names: String, unsettled: String)]
) -> ContractRule {
    let name = "\(comparator) finds the others among the records that have the field, maybe also those that lack it"
    return ContractRule(name, [.archive, .unconfirmed]) { session in
        let zone = try await session.makeItems()
        for (filter, names, unsettled) in lines {
            let reply = try await session.query("ContractItem", filters: [filter], in: zone)
            let certain = Set(names.split(separator: " ").map(String.init))
            let possible = certain.union(unsettled.split(separator: " ").map(String.init))
            try reply.require(
                reply.status == 200 && certain.isSubset(of: reply.names) && possible.isSuperset(of: reply.names)
                    && Set(reply.names).count == reply.names.count,
                "\(certain.sorted()), and of the rest no more than \(possible.subtracting(certain).sorted())"
            )
        }
    }
}

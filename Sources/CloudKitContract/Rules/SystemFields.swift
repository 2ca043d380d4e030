import StreamingJSON

/// Queries by system fields.
let systemFieldRules: [ContractRule] = [
    ContractRule("records can be found by their names", [.archive, .unconfirmed]) { session in
        let zone = try await session.makeItems()
        for (filter, names) in [
            (JSONValue.filter("EQUALS", system: "recordName", .reference("r1")), ["r1"]),
            (.filter("EQUALS", "___recordID", .reference("r1")), ["r1"]),
            (
                .filter("IN", system: "recordName", .list("REFERENCE", [["recordName": "r1"], ["recordName": "r3"]])),
                ["r1", "r3"]
            ),
        ] {
            let reply = try await session.query("ContractItem", filters: [filter], in: zone)
            if reply.status == 200 {
                try reply.expectNames(unordered: names)
            } else {
                try reply.expectError("BAD_REQUEST")
            }
        }
    },
    ContractRule("records can be found by who made or changed them", [.archive]) { session in
        let zone = try await session.makeItems()
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        let anonymous = "_0123456789abcdef0123456789abcdef"
        for name in ["createdUserRecordName", "modifiedUserRecordName"] {
            let value = Field.typed(["recordName": .string(caller)], "REFERENCE")
            try await session.query("ContractItem", filters: [.filter("EQUALS", system: name, value)], in: zone)
                .expectNames(unordered: items.map(\.name))
            let other = Field.typed(["recordName": .string(anonymous)], "REFERENCE")
            try await session.query("ContractItem", filters: [.filter("EQUALS", system: name, other)], in: zone)
                .expectNames([])
        }
    },
    ContractRule("records can be found by when they were made or changed", [.archive]) {
        session in
        let zone = try await session.makeItems()
        let record = try await session.lookup(["r3"], in: zone).record()
        let created = record["created"]?["timestamp"]?.int64Value ?? 0
        let all = Set(items.map(\.name))
        for name in ["createdTimestamp", "modifiedTimestamp"] {
            let filters: [(comparator: String, offset: Int64, names: Set<String>)] = [
                ("GREATER_THAN", -60_000, all), ("GREATER_THAN", 60_000, []), ("LESS_THAN", 60_000, all),
                ("LESS_THAN_OR_EQUALS", -60_000, []), ("GREATER_THAN_OR_EQUALS", -60_000, all),
            ]
            for (comparator, offset, names) in filters {
                let filter = JSONValue.filter(comparator, system: name, .timestamp(created + offset))
                try await session.query("ContractItem", filters: [filter], in: zone)
                    .expectNames(unordered: Array(names))
            }
        }
    },
    ContractRule("a record can be found by its change tag", [.archive]) { session in
        let zone = try await session.makeItems()
        let tag = try await session.lookup(["r2"], in: zone).tag()
        try await session.query("ContractItem", filters: [.filter("EQUALS", "___etag", .string(tag))], in: zone)
            .expectNames(["r2"])
    },
    ContractRule("records can be sorted by when they were made", [.archive]) { session in
        let zone = try await session.makeItems()
        for (ascending, isInOrder) in [(true, { $0 <= $1 }), (false, { $0 >= $1 })] as [(Bool, (Int64, Int64) -> Bool)]
        {
            let sort: JSONValue = ["systemFieldName": "createdTimestamp", "ascending": .bool(ascending)]
            let reply = try await session.query("ContractItem", sorts: [sort], in: zone)
            try reply.expectNames(unordered: items.map(\.name))
            let times = reply.records.compactMap { $0["created"]?["timestamp"]?.int64Value }
            try reply.require(zip(times, times.dropFirst()).allSatisfy(isInOrder), "records in the order of `created`")
        }
    },
    ContractRule("an unknown system field is refused", [.inferred]) { session in
        let zone = try await session.makeItems()
        try await session.query("ContractItem", filters: [.filter("EQUALS", system: "unheard", "x")], in: zone)
            .expectError("BAD_REQUEST")
    },
    ContractRule("system fields have two names", [.archive]) { session in
        let zone = try await session.makeItems()
        let value = Field.timestamp(1_000_000_000_000)
        let one = try await session.query(
            "ContractItem",
            filters: [.filter("GREATER_THAN", system: "createdTimestamp", value)],
            in: zone
        )
        try one.expectNames(unordered: items.map(\.name))
        try await session.query("ContractItem", filters: [.filter("GREATER_THAN", "___createTime", value)], in: zone)
            .expectRecords(one.records.map(JSONPattern.value))
    },
]

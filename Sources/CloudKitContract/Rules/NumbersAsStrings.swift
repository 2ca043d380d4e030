import StreamingJSON

/// `numbersAsStrings`.
let numbersAsStringsRules: [ContractRule] = [
    ContractRule(
        "numbersAsStrings gives 64-bit integers as texts; their type stays",
        [.archive]
    ) {
        session in
        let zone = try await session.makeZone()
        let record = JSONPattern.record("a", ["count": .typed("5", "INT64"), "title": "5"])
        let options: [String: JSONValue] = ["numbersAsStrings": true]
        try await session.modify([.create("a", ["count": 5, "title": "5"])], in: zone, options).expectRecords([record])
        try await session.lookup(["a"], in: zone, options).expectRecords([record])
        try await session.query(in: zone, options).expectRecords([record])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["count": 5, "title": "5"])])
    },
    ContractRule("numbersAsStrings may touch doubles, dates and lists; it keeps their values", [.unconfirmed]) {
        session in
        let zone = try await session.makeZone()
        let fields: Fields = [
            "price": 1.5, "due": .timestamp(1000), "numbers": .list("INT64", [1, 2]),
            "amounts": .list("DOUBLE", [1.5]), "dates": .list("TIMESTAMP", [1000]),
        ]
        try await session.save("a", fields, in: zone)
        let reply = try await session.lookup(["a"], in: zone, ["numbersAsStrings": true])
        let read = try reply.record()["fields"]
        for (name, field) in fields {
            let value = read?[name]?["value"]
            try reply.require(value.map { isNumber($0, field.value) } ?? false, "\(field.value.brief) in \(name)")
            try reply.require(read?[name]?["type"]?.stringValue == field.type, "the type of \(name) to stay")
        }
    },
    ContractRule("changes/zone takes numbersAsStrings, and numberAsStrings", [.archive, .cloudKitJS]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["count": 5], in: zone)
        for key in ["numbersAsStrings", "numberAsStrings"] {
            try await session.changes(in: zone, options: [key: true]).expectZones([
                .including(["records": [.record("a", ["count": .typed("5", "INT64")])]])
            ])
        }
    },
    ContractRule("one operation can ask for numbersAsStrings", [.cloudKitJS]) { session in
        let zone = try await session.makeZone()
        try await session.modify(
            [
                Operation("create", "a", ["count": 5], beside: ["numbersAsStrings": true]),
                Operation("create", "b", ["count": 5]),
            ],
            in: zone
        )
        .expectRecords([.record("a", ["count": .typed("5", "INT64")]), .record("b", ["count": 5])])
    },
    ContractRule("numbersAsStrings loses no digit", [.inferred]) { session in
        let zone = try await session.makeZone()
        let numbers: [Int64] = [.max, .min, 9_007_199_254_740_993]
        for (index, number) in numbers.enumerated() {
            let name = "r\(index)"
            try await session.modify([.create(name, ["count": .int64(number)])], in: zone, ["numbersAsStrings": true])
                .expectRecords([.record(name, ["count": .typed(.string(String(number)), "INT64")])])
        }
    },
]

/// Whether a value, or each element of a list, is the expected number or its text.
private func isNumber(_ value: JSONValue, _ expected: JSONValue) -> Bool {
    if let values = value.arrayValue, let all = expected.arrayValue {
        return values.count == all.count && zip(values, all).allSatisfy(isNumber)
    }
    return value.isSame(as: expected) || value.stringValue.flatMap(Double.init) == expected.doubleValue
}

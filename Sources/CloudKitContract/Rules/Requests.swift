import HTTPTypes
import StreamingJSON

/// The form of requests: their required and optional parts, and the parts that have no effect.
let requestFormRules: [ContractRule] = [
    ContractRule("the content type of a request does not matter", [.cloudKitJS, .recorded, .peers]) {
        session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        for type in ["application/json", "text/plain", "text/plain;charset=UTF-8", "application/octet-stream", nil] {
            var request = try session.request(
                "records/query",
                ["query": ["recordType": .string(noteType)], "zoneID": zone.zoneID ?? nil],
                in: zone
            )
            request.headers[.contentType] = type
            try await session.send(request).expectRecords([.record("a", ["title": "a"])])
        }
    },
    ContractRule("unknown query items change nothing", [.recorded, .cloudKitJS]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        var request = try session.request(
            "records/lookup",
            ["records": [["recordName": "a"]], "zoneID": zone.zoneID ?? nil],
            in: zone
        )
        request.query = [
            ("ckjsBuildVersion", "2420ProjectDev22"), ("ckjsVersion", "2.6.4"), ("remapEnums", "true"),
            ("foo", "a b&c"),
        ]
        try await session.send(request).expectRecords([.record("a", ["title": "a"])])
    },
    ContractRule("unknown keys change nothing, at any level", [.observed]) { session in
        let zone = try await session.makeZone()
        let noise: JSONValue = ["deep": [1, [nil, "x"]]]
        let operation = Operation(
            "create",
            "a",
            ["title": Field(json: ["value": "a", "type": "STRING", "noise": noise])],
            record: ["noise": noise],
            beside: ["noise": noise]
        )
        let zoneID: JSONValue = ["zoneName": .string(zone.zoneName), "noise": noise]
        try await session.modify([operation], in: zone, ["noise": noise, "zoneID": zoneID])
            .expectRecords([.record("a", ["title": "a"])])
        let body: JSONValue = [
            "query": [
                "recordType": .string(noteType), "noise": noise,
                "filterBy": [
                    [
                        "comparator": "EQUALS", "fieldName": "title", "fieldValue": ["value": "a", "noise": 1],
                        "noise": noise,
                    ]
                ],
            ],
            "zoneID": zoneID, "noise": noise,
        ]
        try await session.post("records/query", body, in: zone).expectRecords([.record("a", ["title": "a"])])
    },
    ContractRule("an optional key that is null is absent", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "a"], in: zone)
        let nulls: [String: JSONValue] = [
            "desiredKeys": nil, "resultsLimit": nil, "continuationMarker": nil, "numbersAsStrings": nil,
            "zoneWide": nil,
        ]
        try await session.query(in: zone, nulls).expectRecords([.record("a", ["title": "a"])])
        try await session.lookup(["none"], in: .privateDatabase, ["zoneID": nil, "desiredKeys": nil])
            .expectRecords([.failure("none", "NOT_FOUND")])
        try await session.changes(in: zone, options: ["syncToken": nil, "resultsLimit": nil, "reverse": nil])
            .expectZones([.including(["records": [.record("a", ["title": "a"])], "moreComing": false])])
    },
    ContractRule("a body that is not JSON, or no object, is refused", [.observed, .inferred]) { session in
        for body in ["", "{", "not JSON", "[]", "\"text\"", "12", "{\"query\": }", "\u{FEFF}{"] {
            var request = try session.request("records/query", nil, in: .privateDatabase)
            request.body = Array(body.utf8)
            try await session.send(request).expectError("BAD_REQUEST")
        }
    },
    ContractRule("the reason of a malformed body is \"Unexpected input\"", [.observed]) { session in
        var request = try session.request("records/query", nil, in: .privateDatabase)
        request.body = Array("{".utf8)
        try await session.send(request)
            .expectError("BAD_REQUEST", reason: "BadRequestException: Unexpected input")
    },
    ContractRule("a key with a value of the wrong kind is refused", [.observed, .inferred]) { session in
        let query: JSONValue = ["recordType": .string(noteType)]
        let wrong: [(endpoint: String, body: JSONValue)] = [
            ("records/modify", ["operations": [:]]), ("records/modify", ["operations": ["create"]]),
            ("records/lookup", ["records": "a"]), ("records/lookup", ["records": ["a"]]),
            ("records/query", ["query": "all"]), ("records/query", ["query": query, "resultsLimit": "x"]),
            ("records/query", ["query": query, "desiredKeys": "title"]),
            ("changes/zone", ["zones": [:]]), ("zones/lookup", ["zones": "a"]), ("zones/modify", ["operations": 1]),
        ]
        for (endpoint, body) in wrong {
            try await session.post(endpoint, body, in: .privateDatabase).expectError("BAD_REQUEST")
        }
    },
    ContractRule("a request without what it is about is refused", [.inferred]) { session in
        for endpoint in [
            "records/query", "records/modify", "records/lookup", "changes/zone", "zones/lookup", "zones/modify",
            "records/changes",
        ] {
            try await session.post(endpoint, [:], in: .privateDatabase).expectError("BAD_REQUEST")
        }
    },
    ContractRule("order, spacing and escapes of a body do not matter", [.inferred]) { session in
        let zone = try await session.makeZone()
        var request = try session.request("records/modify", nil, in: zone)
        request.body = Array(
            """
             \n{ "zoneID" : {"zoneName":"\(zone.zoneName)"},\t"operations":[ {"record":{"fields":{"title":{"type":"STRING",
            "value":"\\u0041\\uD83D\\uDE00\\/\\n"}},"recordName":"\\u0061","recordType":"\(noteType)"},
            "operationType":"create"} ] }\r\n
            """.utf8
        )
        try await session.send(request).expectRecords([.record("a", ["title": "A\u{1F600}/\n"])])
    },
]

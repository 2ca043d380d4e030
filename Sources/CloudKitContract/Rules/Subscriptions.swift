import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// subscriptions/list, lookup and modify.
let subscriptionRules: [ContractRule] = [
    ContractRule("a query subscription is saved, listed and looked up as it was sent", [.archive]) { session in
        let (destination, id) = (Destination.privateDatabase, session.unique("query"))
        let subscription = session.querySubscription(id, of: session.ownType, ["create", "delete"])
        try await session.subscribe(id, subscription, in: destination)
        try await session.lookupSubscriptions([id], in: destination).expectSubscriptions([
            .including(subscription.patterns)
        ])
        let list = try await session.get("subscriptions/list", in: destination)
        try list.require(list.subscriptionIDs.filter { $0 == id }.count == 1, "\(id) once")
    },
    ContractRule("a zone subscription names its zone", [.cloudKitJS]) { session in
        let (zone, id) = (try await session.makeZone(), session.unique("zone"))
        let subscription = session.zoneSubscription(id, of: zone)
        try await session.subscribe(id, subscription, in: .privateDatabase)
        try await session.lookupSubscriptions([id], in: .privateDatabase).expectSubscriptions([
            .including([
                "subscriptionID": .value(.string(id)), "subscriptionType": "zone",
                "zoneID": .including(["zoneName": .value(.string(zone.zoneName))]),
            ])
        ])
    },
    ContractRule("saving a subscription again under its name succeeds, and it is there once", [.observed]) { session in
        let (destination, id) = (Destination.privateDatabase, session.unique("again"))
        let subscription = session.querySubscription(id, of: session.ownType, ["create"])
        for _ in 1...2 { try await session.subscribe(id, subscription, in: destination) }
        let list = try await session.get("subscriptions/list", in: destination)
        try list.require(list.subscriptionIDs.filter { $0 == id }.count == 1, "\(id) once")
    },
    ContractRule("a second subscription to the same type and events fails in words of its own", [.observed]) {
        session in
        let (destination, first, second) = (
            Destination.privateDatabase, session.unique("first"), session.unique("second")
        )
        let type = session.ownType
        try await session.subscribe(
            first,
            session.querySubscription(first, of: type, ["create", "update"]),
            in: destination
        )
        session.willDelete(subscription: second, in: destination)
        try await session.modifySubscriptions(
            [("create", session.querySubscription(second, of: type, ["update", "create"]))],
            in: destination
        ).expectSubscriptions([
            .including([
                "subscriptionID": .value(.string(second)), "serverErrorCode": "INTERNAL_ERROR",
                "reason": .reason("could not find subscription we just created"),
            ])
        ])
        let list = try await session.get("subscriptions/list", in: destination)
        try list.require(!list.subscriptionIDs.contains(second), "no \(second)")
    },
    ContractRule("subscriptions to one type with other events stand beside each other", [.observed]) { session in
        let destination = Destination.privateDatabase
        for events in [["create"], ["update"], ["create", "update"]] {
            let id = session.unique(events.joined(separator: "-"))
            try await session.subscribe(id, session.querySubscription(id, of: session.ownType, events), in: destination)
        }
    },
    ContractRule("the deletion of a subscription is answered with its bare name", [.observed]) { session in
        let (destination, id) = (Destination.privateDatabase, session.unique("gone"))
        try await session.subscribe(id, session.querySubscription(id, of: session.ownType, ["create"]), in: destination)
        try await session.modifySubscriptions([("delete", ["subscriptionID": .string(id)])], in: destination)
            .expectSubscriptions([["subscriptionID": .value(.string(id))]])
        let list = try await session.get("subscriptions/list", in: destination)
        try list.require(!list.subscriptionIDs.contains(id), "no \(id)")
        try await session.lookupSubscriptions([id], in: destination).expectSubscriptions([
            .subscriptionFailure(id, "NOT_FOUND")
        ])
    },
    ContractRule("lookups and operations are answered each in its place", [.archive]) { session in
        let (destination, id, none) = (Destination.privateDatabase, session.unique("here"), session.unique("none"))
        session.willDelete(subscription: id, in: destination)
        try await session.modifySubscriptions(
            [
                ("create", ["subscriptionID": .string(none), "subscriptionType": "query"]),
                ("create", session.querySubscription(id, of: session.ownType, ["create"])),
            ],
            in: destination
        ).expectSubscriptions([
            .subscriptionFailure(none, "BAD_REQUEST"),
            .including(["subscriptionID": .value(.string(id))], without: ["serverErrorCode"]),
        ])
        try await session.lookupSubscriptions([none, id], in: destination).expectSubscriptions([
            .subscriptionFailure(none, "NOT_FOUND"),
            .including(["subscriptionID": .value(.string(id))], without: ["serverErrorCode"]),
        ])
    },
    ContractRule("deleting a subscription that is not there is its failure, or none", [.unconfirmed]) { session in
        let none = session.unique("none")
        try await session.modifySubscriptions([("delete", ["subscriptionID": .string(none)])], in: .privateDatabase)
            .expectSubscriptions([
                .anyOf([.subscriptionFailure(none, "NOT_FOUND"), ["subscriptionID": .value(.string(none))]])
            ])
    },
    ContractRule("subscriptions are the caller's own", [.archive, .inferred], requires: [.user, .secondUser]) {
        session in
        let (destination, id) = (Destination.publicDatabase(as: .user), session.unique("own"))
        try await session.subscribe(id, session.querySubscription(id, of: session.ownType, ["create"]), in: destination)
        let list = try await session.get("subscriptions/list", in: destination.seen(by: .secondUser))
        try list.require(!list.subscriptionIDs.contains(id), "no \(id)")
    },
    ContractRule("a subscription made with a key belongs to the key", [.observed], requires: [.user, .serverKey]) {
        session in
        let (destination, id) = (Destination.publicDatabase(as: .serverKey), session.unique("key"))
        try await session.subscribe(id, session.querySubscription(id, of: session.ownType, ["create"]), in: destination)
        let own = try await session.get("subscriptions/list", in: destination)
        try own.require(own.subscriptionIDs.contains(id), "\(id)")
        let others = try await session.get("subscriptions/list", in: destination.seen(by: .user))
        try others.require(!others.subscriptionIDs.contains(id), "no \(id)")
    },
    ContractRule("subscriptions need a user or a key", [.archive, .inferred], requires: []) { session in
        for destination in [
            Destination.publicDatabase(as: .apiToken), Destination(scope: "private", identity: .apiToken),
        ] {
            try await session.get("subscriptions/list", in: destination).expectError("AUTHENTICATION_REQUIRED")
        }
    },
    ContractRule("a request changes at most 200 subscriptions", [.archive, .inferred]) { session in
        let operations = (0...200).map { ("delete", JSONValue.object(["subscriptionID": .string("s\($0)")])) }
        try await session.modifySubscriptions(operations, in: .privateDatabase)
            .expectError("BAD_REQUEST", "LIMIT_EXCEEDED")
    },
]

/// tokens/create and tokens/register.
let deviceTokenRules: [ContractRule] = [
    ContractRule(
        "a device token comes with the address of the web courier",
        [.cloudKitJS, .observed],
        requires: [.user, .deviceTokens]
    ) {
        session in
        let reply = try await session.createToken(as: .user)
        try reply.expect(
            .including(
                ["apnsEnvironment": "development", "apnsToken": .text, "webcourierURL": .text],
                without: ["serverErrorCode"]
            )
        )
    },
    ContractRule(
        "a device token is made without a clientId, or refused",
        [.samples, .peers, .unconfirmed],
        requires: [.user, .deviceTokens]
    ) { session in
        let reply = try await session.device("tokens/create", ["apnsEnvironment": "development"], as: .user)
        if reply.status == 200 {
            try reply.expect(.including(["apnsToken": .text, "webcourierURL": .text], without: ["serverErrorCode"]))
        } else {
            try reply.expectError("BAD_REQUEST")
        }
    },
    ContractRule("a device token can be registered", [.cloudKitJS, .observed], requires: [.user, .deviceTokens]) {
        session in
        let client = session.unique("client")
        let token = try await session.createToken(client, as: .user).text("apnsToken")
        let body: JSONValue = [
            "apnsEnvironment": "development", "apnsToken": .string(token), "clientId": .string(client),
        ]
        let reply = try await session.device("tokens/register", body, as: .user)
        try reply.require(reply.status == 200, "200")
    },
    ContractRule(
        "a registration is answered with the token and its courier, or with nothing",
        [.cloudKitJS, .unconfirmed],
        requires: [.user, .deviceTokens]
    ) { session in
        let client = session.unique("client")
        let made = try await session.createToken(client, as: .user)
        let body: JSONValue = [
            "apnsEnvironment": "development", "apnsToken": .string(try made.text("apnsToken")),
            "clientId": .string(client),
        ]
        let reply = try await session.device("tokens/register", body, as: .user)
        if reply.bytes.isEmpty {
            try reply.require(reply.status == 200, "200")
        } else {
            let keys = ["apnsEnvironment", "apnsToken", "webcourierURL"]
            let token = keys.reduce(into: [:]) { $0[$1] = made.body?[$1].map(JSONPattern.value) }
            try reply.expect(.anyOf([.including(token), .including([:], without: Set(keys + ["serverErrorCode"]))]))
        }
    },
    ContractRule(
        "an environment of the push service that there is not is refused",
        [.inferred],
        requires: [.user, .deviceTokens]
    ) {
        session in
        let body: JSONValue = ["apnsEnvironment": "staging", "clientId": "c"]
        try await session.device("tokens/create", body, as: .user).expectError("BAD_REQUEST")
    },
]

/// The pushes that a client gets from the web courier.
let pushRules: [ContractRule] = [
    ContractRule(
        "a query subscription reports each change of a matching record, and what kind of change it was",
        [.cloudKitJS, .peers, .inferred],
        requires: [.user, .deviceTokens, .openSchema]
    ) {
        session in
        let (zone, type) = (try await session.makeZone(), session.ownType)
        try await session.save("before", ["title": "wanted"], in: zone, type: type)
        let id = session.unique("query")
        guard case .object(var subscription) = session.querySubscription(id, of: type, ["create", "update", "delete"])
        else { return }
        subscription["query"] = [
            "recordType": .string(type),
            "filterBy": [.filter("EQUALS", "title", "wanted")],
        ]
        subscription["zoneID"] = zone.zoneID
        let courier = try await session.courier(as: .user)
        try await session.subscribe(id, .object(subscription), in: .privateDatabase)
        try await session.save("other", ["title": "unwanted"], in: zone, type: type)
        try await session.save("a", ["title": "wanted"], in: zone, type: type)
        try await session.push(from: courier).expect(.queryPush(id, zone.zoneName, "a", 1))
        try await session.modify([.forceUpdateOf("a", ["count": 1], type: type)], in: zone)
            .expectRecords([.including(["recordName": "a"], without: ["serverErrorCode"])])
        try await session.push(from: courier).expect(.queryPush(id, zone.zoneName, "a", 2))
        try await session.modify([.forceDelete("other"), .forceDelete("a")], in: zone)
            .expectRecords([.deleted("other"), .deleted("a")])
        try await session.push(from: courier).expect(.queryPush(id, zone.zoneName, "a", 3))
    },
    ContractRule(
        "a zone subscription reports the changes of its zone, and of no other",
        [.cloudKitJS, .peers, .inferred],
        requires: [.user, .deviceTokens]
    ) { session in
        let (zone, other) = (try await session.makeZone("One"), try await session.makeZone("Two"))
        let courier = try await session.courier(as: .user)
        for destination in [zone, other] {
            let id = session.unique("zone-\(destination.zoneName)")
            try await session.subscribe(id, session.zoneSubscription(id, of: destination), in: .privateDatabase)
        }
        for destination in [other, zone] {
            try await session.save("a", in: destination)
            try await session.push(from: courier).expect(
                .push([
                    "fet": .including([
                        "sid": .value(.string(session.unique("zone-\(destination.zoneName)"))),
                        "zid": .value(.string(destination.zoneName)), "zoid": .text, "dbs": .wholeNumber,
                    ])
                ])
            )
        }
    },
    ContractRule(
        "the courier's address needs no credentials, and any other address is refused",
        [.cloudKitJS, .inferred],
        requires: [.user, .deviceTokens]
    ) { session in
        let courier = try await session.courier(as: .user)
        let reply = try await session.askCourier(courier + "0")
        try reply.require((400..<500).contains(reply.status), "a refusal")
    },
]

// MARK: - What the rules say

extension ContractSession {
    /// A record type that only this session uses.
    var ownType: String { "Contract\(ending)" }

    func querySubscription(_ id: String, of type: String, _ events: [String]) -> JSONValue {
        [
            "subscriptionID": .string(id), "subscriptionType": "query",
            "query": ["recordType": .string(type)],
            "firesOn": .array(events.map(JSONValue.string)),
        ]
    }

    func zoneSubscription(_ id: String, of zone: Destination) -> JSONValue {
        ["subscriptionID": .string(id), "subscriptionType": "zone", "zoneID": zone.zoneID ?? .null]
    }

    func modifySubscriptions(
        _ operations: [(type: String, subscription: JSONValue)],
        in destination: Destination
    ) async throws -> ContractReply {
        let operations = operations.map { operation -> JSONValue in
            ["operationType": .string(operation.type), "subscription": operation.subscription]
        }
        return try await post("subscriptions/modify", ["operations": .array(operations)], in: destination)
    }

    /// Saves a subscription, which must succeed.
    mutating func subscribe(_ id: String, _ subscription: JSONValue, in destination: Destination) async throws {
        willDelete(subscription: id, in: destination)
        try await modifySubscriptions([("create", subscription)], in: destination).expectSubscriptions([
            .including(["subscriptionID": .value(.string(id))], without: ["serverErrorCode", "reason"])
        ])
    }

    func lookupSubscriptions(_ ids: [String], in destination: Destination) async throws -> ContractReply {
        let subscriptions = ids.map { JSONValue.object(["subscriptionID": .string($0)]) }
        return try await post("subscriptions/lookup", ["subscriptions": .array(subscriptions)], in: destination)
    }

    /// Sends a request to the device module.
    func device(_ endpoint: String, _ body: JSONValue, as identity: Destination.Identity) async throws -> ContractReply
    {
        var request = try request(endpoint, body, in: .publicDatabase(as: identity))
        request.path = "/device/1/\(target.containerIdentifier)/\(target.environment)/\(endpoint)"
        return try await send(request)
    }

    func createToken(_ client: String? = nil, as identity: Destination.Identity) async throws -> ContractReply {
        let client = client ?? unique("client")
        let body: JSONValue = ["apnsEnvironment": "development", "clientId": .string(client)]
        return try await device("tokens/create", body, as: identity)
    }

    /// Makes a token, registers it, and returns the courier's address.
    func courier(as identity: Destination.Identity) async throws -> String {
        let client = unique("client")
        let reply = try await createToken(client, as: identity)
        let body: JSONValue = [
            "apnsEnvironment": "development", "apnsToken": .string(try reply.text("apnsToken")),
            "clientId": .string(client),
        ]
        _ = try await device("tokens/register", body, as: identity)
        return try reply.text("webcourierURL")
    }

    /// Sends one request to the web courier.
    func askCourier(_ address: String) async throws -> ContractReply {
        guard let url = URL(string: address), let host = url.host(), let scheme = url.scheme,
            let server = URL(string: "\(scheme)://\(host)\(url.port.map { ":\($0)" } ?? "")")
        else {
            throw ContractViolation(
                rule: "",
                request: "GET \(address)",
                expected: "an address",
                got: address,
                difference: "webcourierURL: expected an address, got \(address)"
            )
        }
        let query = url.query(percentEncoded: true).map { "?\($0)" } ?? ""
        let path = url.path(percentEncoded: true) + query
        let (response, body) = try await target.transport.send(
            HTTPRequest(method: .get, scheme: nil, authority: nil, path: path),
            body: nil,
            baseURL: server,
            operationID: "contract"
        )
        let bytes: [UInt8] = if let body { try await Array(collecting: body, upTo: 1 << 20) } else { [] }
        return ContractReply(
            request: "GET (the courier's address)",
            status: response.status.code,
            headers: response.headerFields,
            bytes: bytes,
            comparesReasons: target.comparesReasons
        )
    }

    /// Waits for a push. Responses without bytes only keep the connection alive.
    func push(from courier: String) async throws -> ContractReply {
        var reply = try await askCourier(courier)
        for _ in 0..<20 where reply.status == 200 && reply.bytes.isEmpty { reply = try await askCourier(courier) }
        return reply
    }
}

extension Operation {
    fileprivate static func forceUpdateOf(_ recordName: String, _ fields: Fields, type: String) -> Operation {
        Operation("forceUpdate", recordName, fields, type: type)
    }
}

extension ContractReply {
    fileprivate var subscriptionIDs: [String] {
        (body?["subscriptions"]?.arrayValue ?? []).compactMap { $0["subscriptionID"]?.stringValue }
    }

    /// Checks that the reply succeeds and holds these subscriptions or failures, in this order.
    fileprivate func expectSubscriptions(_ patterns: [JSONPattern]) throws {
        try expect(.including(["subscriptions": .array(patterns)], without: ["serverErrorCode"]))
    }
}

extension JSONValue {
    fileprivate var patterns: [String: JSONPattern] { (objectValue ?? [:]).mapValues(JSONPattern.value) }
}

extension JSONPattern {
    fileprivate static func subscriptionFailure(_ id: String, _ codes: String...) -> JSONPattern {
        .including([
            "subscriptionID": .value(.string(id)),
            "serverErrorCode": .anyOf(codes.map { .value(.string($0)) }),
            "reason": .text,
        ])
    }

    /// A push of the service.
    fileprivate static func push(_ content: [String: JSONPattern]) -> JSONPattern {
        .including(["ck": .including(content.merging(["cid": .text, "nid": .text]) { $1 })])
    }

    fileprivate static func queryPush(_ id: String, _ zone: String, _ record: String, _ reason: Int64) -> JSONPattern {
        push([
            "qry": .including([
                "sid": .value(.string(id)), "zid": .value(.string(zone)), "zoid": .text,
                "rid": .value(.string(record)), "fo": .value(.integer(reason)), "dbs": .wholeNumber,
            ])
        ])
    }
}

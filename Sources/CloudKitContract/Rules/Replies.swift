import HTTPTypes
import StreamingJSON

/// The form of replies: their header fields, and the form of errors, which is the same for all.
let replyRules: [ContractRule] = [
    ContractRule("replies are JSON in UTF-8", [.recorded]) { session in
        let zone = try await session.makeZone()
        let replies = [
            try await session.query(in: zone), try await session.lookup(["a"], in: zone),
            try await session.modify([.create("a")], in: zone), try await session.get("zones/list", in: zone),
            try await session.get("users/caller", in: .publicDatabase(as: .user)),
            try await session.post("records/query", [], in: zone), try await session.post("no/endpoint", [:], in: zone),
        ]
        for reply in replies {
            let type = reply.headers[.contentType]?.lowercased().filter { $0 != " " }
            try reply.require(type == "application/json;charset=utf-8", "Content-Type: application/json; charset=UTF-8")
            try reply.require(reply.body != nil, "a body of JSON")
        }
    },
    ContractRule("each reply has a UUID of its own, in a header", [.recorded]) { session in
        let destination = Destination.publicDatabase(as: .apiToken)
        let (one, two) = (
            try await session.lookup(["a"], in: destination), try await session.lookup(["a"], in: destination)
        )
        try one.require(one.headers[.requestUUID]?.isEmpty == false, "X-Apple-Request-UUID")
        try two.require(
            two.headers[.requestUUID]?.isEmpty == false && two.headers[.requestUUID] != one.headers[.requestUUID],
            "X-Apple-Request-UUID, another than \(one.headers[.requestUUID] ?? "")"
        )
    },
    ContractRule("the UUID in the body of an error is the one in the header", [.inferred]) { session in
        let reply = try await session.post("records/query", [:], in: .privateDatabase)
        try reply.expectError("BAD_REQUEST")
        try reply.require(
            reply.body?["uuid"]?.stringValue == reply.headers[.requestUUID],
            "the uuid \(reply.headers[.requestUUID] ?? "of a header X-Apple-Request-UUID")"
        )
    },
    ContractRule(
        "the body of a failed request has a uuid, a code and a reason, and the status is the code's",
        [.archive, .observed]
    ) {
        session in
        try await session.post("records/query", [:], in: .privateDatabase).expectError("BAD_REQUEST")
        try await session.post("no/endpoint", [:], in: .privateDatabase).expectError("NOT_FOUND")
        try await session.query(in: .privateDatabase.seen(by: .apiToken)).expectError("AUTHENTICATION_REQUIRED")
        try await session.query(in: .privateDatabase.zone(session.unique("None"))).expectError("ZONE_NOT_FOUND")
    },
    ContractRule("replies say the version of CloudKit", [.recorded]) { session in
        let reply = try await session.lookup(["a"], in: .publicDatabase(as: .apiToken))
        try reply.require(reply.headers[.cloudKitVersion] == "1.0", "X-Apple-CloudKit-Version: 1.0")
    },
    ContractRule(
        "a browser may read replies: the origin is allowed, with credentials and the headers that matter",
        [.recorded, .inferred]
    ) {
        session in
        var request = try session.request("records/lookup", ["records": []], in: .privateDatabase)
        // An origin that developers allow for their API tokens.
        request.headers[.origin] = "http://localhost:3000"
        let reply = try await session.send(request)
        try reply.require(
            reply.headers[.accessControlAllowOrigin] == "http://localhost:3000",
            "Access-Control-Allow-Origin: http://localhost:3000"
        )
        try reply.require(
            reply.headers[.accessControlAllowCredentials] == "true",
            "Access-Control-Allow-Credentials: true"
        )
        let exposed = reply.headers[.accessControlExposeHeaders]?.lowercased() ?? ""
        try reply.require(
            exposed.contains("x-apple-request-uuid"),
            "Access-Control-Expose-Headers with X-Apple-Request-UUID"
        )
    },
    ContractRule("a batch of which an item fails is a success as a request", [.archive, .recorded, .observed]) {
        session in
        let zone = try await session.makeZone()
        let reply = try await session.lookup(["missing"], in: zone)
        try reply.expectRecords([.failure("missing", "NOT_FOUND")])
        try reply.require(reply.body?["uuid"] == nil && reply.body?["reason"] == nil, "no error at the top")
    },
]

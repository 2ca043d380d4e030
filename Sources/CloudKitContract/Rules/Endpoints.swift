import HTTPTypes
import StreamingJSON

/// The endpoints and their methods.
let endpointRules: [ContractRule] = [
    ContractRule("POST zones/list with an empty object is GET zones/list", [.recorded]) { session in
        let zone = try await session.makeZone()
        let get = try await session.get("zones/list", in: .privateDatabase)
        let post = try await session.post("zones/list", [:], in: .privateDatabase)
        for reply in [get, post] {
            try reply.expect(.including(["zones": .anything, "moreComing": false, "syncToken": .text]))
            try reply.require(
                reply.zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName },
                "\(zone.zoneName) among the zones"
            )
        }
    },
    ContractRule("POST users/caller with an empty object is GET users/caller", [.inferred]) { session in
        let destination = Destination.publicDatabase(as: .user)
        let get = try await session.get("users/caller", in: destination)
        try get.expect(.including(["userRecordName": .text]))
        try await session.post("users/caller", [:], in: destination).expect(.value(get.body ?? nil))
    },
    ContractRule("an endpoint that takes POST alone does not answer GET", [.unconfirmed]) { session in
        let reply = try await session.get("records/query", in: .privateDatabase)
        try reply.require((400..<500).contains(reply.status), "a refusal")
        if reply.status == 404 { try reply.expectError("NOT_FOUND") }
    },
    ContractRule("OPTIONS on an endpoint names the methods", [.observed]) { session in
        var request = try session.request("records/query", nil, in: .privateDatabase)
        request.method = .options
        let reply = try await session.send(request)
        try reply.require(reply.status == 200, "200")
        let methods = Set((reply.headers[.allow] ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
        try reply.require(methods.isSuperset(of: ["GET", "POST"]), "Allow: GET, POST, PUT, DELETE")
    },
    ContractRule("OPTIONS where device tokens are not made names OPTIONS alone", [.observed, .inferred]) { session in
        var request = try session.request("tokens/create", nil, in: .privateDatabase)
        request.method = .options
        let reply = try await session.send(request)
        try reply.require(reply.headers[.allow] == "OPTIONS", "Allow: OPTIONS")
    },
    ContractRule("the environment of a path may be in upper case", [.peers]) { session in
        var request = try session.request("zones/list", nil, in: .privateDatabase)
        request.method = .get
        let environment = session.target.environment
        request.path = request.path.replacing("/\(environment)/", with: "/\(environment.uppercased())/")
        try await session.send(request).expect(.including(["zones": .anything]))
    },
    ContractRule("an unknown endpoint is an error like any other", [.observed]) { session in
        for endpoint in [
            "records/nonsense", "nonsense/query", "records", "records/query/more", "internal/records/query/batch",
        ] {
            try await session.post(endpoint, [:], in: .privateDatabase)
                .expectError("NOT_FOUND", reason: "could not find handler for endpoint")
        }
    },
    ContractRule("device tokens are not made under /database", [.observed], requires: [.user, .deviceTokens]) {
        session in
        let reply = try await session.post("tokens/create", ["apnsEnvironment": "development"], in: .privateDatabase)
        try reply.require(reply.status == 405, "405")
        try reply.require(reply.headers[.allow] == "OPTIONS", "Allow: OPTIONS")
    },
    ContractRule("unknown versions, environments and databases are unknown addresses", [.unconfirmed]) { session in
        let container = session.target.containerIdentifier
        for path in [
            "/database/2/\(container)/development/private/records/query",
            "/database/1/\(container)/staging/private/records/query",
            "/database/1/\(container)/development/secret/records/query",
            "/elsewhere/1/\(container)/development/private/records/query",
        ] {
            var request = try session.request("records/query", ["query": ["recordType": "X"]], in: .privateDatabase)
            request.path = path
            let reply = try await session.send(request)
            try reply.require((400..<500).contains(reply.status), "a refusal")
        }
    },
    ContractRule(
        "users/discover is not for private and shared databases",
        [.observed],
        requires: [.user, .userDiscovery]
    ) {
        session in
        for (scope, name) in [("private", "privatedb"), ("shared", "sharedb")] {
            let body: JSONValue = ["lookupInfos": [["emailAddress": "unknown@example.com"]]]
            try await session.post("users/discover", body, in: Destination(scope: scope, identity: .user)).expectError(
                "BAD_REQUEST",
                reason: "endpoint not applicable in the database type '\(name)'"
            )
        }
    },
    ContractRule("change feeds are not for the public database", [.archive, .inferred]) { session in
        let destination = Destination.publicDatabase(as: .user)
        let zone: JSONValue = ["zoneID": ["zoneName": "_defaultZone"]]
        let reason = "endpoint not applicable in the database type 'publicdb'"
        try await session.post("changes/zone", ["zones": [zone]], in: destination).expectError(
            "BAD_REQUEST",
            reason: reason
        )
        try await session.post("changes/database", [:], in: destination).expectError("BAD_REQUEST", reason: reason)
        try await session.post("records/changes", zone, in: destination).expectError("BAD_REQUEST", reason: reason)
    },
    ContractRule("zones are not made in the public database", [.inferred]) { session in
        try await session.modifyZones([("create", session.unique("Notes"))], in: .publicDatabase(as: .user))
            .expectError(
                "BAD_REQUEST",
                reason: "endpoint not applicable in the database type 'publicdb'"
            )
    },
    ContractRule("zone IDs of the shared database need their owner", [.observed]) { session in
        let zone = Destination.sharedDatabase.zone("Notes")
        let reason = "zoneID needs to have ownerRecordName field for calls to sharedb"
        try await session.query(in: zone).expectError("BAD_REQUEST", reason: reason)
        try await session.lookup(["a"], in: zone).expectError("BAD_REQUEST", reason: reason)
        try await session.modify([.create("a")], in: zone).expectError("BAD_REQUEST", reason: reason)
    },
]

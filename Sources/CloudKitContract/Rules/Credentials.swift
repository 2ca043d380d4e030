import HTTPTypes
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// API tokens and web authentication tokens.
let credentialRules: [ContractRule] = [
    ContractRule(
        "private and shared databases need a user: the error says where to sign in",
        [.archive, .observed],
        requires: []
    ) {
        session in
        for destination in [Destination.privateDatabase, .sharedDatabase] {
            for endpoint in ["zones/list", "users/caller"] {
                let reply = try await session.get(endpoint, in: destination.seen(by: .apiToken))
                try reply.expectError("AUTHENTICATION_REQUIRED", reason: "request needs authorization")
                let redirect = try reply.text("redirectURL")
                try reply.require(redirect.hasPrefix("http"), "an absolute redirectURL")
            }
        }
        try await session.lookup(["a"], in: .privateDatabase.seen(by: .apiToken))
            .expectError("AUTHENTICATION_REQUIRED", reason: "request needs authorization")
    },
    ContractRule("users/caller needs a user on the public database, too", [.archive], requires: []) { session in
        let reply = try await session.get("users/caller", in: .publicDatabase(as: .apiToken))
        try reply.expectError("AUTHENTICATION_REQUIRED", reason: "request needs authorization")
        _ = try reply.text("redirectURL")
    },
    ContractRule("an API token with a web token opens the user's private database", [.archive]) { session in
        try await session.get("zones/list", in: .privateDatabase).expect(.including(["zones": .anything]))
    },
    ContractRule("each reply to a user carries the next web token, and that one is good", [.archive, .cloudKitJS]) {
        session in
        let first = try await session.get("zones/list", in: .privateDatabase)
        guard let next = first.headers[.cloudKitWebAuthToken] else {
            throw first.violation("no next web token", expected: "X-Apple-CloudKit-Web-Auth-Token")
        }
        try first.require(next != session.target.user?.webAuthToken, "another token than the one sent")
        var request = try session.request("zones/list", nil, in: .privateDatabase)
        request.method = .get
        request.webAuthToken = next
        try await session.send(request).expect(.including(["zones": .anything]))
    },
    ContractRule("a web token is good for many uses, also at once", [.observed]) { session in
        for _ in 0..<8 {
            try await session.get("users/caller", in: .publicDatabase(as: .user)).expect(
                .including(["userRecordName": .text])
            )
        }
        let copy = session
        try await withThrowingTaskGroup { group in
            for _ in 0..<6 {
                group.addTask { try await copy.get("users/caller", in: .publicDatabase(as: .user)) }
            }
            for try await reply in group { try reply.expect(.including(["userRecordName": .text])) }
        }
    },
    ContractRule("an error to a user carries the next web token, too", [.observed]) { session in
        let reply = try await session.post("records/query", [:], in: .privateDatabase)
        try reply.expectError("BAD_REQUEST")
        try reply.require(reply.headers[.cloudKitWebAuthToken] != nil, "X-Apple-CloudKit-Web-Auth-Token")
    },
    ContractRule("a reply to an API token alone carries no web token", [.cloudKitJS, .inferred], requires: []) {
        session in
        let reply = try await session.lookup(["a"], in: .publicDatabase(as: .apiToken))
        try reply.expectRecords([.failure("a", "NOT_FOUND")])
        try reply.require(reply.headers[.cloudKitWebAuthToken] == nil, "no X-Apple-CloudKit-Web-Auth-Token")
    },
    ContractRule("a web token that the service did not issue is refused", [.peers, .unconfirmed], requires: []) {
        session in
        for token in ["garbage", "AAAA", "1__" + session.ending, "a+b/c="] {
            var request = try session.request("zones/list", nil, in: .privateDatabase)
            request.method = .get
            request.webAuthToken = token
            try await session.send(request).expectError("AUTHENTICATION_REQUIRED", "AUTHENTICATION_FAILED")
        }
    },
    ContractRule("an API token that is unknown or malformed is refused", [.archive], requires: []) { session in
        for token in [String(repeating: "0123456789abcdef", count: 4), "short", ""] {
            var request = try session.request("records/lookup", ["records": []], in: .publicDatabase(as: .apiToken))
            request.apiToken = token
            try await session.send(request).expectError("AUTHENTICATION_FAILED")
        }
    },
    ContractRule("an API token with a control character behind it is refused", [.inferred], requires: []) { session in
        for ending in ["\u{0}", "\u{0}junk", "\n"] {
            var request = try session.request("records/lookup", ["records": []], in: .publicDatabase(as: .apiToken))
            request.apiToken = session.target.apiToken + ending
            try await session.send(request).expectError("AUTHENTICATION_FAILED")
        }
    },
    ContractRule("the web token may be called ckSession", [.samples]) { session in
        var request = try session.request("users/caller", nil, in: .publicDatabase(as: .apiToken))
        request.method = .get
        request.query = [("ckSession", session.target.user?.webAuthToken ?? "")]
        try await session.send(request).expect(.including(["userRecordName": .text]))
    },
    ContractRule("a request without any credentials is refused", [.unconfirmed], requires: []) { session in
        let reply = try await session.lookup(["a"], in: .publicDatabase(as: .anonymous))
        try reply.expectError("AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED")
    },
    ContractRule("reasons and headers do not repeat tokens", [.inferred], requires: []) { session in
        let secret = "c0ffee" + String(session.ending) + String(repeating: "0", count: 42)
        var request = try session.request("records/lookup", ["records": []], in: .publicDatabase(as: .apiToken))
        request.apiToken = secret
        let reply = try await session.send(request)
        try reply.expectError("AUTHENTICATION_FAILED")
        try reply.require(!String(decoding: reply.bytes, as: UTF8.self).contains(secret), "no token in the body")
        try reply.require(!reply.headers.contains { $0.value.contains(secret) }, "no token in the headers")
    },
]

/// Server-to-server keys.
let serverKeyRules: [ContractRule] = [
    ContractRule(
        "a signed request is let in, its query string signed as it is sent",
        [.archive, .cloudKitJS],
        requires: [.serverKey]
    ) {
        session in
        for query in [[], [("ckjsBuildVersion", "2420ProjectDev22"), ("clientId", "a b/c")]] {
            var request = try session.request("records/lookup", ["records": [["recordName": "none"]]], in: keyDatabase)
            request.query = query
            try await session.send(request).expectRecords([.failure("none", "NOT_FOUND")])
        }
    },
    refusedSignature("a signed request whose body was changed", [.observed]) {
        $0.tamper = { _, body in body += [32] }
    },
    refusedSignature("a signed request whose path was changed", [.observed]) {
        $0.tamper = { request, _ in request.path = request.path?.replacing("lookup", with: "query") }
    },
    refusedSignature("a signed request whose query string was changed", [.observed]) {
        $0.tamper = { request, _ in request.path? += "?foo=1" }
    },
    refusedSignature("a signed request whose signature was changed", [.observed]) {
        $0.tamper = { request, _ in
            let signature = request.headerFields[.cloudKitSignature].flatMap { Data(base64Encoded: $0) } ?? Data()
            var bytes = Array(signature)
            if let last = bytes.indices.last { bytes[last] ^= 1 }
            request.headerFields[.cloudKitSignature] = Data(bytes).base64EncodedString()
        }
    },
    refusedSignature("a request of an unknown key", [.observed]) {
        $0.tamper = { request, _ in
            request.headerFields[.cloudKitKeyID] = String(repeating: "0123456789abcdef", count: 4)
        }
    },
    refusedSignature("a request signed an hour ago", [.unconfirmed]) {
        $0.date = ContractSigner.text(of: Date(timeIntervalSinceNow: -3600))
    },
    refusedSignature("a request signed for an hour from now", [.unconfirmed]) {
        $0.date = ContractSigner.text(of: Date(timeIntervalSinceNow: 3600))
    },
    refusedSignature("a request whose date has a fraction", [.inferred]) {
        $0.date = $0.date.replacing("Z", with: ".5Z")
    },
    refusedSignature("a request whose date has an offset", [.inferred]) {
        $0.date = $0.date.replacing("Z", with: "+00:00")
    },
    refusedSignature("a request with another date than the one signed", [.inferred]) {
        $0.tamper = { request, _ in
            request.headerFields[.cloudKitDate] = ContractSigner.text(of: Date(timeIntervalSinceNow: -60))
        }
    },
    refusedSignature("a request without the header of the key ID", [.inferred]) {
        $0.tamper = { request, _ in request.headerFields[.cloudKitKeyID] = nil }
    },
    refusedSignature("a request without the header of the date", [.inferred]) {
        $0.tamper = { request, _ in request.headerFields[.cloudKitDate] = nil }
    },
    refusedSignature("a request without the header of the signature", [.inferred]) {
        $0.tamper = { request, _ in request.headerFields[.cloudKitSignature] = nil }
    },
    refusedSignature("a signature that is r and s, not DER", [.archive]) { $0.isRaw = true },
    refusedSignature("a signature over the body itself, not its hash", [.archive]) { $0.hash = "{\"records\":[]}" },
    ContractRule(
        "an empty body is signed by the hash of nothing, or by nothing",
        [.cloudKitJS, .observed],
        requires: [.serverKey]
    ) {
        session in
        for hash in [nil, ""] {
            var request = try session.request("zones/list", nil, in: keyDatabase)
            request.method = .get
            request.signing.hash = hash
            try await session.send(request).expectZones([.zone("_defaultZone", type: "DEFAULT_ZONE")])
        }
    },
    ContractRule("a key does not open private and shared databases", [.unconfirmed], requires: [.serverKey]) {
        session in
        for scope in ["private", "shared"] {
            try await session.lookup(["a"], in: Destination(scope: scope, identity: .serverKey))
                .expectError("AUTHENTICATION_FAILED", "ACCESS_DENIED")
        }
    },
    ContractRule(
        "a key that asks who it is gets the user record name that it writes under, or is refused",
        [.cloudKitJS, .observed, .unconfirmed],
        requires: [.serverKey]
    ) { session in
        // Apple's sample for Node begins with users/caller. An observation of the live service says that it is refused.
        let record = try await session.save(session.unique("a"), ["title": "a"], in: keyDatabase)
        let writer = record["created"]?["userRecordName"] ?? .null
        for endpoint in ["users/caller", "users/current"] {
            let reply = try await session.get(endpoint, in: keyDatabase)
            if reply.status == 200 {
                try reply.expect(.including(["userRecordName": .value(writer)], without: ["serverErrorCode"]))
            } else {
                try reply.expectError("AUTHENTICATION_FAILED")
            }
        }
    },
    ContractRule(
        "what a key writes has a user record name of the key's own",
        [.archive, .observed],
        requires: [.user, .serverKey]
    ) {
        session in
        let names = ["a", "b"].map(session.unique)
        var writers: Set<String> = []
        for name in names {
            let record = try await session.save(name, ["title": "a"], in: keyDatabase)
            writers.insert(record["created"]?["userRecordName"]?.stringValue ?? "")
        }
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .user))
        let reply = try await session.lookup(names, in: keyDatabase)
        try reply.require(
            writers.count == 1 && writers.first?.hasPrefix("_") == true,
            "one user record name for the key"
        )
        try reply.require(writers.first != caller.body?["userRecordName"]?.stringValue, "another name than the user's")
    },
    ContractRule("a reply to a key carries no web token", [.cloudKitJS, .inferred], requires: [.serverKey]) { session in
        let reply = try await session.lookup(["a"], in: keyDatabase)
        try reply.expectRecords([.failure("a", "NOT_FOUND")])
        try reply.require(reply.headers[.cloudKitWebAuthToken] == nil, "no X-Apple-CloudKit-Web-Auth-Token")
    },
]

private let keyDatabase = Destination.publicDatabase(as: .serverKey)

/// Makes a rule: an invalid signature is refused, with no hint of what was wrong.
private func refusedSignature(
    _ name: String,
    _ evidence: Set<ContractRule.Evidence>,
    _ spoil: @escaping @Sendable (inout ContractRequest.Signing) -> Void
) -> ContractRule {
    ContractRule("\(name) is refused", evidence, requires: [.serverKey]) { session in
        var request = try session.request("records/lookup", ["records": []], in: keyDatabase)
        spoil(&request.signing)
        try await session.send(request).expectError("AUTHENTICATION_FAILED", reason: "Authentication failed")
    }
}

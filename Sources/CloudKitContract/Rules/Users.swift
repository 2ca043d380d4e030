import StreamingJSON

/// users/caller and users/current.
let userRules: [ContractRule] = [
    ContractRule("users/caller is one identity, not a list", [.cloudKitJS, .peers, .observed]) { session in
        let reply = try await session.get("users/caller", in: .publicDatabase(as: .user))
        try reply.expect(
            .including(
                ["userRecordName": userRecordName],
                optional: ["nameComponents": .including([:]), "lookupInfo": .including([:])],
                without: ["users", "serverErrorCode"]
            )
        )
    },
    ContractRule("users/caller answers the same on the private database", [.observed]) { session in
        let reply = try await session.get("users/caller", in: .publicDatabase(as: .user))
        try reply.expect(.including(["userRecordName": userRecordName]))
        try await session.get("users/caller", in: .privateDatabase).expect(.value(reply.body ?? nil))
    },
    ContractRule("users/current names the caller", [.archive]) { session in
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        try await session.get("users/current", in: .publicDatabase(as: .user)).expect(
            .object(
                JSONPattern.Members(
                    required: ["userRecordName": .value(.string(caller))],
                    optional: ["firstName": .text, "lastName": .text]
                )
            )
        )
    },
    ContractRule("two users have two names", [.archive], requires: [.user, .secondUser]) { session in
        let one = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        let reply = try await session.get("users/caller", in: .publicDatabase(as: .secondUser))
        try reply.expect(.including(["userRecordName": .text(otherThan: one)]))
    },
    ContractRule(
        "users/discover finds a user by address, and says by what",
        [.archive, .cloudKitJS],
        requires: [.user, .secondUser, .userDiscovery]
    ) { session in
        guard let address = session.target.secondUser?.emailAddress else { return }
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .secondUser))
        let name = try caller.text("userRecordName")
        let lookup: JSONValue = ["emailAddress": .string(address)]
        let reply = try await session.post(
            "users/discover",
            ["lookupInfos": [lookup, ["userRecordName": .string(name)]]],
            in: .publicDatabase(as: .user)
        )
        let found = JSONPattern.including(
            ["userRecordName": .value(.string(name))],
            optional: ["nameComponents": .including([:]), "lookupInfo": .including([:])]
        )
        try reply.expect(.including(["users": .array([found, found])], without: ["serverErrorCode"]))
    },
    ContractRule(
        "users/discover does not fail for those it does not find",
        [.archive, .unconfirmed],
        requires: [.user, .userDiscovery]
    ) {
        session in
        let reply = try await session.post(
            "users/discover",
            ["lookupInfos": [["emailAddress": .string(session.unique("unknown") + "@example.com")]]],
            in: .publicDatabase(as: .user)
        )
        try reply.expect(.including(["users": .anything], without: ["serverErrorCode"]))
        let users = reply.body?["users"]?.arrayValue ?? []
        try reply.require(users.allSatisfy { $0["userRecordName"]?.stringValue == nil }, "no user")
    },
    ContractRule(
        "GET users/discover lists identities, or fails as it was seen to",
        [.archive, .unconfirmed],
        requires: [.user, .userDiscovery]
    ) {
        session in
        let reply = try await session.get("users/discover", in: .publicDatabase(as: .user))
        if reply.status == 500 {
            try reply.expectError("INTERNAL_ERROR")
        } else {
            try reply.expect(.including(["users": .anything], without: ["serverErrorCode"]))
        }
    },
    ContractRule(
        "the deprecated lookups describe users by first and last name",
        [.archive],
        requires: [.user, .secondUser, .userDiscovery]
    ) { session in
        guard let address = session.target.secondUser?.emailAddress else { return }
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .secondUser))
        let name = try caller.text("userRecordName")
        let destination = Destination.publicDatabase(as: .user)
        let byAddress = JSONPattern.object(
            JSONPattern.Members(
                required: ["userRecordName": .value(.string(name)), "emailAddress": .value(.string(address))],
                optional: ["firstName": .text, "lastName": .text]
            )
        )
        try await session.post("users/lookup/email", ["users": [["emailAddress": .string(address)]]], in: destination)
            .expect(.including(["users": .array([byAddress])]))
        let byName = JSONPattern.object(
            JSONPattern.Members(
                required: ["userRecordName": .value(.string(name))],
                optional: ["firstName": .text, "lastName": .text]
            )
        )
        try await session.post("users/lookup/id", ["users": [["userRecordName": .string(name)]]], in: destination)
            .expect(.including(["users": .array([byName])]))
    },
    ContractRule(
        "users/lookup/contacts lists users without a request body, or fails as GET users/discover was seen to",
        [.archive, .unconfirmed],
        requires: [.user, .userDiscovery]
    ) { session in
        let reply = try await session.post("users/lookup/contacts", nil, in: .publicDatabase(as: .user))
        if reply.status == 500 {
            try reply.expectError("INTERNAL_ERROR")
        } else {
            try reply.expect(.including(["users": .anything], without: ["serverErrorCode"]))
            let users = reply.body?["users"]?.arrayValue ?? []
            try reply.require(users.allSatisfy { $0["userRecordName"]?.stringValue != nil }, "users with their names")
        }
    },
    ContractRule("GET users/lookup/contacts is POST", [.samples], requires: [.user, .userDiscovery]) { session in
        let destination = Destination.publicDatabase(as: .user)
        let post = try await session.post("users/lookup/contacts", nil, in: destination)
        let get = try await session.get("users/lookup/contacts", in: destination)
        if post.status == 200 {
            try post.expect(.including(["users": .anything]))
            try get.expect(.value(post.body ?? nil))
        } else {
            try get.expectError("INTERNAL_ERROR")
        }
    },
    ContractRule("only a user can discover other users", [.observed], requires: [.serverKey, .userDiscovery]) {
        session in
        let body: JSONValue = ["lookupInfos": [["emailAddress": "unknown@example.com"]]]
        try await session.post("users/discover", body, in: .publicDatabase(as: .serverKey))
            .expectError("AUTHENTICATION_FAILED")
        try await session.post("users/discover", body, in: .publicDatabase(as: .apiToken))
            .expectError("AUTHENTICATION_REQUIRED")
    },
    // No rule restricts a user: the other rules use the same one.
    ContractRule("users/restrict and users/unrestrict need a user", [.archive, .inferred], requires: []) { session in
        for endpoint in ["users/restrict", "users/unrestrict"] {
            try await session.get(endpoint, in: .privateDatabase.seen(by: .apiToken))
                .expectError("AUTHENTICATION_REQUIRED")
        }
    },
    ContractRule("users/unrestrict without a restriction changes nothing", [.unconfirmed]) { session in
        let reply = try await session.get("users/unrestrict", in: .privateDatabase)
        try reply.require((200..<300).contains(reply.status), "success")
        try await session.get("users/caller", in: .publicDatabase(as: .user))
            .expect(.including(["userRecordName": userRecordName]))
    },
    ContractRule("what a user creates carries the user's record name", [.archive]) { session in
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        let zone = try await session.makeZone()
        let stamp = JSONPattern.including(["timestamp": .wholeNumber, "userRecordName": .value(.string(caller))])
        try await session.modify([.create("a", ["title": "a"])], in: zone)
            .expectRecords([.record("a", ["title": "a"], and: ["created": stamp, "modified": stamp])])
    },
]

/// An underscore and 32 hexadecimal digits.
private let userRecordName = JSONPattern.satisfying("_ and 32 hexadecimal digits") { value in
    guard let text = value.stringValue, text.first == "_", text.utf8.count == 33 else { return false }
    return text.dropFirst().allSatisfy { $0.isHexDigit && !$0.isUppercase }
}

import StreamingJSON

/// users/caller and users/current.
let userRules: [ContractRule] = [
    ContractRule(57, "users/caller is one identity, not a list", "JPL") { session in
        let reply = try await session.get("users/caller", in: .publicDatabase(as: .user))
        try reply.expect(
            .including(
                ["userRecordName": userRecordName],
                optional: ["nameComponents": .including([:]), "lookupInfo": .including([:])],
                without: ["users", "serverErrorCode"]
            )
        )
    },
    ContractRule(57, "users/caller answers the same on the private database", "L") { session in
        let reply = try await session.get("users/caller", in: .publicDatabase(as: .user))
        try reply.expect(.including(["userRecordName": userRecordName]))
        try await session.get("users/caller", in: .privateDatabase).expect(.value(reply.body ?? nil))
    },
    ContractRule(58, "users/current names the caller", "A") { session in
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
    ContractRule(57, "two users have two names", "A", requires: [.user, .secondUser]) { session in
        let one = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        let reply = try await session.get("users/caller", in: .publicDatabase(as: .secondUser))
        try reply.expect(.including(["userRecordName": .text(otherThan: one)]))
    },
    ContractRule(100, "what a user creates carries the user's record name", "A") { session in
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

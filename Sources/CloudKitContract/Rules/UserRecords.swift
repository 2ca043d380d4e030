import CloudKitRuleIDs
import StreamingJSON

/// The records of type `Users` in the public database.
let userRecordRules: [ContractRule] = [
    ContractRule("the public database has a record for each person, by user record name", [.archive]) { session in
        let destination = Destination.publicDatabase(as: .user)
        let name = try await session.get("users/caller", in: destination).text("userRecordName")
        try await session.lookup([name], in: destination).expectRecords([.userRecord(name)])
    },
    ContractRule(
        "a person's record takes fields from that person, and from no other",
        [.native],
        requires: [.user, .secondUser, .openSchema]
    ) { session in
        let destination = Destination.publicDatabase(as: .user)
        let name = try await session.get("users/caller", in: destination).text("userRecordName")
        let title = Field.string(session.unique("a"))
        let changed = JSONPattern.userRecord(name, ["title": title])
        try await session.modify([.forceUpdate(name, ["title": title], type: "Users")], in: destination).expectRecords([
            changed
        ])
        let others = destination.seen(by: .secondUser)
        try await session.modify([.forceUpdate(name, ["title": "b"], type: "Users")], in: others)
            .expectRecords([.failure(name, "ACCESS_DENIED")])
        try await session.lookup([name], in: others).expectRecords([changed])
    },
    ContractRule(.userRecordOfClient, "clients neither create nor delete records of people", [.unconfirmed]) {
        session in
        let destination = Destination.publicDatabase(as: .user)
        let name = try await session.get("users/caller", in: destination).text("userRecordName")
        let made = session.unique("a")
        let codes = ["ACCESS_DENIED", "BAD_REQUEST"]
        try await session.modify([.create(made, type: "Users"), .forceDelete(name)], in: destination)
            .expectRecords([.failure(made, codes[0], codes[1]), .failure(name, codes[0], codes[1])])
        try await session.lookup([name], in: destination).expectRecords([.userRecord(name)])
    },
    ContractRule("records of people are not queried", [.native]) { session in
        try await session.query("Users", in: .publicDatabase(as: .user))
            .expectError("BAD_REQUEST", reason: "Can't query system types")
    },
]

extension JSONPattern {
    /// A user record, with at least these fields.
    fileprivate static func userRecord(_ name: String, _ fields: [String: Field] = [:]) -> JSONPattern {
        var members: [String: JSONPattern] = [
            "recordName": .value(.string(name)),
            "recordType": "Users",
            "recordChangeTag": .text,
            "created": .including(["userRecordName": .value(.string(name))]),
        ]
        if !fields.isEmpty { members["fields"] = .including(fields.mapValues(\.pattern)) }
        return .including(members, without: ["serverErrorCode"])
    }
}

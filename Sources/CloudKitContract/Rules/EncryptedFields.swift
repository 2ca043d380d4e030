import StreamingJSON

/// Encrypted fields.
let encryptedFieldRules: [ContractRule] = [
    ContractRule("an encrypted field comes back as plain text, marked isEncrypted", [.observed]) { session in
        let zone = try await session.makeZone()
        let record = JSONPattern.record("a", ["secret": .encrypted("x", "STRING")])
        try await session.modify([.create("a", ["secret": .encrypted("x", "STRING")])], in: zone).expectRecords([record]
        )
        try await session.lookup(["a"], in: zone).expectRecords([record])
    },
    ContractRule(
        "a value that says it is encrypted bytes comes back so, or marked isEncrypted",
        [.recorded, .unconfirmed],
        requires: [.user, .openSchema]
    ) { session in
        let (zone, type) = (try await session.makeZone(), session.ownType)
        let sent = Field.typed("AQID", "ENCRYPTED_BYTES")
        let reply = try await session.modify([.create("a", ["secret": sent], type: type)], in: zone)
        let kept = [sent, .encrypted("AQID", "BYTES")]
        let records = kept.map { JSONPattern.record("a", ["secret": $0], type: type) }
        try reply.expectRecords([.anyOf(records)])
        try await session.lookup(["a"], in: zone).expectRecords([.anyOf(records)])
    },
    refusedSecret("an encrypted field saved without the flag", .untyped("y"), [.inferred], sentType: "STRING"),
    refusedSecret(
        "an encrypted field saved without a type",
        Field(json: ["value": "y", "isEncrypted": true]),
        [.observed],
        sentType: "ENCRYPTED_BYTES"
    ),
    ContractRule("the flag on a field that is plain is refused", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "plain"], in: zone)
        let reply = try await session.modify([.forceUpdate("a", ["title": .encrypted("x", "STRING")])], in: zone)
        try reply.expectRecords([
            .failure("a", "BAD_REQUEST", reason: "Attempt to save encrypted data in non encrypted field type")
        ])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["title": "plain"])])
    },
    ContractRule("the public database has no encrypted fields", [.observed]) { session in
        let name = session.unique("a")
        session.willDelete(name, in: .publicDatabase(as: .user))
        let reply = try await session.modify(
            [.create(name, ["secret": .encrypted("x", "STRING")])],
            in: .publicDatabase(as: .user)
        )
        try reply.expectRecords([
            .failure(name, "BAD_REQUEST", reason: "encrypted fields are not supported in the public database")
        ])
    },
    ContractRule("an encrypted field cannot be filtered by", [.observed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["secret": .encrypted("x", "STRING")], in: zone)
        try await session.query(filters: [.filter("EQUALS", "secret", "x")], in: zone).expectError(
            "BAD_REQUEST",
            reason: "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS"
        )
    },
    ContractRule("an encrypted field can be sorted by, to no effect", [.observed]) {
        session in
        let zone = try await session.makeZone()
        for name in ["a", "b"] { try await session.save(name, ["secret": .encrypted("x", "STRING")], in: zone) }
        try await session.query(sorts: [.sort("secret")], in: zone).expectNames(unordered: ["a", "b"])
    },
]

private func refusedSecret(
    _ name: String,
    _ field: Field,
    _ evidence: Set<ContractRule.Evidence>,
    sentType: String
) -> ContractRule {
    ContractRule("\(name) is refused", evidence) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["secret": .encrypted("x", "STRING")], in: zone)
        let reply = try await session.modify([.forceUpdate("a", ["secret": field])], in: zone)
        try reply.expectRecords([
            .failure(
                "a",
                "BAD_REQUEST",
                reason: "invalid attempt to set value type \(sentType) for field 'secret' for type '\(noteType)', "
                    + "defined to be: ENCRYPTED_STRING"
            )
        ])
        try await session.lookup(["a"], in: zone).expectRecords([.record("a", ["secret": .encrypted("x", "STRING")])])
    }
}

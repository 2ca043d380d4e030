import CloudKitRuleIDs
import StreamingJSON

/// Permissions in the public database with the default grants: every caller reads, users create, creators write.
let permissionRules: [ContractRule] = [
    ContractRule("with the API token alone, public records can be read", [.archive]) { session in
        let name = session.unique("a")
        try await session.save(name, ["title": "a"], in: .publicDatabase(as: .user))
        let everyone = Destination.publicDatabase(as: .apiToken)
        try await session.lookup([name], in: everyone).expectRecords([.record(name, ["title": "a"])])
        try await session.query(filters: [.filter("EQUALS", "title", "none has this title")], in: everyone)
            .expectRecords([])
    },
    ContractRule(
        .createWithoutUser,
        "with the API token alone, nothing can be created: the request is refused, or each record",
        [.observed, .liveTests, .unconfirmed],
        requires: []
    ) { session in
        let name = session.unique("a")
        let everyone = Destination.publicDatabase(as: .apiToken)
        try await session.modify([.create(name, ["title": "a"])], in: everyone).expectDenial(of: name, "CREATE")
        try await session.lookup([name], in: everyone).expectRecords([.failure(name, "NOT_FOUND")])
    },
    ContractRule(
        .recordOfAnotherUser,
        "a user does not write a record that another user made",
        [.archive, .observed],
        requires: [.user, .secondUser]
    ) {
        session in
        let name = session.unique("a")
        let tag = try await session.save(name, ["title": "a"], in: mine)["recordChangeTag"]?.stringValue
        let operations: [Operation] = [
            .update(name, ["title": "b"], tag: tag), .forceUpdate(name, ["title": "b"]),
            Operation("replace", name, ["title": "b"], tag: tag), Operation("forceReplace", name, ["title": "b"]),
            .delete(name, tag: tag), .forceDelete(name),
        ]
        for destination in [mine.seen(by: .secondUser), mine.seen(by: .apiToken)] {
            for operation in operations {
                let reply = try await session.modify([operation], in: destination)
                if destination.identity == .apiToken {
                    try reply.expectDenial(of: name, "WRITE")
                } else {
                    try reply.expectRecords([
                        .failure(name, "ACCESS_DENIED", reason: "WRITE operation not permitted")
                    ])
                }
            }
        }
        try await session.lookup([name], in: mine)
            .expectRecords([.record(name, ["title": "a"], tag: .value(tag.map(JSONValue.string) ?? nil))])
    },
    ContractRule("a record's creator changes it, and others read it", [.archive], requires: [.user, .secondUser]) {
        session in
        let name = session.unique("a")
        let tag = try await session.save(name, ["title": "a"], in: mine)["recordChangeTag"]?.stringValue
        let changed = JSONPattern.record(name, ["title": "b"])
        try await session.modify([.update(name, ["title": "b"], tag: tag)], in: mine).expectRecords([changed])
        try await session.lookup([name], in: mine.seen(by: .secondUser)).expectRecords([changed])
    },
    ContractRule("a private database is its user's alone", [.archive], requires: [.user, .secondUser]) { session in
        let name = session.unique("a")
        try await session.save(name, ["title": "a"], in: .privateDatabase)
        let zone = try await session.makeZone()
        let others = Destination.privateDatabase.seen(by: .secondUser)
        try await session.lookup([name], in: others).expectRecords([.failure(name, "NOT_FOUND")])
        try await session.lookup([name], in: zone.seen(by: .secondUser)).expectError("ZONE_NOT_FOUND")
        try await session.modify([.create(name, ["title": "b"])], in: others).expectRecords([
            .record(name, ["title": "b"])
        ])
        session.willDelete(name, in: others)
        try await session.lookup([name], in: .privateDatabase).expectRecords([.record(name, ["title": "a"])])
    },
    ContractRule("the environments of a container are worlds apart", [.archive, .inferred]) { session in
        let zone = try await session.makeZone()
        let other = session.target.environment == "development" ? "production" : "development"
        var request = try session.request("zones/lookup", ["zones": [zone.zoneID ?? nil]], in: zone)
        request.path = request.path.replacing("/\(session.target.environment)/", with: "/\(other)/")
        let reply = try await session.send(request)
        if reply.status == 200 {
            try reply.expectZones([.zoneFailure(zone.zoneName, "ZONE_NOT_FOUND")])
        } else {
            // Tokens of the service are valid in one environment only.
            try reply.expectError("AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED")
        }
    },
    ContractRule("a batch may be allowed in part", [.archive, .observed], requires: [.user, .secondUser]) { session in
        let (taken, free) = (session.unique("taken"), session.unique("free"))
        try await session.save(taken, ["title": "a"], in: mine)
        let others = mine.seen(by: .secondUser)
        session.willDelete(free, in: others)
        try await session.modify([.forceUpdate(taken, ["title": "b"]), .create(free, ["title": "c"])], in: others)
            .expectRecords([.failure(taken, "ACCESS_DENIED"), .record(free, ["title": "c"])])
    },
]

private let mine = Destination.publicDatabase(as: .user)

extension ContractReply {
    /// Checks that a write without a user is refused: as a whole, or the record.
    fileprivate func expectDenial(of name: String, _ operation: String) throws {
        if status == 200 {
            try expectRecords([.failure(name, "ACCESS_DENIED", reason: "\(operation) operation not permitted")])
        } else {
            try expectError("AUTHENTICATION_REQUIRED", reason: "request needs authorization")
        }
    }
}

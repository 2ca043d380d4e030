import CloudKitRuleIDs
import StreamingJSON

/// Shares. They are records of their own type, which users resolve and accept by short GUID, and then find in the
/// shared database.
let sharingRules: [ContractRule] = [
    ContractRule("a record made with createShortGUID has a short GUID, and keeps it", [.archive]) { session in
        let zone = try await session.makeZone()
        try await session.modify([.root("root")], in: zone)
            .expectRecords([.record("root", ["title": "a"], and: ["shortGUID": .text])])
        let shortGUID = try await session.lookup(["root"], in: zone).text("records", "0", "shortGUID")
        try await session.lookup(["root"], in: zone)
            .expectRecords([.record("root", ["title": "a"], and: ["shortGUID": .value(.string(shortGUID))])])
    },
    ContractRule("a share of a record has its owner, its participants and its short GUID", [.archive, .recorded]) {
        session in
        let zone = try await session.makeZone()
        let shared = try await session.share("root", in: zone)
        let caller = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        let owner = JSONPattern.including([
            "type": "OWNER", "acceptanceStatus": "ACCEPTED", "permission": "READ_WRITE",
            "userIdentity": .including(["userRecordName": .value(.string(caller))]),
        ])
        let guest = JSONPattern.including([
            "type": "USER", "permission": "READ_WRITE",
            "acceptanceStatus": .anyOf(["INVITED", "PENDING", "UNKNOWN"]),
        ])
        try shared.reply.expectRecords([
            .including(
                [
                    "recordType": "cloudkit.share",
                    "recordName": .text,
                    "recordChangeTag": .text,
                    "publicPermission": "NONE",
                    "participants": .unordered([owner, guest]),
                    "shortGUID": .value(.string(shared.shortGUID)),
                ],
                without: ["serverErrorCode"]
            )
        ])
    },
    ContractRule(.misspelledShareType, "the type that Apple's page prints is no share", [.observed]) { session in
        let zone = try await session.makeZone()
        let root = try await session.modify([.root("root")], in: zone).text("records", "0", "recordChangeTag")
        try await session.modify([.share(of: "root", tag: root, type: "cloudKit.share")], in: zone).expectRecords([
            .including(
                ["serverErrorCode": .text, "reason": .reason("Cannot share - no such record exists to share")]
            )
        ])
    },
    ContractRule(.shareOfMissingRecord, "a share of a record that is not there is refused", [.inferred]) { session in
        let zone = try await session.makeZone()
        try await session.modify([.share(of: "nothing", tag: "1")], in: zone)
            .expectRecords([.including(["serverErrorCode": .text, "reason": .text], without: ["shortGUID"])])
    },
    ContractRule(.shareOfOldVersion, "a share of an old version of a record is refused", [.inferred]) { session in
        let zone = try await session.makeZone()
        let tag = try await session.modify([.root("root")], in: zone).text("records", "0", "recordChangeTag")
        try await session.modify([.update("root", ["title": "b"], tag: tag)], in: zone)
            .expectRecords([.record("root", ["title": "b"])])
        try await session.modify([.share(of: "root", tag: tag)], in: zone)
            .expectRecords([.including(["serverErrorCode": .text], without: ["shortGUID"])])
    },
    ContractRule("a zone is shared as a whole, once, and has no root record", [.native, .inferred]) { session in
        let zone = try await session.makeZone()
        try await session.modify([.create("note", ["title": "a"])], in: zone).expectNames(["note"])
        let share = try await session.modify([.shareOfZone()], in: zone)
        try share.expectRecords([
            .including(
                ["recordType": "cloudkit.share", "recordName": "cloudkit.zoneshare", "recordChangeTag": .text],
                without: ["serverErrorCode"]
            )
        ])
        let shortGUID = try share.text("records", "0", "shortGUID")
        let body: JSONValue = ["shortGUIDs": [["value": .string(shortGUID), "shouldFetchRootRecord": true]]]
        let reply = try await session.post("records/resolve", body, in: .publicDatabase(as: .user))
        try reply.expect(.including(["results": .array([.shareResult(shortGUID, scope: "PRIVATE")])]))
        try reply.expect(.including(["results": .array([.including([:], without: ["rootRecordName", "rootRecord"])])]))
        try await session.modify([.shareOfZone()], in: zone)
            .expectRecords([.including(["serverErrorCode": .text], without: ["shortGUID"])])
    },
    ContractRule("a short GUID is asked for by a dictionary or by its bare text", [.cloudKitJS]) { session in
        let zone = try await session.makeZone()
        let shared = try await session.share("root", in: zone)
        let destination = Destination.publicDatabase(as: .user)
        let text: JSONValue = ["shortGUIDs": [.string(shared.shortGUID)]]
        let dictionary: JSONValue = ["shortGUIDs": [["value": .string(shared.shortGUID)]]]
        let replies = [
            try await session.post("records/resolve", text, in: destination),
            try await session.post("records/resolve", dictionary, in: destination),
        ]
        for reply in replies {
            try reply.expect(.including(["results": .array([.shareResult(shared.shortGUID, scope: "PRIVATE")])]))
        }
    },
    ContractRule("a short GUID of no share fails alone, at its place", [.archive, .inferred]) { session in
        let zone = try await session.makeZone()
        let shared = try await session.share("root", in: zone)
        let body: JSONValue = [
            "shortGUIDs": [["value": "0nothing"], ["value": .string(shared.shortGUID)], ["value": "0nowhere"]]
        ]
        let failed = JSONPattern.including(
            ["serverErrorCode": .text, "reason": .text],
            without: ["share", "rootRecord", "zoneID"]
        )
        let destination = Destination.publicDatabase(as: .user)
        for endpoint in ["records/resolve", "records/accept"] {
            try await session.post(endpoint, body, in: destination).expect(
                .including(["results": .array([failed, .shareResult(shared.shortGUID, scope: "PRIVATE"), failed])])
            )
        }
    },
    ContractRule(
        "the owner resolves a share to the private database, with the root record if asked for",
        [.archive, .recorded]
    ) {
        session in
        let zone = try await session.makeZone()
        let shared = try await session.share("root", in: zone)
        let body: JSONValue = [
            "shortGUIDs": [["value": .string(shared.shortGUID), "shouldFetchRootRecord": true]]
        ]
        try await session.post("records/resolve", body, in: .publicDatabase(as: .user)).expect(
            .including([
                "results": .array([
                    .shareResult(
                        shared.shortGUID,
                        scope: "PRIVATE",
                        and: [
                            "rootRecordName": "root",
                            "rootRecord": .including(["recordName": "root", "share": .including(["recordName": .text])]
                            ),
                            "participantType": "OWNER",
                            "participantStatus": "ACCEPTED",
                            "participantPermission": "READ_WRITE",
                        ]
                    )
                ])
            ])
        )
    },
    ContractRule("shares are resolved and accepted on the public database alone", [.archive, .cloudKitJS, .inferred]) {
        session in
        let body: JSONValue = ["shortGUIDs": [["value": "0nothing"]]]
        for endpoint in ["records/resolve", "records/accept"] {
            try await session.post(endpoint, body, in: .privateDatabase).expectError("BAD_REQUEST")
        }
    },
    ContractRule("a caller who is not signed in cannot accept a share", [.archive]) { session in
        let body: JSONValue = ["shortGUIDs": [["value": "0nothing"]]]
        try await session.post("records/accept", body, in: .publicDatabase(as: .apiToken))
            .expectError("AUTHENTICATION_REQUIRED")
    },
    ContractRule("a user who is not invited sees nothing of a share", [.inferred], requires: [.user, .secondUser]) {
        session in
        let zone = try await session.makeZone()
        let shared = try await session.share("root", in: zone, with: "unknown@example.com")
        let body: JSONValue = ["shortGUIDs": [["value": .string(shared.shortGUID)]]]
        let reply = try await session.post("records/accept", body, in: .publicDatabase(as: .secondUser))
        try reply.expect(
            .including(["results": .array([.including(["serverErrorCode": .text], without: ["rootRecord"])])])
        )
    },
    ContractRule(
        "a user who accepts finds the zone in the shared database, under its owner",
        [.archive],
        requires: [.user, .secondUser, .userDiscovery]
    ) { session in
        guard let address = session.target.secondUser?.emailAddress else { return }
        let zone = try await session.makeZone()
        let shared = try await session.share("root", in: zone, with: address)
        try await session.modify([.create("private", ["title": "mine"])], in: zone).expectNames(["private"])
        let body: JSONValue = ["shortGUIDs": [["value": .string(shared.shortGUID)]]]
        let guest = Destination.publicDatabase(as: .secondUser)
        try await session.post("records/resolve", body, in: guest)
            .expect(.including(["results": .array([.shareResult(shared.shortGUID, scope: "SHARED")])]))
        try await session.post("records/accept", body, in: guest).expect(
            .including([
                "results": .array([
                    .shareResult(shared.shortGUID, scope: "SHARED", and: ["participantStatus": "ACCEPTED"])
                ])
            ])
        )
        let owner = try await session.get("users/caller", in: .publicDatabase(as: .user)).text("userRecordName")
        let database = Destination.sharedDatabase.seen(by: .secondUser)
        let destination = Destination(
            scope: "shared",
            identity: .secondUser,
            zoneID: ["zoneName": .string(zone.zoneName), "ownerRecordName": .string(owner)]
        )
        let list = try await session.get("zones/list", in: database)
        try list.require(
            list.zones.contains {
                $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName
                    && $0["zoneID"]?["ownerRecordName"]?.stringValue == owner
            },
            "\(zone.zoneName) of \(owner) among the zones"
        )
        // The guest can read and write the shared record. Other records of the zone do not exist for the guest.
        try await session.lookup(["root", "private"], in: destination)
            .expectRecords([.record("root", ["title": "a"]), .failure("private", "NOT_FOUND")])
        let writer = try await session.get("users/caller", in: guest).text("userRecordName")
        try await session.modify([.forceUpdate("root", ["title": "b"])], in: destination)
            .expectRecords([.record("root", ["title": "b"])])
        let stamp = JSONPattern.including(["userRecordName": .value(.string(writer))])
        try await session.lookup(["root"], in: zone)
            .expectRecords([.record("root", ["title": "b"], and: ["modified": stamp])])
        try await session.post("changes/database", [:], in: database)
            .expect(.including(["zones": .anything, "syncToken": .text, "moreComing": .anything]))

        // A participant who deletes the share in the shared database leaves it.
        try await session.modify([.forceDelete(shared.recordName)], in: destination)
            .expectRecords([.deleted(shared.recordName)])
        try await session.lookup(["root"], in: destination).expectError("ZONE_NOT_FOUND")
        try await session.lookup([shared.recordName], in: zone)
            .expectRecords([.including(["recordType": "cloudkit.share"], without: ["serverErrorCode"])])
    },
    ContractRule(
        "a share that its owner deletes is gone for those who accepted",
        [.archive, .inferred],
        requires: [.user, .secondUser, .userDiscovery]
    ) { session in
        guard let address = session.target.secondUser?.emailAddress else { return }
        let zone = try await session.makeZone()
        let shared = try await session.share("root", in: zone, with: address)
        let body: JSONValue = ["shortGUIDs": [["value": .string(shared.shortGUID)]]]
        try await session.post("records/accept", body, in: .publicDatabase(as: .secondUser))
            .expect(.including(["results": .array([.shareResult(shared.shortGUID, scope: "SHARED")])]))
        try await session.modify([.forceDelete(shared.recordName)], in: zone)
            .expectRecords([.deleted(shared.recordName)])
        let list = try await session.get("zones/list", in: .sharedDatabase.seen(by: .secondUser))
        try list.require(
            !list.zones.contains { $0["zoneID"]?["zoneName"]?.stringValue == zone.zoneName },
            "no \(zone.zoneName) among the zones"
        )
        try await session.lookup(["root"], in: zone).expectRecords([.record("root", ["title": "a"])])
    },
]

extension Operation {
    /// Creates a record that can be shared.
    fileprivate static func root(_ recordName: String) -> Operation {
        Operation("create", recordName, ["title": "a"], record: ["createShortGUID": true])
    }

    /// Shares a zone, as the native framework does.
    fileprivate static func shareOfZone() -> Operation {
        Operation(
            "create",
            "cloudkit.zoneshare",
            [:],
            type: "cloudkit.share",
            record: ["publicPermission": "NONE"]
        )
    }

    fileprivate static func share(
        of root: String,
        tag: String,
        with address: String = "guest@example.com",
        type: String = "cloudkit.share"
    ) -> Operation {
        Operation(
            "create",
            nil,
            [:],
            type: type,
            record: [
                "forRecord": ["recordName": .string(root), "recordChangeTag": .string(tag)],
                "publicPermission": "NONE",
                "participants": [
                    [
                        "type": "USER", "permission": "READ_WRITE", "acceptanceStatus": "INVITED",
                        "userIdentity": ["lookupInfo": ["emailAddress": .string(address)]],
                    ]
                ],
            ]
        )
    }
}

extension ContractSession {
    /// Creates a record and shares it, as Apple's page on sharing does: the record first, then the share.
    fileprivate func share(
        _ name: String,
        in zone: Destination,
        with address: String = "guest@example.com"
    ) async throws -> (reply: ContractReply, recordName: String, shortGUID: String) {
        let root = try await modify([.root(name)], in: zone)
        let tag = try root.text("records", "0", "recordChangeTag")
        let reply = try await modify([.share(of: name, tag: tag, with: address)], in: zone)
        return (reply, try reply.text("records", "0", "recordName"), try root.text("records", "0", "shortGUID"))
    }
}

extension JSONPattern {
    /// The result for a short GUID.
    fileprivate static func shareResult(
        _ shortGUID: String,
        scope: String,
        and others: [String: JSONPattern] = [:]
    ) -> JSONPattern {
        .including(
            [
                "shortGUID": .including(["value": .value(.string(shortGUID))]),
                "containerIdentifier": .text,
                "environment": .text,
                "databaseScope": .value(.string(scope)),
                "zoneID": .including(["zoneName": .text, "ownerRecordName": .text]),
                "share": .including(["recordType": "cloudkit.share", "recordName": .text]),
                "ownerIdentity": .including(["userRecordName": .text]),
                "participantType": .text,
                "participantStatus": .text,
                "participantPermission": .text,
            ].merging(others) { _, new in new },
            without: ["serverErrorCode"]
        )
    }
}

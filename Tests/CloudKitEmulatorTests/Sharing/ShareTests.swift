import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

/// Rules about shares that the client's sharing tests do not show.
struct ShareTests {
    private func share(of root: String, tag: String?, named name: String? = nil, type: String = "cloudkit.share")
        -> RecordOperation
    {
        var record = Record(recordType: type, recordName: name)
        record.shareAccess.forRecord = RecordVersion(recordName: root, recordChangeTag: tag)
        return RecordOperation(.create, record: record)
    }

    @Test func aRecordAndItsShareAreSavedInOneAtomicRequest() throws {
        let world = try World()
        var root = Record(recordType: "Note", recordName: "A")
        root.createShortGUID = true
        let results = try world.asAnn().modifyRecords(
            [RecordOperation(.create, record: root), share(of: "A", tag: nil, named: "S")],
            zoneID: World.notes,
            atomic: true
        ).records.map { try $0.get() }
        #expect(results[1].shortGUID == results[0].shortGUID)
        #expect(results[1].shortGUID?.count == 25)
        #expect(results[1].shareAccess.currentUserParticipant == results[1].shareAccess.owner)
        let lookup = try world.asAnn().lookupRecords([RecordLookup(recordName: "A")], zoneID: World.notes)
        #expect(try lookup.records[0].get().share?.recordName == "S")
    }

    @Test func whatIsNoShareOfAnythingIsRefused() throws {
        let world = try World()
        try world.modify(.note(.create, "A"))
        let missing = "Cannot share - no such record exists to share"
        #expect(try world.modify(share(of: "B", tag: "1", named: "S")) == ["S! BAD_REQUEST \(missing)"])
        #expect(
            try world.modify(share(of: "A", tag: "1", named: "S", type: "cloudKit.share")) == [
                "S! BAD_REQUEST \(missing)"
            ]
        )
        #expect(
            try world.modify(share(of: "A", tag: "0", named: "S")) == [
                "S! CONFLICT client oplock error updating record"
            ]
        )
        #expect(
            try world.modify(share(of: "A", tag: nil, named: "S"))
                == ["S! BAD_REQUEST forRecord needs the recordChangeTag of the record"]
        )
        var odd = share(of: "A", tag: "1", named: "S")
        odd.record.shareAccess.publicPermission = .unknown
        #expect(try world.modify(odd) == ["S! BAD_REQUEST 'UNKNOWN' is not a publicPermission"])
        odd.record.shareAccess.publicPermission = .readOnly
        odd.record.shareAccess.participants = [Participant(type: .user, permission: .readOnly)]
        #expect(
            try world.modify(odd)
                == ["S! BAD_REQUEST a participant needs a userIdentity with a lookupInfo or a userRecordName"]
        )
        odd.record.shareAccess.participants = [.invited(.emailAddress("a@b.c")), .invited(.emailAddress("A@B.C"))]
        #expect(try world.modify(odd) == ["S! BAD_REQUEST a participant is in the list twice"])
        #expect(try world.contents() == ["A@1 {}"])
        #expect(
            try world.modify([share(of: "A", tag: "1", named: "S")], zoneID: nil)
                == ["S! BAD_REQUEST Cannot share - records of zone '_defaultZone' cannot be shared"]
        )
        #expect(try world.modify(share(of: "A", tag: "1", named: "S")) == ["S@2 {}"])
        #expect(try world.modify(share(of: "A", tag: "3", named: "T")) == ["T! EXISTS record 'A' is shared already"])
    }

    @Test func aZoneIsSharedAsAWhole() throws {
        let world = try World()
        try world.modify(.note(.create, "A"))
        var share = Record(recordType: "cloudkit.share", recordName: "cloudkit.zoneshare")
        share.shareAccess.publicPermission = .readWrite
        let results = try world.asAnn().modifyRecords([RecordOperation(.create, record: share)], zoneID: World.notes)
            .records
        let shortGUID = try #require(try results[0].get().shortGUID)
        let accepted = try world.asBen(in: .public).acceptShares([ShortGUID(shortGUID)])
        let zone = try #require(try accepted[0].get().zoneID)
        #expect(try accepted[0].get().rootRecordName == nil)
        let written = try world.asBen(in: .shared).modifyRecords(
            [.note(.create, "B"), .note(.forceDelete, "A")],
            zoneID: zone
        ).records.map(summary)
        #expect(written == ["B@4 {}", "A deleted"])
        #expect(try world.contents() == ["cloudkit.zoneshare@3 {}", "B@4 {}"])
    }

    @Test func anAdministratorInvitesOthers() throws {
        let world = try World()
        let cid = try world.emulator.createUser()
        try world.modify(.note(.create, "A"))
        var share = share(of: "A", tag: "1", named: "S")
        share.record.shareAccess.participants = [.invited(.userRecordName(world.ben), permission: .readWrite)]
        share.record.shareAccess.participants?[0].type = .administrator
        try world.modify(share)
        let zone = ZoneID(zoneName: "Notes", ownerRecordName: world.ann)
        let shortGUID = try #require(try world.shortGUID(of: "S"))
        _ = try world.asBen(in: .public).acceptShares([shortGUID])
        var change = Record(recordType: "cloudkit.share", recordName: "S")
        change.shareAccess.participants = [.invited(.userRecordName(world.ben)), .invited(.userRecordName(cid))]
        let changed = try world.asBen(in: .shared).modifyRecords(
            [RecordOperation(.forceUpdate, record: change)],
            zoneID: zone
        ).records[0].get()
        #expect(changed.shareAccess.participants?.map(\.userIdentity?.userRecordName) == [world.ann, world.ben, cid])
        let resolved = try world.emulator.request(in: world.publicDatabase, as: .user(cid)).resolveShares([shortGUID])
        #expect(try resolved[0].get().participantStatus == .invited)
    }

    @Test func sharesAreForPeopleOnThePublicAddress() throws {
        let world = try World()
        let shortGUIDs = [ShortGUID("0nothing")]
        #expect(
            refusal { try world.asAnn().resolveShares(shortGUIDs) }
                == "BAD_REQUEST endpoint not applicable in the database type 'privatedb'"
        )
        #expect(
            refusal { try world.emulator.request(in: world.publicDatabase, as: .anonymous).acceptShares(shortGUIDs) }
                == "AUTHENTICATION_REQUIRED request needs authorization"
        )
        #expect(
            refusal {
                try world.emulator.request(in: world.publicDatabase, as: .serverKey(keyID: "k")).acceptShares(
                    shortGUIDs
                )
            }
                == "AUTHENTICATION_FAILED Authentication failed"
        )
    }

    @Test func aFeedOfASharedZoneGoesForwardsOnly() throws {
        let world = try World()
        try world.modify(.note(.create, "A"))
        var share = share(of: "A", tag: "1", named: "S")
        share.record.shareAccess.publicPermission = .readOnly
        try world.modify(share)
        let shortGUID = try #require(try world.shortGUID(of: "S"))
        _ = try world.asBen(in: .public).acceptShares([shortGUID])
        let request = ZoneChangesRequest(zoneID: ZoneID(zoneName: "Notes", ownerRecordName: world.ann), reverse: true)
        #expect(
            refusal { try world.asBen(in: .shared).fetchRecordChanges(request) }
                == "BAD_REQUEST the feed of a shared zone goes forwards only"
        )
    }
}

extension World {
    fileprivate func shortGUID(of name: String) throws -> ShortGUID? {
        try asAnn().lookupRecords([RecordLookup(recordName: name)], zoneID: Self.notes).records[0].get().shortGUID.map {
            ShortGUID($0)
        }
    }
}

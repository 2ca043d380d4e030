import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

struct ReferenceTests {
    private func to(_ name: String, _ action: Reference.Action, zone: String? = nil) -> FieldValue {
        .reference(Reference(recordName: name, action: action, zoneID: zone.map { ZoneID(zoneName: $0) }))
    }

    /// The names of the live records.
    private func names(_ world: World) throws -> [String] {
        try world.contents().map { String($0.prefix { $0 != "@" }) }
    }

    @Test func deletingATargetDeletesAllThatReferToItWithDeleteSelf() throws {
        let world = try World()
        try world.modify(
            .note(.create, "child", ["of": to("parent", .deleteSelf)]),
            .note(.create, "parent"),
            .note(.create, "grandchild", ["in": .list([Reference(recordName: "child", action: .deleteSelf)])]),
            .note(.create, "friend", ["of": to("parent", .none)]),
            .note(.create, "stranger")
        )
        let before = try world.asAnn().fetchRecordChanges(ZoneChangesRequest(zoneID: World.notes))
        #expect(try world.modify(.note(.forceDelete, "parent")) == ["parent deleted"])
        #expect(try names(world) == ["friend", "stranger"])
        let after = try world.asAnn().fetchRecordChanges(
            ZoneChangesRequest(zoneID: World.notes, syncToken: before.syncToken)
        )
        #expect(after.records.map(summary) == ["child deleted", "grandchild deleted", "parent deleted"])
    }

    @Test func aCircleOfReferencesGoesAsAWhole() throws {
        let world = try World()
        try world.modify(
            .note(.create, "a", ["next": to("b", .deleteSelf)]),
            .note(.create, "b", ["next": to("c", .deleteSelf)]),
            .note(.create, "c", ["next": to("a", .deleteSelf)])
        )
        try world.modify(.note(.forceDelete, "b"))
        #expect(try names(world) == [])
    }

    @Test func aReferenceThatWasClearedBindsNoMore() throws {
        let world = try World()
        try world.modify(.note(.create, "a"), .note(.create, "b", ["of": to("a", .deleteSelf)]))
        try world.modify(.note(.forceUpdate, "b", ["of": .null]))
        try world.modify(.note(.forceDelete, "a"))
        #expect(try names(world) == ["b"])
    }

    @Test func aValidatedTargetMustBeThereAndMustStay() throws {
        let world = try World()
        let refused = "b! VALIDATING_REFERENCE_ERROR the record 'a', referred to with VALIDATE, does not exist"
        #expect(try world.modify(.note(.create, "b", ["of": to("a", .validate)])) == [refused])
        // The target may be created earlier or later in the same batch.
        try world.modify(
            .note(.create, "a"),
            .note(.create, "b", ["of": to("a", .validate)]),
            .note(.create, "c", ["of": to("d", .validate)]),
            .note(.create, "d")
        )
        #expect(try names(world) == ["a", "b", "c", "d"])
        #expect(
            try world.modify(.note(.forceDelete, "a")) == [
                "a! VALIDATING_REFERENCE_ERROR record 'a' cannot be deleted while another record refers to it with VALIDATE"
            ]
        )
        try world.modify(.note(.forceDelete, "b"))
        #expect(try world.modify(.note(.forceDelete, "a")) == ["a deleted"])
        #expect(try names(world) == ["c", "d"])
    }

    @Test func aCascadeThatWouldBreakAValidatedReferenceDeletesNothing() throws {
        let world = try World()
        try world.modify(
            .note(.create, "parent"),
            .note(.create, "child", ["of": to("parent", .deleteSelf)]),
            .note(.create, "keeper", ["needs": to("child", .validate)])
        )
        #expect(
            try world.modify(.note(.forceDelete, "parent")) == [
                "parent! VALIDATING_REFERENCE_ERROR record 'child' cannot be deleted "
                    + "while another record refers to it with VALIDATE"
            ]
        )
        #expect(try names(world) == ["parent", "child", "keeper"])
    }

    @Test func aReferenceWithActionNoneMayHaveAMissingTarget() throws {
        let world = try World()
        try world.modify(.note(.create, "b", ["of": to("missing", .none)]))
        #expect(try names(world) == ["b"])
    }

    @Test func aTargetHasAtMost750ThatGoWithIt() throws {
        let world = try World { $0.limits.deleteSelfReferencesPerTarget = 2 }
        #expect(
            try world.modify((0..<3).map { .note(.create, "r\($0)", ["of": to("a", .deleteSelf)]) }).last
                == "r2! BAD_REQUEST more than 2 records would refer to record 'a' with DELETE_SELF"
        )
        // The existing ones may be saved again.
        #expect(try world.modify(.note(.forceUpdate, "r0", ["of": to("a", .deleteSelf)]))[0].hasPrefix("r0@"))
    }

    /// Recorded replies have the zone of a reference with its type, in public databases, too.
    @Test func repliesNameTheDefaultZoneOfATarget() throws {
        let world = try World()
        for (scope, owner) in [(DatabaseScope.private, world.ann), (.public, "_defaultOwner")] {
            for target in [to("a", .none), to("a", .none, zone: "_defaultZone")] {
                let reply = try world.asAnn(in: scope).modifyRecords([.note(.forceUpdate, "b", ["of": target])])
                #expect(
                    try text(reply.records[0].get().fields)
                        == #"{"of":{"value":{"recordName":"a","action":"NONE","zoneID":{"zoneName":"_defaultZone","#
                        + #""ownerRecordName":"\#(owner)","zoneType":"DEFAULT_ZONE"}},"type":"REFERENCE"}}"#
                )
            }
        }
    }

    /// Apple's own containers have such records (recorded).
    @Test func recordsOfTheServiceCanBeSeeded() throws {
        let world = try World { $0.acceptsRecordsOfService = true }
        let elsewhere = #""zoneID":{"zoneName":"Elsewhere","ownerRecordName":"\#(world.ann)","#
        let results = try world.modify(
            .note(.create, "_seeded", ["of": to("target", .deleteSelf, zone: "Elsewhere")]),
            .note(.create, "target"),
            .note(.create, "needs", ["of": to("missing", .validate, zone: "Elsewhere")]),
            .note(.create, "child", ["of": to("_seeded", .deleteSelf)]),
            .note(.create, "é")
        )
        #expect(
            results[0] == #"_seeded@1 {"of":{"value":{"recordName":"target","action":"DELETE_SELF","#
                + elsewhere + #""zoneType":"REGULAR_CUSTOM_ZONE"}},"type":"REFERENCE"}}"#
        )
        #expect(results.last == "é! BAD_REQUEST 'é' is not a valid record name")
        // The record of that name in this zone is not the target.
        #expect(try world.modify(.note(.forceDelete, "target")) == ["target deleted"])
        #expect(try names(world) == ["_seeded", "needs", "child"])
        #expect(try world.modify(.note(.forceDelete, "_seeded")) == ["_seeded deleted"])
        #expect(try names(world) == ["needs"])
        // The zone and the rules of other names stay as they are.
        #expect(
            try World().modify(.note(.create, "_seeded")) == [
                "_seeded! BAD_REQUEST '_seeded' is not a valid record name"
            ]
        )
    }

    @Test func repliesNameTheTargetsZoneWithItsOwner() throws {
        let world = try World()
        #expect(
            try world.modify(
                .note(.create, "b", ["of": to("a", .deleteSelf)]),
                .note(.create, "c", ["of": to("a", .none, zone: "Other")])
            ) == [
                #"b@1 {"of":{"value":{"recordName":"a","action":"DELETE_SELF","#
                    + #""zoneID":{"zoneName":"Notes","ownerRecordName":"\#(world.ann)","#
                    + #""zoneType":"REGULAR_CUSTOM_ZONE"}},"type":"REFERENCE"}}"#,
                "c! BAD_REQUEST a reference cannot lead from zone 'Notes' to zone 'Other'",
            ]
        )
    }
}

import CloudKitEmulator
import CloudKitModel
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

    @Test func repliesNameTheTargetsZoneWithItsOwner() throws {
        let world = try World()
        #expect(
            try world.modify(
                .note(.create, "b", ["of": to("a", .deleteSelf)]),
                .note(.create, "c", ["of": to("a", .none, zone: "Other")])
            ) == [
                #"b@1 {"of":{"value":{"recordName":"a","action":"DELETE_SELF","#
                    + #""zoneID":{"zoneName":"Notes","ownerRecordName":"\#(world.ann)"}},"type":"REFERENCE"}}"#,
                "c! BAD_REQUEST a reference cannot lead from zone 'Notes' to zone 'Other'",
            ]
        )
    }
}

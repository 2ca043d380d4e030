import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import MistTesting
import Testing

/// The seven operations, each on a record that is missing, and on one that exists: with the right tag, an old tag, or
/// no tag.
struct OperationTests {
    /// The result of an operation on `x` in a state, and the content of the zone afterwards.
    private func outcome(
        _ type: RecordOperation.OperationType,
        exists: Bool,
        tag: String?,
        _ configure: (inout EmulatorConfiguration) -> Void = { _ in }
    ) throws -> [String] {
        let world = try World(configure)
        if exists {
            try world.modify(.note(.create, "x", ["a": 1, "b": 2]))
            try world.modify(.note(.forceUpdate, "x", ["a": 1]))
        }
        var results: [String]
        do {
            results = try world.modify(.note(type, "x", tag: tag, ["a": 9]))
        } catch let error as EmulatorError {
            results = ["\(error)"]
        }
        return results + (try world.contents())
    }

    private let old = #"x@2 {"a":{"value":1,"type":"INT64"},"b":{"value":2,"type":"INT64"}}"#
    private let updated = #"x@3 {"a":{"value":9,"type":"INT64"},"b":{"value":2,"type":"INT64"}}"#
    private let replaced = #"x@3 {"a":{"value":9,"type":"INT64"},"b":{"value":null}}"#
    private let made = #"x@1 {"a":{"value":9,"type":"INT64"}}"#
    private let stale = "x! CONFLICT client oplock error updating record"
    private let gone = "x! NOT_FOUND recordChangeTag specified, but record not found"
    private let refused = "BAD_REQUEST: BadRequestException: missing required field 'recordChangeTag'"
    private let untagged = "x! BAD_REQUEST recordChangeTag is required; the forced operation does without"

    @Test func createMakesARecordOnlyWhereThereIsNone() throws {
        let exists = "x! CONFLICT record to insert already exists"
        #expect(try outcome(.create, exists: false, tag: nil) == [made, made])
        #expect(try outcome(.create, exists: false, tag: "1") == [gone])
        #expect(try outcome(.create, exists: true, tag: nil) == [exists, old])
        #expect(try outcome(.create, exists: true, tag: "2") == [exists, old])
        #expect(try outcome(.create, exists: true, tag: "1") == [exists, old])
        #expect(
            try outcome(.create, exists: true, tag: nil) { $0.unsettled.createOnExisting = .exists }
                == ["x! EXISTS record to insert already exists", old]
        )
    }

    @Test func updateChangesTheGivenFieldsUnderTheRightTag() throws {
        #expect(try outcome(.update, exists: true, tag: "2") == [updated, updated])
        #expect(try outcome(.update, exists: true, tag: "1") == [stale, old])
        #expect(try outcome(.update, exists: true, tag: nil) == [refused, old])
        #expect(try outcome(.update, exists: false, tag: "2") == [gone])
        #expect(try outcome(.update, exists: false, tag: nil) == [refused])
        for (exists, state) in [(true, [untagged, old]), (false, [untagged])] {
            #expect(
                try outcome(.update, exists: exists, tag: nil) { $0.unsettled.updateWithoutTag = .refusesRecord }
                    == state
            )
        }
        #expect(
            try outcome(.update, exists: true, tag: nil) { $0.unsettled.updateWithoutTag = .accepted }
                == [updated, updated]
        )
        #expect(
            try outcome(.update, exists: false, tag: nil) { $0.unsettled.updateWithoutTag = .accepted }
                == ["x! NOT_FOUND Record not found"]
        )
    }

    @Test func forceUpdateChangesTheGivenFieldsWhateverTheTag() throws {
        for tag in [nil, "1", "2"] {
            #expect(try outcome(.forceUpdate, exists: true, tag: tag) == [updated, updated])
            #expect(try outcome(.forceUpdate, exists: false, tag: tag) == [made, made])
        }
    }

    @Test func replaceLeavesNoOtherFields() throws {
        #expect(try outcome(.replace, exists: true, tag: "2") == [replaced, replaced])
        #expect(try outcome(.replace, exists: true, tag: "1") == [stale, old])
        #expect(try outcome(.replace, exists: true, tag: nil) == [refused, old])
        #expect(
            try outcome(.replace, exists: true, tag: nil) { $0.unsettled.updateWithoutTag = .refusesRecord }
                == [untagged, old]
        )
        #expect(try outcome(.replace, exists: false, tag: "2") == [gone])
    }

    @Test func forceReplaceLeavesNoOtherFieldsWhateverTheTag() throws {
        for tag in [nil, "1", "2"] {
            #expect(try outcome(.forceReplace, exists: true, tag: tag) == [replaced, replaced])
            #expect(try outcome(.forceReplace, exists: false, tag: tag) == [made, made])
        }
    }

    @Test func deleteNeedsTheRightTag() throws {
        #expect(try outcome(.delete, exists: true, tag: "2") == ["x deleted"])
        #expect(try outcome(.delete, exists: true, tag: "1") == [stale, old])
        #expect(try outcome(.delete, exists: true, tag: nil) == [untagged, old])
        #expect(try outcome(.delete, exists: false, tag: "2") == [gone])
        #expect(
            try outcome(.delete, exists: true, tag: nil) { $0.unsettled.deleteWithoutTag = .accepted } == ["x deleted"]
        )
        #expect(
            try outcome(.delete, exists: true, tag: nil) { $0.unsettled.deleteWithoutTag = .refusesRequest }
                == [refused, old]
        )
    }

    /// The whole request fails, with the operations that have their tags.
    @Test func aMissingTagRefusesTheWholeRequest() throws {
        let world = try World()
        try world.modify(.note(.create, "x", ["a": 1]))
        #expect(
            refusal { try world.modify(.note(.create, "y"), .note(.update, "x", ["a": 2])) }
                == "BAD_REQUEST BadRequestException: missing required field 'recordChangeTag'"
        )
        #expect(try world.contents() == [#"x@1 {"a":{"value":1,"type":"INT64"}}"#])
    }

    @Test func forceDeleteDeletesWhateverTheTag() throws {
        for tag in [nil, "1", "2"] {
            #expect(try outcome(.forceDelete, exists: true, tag: tag) == ["x deleted"])
            #expect(try outcome(.forceDelete, exists: false, tag: tag) == ["x deleted"])
        }
        #expect(
            try outcome(.forceDelete, exists: false, tag: nil) { $0.unsettled.forceDeleteOfMissingSucceeds = false }
                == ["x! NOT_FOUND Record not found"]
        )
    }

    @Test func aNewRecordShowsEverythingThatTheServiceKeeps() throws {
        let world = try World()
        let created = try world.asAnn().modifyRecords([.note(.create, "A", ["title": "Milk"])], zoneID: World.notes)
        world.clock.advance(by: 60)
        let updated = try world.asAnn().modifyRecords(
            [.note(.update, "A", tag: "1", ["done": true])],
            zoneID: World.notes
        )
        let stamp = #"{"timestamp":1700000000000,"userRecordName":"\#(world.ann)","deviceID":"2"}"#
        let laterStamp = #"{"timestamp":1700000060000,"userRecordName":"\#(world.ann)","deviceID":"2"}"#
        #expect(
            created.records.map(text) == [
                #"{"recordName":"A","recordType":"Note","fields":{"title":{"value":"Milk","type":"STRING"}},"#
                    + #""pluginFields":{},"recordChangeTag":"1","created":\#(stamp),"modified":\#(stamp),"deleted":false}"#
            ]
        )
        #expect(
            updated.records.map(text) == [
                #"{"recordName":"A","recordType":"Note","fields":{"title":{"value":"Milk","type":"STRING"},"#
                    + #""done":{"value":1,"type":"INT64"}},"pluginFields":{},"recordChangeTag":"2","created":\#(stamp),"#
                    + #""modified":\#(laterStamp),"deleted":false}"#
            ]
        )
    }

    @Test func aRecordWithoutANameGetsAUUID() throws {
        let world = try World()
        let names = try world.asAnn().modifyRecords([.note(.create, nil), .note(.create, nil)]).records.map {
            try $0.get().recordName ?? ""
        }
        let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        #expect(names.allSatisfy { $0.wholeMatch(of: form) != nil })
        #expect(Set(names).count == 2)
        #expect(try world.modify(.note(.update, nil, tag: "1")) == ["?! BAD_REQUEST recordName is required"])
    }

    @Test func namesFollowTheRules() throws {
        let world = try World()
        let long = String(repeating: "n", count: 255)
        for name in ["Mei Chen", "a/b", "\"q\"", long] {
            #expect(try world.modify(.note(.create, name)).allSatisfy { !$0.contains("!") })
            #expect(try world.tag(name) != nil)
        }
        for name in ["", "_a", "é", long + "n"] {
            #expect(
                try world.modify(.note(.create, name)) == ["\(name)! BAD_REQUEST '\(name)' is not a valid record name"]
            )
        }
        for type in ["1a", "a-b", "_A", "", long + "n"] {
            let record = Record(recordType: type, recordName: "t")
            #expect(
                try world.modify(RecordOperation(.create, record: record))
                    == ["t! BAD_REQUEST '\(type)' is not a valid record type name"]
            )
        }
        for field in ["1a", "a-b", "_a", ""] {
            #expect(
                try world.modify(.note(.create, "f", [field: 1]))
                    == ["f! BAD_REQUEST '\(field)' is not a valid field name"]
            )
        }
    }

    @Test func aTypeIsNeededToMakeARecordAndCannotChange() throws {
        let world = try World()
        try world.modify(.note(.create, "x"))
        let untyped = Record(recordName: "y")
        #expect(
            try world.modify(
                RecordOperation(.create, record: untyped),
                RecordOperation(.forceUpdate, record: Record(recordName: "z")),
                RecordOperation(.forceUpdate, record: Record(recordType: "Other", recordName: "x"))
            ) == [
                "y! BAD_REQUEST recordType is required to create a record",
                "z! BAD_REQUEST recordType is required to create a record",
                "x! BAD_REQUEST invalid attempt to update record from type 'Note' to 'Other'",
            ]
        )
        #expect(
            try world.modify(RecordOperation(.update, record: Record(recordName: "x", recordChangeTag: "1")))
                == ["x@2 {}"]
        )
    }

    @Test func theNameOfADeletedRecordIsFreeAndItsTagsAreSpent() throws {
        let world = try World()
        try world.modify(.note(.create, "x", ["a": 1]))
        try world.modify(.note(.forceDelete, "x"))
        #expect(
            try world.modify(.note(.update, "x", tag: "1")) == [
                "x! NOT_FOUND recordChangeTag specified, but record not found"
            ]
        )
        #expect(try world.modify(.note(.create, "x", ["b": 1])) == [#"x@3 {"b":{"value":1,"type":"INT64"}}"#])
        #expect(try world.modify(.note(.update, "x", tag: "1")) == [stale])
    }

    @Test func aZoneWithinTheRecordIsIgnored() throws {
        let world = try World()
        var record = Record(recordType: "Note", recordName: "x")
        record.zoneID = World.notes
        try world.modify([RecordOperation(.create, record: record)], zoneID: nil)
        #expect(try world.contents() == [])
        #expect(
            try world.asAnn().lookupRecords([RecordLookup(recordName: "x")]).records.map(summary) == ["x@1 {}"]
        )
    }

    @Test func theSameNameInTwoZonesIsTwoRecords() throws {
        let world = try World()
        try world.modify(.note(.create, "x", ["a": 1]))
        try world.modify([.note(.create, "x", ["a": 2])], zoneID: nil)
        try world.modify([.note(.forceDelete, "x")], zoneID: nil)
        #expect(try world.contents() == [#"x@1 {"a":{"value":1,"type":"INT64"}}"#])
    }
}

import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import Testing

struct BatchTests {
    private func worldWithB(_ configure: (inout EmulatorConfiguration) -> Void = { _ in }) throws -> World {
        let world = try World(configure)
        try world.modify(.note(.create, "b"))
        return world
    }

    private let batch: [RecordOperation] = [
        .note(.create, "a"), .note(.update, "b", tag: "old"), .note(.create, "c"),
    ]

    @Test func theConfigurationSaysHowAnAtomicFailureIsReported() throws {
        #expect(
            try worldWithB().modify(batch, atomic: true)
                == [
                    "a! ATOMIC_ERROR Atomic failure", "b! CONFLICT client oplock error updating record",
                    "c! ATOMIC_ERROR Atomic failure",
                ]
        )
        let world = try worldWithB { $0.unsettled.atomicFailure = .wholeRequest }
        #expect(refusal { try world.modify(batch, atomic: true) } == "ATOMIC_ERROR Atomic failure")
        #expect(try world.contents() == ["b@1 {}"])
    }

    @Test func anUndoneBatchTeachesNoTypes() throws {
        let world = try worldWithB()
        try world.modify([.note(.create, "a", ["n": 1]), .note(.update, "b", tag: "old")], atomic: true)
        #expect(
            try world.modify(.note(.create, "a", ["n": "text"])) == [#"a@2 {"n":{"value":"text","type":"STRING"}}"#]
        )
        #expect(try world.find(RecordQuery(recordType: "Note", filters: [QueryFilter("n", .equals, "text")])) == ["a"])
    }

    @Test func theDefaultZoneIsNotAtomic() throws {
        let world = try World()
        let batch: [RecordOperation] = [.note(.create, "a"), .note(.update, "b", tag: "1")]
        #expect(
            try world.modify(batch, zoneID: nil, atomic: true)
                == ["a@1 {}", "b! NOT_FOUND recordChangeTag specified, but record not found"]
        )
        let strict = try World { $0.unsettled.atomicInDefaultZone = .refused }
        #expect(
            refusal { try strict.modify(batch, zoneID: nil, atomic: true) }
                == "BAD_REQUEST zone '_defaultZone' does not support atomic batches"
        )
    }

    @Test func whatAnAbsentAtomicMeansIsASwitch() throws {
        let world = try worldWithB { $0.unsettled.atomicByDefault = true }
        try world.modify(batch)
        #expect(try world.contents() == ["b@1 {}"])
        try world.modify(batch, atomic: false)
        #expect(try world.contents() == ["b@1 {}", "a@2 {}", "c@3 {}"])
    }

    @Test func whatIsWrongWithABatchIsSaid() throws {
        let world = try World()
        let operations = (0...200).map { RecordOperation.note(.create, "r\($0)") }
        #expect(
            refusal { try world.modify(operations) } == "BAD_REQUEST a request has at most 200 operations, not 201"
        )
        #expect(
            refusal { try world.modify(.note(.create, "a"), .note(.forceUpdate, "a")) }
                == "BAD_REQUEST more than one operation on record 'a'"
        )
        #expect(
            refusal { try world.modify(.note(.create, "a"), .note("upsert", "b")) }
                == "BAD_REQUEST unknown operation 'upsert'"
        )
        #expect(
            refusal {
                try world.asAnn().lookupRecords((0...200).map { RecordLookup(recordName: "\($0)") })
            } == "BAD_REQUEST a request has at most 200 records, not 201"
        )
    }

    @Test func aRecordOfMoreThanOneMegabyteIsRefused() throws {
        let world = try World()
        let large = FieldValue.bytes(Data(count: 1_100_000))
        let fitting = FieldValue.bytes(Data(count: 900_000))
        let results = try world.modify(.note(.create, "a", ["d": large]), .note(.create, "b", ["d": fitting]))
        #expect(results[0] == "a! LIMIT_EXCEEDED record 'a' has 1100001 bytes; at most 1048576 are allowed")
        #expect(results[1].hasPrefix("b@1 "))
        #expect(try world.contents().count == 1)
    }

    @Test func numbersComeAsStringsOnDemand() throws {
        let world = try World()
        try world.modify(
            .note(
                .create,
                "a",
                [
                    "i": .int64(9_007_199_254_740_993), "d": 1.5, "t": .timestamp(Date(timeIntervalSince1970: 1)),
                    "l": [1, 2].asInt64List, "s": "text",
                ]
            )
        )
        let page = try world.asAnn().lookupRecords(
            [RecordLookup(recordName: "a")],
            zoneID: World.notes,
            numbersAsStrings: true
        )
        #expect(
            page.records.map(summary) == [
                #"a@1 {"i":{"value":"9007199254740993","type":"INT64"},"d":{"value":"1.5","type":"DOUBLE"},"#
                    + #""t":{"value":"1000","type":"TIMESTAMP"},"l":{"value":["1","2"],"type":"INT64_LIST"},"#
                    + #""s":{"value":"text","type":"STRING"}}"#
            ]
        )
    }
}

extension [Int64] {
    fileprivate var asInt64List: FieldValue { .int64List(self) }
}

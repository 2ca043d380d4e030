import CloudKitEmulator
import CloudKitModel
import Testing

/// What the service makes of a field's value, given as it comes over the wire.
struct FieldRulesTests {
    /// Saves a field of a new record in a world where `known` was saved before, and gives the stored field or the refusal.
    private func save(_ json: String, after known: String? = nil, in scope: DatabaseScope = .private) throws -> String {
        let world = try World()
        let address = DatabaseAddress(World.container, .development, scope)
        let zoneID = scope == .public ? nil : World.notes
        for (name, json) in [("known", known), ("x", json)] {
            guard let json else { continue }
            let operation: RecordOperation = try value(
                #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"T","fields":{"f":\#(json)}}}"#
            )
            let page = try world.emulator.modifyRecords(
                [operation],
                in: address,
                zoneID: zoneID,
                as: .user(world.ann)
            )
            switch page.records[0] {
            case .record(let record):
                if name == "x" { return record.fields["f"].map { text($0) } ?? "absent" }
            case .failure(let error):
                return "\(error.serverErrorCode.rawValue) \(error.reason ?? "")"
            }
        }
        return "?"
    }

    private func mismatch(_ value: String, _ known: String) -> String {
        "BAD_REQUEST invalid attempt to set value type \(value) for field 'f' for type 'T', defined to be: \(known)"
    }

    @Test func untaggedValuesAreInferred() throws {
        #expect(try save(#"{"value":"x"}"#) == #"{"value":"x","type":"STRING"}"#)
        #expect(try save(#"{"value":1}"#) == #"{"value":1,"type":"INT64"}"#)
        #expect(try save(#"{"value":1.5}"#) == #"{"value":1.5,"type":"DOUBLE"}"#)
        #expect(try save(#"{"value":true}"#) == #"{"value":1,"type":"INT64"}"#)
        #expect(try save(#"{"value":["a"]}"#) == #"{"value":["a"],"type":"STRING_LIST"}"#)
        #expect(try save(#"{"value":[1]}"#) == #"{"value":[1],"type":"INT64_LIST"}"#)
        #expect(try save(#"{"value":[]}"#) == #"{"value":[],"type":"UNKNOWN_LIST"}"#)
        #expect(
            try save(#"{"value":[]}"#, after: #"{"value":["a"]}"#) == #"{"value":[],"type":"STRING_LIST"}"#
        )
        #expect(try save(#"{"value":null}"#) == #"{"value":null}"#)
        #expect(
            try save(#"{"value":{"latitude":1.5,"longitude":2.5}}"#)
                == #"{"value":{"latitude":1.5,"longitude":2.5},"type":"LOCATION"}"#
        )
    }

    @Test func taggedValuesAreWhatTheySay() throws {
        #expect(try save(#"{"value":2,"type":"DOUBLE"}"#) == #"{"value":2.0,"type":"DOUBLE"}"#)
        #expect(
            try save(#"{"value":-62135596800000,"type":"TIMESTAMP"}"#)
                == #"{"value":-62135596800000,"type":"TIMESTAMP"}"#
        )
        #expect(try save(#"{"value":"AQID","type":"BYTES"}"#) == #"{"value":"AQID","type":"BYTES"}"#)
        #expect(
            try save(#"{"value":[],"type":"STRING_LIST"}"#) == #"{"value":[],"type":"STRING_LIST"}"#
        )
        #expect(
            try save(#"{"value":["b","a","b"],"type":"STRING_LIST"}"#)
                == #"{"value":["b","a","b"],"type":"STRING_LIST"}"#
        )
    }

    @Test func valuesThatDoNotFitTheirTypeAreRefused() throws {
        func expected(_ type: String) -> String { "BAD_REQUEST Invalid value, expected type \(type)." }
        #expect(try save(#"{"value":1000.5,"type":"TIMESTAMP"}"#) == expected("TIMESTAMP"))
        #expect(try save(#"{"value":"1000","type":"TIMESTAMP"}"#) == expected("TIMESTAMP"))
        #expect(try save(#"{"value":"x","type":"INT64"}"#) == expected("INT64"))
        #expect(try save(#"{"value":"%%%","type":"BYTES"}"#) == expected("BYTES"))
        #expect(try save(#"{"value":"red","type":"COLOR"}"#) == expected("COLOR"))
        #expect(try save(#"{"value":{"latitude":91,"longitude":0},"type":"LOCATION"}"#) == expected("LOCATION"))
        #expect(try save(#"{"value":{"latitude":9},"type":"LOCATION"}"#) == expected("LOCATION"))
        #expect(try save(#"{"value":"x","type":"REFERENCE"}"#) == "BAD_REQUEST could not decode reference object")
        #expect(try save(#"{"value":["a",1]}"#) == "BAD_REQUEST BadRequestException: Unexpected input")
        #expect(try save(#"{"value":["a",null]}"#) == "BAD_REQUEST BadRequestException: Unexpected input")
    }

    @Test func elementsOfListsObeyTheRulesOfTheirType() throws {
        func expected(_ type: String) -> String { "BAD_REQUEST Invalid value, expected type \(type)." }
        #expect(try save(#"{"value":1e300,"type":"TIMESTAMP"}"#) == expected("TIMESTAMP"))
        #expect(try save(#"{"value":[1e300],"type":"TIMESTAMP_LIST"}"#) == expected("TIMESTAMP"))
        #expect(try save(#"{"value":["nan"],"type":"DOUBLE_LIST"}"#) == expected("DOUBLE_LIST"))
        #expect(try save(#"{"value":["5"],"type":"INT64_LIST"}"#) == expected("INT64_LIST"))
        #expect(try save(#"{"value":[1,"5"],"type":"INT64_LIST"}"#) == expected("INT64_LIST"))
        #expect(try save(#"{"value":["1000"],"type":"TIMESTAMP_LIST"}"#) == expected("TIMESTAMP_LIST"))
    }

    @Test func theFirstValueFixesTheTypeOfAField() throws {
        #expect(try save(#"{"value":1}"#, after: #"{"value":1.5,"type":"DOUBLE"}"#) == mismatch("INT64", "DOUBLE"))
        #expect(try save(#"{"value":1}"#, after: #"{"value":1,"type":"TIMESTAMP"}"#) == mismatch("INT64", "TIMESTAMP"))
        #expect(
            try save(#"{"value":"AQID"}"#, after: #"{"value":"AQID","type":"BYTES"}"#) == mismatch("STRING", "BYTES")
        )
        #expect(try save(#"{"value":["a"]}"#, after: #"{"value":"a"}"#) == mismatch("STRING_LIST", "STRING"))
        #expect(try save(#"{"value":null}"#, after: #"{"value":"a"}"#) == #"{"value":null}"#)
    }

    @Test func encryptedFieldsFollowTheirRules() throws {
        let secret = #"{"value":"x","type":"STRING","isEncrypted":true}"#
        #expect(try save(secret) == secret)
        #expect(try save(#"{"value":"x"}"#, after: secret) == mismatch("STRING", "ENCRYPTED_STRING"))
        #expect(
            try save(#"{"value":"x","isEncrypted":true}"#, after: secret)
                == mismatch("ENCRYPTED_BYTES", "ENCRYPTED_STRING")
        )
        #expect(
            try save(secret, after: #"{"value":"x"}"#)
                == "BAD_REQUEST Attempt to save encrypted data in non encrypted field type"
        )
        #expect(
            try save(secret, in: .public) == "BAD_REQUEST encrypted fields are not supported in the public database"
        )
    }

    @Test func aRecordTypeHasAtMost256Fields() throws {
        let world = try World()
        let fields = Record.Fields((0..<256).map { ("f\($0)", FieldValue.int64(1)) })
        try world.modify(.note(.create, "a", fields))
        #expect(
            try world.modify(.note(.create, "b", ["g": 1]))
                == ["b! BAD_REQUEST record type 'Note' would have more than 256 fields"]
        )
    }

    @Test func aClearedFieldIsFoundNoMore() throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["n": 1, "m": 2]))
        try world.modify(.note(.forceUpdate, "a", ["n": .null]))
        #expect(try world.contents() == [#"a@2 {"n":{"value":null},"m":{"value":2,"type":"INT64"}}"#])
        #expect(try world.find(RecordQuery(recordType: "Note", filters: [QueryFilter("n", .equals, 1)])) == [])
        #expect(try world.find(RecordQuery(recordType: "Note", filters: [QueryFilter("m", .equals, 2)])) == ["a"])
    }
}

import CloudKitEmulator
import CloudKitModel
import Testing

/// How the service reads the value of a field in its JSON form.
struct FieldRulesTests {
    /// Saves a field of a new record in a world where `known` was saved before. Returns the stored field or the
    /// refusal.
    private func save(_ json: String, after known: String? = nil, in scope: DatabaseScope = .private) throws -> String {
        let world = try World()
        let address = DatabaseAddress(World.container, .development, scope)
        let zoneID = scope == .public ? nil : World.notes
        for (name, json) in [("known", known), ("x", json)] {
            guard let json else { continue }
            let operation: RecordOperation = try value(
                #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"T","fields":{"f":\#(json)}}}"#
            )
            let page = try world.emulator.request(in: address, as: .user(world.ann)).modifyRecords(
                [operation],
                zoneID: zoneID
            )
            switch page.records[0] {
            case .success(let record):
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
        for null in [#"{"value":null}"#, #"{"value":null,"type":"INT64"}"#, #"{"value":null,"type":"STRING_LIST"}"#] {
            #expect(try save(null) == #"{"value":null}"#)
        }
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

    /// A field that an untagged number created has the type NUMBER, for integers and fractions; a tag gives it the
    /// tag's type.
    @Test(arguments: [
        // first value, second value, second as stored or the types of the refusal
        (#"{"value":9.99}"#, #"{"value":10}"#, #"{"value":10,"type":"INT64"}"#),
        (#"{"value":10}"#, #"{"value":9.99}"#, #"{"value":9.99,"type":"DOUBLE"}"#),
        (#"{"value":10}"#, #"{"value":10,"type":"DOUBLE"}"#, #"{"value":10.0,"type":"DOUBLE"}"#),
        (#"{"value":9.99}"#, #"{"value":10,"type":"INT64"}"#, #"{"value":10,"type":"INT64"}"#),
        (#"{"value":9.99}"#, #"{"value":true}"#, #"{"value":1,"type":"INT64"}"#),
        (#"{"value":9.99}"#, #"{"value":10,"type":"NUMBER_INT64"}"#, #"{"value":10,"type":"INT64"}"#),
        (#"{"value":10}"#, #"{"value":9.99,"type":"NUMBER_DOUBLE"}"#, #"{"value":9.99,"type":"DOUBLE"}"#),
        (#"{"value":10,"type":"NUMBER_INT64"}"#, #"{"value":9.99}"#, #"{"value":9.99,"type":"DOUBLE"}"#),
        (#"{"value":9.99,"type":"NUMBER_DOUBLE"}"#, #"{"value":10}"#, #"{"value":10,"type":"INT64"}"#),
        (#"{"value":10}"#, #"{"value":null}"#, #"{"value":null}"#),
        (#"{"value":10}"#, #"{"value":"10"}"#, "STRING NUMBER"),
        (#"{"value":10}"#, #"{"value":10,"type":"TIMESTAMP"}"#, "TIMESTAMP NUMBER"),
        (#"{"value":10}"#, #"{"value":[10]}"#, "INT64_LIST NUMBER"),
        (#"{"value":10,"type":"INT64"}"#, #"{"value":9.99}"#, "DOUBLE INT64"),
        (#"{"value":9.99,"type":"DOUBLE"}"#, #"{"value":10}"#, "INT64 DOUBLE"),
        (#"{"value":true}"#, #"{"value":9.99}"#, "DOUBLE INT64"),
    ])
    func untaggedNumbersMakeFieldsOfNumbers(first: String, second: String, expected: String) throws {
        let types = expected.split(separator: " ").map(String.init)
        #expect(try save(second, after: first) == (types.count == 2 ? mismatch(types[0], types[1]) : expected))
    }

    /// A value that was written under an encrypted tag is returned with that tag. Other encrypted values are marked by
    /// the flag.
    @Test(
        arguments: [
            (#"{"value":"AQID","type":"ENCRYPTED_BYTES"}"#, nil),
            (#"{"value":"x","type":"ENCRYPTED_STRING"}"#, nil),
            (#"{"value":1,"type":"ENCRYPTED_INT64"}"#, nil),
            (#"{"value":["a"],"type":"ENCRYPTED_STRING_LIST"}"#, nil),
            (
                #"{"value":"AQID","type":"ENCRYPTED_BYTES","isEncrypted":true}"#,
                #"{"value":"AQID","type":"ENCRYPTED_BYTES"}"#
            ),
            (#"{"value":"AQID","type":"BYTES","isEncrypted":true}"#, nil),
        ] as [(String, String?)]
    )
    func encryptedTagsComeBack(sent: String, kept: String?) throws {
        #expect(try save(sent) == kept ?? sent)
        #expect(try save(sent, after: sent) == kept ?? sent)
        #expect(
            try save(sent, in: .public) == "BAD_REQUEST encrypted fields are not supported in the public database"
        )
        #expect(
            try save(sent, after: #"{"value":{"latitude":1.5,"longitude":2.5}}"#)
                == "BAD_REQUEST Attempt to save encrypted data in non encrypted field type"
        )
    }

    @Test func anEncryptedTagIsCheckedLikeTheTypeItEncrypts() throws {
        func expected(_ type: String) -> String { "BAD_REQUEST Invalid value, expected type \(type)." }
        #expect(try save(#"{"value":"%%%","type":"ENCRYPTED_BYTES"}"#) == expected("ENCRYPTED_BYTES"))
        #expect(try save(#"{"value":1,"type":"ENCRYPTED_STRING"}"#) == expected("ENCRYPTED_STRING"))
        #expect(try save(#"{"value":"1","type":"ENCRYPTED_INT64"}"#) == expected("ENCRYPTED_INT64"))
        #expect(try save(#"{"value":null,"type":"ENCRYPTED_BYTES"}"#) == #"{"value":null}"#)
        #expect(
            try save(
                #"{"value":"AQID","type":"BYTES","isEncrypted":true}"#,
                after: #"{"value":"AQID","type":"ENCRYPTED_BYTES"}"#
            )
                == #"{"value":"AQID","type":"BYTES","isEncrypted":true}"#
        )
        #expect(
            try save(#"{"value":"AQID","type":"BYTES"}"#, after: #"{"value":"AQID","type":"ENCRYPTED_BYTES"}"#)
                == mismatch("BYTES", "ENCRYPTED_BYTES")
        )
    }

    @Test func anEncryptedTagOutlivesChangesOfOtherFields() throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["secret": try value(#"{"value":"AQID","type":"ENCRYPTED_BYTES"}"#)]))
        try world.modify(.note(.forceUpdate, "a", ["n": 1]))
        #expect(
            try world.contents() == [
                #"a@2 {"secret":{"value":"AQID","type":"ENCRYPTED_BYTES"},"n":{"value":1,"type":"INT64"}}"#
            ]
        )
        let secret = QueryFilter("secret", .equals, .bytes(.init([1, 2, 3])))
        #expect(
            refusal { try world.find(RecordQuery(recordType: "Note", filters: [secret])) }
                == "BAD_REQUEST Field 'secret' has a value type of ENCRYPTED_BYTES "
                + "and cannot be queried using filter type EQUALS"
        )
    }

    /// An unknown type makes the whole request malformed, regardless of the record that has it.
    @Test func aTypeThatDoesNotExistRefusesTheRequest() throws {
        let world = try World()
        for tag in ["COLOR", "LIST", "NUMBER", "string", "", "ENCRYPTED_COLOR", "ASSETID_LIST_LIST"] {
            let odd = try value(#"{"value":"red","type":"\#(tag)"}"#) as FieldValue
            #expect(
                refusal { try world.modify(.note(.create, "a"), .note(.create, "b", ["f": odd])) }
                    == "BAD_REQUEST BadRequestException: Unexpected input",
                "\(tag)"
            )
            let filter = QueryFilter("f", .equals, odd)
            try world.modify(.note(.forceUpdate, "c", ["f": "x"]))
            #expect(
                refusal { try world.find(RecordQuery(recordType: "Note", filters: [filter])) }
                    == "BAD_REQUEST BadRequestException: Unexpected input"
            )
        }
        #expect(try world.contents().map { $0.prefix(2) } == ["c@"])
        let lenient = try World { $0.unsettled.unknownFieldType = .refusesRecord }
        let odd = try value(#"{"value":"red","type":"COLOR"}"#) as FieldValue
        #expect(
            try lenient.modify(.note(.create, "a"), .note(.create, "b", ["f": odd]))
                == ["a@1 {}", "b! BAD_REQUEST Invalid value, expected type COLOR."]
        )
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

import CloudKitModel
import Foundation
import StreamingJSON
import Testing

struct RecordTests {
    @Test func aRecordIsWrittenWithTaggedFields() throws {
        var note = Record(recordType: "Note", recordName: "A")
        note["title"] = "Hello"
        note["count"] = 3
        note["rating"] = 4.0
        note["tags"] = .list(["a", "b"])
        note["secret"] = .encrypted("x")
        note["old"] = .null
        let json = String(decoding: try JSONWriter.bytes(of: note), as: UTF8.self)
        #expect(
            json
                == #"{"recordName":"A","recordType":"Note","fields":{"title":{"value":"Hello","type":"STRING"},"#
                + #""count":{"value":3,"type":"INT64"},"rating":{"value":4.0,"type":"DOUBLE"},"#
                + #""tags":{"value":["a","b"],"type":"STRING_LIST"},"#
                + #""secret":{"value":"x","type":"STRING","isEncrypted":true},"old":{"value":null}}}"#
        )
        #expect(try JSONReader.read(Record.self, from: json) == note)
        #expect(note["title"]?.stringValue == "Hello")
        #expect(note["missing"] == nil)
        note["title"] = nil
        #expect(Array(note.fields.names) == ["count", "rating", "tags", "secret", "old"])
    }

    @Test func fieldsAreEqualWhateverTheirOrder() {
        let left: Record.Fields = ["a": 1, "b": "x"]
        let right: Record.Fields = ["b": "x", "a": 1]
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(left != ["a": 1, "b": "y"])
        #expect(left != ["a": 1, "c": "x"])
        #expect(left != ["a": 1])
    }

    @Test func recordsWithHundredsOfFieldsAndUnknownKeysKeepThemInOrder() throws {
        var members = (0..<300).map { #""key\#($0)":\#($0)"# }
        members += [#""key7":"again""#, #""key250":"again""#]
        var fields = (0..<300).map { #""field\#($0)":{"value":\#($0),"type":"INT64"}"# }
        fields += [#""field7":{"value":"again","type":"STRING"}"#, #""field250":{"value":"again","type":"STRING"}"#]
        var record = try JSONReader.read(
            Record.self,
            from: "{\(members.joined(separator: ",")),\"fields\":{\(fields.joined(separator: ","))}}"
        )
        #expect(record.otherKeys.map(\.name) == (0..<300).map { "key\($0)" })
        #expect(try record.otherKeys["key7"]?.read(String.self) == "again")
        #expect(try record.otherKeys["key250"]?.read(String.self) == "again")
        #expect(Array(record.fields.names) == (0..<300).map { "field\($0)" })
        #expect(record["field7"] == "again")
        #expect(record["field250"] == "again")
        #expect(record["field299"] == 299)

        record.otherKeys["key10"] = nil
        record.otherKeys["key299"] = try JSONRawValue("0")
        record.otherKeys["new"] = try JSONRawValue("1")
        #expect(record.otherKeys.count == 300)
        #expect(record.otherKeys.map(\.name).suffix(2) == ["key299", "new"])
    }

    @Test func ofRepeatedFieldsTheLastCounts() throws {
        let fields = try JSONReader.read(
            Record.Fields.self,
            from:
                #"{"a":{"value":1,"type":"INT64"},"b":{"value":2,"type":"INT64"},"\u0061":{"value":3,"type":"INT64"}}"#
        )
        #expect(fields == ["a": 3, "b": 2])
        #expect(fields.count == 2)
    }

    @Test func deletedRecordsOfFeedsHaveNoType() throws {
        var record = try expectRoundTrip(
            Record.self,
            #"{"recordName":"DEF456","recordType":null,"deleted":true,"recordChangeTag":"tag_def"}"#
        )
        #expect(record == Record(recordName: "DEF456", recordChangeTag: "tag_def", isDeleted: true))
        // A value replaces the null that was read.
        record.recordType = "Note"
        #expect(
            String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self)
                == #"{"recordName":"DEF456","recordType":"Note","recordChangeTag":"tag_def","deleted":true}"#
        )
    }

    @Test func unknownMembersAreKeptInOrder() throws {
        let json = #"{"zzz":{"a":[1,2.50,"x"]},"recordName":"A","expirationTime":1689562458,"aaa":null}"#
        var record = try expectRoundTrip(Record.self, json)
        #expect(record.otherKeys.map(\.name) == ["zzz", "expirationTime", "aaa"])
        #expect(try record.otherKeys["expirationTime"]?.read(Int.self) == 1_689_562_458)
        record.otherKeys["zzz"] = nil
        record.otherKeys["new"] = try JSONRawValue("value")
        #expect(
            String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self)
                == #"{"recordName":"A","expirationTime":1689562458,"aaa":null,"new":"value"}"#
        )
    }

    @Test func nullsAnywhereDoNotFail() throws {
        try expectRoundTrip(
            Record.self,
            #"""
            {"recordName":null,"recordType":null,"fields":null,"pluginFields":null,"recordChangeTag":null,"created":null,
             "modified":{"timestamp":null,"userRecordName":null,"deviceID":null},"deleted":null,"zoneID":null,"parent":null,
             "share":null,"shortGUID":null,"createShortGUID":null,"forRecord":null,"publicPermission":null,
             "participants":null,"owner":null,"currentUserParticipant":null,"serverErrorCode":null,"x":null}
            """#
        )
        try expectRoundTrip(ZoneID.self, #"{"zoneName":null,"ownerRecordName":null,"zoneType":null}"#)
        try expectRoundTrip(RecordQuery.self, #"{"recordType":"A","filterBy":null,"sortBy":null}"#)
        try expectRoundTrip(UserIdentity.self, #"{"userRecordName":null,"nameComponents":null,"lookupInfo":null}"#)
        try expectRoundTrip(Subscription.self, #"{"subscriptionID":null,"query":null,"zoneID":null,"firesOn":null}"#)
        try expectRoundTrip(
            ErrorResponse.self,
            #"{"uuid":null,"serverErrorCode":null,"reason":null,"retryAfter":null}"#
        )
    }

    @Test func stampsWithNumbersInStringsAreWrittenAsTheyCame() throws {
        let record = try expectRoundTrip(
            Record.self,
            #"{"created":{"timestamp":"1500","userRecordName":"_a"},"modified":{"timestamp":1500.5}}"#
        )
        #expect(record.created == Record.Stamp(timestamp: Date(timeIntervalSince1970: 1.5), userRecordName: "_a"))
        #expect(record.modified?.timestamp == Date(timeIntervalSince1970: 1.5005))
    }

    @Test func errorsAreToldFromRecordsByTheirCode() throws {
        let results = try JSONReader.read(
            [RecordResult].self,
            from: #"""
                [{"recordName":"A","reason":"Record not found","serverErrorCode":"NOT_FOUND"},
                 {"recordName":"B","recordType":"Note","serverErrorCode":null},
                 {"serverErrorCode":"BRAND_NEW","serverErrorMessage":"text","recordName":"C","retryAfter":2.5},
                 {"recordName":"D","extensionErrorCode":"X"}]
                """#
        )
        #expect(
            results[0] == .failure(RecordError(id: "A", serverErrorCode: .notFound, reason: "Record not found"))
        )
        #expect(try results[1].get().recordType == "Note")
        #expect(
            results[2]
                == .failure(
                    RecordError(id: "C", serverErrorCode: "BRAND_NEW", reason: "text", retryAfter: 2.5)
                )
        )
        #expect(throws: RecordError.self) { try results[3].get() }
        guard case .failure(let error) = results[3] else { return }
        #expect(error.serverErrorCode == .unknownError)
        #expect(error.extensionErrorCode == "X")
        #expect(
            String(decoding: try JSONWriter.bytes(of: results), as: UTF8.self)
                == #"[{"recordName":"A","serverErrorCode":"NOT_FOUND","reason":"Record not found"},"#
                + #"{"recordName":"B","recordType":"Note","serverErrorCode":null},"#
                + #"{"recordName":"C","serverErrorCode":"BRAND_NEW","serverErrorMessage":"text","retryAfter":2.5},"#
                + #"{"recordName":"D","extensionErrorCode":"X"}]"#
        )
    }

    @Test func parentsAreWrittenWithoutAnAction() throws {
        var record = Record(recordType: "Page")
        record.parent = Reference(recordName: "Book")
        record.createShortGUID = true
        #expect(
            String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self)
                == #"{"recordType":"Page","parent":{"recordName":"Book"},"createShortGUID":true}"#
        )
    }

    @Test func anOwnerNameIsReadAsWell() throws {
        let zone = try expectRoundTrip(ZoneID.self, #"{"zoneName":"Notes","ownerName":"_a"}"#)
        #expect(zone.ownerRecordName == nil)
        #expect(zone.owner == "_a")
    }

    @Test(arguments: [
        (#"[{"recordName":"A"},{"recordName":5}]"#, "typeMismatch", "$[1].recordName", 34),
        (#"[{"fields":[]}]"#, "typeMismatch", "$[0].fields", 11),
        (#"[{"fields":{"a":{"value":}}}]"#, "malformed", "$[0].fields.a.value", 25),
        (#"[{"created":{"timestamp":"yesterday"}}]"#, "invalidValue", "$[0].created.timestamp", 36),
        (#"[{"zoneID":{"zoneName":{}}}]"#, "typeMismatch", "$[0].zoneID.zoneName", 23),
        (#"[{"participants":[{"type":1}]}]"#, "typeMismatch", "$[0].participants[0].type", 26),
    ])
    func malformedShapesAreReportedWithTheirPlace(json: String, code: String, path: String, offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSONReader.read([RecordResult].self, from: json) }
        #expect(error.map { "\($0.code)" } == code)
        #expect(error?.path == path)
        #expect(error?.offset == offset)
    }

    @Test func missingPartsOfRequestsAreReported() {
        func code<Value: JSONReadable>(_ type: Value.Type, _ json: String) -> JSONError.Code? {
            do {
                _ = try JSONReader.read(Value.self, from: json)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(RecordOperation.self, #"{"operationType":"create"}"#) == .missingKey)
        #expect(code(RecordOperation.self, #"{"record":{}}"#) == .missingKey)
        #expect(code(RecordQuery.self, "{}") == .missingKey)
        #expect(code(QueryFilter.self, #"{"fieldName":"a","fieldValue":{"value":1}}"#) == .missingKey)
        #expect(code(ZoneOperation.self, #"{"operationType":"create","zone":{}}"#) == .missingKey)
        #expect(code(Reference.self, "{}") == .missingKey)
    }

    @Test func otherEncodersAndDecodersAreServed() throws {
        var record = Record(recordType: "Note", recordName: "A", fields: ["title": "Hello", "n": 3])
        record.zoneID = ZoneID(zoneName: "Notes", zoneType: .regularCustomZone)
        let data = try JSONEncoder().encode([record])
        #expect(try foundationObject([UInt8](data)).isEqual(try foundationObject(JSONWriter.bytes(of: [record]))))
        #expect(try JSONDecoder().decode([Record].self, from: data) == [record])
        let codes: [ServerErrorCode] = [.conflict, "NEW"]
        #expect(try JSONDecoder().decode([ServerErrorCode].self, from: JSONEncoder().encode(codes)) == codes)
    }
}

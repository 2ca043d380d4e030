import CloudKitModel
import Foundation
import StreamingJSON
import TestSupport
import Testing

/// Recorded requests and responses of Apple's service are read completely. Foundation's parser checks the result.
@Suite(.enabled(if: SharedFolder.hasRecordedExchanges, "the recorded exchanges are not beside the package"))
struct RecordedExchangesTests {
    /// The top-level members of all recorded responses.
    struct Response: JSONReadable, JSONWritable, Equatable {
        var records: [RecordResult]?
        var zones: [ZoneResult]?
        var otherKeys: [String: JSONRawValue] = [:]

        private static let keys = JSONKeys("records", "zones")

        init(json reader: inout JSONReader) throws(JSONError) {
            try reader.beginObject()
            while let key = try reader.nextKey(in: Self.keys) {
                switch key {
                case 0: records = try reader.read()
                case 1: zones = try reader.read()
                default: otherKeys[try reader.lastKey()] = try reader.readRawValue()
                }
            }
        }

        func write(json writer: inout JSONWriter) {
            writer.beginObject()
            if let records {
                writer.key("records")
                writer.write(records)
            }
            if let zones {
                writer.key("zones")
                writer.write(zones)
            }
            for (key, value) in otherKeys {
                writer.key(key)
                writer.writeRaw(value)
            }
            writer.endObject()
        }
    }

    @Test(arguments: [
        "query-200-records", "query-32-records", "query-17-records-string-and-encrypted", "query-empty-page",
        "modify-update", "zones-list-private", "zones-list-shared",
    ])
    func everyResponseIsReadCompletelyAndWrittenAgain(name: String) throws {
        let bytes = try SharedFolder.recorded("\(name).response")
        let response = try expectRoundTrip(Response.self, String(decoding: bytes, as: UTF8.self))
        let expected = try #require(try foundationObject(bytes) as? [String: Any])
        #expect(response.records?.count == (expected["records"] as? [Any])?.count)
        #expect(response.zones?.count == (expected["zones"] as? [Any])?.count)
        for (result, object) in zip(response.records ?? [], expected["records"] as? [[String: Any]] ?? []) {
            let record = try result.get()
            #expect(record.recordName == object["recordName"] as? String)
            #expect(record.recordType == object["recordType"] as? String)
            #expect(record.recordChangeTag == object["recordChangeTag"] as? String)
            #expect(record.isDeleted == object["deleted"] as? Bool)
            try check(record.created, object["created"])
            try check(record.modified, object["modified"])
            let zone = object["zoneID"] as? [String: Any]
            #expect(record.zoneID?.zoneName == zone?["zoneName"] as? String)
            #expect(record.zoneID?.ownerRecordName == zone?["ownerRecordName"] as? String)
            #expect(record.zoneID?.zoneType?.rawValue == zone?["zoneType"] as? String)
            let fields = try #require(object["fields"] as? [String: [String: Any]])
            #expect(Set(record.fields.names) == Set(fields.keys))
            for (name, field) in fields {
                try check(try #require(record[name]), field)
            }
        }
    }

    private func check(_ stamp: Record.Stamp?, _ object: Any?) throws {
        let object = try #require(object as? [String: Any])
        let stamp = try #require(stamp)
        #expect(stamp.timestamp.timeIntervalSince1970 * 1000 == (object["timestamp"] as? NSNumber)?.doubleValue)
        #expect(stamp.userRecordName == object["userRecordName"] as? String)
        #expect(stamp.deviceID == object["deviceID"] as? String)
    }

    /// Expects that a field has the type and the value of its JSON.
    private func check(_ field: FieldValue, _ object: [String: Any]) throws {
        let type = try #require(object["type"] as? String)
        #expect(field.type?.rawValue == type)
        switch type {
        case "STRING":
            #expect(field == .string(try #require(object["value"] as? String)))
        case "INT64":
            #expect(field == .int64(try #require(object["value"] as? NSNumber).int64Value))
        case "DOUBLE":
            #expect(field == .double(try #require(object["value"] as? NSNumber).doubleValue))
        case "TIMESTAMP":
            let milliseconds = try #require(object["value"] as? NSNumber).doubleValue
            #expect(field == .timestamp(Date(timeIntervalSince1970: milliseconds / 1000)))
        case "BYTES", "ENCRYPTED_BYTES":
            #expect(field.bytesValue == Data(base64Encoded: try #require(object["value"] as? String)))
        case "REFERENCE":
            let value = try #require(object["value"] as? [String: Any])
            let reference = try #require(field.referenceValue)
            #expect(reference.recordName == value["recordName"] as? String)
            #expect(reference.action.rawValue == value["action"] as? String)
            #expect(reference.zoneID?.zoneName == (value["zoneID"] as? [String: Any])?["zoneName"] as? String)
        case "ASSETID":
            let value = try #require(object["value"] as? [String: Any])
            #expect(
                field.assetValue
                    == Asset(
                        fileChecksum: value["fileChecksum"] as? String,
                        size: (value["size"] as? NSNumber)?.int64Value,
                        wrappingKey: value["wrappingKey"] as? String,
                        referenceChecksum: value["referenceChecksum"] as? String,
                        downloadURL: value["downloadURL"] as? String
                    )
            )
        case "STRING_LIST":
            #expect(field == .stringList(try #require(object["value"] as? [String])))
        case "INT64_LIST":
            #expect(field == .int64List(try #require(object["value"] as? [NSNumber]).map(\.int64Value)))
        default:
            Issue.record("a recorded field has the type \(type), which this test does not know")
        }
    }

    @Test(arguments: ["query-200-records", "query-32-records", "query-17-records-string-and-encrypted"])
    func queriesAreReadAndWrittenAgain(name: String) throws {
        struct Request: JSONReadable, JSONWritable, Equatable {
            var query: RecordQuery
            var zoneID: ZoneID

            init(json reader: inout JSONReader) throws(JSONError) {
                let members = try [String: JSONRawValue](json: &reader)
                guard let query = members["query"], let zoneID = members["zoneID"] else {
                    throw reader.error(.missingKey, "no query, or no zone")
                }
                self.query = try query.read()
                self.zoneID = try zoneID.read()
            }

            func write(json writer: inout JSONWriter) {
                writer.beginObject()
                writer.key("query")
                writer.write(query)
                writer.key("zoneID")
                writer.write(zoneID)
                writer.endObject()
            }
        }
        let bytes = try SharedFolder.recorded("\(name).request")
        let request = try JSONReader.read(Request.self, from: bytes)
        #expect(request.zoneID == ZoneID(zoneName: "PrimarySync"))
        let written = try #require(try foundationObject(JSONWriter.bytes(of: request)) as? [String: NSObject])
        let expected = try #require(try foundationObject(bytes) as? [String: NSObject])
        #expect(written["query"] == expected["query"])
        if name == "query-200-records" {
            #expect(
                request.query
                    == RecordQuery(
                        recordType: "CPLAssetAndMasterByAddedDate",
                        filters: [QueryFilter("startRank", .equals, 0), QueryFilter("direction", .equals, "ASCENDING")]
                    )
            )
        }
    }
}

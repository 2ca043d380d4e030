import CloudKitModel
import Foundation
import HTTPTypes
import MistTesting
import StreamingJSON
import Testing

/// Records, zones and changes over HTTP.
@Suite(.serialized)
struct RecordTests {
    static let connections = EmulatorConnection.allCases

    /// The codes of failed items and the names of the others, in order.
    private func outcomes(_ reply: Reply, _ key: String = "records") -> [String] {
        (reply.json[key]?.arrayValue ?? []).map { item in
            let name = item["recordName"]?.stringValue ?? item["zoneID"]?["zoneName"]?.stringValue ?? "?"
            guard let code = item["serverErrorCode"]?.stringValue else { return name }
            return "\(name): \(code) \(item["reason"]?.stringValue ?? "-")"
        }
    }

    @Test func aTypeThatDoesNotExistRefusesTheWholeRequest() async throws {
        try await withCloudKitEmulator { emulator in
            let reply = try await emulator.post(
                "records/modify",
                as: .user,
                """
                {"operations":[
                  {"operationType":"create","record":{"recordType":"Note","recordName":"a"}},
                  {"operationType":"create","record":{"recordType":"Note","recordName":"b",
                    "fields":{"shade":{"value":"red","type":"COLOR"}}}}]}
                """
            )
            let uuid = try #require(reply.headerFields[.requestUUID])
            #expect(reply.status == 400)
            #expect(
                reply.json == [
                    "uuid": .string(uuid), "serverErrorCode": "BAD_REQUEST",
                    "reason": "BadRequestException: Unexpected input",
                ]
            )
            let found = try await emulator.post("records/lookup", as: .user, #"{"records":[{"recordName":"a"}]}"#)
            #expect(outcomes(found) == ["a: NOT_FOUND Record not found"])
        }
    }

    /// CloudKit JS sends a limit as the app gave it, even as text.
    @Test(arguments: [(#""3""#, 3), (#""500""#, 5), ("2", 2), ("null", 5)])
    func aLimitMayBeANumberInText(limit: String, count: Int) async throws {
        try await withCloudKitEmulator { emulator in
            let operations = (1...5).map {
                #"{"operationType":"create","record":{"recordType":"Note","recordName":"\#($0)"}}"#
            }
            let zone = #""zoneID":{"zoneName":"Notes"}"#
            _ = try await emulator.post(
                "zones/modify",
                in: .private,
                as: .user,
                #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#
            )
            _ = try await emulator.post(
                "records/modify",
                in: .private,
                as: .user,
                "{\(zone),\"operations\":[\(operations.joined(separator: ","))]}"
            )
            let requests = [
                ("records/query", #"{\#(zone),"query":{"recordType":"Note"},"resultsLimit":\#(limit)}"#),
                ("records/changes", #"{\#(zone),"resultsLimit":\#(limit)}"#),
                ("changes/zone", #"{"zones":[{\#(zone),"resultsLimit":\#(limit)}]}"#),
                ("changes/zone", #"{"zones":[{\#(zone)}],"resultsLimit":\#(limit)}"#),
            ]
            for (endpoint, body) in requests {
                let reply = try await emulator.post(endpoint, in: .private, as: .user, body)
                let records = reply.json["records"] ?? reply.json["zones"]?[0]?["records"]
                #expect(records?.arrayValue?.count == count, "\(endpoint)")
            }
            for endpoint in ["changes/database", "zones/changes"] {
                let reply = try await emulator.post(endpoint, in: .private, as: .user, #"{"resultsLimit":\#(limit)}"#)
                #expect(reply.status == 200, "\(endpoint)")
            }
        }
    }

    @Test(arguments: [#""x""#, #""""#, #""3.5""#, #"" 3""#, "3.5", "true", "[3]", #""0""#, #""-1""#])
    func aLimitThatIsNoWholeNumberIsRefused(limit: String) async throws {
        try await withCloudKitEmulator { emulator in
            let body = #"{"query":{"recordType":"Note"},"resultsLimit":\#(limit)}"#
            let reply = try await emulator.post("records/query", as: .user, body)
            #expect(reply.status == 400)
        }
    }

    @Test(arguments: connections)
    func whatIsCreatedIsQueriedAndLookedUp(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection, clock: TestClock()) { emulator in
            let created = try await emulator.post(
                "records/modify",
                as: .user,
                """
                {"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"n",
                  "fields":{"title":{"value":"Milk"},"stars":{"value":3},"due":{"value":1767225600000,"type":"TIMESTAMP"}}}}]}
                """
            )
            #expect(created.status == 200)
            let stamp: JSONValue = [
                "timestamp": 1_767_225_600_000, "userRecordName": .string(emulator.userRecordName), "deviceID": "2",
            ]
            let record = try #require(created.json["records"]?[0])
            let tag = try #require(record["recordChangeTag"])
            #expect(
                record == [
                    "recordName": "n", "recordType": "Note", "pluginFields": [:], "recordChangeTag": tag,
                    "fields": [
                        "title": ["value": "Milk", "type": "STRING"],
                        "stars": ["value": 3, "type": "INT64"],
                        "due": ["value": 1_767_225_600_000, "type": "TIMESTAMP"],
                    ],
                    "created": stamp, "modified": stamp, "deleted": false,
                ]
            )
            let query = """
                {"query":{"recordType":"Note","filterBy":[{"fieldName":"stars","comparator":"GREATER_THAN",
                  "fieldValue":{"value":2}}],"sortBy":[{"fieldName":"title"}]}}
                """
            let found = try await emulator.post("records/query", as: .apiToken, query)
            #expect(found.json == ["records": [record]])
            let token = try await emulator.post("records/query", query: "getCurrentSyncToken=true", query)
            #expect(token.json["records"] == [record])
            #expect(token.json["syncToken"]?.stringValue != nil)
            let lookedUp = try await emulator.post(
                "records/lookup",
                #"{"records":[{"recordName":"n"},{"recordName":"missing"}]}"#
            )
            #expect(lookedUp.json["records"]?[0] == record)
            #expect(outcomes(lookedUp) == ["n", "missing: NOT_FOUND Record not found"])
        }
    }

    @Test(arguments: connections)
    func aFieldOfEveryTypeComesBack(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let record = Fixtures.recordOfEveryFieldType(named: "all", encrypted: true)
            var request = JSONWriter()
            request.beginObject()
            request.key("operations")
            request.write([RecordOperation(.create, record: record)])
            request.endObject()
            let body = String(decoding: try request.finish(), as: UTF8.self)
            let saved = try await emulator.post("records/modify", in: .private, as: .user, body)
            let read = try await emulator.post(
                "records/lookup",
                in: .private,
                as: .user,
                #"{"records":[{"recordName":"all"}]}"#
            )
            #expect(saved.json["records"] == read.json["records"])
            let json = try #require(read.json["records"]?[0])
            var back = try JSONReader.read(Record.self, from: JSONWriter.bytes(of: json))
            // References come back with their zone, in custom zones.
            let reference = back["reference"]?.referenceValue
            #expect(reference?.recordName == "elsewhere")
            for (name, value) in record.fields {
                #expect(back[name]?.type == value.type, "\(name)")
                if !name.hasPrefix("reference") { #expect(back[name]?.plain == value.plain, "\(name)") }
                back[name] = nil
            }
            #expect(back.fields.isEmpty)
        }
    }

    @Test(arguments: connections)
    func changesAreFedZoneByZoneAndOnce(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            func post(_ endpoint: String, _ json: String) async throws -> Reply {
                try await emulator.post(endpoint, in: .private, as: .user, json)
            }
            let zone = #""zoneID":{"zoneName":"Notes"}"#
            _ = try await post("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
            _ = try await post(
                "records/modify",
                """
                {\(zone),"operations":[
                  {"operationType":"create","record":{"recordType":"Note","recordName":"a","fields":{}}},
                  {"operationType":"create","record":{"recordType":"Note","recordName":"b","fields":{}}}]}
                """
            )
            let database = try await post("changes/database", "{}")
            #expect(outcomes(database, "zones") == ["Notes"])
            #expect(database.json["moreComing"] == false)

            let first = try await post("changes/zone", #"{"zones":[{\#(zone)},{"zoneID":{"zoneName":"None"}}]}"#)
            #expect(first.status == 200)
            let changes = try #require(first.json["zones"]?[0])
            #expect(changes["records"]?.arrayValue?.map { $0["recordName"] } == ["a", "b"])
            #expect(changes["moreComing"] == false)
            #expect(first.json["zones"]?[1]?["serverErrorCode"] == "ZONE_NOT_FOUND")

            let token = try #require(changes["syncToken"]?.stringValue)
            _ = try await post(
                "records/modify",
                #"{\#(zone),"operations":[{"operationType":"forceDelete","record":{"recordName":"a"}}]}"#
            )
            let second = try await post("changes/zone", #"{"zones":[{\#(zone),"syncToken":"\#(token)"}]}"#)
            let deleted = try #require(second.json["zones"]?[0]?["records"]?.arrayValue)
            #expect(deleted.map { $0["recordName"] } == ["a"])
            #expect(deleted.map { $0["deleted"] } == [true])

            let old = try await post("records/changes", #"{\#(zone),"syncToken":"\#(token)"}"#)
            #expect(old.json["records"] == .array(deleted))
            let refused = try await post("records/changes", #"{"zoneID":{"zoneName":"_defaultZone"}}"#)
            #expect(refused.refusal == "400 BAD_REQUEST cannot get changes in default zone")
            let databaseToken = try #require(database.json["syncToken"]?.stringValue)
            let mixed = try await post("changes/zone", #"{"zones":[{\#(zone),"syncToken":"\#(databaseToken)"}]}"#)
            #expect(mixed.status == 200)
            #expect(mixed.json["zones"]?[0]?["serverErrorCode"] == "BAD_REQUEST")
        }
    }

    @Test(arguments: connections)
    func zonesAreMadeListedFoundAndRemoved(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            func post(_ endpoint: String, _ json: String) async throws -> Reply {
                try await emulator.post(endpoint, in: .private, as: .user, json)
            }
            let made = try await post(
                "zones/modify",
                """
                {"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}},
                               {"operationType":"delete","zone":{"zoneID":{"zoneName":"None"}}}]}
                """
            )
            #expect(outcomes(made, "zones").first == "Notes")
            #expect(made.json["zones"]?[1]?["serverErrorCode"] == "ZONE_NOT_FOUND")
            #expect(
                made.json["zones"]?[0]?["zoneID"] == [
                    "zoneName": "Notes", "ownerRecordName": .string(emulator.userRecordName),
                    "zoneType": "REGULAR_CUSTOM_ZONE",
                ]
            )
            let list = try await emulator.get("zones/list", in: .private, as: .user)
            #expect(outcomes(list, "zones") == ["_defaultZone", "Notes"])
            #expect(list.json["moreComing"] == false)
            let lookup = try await post("zones/lookup", #"{"zones":[{"zoneName":"None"},{"zoneName":"Notes"}]}"#)
            #expect(lookup.json["zones"]?[0]?["serverErrorCode"] == "ZONE_NOT_FOUND")
            #expect(lookup.json["zones"]?[1]?["zoneID"] == list.json["zones"]?[1]?["zoneID"])

            let changes = try await post("zones/changes", "{}")
            #expect(
                Set(changes.json.objectValue.map { Array($0.keys) } ?? []) == ["zones", "metaSyncToken", "moreComing"]
            )
            let token = try #require(changes.json["metaSyncToken"]?.stringValue)
            #expect(try await post("zones/changes", #"{"metaSyncToken":"\#(token)"}"#).json["zones"] == [])

            _ = try await post(
                "zones/modify",
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Notes"}}}]}"#
            )
            let missing = try await post(
                "records/query",
                #"{"query":{"recordType":"Note"},"zoneID":{"zoneName":"Notes"}}"#
            )
            #expect(missing.status == 404)
            #expect(missing.json["serverErrorCode"] == "ZONE_NOT_FOUND")
        }
    }
}

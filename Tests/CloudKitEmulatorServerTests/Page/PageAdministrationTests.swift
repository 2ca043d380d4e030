import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import Foundation
import HTTPTypes
import StreamingJSON
import Testing

@testable import CloudKitEmulatorServer

/// What the console's page asks of the administration.
struct PageAdministrationTests {
    @Test func zonesHaveTheirSizes() async throws {
        let page = try await PageServer()
        _ = try await page.ask(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
        )
        _ = try await page.ask(
            "records/modify",
            PageServer.create.replacing("]}", with: #"],"zoneID":{"zoneName":"Z"}}"#)
        )
        _ = try await page.ask(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Y"}}}]}"#
        )
        _ = try await page.ask(
            "zones/modify",
            #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Y"}}}]}"#
        )
        let path = "/containers/\(PageServer.container)/development/zones"
        let zones = try await page.administer(.get, path).read(Components.Schemas.ZoneList.self).zones
            .filter { $0.ownerRecordName == page.user }
        #expect(zones.map(\.zoneName) == ["Y", "Z", "_defaultZone"])
        #expect(zones.map(\.isDeleted) == [true, false, false])
        #expect(zones.map(\.records) == [0, 1, 0] && zones.map(\.changes) == [0, 1, 0])
        #expect(zones[1].recordBytes > 20 && zones[1].assetBytes == 0)
        #expect(zones[0].syncToken == nil)
        // The token is of the present state.
        let token = try #require(zones[1].syncToken)
        let changes = #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":""# + token + #""}]}"#
        let none = try await page.ask("changes/zone", changes)
        #expect(none.json["zones"]?[0]?["records"]?.arrayValue == [], "\(none.text)")
        _ = try await page.ask(
            "records/modify",
            PageServer.create.replacing(#""n""#, with: #""m""#).replacing("]}", with: #"],"zoneID":{"zoneName":"Z"}}"#)
        )
        let one = try await page.ask("changes/zone", changes)
        #expect(one.json["zones"]?[0]?["records"]?[0]?["recordName"]?.stringValue == "m", "\(one.text)")
        let containers = try await page.administer(.get, "/containers")
        #expect(
            containers.json == [
                "containers": [["container": .string(PageServer.container), "environments": ["development"]]]
            ]
        )
    }

    @Test func aPushIsShownWithItsPayload() async throws {
        let page = try await PageServer()
        let subscribe =
            #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"S","subscriptionType":"query","firesOn":["create"],"query":{"recordType":"Note"},"notificationInfo":{"alertBody":"New"}}}]}"#
        _ = try await page.ask("subscriptions/modify", subscribe)
        let path = "/containers/\(PageServer.container)/development/subscriptions"
        func list() async throws -> Components.Schemas.SubscriptionList {
            try await page.administer(.get, path).read(Components.Schemas.SubscriptionList.self)
        }
        #expect(try await list().subscriptions.map(\.pushes) == [0])
        _ = try await page.ask("records/modify", PageServer.create)
        let first = try await list()
        #expect(first.subscriptions.map(\.subscriptionID) == ["S"] && first.subscriptions.map(\.pushes) == [1])
        #expect(
            first.subscriptions.map(\.ownerRecordName) == [page.user] && first.subscriptions[0].database == ._private
        )
        #expect(first.pushes.map(\.devices) == [0] && first.pushes[0].payload.contains(#""n""#), "\(first.pushes)")
        // With a device the payload is what the device gets.
        _ = try await page.ask("records/modify", PageServer.create.replacing(#""n""#, with: #""m""#))
        let database = DatabaseAddress(PageServer.container, .development, .public)
        let device = try page.emulator.request(in: database, as: .user(page.user)).createDevice()
        _ = try await page.ask("records/modify", PageServer.create.replacing(#""n""#, with: #""o""#))
        let latest = try #require(try await list().pushes.first)
        let received = try page.emulator.takePushes(forDeviceToken: device)
        #expect(latest.devices == 1 && received.map { String(decoding: $0, as: UTF8.self) } == [latest.payload])
    }

    @Test func theSchemaIsShownAndSwiftIsWritten() async throws {
        let page = try await PageServer()
        let path = "/containers/\(PageServer.container)/development/schema"
        _ = try await page.ask("records/modify", PageServer.create)
        let extended = try await page.administer(.get, path + "/types").read(Components.Schemas.SchemaDescription.self)
        #expect(!extended.isEnforced && extended.types.map(\.name).contains("Note"))
        let schema =
            "DEFINE SCHEMA CREATE ROLE editor; RECORD TYPE Note (title STRING SORTABLE, secret ENCRYPTED STRING, GRANT READ, WRITE TO \"_world\");"
        let imported = try await page.administer(.put, path, schema, type: "text/plain")
        #expect(imported.status == .ok, "\(imported.text)")
        let described = try await page.administer(.get, path + "/types").read(Components.Schemas.SchemaDescription.self)
        #expect(described.isEnforced && described.roles == ["editor"])
        let note = try #require(described.types.first { $0.name == "Note" })
        let title = try #require(note.fields.first { $0.name == "title" })
        #expect(title._type == "STRING" && title.indexes == [.sortable] && !title.isEncrypted)
        #expect(note.fields.first { $0.name == "secret" }?.isEncrypted == true)
        #expect(note.grants.map(\.role) == ["_world"] && note.grants[0].permissions == [.read, .write])
        #expect(try await page.administer(.get, path + "/swift").text.contains("struct Note"))
        let production = path.replacing("development", with: "production")
        let index = #"{"recordType":"Note","field":"title","index":"queryable"}"#
        #expect(try await page.administer(.post, production + "/indexes", index).status == .conflict)
        let missing = index.replacing("title", with: "nothing")
        #expect(try await page.administer(.post, path + "/indexes", missing).status == .notFound)
        let other = index.replacing("Note", with: "Other")
        #expect(try await page.administer(.post, path + "/indexes", other).status == .notFound)
        #expect(try await page.administer(.post, path + "/indexes", index).status == .ok)
        let role = #"{"recordType":"Note","role":"nobody","permission":"read"}"#
        #expect(try await page.administer(.post, path + "/grants", role).status == .conflict)
    }

    @Test func faultsCountHowOftenTheyFire() async throws {
        let page = try await PageServer()
        let rule =
            #"{"fault":"throttle","on":"zones/list","calls":"all","by":"\#(page.user)","probability":0.5,"seed":11}"#
        func outcomes() async throws -> [Int] {
            var codes: [Int] = []
            for _ in 0..<40 { codes.append(try await page.ask("zones/list").status.code) }
            return codes
        }
        let added = try await page.administer(.post, "/faults", rule)
        #expect(added.status == .ok, "\(added.text)")
        let first = try await outcomes()
        let throttled = first.filter { $0 == 429 }.count
        #expect((8...32).contains(throttled))
        let other = try page.emulator.createUser()
        #expect(try await page.ask("zones/list", as: other).status == .ok)
        let states = try await page.administer(.get, "/faults").json["rules"]
        #expect(states?[0]?["matchedRequests"]?.int64Value == 40)
        #expect(states?[0]?["firedRequests"]?.int64Value == Int64(throttled))
        // The same seed affects the same requests, and another one others.
        _ = try await page.administer(.delete, "/faults/1")
        _ = try await page.administer(.post, "/faults", rule)
        #expect(try await outcomes() == first)
        _ = try await page.administer(.put, "/faults", "[\(rule.replacing("11", with: "12"))]")
        #expect(try await outcomes() != first)
        #expect(try await page.administer(.delete, "/faults/2").status == .notFound)
        for wrong in [#""probability":1.5"#, #""probability":"x""#, #""seed":-1"#, #""by":"""#] {
            let reply = try await page.administer(.post, "/faults", #"{"fault":"hang",\#(wrong)}"#)
            #expect(reply.status == .badRequest && reply.json["code"]?.stringValue == "invalidRule", "\(wrong)")
        }
        #expect(page.server.faults.rules.count == 1)
    }

    @Test func aFaultOfASignedInClientIsFoundByItsToken() async throws {
        let page = try await PageServer()
        let api = try page.emulator.registerAPIToken(for: PageServer.container, in: .development)
        let token = try page.emulator.issueWebAuthToken(for: page.user)
        _ = try await page.administer(.post, "/faults", #"{"fault":"throttle","calls":"all","by":"\#(page.user)"}"#)
        let path = "/database/1/\(PageServer.container)/development/public/users/caller"
        let encoded = token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let affected = try await page.send(.get, "\(path)?ckAPIToken=\(api)&ckWebAuthToken=\(encoded)", page: [:])
        #expect(affected.status == .tooManyRequests)
        #expect(try await page.send(.get, "\(path)?ckAPIToken=\(api)", page: [:]).status == .misdirectedRequest)
    }

    @Test func snapshotsAreTakenAndRestoredByThePage() async throws {
        let page = try await PageServer()
        _ = try await page.ask("records/modify", PageServer.create)
        #expect(try await page.administer(.post, "/snapshots", #"{"name":"one"}"#).json["records"]?.int64Value == 1)
        #expect(try await page.administer(.post, "/snapshots", #"{"name":"one"}"#).status == .conflict)
        #expect(try await page.administer(.post, "/snapshots", #"{"name":"../x"}"#).status == .badRequest)
        _ = try await page.ask(
            "records/modify",
            #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"n"}}]}"#
        )
        let comparison = try await page.administer(.get, "/snapshots/one/comparison").json
        #expect(comparison["removed"]?.int64Value == 1 && comparison["records"]?[0]?["recordName"]?.stringValue == "n")
        #expect(try await page.administer(.post, "/snapshots/one/restoration").status == .ok)
        #expect(try page.emulator.recordCounts().map(\.records) == [1])
        let file = try await page.administer(.get, "/snapshots/one")
        #expect(file.headerFields[.contentType] == "application/vnd.sqlite3" && file.bytes.count > 1000)
        #expect(try await page.administer(.delete, "/snapshots/one").status == .noContent)
        #expect(try await page.administer(.post, "/snapshots/one/restoration").status == .notFound)
        let text = try await page.administer(.put, "/snapshots/two", "text", type: "application/vnd.sqlite3")
        #expect(text.status == .badRequest)
        #expect(try await page.administer(.get, "/snapshots").json == ["snapshots": .array([])])
    }

    @Test func metricsCountRequests() async throws {
        let page = try await PageServer()
        for _ in 0..<3 { _ = try await page.ask("records/modify", PageServer.create) }
        _ = try await page.administer(.post, "/faults", #"{"fault":"throttle"}"#)
        _ = try await page.ask("zones/list")
        let lines = Set(try await page.administer(.get, "/metrics").text.split(separator: "\n").map(String.init))
        for line in [
            #"mistkit_emulator_request_seconds_count{operation="modifyRecords",status="200"} 3"#,
            #"mistkit_emulator_request_seconds_bucket{operation="modifyRecords",status="200",le="+Inf"} 3"#,
            #"mistkit_emulator_request_seconds_count{operation="listZones",status="429"} 1"#,
            "mistkit_emulator_faulted_requests_total 1",
            #"mistkit_emulator_records{container="iCloud.com.example.app",environment="development",database="private"} 1"#,
            "mistkit_emulator_event_streams 0",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }
}

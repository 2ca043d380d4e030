import Foundation
import MistKit
import MistTesting
import Testing

/// The client against the emulator, in process and over a socket.
@Suite(.serialized)
struct RoundTripTests {
    @Test(arguments: EmulatorConnection.allCases, [RunningEmulator.Identity.serverKey, .user])
    func aRecordLivesAndDies(connection: EmulatorConnection, identity: RunningEmulator.Identity) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: identity).publicDatabase

            let created = try await database.create(
                Record(recordType: "Note", recordName: "a", fields: ["title": "Hello", "count": 1])
            )
            let tag = try #require(created.recordChangeTag)
            #expect(try await database.fetch("a")["title"] == "Hello")

            var changed = Record(recordType: "Note", recordName: "a", recordChangeTag: tag, fields: ["title": "World"])
            let updated = try await database.update(changed)
            #expect(updated.recordChangeTag != tag)
            // An update does not change the fields that it does not name.
            #expect(try await database.fetch("a")["count"] == 1)

            changed["title"] = "Too late"
            let conflict = try await failure { try await database.update(changed) }
            #expect(conflict.code == .conflict)
            #expect(conflict.item == .record(name: "a"))
            let refused = try await failure { try await database.delete(changed) }
            #expect(refused.code == .conflict)
            let twice = try await failure {
                try await database.create(Record(recordType: "Note", recordName: "a"))
            }
            #expect(twice.code == .conflict || twice.code == .exists)
            #expect(try await database.fetch("a")["title"] == "World")

            var whole = try await database.fetch("a")
            whole.fields = ["title": "Alone"]
            let replaced = try await database.replace(whole)
            #expect(try await database.fetch("a")["count"]?.isNull ?? true)
            #expect(try await database.forceUpdate(changed)["title"] == "Too late")

            let stale = try await failure { try await database.delete(replaced) }
            #expect(stale.code == .conflict)
            try await database.delete(try await database.fetch("a"))
            let gone = try await failure { try await database.fetch("a") }
            #expect(gone.code == .notFound)
            let missing = try await failure { try await database.update(updated) }
            #expect(missing.code == .notFound)
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func everyFieldTypeComesBackAsItWas(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.createZone("Notes")
            let zone = ZoneID(zoneName: "Notes")
            let record = Fixtures.recordOfEveryFieldType(named: "all", encrypted: true)
            try await database.create(record, inZone: zone)
            let fetched = try await database.fetch("all", inZone: zone)
            #expect(Set(fetched.fields.names) == Set(record.fields.names))
            for (name, value) in record.fields where !name.hasPrefix("reference") {
                #expect(fetched[name] == value, "\(name)")
            }
            // The fetched record contains its zone, so the zone need not be given again.
            var changed = fetched
            changed.fields = ["string": "changed"]
            #expect(try await database.update(changed)["string"] == "changed")
            #expect(try await database.fetch("all", inZone: zone)["int64"] == record["int64"])
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func manyRecordsAreSavedAndFoundInOrder(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            let records = (0..<450).map { number in
                Record(
                    recordType: "Note",
                    recordName: "note-\(number)",
                    fields: ["number": .int64(Int64(number)), "kind": number.isMultiple(of: 2) ? "even" : "odd"]
                )
            }
            let saved = try await database.save(records)
            #expect(saved.map { summary($0) { $0.recordName ?? "" } } == records.map(\.recordName))

            let query = Query(
                recordType: "Note",
                filters: [Filter("kind", .equals, "even"), Filter("number", .greaterThanOrEquals, 10)],
                sorts: [Sort("number", ascending: false)]
            )
            let expected = stride(from: 448, through: 10, by: -2).map { Int64($0) }
            let numbers = try await database.records(matching: query).collect().map { $0["number"]?.int64Value }
            #expect(numbers == expected)

            var sizes: [Int] = []
            var marker: String?
            for try await page in database.records(matching: query, desiredKeys: ["number"], pageSize: 90).pages {
                sizes.append(page.results.count)
                if sizes.count == 2 { marker = page.marker }
            }
            #expect(sizes == [90, 90, 40])
            let rest = database.records(matching: query, pageSize: 90, startingAt: marker)
            #expect(try await rest.collect().map { $0["number"]?.int64Value } == expected.suffix(40))
            #expect(try await rest.collect(limit: 3).count == 3)

            let names = ["note-7", "missing", "note-449", "note-7"]
            #expect(
                try await database.fetch(names).map { summary($0) { $0.recordName ?? "" } }
                    == ["note-7", "NOT_FOUND missing", "note-449", "note-7"]
            )
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func aBatchFailsInPartOrAsAWhole(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            try await database.createZone("Notes")
            let zone = ZoneID(zoneName: "Notes")
            let first = try await database.create(Record(recordType: "Note", recordName: "first"), inZone: zone)
            var stale = first
            stale.recordChangeTag = "zzz"
            let second = Record(recordType: "Note", recordName: "second", zoneID: zone)
            let third = Record(recordType: "Note", recordName: "third", zoneID: zone)
            stale.zoneID = zone
            let operations: [RecordOperation] = [.create(second), .update(stale), .create(third)]

            let whole = try await database.modify(operations, atomic: true)
            #expect(whole.map { summary($0) } == ["ATOMIC_ERROR second", "CONFLICT first", "ATOMIC_ERROR third"])
            let names = ["first", "second", "third"]
            #expect(
                try await database.fetch(names, inZone: zone).map { summary($0) }
                    == ["ok", "NOT_FOUND second", "NOT_FOUND third"]
            )

            let part = try await database.modify(operations)
            #expect(part.map { summary($0) } == ["ok", "CONFLICT first", "ok"])
            #expect(try await database.fetch(names, inZone: zone).map { summary($0) } == ["ok", "ok", "ok"])
        }
    }

    @Test(arguments: EmulatorConnection.allCases)
    func zonesAndTheirChangesAreFollowed(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Notes").zoneID
            try await database.createZone("Other")
            #expect(
                Set(try await database.fetchZones().map(\.zoneID.zoneName)).isSuperset(of: ["Notes", "Other"])
            )
            #expect(try await database.fetchZone(ZoneID(zoneName: "Notes")).zoneID.zoneName == "Notes")

            let results = try await database.save(
                (0..<250).map { Record(recordType: "Note", recordName: "n\($0)") },
                inZone: zone
            )
            var seen: Set<String> = []
            var token: ZoneChangeToken?
            for try await page in database.changes(inZone: zone) {
                seen.formUnion(page.changedRecords.compactMap(\.recordName))
                token = page.token
            }
            #expect(seen == Set((0..<250).map { "n\($0)" }))

            var databaseToken: DatabaseChangeToken?
            for try await page in database.changes() { databaseToken = page.token }
            try await database.delete(try results[3].get(), inZone: zone)
            try await database.update(try results[4].get(), inZone: zone)
            try await database.deleteZone(ZoneID(zoneName: "Other"))

            var changes: [String] = []
            for try await page in database.changes(inZone: zone, since: token) {
                changes += page.changedRecords.map { $0.recordName ?? "" }
                changes += page.deletedRecords.map { "-\($0.recordName ?? "")" }
            }
            #expect(changes.sorted() == ["-n3", "n4"])
            var zones: [String] = []
            for try await page in database.changes(since: databaseToken) {
                zones += page.changedZones.map(\.zoneID.zoneName) + page.deletedZones.map { "-\($0.zoneName)" }
            }
            #expect(zones.sorted() == ["-Other", "Notes"])

            for text in ["Z2FyYmFnZQ==", databaseToken?.text ?? ""] {
                let error = try await failure {
                    for try await _ in database.changes(inZone: zone, since: ZoneChangeToken(text)) {}
                }
                #expect(error.code == .changeTokenExpired || error.code == .badRequest)
                #expect(error.item == .zone(name: "Notes"))
            }
            let missing = try await failure {
                try await database.deleteZone(ZoneID(zoneName: "Other"))
            }
            #expect(missing.code == .zoneNotFound)
        }
    }
}

import Foundation
import MistModels
import MistTesting
import Testing

/// The Swift of the three pages for users of other ways to reach CloudKit.
@Suite(.serialized)
struct MigrationTests {
    @Test func fromCloudKit() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            let database = service.privateDatabase
            let record = Record(recordType: "Note", recordName: "note-1", fields: ["title": "Hello"])
            let saved = try await database.save(record)

            let query = Query(
                recordType: "Note",
                filters: [
                    Filter("title", .beginsWith, "He"),
                    Filter(.modifiedTimestamp, .greaterThan, .timestamp(.distantPast)),
                ],
                sorts: [Sort(.modifiedTimestamp, ascending: false)]
            )
            for try await note in database.records(matching: query) {
                print(note["title"]?.stringValue ?? "")
            }

            let results = try await database.modify([.update(saved), .forceDelete("note-2")])
            for result in results {
                switch result {
                case .success(let record): print("saved", record.recordName ?? "")
                case .failure(let error): print("failed", error)
                }
            }
            #expect(results.count == 2)
        }
    }

    @Test func aConflictAsInCloudKit() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            var feed = try await database.save(Feed.swift)
            let old = feed
            feed.qualityScore = 5
            try await database.update(feed)
            var mine = old
            mine.title = "Mine"

            try await database.update(&mine) { conflict in
                var merged = conflict.server
                if conflict.client.title != conflict.ancestor.title { merged.title = conflict.client.title }
                return merged
            }
            let saved = try await database.fetch(Feed.self, named: feed.recordName)
            #expect(mine == saved)
            #expect(saved.title == "Mine" && saved.qualityScore == 5)
        }
    }

    @Test func fromCloudKitJS() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            let database = service.privateDatabase
            let zoneID = try await database.createZone("Notes").zoneID

            let notes = [Record(recordType: "Note", fields: ["title": "Hello", "rating": 4])]
            let results = try await database.save(notes, inZone: zoneID)

            let query = Query(
                recordType: "Note",
                filters: [Filter("rating", .greaterThan, 3)],
                sorts: [Sort("rating", ascending: false)]
            )
            let pages = database.records(matching: query, inZone: zoneID, desiredKeys: ["title"]).pages
            for try await page in pages {
                print(page.results.count, page.marker ?? "and no more")
            }
            #expect(results.count == 1)
        }
    }

    @Test func fromRequests() async throws {
        try await withCloudKitEmulator { emulator in
            let (keyID, key) = (emulator.serverKeyID, emulator.serverKeyPEM)
            let service = try CloudKitService(
                containerIdentifier: emulator.containerIdentifier,
                keyID: keyID,
                privateKeyPEM: key,
                configuration: emulator.serviceConfiguration
            )
            try await service.publicDatabase.save(Record(recordType: "Note", fields: ["title": "Hello"]))
            let notes = service.publicDatabase.records(matching: Query(recordType: "Note"))
            for try await note in notes {
                print(note.recordName ?? "", note["title"]?.stringValue ?? "")
            }
        }
    }
}

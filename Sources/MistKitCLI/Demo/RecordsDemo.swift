import Foundation
import MistKit

/// Runs the main operations one after the other, and prints a line for each step.
struct RecordsDemo {
    let database: CloudKitDatabase
    let zone: ZoneID
    /// A mark in the records of this run, so that the queries of this run find no records of other runs.
    let run: String
    let count: Int

    func run() async throws {
        try await makeZone()
        var token = try await follow(since: nil).token
        try await create()
        try await query()
        try await meetConflict()
        token = try await tellChanges(since: token)
        try await delete()
        _ = try await tellChanges(since: token)
    }

    // MARK: The steps

    private func makeZone() async throws {
        let known = try await database.fetchZones().contains { $0.zoneID.zoneName == zone.zoneName }
        let (made, time) = try await Demo.timed { try await database.createZone(zone.zoneName) }
        Demo.tell("zone", "\(made.zoneID.zoneName) \(known ? "was there already" : "made")", time)
    }

    private func create() async throws {
        let notes = (0..<count).map(note)
        let creations = notes.map(RecordOperation.create)
        let (results, time) = try await Demo.timed { try await database.modify(creations, inZone: zone) }
        let saved = try results.map { try $0.get() }
        var types: Set<String> = []
        for record in saved {
            for (_, value) in record.fields {
                types.insert((value.isEncrypted ? "encrypted " : "") + (value.type?.rawValue ?? ""))
            }
        }
        Demo.tell(
            "create",
            "\(saved.count) notes with fields of \(types.count) types, in batches of 200",
            time,
            saved.count
        )
    }

    private func query() async throws {
        let query = Query(
            recordType: "DemoNote",
            filters: [
                Filter("run", .equals, .string(run)), Filter("rating", .greaterThan, 3),
                Filter("tags", .listContains, "swift"),
            ],
            sorts: [Sort("score", ascending: false)]
        )
        let (found, time) = try await Demo.timed {
            var pages = 0
            var notes: [Record] = []
            for try await page in database.records(matching: query, inZone: zone, pageSize: 25).pages {
                pages += 1
                notes += try page.results.map { try $0.get() }
            }
            return (notes: notes, pages: pages)
        }
        Demo.tell(
            "query",
            "\(found.notes.count) with rating > 3 and the tag swift, best score first, over \(String.counting(found.pages, "page"))",
            time,
            found.notes.count
        )
        var table = TextTable([
            .init(title: "title"), .init(title: "rating", alignment: .right), .init(title: "score", alignment: .right),
            .init(title: "tags"), .init(title: "place"), .init(title: "written"),
        ])
        for note in found.notes.prefix(3) {
            table.append(table.columns.map { column in note[column.title].map(FieldText.describe) ?? "" })
        }
        for line in table.lines(width: nil) { Demo.tell("", line) }
    }

    private func meetConflict() async throws {
        let name = recordName(7)
        var mine = try await database.fetch(name, inZone: zone)
        var theirs = mine
        theirs["rating"] = 5
        theirs = try await database.update(theirs, inZone: zone)
        mine["title"] = "A better title"
        let conflict = try await conflictOfStaleUpdate(of: mine)
        let saved = theirs.recordChangeTag ?? ""
        Demo.tell("conflict", "one of two changes at once saved (tag \(saved)), one refused: \(conflict.code)")
        let (merged, time) = try await Demo.timed {
            var current = try await database.fetch(name, inZone: zone)
            current["title"] = mine["title"]
            return try await database.update(current, inZone: zone)
        }
        let both = "rating \(merged["rating"]?.int64Value ?? 0), title \"\(merged["title"]?.stringValue ?? "")\""
        Demo.tell("", "merged with the server's record and saved (tag \(merged.recordChangeTag ?? "")): \(both)", time)
    }

    private func conflictOfStaleUpdate(of record: Record) async throws -> CloudKitError {
        do {
            try await database.update(record, inZone: zone)
        } catch let error as CloudKitError where error.code == .conflict {
            return error
        }
        throw CommandError(
            code: .failure,
            message: "The service accepted a change that was based on an old state of a record.",
            remedy: "Check the service at --server-url: CloudKit refuses such a change."
        )
    }

    private func tellChanges(since token: ZoneChangeToken?) async throws -> ZoneChangeToken? {
        let (feed, time) = try await Demo.timed { try await follow(since: token) }
        Demo.tell(
            "changes",
            "\(feed.changed) changed, \(feed.deleted) deleted since the last token, over \(String.counting(feed.pages, "page"))",
            time
        )
        return feed.token
    }

    private func delete() async throws {
        let names = (0..<count).map(recordName)
        let (results, time) = try await Demo.timed { try await database.forceDelete(names, inZone: zone) }
        let deleted = try results.map { try $0.get() }
        Demo.tell("delete", "\(deleted.count) notes", time, deleted.count)
    }

    // MARK: Their parts

    private func recordName(_ index: Int) -> String {
        "note-\(run)-\(index)"
    }

    /// A note with a field of each type that needs no upload.
    private func note(_ index: Int) -> Record {
        let written = Date(timeIntervalSince1970: 1_780_000_000 + Double(index) * 3600)
        let place = Location(latitude: 59.9 + Double(index % 10) / 100, longitude: 10.7)
        var note = Record(recordType: "DemoNote", recordName: recordName(index))
        note["run"] = .string(run)
        note["title"] = "Note \(index)"
        note["rating"] = .int64(Int64(index % 6))
        note["score"] = .double(Double(index * 37 % 1000) / 10)
        note["written"] = .timestamp(written)
        note["digest"] = .bytes(Data([UInt8(index & 0xFF), 0xCA, 0xFE]))
        note["place"] = .location(place)
        note["follows"] = .reference(Reference(recordName: recordName(max(0, index - 1))))
        note["secret"] = .encrypted(.string("whispered \(index)"))
        note["tags"] = .list(index.isMultiple(of: 3) ? ["cloud"] : ["swift", "cloud"])
        note["counts"] = .list([index, index + 1])
        note["weights"] = .list([Double(index) / 4, 0.5])
        note["reminders"] = .list([written, written + 86400])
        note["parts"] = .list([Data([1, 2]), Data([3])])
        note["related"] = .list([Reference(recordName: recordName(0))])
        note["route"] = .list([place, Location(latitude: 60, longitude: 11)])
        return note
    }

    private func follow(
        since token: ZoneChangeToken?
    ) async throws -> (changed: Int, deleted: Int, pages: Int, token: ZoneChangeToken?) {
        var (changed, deleted, pages, next) = (0, 0, 0, token)
        for try await page in database.changes(inZone: zone, since: token) {
            pages += 1
            changed += page.changedRecords.count
            deleted += page.deletedRecords.count
            next = page.token
        }
        return (changed, deleted, pages, next)
    }
}

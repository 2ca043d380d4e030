import Foundation
import GRDB
import MistKit
import StreamingJSON
import Testing

@testable import MistKitCLI

/// CloudKit's record, not GRDB's.
private typealias Record = MistKit.Record

/// Mirrors, made by the built command and read with SQLite.
struct MirrorTests {
    let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    private func path(_ name: String = "copy.sqlite") -> String {
        commands.folder.appendingPathComponent(name).path
    }

    /// The rows of a query, each with its values separated by bars.
    private func rows(_ sql: String, in name: String = "copy.sqlite") throws -> [String] {
        let queue = try DatabaseQueue(path: path(name))
        return try queue.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { $0.isNull ? "NULL" : "\(String.fromDatabaseValue($0) ?? $0.description)" }
                    .joined(separator: "|")
            }
        }
    }

    /// The content of a mirror: the rows of each table without their row IDs, and the records as they were received.
    private func content(of name: String) throws -> [String: [String]] {
        let tables = try rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'mirror\\_%' ESCAPE '\\'",
            in: name
        )
        var content: [String: [String]] = [:]
        for table in tables {
            let columns = try rows(
                "SELECT name FROM pragma_table_info('\(table)') WHERE name <> 'mirror_id' ORDER BY name",
                in: name
            )
            let list = columns.map { "\"\($0)\"" }.joined(separator: ", ")
            let found = try rows("SELECT \(list) FROM \"\(table)\"", in: name).sorted()
            if !found.isEmpty { content[table] = columns + found }
        }
        content["mirror_record"] = try rows("SELECT record FROM mirror_record", in: name).sorted()
        return content
    }

    /// Creates a zone, and saves records in it.
    private func create(_ records: [String], in zone: String) throws {
        try commands.mistkit("zones", "create", zone)
        let outcome = try commands.mistkit(
            "records",
            "create",
            "--zone",
            zone,
            "--from",
            "-",
            input: records.joined(separator: "\n")
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    private func note(_ number: Int, _ title: String? = nil) -> String {
        """
        {"recordType":"Note","recordName":"n\(number)","fields":{"title":{"value":"\(title ?? "Note \(number)")",\
        "type":"STRING"},"rating":{"value":\(number),"type":"INT64"}}}
        """
    }

    @discardableResult
    private func mirror(_ arguments: String...) throws -> CommandTests.Outcome {
        let outcome = try commands.mistkit(arguments: ["mirror", "copy.sqlite"] + arguments)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome
    }

    @Test func aMirrorFollowsCreationsChangesAndDeletions() throws {
        try create((1...3).map { note($0) }, in: "Notes")
        try create(
            [#"{"recordType":"List","recordName":"l","fields":{"name":{"value":"Home","type":"STRING"}}}"#],
            in: "Lists"
        )
        let first = try commands.mistkit("mirror", "copy.sqlite")
        #expect(first.status == 0 && first.errors.hasPrefix("4 records mirrored to copy.sqlite"), "\(first.errors)")
        #expect(
            try rows("SELECT recordName, zone, zoneOwner, title, rating FROM Note ORDER BY 1") == [
                "n1|Notes|NULL|Note 1|1", "n2|Notes|NULL|Note 2|2", "n3|Notes|NULL|Note 3|3",
            ]
        )
        #expect(try rows("SELECT recordName, zone, name FROM List") == ["l|Lists|Home"])
        try commands.mistkit("records", "update", "n1", "--zone", "Notes", "-F", "rating=9", "-F", "done=1")
        try commands.mistkit("records", "delete", "n2", "--zone", "Notes", "--force")
        try commands.mistkit("zones", "delete", "Lists", "--yes")
        let second = try mirror()
        #expect(second.errors.hasPrefix("1 record mirrored, 2 deleted, to copy.sqlite"))
        #expect(
            try rows("SELECT recordName, title, rating, done FROM Note ORDER BY 1") == [
                "n1|Note 1|9|1", "n3|Note 3|3|NULL",
            ]
        )
        #expect(try rows("SELECT * FROM List") == [])
        #expect(try rows("SELECT count(*) FROM mirror_record") == ["2"])
        try commands.mistkit("mirror", "fresh.sqlite")
        #expect(try content(of: "copy.sqlite") == content(of: "fresh.sqlite"))
    }

    @Test func tenChangesTakeAtMostThreeRequests() throws {
        try create((1...400).map { note($0) }, in: "Notes")
        try create((1...20).map { note($0) }, in: "Drafts")
        try mirror()
        try create(
            (1...8).map { note($0, "Changed") }.map { $0.replacingOccurrences(of: "\"n", with: "\"m") },
            in: "Notes"
        )
        try commands.mistkit("records", "delete", "n1", "--zone", "Notes", "--force")
        try commands.mistkit("records", "update", "n2", "--zone", "Drafts", "-F", "rating=9")
        let second = try mirror("--verbose")
        #expect(second.errors.contains("9 records mirrored, 1 deleted,"), "\(second.errors)")
        let requests = second.errors.components(separatedBy: "CloudKit answered").count - 1
        #expect((1...3).contains(requests), "\(second.errors)")
        // Nothing changed.
        let third = try mirror("--verbose")
        #expect(third.errors.components(separatedBy: "CloudKit answered").count - 1 == 1, "\(third.errors)")
    }

    @Test func everyTypeHasAColumnThatReadsWell() throws {
        let record = Record(
            recordType: "Thing",
            recordName: "r",
            fields: [
                "string": "a\u{0}b", "number": 3, "ratio": 0.5,
                "when": .timestamp(Date(timeIntervalSince1970: 1_700_000_000.25)), "bytes": .bytes(Data([1, 2])),
                "link": .reference(Reference(recordName: "x", action: .deleteSelf)),
                "place": .location(Location(latitude: 1.5, longitude: -2)), "tags": .list(["a,b", ""]),
                "dates": .list([Date(timeIntervalSince1970: 1)]), "secret": .encrypted("s"),
            ]
        )
        try create([String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self)], in: "Things")
        try mirror()
        #expect(
            try rows(
                """
                SELECT length(CAST(string AS BLOB)), typeof(number), ratio, "when", hex(bytes), link,
                    json_extract(place, '$.longitude') = -2, json_array_length(tags), dates, secret,
                    typeof(modified), julianday(created) > 2460000
                FROM Thing
                """
            ) == ["3|integer|0.5|2023-11-14T22:13:20.250Z|0102|x|1|2|[\"1970-01-01T00:00:01.000Z\"]|s|text|1"]
        )
        let restored = try commands.mistkit("mirror", "copy.sqlite", "--restore", "--container", "iCloud.other")
        #expect(restored.status == 0 && restored.errors.contains("1 record restored"), "\(restored.errors)")
        // The service adds the zone of a reference, so both records are read from the service.
        let found = try [[], ["--container", "iCloud.other"]].map { container in
            let lookup = ["records", "lookup", "r", "--zone", "Things", "-f", "ndjson"]
            let outcome = try commands.mistkit(arguments: lookup + container)
            return try JSONReader.read(Record.self, from: Array(outcome.output.utf8))
        }
        #expect(found[0].fields == found[1].fields)
        #expect(found[1].fields.count == record.fields.count)
        #expect(found[1]["secret"]?.isEncrypted == true)
        #expect(found[1]["link"]?.referenceValue?.action == .deleteSelf)
    }

    @Test func namesThatSQLiteTakesForEqualAreKeptApart() throws {
        let fields = #"{"zone":{"value":"a"},"Title":{"value":"b"},"title":{"value":"c"},"TITLE_2":{"value":"d"}}"#
        try create(
            [
                #"{"recordType":"Note","recordName":"n","fields":\#(fields)}"#,
                #"{"recordType":"note","recordName":"o","fields":{"x":{"value":1}}}"#,
                #"{"recordType":"mirror_zone","recordName":"p","fields":{"x":{"value":2}}}"#,
                #"{"recordType":"sqlite_x","recordName":"q","fields":{"select":{"value":3}}}"#,
            ],
            in: "Notes"
        )
        try mirror()
        #expect(
            try rows(
                "SELECT field, columnName FROM mirror_column WHERE type = (SELECT id FROM mirror_type WHERE recordType = 'Note')"
            )
            .sorted() == ["TITLE_2|TITLE_2_2", "Title|Title", "title|title_2", "zone|zone_2"]
        )
        #expect(try rows("SELECT zone, zone_2, Title, title_2, TITLE_2_2 FROM Note") == ["Notes|a|b|c|d"])
        #expect(try rows("SELECT recordName, x FROM note_2") == ["o|1"])
        #expect(try rows("SELECT recordName, x FROM type_mirror_zone") == ["p|2"])
        #expect(try rows("SELECT recordName, \"select\" FROM type_sqlite_x") == ["q|3"])
        try mirror()
    }

    @Test func aZoneThatWasMadeAgainIsReadAgain() throws {
        try create((1...5).map { note($0) }, in: "Notes")
        try mirror()
        try commands.mistkit("zones", "delete", "Notes", "--yes")
        try create([note(2), note(7)], in: "Notes")
        let again = try mirror()
        #expect(again.errors.contains("deleted"), "\(again.errors)")
        #expect(try rows("SELECT recordName FROM Note ORDER BY 1") == ["n2", "n7"])
        try commands.mistkit("mirror", "fresh.sqlite")
        #expect(try content(of: "copy.sqlite") == content(of: "fresh.sqlite"))
    }

    @Test func aTokenThatTheServiceForgotBeginsAgain() throws {
        try create((1...5).map { note($0) }, in: "Notes")
        try mirror()
        let queue = try DatabaseQueue(path: path())
        try queue.write { db in
            try db.execute(sql: "UPDATE mirror_state SET token = 'AAAA'")
            try db.execute(sql: "UPDATE mirror_zone SET token = 'AAAA'")
            // Adds a record that no longer exists on the service, and changes one.
            try db.execute(
                sql: """
                    INSERT INTO mirror_record (recordName, zone, type, seen, record)
                    SELECT 'gone', zone, type, 0, record FROM mirror_record LIMIT 1;
                    INSERT INTO Note (mirror_id, recordName, zone)
                    SELECT id, 'gone', 'Notes' FROM mirror_record WHERE recordName = 'gone';
                    UPDATE mirror_record SET record = '{}' WHERE recordName = 'n1';
                    UPDATE Note SET title = 'Old' WHERE recordName = 'n1';
                    """
            )
        }
        try queue.close()
        #expect(try mirror("--dry-run").output == "5 records to fetch, 0 records and zones to remove\n")
        try mirror()
        try commands.mistkit("mirror", "fresh.sqlite")
        #expect(try content(of: "copy.sqlite") == content(of: "fresh.sqlite"))
    }

    @Test func aPublicDatabaseIsQueriedAsAWhole() throws {
        let refused = try commands.mistkit("mirror", "copy.sqlite", "--database", "public")
        #expect(refused.status == 64 && refused.errors.contains("The public database has no change feed."))
        for number in 1...3 {
            _ = try commands.mistkit(
                arguments: [
                    "records", "create", "--type", "Note", "--name", "n\(number)", "-F", "rating=\(number)",
                    "--database",
                    "public",
                ]
            )
        }
        let first = try mirror("Note", "--database", "public")
        #expect(first.errors.hasPrefix("3 records mirrored"))
        try commands.mistkit("records", "delete", "n2", "--database", "public", "--force")
        try commands.mistkit("records", "update", "n3", "-F", "rating=9", "--database", "public")
        let second = try mirror("Note", "--database", "public")
        #expect(second.errors.hasPrefix("1 record mirrored, 1 deleted,"), "\(second.errors)")
        #expect(try rows("SELECT recordName, rating FROM Note ORDER BY 1") == ["n1|1", "n3|9"])
    }

    @Test func aFileThatIsNotThisMirrorIsLeftAlone() throws {
        try Data("not a database, and longer than its header".utf8)
            .write(to: commands.folder.appendingPathComponent("text"))
        let other = try DatabaseQueue(path: path("other.sqlite"))
        try other.write { try $0.execute(sql: "CREATE TABLE Note (x)") }
        try other.close()
        for name in ["text", "other.sqlite"] {
            let before = FileManager.default.contents(atPath: path(name))
            for option in [[], ["--restore"]] {
                let outcome = try commands.mistkit(arguments: ["mirror", name] + option)
                #expect(outcome.status == 65)
                #expect(
                    outcome.errors
                        == "mistkit: \(name) is not a mirror.\n  Name a new file, or one that `mistkit mirror` made.\n"
                )
            }
            #expect(FileManager.default.contents(atPath: path(name)) == before)
        }
        let directory = try commands.mistkit("mirror", ".")
        #expect(directory.errors == "mistkit: The file . cannot be read.\n  Check the path and its permissions.\n")
        try create([note(1)], in: "Notes")
        try mirror()
        let outcome = try commands.mistkit("mirror", "copy.sqlite", "--container", "iCloud.other")
        #expect(outcome.status == 64 && outcome.errors.contains("copy.sqlite is a mirror of the private database of"))
    }

    @Test(arguments: [(1, "an older"), (3, "a newer")])
    func aFileOfAnotherVersionIsLeftAlone(_ format: Int, _ age: String) throws {
        try create([note(1)], in: "Notes")
        try mirror()
        let queue = try DatabaseQueue(path: path())
        try queue.write { try $0.execute(sql: "UPDATE mirror_state SET format = ?", arguments: [format]) }
        try queue.close()
        let outcome = try commands.mistkit("mirror", "copy.sqlite")
        #expect(outcome.status == 65)
        #expect(
            outcome.errors
                == "mistkit: copy.sqlite was made by \(age) version of MistKit.\n  Use that version, or name a new file.\n"
        )
    }

    @Test func afterTheFirstRunRecordsAreFoundByNameAndReadersDoNotWait() throws {
        try create([note(1)], in: "Notes")
        try mirror()
        #expect(try rows("PRAGMA journal_mode") == ["wal"])
        let plan = try rows("EXPLAIN QUERY PLAN SELECT title FROM Note WHERE recordName = 'n1'")
        #expect(plan.count == 1 && plan[0].contains("USING INDEX mirror_index_1 (recordName=?)"), "\(plan)")
        // The row of a table leads to the record as it was received.
        #expect(
            try rows("SELECT r.recordName FROM Note JOIN mirror_record r ON r.id = mirror_id") == ["n1"]
        )
    }

    /// Leaves a file as a killed process leaves it: some pages have changes of a transaction that did not end, and the
    /// journal has the original pages.
    private func kill(_ copy: String, during sql: String, of name: String) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let queue = try DatabaseQueue(path: path(name), configuration: configuration)
        try queue.writeWithoutTransaction { db in
            // Pages that do not fit into the cache are written before the transaction ends.
            try db.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE")
            try db.execute(sql: sql)
            try db.execute(
                sql: "CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(1000000)), (randomblob(1000000))"
            )
            for suffix in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: path(name) + suffix, toPath: path(copy) + suffix)
            }
            try db.execute(sql: "ROLLBACK")
        }
        try queue.close()
    }

    @Test func whatAKilledProcessDidNotFinishIsUndone() throws {
        try create([note(1), note(2)], in: "Notes")
        try mirror()
        try kill("first.sqlite", during: "CREATE TABLE mirror_state (format)", of: "new.sqlite")
        // The end of a transaction writes the first page before all others.
        let first = try FileHandle(forWritingTo: commands.folder.appendingPathComponent("first.sqlite"))
        let whole = try FileHandle(forReadingFrom: commands.folder.appendingPathComponent("copy.sqlite"))
        try first.write(contentsOf: try whole.read(upToCount: 100) ?? Data())
        try first.close()
        try kill("later.sqlite", during: "DELETE FROM Note; DELETE FROM mirror_record", of: "copy.sqlite")
        let expected = try content(of: "copy.sqlite")
        for name in ["first.sqlite", "later.sqlite"] {
            let journal = path(name) + "-journal"
            #expect(FileManager.default.fileExists(atPath: journal))
            let outcome = try commands.mistkit("mirror", name)
            #expect(outcome.status == 0, "\(name): \(outcome.errors)")
            #expect(!FileManager.default.fileExists(atPath: journal))
            #expect(try content(of: name) == expected)
        }
    }

    @Test func oneZoneIsFollowedAlone() throws {
        try create([note(1)], in: "Notes")
        try create([note(2)], in: "Drafts")
        let counted = try mirror("--dry-run")
        #expect(counted.output == "2 records to fetch, 0 records and zones to remove\n")
        #expect(!FileManager.default.fileExists(atPath: path()))
        try mirror("--zone", "Notes")
        #expect(try rows("SELECT recordName FROM Note") == ["n1"])
        #expect(try mirror("--dry-run").output == "1 record to fetch, 0 records and zones to remove\n")
        try mirror()
        #expect(try rows("SELECT recordName, zone FROM Note ORDER BY 1") == ["n1|Notes", "n2|Drafts"])
        let absent = try commands.mistkit("mirror", "copy.sqlite", "--zone", "Nowhere")
        #expect(absent.status == 1 && absent.errors.contains("ZONE_NOT_FOUND"), "\(absent.errors)")
    }

    @Test func aDeletedZoneIsCountedOnce() throws {
        try create([note(1)], in: "Notes")
        try create([note(2)], in: "Drafts")
        try mirror()
        // The change of the zone was seen and not fetched when the zone was deleted.
        let queue = try DatabaseQueue(path: path())
        try queue.write { db in try db.execute(sql: "UPDATE mirror_zone SET isStale = 1") }
        try queue.close()
        try commands.mistkit("zones", "create", "Brief")
        for zone in ["Drafts", "Brief"] { #expect(try commands.mistkit("zones", "delete", zone, "--yes").status == 0) }
        // The file has no zone Brief.
        #expect(try mirror("--dry-run").output == "0 records to fetch, 1 record or zone to remove\n")
        try mirror()
        #expect(try rows("SELECT recordName FROM Note") == ["n1"])
        #expect(try mirror("--dry-run").output == "0 records to fetch, 0 records and zones to remove\n")
    }

    @Test func aFileThatCannotBeMadeIsNamed() throws {
        let outcome = try commands.mistkit("mirror", "missing/copy.sqlite")
        #expect(outcome.status == 73)
        #expect(outcome.errors.hasPrefix("mistkit: missing/copy.sqlite cannot be used: "), "\(outcome.errors)")
    }

    @Test func aSnapshotStaysAsItWas() throws {
        try create([note(1)], in: "Notes")
        let outcome = try mirror("--snapshot")
        let name = outcome.output.trimmingCharacters(in: .newlines)
        #expect(name.hasPrefix("copy-20") && name.hasSuffix("Z.sqlite"), "\(outcome.output)")
        try commands.mistkit("records", "delete", "n1", "--zone", "Notes", "--force")
        // These follow so quickly that two of them are of one second.
        var later: Set<String> = []
        for _ in 1...4 { later.insert(try mirror("--snapshot").output.trimmingCharacters(in: .newlines)) }
        #expect(later.count == 4)
        #expect(try rows("SELECT recordName FROM Note") == [])
        for later in later { #expect(try rows("SELECT recordName FROM Note", in: later) == []) }
        #expect(try rows("SELECT recordName FROM Note", in: name) == ["n1"])
        let restored = try commands.mistkit("mirror", name, "--restore")
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(try commands.mistkit("records", "lookup", "n1", "--zone", "Notes").status == 0)
    }

    /// A restore asks before it changes records that exist, and leaves the fields that the file does not have.
    @Test func aRestoreKeepsLaterFieldsAndAsksFirst() throws {
        try create([note(1), note(2), note(3)], in: "Notes")
        try mirror()
        let zone = ["--zone", "Notes"]
        func change(_ arguments: String...) throws {
            #expect(try commands.mistkit(arguments: ["records"] + arguments + zone).status == 0)
        }
        try change("update", "n1", "-F", "title=later", "-F", "added=new")
        try change("delete", "n2", "--force")
        try change("create", "--type", "Note", "--name", "n9")
        let before = try commands.mistkit(arguments: ["records", "query", "Note", "-f", "ndjson"] + zone).output
        let dry = try mirror("--restore", "--dry-run")
        #expect(
            dry.output == """
                create   1 record
                change   1 record, in the fields title (1)
                leave    1 record that are equal
                only at the service: 1 record, which stay

                """
        )
        let unasked = try commands.mistkit("mirror", "copy.sqlite", "--restore")
        #expect(unasked.status == 64, "\(unasked.errors)")
        #expect(unasked.errors.contains("Change 1 record that the service has, in the fields title (1)?"))
        let replaced = try mirror("--restore", "--dry-run", "--existing", "replace")
        #expect(replaced.output.contains("in the fields added (1), title (1)\n"), "\(replaced.output)")
        #expect(try commands.mistkit(arguments: ["records", "query", "Note", "-f", "ndjson"] + zone).output == before)

        #expect(try commands.mistkit("mirror", "copy.sqlite", "--restore", "--existing", "skip").status == 0)
        func first() throws -> String {
            try commands.mistkit(arguments: ["records", "lookup", "n1", "-f", "ndjson"] + zone).output
        }
        #expect(try first().contains("later"))
        #expect(try commands.mistkit(arguments: ["records", "lookup", "n2"] + zone).status == 0)
        let restored = try commands.mistkit("mirror", "copy.sqlite", "--restore", "--yes")
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(try !first().contains("later") && first().contains("\"added\""))
        #expect(try commands.mistkit("mirror", "copy.sqlite", "--yes").status == 64)
    }

    @Test func targetsAreRestoredBeforeTheirReferrers() throws {
        // There are more records than one step of a restore can save, and the first one refers to the last one.
        try create((1...900).map { note($0) }, in: "Notes")
        try commands.mistkit("records", "update", "n1", "--zone", "Notes", "-F", "rating=0")
        let referrer = """
            {"recordType":"Link","recordName":"link","fields":{"to":{"value":{"recordName":"n900","action":"VALIDATE"},\
            "type":"REFERENCE"}}}
            """
        try create([referrer], in: "Notes")
        try commands.mistkit("records", "update", "n900", "--zone", "Notes", "-F", "rating=0")
        try mirror()
        let restored = try commands.mistkit("mirror", "copy.sqlite", "--restore", "--container", "iCloud.other")
        #expect(restored.status == 0 && restored.errors.contains("901 records restored"), "\(restored.errors)")
    }
}

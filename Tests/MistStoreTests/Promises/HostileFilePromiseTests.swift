import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Files in which other programs have broken rows, added triggers, or removed rows and tables of the store.
struct HostileFilePromiseTests {
    /// Runs SQL as another program that ignores the constraints of the tables.
    private func run(_ sql: String, in folder: URL) throws {
        let queue = try DatabaseQueue(path: folder.appending(path: "user.sqlite").path)
        try queue.write { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try db.execute(sql: sql)
        }
        try queue.close()
    }

    @Test("24, 34, P6, P7, P8. Over HTTP: a hundred broken rows delay and hide no others, and the status names each")
    func aHundredBrokenRows() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                func open(_ name: String) throws -> MistStore {
                    try MistStore(
                        at: folder.appending(path: name),
                        records: [Shelf.self, Measurement.self],
                        service: service
                    )
                }
                var phone = try open("phone")
                let laptop = try open("laptop")
                let file = folder.appending(path: "phone")
                let broken = (0..<100).map { "broken \($0 + 100)" }
                let good = (0..<20).map { "good \($0 + 100)" }
                try await phone.privateDatabase.write { [broken] writer in
                    for name in broken + good { try writer.add(Measurement(title: name), named: name) }
                }
                try await phone.sync()
                try await laptop.sync()
                // Another program leaves a required field out.
                let foreign = (0..<5).map { "foreign \($0)" }
                for name in foreign {
                    _ = try await service.privateDatabase.create(
                        MistKit.Record(recordType: "Measurement", recordName: name, fields: ["value": 1.5]),
                        inZone: ZoneID(zoneName: "Records")
                    )
                }
                // A full-text index of the user's own is kept up to date by triggers, also for what arrives.
                try run(
                    """
                    CREATE VIRTUAL TABLE search USING fts5 (name, title);
                    INSERT INTO search (rowid, name, title) SELECT _id, _recordName, title FROM Measurement;
                    CREATE TRIGGER search_insert AFTER INSERT ON Measurement BEGIN
                        INSERT INTO search (rowid, name, title) VALUES (NEW._id, NEW._recordName, NEW.title);
                    END;
                    CREATE TRIGGER search_update AFTER UPDATE ON Measurement BEGIN
                        UPDATE search SET title = NEW.title WHERE rowid = NEW._id;
                    END;
                    CREATE VIEW titles AS SELECT title FROM Measurement;
                    CREATE INDEX titles_index ON Measurement (title);
                    """,
                    in: file
                )
                for (index, name) in broken.enumerated() {
                    let change = BrokenRowPromiseTests.breakages[index % BrokenRowPromiseTests.breakages.count].change
                    try run("UPDATE Measurement SET \(change) WHERE _recordName = '\(name)'", in: file)
                }
                // Rows in zones that do not exist, from before the triggers that refuse them.
                try run(
                    """
                    DROP TRIGGER mist_place_Measurement;
                    INSERT INTO Measurement (_recordName, _zone, title) VALUES ('lost 1', 99, 'L'), ('lost 2', 98, 'L');
                    UPDATE Measurement SET title = 'edited' WHERE _recordName LIKE 'good%';
                    INSERT INTO Measurement (_recordName, title) VALUES ('new', 'N')
                    """,
                    in: file
                )
                try phone.close()
                phone = try open("phone")
                let summary = try await phone.sync()
                #expect(summary.sent == good.count + 1)
                try await laptop.privateDatabase.write { writer in
                    for name in ["good 100", "late"] { try writer.add(Measurement(title: "laptop"), named: name) }
                }
                try await laptop.sync()
                try await phone.sync()
                let status = try await phone.privateDatabase.status()
                #expect(status.parked.map(\.recordName).sorted() == (broken + ["lost 1", "lost 2"]).sorted())
                #expect(Set(status.parked.map(\.reason)) == [.value, .zone])
                #expect(status.pending == broken.count + 2)
                #expect(status.conditions == [])
                // What another program cannot read, the other device does not get.
                let readable = (good + ["new", "late"]).sorted()
                #expect(try await phone.privateDatabase.find(Query<Measurement>()).map(\.recordName) == readable)
                #expect(
                    try await laptop.privateDatabase.find(Query<Measurement>()).map(\.recordName)
                        == (broken + readable).sorted()
                )
                for store in [phone, laptop] {
                    let edited = try await store.privateDatabase.find(
                        Query<Measurement> { Filter(\.title == "edited") }
                    )
                    #expect(edited.map(\.recordName) == Array(good.dropFirst()))
                    #expect(
                        try await store.privateDatabase.fetch(Measurement.self, named: "good 100").title == "laptop"
                    )
                    let all = try await store.privateDatabase.findUnreadable(Query<Measurement>())
                    let noted = try await store.privateDatabase.status().unreadable
                    #expect(noted == all)
                    #expect(all.map(\.recordName) == (store === phone ? broken : []) + foreign)
                    #expect(all.allSatisfy { !$0.reason.isEmpty })
                    #expect(all.last?.fields["value"] == .double(1.5))
                    var lists = store.privateDatabase.recordUpdates(of: Query<Measurement>(limit: 3))
                        .makeAsyncIterator()
                    let page = store === phone ? ["good 100", "good 101", "good 102"] : Array(broken.prefix(3))
                    #expect(try await lists.next()?.map(\.recordName) == page)
                }
                // The index of the user's own has what arrived.
                let queue = try DatabaseQueue(path: file.appending(path: "user.sqlite").path)
                try await queue.writeWithoutTransaction { db in try db.execute(sql: "VACUUM; REINDEX") }
                let found = try await queue.read { db in
                    try String.fetchAll(db, sql: "SELECT name FROM search WHERE search MATCH 'laptop' ORDER BY name")
                }
                #expect(found == ["good 100", "late"])
                try queue.close()
                // The rows are repaired, and everything is synchronised.
                try run(
                    """
                    UPDATE Measurement SET title = _recordName, value = NULL, "values" = NULL, place = NULL, taken = NULL,
                        next = NULL, _next_action = NULL WHERE _recordName NOT LIKE 'lost%';
                    UPDATE Measurement SET _zone = 1
                    """,
                    in: file
                )
                try await phone.sync()
                try await laptop.sync()
                let end = try await laptop.privateDatabase.find(Query<Measurement>())
                #expect(end.count == broken.count + readable.count + foreign.count + 2)
                #expect(end.allSatisfy { $0.title == $0.recordName || $0.title == "L" })
                for store in [phone, laptop] {
                    let status = try await store.privateDatabase.status()
                    #expect(status.isSynchronised)
                    #expect(status.parked.isEmpty && status.unreadable.isEmpty)
                    try store.close()
                }
            }
        }
    }

    // MARK: Triggers

    @Test("34, P8. A trigger that changes records while versions of the service are stored is refused by name")
    func triggersThatWriteAreRefused() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        let triggers: [(name: String, sql: String)] = [
            ("own", "AFTER UPDATE OF title ON Book BEGIN UPDATE Book SET note = 'n' WHERE _id = NEW._id; END"),
            ("other", "AFTER INSERT ON Book BEGIN INSERT INTO Shelf (name) VALUES (NEW.title); END"),
            ("far", "AFTER DELETE ON Shelf BEGIN INSERT INTO log (text) VALUES (OLD.name); END"),
            ("engine", "AFTER DELETE ON Book BEGIN DELETE FROM mist_parked; END"),
        ]
        try phone.run(
            "CREATE TABLE log (text)",
            "CREATE TRIGGER log_far AFTER INSERT ON log BEGIN UPDATE Book SET note = NEW.text; END"
        )
        for (name, sql) in triggers {
            try phone.run("CREATE TRIGGER \(name) \(sql)")
            let expected = name == "far" ? "log_far" : name
            // An open store refuses to synchronise, and a closed one to open.
            for action in [{ _ = try phone.sync() }, { try phone.restart() }] {
                let error = #expect(throws: StoreError.self, "\(name)") { try action() }
                #expect(error?.code == .schema)
                #expect(error?.message.contains("trigger \(expected) ") == true, "\(error.debugDescription)")
            }
            try phone.run("DROP TRIGGER \(name)")
        }
        // A trigger that rests while the engine writes is harmless, and so is one that writes to a table of its own.
        try phone.run(
            "CREATE TRIGGER resting \(triggers[0].sql.replacing("BEGIN", with: "WHEN (SELECT applying FROM mist_state) = 0 BEGIN"))",
            "CREATE TABLE history (text)",
            "CREATE TRIGGER history AFTER UPDATE ON Book BEGIN INSERT INTO history VALUES (NEW.title); END"
        )
        try phone.restart()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try laptop.run("UPDATE Book SET title = 'AA'")
        try laptop.sync()
        try phone.sync()
        try scenario.expect(["Book a title=AA"])
        #expect(try phone.value("SELECT count(*) FROM history WHERE text = 'AA'") > 0)
        try phone.run("UPDATE Book SET title = 'AAA'")
        try scenario.synchronise()
        try scenario.expect(["Book a note=n title=AAA"])
    }

    // MARK: The store's own tables

    @Test("2, P8. Rows that the store needs cannot be deleted", arguments: ["state", "scope", "zone", "type", "field"])
    func neededRowsStay(table: String) throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let error = #expect(throws: DatabaseError.self) { try phone.run("DELETE FROM mist_\(table)") }
        #expect(error.map { StoreError($0).message.contains("mist_\(table)") } == true)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try scenario.expect(["Book a title=A"])
    }

    @Test(
        "2, 34, P8. Emptied and dropped tables are repaired at the next opening, and edits made meanwhile are kept",
        arguments: [
            "DELETE FROM mist_state", "DELETE FROM mist_scope", "DELETE FROM mist_zone", "DELETE FROM mist_type",
            "DELETE FROM mist_field", "DELETE FROM mist_type; DELETE FROM mist_field", "DELETE FROM mist_record",
        ]
    )
    func emptiedTablesAreRepaired(statement: String) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('a', 'A', 'N'), ('b', 'B', 'N')")
        try scenario.synchronise()
        try laptop.run("UPDATE Book SET note = 'laptop' WHERE _recordName = 'b'")
        try laptop.sync()
        // Of a file without the triggers that refuse this.
        let guards = try phone.database.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'mist_keep_%'"
            )
        }
        for name in guards { try phone.run("DROP TRIGGER \(name)") }
        try phone.run(statement)
        try phone.run("UPDATE Book SET title = 'AA' WHERE _recordName = 'a'")
        try phone.restart()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('c', 'C')")
        try scenario.synchronise()
        try scenario.expect(["Book a note=N title=AA", "Book b note=laptop title=B", "Book c title=C"])
        #expect(try phone.value("SELECT count(*) FROM mist_zone") == 1)
    }

    @Test(
        "34, P8. A file of an earlier format without the row of `mist_state` is repaired",
        arguments: 1...6
    )
    func emptiedTablesOfOlderFilesAreRepaired(format: Int) throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try phone.takeAwayParts(sinceFormat: format)
        try phone.run("DROP TRIGGER mist_keep_mist_state", "DELETE FROM mist_state")
        try phone.run("UPDATE Book SET title = 'AA'")
        try phone.restart()
        try scenario.synchronise()
        try scenario.expect(["Book a title=AA"])
    }

    @Test(
        "34, P8. A table that was dropped or renamed is no delete of its records: they are fetched again",
        arguments: ["DROP TABLE Book", "ALTER TABLE Book RENAME TO Books"]
    )
    func droppedTablesComeBack(statement: String) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')",
            "INSERT INTO Book (_recordName, title, shelf) VALUES ('a', 'A', 's')"
        )
        try scenario.synchronise()
        try phone.run(statement)
        try phone.restart()
        try scenario.synchronise()
        try scenario.expect(["Book a shelf=→s title=A", "Shelf s name=S"])
        try phone.run("UPDATE Book SET title = 'AA'")
        try scenario.synchronise()
        #expect(try laptop.records() == ["Book a shelf=→s title=AA", "Shelf s name=S"])
    }

    @Test("34, P8. A table of another program that has the name of a new record type is refused by name")
    func tablesOfOthersAreRefused() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("CREATE TABLE Card (text)", "INSERT INTO Card VALUES ('mine')")
        let error = #expect(throws: StoreError.self) { try phone.restart(records: [FirstVersion.Card.self]) }
        #expect(error?.code == .schema)
        #expect(error?.recordType == "Card")
        #expect(try phone.value("SELECT count(*) FROM Card") == 1)
    }

    @Test("34, P8. Without a table of the store's own, the error says what to do")
    func missingTablesAreExplained() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("DROP TABLE mist_edit")
        let error = #expect(throws: StoreError.self) { try phone.sync() }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("mist_edit") == true)
        let other = try scenario.device("laptop")
        try other.run("DROP TABLE mist_zone")
        #expect(throws: StoreError.self) { try other.restart() }
    }
}

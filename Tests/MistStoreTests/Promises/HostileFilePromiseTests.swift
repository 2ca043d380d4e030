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

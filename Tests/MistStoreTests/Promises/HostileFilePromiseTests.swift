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
}

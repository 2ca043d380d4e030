import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
import TestSupport
import Testing

@testable import MistStore

/// Promise 43: with a key of the program, the values of encrypted fields are sealed wherever a file has them.
struct SealingPromiseTests {
    private static let key = StoreEncryptionKey()
    private static let types: [any CloudKitRecord.Type] = [Shelf.self, Note.self]

    private static let note = Note(
        title: "Title",
        text: "hidden 🥛",
        pin: 4711,
        weight: 0.25,
        day: Date(timeIntervalSince1970: 1_686_106_171.024),
        bytes: Data([0, 255, 1]),
        place: Location(latitude: 1, longitude: 2)
    )

    /// A device whose file is sealed with a key.
    private func device(_ name: String, in scenario: SyncScenario, key: StoreEncryptionKey? = key) throws
        -> ScenarioDevice
    {
        try scenario.device(name, records: Self.types) { $0.encryptionKey = key }
    }

    private func fetch(_ name: String, from device: ScenarioDevice) throws -> Note {
        try device.database.read { db in
            try StoreReader(database: device.local, db: db).fetch(Note.self, named: name).model
        }
    }

    @Test("43. Sealed fields are synchronised and merged as others, with a device that has no key")
    func sealedFieldsAreSynchronised() throws {
        let scenario = try SyncScenario()
        let phone = try device("phone", in: scenario)
        let laptop = try device("laptop", in: scenario, key: nil)
        try phone.write { try $0.add(Self.note, named: "a") }
        try phone.write { try $0.add(Note(title: "B", text: "first"), named: "b") }
        try scenario.synchronise()
        #expect(try fetch("a", from: phone) == Self.note)
        #expect(try fetch("a", from: laptop) == Self.note)
        #expect(try scenario.serviceRecord("a")?.fields["text"] == .encrypted(.string("hidden 🥛")))

        // Different fields are kept, and the later edit of one field wins.
        try phone.write { try $0.update(Note.self, named: "b") { ($0.text, $0.pin) = ("phone", 1) } }
        try laptop.write { try $0.update(Note.self, named: "b") { ($0.text, $0.title) = ("laptop", "BB") } }
        try laptop.sync()
        try scenario.synchronise()
        for device in [phone, laptop] {
            #expect(try fetch("b", from: device) == Note(title: "BB", text: "laptop", pin: 1))
        }
        let log = try phone.database.read { db in
            try RecoveryEntries(scope: .private, db: db, sealer: phone.file.sealer).latest(10)
        }
        #expect(log.map(\.reason) == [.laterEdit])
        #expect(log.first?.fields["text"] == .string("phone"))
        #expect(try phone.pending().isEmpty)
    }

    @Test("43. A value that is written again is no edit, and keeps its sealed bytes")
    func equalValuesAreNoEdits() throws {
        let scenario = try SyncScenario()
        let phone = try device("phone", in: scenario)
        try phone.write { try $0.add(Self.note, named: "a") }
        try phone.sync()
        let sealed = try phone.database.read { db in try Row.fetchOne(db, sql: "SELECT * FROM Note") }
        try phone.write { try $0.add(Self.note, named: "a") }
        #expect(try phone.pending().isEmpty)
        let later = try phone.database.read { db in try Row.fetchOne(db, sql: "SELECT * FROM Note") }
        for column in ["text", "pin", "weight", "day", "bytes", "place"] {
            #expect(sealed?[column] as DatabaseValue? == later?[column] as DatabaseValue?)
        }
        try phone.write { try $0.update(Note.self, named: "a") { $0.text = "other" } }
        #expect(try phone.pending() == ["phone: edit Note 1 text"])
        // The service's value is its base: an older edit of another device loses to it.
        let base = try phone.database.read { db in try Row.fetchOne(db, sql: "SELECT base FROM mist_edit") }
        #expect(base?["base"] as DatabaseValue? == sealed?["text"] as DatabaseValue?)
    }

    @Test("43. Queries on sealed fields are refused, also where the program has the field as a plain one")
    func queriesAreRefused() throws {
        let scenario = try SyncScenario()
        let phone = try device("phone", in: scenario)
        try phone.write { try $0.add(Self.note, named: "a") }
        let found = try phone.database.read { db in
            try StoreReader(database: phone.local, db: db).find(Query<Note> { Filter(\.title == "Title") })
        }
        #expect(found.map(\.model) == [Self.note])
        try phone.restart(records: [Shelf.self, PlainNote.self])
        try phone.database.read { db in
            let reader = StoreReader(database: phone.local, db: db)
            let found = try reader.fetch(PlainNote.self, named: "a").model
            #expect(found == PlainNote(title: "Title", text: "hidden 🥛"))
            let error = #expect(throws: StoreError.self) {
                try reader.find(Query<PlainNote> { Filter(\.text == "hidden 🥛") })
            }
            #expect(error?.code == .query)
            #expect(error?.fieldName == "text")
        }
    }

    @Test("43. SQL can neither write a plain value, nor give a sealed record another name; it can clear a field")
    func sqlCannotWritePlainValues() throws {
        let scenario = try SyncScenario()
        let phone = try device("phone", in: scenario)
        try phone.write { try $0.add(Self.note, named: "a") }
        for value in ["text = 'plain'", "pin = 1", "weight = 0.5", "day = 5", "bytes = x'00'", "place = '{}'"] {
            #expect(throws: DatabaseError.self) { try phone.run("UPDATE Note SET \(value)") }
        }
        #expect(throws: DatabaseError.self) { try phone.run("UPDATE Note SET _recordName = 'b'") }
        #expect(try fetch("a", from: phone) == Self.note)
        try phone.run("UPDATE Note SET text = NULL, title = 'T'")
        try phone.sync()
        #expect(try scenario.serviceRecord("a")?.fields["text"] == nil)
        #expect(try fetch("a", from: phone).pin == 4711)
    }

    @Test("43. A value that was copied from another record, or is no sealed value, is parked and reported")
    func copiedValuesAreMisfits() throws {
        let scenario = try SyncScenario()
        let phone = try device("phone", in: scenario)
        try phone.write { try $0.add(Self.note, named: "a") }
        try phone.write { try $0.add(Note(text: "other"), named: "b") }
        try phone.sync()
        try phone.run("UPDATE Note SET text = (SELECT text FROM Note WHERE _recordName = 'a') WHERE _recordName = 'b'")
        try phone.run("UPDATE Note SET pin = x'0000' WHERE _recordName = 'b'")
        let error = #expect(throws: StoreError.self) { try fetch("b", from: phone) }
        #expect(error?.code == .value)
        #expect(error?.fieldName == "pin")
        try phone.sync()
        #expect(try phone.pending().contains { $0.hasPrefix("phone: parked b") })
        #expect(try scenario.serviceRecord("b")?.fields["text"] == .encrypted(.string("other")))
        // Written again, it is sent.
        try phone.write { try $0.add(Note(text: "again"), named: "b") }
        try phone.sync()
        #expect(try scenario.serviceRecord("b")?.fields["text"] == .encrypted(.string("again")))
        #expect(try phone.pending().isEmpty)
    }

    @Test("43, 34. A file gets its key when it is opened with one: what it has is sealed, with its pending work")
    func existingFilesAreSealed() throws {
        let scenario = try SyncScenario()
        let phone = try device("phone", in: scenario, key: nil)
        let laptop = try device("laptop", in: scenario)
        try phone.write { try $0.add(Self.note, named: "a") }
        try scenario.synchronise()
        try phone.write { try $0.update(Note.self, named: "a") { $0.text = "edited" } }
        try phone.write { try $0.add(Note(text: "new"), named: "b") }
        // A process that was opened without the key is still there.
        let former = (phone.file, phone.engine)
        try phone.restart(key: Self.key)
        #expect(try fetch("a", from: phone).text == "edited")
        #expect(try phone.value("SELECT count(*) FROM Note WHERE typeof(text) = 'blob'") == 2)
        #expect(try phone.value("SELECT count(*) FROM mist_edit WHERE typeof(base) = 'blob'") == 1)
        // It reads no sealed value as a plain one, and neither writes nor synchronises.
        try phone.database.read { db in
            let table = try former.0.table(of: "Note")
            for row in try table.allRows(db) { #expect(row.fields.keys.allSatisfy { $0 == "title" }) }
        }
        let error = #expect(throws: StoreError.self) { try former.1.next(at: phone.now) }
        #expect(error == .keyMissing)
        try scenario.synchronise()
        #expect(try fetch("a", from: laptop).text == "edited")
        #expect(try fetch("b", from: laptop).text == "new")
        #expect(try phone.pending().isEmpty)
        #expect(try phone.recovery().isEmpty)
    }

    @Test("43. No key or another key is a typed error, and changes nothing")
    func wrongKeysChangeNothing() throws {
        let scenario = try SyncScenario()
        let phone = try device("phone", in: scenario)
        try phone.write { try $0.add(Self.note, named: "a") }
        let tables = [Shelf.schema, Note.schema]
        for (key, code) in [(nil, StoreError.Code.keyMissing), (StoreEncryptionKey(), .wrongKey)] {
            let before = try phone.database.read { db in try db.changeCount() }
            let error = #expect(throws: StoreError.self) {
                try StoreFile(
                    phone.database,
                    schemas: tables + [PlainNote.otherSchema],
                    scopes: [.private: SyncScenario.zone],
                    key: PresentKey(key)
                )
            }
            #expect(error?.code == code)
            #expect(try phone.database.read { db in try db.changeCount() } == before)
        }
        #expect(try fetch("a", from: phone) == Self.note)
        // Where another program has removed the key of the file, no other key takes its place.
        try phone.run("DROP TRIGGER mist_keep_mist_seal", "DELETE FROM mist_seal")
        for key in [nil, Self.key] {
            let error = #expect(throws: StoreError.self) {
                try StoreFile(
                    phone.database,
                    schemas: tables,
                    scopes: [.private: SyncScenario.zone],
                    key: PresentKey(key)
                )
            }
            #expect(error?.code == .damaged)
        }
    }

    @Test("43, 34. A field that becomes encrypted is sealed, and a renamed field keeps its values")
    func fieldsBecomeEncrypted() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [PlainNote.self]) { $0.encryptionKey = Self.key }
        try phone.write { try $0.add(PlainNote(title: "A", text: "plain"), named: "a") }
        #expect(try phone.value("SELECT count(*) FROM Note WHERE text = 'plain'") == 1)
        try phone.restart(records: Self.types)
        #expect(try phone.value("SELECT count(*) FROM Note WHERE typeof(text) = 'blob'") == 1)
        #expect(try fetch("a", from: phone) == Note(title: "A", text: "plain"))
        try phone.restart(records: [RenamedNote.self])
        func body() throws -> String? {
            try phone.database.read { db in
                try StoreReader(database: phone.local, db: db).fetch(RenamedNote.self, named: "a").model.body
            }
        }
        let plainBody = try body()
        #expect(plainBody == "plain")
        try phone.write { try $0.update(RenamedNote.self, named: "a") { $0.body = "renamed" } }
        let renamedBody = try body()
        #expect(renamedBody == "renamed")
        // The program before the rename reads the new value in its column.
        try phone.restart(records: Self.types)
        #expect(try fetch("a", from: phone).text == "renamed")
        try phone.write { try $0.update(Note.self, named: "a") { $0.text = "former" } }
        try phone.restart(records: [RenamedNote.self])
        let formerBody = try body()
        #expect(formerBody == "former")
    }

    @Test("43, 34. A field that is renamed and encrypted while the file gets its key is sealed under both names")
    func renamedFieldsOfPlainFilesAreSealed() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [PlainNote.self])
        try phone.write { try $0.add(PlainNote(title: "A", text: "plain"), named: "a") }
        try phone.restart(records: [RenamedNote.self], key: Self.key)
        #expect(try phone.value("SELECT count(*) FROM Note WHERE typeof(text) = 'blob' AND typeof(body) = 'blob'") == 1)
        let found = try phone.database.read { db in
            try StoreReader(database: phone.local, db: db).fetch(RenamedNote.self, named: "a").model
        }
        #expect(found == RenamedNote(title: "A", body: "plain"))
    }
}

extension Database {
    /// A number that changes with the content and with the schema of the file.
    fileprivate func changeCount() throws -> [Int64] {
        let tables = try String.fetchAll(self, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        let rows = try tables.map { try Int64.fetchOne(self, sql: "SELECT count(*) FROM \($0)") ?? 0 }
        let counters = ["schema_version", "page_count", "freelist_count"].map { "PRAGMA \($0)" }
        return try rows + counters.map { try Int64.fetchOne(self, sql: $0) ?? 0 }
            + [Int64(totalChangesCount)]
    }
}

extension PlainNote {
    /// A type that the file does not have.
    fileprivate static var otherSchema: RecordSchema { RecordSchema(recordType: "Other", fields: []) }
}

import GRDB
import Testing

@testable import MistStore

/// Refusals of triggers are recognised by their codes.
struct TriggerRefusalTests {
    /// The refusal and the error of a statement.
    private func refusal(of statement: String, on device: ScenarioDevice) -> (TriggerRefusal?, StoreError.Code?) {
        let error = #expect(throws: DatabaseError.self, "\(statement)") { try device.run(statement) }
        return (error.flatMap { TriggerRefusal($0) }, error.map { StoreError($0).code })
    }

    @Test("2, 15, 17. Each refusal of a trigger has a code, which the store recognises")
    func everyRefusalIsRecognised() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", zones: .perRoot)
        let laptop = try scenario.device("laptop", zones: .perRoot)
        for device in [phone, laptop] { try device.run("INSERT INTO Shelf (_recordName) VALUES ('s')") }
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('t')",
            "INSERT INTO Shelf (_recordName) VALUES ('u')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('b', 't')"
        )
        try scenario.synchronise()
        let tablet = try SyncScenario().device("tablet")
        try tablet.run("INSERT INTO Shelf (_recordName) VALUES ('s')")
        try tablet.sync()
        let safe = try scenario.device("safe", records: [Note.self]) { $0.encryptionKey = StoreEncryptionKey() }
        try safe.write { try $0.add(Note(text: "sealed"), named: "a") }
        let rows: [(device: ScenarioDevice, statement: String, refusal: TriggerRefusal, code: StoreError.Code)] = [
            (phone, "INSERT INTO Shelf (_zone) VALUES (99)", .unknownZone, .value),
            (phone, "UPDATE Book SET _zone = 99", .unknownZone, .value),
            (tablet, "INSERT INTO Book (_recordName) VALUES ('s')", .nameTaken, .nameTaken),
            (phone, "INSERT INTO Shelf (_recordName) VALUES ('s')", .nameTakenInOtherZone, .nameTaken),
            (phone, "INSERT INTO Book (shelf) VALUES ('s')", .parentInSeveralZones, .link),
            (phone, "UPDATE Book SET shelf = 'u'", .linkToOtherZone, .link),
            (
                phone,
                """
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 901)
                INSERT INTO Shelf (name) SELECT n FROM number
                """,
                .tooManyZones, .tooManyZones
            ),
            (phone, "DELETE FROM mist_zone", .rowIsNeeded, .value),
            (safe, "UPDATE Note SET _recordName = 'b'", .sealedName, .value),
        ]
        for row in rows {
            let (found, code) = refusal(of: row.statement, on: row.device)
            #expect(found == row.refusal, "\(row.statement)")
            #expect(code == row.code, "\(row.statement)")
        }
        #expect(Set(rows.map(\.refusal)) == Set(TriggerRefusal.allCases))
    }

    @Test("Errors of SQLite, and triggers of other programs, are no refusals of the store")
    func otherErrorsAreNotRefusals() throws {
        let phone = try SyncScenario().device("phone")
        try phone.run(
            "CREATE TRIGGER own BEFORE INSERT ON Shelf WHEN NEW.name = 'own' BEGIN SELECT RAISE(ABORT, 'own'); END",
            """
            CREATE TRIGGER later BEFORE INSERT ON Shelf WHEN NEW.name = 'later'
            BEGIN SELECT RAISE(ABORT, 'mist.later: a refusal of a later version'); END
            """
        )
        for (statement, expected) in [
            ("INSERT INTO Shelf (name) VALUES ('own')", StoreError.Code.storage),
            ("INSERT INTO Shelf (name) VALUES ('later')", .storage),
            ("INSERT INTO Shelf (_recordName) VALUES ('_')", .recordName),
            ("INSERT INTO Book (title) VALUES (x'00')", .storage),
        ] {
            let (found, code) = refusal(of: statement, on: phone)
            #expect(found == nil, "\(statement)")
            #expect(code == expected, "\(statement)")
        }
    }

    @Test("34. A file whose triggers have the messages of an earlier version gets those of this one")
    func triggersOfEarlierVersionsAreReplaced() throws {
        let phone = try SyncScenario().device("phone")
        try phone.run(
            "DROP TRIGGER mist_keep_mist_zone",
            """
            CREATE TRIGGER mist_keep_mist_zone BEFORE DELETE ON mist_zone
            BEGIN SELECT RAISE(ABORT, 'mist: the row is needed in mist_zone'); END
            """,
            "DROP TRIGGER mist_place_Shelf",
            """
            CREATE TRIGGER mist_place_Shelf AFTER INSERT ON Shelf WHEN NEW._zone = 99
            BEGIN SELECT RAISE(ABORT, 'mist: there is no such zone'); END
            """,
            "UPDATE mist_type SET generation = 2"
        )
        #expect(refusal(of: "DELETE FROM mist_zone", on: phone) == (nil, .storage))
        try phone.restart()
        #expect(refusal(of: "DELETE FROM mist_zone", on: phone) == (.rowIsNeeded, .value))
        #expect(refusal(of: "INSERT INTO Shelf (_zone) VALUES (99)", on: phone) == (.unknownZone, .value))
    }
}

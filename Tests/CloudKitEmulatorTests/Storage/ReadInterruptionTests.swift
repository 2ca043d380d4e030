import CloudKitModel
import GRDB
import Synchronization
import Testing

@testable import CloudKitEmulator

struct ReadInterruptionTests {
    @Test(.timeLimit(.minutes(10))) func aReadEndsInTheMiddleOfAStatement() throws {
        let emulator = try CloudKitEmulator()
        let interruption = ReadInterruption()
        let rows = Mutex(0)
        let outcome = refusal {
            try emulator.read { db in
                try interruption.run(on: db) {
                    db.add(
                        function: DatabaseFunction("row", argumentCount: 0) { _ in
                            let count = rows.withLock { rows in
                                rows += 1
                                return rows
                            }
                            if count == 1000 { interruption.interrupt() }
                            return true
                        }
                    )
                    // This statement has no end.
                    let numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
                    return try db.row("\(numbers) SELECT count(*) FROM c WHERE row()")
                }
            }
        }
        #expect(outcome.hasPrefix("INTERNAL_ERROR the emulator's storage failed: SQLite error 9: interrupted"))
        // No further read of the request begins, and those of other requests do.
        let later = refusal { try emulator.read { db in try interruption.run(on: db) { try db.row("SELECT 1") } } }
        #expect(later == "INTERNAL_ERROR the client has left")
        #expect(try emulator.createUser().isEmpty == false)
        #expect(try emulator.listUsers().count == 1)
    }

    @Test func aQueryOfARequestThatWasInterruptedIsNotAnswered() throws {
        let world = try World()
        try world.modify(.note(.create, "a", ["n": 1]))
        var context = try world.asAnn()
        let interruption = ReadInterruption()
        context.interruption = interruption
        let query = RecordQuery(recordType: "Note")
        #expect(try context.queryRecords(query, zoneID: World.notes).records.count == 1)
        interruption.interrupt()
        let outcome = refusal { try context.queryRecords(query, zoneID: World.notes) }
        #expect(outcome == "INTERNAL_ERROR the client has left")
        #expect(try world.find(query) == ["a"])
    }
}

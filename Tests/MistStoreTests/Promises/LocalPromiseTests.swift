import CloudKitModel
import Foundation
import GRDB
import MistKit
import TestSupport
import Testing

@testable import MistStore

/// Promises 1 to 5: what happens on one machine.
struct LocalPromiseTests {
    @Test("1. Local work needs no service")
    func localWorkNeedsNoService() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            let shelf = try await store.privateDatabase.add(Shelf(name: "Home"), named: "home")
            try await store.privateDatabase.add(Book(shelf: shelf.reference(), title: "Emma"), named: "emma")
            #expect(try await store.privateDatabase.fetch(Book.self, named: "emma").title == "Emma")
            try await store.privateDatabase.remove(shelf)
            await #expect(throws: StoreError.self) { try await store.privateDatabase.fetch(Book.self, named: "emma") }
            try store.close()
        }
    }

    @Test("2. Within a transaction, all verbs that read see its changes")
    func writersReadTheirOwnChanges() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            try await store.privateDatabase.write { records in
                let shelf = try records.add(Shelf(name: "Home"), named: "home")
                try records.add(Book(shelf: shelf.reference(), title: "Emma"), named: "emma")
                #expect(try records.fetch(Book.self, named: "emma").title == "Emma")
                #expect(try records.fetch(shelf.reference()).name == "Home")
                #expect(try records.fetch(Shelf.self, named: "home", including: .all).records(of: Book.self).count == 1)
                #expect(try records.fetchIfPresent(Book.self, named: "missing") == nil)
                #expect(try records.find(Query<Book>()).map(\.recordName) == ["emma"])
                #expect(try records.findUnreadable(Query<Book>()).isEmpty)
                #expect(try records.status(of: Book.self, named: "emma")?.state == .edited)
            }
            try store.close()
        }
    }

    @Test(
        "1, A14. A refused local operation has a typed error and changes nothing",
        arguments: [
            "_x", String(repeating: "a", count: 256), "é", "",
        ]
    )
    func refusedOperationsChangeNothing(name: String) async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            let error = await #expect(throws: StoreError.self) {
                try await store.privateDatabase.write { records in
                    try records.add(Shelf(name: "Home"), named: "home")
                    try records.add(Shelf(name: "Work"), named: name)
                }
            }
            #expect(error?.code == .recordName)
            await #expect(throws: StoreError.self) { try await store.privateDatabase.fetch(Shelf.self, named: "home") }
            try store.close()
        }
    }

    @Test("2. What a committed transaction wrote is pending; what a rolled-back one wrote is not")
    func pendingWorkFollowsTransactions() throws {
        struct Cancelled: Error {}
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('kept', 'Home')")
        #expect(throws: Cancelled.self) {
            try phone.database.write { db in
                try db.execute(sql: "UPDATE Shelf SET name = 'Work'; INSERT INTO Shelf (name) VALUES ('lost')")
                throw Cancelled()
            }
        }
        #expect(try phone.pending() == ["phone: edit Shelf 1"])
        #expect(try phone.sync().writes == ["zones/modify Records", "modify create kept"])
        try scenario.expect(["Shelf kept name=Home"])
    }

    @Test("2, A1. An insert, an edit and a delete reach the service, and nothing else changes")
    func changesReachTheService() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try scenario.synchronise()
        try scenario.expect(["Book a title=A", "Book b title=B"])
        try phone.run("UPDATE Book SET title = 'AA' WHERE _recordName = 'a'")
        #expect(try phone.pending() == ["phone: edit Book 1 title"])
        try scenario.synchronise()
        try scenario.expect(["Book a title=AA", "Book b title=B"])
        try phone.run("DELETE FROM Book WHERE _recordName = 'a'")
        #expect(try phone.pending() == ["phone: delete a"])
        try scenario.synchronise()
        try scenario.expect(["Book b title=B"])
    }

    @Test("2, A6. Two edits before a send are one operation with the last values, and keep both times")
    func editsBeforeASendAreOneOperation() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('b', 'B', 'N')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'phone 1'")
        try laptop.run("UPDATE Book SET title = 'laptop', note = 'laptop'")
        try phone.run("UPDATE Book SET title = 'phone 2'")
        #expect(try phone.sync().writes == ["modify update b"])
        try scenario.synchronise()
        try scenario.expect(
            ["Book b note=laptop title=phone 2"],
            recovery: ["laptop: Book b laterEdit title=laptop"]
        )
    }

    @Test("2, A9. What is written while the engine is stopped is sent when it starts")
    func writesWhileStoppedAreSent() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try scenario.synchronise()
        try phone.run("DELETE FROM Book WHERE _recordName = 'a'", "UPDATE Book SET title = 'BB'")
        try phone.restart()
        try scenario.synchronise()
        try scenario.expect(["Book b title=BB"])
    }

    @Test("3. The death of the process loses nothing: each step of a push and a pull, before and after the service")
    func deathOfTheProcessLosesNothing() throws {
        for step in 0..<7 {
            for isAfter in [false, true] {
                let scenario = try SyncScenario()
                let (phone, laptop) = try scenario.twoDevices()
                try laptop.run("INSERT INTO Book (_recordName, title, note) VALUES ('l', 'L', 'N'), ('d', 'D', 'N')")
                try laptop.sync()
                var number = 0
                var crashes = 0
                func sync() throws {
                    let trace = try phone.sync { _ in
                        defer { number += 1 }
                        return number == step ? isAfter ? .crashAfter : .crashBefore : .answered
                    }
                    guard trace.end == nil else { return }
                    crashes += 1
                    try phone.sync()
                }
                try sync()
                try phone.run(
                    "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')",
                    "INSERT INTO Book (_recordName, shelf, title) VALUES ('p', 's', 'P')"
                )
                try sync()
                try phone.run(
                    "UPDATE Book SET title = 'LL' WHERE _recordName = 'l'",
                    "DELETE FROM Book WHERE _recordName = 'd'"
                )
                try sync()
                #expect(crashes == 1)
                try scenario.synchronise()
                try scenario.expect(["Book l note=N title=LL", "Book p shelf=→s title=P", "Shelf s name=S"])
            }
        }
    }

    @Test("3. An operation of unknown outcome is not repeated before its zone was pulled")
    func unknownOutcomesAreNotRepeated() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try phone.sync { $0.operations == nil ? .answered : .lostReply }
        #expect(try phone.pending().contains("phone: sent create b"))
        // Other work wakes the engine, but it does not send the create again before the pull.
        #expect(try phone.sync().lines == ["changes/database", "changes/zone"])
        try scenario.synchronise()
        try scenario.expect(["Book b title=B"])
    }

    @Test("3. A request that never arrived is sent again after its zone was pulled")
    func lostRequestsAreSentAgain() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try phone.sync { $0.operations == nil ? .answered : .lostRequest }
        #expect(try phone.sync().lines == ["changes/database", "changes/zone", "modify create b"])
        try scenario.synchronise()
        try scenario.expect(["Book b title=B"])
    }

    @Test("3. A tombstone after an unknown outcome means: stored, then deleted elsewhere")
    func tombstonesDecideUnknownOutcomes() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try phone.sync { $0.operations == nil ? .answered : .lostReply }
        try laptop.sync()
        try laptop.run("DELETE FROM Book")
        try laptop.sync()
        #expect(try phone.sync().writes == [])
        try scenario.synchronise()
        try scenario.expect([], recovery: ["phone: Book b deleted title=B"])
    }

    @Test("3. In the public scope a lookup decides whether an operation was done")
    func lookupsDecideInThePublicScope() throws {
        for wasDone in [true, false] {
            let scenario = try SyncScenario()
            let phone = try scenario.device("phone", scope: .public)
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
            try phone.sync { $0.operations == nil ? .answered : wasDone ? .lostReply : .lostRequest }
            #expect(try phone.sync().lines == (wasDone ? ["lookup b"] : ["lookup b", "modify create b"]))
            #expect(try phone.records() == ["Book b title=B"])
            #expect(try phone.pending() == [])
            try phone.run("UPDATE Book SET title = 'BB'")
            try phone.sync { $0.operations == nil ? .answered : wasDone ? .lostReply : .lostRequest }
            #expect(try phone.sync().lines == (wasDone ? ["lookup b"] : ["lookup b", "modify update b"]))
            let found = try scenario.service.result(of: .lookup(["b"], zone: .default), in: .public).get()
            guard case .records(let records) = found else { throw StoreError(.notFound, "no lookup") }
            #expect(try records.map { try $0.get().fields["title"] } == [.string("BB")])
            try phone.run("DELETE FROM Book")
            try phone.sync { $0.operations == nil ? .answered : wasDone ? .lostReply : .lostRequest }
            #expect(try phone.sync().lines == (wasDone ? ["lookup b"] : ["lookup b", "modify delete b"]))
            #expect(try phone.records() == [])
            #expect(try phone.pending() == [])
        }
    }

    @Test("4, A12. An edit made while a push of the record is in flight stays pending, on the sent value")
    func editsInFlightStayPending() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('b', 'B', 'N')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'sent', note = 'sent'")
        var count = 0
        let trace = try phone.sync { request in
            guard let operation = request.operations?.first else { return .answered }
            count += 1
            if count == 1 {
                let reply = phone.answer(request)
                try phone.run("UPDATE Book SET title = 'later'")
                return .reply(reply)
            }
            #expect(operation.record.fields["title"] == .string("later"))
            #expect(operation.record.fields["note"] == nil)
            #expect(try phone.value("SELECT count(*) FROM mist_edit WHERE base = 'sent'") == 1)
            return .answered
        }
        #expect(trace.writes == ["modify update b", "modify update b"])
        try scenario.synchronise()
        try scenario.expect(["Book b note=sent title=later"])
    }

    @Test("4. A record deleted while its push is in flight is deleted at the service")
    func deletesInFlightAreSent() throws {
        for loses in [false, true] {
            let scenario = try SyncScenario()
            let (phone, _) = try scenario.twoDevices()
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
            try phone.sync { request in
                guard request.operations?.first?.operationType == .create else { return .answered }
                let reply = phone.answer(request)
                try phone.run("DELETE FROM Book")
                return loses ? .reply(.failure(.broken(mayHaveBeenDone: true))) : .reply(reply)
            }
            try scenario.synchronise()
            try scenario.expect([])
        }
    }

    @Test("5, A8. A record created and removed before its first push costs no request")
    func recordsThatNeverWereCostNothing() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try phone.run("DELETE FROM Book")
        #expect(try phone.sync().lines == ["changes/database"])
        try scenario.expect([])
    }

    @Test("5, A7. Removed and added again: the delete is acknowledged first, and the lives are never merged")
    func livesAreNotMerged() throws {
        for isOneTransaction in [true, false] {
            let scenario = try SyncScenario()
            let (phone, laptop) = try scenario.twoDevices()
            try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('b', 'first', 'N')")
            try scenario.synchronise()
            try laptop.run("UPDATE Book SET note = 'of the first life'")
            if isOneTransaction {
                try phone.run("DELETE FROM Book", "INSERT INTO Book (_recordName, title) VALUES ('b', 'second')")
            } else {
                try phone.run("DELETE FROM Book")
                try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'second')")
            }
            let trace = try phone.sync()
            #expect(trace.writes == ["modify delete b", "modify create b"])
            try scenario.synchronise()
            try scenario.expect(
                ["Book b title=second"],
                recovery: ["laptop: Book b replaced note=of the first life title=first"]
            )
        }
    }

    @Test("2. A record that was never sent and is replaced in SQL is one pending change, and none after it was sent")
    func replacedRecordsLeaveNoEdits() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'A')")
        try phone.run("INSERT OR REPLACE INTO Book (_recordName, title) VALUES ('b', 'B')")
        #expect(try phone.sync().writes == ["zones/modify Records", "modify create b"])
        #expect(try await phone.local.status().pending == 0)
        try scenario.expect(["Book b title=B"])
    }
}

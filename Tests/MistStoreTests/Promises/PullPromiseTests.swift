import CloudKitEmulator
import CloudKitModel
import Foundation
import GRDB
import MistKit
import SQLiteTables
import Testing

@testable import MistStore

/// Promises 19 to 22: changes that come from the service.
struct PullPromiseTests {
    @Test("19, C1. A page is one transaction with its token: the process dies between any two pages")
    func pagesAreTransactions() throws {
        var configuration = EmulatorConfiguration()
        configuration.limits.recordsPerResponse = 3
        for crash in 0...5 {
            let scenario = try SyncScenario(configuration: configuration)
            let (phone, laptop) = try scenario.twoDevices()
            for number in 1...14 {
                try phone.run("INSERT INTO Book (_recordName, best) VALUES ('b\(number)', \(number))")
            }
            try phone.sync()
            var pages = 0
            let trace = try laptop.sync { request in
                guard case .zoneChanges = request else { return .answered }
                defer { pages += 1 }
                return pages == crash ? .crashAfter : .answered
            }
            // The changes of the pages before the crash are in the file, and no page is fetched again.
            #expect(try laptop.value("SELECT count(*) FROM Book") == Int64(trace.end == nil ? crash * 3 : 14))
            let fetched = try laptop.sync().summary.fetched
            #expect(fetched == (trace.end == nil ? 14 - crash * 3 : 0))
            try scenario.expect((1...14).map { "Book b\($0) best=\($0)" })
        }
    }

    @Test("19, O2. A page applied twice, and a reply delivered twice, change nothing")
    func pagesApplyTwice() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, loans) VALUES ('a', 'A', 1), ('b', 'B', 2)")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET loans = loans + 1", "DELETE FROM Book WHERE _recordName = 'b'")
        try laptop.run("UPDATE Book SET loans = loans + 10 WHERE _recordName = 'a'")
        try phone.sync()
        try laptop.database.write { db in
            try db.execute(sql: "CREATE TEMP TABLE old_zone AS SELECT id, token FROM mist_zone")
        }
        var number: RequestNumber = 0
        try laptop.sync { request in
            number = RequestNumber(number.rawValue + 1)
            let reply = laptop.answer(request)
            let before = try laptop.records() + laptop.recovery()
            // A response to a request that is no longer under way is dropped.
            #expect(
                try laptop.engine.handle(reply, to: RequestNumber(number.rawValue - 1), at: laptop.now) == SyncSummary()
            )
            #expect(try laptop.records() + laptop.recovery() == before)
            return .reply(reply)
        }
        // The page is fetched again.
        try laptop.database.write { db in
            try db.execute(
                sql:
                    "UPDATE mist_zone SET is_stale = 1, token = (SELECT token FROM old_zone WHERE old_zone.id = mist_zone.id)"
            )
        }
        #expect(try laptop.go().summary == SyncSummary())
        try scenario.synchronise()
        try scenario.expect(["Book a loans=12 title=A"])
    }

    @Test("19. A changes request and a modify request are never in flight together")
    func oneRequestAtATime() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        try phone.sync { _ in
            let count = try phone.value("SELECT count(*) FROM mist_request")
            #expect(count == 1)
            return .answered
        }
        // An abandoned request gets no response any more, and its outcome is unknown.
        try phone.run("UPDATE Book SET title = 'B'")
        guard case .send(let push, let number) = try phone.engine.next(at: phone.now) else {
            Issue.record("no request")
            return
        }
        guard case .send(let pull, _) = try phone.engine.next(at: phone.now) else {
            Issue.record("no request")
            return
        }
        #expect([push.line, pull.line] == ["modify update b", "changes/zone"])
        #expect(try phone.engine.handle(phone.answer(push), to: number, at: phone.now) == SyncSummary())
        try scenario.synchronise()
        try scenario.expect(["Book b title=B"])
    }

    @Test("20, C3. Our own write that comes back is no change: nothing is sent, and no row is written")
    func ownWritesAreNoChange() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try phone.sync()
        try phone.database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE writes (name);
                    CREATE TRIGGER counting AFTER UPDATE ON Book BEGIN INSERT INTO writes VALUES (NEW._recordName); END
                    """
            )
        }
        let trace = try phone.sync()
        #expect(trace.lines == ["changes/database", "changes/zone"])
        #expect(trace.summary == SyncSummary())
        #expect(try phone.value("SELECT count(*) FROM writes") == 0)
        #expect(try phone.sync().lines == ["changes/database"])
        try scenario.expect(["Book b title=B"])
    }

    @Test("C2. A server record with no real change does not disturb a pending edit, and an older copy is ignored")
    func unchangedVersionsDoNotDisturb() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('b', 'B', 'N')")
        try scenario.synchronise()
        let old = try #require(try scenario.serviceRecord("b"))
        var record = ServiceRecord(recordType: "Book", recordName: "b")
        record.recordChangeTag = old.recordChangeTag
        record.fields["title"] = .string("B")
        try scenario.change(.update, record)
        try laptop.run("UPDATE Book SET note = 'pending'")
        try laptop.sync { request in
            guard case .zoneChanges(let cursors) = request else { return .answered }
            // A page from a replica of the service that lags behind.
            _ = try laptop.answer(request).get()
            let token = try #require(cursors[0].token)
            let page = ZoneChanges(results: [.success(old)], token: token, moreComing: false)
            return .reply(.success(.zoneChanges([.success(page)])))
        }
        try scenario.synchronise()
        try scenario.expect(["Book b note=pending title=B"])
    }

    @Test("21. After a refused token everything is fetched; records deleted meanwhile are removed, with a receipt")
    func refusedTokensLeadToARefetch() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('kept', 'K'), ('clean', 'C'), ('edited', 'E')")
        try scenario.synchronise()
        try phone.run("DELETE FROM Book WHERE _recordName <> 'kept'", "UPDATE Book SET title = 'KK'")
        try phone.sync()
        try laptop.run("UPDATE Book SET title = 'pending' WHERE _recordName = 'edited'")
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('new', 'N')")
        var isRefused = false
        let trace = try laptop.sync { request in
            // The deletes are so old that the service no longer reports them: it reports only existing records.
            guard case .zoneChanges(let cursors) = request else { return .answered }
            if cursors[0].token != nil, !isRefused {
                isRefused = true
                return .reply(.success(.zoneChanges([.failure(.service("CHANGE_TOKEN_EXPIRED"))])))
            }
            #expect(cursors[0].token == nil)
            // Readers see the old rows until the last page.
            #expect(try laptop.value("SELECT count(*) FROM Book") == 4)
            guard case .zoneChanges(let pages) = try laptop.answer(request).get() else { return .answered }
            var page = try pages[0].get()
            page.results.removeAll { (try? $0.get().isDeleted) == true }
            return .reply(.success(.zoneChanges([.success(page)])))
        }
        #expect(isRefused)
        #expect(trace.writes == ["modify create new"])
        try scenario.synchronise()
        try scenario.expect(
            ["Book kept title=KK", "Book new title=N"],
            recovery: ["laptop: Book edited deleted title=pending"]
        )
    }

    @Test("22, C4. Records of unknown types are kept whole, and become rows when the program knows the type")
    func unknownTypesAreKept() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let old = try scenario.device("old", records: [Shelf.self])
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('s')",
            "INSERT INTO Book (_recordName, title, loans) VALUES ('kept', 'K', 3), ('removed', 'R', 1)"
        )
        try scenario.synchronise()
        #expect(try old.records() == ["Shelf s"])
        try phone.run("DELETE FROM Book WHERE _recordName = 'removed'")
        try scenario.synchronise()
        try old.restart(records: [Shelf.self, Book.self])
        try scenario.synchronise()
        try old.run("UPDATE Book SET title = 'KK'")
        try scenario.synchronise()
        try scenario.expect(["Book kept loans=3 title=KK", "Shelf s"])
    }

    @Test("21, 22. A program without a type keeps the rows of one that has it, also after a refused token")
    func rowsOfAnotherProgramStay() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, loans) VALUES ('b', 'B', 3), ('c', 'C', 1), ('d', 'D', 1)")
        try scenario.synchronise()
        try phone.run(
            "UPDATE Book SET title = 'BB' WHERE _recordName = 'b'",
            "DELETE FROM Book WHERE _recordName = 'd'"
        )
        try phone.sync()
        try laptop.run("UPDATE Book SET note = 'pending' WHERE _recordName = 'c'")
        // Another program of the laptop knows shelves alone.
        try laptop.restart(records: [Shelf.self])
        var isRefused = false
        try laptop.sync { request in
            guard case .zoneChanges(let cursors) = request, cursors[0].token != nil, !isRefused else {
                return .answered
            }
            isRefused = true
            return .reply(.success(.zoneChanges([.failure(.service("CHANGE_TOKEN_EXPIRED"))])))
        }
        #expect(isRefused)
        #expect(try laptop.value("SELECT count(*) FROM Book WHERE _recordName IN ('b', 'c')") == 2)
        try laptop.restart(records: [Shelf.self, Book.self])
        try scenario.synchronise()
        try scenario.expect(["Book b loans=3 title=BB", "Book c loans=1 note=pending title=C"])
    }

    @Test("22, B8, I1. Unknown fields survive every edit")
    func unknownFieldsSurvive() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        var record = ServiceRecord(recordType: "Book", recordName: "b")
        record.fields["title"] = .string("B")
        record.fields["ofTheFuture"] = .string("F")
        try phone.run("INSERT INTO Book (_recordName) VALUES ('other')")
        try phone.sync()
        try scenario.change(.create, record)
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'BB' WHERE _recordName = 'b'")
        try scenario.synchronise()
        #expect(try scenario.serviceRecord("b")?.fields["ofTheFuture"] == .string("F"))
        #expect(
            try scenario.devices.map { try $0.records() }
                == Array(repeating: ["Book b title=BB", "Book other"], count: 2)
        )
    }
}

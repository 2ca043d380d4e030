import Foundation
import MistKit
import MistStore
import MistTesting
import Synchronization
import TestSupport
import Testing

/// The main promises over HTTP, with two stores in two folders, and with the command `sqlite3` as another program.
struct TwoStoresPromiseTests {
    /// Runs a test with two stores that share one emulator.
    private func withTwoStores(_ body: (MistStore, MistStore, URL) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                let stores = try ["phone", "laptop"].map { name in
                    try MistStore(at: folder.appending(path: name), records: [Shelf.self, Book.self], service: service)
                }
                try await body(stores[0], stores[1], folder)
                for store in stores { try store.close() }
            }
        }
    }

    /// Expects that both stores have exactly these books, by name.
    private func expect(
        _ books: [String: Book?],
        in stores: MistStore...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for store in stores {
            for (name, book) in books {
                let found = try await store.privateDatabase.read {
                    try $0.fetchIfPresent(Book.self, named: name)?.model
                }
                #expect(found == book, sourceLocation: sourceLocation)
            }
        }
    }

    @Test("2, A1. Over HTTP: what a store adds, changes and removes reaches the other")
    func changesReachTheOtherStore() async throws {
        try await withTwoStores { phone, laptop, _ in
            try await phone.privateDatabase.add(Book(title: "A", tags: ["x"]), named: "a")
            try await phone.privateDatabase.add(Book(title: "B"), named: "b")
            #expect(try await phone.sync().sent == 2)
            try await laptop.sync()
            try await laptop.privateDatabase.remove(Book.self, named: "b")
            try await laptop.privateDatabase.add(Book(title: "AA", tags: ["x"]), named: "a")
            try await laptop.sync()
            try await phone.sync()
            try await expect(["a": Book(title: "AA", tags: ["x"]), "b": nil], in: phone, laptop)
        }
    }

    @Test("6, D6. Over HTTP: a delete wins over an edit, whichever store synchronises first", arguments: [true, false])
    func deletesWin(deleteIsFirst: Bool) async throws {
        try await withTwoStores { phone, laptop, _ in
            try await phone.privateDatabase.add(Book(title: "B"), named: "b")
            try await phone.sync()
            try await laptop.sync()
            try await phone.privateDatabase.remove(Book.self, named: "b")
            try await laptop.privateDatabase.add(Book(title: "edited"), named: "b")
            for store in deleteIsFirst ? [phone, laptop, phone] : [laptop, phone, laptop] { try await store.sync() }
            try await expect(["b": nil], in: phone, laptop)
        }
    }

    @Test("7, D1. Over HTTP: edits of different fields are all kept, and the latest edit of one field wins")
    func fieldsAreMerged() async throws {
        try await withTwoStores { phone, laptop, _ in
            try await phone.privateDatabase.add(Book(title: "T", note: "N"), named: "b")
            try await phone.sync()
            try await laptop.sync()
            try await phone.privateDatabase.add(Book(title: "earlier", note: "N"), named: "b")
            try await laptop.privateDatabase.add(Book(title: "later", note: "N", best: 3), named: "b")
            try await laptop.sync()
            #expect(try await phone.sync().lost == 1)
            try await expect(["b": Book(title: "later", note: "N", best: 3)], in: phone, laptop)
        }
    }

    @Test("40. Over HTTP: a store that was emptied does not empty the others, and an undo brings the records back")
    func emptiedStoresEmptyNoOthers() async throws {
        try await withTwoStores { phone, laptop, _ in
            try await phone.privateDatabase.add((1...150).map { Book(title: "\($0)") })
            try await phone.sync()
            try await laptop.sync()
            func removeAll() async throws {
                for book in try await phone.privateDatabase.find(Query<Book>()) {
                    try await phone.privateDatabase.remove(book)
                }
            }
            try await removeAll()
            let summary = try await phone.sync()
            #expect(summary.deleted == 0)
            #expect(summary.scopes[.private]?.condition == .massDeletion)
            #expect(summary.scopes[.private]?.massDeletion?.deletes == 150)
            #expect(summary.scopes[.private]?.massDeletion?.records == 150)
            try await laptop.sync()
            #expect(try await laptop.privateDatabase.find(Query<Book>()).count == 150)
            #expect(try await phone.privateDatabase.undoMassDeletion() == 150)
            try await phone.sync()
            #expect(try await phone.privateDatabase.find(Query<Book>()).count == 150)
            try await removeAll()
            #expect(try await phone.privateDatabase.allowMassDeletion() == 150)
            #expect(try await phone.sync().deleted == 150)
            let removal = try await laptop.sync().scopes[.private]?.massRemoval
            #expect(removal?.removed == 150)
            #expect(removal?.records == 150)
            #expect(try await laptop.privateDatabase.recoveryLog(limit: 1000).count == 150)
            #expect(try await laptop.sync().scopes[.private]?.massRemoval == nil)
        }
    }

    @Test("31. A second call of sync() while one runs joins it")
    func aSecondCallOfSyncJoinsTheFirst() async throws {
        try await withTwoStores { phone, _, _ in
            try await phone.privateDatabase.add((1...50).map { Book(title: "\($0)") })
            async let first = phone.sync()
            async let second = phone.sync()
            let (one, two) = try await (first, second)
            // Whether the calls were joined or ran one after the other: the records are sent once.
            #expect(one == two || one.sent + two.sent == 50)
        }
    }

    @Test("1. Over HTTP: a store whose service cannot be reached works, and sends later")
    func offlineWorkIsSentLater() async throws {
        try await inTemporaryFolder { folder in
            try await withCloudKitEmulator { emulator in
                let service = OfflineService(service: emulator.service(as: .user))
                // The clock stands still, so that the wait is not over before the summary is made.
                var configuration = StoreConfiguration()
                let now = Date()
                configuration.clock = { now }
                configuration.random = { 1 }
                let store = try MistStore(
                    at: folder,
                    records: [Shelf.self, Book.self],
                    service: service,
                    configuration: configuration
                )
                try await store.privateDatabase.add(Book(title: "B"), named: "b")
                let summary = try await store.sync()
                #expect(summary.isEmpty)
                #expect(summary.scopes[.private]?.condition == .offline)
                #expect(summary.scopes[.private]?.detail == "There is no connection.")
                #expect(summary.scopes[.private]?.restsUntil != nil)
                #expect(summary.scopes[.public] == ScopeSummary())
                service.isOnline.withLock { $0 = true }
                #expect(try await store.sync().sent == 1)
                try store.close()
            }
        }
    }

    @Test(
        "2, A11. A plain UPDATE with sqlite3 in a terminal synchronises",
        .enabled(if: Terminal.isThere, "sqlite3 is not installed")
    )
    func terminalsSynchronise() async throws {
        try await withTwoStores { phone, laptop, folder in
            let shelf = try await phone.privateDatabase.add(Shelf(name: "S"), named: "s")
            try await phone.privateDatabase.add(Book(shelf: shelf.reference(), title: "child"), named: "child")
            try await phone.privateDatabase.add(Book(title: "A", note: "N"), named: "a")
            try await phone.privateDatabase.add(Book(title: "B"), named: "b")
            try await phone.sync()
            try await laptop.sync()
            let file = folder.appending(path: "phone/user.sqlite")
            try Terminal.run("UPDATE Book SET title = 'AA' WHERE _recordName = 'a'", in: file)
            try Terminal.run("DELETE FROM Book WHERE _recordName = 'b'", in: file)
            try Terminal.run("DELETE FROM Shelf", in: file)
            try Terminal.run("INSERT INTO Book (_recordName, title) VALUES ('c', 'C')", in: file)
            try Terminal.run("INSERT OR REPLACE INTO Book (_recordName, title, note) VALUES ('d', 'D', 'N')", in: file)
            try Terminal.run("INSERT OR REPLACE INTO Book (_recordName, title) VALUES ('d', 'DD')", in: file)
            let summary = try await phone.sync()
            #expect(summary.sent == 3)
            #expect(summary.deleted == 3)
            try await laptop.sync()
            try await expect(
                [
                    "a": Book(title: "AA", note: "N"), "b": nil, "c": Book(title: "C"), "child": nil,
                    "d": Book(title: "DD"),
                ],
                in: phone,
                laptop
            )
            // If a terminal replaces a record of the service, that is an edit of the record, and not a new record.
            try Terminal.run("INSERT OR REPLACE INTO Book (_recordName, title) VALUES ('a', 'replaced')", in: file)
            #expect(try await phone.sync().sent == 1)
            try await laptop.sync()
            try await expect(["a": Book(title: "replaced")], in: phone, laptop)
        }
    }

    @Test(
        "38. Over HTTP: what a terminal has damaged is found and repaired, while the other store writes",
        .enabled(if: Terminal.isThere, "sqlite3 is not installed"),
        arguments: [VerificationMode.repair, .resync]
    )
    func damageIsRepaired(mode: VerificationMode) async throws {
        try await withTwoStores { phone, laptop, folder in
            for name in ["a", "b", "c", "d"] { try await phone.privateDatabase.add(Book(title: name), named: name) }
            try await phone.sync()
            try await laptop.sync()
            let equal = try await phone.verify(comparing: .values)
            #expect(equal.isEqual)
            #expect(equal.zones.map(\.compared) == [4])
            try Terminal.run(
                """
                UPDATE mist_state SET applying = 1;
                DELETE FROM Book WHERE _recordName = 'a';
                UPDATE mist_record SET tag = 'fake' WHERE name = 'b';
                UPDATE Book SET title = 'changed' WHERE _recordName = 'c';
                INSERT INTO Book (_recordName, title) VALUES ('x', 'X');
                UPDATE mist_state SET applying = 0;
                """,
                in: folder.appending(path: "phone/user.sqlite")
            )
            let progress = Mutex<VerificationProgress?>(nil)
            async let others: Void = {
                for number in 0..<20 {
                    try await laptop.privateDatabase.add(Book(title: "\(number)"), named: "d")
                    try await laptop.sync()
                }
            }()
            let report = try await phone.verify(mode, comparing: .values) { update in
                progress.withLock { $0 = update }
            }
            try await others
            #expect(
                report.differences.map(\.description) == [
                    "Book a: missing here; fetched", "Book b: another version; fetched",
                    "Book c: other values; fetched",
                    "Book x: missing at the service; "
                        + (mode == .repair ? "removed here" : "kept, and sent as a new record"),
                ]
            )
            #expect(report.isEqualNow)
            #expect(!report.isEqual)
            #expect(progress.withLock { $0?.zones } == 1)
            for store in [phone, laptop, phone] { try await store.sync() }
            let kept = mode == .repair ? nil : Book(title: "X")
            try await expect(
                [
                    "a": Book(title: "a"), "b": Book(title: "b"), "c": Book(title: "c"), "d": Book(title: "19"),
                    "x": kept,
                ],
                in: phone,
                laptop
            )
            let receipts = try await phone.privateDatabase.recoveryLog().map { "\($0.recordName) \($0.reason)" }
            #expect(receipts == (mode == .repair ? ["x verification", "c verification"] : ["c verification"]))
            for store in [phone, laptop] { #expect(try await store.verify(comparing: .values).isEqual) }
            #expect(try phone.verification().isEqual)
        }
    }

    @Test("38. A service that cannot be reached leaves the verification to a later synchronisation")
    func verificationsWait() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = OfflineService(service: emulator.service(as: .user))
                let store = try MistStore(at: folder, records: [Shelf.self, Book.self], service: service)
                try await store.privateDatabase.add(Book(title: "B"), named: "b")
                let report = try await store.verify()
                #expect(!report.isComplete)
                #expect(report.unfinished[.private] == .offline)
                #expect(report.description.contains("private: not compared to the end, because of: offline"))
                service.isOnline.withLock { $0 = true }
                try await store.sync()
                #expect(try store.verification().isEqual)
                #expect(try store.verification().zones.map(\.compared) == [1])
                try store.close()
            }
        }
    }

    @Test(
        "1, A14. A terminal cannot write what the service would refuse",
        .enabled(if: Terminal.isThere, "sqlite3 is not installed")
    )
    func terminalsAreRefused() async throws {
        try await withTwoStores { phone, _, folder in
            try await phone.privateDatabase.add(Book(title: "B"), named: "b")
            let file = folder.appending(path: "phone/user.sqlite")
            for statement in [
                "INSERT INTO Book (_recordName) VALUES ('_b')", "UPDATE Book SET title = x'00'",
                "UPDATE Book SET loans = 'x'",
                "INSERT INTO Shelf (_recordName, name) VALUES ('é', 'S')",
            ] {
                #expect(throws: Terminal.Failure.self, "\(statement)") { try Terminal.run(statement, in: file) }
            }
            #expect(try await phone.sync().sent == 1)
            try await expect(["b": Book(title: "B")], in: phone)
        }
    }
}

/// A service that can be reached only while a test says so.
private final class OfflineService: SyncService {
    let service: any SyncService
    let isOnline = Mutex(false)

    init(service: any SyncService) {
        self.service = service
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        guard isOnline.withLock({ $0 }) else { throw CloudKitError(code: .network, message: "There is no connection.") }
        return try await service.send(request, to: scope)
    }
}

/// The command `sqlite3`, run as in a terminal.
private enum Terminal {
    struct Failure: Error { let status: Int32 }

    private static let path = "/usr/bin/sqlite3"

    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }

    static func run(_ statement: String, in file: URL) throws {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = [file.path, statement]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus) }
    }
}

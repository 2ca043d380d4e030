import Foundation
import GRDB
import MistKit
import TestSupport
import Testing

@testable import MistStore

/// Files that are not stores, damaged files, and disks on which a store cannot write: each leads to a typed error or a
/// repair, and nothing is lost.
struct StoreFileTests {
    /// The user's file in a folder of a store.
    private static func file(in folder: URL) -> URL { folder.appending(path: "user.sqlite") }

    private static func open(_ folder: URL) throws -> MistStore {
        try MistStore(at: folder, records: [Shelf.self, Book.self])
    }

    /// The error of opening a store that must not open. If the store does open, it is closed.
    private func error(in folder: URL, sourceLocation: SourceLocation = #_sourceLocation) -> StoreError? {
        do {
            try Self.open(folder).close()
            Issue.record("The store was opened.", sourceLocation: sourceLocation)
        } catch let error as StoreError {
            return error
        } catch {
            Issue.record("Not a StoreError: \(error)", sourceLocation: sourceLocation)
        }
        return nil
    }

    /// A store with a hundred books, closed.
    private func makeStore(in folder: URL) async throws {
        let store = try Self.open(folder)
        let books = (1...100).map { Book(title: "Book \($0)", note: String(repeating: "n", count: 200)) }
        try await store.privateDatabase.add(books)
        try store.close()
    }

    // MARK: Other files

    @Test(
        "1. A file that is no SQLite database is refused with `notAStore`, and stays as it is",
        arguments: ["x", "This is a letter.", String(repeating: "A longer letter. ", count: 1000)]
    )
    func otherFilesAreRefused(content: String) throws {
        try withTemporaryFolder { folder in
            try Data(content.utf8).write(to: Self.file(in: folder))
            let error = error(in: folder)
            #expect(error?.code == .notAStore)
            #expect(error?.message.contains("user.sqlite") == true)
            #expect(try Data(contentsOf: Self.file(in: folder)) == Data(content.utf8))
        }
    }

    @Test(
        "1. The SQLite database of another program is refused with `notAStore`, and stays as it is",
        arguments: [0, 7]
    )
    func otherDatabasesAreRefused(applicationID: Int) throws {
        try withTemporaryFolder { folder in
            let queue = try DatabaseQueue(path: Self.file(in: folder).path)
            try queue.write { db in
                try db.execute(sql: "PRAGMA application_id = \(applicationID)")
                try db.execute(sql: "CREATE TABLE letter (text); INSERT INTO letter VALUES ('Dear')")
            }
            try queue.close()
            let before = try Data(contentsOf: Self.file(in: folder))
            #expect(error(in: folder)?.code == .notAStore)
            #expect(try Data(contentsOf: Self.file(in: folder)) == before)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["user.sqlite"])
        }
    }

    @Test("34. A store of a newer format is refused with `newerFormat`, and stays as it is")
    func newerFormatsAreRefused() async throws {
        try await inTemporaryFolder { folder in
            try await makeStore(in: folder)
            let queue = try DatabaseQueue(path: Self.file(in: folder).path)
            try await queue.write { db in try db.execute(sql: "UPDATE mist_state SET format = 99") }
            try queue.close()
            let before = try Data(contentsOf: Self.file(in: folder))
            let error = error(in: folder)
            #expect(error?.code == .newerFormat)
            #expect(error?.message.contains("99") == true)
            #expect(try Data(contentsOf: Self.file(in: folder)) == before)
        }
    }

    @Test("1. A folder in place of the file, and a file in place of the folder, are errors that name them")
    func foldersAreNoFiles() throws {
        try withTemporaryFolder { folder in
            try FileManager.default.createDirectory(at: Self.file(in: folder), withIntermediateDirectories: false)
            let error = error(in: folder)
            #expect(error?.code == .notAStore)
            #expect(error?.message.contains("user.sqlite") == true)
            let file = folder.appending(path: "file")
            try Data("x".utf8).write(to: file)
            let other = self.error(in: file)
            #expect(other?.code == .readOnly)
            #expect(other?.message.contains(file.path) == true)
        }
    }

    // MARK: Damage

    @Test(
        "10. A file that was cut off is refused with `damaged`; it is never taken for a new one",
        arguments: [0, 1, 99, 100, 5000, 9000]
    )
    func truncatedFilesAreDamaged(length: Int) async throws {
        try await inTemporaryFolder { folder in
            try await makeStore(in: folder)
            for name in ["user.sqlite", "public.sqlite"] {
                let file = folder.appending(path: name)
                let whole = try Data(contentsOf: file)
                try whole.prefix(length).write(to: file)
                let error = error(in: folder)
                #expect(error.map { [.damaged, .notAStore].contains($0.code) } == true, "\(name)")
                #expect(error?.message.contains(name) == true)
                #expect(try Data(contentsOf: file) == whole.prefix(length))
                try whole.write(to: file)
            }
            // When the file is complete again, everything is there.
            let store = try Self.open(folder)
            #expect(try await store.privateDatabase.find(Query<Book>()).count == 100)
            try store.close()
        }
    }

    @Test("1. Damaged pages are errors with the code `damaged`, or are not met: no read and no write traps")
    func damagedPagesAreErrors() async throws {
        var generator = SeededGenerator(seed: 11)
        var damaged = 0
        try await inTemporaryFolder { folder in
            try await makeStore(in: folder)
            let file = Self.file(in: folder)
            let whole = try Data(contentsOf: file)
            for page in 0..<whole.count / 4096 {
                for isOverwritten in [true, false] {
                    var broken = whole
                    // Either a whole page or a few bytes of it; the header of the file stays.
                    let start = page * 4096 + (page == 0 ? 100 : 0)
                    if isOverwritten {
                        for index in start..<(page + 1) * 4096 {
                            broken[index] = UInt8.random(in: 0...255, using: &generator)
                        }
                    } else {
                        for _ in 0..<8 {
                            let index = Int.random(in: start..<(page + 1) * 4096, using: &generator)
                            broken[index] = UInt8.random(in: 0...255, using: &generator)
                        }
                    }
                    for name in ["user.sqlite-wal", "user.sqlite-shm"] {
                        try? FileManager.default.removeItem(at: folder.appending(path: name))
                    }
                    try broken.write(to: file)
                    do {
                        try await use(folder)
                    } catch let error as StoreError {
                        damaged += 1
                        #expect(
                            // A record that was read, and is then not found any more, is one of the damages.
                            [
                                .damaged, .notAStore, .newerFormat, .value, .recordName, .schema, .storage, .notFound,
                            ].contains(error.code),
                            "\(error)"
                        )
                    }
                }
            }
        }
        #expect(damaged > 0)
    }

    /// Does everything that a program does with a store, up to the first failure.
    private func use(_ folder: URL) async throws {
        let store = try MistStore(
            at: folder,
            records: [Shelf.self, Book.self],
            service: UnreachableService()
        )
        defer { try? store.close() }
        let database = store.privateDatabase
        _ = try await database.status()
        _ = try await database.recoveryLog()
        for book in try await database.find(Query<Book>()).prefix(20) {
            var book = book
            book.title = "changed"
            try await database.add(book)
        }
        _ = try await store.sync()
    }

    // MARK: Disks

    @Test(
        "1. On a full disk a write is refused with `full` and changes nothing; with space again, everything is there",
        .enabled(if: SmallDisk.isAvailable, "mounting a file system needs root on Linux")
    )
    func fullDisksRefuseWrites() async throws {
        try await SmallDisk.with(kilobytes: 1024) { disk in
            let folder = disk.appending(path: "store")
            let store = try Self.open(folder)
            var count = 0
            var failure: StoreError?
            while failure == nil, count < 10_000 {
                do {
                    try await store.privateDatabase.add(
                        Book(title: "\(count)", note: String(repeating: "n", count: 5000)),
                        named: "b\(count)"
                    )
                    count += 1
                } catch let error as StoreError {
                    failure = error
                }
            }
            #expect(failure?.code == .full)
            #expect(count > 0)
            #expect(try await store.privateDatabase.find(Query<Book>()).count == count)
            #expect(try await store.privateDatabase.status().pending == count)
            // A store that is opened now works, or throws an error with the reason.
            try store.close()
            do {
                try Self.open(folder).close()
            } catch let error as StoreError {
                #expect(error.code == .full)
            }
            try SmallDisk.resize(disk, kilobytes: 4096)
            let again = try Self.open(folder)
            try await again.privateDatabase.add(Book(title: "last"), named: "last")
            #expect(try await again.privateDatabase.find(Query<Book>()).count == count + 1)
            #expect(try await again.privateDatabase.status().pending == count + 1)
            try again.close()
        }
    }

    @Test(
        "1. A new store on a full disk is refused with `full`",
        .enabled(if: SmallDisk.isAvailable, "mounting a file system needs root on Linux"),
        arguments: [0, 8, 24, 48, 100]
    )
    func newStoresNeedSpace(kilobytes: Int) async throws {
        try await SmallDisk.with(kilobytes: 256) { disk in
            try Data(count: (256 - kilobytes) * 1024 - 4096).write(to: disk.appending(path: "ballast"))
            let folder = disk.appending(path: "store")
            #expect(error(in: folder)?.code == .full)
            // The incomplete store is completed later.
            try SmallDisk.resize(disk, kilobytes: 4096)
            try await makeStore(in: folder)
        }
    }

    @Test(
        "1. A folder without the right to write is refused with `readOnly`, for a new store and for one that exists",
        .enabled(if: SmallDisk.isAvailable, "mounting a file system needs root on Linux")
    )
    func readOnlyFoldersAreRefused() async throws {
        try await SmallDisk.with(kilobytes: 4096) { disk in
            let folder = disk.appending(path: "store")
            try await makeStore(in: folder)
            try SmallDisk.remount(disk, "ro")
            for folder in [folder, disk.appending(path: "new")] {
                let error = error(in: folder)
                #expect(error?.code == .readOnly)
                #expect(error?.message.contains(folder.path) == true)
            }
            try SmallDisk.remount(disk, "rw")
            let store = try Self.open(folder)
            #expect(try await store.privateDatabase.find(Query<Book>()).count == 100)
            try store.close()
        }
    }

    @Test(
        "33. A closed store on a read-only file system is read, and one whose log has changes is refused",
        .enabled(if: SmallDisk.isAvailable, "mounting a file system needs root on Linux")
    )
    func readOnlyFileSystemsAreRead() async throws {
        try await SmallDisk.with(kilobytes: 8192) { disk in
            let folder = disk.appending(path: "store #1")
            /// Removes the indexes, and the logs without changes.
            func removeIndexes() throws {
                for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                    let file = folder.appending(path: name)
                    if name.hasSuffix("-wal") { #expect(try Data(contentsOf: file).isEmpty) }
                    if name.hasSuffix("-shm") || name.hasSuffix("-wal") { try FileManager.default.removeItem(at: file) }
                }
            }
            try await makeStore(in: folder)
            try removeIndexes()
            try SmallDisk.remount(disk, "ro")
            let reader = try MistStore(readingAt: folder, records: [Book.self])
            #expect(try await reader.privateDatabase.find(Query<Book>()).count == 100)
            try reader.close()
            // A process has died, and has left its log.
            try SmallDisk.remount(disk, "rw")
            let store = try Self.open(folder)
            try await store.privateDatabase.add(Book(), named: "last")
            let log = folder.appending(path: "user.sqlite-wal")
            let content = try Data(contentsOf: log)
            try store.close()
            try removeIndexes()
            try content.write(to: log)
            try SmallDisk.remount(disk, "ro")
            let error = #expect(throws: StoreError.self) { try MistStore(readingAt: folder, records: [Book.self]) }
            #expect(error?.code == .readOnly)
            #expect(error?.message.contains("the log beside the file has changes") == true)
            try SmallDisk.remount(disk, "rw")
        }
    }
}

/// A service without a connection.
private struct UnreachableService: SyncService {
    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        throw CloudKitError(code: .network, message: "There is no connection.")
    }
}

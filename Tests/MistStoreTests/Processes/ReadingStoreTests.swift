import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// A store that is opened for reading.
struct ReadingStoreTests {
    /// Runs a test with a folder that has a store with a shelf and a book, both pending.
    private func withStore(_ body: (MistStore, URL) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let store = try MistStore(
                    at: folder,
                    records: [Shelf.self, Book.self],
                    service: emulator.service(as: .user)
                )
                try await store.privateDatabase.write { writer in
                    let shelf = try writer.add(Shelf(name: "S"), named: "s")
                    try writer.add(Book(shelf: shelf.reference(), title: "B", loans: 1), named: "b")
                }
                try await body(store, folder)
                try store.close()
            }
        }
    }

    private func reading(_ folder: URL, _ records: [any CloudKitRecord.Type] = [Shelf.self, Book.self]) throws
        -> MistStore
    {
        try MistStore(readingAt: folder, records: records)
    }

    /// The code of the error of a closure.
    private func code<Value>(_ body: () async throws -> Value) async -> StoreError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    @Test("33, 32. A store that is opened for reading reads and observes what another one writes and synchronises")
    func readsBesideAWriter() async throws {
        try await withStore { store, folder in
            let reader = try reading(folder)
            let books = reader.privateDatabase
            #expect(try await books.fetch(Book.self, named: "b").model.title == "B")
            #expect(try await books.find(Query<Book> { Filter(\.loans == 1) }).map(\.recordName) == ["b"])
            #expect(try await books.fetch(Shelf.self, named: "s", including: .all).records(of: Book.self).count == 1)
            #expect(try await books.status().pending == 2)
            #expect(try await books.recoveryLog().isEmpty)
            #expect(try await books.status(of: Book.self, named: "b")?.state == .edited)
            var lists = books.recordUpdates(of: Query<Book>()).makeAsyncIterator()
            var states = books.statusUpdates().makeAsyncIterator()
            #expect(try await lists.next()?.map(\.title) == ["B"])
            #expect(try await states.next()?.pending == 2)
            try await store.privateDatabase.update(Book.self, named: "b") { $0.title = "BB" }
            #expect(try await lists.next()?.map(\.title) == ["BB"])
            try await store.sync()
            while let status = try await states.next(), !status.isSynchronised {}
            try reader.close()
            #expect(await code { try await books.find(Query<Book>()) } == .closed)
        }
    }

    @Test("33, 1. A store that is opened for reading refuses each change, and changes nothing in the files")
    func refusesChanges() async throws {
        try await withStore { store, folder in
            try await store.sync()
            try await store.privateDatabase.remove(Book.self, named: "b")
            try store.close()
            let files = ["user.sqlite", "public.sqlite"].map { folder.appending(path: $0) }
            let before = try files.map { try Data(contentsOf: $0) }
            // Also a copy of a file is not noticed by reading it.
            let copy = folder.appending(path: "copy")
            try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
            for file in files {
                try FileManager.default.copyItem(at: file, to: copy.appending(path: file.lastPathComponent))
            }
            for folder in [folder, copy] {
                let reader = try reading(folder)
                let books = reader.privateDatabase
                #expect(await code { try await books.add(Shelf(name: "T")) } == .readOnly)
                #expect(await code { try await books.remove(Shelf.self, named: "s") } == .readOnly)
                #expect(await code { try await books.write { _ in } } == .readOnly)
                #expect(await code { try await books.retryParked() } == .readOnly)
                #expect(await code { try await books.allowMassDeletion() } == .readOnly)
                #expect(await code { try await books.undoMassDeletion() } == .readOnly)
                #expect(await code { try await reader.publicDatabase.follow(Query<Book>()) } == .readOnly)
                #expect(await code { try await reader.sync() } == .readOnly)
                #expect(await code { try await reader.run() } == .readOnly)
                #expect(try await books.find(Query<Shelf>()).count == 1)
                #expect(try await books.status().copyNoticed == nil)
                try reader.close()
            }
            #expect(try files.map { try Data(contentsOf: $0) } == before)
            let opened = try MistStore(at: copy, records: [Shelf.self, Book.self])
            #expect(try await opened.privateDatabase.status().copyNoticed != nil)
            try opened.close()
        }
    }

    @Test("33, 34. What a store for reading needs, and does not add, is an error that says what to do")
    func saysWhatIsMissing() async throws {
        try await withStore { store, folder in
            let missing = folder.appending(path: "missing")
            #expect(await code { try reading(missing) } == .noStore)
            #expect(!FileManager.default.fileExists(atPath: missing.path))
            try FileManager.default.createDirectory(at: missing, withIntermediateDirectories: true)
            #expect(await code { try reading(missing) } == .noStore)
            try Data().write(to: missing.appending(path: "user.sqlite"))
            #expect(await code { try reading(missing) } == .noStore)
            for name in ["user.sqlite", "public.sqlite"] {
                try Data("no database".utf8).write(to: missing.appending(path: name))
            }
            #expect(await code { try reading(missing) } == .notAStore)
            // A part of the types is enough. A type or a field that the file does not have yet is not.
            let part = try reading(folder, [Book.self])
            #expect(try await part.privateDatabase.find(Query<Book>()).count == 1)
            #expect(await code { try await part.privateDatabase.find(Query<Shelf>()) } == .unknownRecordType)
            try part.close()
            #expect(await code { try reading(folder, [Lamp.self]) } == .needsUpdate)
            #expect(await code { try reading(folder, [NewerBook.self]) } == .needsUpdate)
            try store.close()
            let queue = try DatabaseQueue(path: folder.appending(path: "user.sqlite").path)
            try await queue.write { try $0.execute(sql: "DROP TABLE mist_lease") }
            #expect(await code { try reading(folder) } == .needsUpdate)
            for (format, expected) in [(SystemTables.format - 1, StoreError.Code.needsUpdate), (99, .newerFormat)] {
                try await queue.write { try $0.execute(sql: "UPDATE mist_state SET format = ?", arguments: [format]) }
                #expect(await code { try reading(folder) } == expected)
            }
        }
    }

    @Test("33. A file that cannot have an index is read only where no process can change it")
    func indexesAreNeeded() async throws {
        for (isReadable, isUnchanging, hasLog, refusal) in [
            (true, true, false, nil), (true, true, true, .hasLog), (true, false, false, .needsIndex),
            (true, false, true, .needsIndex), (false, true, false, .unreadable),
        ] as [(Bool, Bool, Bool, ReadingRefusal?)] {
            #expect(
                ReadingRefusal(isReadable: isReadable, isUnchanging: isUnchanging, hasLog: hasLog) == refusal,
                "\(isReadable) \(isUnchanging) \(hasLog)"
            )
        }
    }
}

/// A type that the file does not have.
private struct Lamp: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let watts = RecordField<Int>("watts")
    }

    static let recordType = "Lamp"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.watts)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while try reader.next() != nil { try reader.skip() }
    }

    func write(fields writer: inout FieldWriter) {}
}

/// A book with a field that the file does not have.
private struct NewerBook: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let pages = RecordField<Int>("pages")
    }

    static let recordType = "Book"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.pages)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while try reader.next() != nil { try reader.skip() }
    }

    func write(fields writer: inout FieldWriter) {}
}

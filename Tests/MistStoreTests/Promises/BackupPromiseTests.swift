import CloudKitEmulator
import CloudKitModel
import Foundation
import MistKit
import MistTesting
import ProcessLeases
import TestSupport
import Testing

@testable import MistStore

/// Promise 42: a backup is a consistent copy, and a restore brings its values back as edits.
struct BackupPromiseTests {
    private static let types: [any CloudKitRecord.Type] = [Shelf.self, Book.self]

    /// Runs a test with two stores that share one emulator.
    private func withTwoStores(_ body: (MistStore, MistStore, URL) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                let stores = try ["phone", "laptop"].map { name in
                    try MistStore(at: folder.appending(path: name), records: Self.types, service: service)
                }
                try await body(stores[0], stores[1], folder)
                for store in stores { try store.close() }
            }
        }
    }

    private func books(of store: MistStore) async throws -> [String: Book] {
        let books = try await store.privateDatabase.find(Query<Book>())
        return Dictionary(uniqueKeysWithValues: books.map { ($0.recordName, $0.model) })
    }

    @Test("42. Over HTTP: a restore wins on all devices: deleted records return, changed fields get their old values")
    func restoresWinEverywhere() async throws {
        try await withTwoStores { phone, laptop, folder in
            let database = phone.privateDatabase
            let shelf = try await database.add(Shelf(name: "S"), named: "s")
            try await database.add(Book(shelf: shelf.reference(), title: "A", note: "N"), named: "a")
            try await database.add(Book(title: "B", loans: 5), named: "b")
            try await database.add(Book(title: "C"), named: "c")
            try await phone.sync()
            try await laptop.sync()
            let then = try await books(of: phone)
            let backup = folder.appending(path: "backup")
            let manifest = try await phone.backup(to: backup)
            #expect(manifest.records == ["Book": 3, "Shelf": 1])
            #expect(manifest.owner != nil)

            try await laptop.privateDatabase.remove(Shelf.self, named: "s")
            try await laptop.privateDatabase.update(Book.self, named: "b") { book in
                (book.title, book.note) = ("later", "kept")
                book.loans += 2
            }
            try await laptop.privateDatabase.add(Book(title: "new"), named: "d")
            try await laptop.sync()
            try await phone.sync()
            #expect(try await books(of: phone).keys.sorted() == ["b", "c", "d"])

            let plan = try await database.restorePlan(from: backup)
            #expect("\(plan)" == "2 created, 1 changed, 0 removed, 1 unchanged, 0 not restored")
            #expect(plan.changes.first { $0.recordName == "b" }?.fields == ["title", "note", "loans"])
            #expect(try await books(of: phone).keys.sorted() == ["b", "c", "d"])
            // While the restore is on its way, the laptop counts.
            try await laptop.privateDatabase.increment(\.loans, of: Book.self, named: "b", by: 10)
            #expect(try await database.restore(from: backup) == plan)
            try await phone.sync()
            try await laptop.sync()
            try await phone.sync()
            for store in [phone, laptop] {
                var found = try await books(of: store)
                #expect(found.removeValue(forKey: "d")?.title == "new")
                var expected = then
                expected["b"]?.loans = 15
                #expect(found == expected)
                #expect(try await store.privateDatabase.fetch(Shelf.self, named: "s").model.name == "S")
            }
            let log = try await database.recoveryLog().filter { $0.reason == .restored }
            #expect(log.map(\.recordName) == ["b"])
            #expect(log.first?.fields["title"] == .string("later"))
            // Undone by the log.
            try await database.restore(try #require(log.first))
            #expect(try await books(of: phone)["b"]?.note == "kept")
        }
    }

    @Test("42. A restore again changes nothing, also of two at once")
    func aSecondRestoreChangesNothing() async throws {
        try await withTwoStores { phone, _, folder in
            let database = phone.privateDatabase
            try await database.add((1...300).map { Book(title: "\($0)") })
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            for book in try await database.find(Query<Book>()) { try await database.remove(book) }
            async let first = database.restore(from: backup)
            async let second = database.restore(from: backup)
            let plans = try await [first, second]
            #expect(plans.map { $0.count(of: .created) }.sorted() == [0, 300])
            #expect(try await books(of: phone).count == 300)
            #expect(try await database.restore(from: backup).changes.isEmpty)
        }
    }

    @Test("42, 10. Records that the backup does not have stay, or are removed with a receipt")
    func othersAreRemovedOnDemand() async throws {
        try await withTwoStores { phone, laptop, folder in
            let database = phone.privateDatabase
            try await database.add(Book(title: "A"), named: "a")
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            try await database.add(Book(title: "B", note: "N"), named: "b")
            try await phone.sync()
            #expect(try await database.restore(from: backup).changes.isEmpty)
            let plan = try await database.restore(from: backup, removesOthers: true)
            #expect("\(plan)" == "0 created, 0 changed, 1 removed, 1 unchanged, 0 not restored")
            try await phone.sync()
            try await laptop.sync()
            #expect(try await books(of: laptop).keys.sorted() == ["a"])
            let entry = try #require(try await database.recoveryLog().first)
            #expect(entry.reason == .restored)
            #expect(entry.fields["note"] == .string("N"))
            try await database.restore(entry)
            #expect(try await books(of: phone)["b"]?.title == "B")
        }
    }

    @Test("42, 9. What a policy does not let go back is named, and everything else is restored")
    func policiesAreKept() async throws {
        try await withTwoStores { phone, _, folder in
            let database = phone.privateDatabase
            try await database.add(Book(title: "A", best: 3, tags: ["x"]), named: "a")
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            try await database.add(Book(title: "later", best: 7, tags: ["x", "y"]), named: "a")
            let plan = try await database.restore(from: backup)
            #expect(plan.changes.map(\.fields) == [["title"]])
            #expect(plan.obstacles.map(\.fieldName) == ["best", "tags"])
            #expect(try await books(of: phone)["a"] == Book(title: "A", best: 7, tags: ["x", "y"]))
        }
    }

    @Test("42. A record below another one returns into its zone, where roots have zones of their own")
    func zonesOfRootsAreKept() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                var configuration = StoreConfiguration()
                configuration.zones = .perRoot
                let store = try MistStore(
                    at: folder.appending(path: "phone"),
                    records: Self.types,
                    service: emulator.service(as: .user),
                    configuration: configuration
                )
                let database = store.privateDatabase
                let shelf = try await database.add(Shelf(name: "S"), named: "s")
                try await database.add(Book(shelf: shelf.reference(), title: "A"), named: "a")
                let other = try await database.add(Shelf(name: "T"), named: "t")
                try await database.add(Book(shelf: other.reference(), title: "B"), named: "b")
                try await store.sync()
                let backup = folder.appending(path: "backup")
                try await store.backup(to: backup)
                try await database.remove(Book.self, named: "a")
                try await database.remove(Shelf.self, named: "t")
                try await store.sync()
                let plan = try await database.restore(from: backup)
                #expect(plan.count(of: .created) == 3)
                #expect(plan.obstacles == [])
                try await store.sync()
                for (book, shelf) in [("a", "s"), ("b", "t")] {
                    let record = try await database.fetch(Book.self, named: book)
                    #expect(try await database.fetch(Shelf.self, named: shelf).zoneID == record.zoneID)
                    #expect(record.recordChangeTag != nil)
                }
                try store.close()
            }
        }
    }

    @Test("42. A record of another program's zone returns into that zone; a field that is not known is named")
    func otherZonesAreKept() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                let zone = ZoneID(zoneName: "Other")
                _ = try await service.privateDatabase.createZone(zone.zoneName)
                let record = Record(
                    recordType: "Book",
                    recordName: "o",
                    fields: ["title": .string("O"), "isbn": .string("1")]
                )
                _ = try await service.privateDatabase.create(record, inZone: zone)
                let store = try MistStore(at: folder.appending(path: "phone"), records: Self.types, service: service)
                try await store.sync()
                let backup = folder.appending(path: "backup")
                try await store.backup(to: backup)
                try await store.privateDatabase.remove(Book.self, named: "o")
                try await store.sync()
                let plan = try await store.privateDatabase.restore(from: backup)
                #expect(plan.changes.map(\.zoneID) == [zone])
                #expect(try await store.sync().sent == 1)
                let found = try await service.privateDatabase.fetch("o", inZone: zone)
                #expect(found.fields["title"] == .string("O"))
                // A field that the program does not know.
                #expect(found.fields["isbn"] == nil)
                #expect(plan.obstacles.map(\.fieldName) == ["isbn"])
                try store.close()
            }
        }
    }

    @Test("42. A backup while another connection writes is one state of the file, with what is not sent yet")
    func backupsAreConsistent() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder.appending(path: "phone"), records: Self.types)
            let database = store.privateDatabase
            try await database.add(Book(title: "0", note: "0"), named: "a")
            let writer = Task {
                var number = 0
                while !Task.isCancelled {
                    number += 1
                    try await database.add(Book(title: "\(number)", note: "\(number)"), named: "a")
                }
            }
            for number in 1...10 {
                let backup = folder.appending(path: "backup \(number)")
                try await store.backup(to: backup)
                let copy = try MistStore(at: backup, records: Self.types)
                let book = try await books(of: copy)["a"]
                #expect(book?.title != nil && book?.title == book?.note)
                #expect(try await copy.privateDatabase.status().pending == 1)
                try copy.close()
            }
            writer.cancel()
            _ = await writer.result
            try store.close()
        }
    }

    #if os(Linux) || os(macOS)
        @Test("42. What a killed process has left of a backup goes with the next one; a living one is left alone")
        func abandonedBackupsAreRemoved() async throws {
            try await withTwoStores { phone, _, folder in
                let backup = folder.appending(path: "backup")
                func partial(_ files: String...) throws -> URL {
                    let url = folder.appending(path: PartialBackup.name(of: backup))
                    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
                    for file in files { try Data("half".utf8).write(to: url.appending(path: file)) }
                    return url
                }
                func names() throws -> Set<String> {
                    Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
                }
                let abandoned = try partial("user.sqlite")
                try Data().write(to: PartialBackup.lock(of: abandoned))
                try Data().write(to: PartialBackup.lock(of: folder.appending(path: PartialBackup.name(of: backup))))
                let living = try partial("user.sqlite")
                let lock = try #require(ProcessLock(path: PartialBackup.lock(of: living).path))
                try await phone.backup(to: backup)
                let ofTheLiving = [living, PartialBackup.lock(of: living)].map(\.lastPathComponent)
                #expect(try names() == Set(["backup", "phone", "laptop"] + ofTheLiving))
                withExtendedLifetime(lock) {}
            }
        }
    #endif

    @Test("42. A backup that is not whole, or of another kind, is an error and changes nothing")
    func damagedBackupsAreErrors() async throws {
        try await withTwoStores { phone, _, folder in
            let database = phone.privateDatabase
            try await database.add(Book(title: "A"), named: "a")
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            try await database.add(Book(title: "B"), named: "a")
            func expect(_ code: StoreError.Code, _ change: (URL) throws -> Void) async throws {
                let copy = folder.appending(path: UUID().uuidString)
                try FileManager.default.copyItem(at: backup, to: copy)
                try change(copy)
                let error = await #expect(throws: StoreError.self) { try await database.restore(from: copy) }
                #expect(error?.code == code, "\(error.map(String.init(describing:)) ?? "")")
            }
            let file = "user.sqlite"
            try await expect(.damaged) { copy in
                let bytes = try Data(contentsOf: copy.appending(path: file))
                try bytes.prefix(bytes.count / 2).write(to: copy.appending(path: file))
            }
            try await expect(.damaged) { copy in
                var bytes = try Data(contentsOf: copy.appending(path: file))
                bytes[bytes.count - 1] ^= 1
                try bytes.write(to: copy.appending(path: file))
            }
            try await expect(.damaged) { try FileManager.default.removeItem(at: $0.appending(path: file)) }
            try await expect(.damaged) { try Data("{}".utf8).write(to: $0.appending(path: "manifest.json")) }
            try await expect(.damaged) { copy in
                let path = copy.appending(path: "manifest.json")
                let text = try String(contentsOf: path, encoding: .utf8)
                try text.replacing("\"user.sqlite\"", with: "\"..\\/user.sqlite\"")
                    .write(to: path, atomically: true, encoding: .utf8)
            }
            try await expect(.newerFormat) { copy in
                try Data(#"{"version": 3}"#.utf8).write(to: copy.appending(path: "manifest.json"))
            }
            try await expect(.notAStore) { copy in
                try FileManager.default.removeItem(at: copy.appending(path: "manifest.json"))
            }
            #expect(try await books(of: phone)["a"]?.title == "B")
            // A backup does not write over anything.
            let error = await #expect(throws: StoreError.self) { try await phone.backup(to: backup) }
            #expect(error?.code == .storage)
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!left.contains { $0.hasSuffix(".part") })
            let mode = try FileManager.default.attributesOfItem(atPath: backup.appending(path: file).path)
            #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
    }

    @Test("42, 28. The private records of another user are not restored")
    func backupsOfOtherUsersAreRefused() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                var stores: [MistStore] = []
                let users = [try emulator.rules.createUser(), try emulator.rules.createUser()]
                for user in users {
                    let store = try MistStore(
                        at: folder.appending(path: user),
                        records: Self.types,
                        service: try emulator.service(asUser: user)
                    )
                    try await store.privateDatabase.add(Book(title: user), named: "a")
                    try await store.sync()
                    stores.append(store)
                }
                let backup = folder.appending(path: "backup")
                try await stores[0].backup(to: backup)
                let error = await #expect(throws: StoreError.self) {
                    try await stores[1].privateDatabase.restore(from: backup)
                }
                #expect(error?.code == .otherUser)
                #expect(try await books(of: stores[1])["a"]?.title == users[1])
                for store in stores { try store.close() }
            }
        }
    }
}

import CloudKitEmulator
import Foundation
import GRDB
import MistKit
import MistTesting
import Synchronization
import TestSupport
import Testing

@testable import MistStore

/// Promise 42 for the files of records.
struct FileBackupPromiseTests: PhotoTests {
    /// Another length than that of the other file.
    let other: [UInt8] = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 17 ^ $0 >> 7) }

    /// A time that a test sets.
    private final class Time: Sendable {
        private let now = Mutex(Date())

        func callAsFunction() -> Date { now.withLock { $0 } }
        func wait(_ seconds: TimeInterval) { now.withLock { $0 += seconds } }
    }

    private func withDevices(
        _ body: (_ phone: MistStore, _ laptop: MistStore, _ folder: URL, _ time: Time) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let time = Time()
                var configuration = StoreConfiguration()
                configuration.clock = { time() }
                let stores = try ["phone", "laptop"].map { name in
                    try MistStore(
                        at: folder.appending(path: name),
                        records: [Album.self, Photo.self],
                        service: emulator.service(as: .user),
                        configuration: configuration
                    )
                }
                try await body(stores[0], stores[1], folder, time)
                for store in stores { try store.close() }
            }
        }
    }

    /// Lets the files be collected that nothing refers to.
    private func collect(on store: MistStore, _ time: Time) async throws {
        for _ in 0..<2 {
            time.wait(61 * 60)
            try await store.sync()
        }
    }

    @Test("42, 36. A backup has the files of its records, and a restore brings them back as edits on all devices")
    func filesAreRestored() async throws {
        try await withDevices { phone, laptop, folder, time in
            let database = phone.privateDatabase
            try await add("gone", picture, to: phone)
            try await add("replaced", other, to: phone)
            try await phone.sync()
            try await laptop.sync()
            try await add("unsent", [1, 2, 3], to: phone)
            let backup = folder.appending(path: "backup")
            let manifest = try await phone.backup(to: backup)
            #expect(manifest.files.count == 5)
            #expect(manifest.lostFiles == nil)
            // The folder of a backup is a store, too.
            let copied = folder.appending(path: "copied")
            try FileManager.default.copyItem(at: backup, to: copied)
            let copy = try MistStore(at: copied, records: [Album.self, Photo.self])
            #expect(try await image(of: "gone", on: copy) == picture)
            try copy.close()

            try await database.remove(Photo.self, named: "gone")
            try await database.remove(Photo.self, named: "unsent")
            let third = try await database.addFile([4, 5, 6])
            try await database.update(Photo.self, named: "replaced") { $0.image = third }
            try await phone.sync()
            try await laptop.sync()
            try await collect(on: phone, time)
            try await collect(on: laptop, time)
            let (gone, replaced) = try (ContentHash(of: picture), ContentHash(of: other))
            let kept = try #require(phone.file(of: .private).folder)
            #expect(kept.size(of: gone) == nil && kept.size(of: replaced) == nil)

            let plan = try await database.restorePlan(from: backup)
            #expect("\(plan)" == "2 created, 1 changed, 0 removed, 0 unchanged, 0 not restored")
            #expect(kept.size(of: gone) == nil)
            #expect(try await database.restore(from: backup) == plan)
            try await phone.sync()
            try await laptop.sync()
            for store in [phone, laptop] {
                #expect(try await image(of: "gone", on: store) == picture)
                #expect(try await image(of: "replaced", on: store) == other)
                #expect(try await image(of: "unsent", on: store) == [1, 2, 3])
            }
            #expect(try await database.status().isSynchronised)
            #expect(try await database.restore(from: backup).changes.isEmpty)
            // Undone by the log, which keeps the file.
            let entry = try #require(try await database.recoveryLog().first { $0.recordName == "replaced" })
            time.wait(1)
            try await database.restore(entry)
            #expect(try await image(of: "replaced", on: phone) == [4, 5, 6])
        }
    }

    @Test("42, 36. A file that is missing on this machine comes from the backup, also where its record is as it was")
    func missingFilesComeFromTheBackup() async throws {
        try await withDevices { phone, _, folder, _ in
            let database = phone.privateDatabase
            try await add("a", picture, to: phone)
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            let image = try #require(try await database.fetch(Photo.self, named: "a").image)
            try FileManager.default.removeItem(at: try #require(database.file(of: image)))
            #expect(try await database.verifyFiles().lost == ["a"])
            // A backup of the remains says what is lost, and has everything else.
            let rest = try await phone.backup(to: folder.appending(path: "rest"))
            #expect(rest.lostFiles == [try ContentHash(of: picture).rawValue])
            #expect(try await database.restore(from: backup).unchanged == 1)
            #expect(try await self.image(of: "a", on: phone) == picture)
            #expect(try await phone.sync().sent == 1)
            try await database.update(Photo.self, named: "a") { $0.image = nil }
            let phoneFiles = try #require(phone.file(of: .private).folder)
            phoneFiles.remove(try ContentHash(of: picture))
            try await phone.file(of: .private).database.write { db in
                try Contents(db: db).forget(try ContentHash(of: picture))
            }
            let plan = try await database.restore(from: folder.appending(path: "rest"))
            #expect(plan.changes.isEmpty)
            #expect(plan.obstacles.map(\.fieldName) == ["image"])
        }
    }

    @Test("42, 28. Nothing of another user's backup is copied, its files included")
    func filesOfOtherUsersAreNotCopied() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let stores = try (0..<2).map { number in
                    try MistStore(
                        at: folder.appending(path: "\(number)"),
                        records: [Album.self, Photo.self],
                        service: try emulator.service(asUser: emulator.rules.createUser())
                    )
                }
                try await add("a", picture, to: stores[0])
                for store in stores { try await store.sync() }
                let backup = folder.appending(path: "backup")
                try await stores[0].backup(to: backup)
                let error = await #expect(throws: StoreError.self) {
                    try await stores[1].privateDatabase.restore(from: backup)
                }
                #expect(error?.code == .otherUser)
                #expect(stores[1].file(of: .private).folder?.contents == [])
                for store in stores { try store.close() }
            }
        }
    }

    @Test("42. A backup that lost a file of a record, or has a changed one, is an error that names it")
    func damagedFilesAreErrors() async throws {
        try await withDevices { phone, _, folder, _ in
            let database = phone.privateDatabase
            try await add("a", picture, to: phone)
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            try await database.update(Photo.self, named: "a") { ($0.title, $0.image) = ("later", nil) }
            let content = try ContentHash(of: picture)
            let name = "user.sqlite-files/\(ContentFolder.relativePath(of: content))"
            func expect(_ change: (URL) throws -> Void) async throws {
                let copy = folder.appending(path: UUID().uuidString)
                try FileManager.default.copyItem(at: backup, to: copy)
                try change(copy)
                for isPlan in [true, false] {
                    let error = await #expect(throws: StoreError.self) {
                        _ = try await isPlan ? database.restorePlan(from: copy) : database.restore(from: copy)
                    }
                    #expect(error?.code == .damaged)
                    #expect(error?.message.contains(content.rawValue) == true, "\(error?.message ?? "")")
                }
            }
            try await expect { try FileManager.default.removeItem(at: $0.appending(path: name)) }
            try await expect { try Data(picture.dropLast()).write(to: $0.appending(path: name)) }
            try await expect { copy in
                var bytes = picture
                bytes[7] ^= 1
                try Data(bytes).write(to: copy.appending(path: name))
            }
            // A manifest does not lead out of the folder.
            try await expect { copy in
                let path = copy.appending(path: "manifest.json")
                let text = try String(contentsOf: path, encoding: .utf8)
                #expect(text.contains(#"user.sqlite-files\/"#))
                try text.replacing(#"user.sqlite-files\/"#, with: #"..\/backup\/user.sqlite-files\/"#)
                    .write(to: path, atomically: true, encoding: .utf8)
            }
            #expect(try await database.fetch(Photo.self, named: "a").model == Photo(title: "later"))
        }
    }

    @Test("42, 36. While a backup is written, no file is collected, by no process; afterwards it is")
    func backupsKeepFiles() async throws {
        try await withDevices { phone, _, folder, time in
            let database = phone.privateDatabase
            try await add("a", picture, to: phone)
            try await phone.sync()
            let kept = try #require(phone.file(of: .private).folder)
            let content = try ContentHash(of: picture)
            do {
                let hold = try kept.keepAll()
                try await database.remove(Photo.self, named: "a")
                try await collect(on: phone, time)
                #expect(kept.size(of: content) != nil)
                withExtendedLifetime(hold) {}
            }
            try await collect(on: phone, time)
            #expect(kept.size(of: content) == nil)

            // Records come and go, and files are collected all the time.
            let changes = Task { [picture] in
                var number: UInt8 = 0
                while !Task.isCancelled {
                    number &+= 1
                    let file = try await database.addFile(picture.map { $0 &+ number })
                    try await database.add(Photo(title: "\(number)", image: file), named: "b")
                    time.wait(2 * 60 * 60)
                    try await phone.sync()
                }
            }
            for number in 1...8 {
                let backup = folder.appending(path: "backup \(number)")
                #expect(try await phone.backup(to: backup).lostFiles == nil)
                // Each file that the copied database refers to is there, with its hash.
                let copy = try MistStore(at: backup, records: [Album.self, Photo.self])
                let verification = try await copy.privateDatabase.verifyFiles()
                #expect(verification.lost.isEmpty && verification.toDownload == 0)
                try copy.close()
            }
            changes.cancel()
            _ = await changes.result
        }
    }

    @Test("42. Two restores at once bring each file back once")
    func twoRestoresAtOnce() async throws {
        try await withDevices { phone, _, folder, time in
            let database = phone.privateDatabase
            for number in 0..<20 { try await add("\(number)", picture.map { $0 &+ UInt8(number) }, to: phone) }
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            for number in 0..<20 { try await database.remove(Photo.self, named: "\(number)") }
            try await collect(on: phone, time)
            let kept = try #require(phone.file(of: .private).folder)
            #expect(kept.size(of: try ContentHash(of: picture)) == nil)
            async let first = database.restore(from: backup)
            async let second = database.restore(from: backup)
            let plans = try await [first, second]
            #expect(plans.map { $0.count(of: .created) }.sorted() == [0, 20])
            #expect(plans.allSatisfy { $0.obstacles.isEmpty })
            for number in 0..<20 {
                #expect(try await image(of: "\(number)", on: phone) == picture.map { $0 &+ UInt8(number) })
            }
            let incoming = try FileManager.default.contentsOfDirectory(atPath: "\(kept.path)/incoming")
            #expect(incoming.isEmpty)
        }
    }

    @Test(
        "42, 36. A backup in another file system, with a file of 24 MB, is restored; on a full one there is none",
        .enabled(if: SmallDisk.isAvailable, "A small file system can be mounted by root only.")
    )
    func otherFileSystems() async throws {
        try await withDevices { phone, _, _, time in
            try await SmallDisk.with(kilobytes: 40 << 10) { disk in
                let database = phone.privateDatabase
                let large = (0..<24_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
                try await add("a", large, to: phone)
                let backup = disk.appending(path: "backup")
                try await phone.backup(to: backup)
                let error = await #expect(throws: StoreError.self) {
                    try await phone.backup(to: disk.appending(path: "second"))
                }
                #expect(error?.code == .full)
                #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["backup"])
                try await database.remove(Photo.self, named: "a")
                try await collect(on: phone, time)
                try await database.restore(from: backup)
                #expect(try await image(of: "a", on: phone) == large)
            }
        }
    }

    @Test("42. What is left of a backup whose process died is no backup")
    func interruptedBackups() async throws {
        try await withDevices { phone, _, folder, _ in
            try await add("a", picture, to: phone)
            let backup = folder.appending(path: "backup")
            try await phone.backup(to: backup)
            // The manifest is written last.
            try FileManager.default.removeItem(at: backup.appending(path: "manifest.json"))
            let error = await #expect(throws: StoreError.self) {
                try await phone.privateDatabase.restore(from: backup)
            }
            #expect(error?.code == .notAStore)
            // A task that ends in the middle leaves nothing.
            let second = folder.appending(path: "second")
            let task = Task { try await phone.backup(to: second) }
            task.cancel()
            if case .failure(let error) = await task.result {
                #expect(error is CancellationError)
                #expect(!FileManager.default.fileExists(atPath: second.path))
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!left.contains { $0.hasSuffix(".part") })
        }
    }
}

extension ContentHash {
    /// The content of some bytes.
    fileprivate init(of bytes: [UInt8]) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: path) }
        try Data(bytes).write(to: path)
        self = try ContentFolder.hash(path.path).0
    }
}

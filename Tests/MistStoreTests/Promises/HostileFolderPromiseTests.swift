import Foundation
import GRDB
import MistKit
import MistTesting
import Synchronization
import TestSupport
import Testing

@testable import MistStore

/// Folders of files that were lost or swapped, that take nothing, or that hold something else.
struct HostileFolderPromiseTests: PhotoTests {
    private func withPhone(_ body: (MistStore, URL, RunningEmulator) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let phone = try open(folder.appending(path: "phone"), emulator)
                try await body(phone, folder, emulator)
                try phone.close()
            }
        }
    }

    private func open(
        _ folder: URL,
        _ emulator: RunningEmulator,
        _ clock: @escaping @Sendable () -> Date = { Date() }
    ) throws -> MistStore {
        var configuration = StoreConfiguration()
        configuration.clock = clock
        configuration.random = { 0 }
        return try MistStore(
            at: folder,
            records: [Album.self, Photo.self],
            service: emulator.service(as: .user),
            configuration: configuration
        )
    }

    enum Damage: CaseIterable {
        /// The folder is gone.
        case isLost
        /// It is the folder of another store.
        case isSwapped
        /// There is a file in its place.
        case isFile
    }

    @Test(
        "36. A folder of files that was lost or swapped shows no wrong file, and is repaired",
        arguments: Damage.allCases
    )
    func foldersThatWereLost(_ damage: Damage) async throws {
        try await withPhone { phone, folder, emulator in
            let database = phone.privateDatabase
            try await add("sent", picture, to: phone)
            try await phone.sync()
            try await add("unsent", other, to: phone)
            let files = folder.appending(path: "phone/user.sqlite-files")
            let aside = folder.appending(path: "aside")
            switch damage {
            case .isLost: try FileManager.default.removeItem(at: files)
            case .isSwapped:
                let laptop = try open(folder.appending(path: "laptop"), emulator)
                try await add("l", [1, 2, 3], to: laptop)
                try laptop.close()
                try FileManager.default.moveItem(at: files, to: aside)
                try FileManager.default.copyItem(at: folder.appending(path: "laptop/user.sqlite-files"), to: files)
            case .isFile:
                try FileManager.default.moveItem(at: files, to: aside)
                try Data([1]).write(to: files)
            }
            for name in ["sent", "unsent"] { #expect(try await image(of: name, on: phone) == nil) }
            if damage == .isFile {
                let error = await #expect(throws: StoreError.self) { try await database.addFile([7]) }
                #expect(error?.code == .readOnly)
                try FileManager.default.removeItem(at: files)
            }
            #expect(try await database.verifyFiles() == FileVerification(intact: 0, toDownload: 1, lost: ["unsent"]))
            try await phone.sync()
            #expect(try await image(of: "sent", on: phone) == picture)
            #expect(try await database.status().parked.map(\.recordName) == ["unsent"])
            // Setting the file again sends the record.
            let again = try await database.addFile(other)
            try await database.update(Photo.self, named: "unsent") { $0.image = again }
            try await database.retryParked()
            try await phone.sync()
            #expect(try await database.status().isSynchronised)
            #expect(try await image(of: "unsent", on: phone) == other)
        }
    }

    @Test("36, P6. A column with JSON that is not that of a file stops no collection and no backup")
    func otherValuesInTheColumn() async throws {
        try await withPhone { phone, folder, _ in
            let values = [
                #"{}"#, #"{"content":5}"#, #"{"content":["x"]}"#, #"{"content":"../../x"}"#,
                #"{"fileChecksum":3,"size":"x"}"#,
            ]
            try await add("a", picture, to: phone)
            try await phone.sync()
            try await phone.file(of: .private).database.write { db in
                for (number, value) in values.enumerated() {
                    try db.execute(
                        sql: "INSERT INTO Photo (_recordName, title, image) VALUES ('bad-\(number)', 'T', '\(value)')"
                    )
                }
            }
            try phone.engineOfFiles.collectFiles(at: Date().machineTime)
            // A second field with the content of the first asks for a record that has it at the service.
            try await add("b", picture, to: phone)
            try await phone.sync()
            #expect(try await image(of: "b", on: phone) == picture)
            let manifest = try await phone.backup(to: folder.appending(path: "backup"))
            #expect(manifest.files.count == 3)
            _ = try await phone.privateDatabase.verifyFiles()
            #expect(try await image(of: "a", on: phone) == picture)
        }
    }

    @Test(
        "1, 36. A download to a full disk waits, says why, and is made when there is space again",
        .enabled(if: SmallDisk.isAvailable, "mounting a file system needs root on Linux")
    )
    func fullDisks() async throws {
        try await withPhone { phone, folder, emulator in
            let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            try await add("large", large, to: phone)
            try await add("small", [1, 2, 3], to: phone)
            try await phone.sync()
            try await SmallDisk.with(kilobytes: 1024) { disk in
                let time = Mutex(Date())
                let home = folder.appending(path: "laptop")
                // The files are on another disk than the records.
                try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
                try FileManager.default.createSymbolicLink(
                    at: home.appending(path: "user.sqlite-files"),
                    withDestinationURL: disk
                )
                let laptop = try open(home, emulator) { time.withLock { $0 } }
                #expect(try await laptop.sync().fetched == 2)
                #expect(try await image(of: "small", on: laptop) == [1, 2, 3])
                #expect(try await image(of: "large", on: laptop) == nil)
                let waiting = try await laptop.privateDatabase.status().files
                #expect(waiting.map(\.recordName) == ["large"])
                #expect(waiting.first?.message?.contains("No space left") == true, "\(waiting)")
                // What was written does not fill the disk.
                let left = try FileManager.default.contentsOfDirectory(atPath: disk.appending(path: "incoming").path)
                #expect(left.isEmpty)
                let error = await #expect(throws: StoreError.self) { try await laptop.privateDatabase.addFile(large) }
                #expect(error?.code == .full)
                try SmallDisk.resize(disk, kilobytes: 16 << 10)
                time.withLock { $0 += 3600 }
                try await laptop.sync()
                #expect(try await image(of: "large", on: laptop) == large)
                #expect(try await laptop.privateDatabase.status().files.isEmpty)
                try laptop.close()
            }
        }
    }

    @Test(
        "33, 36. A store that is opened for reading finds files, also on a read-only file system, and adds none",
        .enabled(if: SmallDisk.isAvailable, "mounting a file system needs root on Linux")
    )
    func readers() async throws {
        try await SmallDisk.with(kilobytes: 8192) { disk in
            let folder = disk.appending(path: "store #1")
            let store = try MistStore(at: folder, records: [Album.self, Photo.self])
            try await add("a", picture, to: store)
            for isReadOnly in [false, true] {
                if isReadOnly {
                    try store.close()
                    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
                    where name.hasSuffix("-shm") || name.hasSuffix("-wal") {
                        try FileManager.default.removeItem(at: folder.appending(path: name))
                    }
                    try SmallDisk.remount(disk, "ro")
                }
                let reader = try MistStore(readingAt: folder, records: [Album.self, Photo.self])
                #expect(try await image(of: "a", on: reader) == picture)
                let error = await #expect(throws: StoreError.self) { try await reader.privateDatabase.addFile([1]) }
                #expect(error?.code == .readOnly, "\(String(describing: error))")
                try reader.close()
            }
        }
    }
}

extension MistStore {
    /// An engine of the private database, to collect files.
    fileprivate var engineOfFiles: SyncEngine {
        SyncEngine(file: file(of: .private), scope: .private, configuration: configuration)
    }
}

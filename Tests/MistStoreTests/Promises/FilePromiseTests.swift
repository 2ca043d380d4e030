import Foundation
import GRDB
import MistKit
import MistModels
import MistTesting
import Synchronization
import TestSupport
import Testing

@testable import MistStore

/// Files of records, over HTTP, with two stores in two folders.
struct FilePromiseTests: PhotoTests {
    /// Two devices with one emulator. A device can be closed and opened again.
    private final class Devices: Sendable {
        let folder: URL
        let service: FileService
        let now = Mutex(Date())
        private let onDemand: Bool

        init(_ folder: URL, _ service: FileService, onDemand: Bool) {
            self.folder = folder
            self.service = service
            self.onDemand = onDemand
        }

        func open(_ name: String) throws -> MistStore {
            var configuration = StoreConfiguration()
            configuration.clock = { [self] in now.withLock { $0 } }
            configuration.random = { 0 }
            if onDemand { configuration.setDownload(.onDemand, of: \.image, in: Photo.self) }
            return try MistStore(
                at: folder.appending(path: name),
                records: [Album.self, Photo.self],
                service: service,
                configuration: configuration
            )
        }

        func wait(_ seconds: TimeInterval) { now.withLock { $0 += seconds } }

        /// The contents of the files that a device keeps.
        func files(of name: String) -> Set<[UInt8]> {
            let kept = folder.appending(path: "\(name)/user.sqlite-files")
            let paths = FileManager.default.enumerator(at: kept, includingPropertiesForKeys: nil)?.allObjects ?? []
            return Set(paths.compactMap { ($0 as? URL).flatMap { try? [UInt8](Data(contentsOf: $0)) } })
        }
    }

    private func withDevices(
        onDemand: Bool = false,
        _ body: (Devices) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = FileService(service: emulator.service(as: .user))
                try await body(Devices(folder, service, onDemand: onDemand))
            }
        }
    }

    @Test("36, J1, J2. A file that one device adds is readable on the other one, offline and after a restart")
    func filesReachTheOtherDevice() async throws {
        try await withDevices { devices in
            var phone = try devices.open("phone")
            let source = devices.folder.appending(path: "picture")
            try Data(picture).write(to: source)
            let file = try await phone.privateDatabase.addFile(at: source)
            try FileManager.default.removeItem(at: source)
            try await phone.privateDatabase.add(Photo(title: "Beach", image: file), named: "beach")
            #expect(try await image(of: "beach", on: phone) == picture)
            try phone.close()
            phone = try devices.open("phone")
            #expect(try await phone.sync().sent == 1)
            #expect(try await phone.privateDatabase.status().isSynchronised)
            var laptop = try devices.open("laptop")
            #expect(try await laptop.sync().fetched == 1)
            try laptop.close()
            laptop = try devices.open("laptop")
            #expect(try await image(of: "beach", on: laptop) == picture)
            #expect(devices.service.uploads == 1)
            #expect(devices.service.downloads == 1)
            // Our own write that comes back is no download.
            try await phone.sync()
            #expect(devices.service.downloads == 1)
            try await laptop.privateDatabase.update(Photo.self, named: "beach") { $0.title = "Coast" }
            try await laptop.sync()
            try await phone.sync()
            #expect(try await image(of: "beach", on: phone) == picture)
            #expect(devices.service.uploads == 1)
            #expect(devices.service.downloads == 1)
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test(
        "36, J1. A file that is replaced, also by one of the same size, replaces the other device's; an update keeps it"
    )
    func filesAreReplaced() async throws {
        try await withDevices { devices in
            let (phone, laptop) = try (devices.open("phone"), devices.open("laptop"))
            let database = phone.privateDatabase
            try await database.add(Photo(title: "A", image: try await database.addFile(picture)), named: "a")
            // Before the first upload, too.
            let second = try await database.addFile(other)
            try await database.update(Photo.self, named: "a") { $0.image = second }
            try await phone.sync()
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == other)
            let first = try await database.addFile(picture)
            try await database.update(Photo.self, named: "a") { $0.image = first }
            try await phone.sync()
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == picture)
            #expect(devices.service.uploads == 2)
            try await database.update(Photo.self, named: "a") { $0.image = nil }
            try await phone.sync()
            try await laptop.sync()
            #expect(try await laptop.privateDatabase.fetch(Photo.self, named: "a").image == nil)
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("36, J1. A field that gets the bytes that it has is not sent, and a plain UPDATE copies a file")
    func sameBytesAreNotUploaded() async throws {
        try await withDevices { devices in
            let (phone, laptop) = try (devices.open("phone"), devices.open("laptop"))
            let database = phone.privateDatabase
            try await database.add(Photo(title: "A", image: try await database.addFile(picture)), named: "a")
            try await database.add(Photo(title: "B"), named: "b")
            try await phone.sync()
            #expect(devices.service.uploads == 1)
            let again = try await database.addFile(picture)
            try await database.update(Photo.self, named: "a") { $0.image = again }
            try await phone.sync()
            #expect(devices.service.uploads == 1)
            try await phone.file(of: .private).database.write { db in
                try db.execute(
                    sql: """
                        UPDATE "Photo" SET image = (SELECT image FROM "Photo" WHERE _recordName = 'a')
                        WHERE _recordName = 'b'
                        """
                )
            }
            try await phone.sync()
            try await laptop.sync()
            #expect(try await image(of: "b", on: laptop) == picture)
            // The service has the bytes in another record.
            #expect(devices.service.uploads == 1)
            // The bytes are on the other device after the first of the two downloads.
            #expect(devices.service.downloads == 1)
            #expect(try await phone.privateDatabase.status().isSynchronised)
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("36, 25. A file that is missing or refused delays its record and nothing else, with the reason")
    func filesThatFailDelayTheirRecord() async throws {
        try await withDevices { devices in
            let phone = try devices.open("phone")
            let database = phone.privateDatabase
            let lost = try await database.addFile(picture)
            try await database.add(Photo(title: "lost", image: lost), named: "lost")
            try await database.add(Photo(title: "refused", image: try await database.addFile(other)), named: "refused")
            try await database.add(Photo(title: "C"), named: "c")
            try FileManager.default.removeItem(at: try #require(database.file(of: lost)))
            devices.service.refuse(uploadsOf: "refused")
            #expect(try await phone.sync().sent == 1)
            let parked = try await database.status().parked
            #expect(parked.map(\.recordName) == ["lost", "refused"])
            #expect(parked.allSatisfy { $0.reason == .file && $0.until == nil })
            // The file is set again; the other one is tried again on request.
            devices.service.refuse(uploadsOf: nil)
            devices.wait(1)
            let found = try await database.addFile(picture)
            try await database.update(Photo.self, named: "lost") {
                $0.image = found
                $0.title = "found"
            }
            try await database.retryParked()
            #expect(try await phone.sync().sent == 2)
            #expect(try await database.status().isSynchronised)
            try phone.close()
        }
    }

    @Test("36, J2. A download that was cut off is noticed, and made again")
    func truncatedDownloadsAreFetchedAgain() async throws {
        try await withDevices { devices in
            let (phone, laptop) = try (devices.open("phone"), devices.open("laptop"))
            let database = phone.privateDatabase
            try await database.add(Photo(title: "A", image: try await database.addFile(picture)), named: "a")
            try await phone.sync()
            devices.service.cutNextDownload()
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == nil)
            #expect(devices.files(of: "laptop").isEmpty)
            devices.wait(1)
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == picture)
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("36, J2. A file of two records is kept until both are gone for an hour, and for the recovery log")
    func unusedFilesAreCollected() async throws {
        try await withDevices { devices in
            let phone = try devices.open("phone")
            let database = phone.privateDatabase
            let file = try await database.addFile(picture)
            _ = try await database.addFile(other)
            for name in ["a", "b"] { try await database.add(Photo(title: name, image: file), named: name) }
            try await phone.sync()
            func collect() async throws {
                for _ in 0..<2 {
                    devices.wait(61 * 60)
                    try await phone.sync()
                }
            }
            try await collect()
            #expect(devices.files(of: "phone") == [picture])
            try await database.remove(Photo.self, named: "a")
            try await collect()
            #expect(devices.files(of: "phone") == [picture])
            try await database.remove(Photo.self, named: "b")
            try await phone.sync()
            #expect(devices.files(of: "phone") == [picture])
            try await collect()
            #expect(devices.files(of: "phone").isEmpty)
            try phone.close()
        }
    }

    @Test("36, 10. A file that lost to a delete stays as long as the recovery log has it")
    func theRecoveryLogKeepsFiles() async throws {
        try await withDevices { devices in
            let (phone, laptop) = try (devices.open("phone"), devices.open("laptop"))
            try await phone.privateDatabase.add(Photo(title: "A"), named: "a")
            try await phone.sync()
            try await laptop.sync()
            try await laptop.privateDatabase.remove(Photo.self, named: "a")
            try await laptop.sync()
            let file = try await phone.privateDatabase.addFile(picture)
            try await phone.privateDatabase.update(Photo.self, named: "a") { $0.image = file }
            for _ in 0..<3 {
                try await phone.sync()
                devices.wait(61 * 60)
            }
            #expect(devices.files(of: "phone") == [picture])
            let lost = try #require(try await phone.privateDatabase.recoveryLog(limit: 1).first)
            devices.wait(1)
            try await phone.privateDatabase.restore(lost)
            try await phone.sync()
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == picture)
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("36. A file on demand is downloaded when it is asked for")
    func filesOnDemand() async throws {
        try await withDevices(onDemand: true) { devices in
            let (phone, laptop) = try (devices.open("phone"), devices.open("laptop"))
            let database = phone.privateDatabase
            try await database.add(Photo(title: "A", image: try await database.addFile(picture)), named: "a")
            try await phone.sync()
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == nil)
            #expect(try await laptop.privateDatabase.requestFile(\.image, of: Photo.self, named: "a"))
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == picture)
            #expect(try await !laptop.privateDatabase.requestFile(\.image, of: Photo.self, named: "a"))
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("36. Files that are missing or changed on the disk are found on request, and downloaded again")
    func filesAreVerified() async throws {
        try await withDevices { devices in
            let phone = try devices.open("phone")
            let database = phone.privateDatabase
            let (first, second) = try await (database.addFile(picture), database.addFile(other))
            try await database.add(Photo(title: "A", image: first), named: "a")
            try await database.add(Photo(title: "B", image: second), named: "b")
            try await phone.sync()
            let local = try await database.addFile([1, 2, 3])
            try await database.add(Photo(title: "C", image: local), named: "c")
            try FileManager.default.removeItem(at: try #require(database.file(of: first)))
            try Data(picture).write(to: try #require(database.file(of: second)))
            try FileManager.default.removeItem(at: try #require(database.file(of: local)))
            let damage = try await database.verifyFiles()
            #expect(damage == FileVerification(intact: 0, toDownload: 2, lost: ["c"]))
            try await phone.sync()
            #expect(try await image(of: "a", on: phone) == picture)
            #expect(try await image(of: "b", on: phone) == other)
            #expect(try await database.status().parked.map(\.recordName) == ["c"])
            try phone.close()
        }
    }

    @Test("36, 3. A crash between the upload and the push costs at most a second upload", arguments: [true, false])
    func crashBetweenUploadAndPush(isNoted: Bool) async throws {
        try await withDevices { devices in
            var phone = try devices.open("phone")
            let database = phone.privateDatabase
            try await database.add(Photo(title: "A", image: try await database.addFile(picture)), named: "a")
            // The process ends after the upload, before or after its end is noted.
            devices.service.failAfterUpload(once: isNoted ? .afterNote : .beforeNote)
            _ = try? await phone.sync()
            try phone.close()
            phone = try devices.open("phone")
            #expect(try await phone.sync().sent == 1)
            #expect(devices.service.uploads == (isNoted ? 1 : 2))
            let laptop = try devices.open("laptop")
            try await laptop.sync()
            #expect(try await image(of: "a", on: laptop) == picture)
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("36, 4. While a file is uploaded, other records are sent, also those that are edited meanwhile")
    func longTransfersHoldUpNothing() async throws {
        try await withDevices { devices in
            let (phone, laptop) = try (devices.open("phone"), devices.open("laptop"))
            let database = phone.privateDatabase
            try await database.add(Photo(title: "A", image: try await database.addFile(picture)), named: "a")
            let held = devices.service.holdUploads()
            async let sync = phone.sync()
            await held.began.first { _ in true }
            try await database.add(Photo(title: "B"), named: "b")
            while try await laptop.privateDatabase.read({ try $0.fetchIfPresent(Photo.self, named: "b") }) == nil {
                try await laptop.sync()
            }
            held.release()
            #expect(try await sync.sent == 2)
            for store in [phone, laptop] { try store.close() }
        }
    }
}

/// A service that counts transfers, and makes them fail.
private final class FileService: SyncService {
    enum Crash { case beforeNote, afterNote }

    private struct State {
        var uploads = 0
        var downloads = 0
        var refused: String?
        var isCut = false
        var crash: Crash?
        var isBroken = false
        var gate: Gate?
    }

    /// Holds uploads until it is opened.
    final class Gate: Sendable {
        let began: AsyncStream<Void>
        private let beginning: AsyncStream<Void>.Continuation
        private let end = AsyncStream<Void>.makeStream()

        init() { (began, beginning) = AsyncStream<Void>.makeStream() }

        func pass() async {
            beginning.yield()
            await end.stream.first { _ in true }
        }

        func release() { end.continuation.yield() }
    }

    private let service: CloudKitService
    private let state = Mutex(State())

    init(service: CloudKitService) { self.service = service }

    var session: UInt64 { service.session }

    var uploads: Int { state.withLock { $0.uploads } }
    var downloads: Int { state.withLock { $0.downloads } }
    func refuse(uploadsOf name: String?) { state.withLock { $0.refused = name } }
    func cutNextDownload() { state.withLock { $0.isCut = true } }
    func failAfterUpload(once crash: Crash) { state.withLock { $0.crash = crash } }
    func holdUploads() -> Gate {
        let gate = Gate()
        state.withLock { $0.gate = gate }
        return gate
    }

    private struct Broken: Error {}

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        let isBroken = state.withLock { state in
            defer { if request.isWrite { state.isBroken = false } }
            return state.isBroken && request.isWrite
        }
        if isBroken { throw Broken() }
        return try await service.send(request, to: scope)
    }

    func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset {
        let (isRefused, gate) = state.withLock { ($0.refused == upload.recordName, $0.gate) }
        if isRefused { throw CloudKitError(code: .limitExceeded, message: "The file is too large.") }
        await gate?.pass()
        let asset = try await service.upload(
            upload,
            inZone: zone,
            of: scope,
            ofSession: session,
            progress: progress
        )
        let crash = state.withLock { state in
            state.uploads += 1
            defer { state.crash = nil }
            state.isBroken = state.crash == .afterNote
            return state.crash
        }
        if crash == .beforeNote { throw Broken() }
        return asset
    }

    func rereference(_ field: AssetField, forZone zone: ZoneID, of scope: DatabaseScope, ofSession session: UInt64)
        async throws -> Asset
    {
        try await service.rereference(field, forZone: zone, of: scope, ofSession: session)
    }

    func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws {
        let isCut = state.withLock { state in
            state.downloads += 1
            defer { state.isCut = false }
            return state.isCut
        }
        try await service.download(field, to: file, from: scope, ofSession: session, progress: progress)
        if isCut { try Data(contentsOf: file).prefix(1000).write(to: file) }
    }
}

import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import GRDB
import MistKit
import MistModels
import MistTesting
import SQLiteTables
import Synchronization
import TestSupport
import Testing

@testable import MistStore

@CloudKitRecord
struct Gallery: Hashable {
    var images: [Asset]
}

/// How files are transferred: used again at the service, resumed, and bound to a session.
struct FileTransferPromiseTests: PhotoTests {
    private func open(
        _ folder: URL,
        _ service: any SyncService,
        key: StoreEncryptionKey? = nil,
        _ clock: @escaping @Sendable () -> Date = { Date() }
    ) throws -> MistStore {
        var configuration = StoreConfiguration()
        configuration.encryptionKey = key
        configuration.clock = clock
        configuration.random = { 0 }
        return try MistStore(
            at: folder,
            records: [Album.self, Photo.self],
            service: service,
            configuration: configuration
        )
    }

    private func withService(_ body: (WatchedService, URL) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                try await body(WatchedService(emulator.service(as: .user)), folder)
            }
        }
    }

    // MARK: Used again

    @Test("36, J1. The content that another record has at the service is used again there, and not uploaded")
    func contentsAreReferencedAgain() async throws {
        try await withService { service, folder in
            let phone = try open(folder.appending(path: "phone"), service)
            let laptop = try open(folder.appending(path: "laptop"), service)
            try await add("a", picture, to: phone)
            try await phone.sync()
            #expect(service.calls == ["upload a"])
            try await add("b", picture, to: phone)
            try await phone.sync()
            #expect(service.calls == ["upload a", "rereference a"])
            // A file that came from the service, too.
            try await laptop.sync()
            try await add("c", picture, to: laptop)
            try await laptop.sync()
            try await phone.sync()
            #expect(service.calls.filter { $0.hasPrefix("upload") } == ["upload a"])
            #expect(service.calls.count { $0.hasPrefix("rereference") } == 2)
            for store in [phone, laptop] {
                for name in ["a", "b", "c"] { #expect(try await image(of: name, on: store) == picture) }
                #expect(try await store.privateDatabase.status().isSynchronised)
                try store.close()
            }
        }
    }

    enum Refusal: CaseIterable {
        /// The service refuses to use the file again.
        case refused
        /// The record has another file by now.
        case otherFile
        /// The receipt is refused with the record.
        case badReceipt
    }

    @Test("36, J1. A content that the service does not use again is uploaded", arguments: Refusal.allCases)
    func contentsAreUploadedAfterARefusal(_ refusal: Refusal) async throws {
        try await withService { service, folder in
            let time = Mutex(Date())
            let phone = try open(folder.appending(path: "phone"), service) { time.withLock { $0 } }
            try await add("a", picture, to: phone)
            try await add("z", other, to: phone)
            try await phone.sync()
            service.refuse(refusal)
            try await add("b", picture, to: phone)
            for _ in 0..<3 {
                try await phone.sync()
                time.withLock { $0 += 600 }
            }
            #expect(service.calls.last == "upload b")
            #expect(service.calls.count { $0 == "rereference a" } == 1)
            #expect(try await phone.privateDatabase.status().isSynchronised)
            let laptop = try open(folder.appending(path: "laptop"), service)
            try await laptop.sync()
            #expect(try await image(of: "b", on: laptop) == picture)
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("33, 36. The end of a transfer is not that of another file, which another process has begun to transfer")
    func endsAreThoseOfTheirFiles() async throws {
        try await withService { service, folder in
            let phone = try open(folder.appending(path: "phone"), service)
            let tool = try open(folder.appending(path: "phone"), service)
            let (bytes, files) = (other, tool.file(of: .private))
            service.duringNextUpload(beforeIt: false) {
                let image = try await tool.privateDatabase.addFile(bytes)
                try await tool.privateDatabase.update(Photo.self, named: "a") { $0.image = image }
                // As a process does that takes over while this one is stopped.
                try await files.database.write { db in
                    try db.execute(sql: "UPDATE mist_transfer SET file = ?", arguments: [image.content?.rawValue])
                }
            }
            try await add("a", picture, to: phone)
            try await phone.sync()
            #expect(service.calls == ["upload a", "upload a"])
            let laptop = try open(folder.appending(path: "laptop"), service)
            try await laptop.sync()
            for store in [phone, laptop] {
                #expect(try await image(of: "a", on: store) == other)
                #expect(try await store.privateDatabase.status().isSynchronised)
            }
            for store in [phone, tool, laptop] { try store.close() }
        }
    }

    // MARK: Resumed

    @Test("36, J2. A download that the end of the process broke off goes on in the next process")
    func downloadsGoOn() async throws {
        try await withService { service, folder in
            let large = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            let phone = try open(folder.appending(path: "phone"), service)
            try await add("a", large, to: phone)
            try await phone.sync()
            var laptop = try open(folder.appending(path: "laptop"), service)
            service.breakNextDownload(after: 2_500_000)
            await #expect(throws: CancellationError.self) { try await laptop.sync() }
            #expect(try await image(of: "a", on: laptop) == nil)
            try laptop.close()
            laptop = try open(folder.appending(path: "laptop"), service)
            try await laptop.sync()
            #expect(service.firstProgress ?? 0 > 2_000_000)
            #expect(try await image(of: "a", on: laptop) == large)
            let incoming = folder.appending(path: "laptop/user.sqlite-files/incoming")
            #expect(try FileManager.default.contentsOfDirectory(atPath: incoming.path) == [])
            for store in [phone, laptop] { try store.close() }
        }
    }

    @Test("36. What is left of a download that is not wanted any more is collected after a day")
    func partialFilesAreCollected() async throws {
        try await withService { service, folder in
            let time = Mutex(Date())
            let phone = try open(folder.appending(path: "phone"), service) { time.withLock { $0 } }
            try await add("a", picture, to: phone)
            try await phone.sync()
            let incoming = folder.appending(path: "phone/user.sqlite-files/incoming")
            for (name, age) in [("old.part", 25.0), ("old.state", 25), ("new.part", 23)] {
                let path = incoming.appending(path: name)
                try Data([1]).write(to: path)
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -age * 60 * 60)],
                    ofItemAtPath: path.path
                )
            }
            time.withLock { $0 += 11 * 60 }
            try await phone.sync()
            #expect(try FileManager.default.contentsOfDirectory(atPath: incoming.path) == ["new.part"])
            try phone.close()
        }
    }

    // MARK: Sessions

    @Test("28, 36. A file is sent in the session that it was decided for, and in no other", arguments: [true, false])
    func uploadsBelongToASession(switchesBefore: Bool) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let mei = emulator.userRecordName
                let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
                let session = UserSession(emulator)
                try await session.begin(mei)
                let service = WatchedService(session.service)
                let store = try open(folder.appending(path: "phone"), service)
                try await store.openSignedInUser()
                try await store.privateDatabase.add(Photo(title: "first"), named: "first")
                try await store.sync()
                let before = try emulator.contents(of: .private)
                try await add("m", picture, to: store)
                service.duringNextUpload(beforeIt: switchesBefore) { try await session.begin(ben) }
                emulator.faults.forgetRequests()
                let error = await #expect(throws: StoreError.self) { try await store.sync() }
                #expect(error?.code == .otherUser)
                let uploads = emulator.faults.requests.count { $0.hasSuffix("assets/upload") }
                #expect(uploads == (switchesBefore ? 0 : 1))
                #expect(try emulator.contents(of: .private, ofUser: ben) == "")
                #expect(try emulator.contents(of: .private) == before)
                // What was said in another session is not noted.
                let isNoted = try await store.privateDatabase.read { reader in
                    try reader.db.value("SELECT count(*) FROM mist_transfer WHERE asset IS NOT NULL", as: Int.self)
                }
                #expect(isNoted == 0)
                try await store.signIn { try await session.begin(mei) }
                try await store.sync()
                #expect(try await store.privateDatabase.status().isSynchronised)
                #expect(try emulator.contents(of: .private, ofUser: ben) == "")
                try store.close()
            }
        }
    }

    @Test("36, 23. The upload of a record that is gone holds up no download of the public database")
    func uploadsHoldUpNoDownloads() async throws {
        try await withService { service, folder in
            let laptop = try open(folder.appending(path: "laptop"), service)
            let large = try await laptop.publicDatabase.addFile(picture)
            try await laptop.publicDatabase.add(Photo(title: "a", image: large), named: "a")
            try await laptop.sync()
            try laptop.close()

            // The process dies while it uploads a file, and the record is removed before it was sent. From then on, the
            // phone has nothing to send, and does not ask who is signed in.
            var phone = try open(folder.appending(path: "phone"), service)
            service.duringNextUpload(beforeIt: true) { throw CancellationError() }
            let small = try await phone.publicDatabase.addFile([1])
            try await phone.publicDatabase.add(Photo(title: "b", image: small), named: "b")
            await #expect(throws: CancellationError.self) { try await phone.sync() }
            try await phone.publicDatabase.remove(Photo.self, named: "b")
            try phone.close()

            phone = try open(folder.appending(path: "phone"), service)
            try await phone.publicDatabase.follow(Query<Photo>())
            try await phone.sync()
            let status = try await phone.publicDatabase.status()
            #expect(status.files == [])
            #expect(status.isSynchronised)
            let photo = try await phone.publicDatabase.fetch(Photo.self, named: "a")
            let url = try #require(photo.image.flatMap(phone.publicDatabase.file))
            #expect([UInt8](try Data(contentsOf: url)) == picture)
            try phone.close()
        }
    }

    // MARK: Lists

    @Test("34, 36. A type with a list of files is refused when the store opens, by the name of its field")
    func listsOfFiles() async throws {
        try await inTemporaryFolder { folder in
            let error = #expect(throws: StoreError.self) { try MistStore(at: folder, records: [Gallery.self]) }
            #expect(error?.code == .schema)
            #expect(error?.recordType == "Gallery")
            #expect(error?.fieldName == "images")
            // Nothing was made, so the program can go on without the type.
            let store = try MistStore(at: folder, records: [Photo.self])
            #expect(try await store.privateDatabase.find(Query<Photo>()).isEmpty)
            try store.close()
        }
    }

    // MARK: Outcomes

    @Test("43, 36. The words with which a transfer fails are sealed: they may quote a value")
    func messagesAreSealed() async throws {
        try await withService { service, folder in
            let key = StoreEncryptionKey()
            for (name, present) in [("sealed", key), ("plain", nil)] as [(String, StoreEncryptionKey?)] {
                let path = folder.appending(path: name)
                service.duringNextUpload(beforeIt: true) {
                    throw CloudKitError.service(.internalError, reason: "no zq-title", retryAfter: 600, record: name)
                }
                var store = try open(path, service, key: present)
                try await add(name, picture, to: store)
                try await store.sync()
                #expect(try await hasPlainMessage(store) == (present == nil))
                #expect(try await store.privateDatabase.status().files.first?.message?.contains("zq-title") == true)
                try store.close()
                // The file may get its key while the transfer waits.
                store = try open(path, service, key: key)
                #expect(try await !hasPlainMessage(store))
                #expect(try await store.privateDatabase.status().files.first?.message?.contains("zq-title") == true)
                try store.close()
            }
        }
    }

    /// Whether the message of the only transfer can be read without the key.
    private func hasPlainMessage(_ store: MistStore) async throws -> Bool {
        let messages = try await store.file(of: .private).database.read { db in
            try DatabaseValue.fetchAll(db, sql: "SELECT message FROM mist_transfer")
        }
        #expect(messages.count == 1)
        return messages.contains { Data.fromDatabaseValue($0)?.range(of: Data("zq-title".utf8)) != nil }
    }

    @Test(
        "36. What happens after a failed transfer follows from the error",
        arguments: [
            (TransferKey.Direction.upload, CloudKitError.Code.localData, TransferOutcome.park),
            (.upload, .limitExceeded, .park), (.upload, .badRequest, .park), (.upload, .accessDenied, .park),
            // MistKit has asked for another address; the next attempt asks again.
            (.upload, .assetAddressExpired, .later), (.upload, .network, .later), (.upload, .cancelled, .later),
            (.download, .notFound, .drop), (.download, .conflict, .drop), (.download, .localData, .later),
            (.download, .assetAddressExpired, .later), (.download, .network, .later),
        ]
    )
    func outcomes(_ direction: TransferKey.Direction, _ code: CloudKitError.Code, _ outcome: TransferOutcome) {
        #expect(TransferOutcome.of(CloudKitError(code: code, message: ""), direction, isOfCopy: false) == outcome)
    }

    @Test(
        "11, 36. A copy that waits for the file of its former record waits for a person only where that is gone",
        arguments: [
            (CloudKitError.Code.notFound, TransferOutcome.park), (.conflict, .later), (.network, .later),
            (.localData, .later),
        ]
    )
    func outcomesOfCopies(_ code: CloudKitError.Code, _ outcome: TransferOutcome) {
        #expect(TransferOutcome.of(CloudKitError(code: code, message: ""), .download, isOfCopy: true) == outcome)
    }
}

/// A service that lists the transfers, and in which something happens during one of them.
private final class WatchedService: SyncService {
    private struct State {
        var calls: [String] = []
        var refusal: FileTransferPromiseTests.Refusal?
        var breaksAfter: Int64?
        var firstProgress: Int64?
        var change: (isBefore: Bool, body: @Sendable () async throws -> Void)?
    }

    private let service: CloudKitService
    private let state = Mutex(State())

    init(_ service: CloudKitService) { self.service = service }

    var calls: [String] { state.withLock { $0.calls } }
    /// The first progress of the last download.
    var firstProgress: Int64? { state.withLock { $0.firstProgress } }
    var session: UInt64 { service.session }

    func refuse(_ refusal: FileTransferPromiseTests.Refusal) { state.withLock { $0.refusal = refusal } }
    func breakNextDownload(after count: Int64) { state.withLock { $0.breaksAfter = count } }
    func duringNextUpload(beforeIt isBefore: Bool, _ body: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0.change = (isBefore, body) }
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        try await service.send(request, to: scope)
    }

    func response(to request: SyncRequest, in scope: DatabaseScope, ofSession session: UInt64) async throws
        -> SyncResponse
    {
        try await service.response(to: request, in: scope, ofSession: session)
    }

    func upload(
        _ upload: AssetUpload,
        inZone zone: ZoneID,
        of scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws -> Asset {
        let change = state.withLock { state in
            state.calls.append("upload \(upload.recordName ?? "")")
            defer { state.change = nil }
            return state.change
        }
        if let change, change.isBefore { try await change.body() }
        let asset = try await service.upload(
            upload,
            inZone: zone,
            of: scope,
            ofSession: session,
            progress: progress
        )
        if let change, !change.isBefore { try await change.body() }
        return asset
    }

    func rereference(_ field: AssetField, forZone zone: ZoneID, of scope: DatabaseScope, ofSession session: UInt64)
        async throws -> Asset
    {
        let refusal = state.withLock { state in
            state.calls.append("rereference \(field.recordName)")
            return state.refusal
        }
        switch refusal {
        case .refused: throw CloudKitError(code: .notFound, message: "There is no such file.")
        case .otherFile:
            let field = AssetField(field.fieldName, of: "z", inZone: field.zoneID)
            return try await service.rereference(field, forZone: zone, of: scope, ofSession: session)
        case .badReceipt:
            var asset = try await service.rereference(field, forZone: zone, of: scope, ofSession: session)
            asset.receipt = "expired"
            return asset
        case nil: return try await service.rereference(field, forZone: zone, of: scope, ofSession: session)
        }
    }

    func download(
        _ field: AssetField,
        to file: URL,
        from scope: DatabaseScope,
        ofSession session: UInt64,
        progress: @escaping ProgressHandler<TransferProgress>
    ) async throws {
        state.withLock { $0.firstProgress = nil }
        // As in a process that ends, the task is cancelled in the middle.
        let isBroken = Mutex(false)
        let download = Task { [service] in
            try await service.download(field, to: file, from: scope, ofSession: session) { value in
                self.state.withLock { $0.firstProgress = $0.firstProgress ?? value.completedBytes }
                progress(value)
                let breaks = self.state.withLock { state in
                    guard let count = state.breaksAfter, value.completedBytes > count else { return false }
                    state.breaksAfter = nil
                    return true
                }
                guard breaks else { return }
                isBroken.withLock { $0 = true }
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        do {
            try await download.value
        } catch {
            if isBroken.withLock({ $0 }) { throw CancellationError() }
            throw error
        }
    }
}

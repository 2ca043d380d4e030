import Foundation
import GRDB
import MistMutationQueue
import OpenAPISwiftRuntime
import Peated
import Synchronization

/// What one user has on this machine: feeds, tastings and toasts, pictures, and the queue of what is to be sent.
///
/// Reading and writing never wait for the service. ``refresh(_:pageSize:)`` and ``fill(_:of:pageSize:)`` fetch, and the
/// queue sends.
///
/// ```swift
/// let tasting = try await notebook.taste("b2", rating: 4.5, notes: "Smoke")   // in the file, and waits
/// try await notebook.send()                                                   // POST /v1/tastings
/// for entry in try await notebook.feed(.own) { … }
/// ```
public final class Notebook: Sendable {
    /// The settings of a notebook.
    public struct Settings: Sendable {
        /// The most bytes of pictures that are kept, except for those that are to be sent.
        public var pictureLimit: Int64 = 50_000_000
        /// The size of the pieces in which pictures are uploaded.
        public var pieceSize = 262_144
        /// The settings of the queue.
        public var queue = MutationQueueConfiguration()
        /// Makes the identifiers of tastings on this machine. Each one is another, in all files.
        public var makeID: @Sendable () -> String = { "local-" + UUID().uuidString.prefix(8).lowercased() }
        /// The time.
        public var now: @Sendable () -> Date = { Date() }

        /// Makes the default settings.
        public init() {}
    }

    /// The user.
    public let account: Account
    /// The changes that wait for the service.
    public let queue: MutationQueue<PeatedMutation>
    let client: PeatedClient
    let database: DatabasePool
    let pictures: Pictures
    let settings: Settings
    let uploads: UploadReports

    /// Opens the notebook of a user, and makes it where there is none.
    public init(
        _ account: Account,
        in accounts: Accounts,
        transport: any ClientTransport,
        settings: Settings = Settings()
    ) throws {
        let folder = try accounts.folder(of: account)
        self.account = account
        self.settings = settings
        client = PeatedClient(
            serverURL: account.server,
            credentials: try accounts.credentials(of: account),
            transport: transport
        )
        var configuration = Configuration()
        // Other commands may write to the file at the same time.
        configuration.busyMode = .timeout(5)
        let file = folder.appending(path: "notebook.sqlite").path
        do {
            database = try DatabasePool(path: file, configuration: configuration)
            guard try !database.read(Schema.migrator.hasBeenSuperseded) else {
                throw NotebookError.file("A later version of this program has changed \(file). Use that version.")
            }
            try Schema.migrator.migrate(database)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw NotebookError.file("\(file) is not an SQLite database. Move it away, and nothing of it is lost.")
        }
        pictures = Pictures(folder: folder.appending(path: "pictures"), limit: settings.pictureLimit)
        let kept = try database.read { db in Set(try PictureRows(db: db).all().map(\.digest)) }
        pictures.removeLeftovers(except: kept)
        uploads = UploadReports()
        let sender = Sender(client: client, pictures: pictures, pieceSize: settings.pieceSize, uploads: uploads)
        var handlers = MutationHandlers<PeatedMutation> { try await sender.send($0) }
        handlers.decide = { error, _ in .after(error) }
        handlers.join = { PeatedMutation.join($0, $1) }
        queue = try MutationQueue(database, configuration: settings.queue, handlers)
    }

    // MARK: Sending

    /// Sends what can be sent now. A pause because of a missing connection ends: the user asks for another try.
    @discardableResult
    public func send() async throws -> MutationDrain {
        try await resume(.offline)
        return try await queue.drain()
    }

    /// The uploads while they go on, of this process.
    public func uploadReports() -> AsyncStream<UploadReport> { uploads.stream() }

    /// Ends a pause with this reason.
    public func resume(_ reason: MutationPause.Reason) async throws {
        try await database.write { [queue] db in try queue.resume(reason, in: db) }
    }

    /// Pauses the queue.
    public func pause(_ reason: MutationPause.Reason, _ message: String) async throws {
        try await database.write { [queue] db in try queue.pause(reason, message, in: db) }
    }

    /// The state of the queue.
    public func status() async throws -> MutationQueueStatus {
        try await database.read { [queue] db in try queue.status(in: db) }
    }

    // MARK: Fetching

    /// Runs a request. Where it finds that the session has ended, the queue pauses, too, and says why.
    func asking<Value: Sendable>(_ request: () async throws(PeatedError) -> Value) async throws -> Value {
        do {
            return try await request()
        } catch {
            if case .unauthorized = error { try await pause(.signedOut, error.sentence) }
            throw error
        }
    }
}

/// How far the upload of a picture is.
public struct UploadReport: Hashable, Sendable {
    /// The SHA-256 of the picture.
    public var digest: String
    /// The bytes that the service has.
    public var received: Int64
    /// All bytes.
    public var size: Int64
}

/// Passes reports of uploads on to those who listen.
final class UploadReports: Sendable {
    private let listeners = Mutex<[UUID: AsyncStream<UploadReport>.Continuation]>([:])

    func report(_ report: UploadReport) {
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield(report) }
    }

    func stream() -> AsyncStream<UploadReport> {
        let (stream, continuation) = AsyncStream<UploadReport>.makeStream()
        let id = UUID()
        listeners.withLock { $0[id] = continuation }
        continuation.onTermination = { [weak self] _ in
            self?.listeners.withLock { _ = $0.removeValue(forKey: id) }
        }
        return stream
    }
}

/// Sends mutations with the generated client, each under its key.
struct Sender: Sendable {
    let client: PeatedClient
    let pictures: Pictures
    let pieceSize: Int
    let uploads: UploadReports

    func send(_ outgoing: OutgoingMutation<PeatedMutation>) async throws -> MutationEffects {
        let key = outgoing.id.rawValue
        switch outgoing.mutation {
        case .upload(let digest):
            let file = pictures.file(digest)
            guard FileManager.default.fileExists(atPath: file.path) else { throw MissingPicture() }
            let image = try await client.upload(imageAt: file, digest: digest, pieceSize: pieceSize) { progress in
                uploads.report(UploadReport(digest: digest, received: progress.received, size: progress.size))
            }
            // From now on, tastings name the picture by the service's identifier.
            return MutationEffects { db in try PictureRows(db: db).name(digest, image) }
                .adopt(ProvisionalID(rawValue: digest), as: image)
        case .taste(let id, let content):
            let new = NewTasting(
                bottleId: content.bottle,
                notes: content.notes,
                rating: content.rating,
                createdAt: content.createdAt,
                imageId: content.picture?.rawValue
            )
            let tasting = try await client.add(new, key: key)
            return MutationEffects { db in
                try FeedRows(db: db).store(tasting)
                try OwnRows(db: db).noteSent(id.rawValue, as: tasting.id)
            }
            .adopt(id, as: tasting.id)
        case .toast(let id, let isOn):
            let tasting =
                isOn
                ? try await client.toast(id.rawValue, key: key)
                : try await client.removeToast(from: id.rawValue, key: key)
            return MutationEffects { db in
                try FeedRows(db: db).store(tasting)
                try OwnRows(db: db).removeToast(of: outgoing.id)
            }
        }
    }
}

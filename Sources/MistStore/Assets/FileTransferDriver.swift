import MistKit
package import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Transfers the files of a scope, a few at a time, beside its requests.
final class FileTransferDriver: Sendable {
    /// The most transfers at a time. More would share the same connection, and hold as many files open.
    static let mostAtATime = 3

    private let engine: SyncEngine
    private let service: any SyncService
    private let configuration: StoreConfiguration
    /// Gives the session, and lets the engines check the user again where it has changed.
    private let session: @Sendable () -> UInt64
    /// Whether a record type of the file has fields for files. Otherwise there is nothing to look for.
    private let hasFileFields: Bool
    private let underWay = Mutex<Set<FileTransfer>>([])
    private let wakes = AsyncThrowingStream<Void, any Error>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let ends = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(
        engine: SyncEngine,
        service: any SyncService,
        configuration: StoreConfiguration,
        session: @escaping @Sendable () -> UInt64
    ) {
        self.engine = engine
        self.session = session
        self.service = service
        self.configuration = configuration
        hasFileFields = engine.file.allTables.contains { !$0.assetFields.isEmpty }
    }

    private var now: MachineTime { configuration.clock().machineTime }

    /// Whether files are transferred.
    var isTransferring: Bool { underWay.withLock { !$0.isEmpty } }

    /// Looks for transfers that can begin.
    func wake() {
        if hasFileFields { wakes.continuation.yield() }
    }

    /// Waits until a transfer has ended, or for a second: an edit that is made meanwhile is not to wait for a long file.
    func waitForEnd() async throws {
        wake()
        let timer = Task {
            try await Task.sleep(for: .seconds(1))
            ends.continuation.yield()
        }
        defer { timer.cancel() }
        var iterator = ends.stream.makeAsyncIterator()
        _ = await iterator.next(isolation: nil)
        try Task.checkCancellation()
    }

    /// Transfers files until the task is cancelled.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            defer { group.cancelAll() }
            for try await _ in wakes.stream {
                // A transfer is decided for the user of this session: another one may sign in at any time.
                let session = session()
                let running = underWay.withLock { $0 }
                let free = Self.mostAtATime - running.count
                for transfer in try engine.nextTransfers(free, besides: running, at: now) {
                    underWay.withLock { _ = $0.insert(transfer) }
                    group.addTask { await self.make(transfer, session) }
                }
            }
        }
    }

    /// Makes a transfer. A failure of the database ends the synchronisation.
    private func make(_ transfer: FileTransfer, _ session: UInt64) async {
        do {
            try await send(transfer, session)
        } catch {
            wakes.continuation.finish(throwing: error)
        }
        underWay.withLock { _ = $0.remove(transfer) }
        engine.file.transferProgress.withLock { $0[transfer.key] = nil }
        wake()
        ends.continuation.yield()
    }

    private func send(_ transfer: FileTransfer, _ session: UInt64) async throws {
        guard let folder = engine.file.folder else { return }
        do {
            switch transfer.key.direction {
            case .upload:
                if let asset = try await upload(transfer, session, from: folder) {
                    try end(transfer, .uploaded(asset), session)
                }
            case .download:
                let received = try await download(transfer, session, into: folder)
                // Once the file has its name, there is nothing to remove.
                defer { received.discard() }
                try end(transfer, .downloaded(IncomingFile(file: received)), session)
            }
        } catch let error as CloudKitError {
            // A transfer that was interrupted begins again with the next synchronisation.
            if !Task.isCancelled { try end(transfer, .failed(error), session) }
        } catch let error as StoreError where [.full, .readOnly].contains(error.code) {
            // The folder takes no file now, such as on a full disk.
            try end(transfer, .failed(CloudKitError(code: .localData, message: error.message)), session)
        }
    }

    /// Applies the end of a transfer. One that ended in another session is dropped, because what the service said may be
    /// about another user, and is decided on again.
    private func end(_ transfer: FileTransfer, _ end: FileTransferEnd, _ session: UInt64) throws {
        guard service.session == session else { return }
        try engine.endTransfer(transfer, end, at: now)
    }

    private func upload(_ transfer: FileTransfer, _ session: UInt64, from folder: ContentFolder) async throws -> Asset?
    {
        if let source = transfer.source, let asset = try await rereference(source, transfer, session) { return asset }
        guard let content = transfer.content else { return nil }
        let upload = AssetUpload(
            .file(URL(fileURLWithPath: folder.path(of: content))),
            for: transfer.fieldName,
            of: transfer.recordType,
            named: transfer.key.name
        )
        return try await service.upload(
            upload,
            inZone: transfer.zoneID,
            of: engine.scope,
            ofSession: session,
            progress: progress(of: transfer)
        )
    }

    /// Uses the file that another record has at the service.
    ///
    /// - Returns: The asset; `nil` where the service refuses this, or where the record has another file by now.
    private func rereference(_ source: FileSource, _ transfer: FileTransfer, _ session: UInt64) async throws -> Asset? {
        do {
            let asset = try await service.rereference(
                AssetField(source.fieldName, of: source.recordName, inZone: source.zoneID),
                forZone: transfer.zoneID,
                of: engine.scope,
                ofSession: session
            )
            return source.isFile(of: asset) ? asset : nil
        } catch let error as CloudKitError where TransferOutcome.uploadsInstead(after: error) {
            return nil
        }
    }

    private func download(_ transfer: FileTransfer, _ session: UInt64, into folder: ContentFolder) async throws
        -> ContentFolder.Incoming
    {
        let path = try folder.incomingPath(of: transfer.asset)
        var record = Record(recordType: transfer.recordType, recordName: transfer.key.name)
        record.zoneID = transfer.zoneID
        record[transfer.fieldName] = .asset(transfer.asset.ofService)
        try await service.download(
            AssetField(transfer.fieldName, of: record),
            to: URL(fileURLWithPath: path),
            from: engine.scope,
            ofSession: session,
            progress: progress(of: transfer)
        )
        return try folder.received(at: path)
    }

    private func progress(of transfer: FileTransfer) -> ProgressHandler<TransferProgress> {
        { [file = engine.file] progress in file.transferProgress.withLock { $0[transfer.key] = progress } }
    }
}

extension SyncEngine {
    /// The next transfers; see ``FileTransfers/next(_:besides:)``.
    package func nextTransfers(_ limit: Int, besides underWay: Set<FileTransfer>, at now: MachineTime) throws
        -> [FileTransfer]
    {
        let isDue = try read { db in
            try !Transfers(scope: scope, db: db, sealer: file.sealer).due(at: now, limit: 1).isEmpty
        }
        guard isDue, limit > 0 else { return [] }
        return try write(at: now) { try FileTransfers(transaction: $0).next(limit, besides: underWay) }
    }

    /// Applies the end of a transfer.
    package func endTransfer(_ transfer: FileTransfer, _ end: FileTransferEnd, at now: MachineTime) throws {
        try write(at: now) { try FileTransfers(transaction: $0).end(transfer, end) }
    }

    /// Removes the files that nothing has referred to for an hour.
    package func collectFiles(at now: MachineTime) throws {
        guard let folder = file.folder, try read({ db in try !Contents(db: db).isEmpty }) else { return }
        folder.removeInterrupted()
        // A folder that is missing has nothing to collect. One that a backup reads is collected later.
        guard let hold = folder.collecting() else { return }
        defer { withExtendedLifetime(hold) {} }
        try write(at: now) { transaction in
            try FileTransfers(transaction: transaction).forgetUnusedReceipts()
            let unused = try Contents(db: transaction.db).forgetUnused(
                except: Contents.queryOfUsed(by: file.allTables),
                at: now,
                before: now - 60 * 60 * 1000
            )
            for content in unused { folder.remove(content) }
        }
    }
}

public import CloudKitModel
package import GRDB
public import MistKit
package import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension LocalDatabase {
    // MARK: Files of this machine

    /// Copies a file into the store, and makes the value of a field of it.
    ///
    /// ```swift
    /// let photo = try await todos.addFile(at: url)
    /// try await todos.add(Todo(title: "Milk", photo: photo))
    /// // INSERT INTO "Todo" (…, "photo") VALUES (…, '{"size":51682,"content":"9f86d0…"}')
    /// ```
    ///
    /// The file is copied a piece at a time, before any transaction begins, so that a long file holds up no other writer.
    /// When the call returns, the copy is on the disk. A file with the same bytes as another one is kept once. A copy that
    /// nothing refers to is removed after an hour: no row, and no entry of the recovery log.
    ///
    /// - Parameter url: The file. It may change or be removed after the call.
    /// - Returns: The value. It can be set in any number of fields and records of this database.
    /// - Throws: A ``StoreError``: `file` for a file that cannot be read, and for a store in memory; `full` or `readOnly`
    ///   where it cannot be copied.
    public func addFile(at url: URL) async throws -> Asset {
        try await keep { try $0.copy(url) }
    }

    /// Keeps bytes as a file in the store, and makes the value of a field of it. See ``addFile(at:)``.
    ///
    /// - Parameter bytes: The content of the file.
    /// - Returns: The value.
    /// - Throws: A ``StoreError``: `file` for a store in memory; `full` or `readOnly` where the file cannot be written.
    public func addFile(_ bytes: [UInt8]) async throws -> Asset {
        try await keep { try $0.write(bytes) }
    }

    private func keep(_ make: @Sendable @escaping (ContentFolder) throws -> ContentFolder.Incoming) async throws
        -> Asset
    {
        guard let folder = file.folder else {
            throw StoreError(
                .file,
                "A store in memory keeps no files. Open it in a folder: MistStore(at:records:service:)."
            )
        }
        let incoming = try make(folder)
        // Once the file has its name, there is nothing to remove.
        defer { incoming.discard() }
        return try await write { writer in
            try folder.asset(keeping: incoming, at: configuration.clock().machineTime, writer.db)
        }
    }

    /// The file of an asset on this machine; `nil` where it was not downloaded.
    ///
    /// ```swift
    /// let milk = try await todos.fetch(Todo.self, named: "milk")
    /// if let photo = milk.photo, let url = todos.file(of: photo) { show(url) }
    /// ```
    ///
    /// Do not change the file: other records may have it, too. It is there as long as a record has it, and an hour longer.
    ///
    /// - Parameter asset: The value of a field of a record of this database.
    /// - Returns: The file URL.
    public func file(of asset: Asset) -> URL? {
        guard let folder = file.folder, let content = asset.content, folder.size(of: content) != nil else { return nil }
        return URL(fileURLWithPath: folder.path(of: content))
    }

    // MARK: Files of the service

    /// Lets the file of a field be downloaded by the next synchronisation, where it is downloaded on demand.
    ///
    /// ```swift
    /// try await photos.requestFile(\.original, of: Photo.self, named: "beach")
    /// try await store.sync()
    /// ```
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    /// - Returns: Whether the file is to be downloaded; `false` where it is here, or where the field has none.
    /// - Throws: A ``StoreError`` with the code `notFound` when this machine has no record of that name.
    @discardableResult
    public func requestFile<Model: CloudKitRecord>(
        _ field: KeyPath<Model.Fields, RecordField<Asset>>,
        of type: Model.Type,
        named recordName: String
    ) async throws -> Bool {
        // A key path cannot be passed to the transaction.
        let name = "\(Model.fields[keyPath: field].key)"
        return try await write { writer in
            let table = try file.table(of: Model.recordType)
            let row = try writer.row(named: recordName, table)
            guard let field = table[name] else { return false }
            return try Transfers(scope: scope, db: writer.db, sealer: file.sealer).wantDownload(of: field, row, table)
        }
    }
}

extension ContentFolder {
    /// Keeps a file, in a transaction of the caller, and makes the value of a field of it.
    fileprivate func asset(keeping incoming: Incoming, at now: MachineTime, _ db: Database) throws -> Asset {
        try keep(incoming, at: now, db)
        // With the service's signature, a field that has the same file already counts as unchanged.
        var asset = Asset(fileChecksum: try Contents(db: db).checksum(of: incoming.content), size: incoming.size)
        asset.content = incoming.content
        return asset
    }
}

// MARK: - Simulations

extension StoreFile {
    /// Keeps bytes as a file, in a transaction of the caller.
    package func addFile(_ bytes: [UInt8], at now: MachineTime, _ db: Database) throws -> Asset {
        guard let folder else { throw StoreError(.file, "A store in memory keeps no files.") }
        return try folder.asset(keeping: folder.write(bytes), at: now, db)
    }

    /// The bytes of a content; `nil` where it is not here.
    package func bytes(of content: ContentHash) -> [UInt8]? {
        folder.flatMap { try? [UInt8](Data(contentsOf: URL(fileURLWithPath: $0.path(of: content)))) }
    }

    /// The end of a download of these bytes.
    package func received(_ bytes: [UInt8]) throws -> FileTransferEnd {
        guard let folder else { throw StoreError(.file, "A store in memory keeps no files.") }
        return .downloaded(IncomingFile(file: try folder.write(bytes)))
    }

    /// The contents to which records and the recovery log refer, those that the tables have, and those on the disk.
    package func contents(_ db: Database) throws -> (
        used: Set<ContentHash>, known: Set<ContentHash>, onDisk: Set<ContentHash>
    ) {
        (
            Set(try Contents(db: db).used(by: allTables)), Set(try Contents(db: db).all().map(\.content)),
            folder?.contents ?? []
        )
    }
}

// MARK: - Progress

/// A file that is to be uploaded or downloaded. ``ScopeStatus/files`` lists them.
///
/// ```swift
/// for try await status in store.privateDatabase.statusUpdates() {
///     let sizes = status.files.compactMap(\.totalBytes)
///     print("\(status.files.count) files, \(sizes.reduce(0, +)) bytes")
/// }
/// ```
public struct PendingFile: Hashable, Sendable {
    /// Whether the file is sent; otherwise it is fetched.
    public let isUpload: Bool
    /// The name of its record.
    public let recordName: String
    /// The name of its field; `nil` for a field that only a newer program knows.
    public let fieldName: String?
    /// The bytes that were transferred so far, while this process transfers the file. The status is not read again for
    /// each piece: read it as often as you show it.
    public let completedBytes: Int64
    /// The size of the file; `nil` where the service did not give it.
    public let totalBytes: Int64?
    /// Why the last attempt failed; `nil` where none has failed.
    public let message: String?
    /// When it is tried again; `nil` for the next synchronisation.
    public let until: Date?
}

extension LocalDatabase {
    /// The files that are to be uploaded or downloaded.
    func pendingFiles(_ db: Database) throws -> [PendingFile] {
        let progress = file.transferProgress.withLock { $0 }
        return try Transfers(scope: scope, db: db, sealer: file.sealer).open().map { row in
            PendingFile(
                isUpload: row.key.direction == .upload,
                recordName: row.key.name,
                fieldName: file.tablesByID[row.type]?.fields.first { $0.id == row.key.field }?.name,
                completedBytes: progress[row.key]?.completedBytes ?? 0,
                totalBytes: row.size,
                message: row.message,
                until: row.until.map(ColumnValue.date)
            )
        }
    }
}

// MARK: - Verification

/// The result of a look at the files of a database.
public struct FileVerification: Hashable, Sendable {
    /// The number of files whose size and hash are right.
    public let intact: Int
    /// The number of fields whose file is missing or changed, and is downloaded by the next synchronisation.
    public let toDownload: Int
    /// The names of the records with a file that is missing or changed, and that was never uploaded.
    public let lost: [String]
}

extension LocalDatabase {
    /// Reads the files of this database, and lets those be downloaded again that are missing or have changed: the folder
    /// of files was lost, was swapped, or is damaged.
    ///
    /// The files of fields that are downloaded with their records, and are not here, are downloaded, too. A file whose
    /// only copy is lost cannot be uploaded: the status lists its record, with the reason ``ParkingReason/file``.
    ///
    /// - Returns: What was found.
    /// - Throws: A ``StoreError`` when the database fails.
    @discardableResult
    public func verifyFiles() async throws -> FileVerification {
        guard let folder = file.folder else { return FileVerification(intact: 0, toDownload: 0, lost: []) }
        let known = try await read { try Contents(db: $0.db).all() }
        var damaged: Set<ContentHash> = []
        for (content, size) in known {
            try Task.checkCancellation()
            // A file of another size needs no hash.
            if folder.size(of: content) == size, try await hash(folder.path(of: content)) == content { continue }
            damaged.insert(content)
        }
        let intact = known.count - damaged.count
        return try await write { [damaged] writer in
            let db = writer.db
            for content in damaged {
                try Contents(db: db).forget(content)
                folder.remove(content)
            }
            var (downloads, lost) = (0, Set<String>())
            for table in file.orderedTables {
                for field in table.assetFields {
                    for row in try table.rows("\(field.column) IS NOT NULL ORDER BY _id", [], db) {
                        switch try verify(row, field, table, folder, db) {
                        case .isHere: break
                        case .toDownload: downloads += 1
                        case .isLost: lost.insert(row.name)
                        }
                    }
                }
            }
            return FileVerification(intact: intact, toDownload: downloads, lost: lost.sorted())
        }
    }

    private enum Found { case isHere, toDownload, isLost }

    @concurrent private func hash(_ path: String) async throws -> ContentHash? {
        try? ContentFolder.hash(path).0
    }

    /// Looks at the file of a field, and notes a download where it is needed.
    private func verify(
        _ row: LocalRow,
        _ field: StoredField,
        _ table: RecordTable,
        _ folder: ContentFolder,
        _ db: Database
    ) throws -> Found {
        guard let asset = row.fields[field.name]?.assetValue, let zone = try StoredZone.fetch(row.zone, db) else {
            return .isHere
        }
        var row = row
        if let content = asset.content {
            if try Contents(db: db).has(content) { return .isHere }
            guard asset.fileChecksum != nil else { return .isLost }
            row.fields[field.name] = .asset(asset.stored(with: nil))
            let pair = try ColumnPair(row.fields[field.name], of: field, in: zone.zoneID)
            try db.applying { try table.update(row.id, [field.name: pair], at: nil, db) }
        } else if configuration.download(of: field.name, table.recordType) != .withRecord {
            return .isHere
        }
        return try Transfers(scope: scope, db: db, sealer: file.sealer).wantDownload(of: field, row, table)
            ? .toDownload : .isHere
    }
}

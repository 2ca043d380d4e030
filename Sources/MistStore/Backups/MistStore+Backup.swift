import FilePermissions
import GRDB
import ProcessLeases
import SQLiteTables

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension MistStore {
    /// Writes a backup of the store into a new folder, while the store works.
    ///
    /// ```swift
    /// let manifest = try await store.backup(to: URL(filePath: "/backups/2026-11-27"))
    /// print(manifest.records)  // ["Todo": 12, "TodoList": 2]
    /// ```
    ///
    /// Each database is copied as it is at one moment, with what is not synchronised yet; writes of other tasks and
    /// processes go on. Then the files that its records and its recovery log have are copied, a piece at a time; none is
    /// collected meanwhile. The backup is whole or it is not there: it is written beside the folder, checked off in
    /// `manifest.json` with the SHA-256 of each file, and renamed at the end. Only the user of the process can read it.
    ///
    /// The backup of a store with a key is sealed with the key that the store has now.
    ///
    /// A file of a record that was lost on this machine does not keep the others from being saved: it is in
    /// ``BackupManifest/lostFiles``. Files that were not downloaded are not in the backup.
    ///
    /// - Parameter folder: The folder of the backup. It must not exist.
    /// - Returns: What the backup has.
    /// - Throws: A ``StoreError``: `storage` where the folder exists or cannot be made, `full`, or another code about
    ///   files; `CancellationError` when the task was cancelled. Then there is no backup.
    @discardableResult
    public func backup(to folder: URL) async throws -> BackupManifest {
        let manager = FileManager.default
        guard !manager.fileExists(atPath: folder.path) else {
            throw StoreError(.storage, "\(folder.path) exists. A backup needs a new folder: choose another name.")
        }
        let parent = folder.deletingLastPathComponent()
        let partial = parent.appendingPathComponent(PartialBackup.name(of: folder))
        func making<Value>(_ what: String, _ body: () throws -> Value) throws -> Value {
            do {
                return try body()
            } catch let error as StoreError {
                throw error
            } catch {
                throw StoreError(
                    .storage,
                    "\(what) cannot be written: \(error). Check the path, its permissions and the space."
                )
            }
        }
        try making(folder.path) {
            try manager.createDirectory(at: parent, withIntermediateDirectories: true)
            PartialBackup.removeAbandoned(of: folder)
        }
        let lock = ProcessLock(path: PartialBackup.lock(of: partial).path)
        defer {
            try? manager.removeItem(at: PartialBackup.lock(of: partial))
            withExtendedLifetime(lock) {}
        }
        try making(folder.path) {
            try manager.createDirectory(
                at: partial,
                withIntermediateDirectories: false,
                attributes: OwnerPermissions.ofFolder
            )
        }
        defer { try? manager.removeItem(at: partial) }
        var manifest = BackupManifest(
            version: BackupManifest.presentVersion,
            created: Date(timeIntervalSince1970: configuration.clock().timeIntervalSince1970.rounded(.down)),
            owner: nil,
            files: [],
            records: [:]
        )
        for scope in [DatabaseScope.private, .public] {
            let name = BackupFile.name(of: scope)
            let source = file(of: scope)
            let path = partial.appendingPathComponent(name)
            // From before the copy of the database on, no file is collected.
            let hold = try source.folder?.keepAll()
            defer { withExtendedLifetime(hold) {} }
            let copy = try await source.copy(to: path)
            if scope == .private { manifest.owner = copy.owner }
            manifest.records.merge(copy.records) { $0 + $1 }
            manifest.files.append(try BackupManifest.File(name, in: partial))
            guard let from = source.folder, let target = ContentFolder(ofDatabase: path.path) else { continue }
            let (files, lost) = try await target.copyAll(copy.contents, from: from)
            manifest.files += files.map { BackupManifest.File($0.content, size: $0.size, of: scope) }
            if !lost.isEmpty { manifest.lostFiles = (manifest.lostFiles ?? []) + lost.map(\.rawValue) }
        }
        let content = manifest
        try making(folder.path) {
            let path = partial.appendingPathComponent(BackupManifest.fileName)
            try content.encoded().write(to: path)
            try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.path)
            try manager.moveItem(at: partial, to: folder)
        }
        return manifest
    }
}

/// The hidden folder in which a backup is made, beside its place. It gets the name of the backup when it is whole.
enum PartialBackup {
    static func name(of backup: URL) -> String { "\(prefix(of: backup))\(UUID().uuidString)\(suffix)" }

    private static func prefix(of backup: URL) -> String { ".\(backup.lastPathComponent)." }
    private static let suffix = ".part"

    /// The file that the process locks which makes the backup.
    static func lock(of partial: URL) -> URL { partial.appendingPathExtension("lock") }

    /// Removes what processes have left that were killed while they made the same backup. One that lives holds its lock;
    /// where the platform has no locks, nothing is removed.
    static func removeAbandoned(of backup: URL) {
        let manager = FileManager.default
        let parent = backup.deletingLastPathComponent()
        let names = (try? manager.contentsOfDirectory(atPath: parent.path)) ?? []
        // A process may have been killed when it had nothing but its lock.
        let partials = Set(names.map { $0.hasSuffix(".lock") ? String($0.dropLast(5)) : $0 })
        for name in partials where name.hasPrefix(prefix(of: backup)) && name.hasSuffix(suffix) {
            let partial = parent.appendingPathComponent(name)
            let lock = lock(of: partial)
            guard let held = ProcessLock(path: lock.path) else { continue }
            try? manager.removeItem(at: partial)
            try? manager.removeItem(at: lock)
            withExtendedLifetime(held) {}
        }
    }
}

extension StoreFile {
    /// Copies the file as it is at one moment, by SQLite's backup. Writers go on meanwhile.
    ///
    /// - Parameter path: The file to write.
    /// - Returns: The user whose records the file has, the number of its records by type, and the files that they have.
    /// - Throws: A ``StoreError`` about one of the files.
    fileprivate func copy(to path: URL) async throws -> (
        owner: String?, records: [String: Int], contents: [ContentHash]
    ) {
        do {
            return try await database.read { db in
                let copy = try DatabaseQueue(path: path.path)
                defer { try? copy.close() }
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.path)
                return try copy.writeWithoutTransaction { copy in
                    try db.backup(to: copy)
                    // The copy has no write-ahead log beside it, so that it can be read in a folder that is read-only.
                    try copy.execute(sql: "PRAGMA journal_mode = DELETE")
                    // Unused pages of the file may have values from before they were sealed.
                    if try Seals(db: copy).isUnclean { try copy.execute(sql: "VACUUM") }
                    let tables = try RecordTypes(db: copy).tables(nil)
                    let records = try tables.map { table in
                        (table.recordType, try copy.value("SELECT count(*) FROM \(table.name)", as: Int.self) ?? 0)
                    }
                    return (
                        try FileState(copy).owner, Dictionary(uniqueKeysWithValues: records),
                        try Contents(db: copy).used(by: tables)
                    )
                }
            }
        } catch let error as DatabaseError {
            throw storeError(error)
        }
    }
}

extension ContentFolder {
    /// Copies files of another folder, and gives them their names.
    ///
    /// - Returns: The files with their sizes, and those that are missing or changed.
    @concurrent
    fileprivate func copyAll(_ contents: [ContentHash], from source: ContentFolder) async throws -> (
        files: [(content: ContentHash, size: Int64)], lost: [ContentHash]
    ) {
        var (files, lost): ([(content: ContentHash, size: Int64)], [ContentHash]) = ([], [])
        for content in contents {
            try Task.checkCancellation()
            guard let copy = try copy(content, from: source) else {
                lost.append(content)
                continue
            }
            try place(copy)
            files.append((content, copy.size))
        }
        // The copies are not in the way of a store that is opened in the backup.
        if !files.isEmpty { rmdir("\(path)/incoming") }
        return (files, lost)
    }
}

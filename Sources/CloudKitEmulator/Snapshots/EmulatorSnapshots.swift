import CloudKitModel
import FilePermissions
import GRDB
import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An earlier state of an emulator: its containers with their schemas, zones, records, shares, files and subscriptions,
/// and its users.
///
/// A snapshot is a file like the one that an emulator keeps its data in, without credentials: it has no tokens, no keys
/// and no devices, so it can be handed to others.
package struct Snapshot: Sendable {
    package var name: String
    /// When it was taken.
    package var time: Date
    /// The size of its file.
    package var bytes: Int64
    /// The number of records in it, shares included.
    package var records: Int
}

/// A file that is not a snapshot of this version or an older one.
package struct SnapshotFileError: Error {
    /// What is wrong, in a sentence.
    package var message: String
}

/// The snapshots of an emulator: files in the folder `snapshots` beside its own, or in a temporary folder where it keeps
/// its data in memory.
package final class EmulatorSnapshots: Sendable {
    let emulator: CloudKitEmulator
    private let folder: String
    private let isTemporary: Bool

    /// Makes a list. The folder is created with the first snapshot.
    package init(_ emulator: CloudKitEmulator) {
        self.emulator = emulator
        switch emulator.storage {
        case .file(let path):
            folder = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("snapshots").path
            isTemporary = false
        case .memory:
            folder = FileManager.default.temporaryDirectory.path + "/mistkit-snapshots-\(UUID().uuidString)"
            isTemporary = true
        }
    }

    deinit {
        if isTemporary { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static let suffix = ".sqlite"

    /// Whether a text can be the name of a snapshot. No name leads out of the folder.
    package static func isName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count), let first = text.utf8.first, first.isLetterOrDigit else {
            return false
        }
        return text.utf8.allSatisfy {
            $0.isLetterOrDigit || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0)
        }
    }

    private func path(of name: String) throws(EmulatorError) -> String {
        guard Self.isName(name) else {
            throw .badRequest(
                "the name of a snapshot has 1 to 64 letters, digits, points, underscores and hyphens, and begins with a letter or a digit"
            )
        }
        return "\(folder)/\(name)\(Self.suffix)"
    }

    private func existingPath(of name: String) throws(EmulatorError) -> String {
        let path = try path(of: name)
        guard FileManager.default.fileExists(atPath: path) else {
            throw EmulatorError(.notFound, "there is no snapshot '\(name)'")
        }
        return path
    }

    /// The snapshots, the newest first.
    package func list() throws -> [Snapshot] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // A file that was put there and is no snapshot is left out.
        return files.compactMap { file in
            guard file.hasSuffix(Self.suffix) else { return nil }
            let name = String(file.dropLast(Self.suffix.count))
            return Self.isName(name) ? try? describe(name) : nil
        }.sorted { ($1.time, $0.name) < ($0.time, $1.name) }
    }

    /// A snapshot.
    package func describe(_ name: String) throws -> Snapshot {
        let path = try existingPath(of: name)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64
        return try Self.reading(path) { db in
            Snapshot(
                name: name,
                time: Date(timeIntervalSince1970: try db.value("SELECT taken FROM snapshot", as: Double.self) ?? 0),
                bytes: size ?? 0,
                records: try db.value("SELECT count(*) FROM record WHERE deleted = 0", as: Int.self) ?? 0
            )
        }
    }

    /// Takes a snapshot.
    ///
    /// - Throws: `BAD_REQUEST` for a name that is taken or not valid.
    package func take(_ name: String) throws -> Snapshot {
        let path = try freePath(of: name)
        try atomically(path) { try copyData(to: $0) }
        return try describe(name)
    }

    /// The bytes of a snapshot's file.
    package func export(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: existingPath(of: name))))
    }

    /// Adds a snapshot from the bytes of a file.
    ///
    /// - Throws: A ``SnapshotFileError`` for another file; `BAD_REQUEST` for a name that is taken or not valid.
    package func add(_ name: String, _ bytes: [UInt8]) throws -> Snapshot {
        let path = try freePath(of: name)
        guard bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
            throw SnapshotFileError(message: "The file is not an SQLite file.")
        }
        try atomically(path) { draft in
            try OwnerPermissions.createFile(atPath: draft)
            try Data(bytes).write(to: URL(fileURLWithPath: draft))
            try Self.check(draft)
        }
        return try describe(name)
    }

    /// Deletes a snapshot.
    package func delete(_ name: String) throws {
        try FileManager.default.removeItem(atPath: existingPath(of: name))
    }

    /// Makes a snapshot the data of the emulator.
    package func restore(_ name: String) throws -> Snapshot {
        let (path, snapshot) = (try existingPath(of: name), try describe(name))
        try emulator.restoreData(from: path)
        return snapshot
    }

    /// What differs between a snapshot and a later one, or the present data where there is no later one.
    package func compare(_ name: String, with other: String?) throws -> SnapshotComparison {
        let earlier = try existingPath(of: name)
        if let other { return try SnapshotComparison(from: earlier, to: existingPath(of: other), emulator) }
        let present = "\(folder)/.present-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: present) }
        try copyData(to: present)
        return try SnapshotComparison(from: earlier, to: present, emulator)
    }

    // MARK: Files

    private func freePath(of name: String) throws -> String {
        let path = try path(of: name)
        guard !FileManager.default.fileExists(atPath: path) else {
            throw EmulatorError.badRequest("there is a snapshot '\(name)' already")
        }
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: OwnerPermissions.ofFolder
        )
        return path
    }

    /// Writes a file under another name, which it loses when it is complete.
    private func atomically(_ path: String, _ write: (_ draft: String) throws -> Void) throws {
        let draft = "\(folder)/.draft-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: draft) }
        try write(draft)
        try FileManager.default.moveItem(atPath: draft, toPath: path)
    }

    /// Copies the data of the emulator into a new file, without credentials.
    private func copyData(to path: String) throws {
        try OwnerPermissions.createFile(atPath: path)
        try emulator.withStorage {
            try $0.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
        }
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { db in
            for table in SnapshotTables.credentials { try db.execute(sql: "DELETE FROM \"\(table)\"") }
            try db.execute(sql: "CREATE TABLE snapshot (taken REAL NOT NULL)")
            try db.execute(sql: "INSERT INTO snapshot VALUES (?)", arguments: [emulator.present.timeIntervalSince1970])
            // Nothing of the deleted rows stays in free pages.
            try db.execute(sql: "VACUUM")
        }
        try queue.close()
    }

    static func reading<Value>(_ path: String, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read(body)
    }

    /// Brings a file up to date, and refuses one that is not a snapshot.
    private static func check(_ path: String) throws {
        do {
            let queue = try DatabaseQueue(path: path)
            defer { try? queue.close() }
            try queue.write { db in
                // A file from elsewhere can have statements in its definitions. None of them runs.
                try db.execute(sql: "PRAGMA trusted_schema = OFF")
                guard try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok" else {
                    throw SnapshotFileError(message: "The file is damaged.")
                }
                let others = try Int.fetchOne(
                    db,
                    sql:
                        "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL%'"
                )
                guard others == 0, try db.tableExists("snapshot"), try db.tableExists("grdb_migrations") else {
                    throw SnapshotFileError(message: "The file is not a snapshot of an emulator.")
                }
                guard try !Tables.migrator.hasBeenSuperseded(db) else {
                    throw SnapshotFileError(message: "The snapshot is of a newer version of the emulator.")
                }
            }
            try Tables.migrator.migrate(queue)
            let expected = try SnapshotTables.columns(of: DatabaseQueue.upToDate())
            guard try SnapshotTables.columns(of: queue) == expected else {
                throw SnapshotFileError(message: "The file is not a snapshot of an emulator.")
            }
            try queue.write { db in
                for table in SnapshotTables.credentials { try db.execute(sql: "DELETE FROM \"\(table)\"") }
                // Replies have these bytes as they are.
                let broken = try Int.fetchOne(
                    db,
                    sql: "SELECT count(*) FROM record WHERE body IS NOT NULL AND NOT json_valid(CAST(body AS TEXT))"
                )
                guard broken == 0, try Double.fetchOne(db, sql: "SELECT taken FROM snapshot") != nil else {
                    throw SnapshotFileError(message: "The snapshot has records that are not valid.")
                }
            }
        } catch let error as DatabaseError {
            throw SnapshotFileError(message: "The file cannot be read: \(error.message ?? "it is damaged").")
        }
    }
}

/// The tables of snapshots.
enum SnapshotTables {
    /// The tables whose rows are credentials, or belong to the machine: no snapshot has them, and a restoration leaves
    /// them as they are.
    static let credentials = [
        "api_token", "server_key", "secret", "used_web_token", "sign_in_address", "used_sign_in_ticket",
        "device_token", "push", "asset_upload", "asset_receipt",
    ]

    /// The names and columns of all tables.
    static func columns(of queue: DatabaseQueue) throws -> [String: [String]] {
        try queue.read { db in
            let tables = try String.fetchAll(
                db,
                sql:
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('snapshot', 'sqlite_sequence')"
            )
            return try Dictionary(
                uniqueKeysWithValues: tables.map { ($0, try db.columns(in: $0).map(\.name)) }
            )
        }
    }
}

extension DatabaseQueue {
    /// An empty database with the tables of this version.
    fileprivate static func upToDate() throws -> DatabaseQueue {
        let queue = try DatabaseQueue()
        try Tables.migrator.migrate(queue)
        return queue
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

import Crypto
import Foundation
import GRDB

/// Pictures by the SHA-256 of their bytes: two tastings with one picture share one file.
///
/// The files are in a folder beside the database. They have a limit, above which the oldest ones go first; a picture
/// that is to be sent stays.
struct Pictures: Sendable {
    let folder: URL
    /// The most bytes of all files, except for those that are to be sent.
    let limit: Int64

    /// The file of a picture, whether it is here or not.
    func file(_ digest: String) -> URL { folder.appending(path: digest) }

    /// Copies a file into the folder.
    ///
    /// - Returns: The SHA-256 of its bytes, and its size.
    func copy(_ source: URL) throws -> (digest: String, size: Int64) {
        try write { add in
            let handle = try FileHandle(forReadingFrom: source)
            defer { try? handle.close() }
            while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty { try add(piece) }
        }
    }

    /// Writes bytes into the folder.
    ///
    /// - Returns: Their SHA-256, and their number.
    func keep(_ bytes: Data) throws -> (digest: String, size: Int64) {
        try write { add in try add(bytes) }
    }

    /// A file has its name only when it is complete.
    private func write(_ body: ((Data) throws -> Void) throws -> Void) throws -> (digest: String, size: Int64) {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let draft = folder.appending(path: ".\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: draft) }
        try Data().write(to: draft)
        let handle = try FileHandle(forWritingTo: draft)
        defer { try? handle.close() }
        var (hash, size) = (SHA256(), Int64(0))
        try body { piece in
            hash.update(data: piece)
            size += Int64(piece.count)
            try handle.write(contentsOf: piece)
        }
        try handle.synchronize()
        let digest = hash.finalize().hexadecimal
        if !FileManager.default.fileExists(atPath: file(digest).path) {
            try FileManager.default.moveItem(at: draft, to: file(digest))
        }
        return (digest, size)
    }

    /// Removes files that no row names: of pictures that had to go, and of a program that died between file and row.
    /// Young ones may be those of a program that writes at this moment.
    func removeLeftovers(except digests: Set<String>, olderThan age: TimeInterval = 3600) {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey]
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: Array(keys))
        for file in files ?? [] where !digests.contains(file.lastPathComponent) {
            let changed = try? file.resourceValues(forKeys: keys).contentModificationDate
            if let changed, Date().timeIntervalSince(changed) > age { try? FileManager.default.removeItem(at: file) }
        }
    }
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits, in lower case.
    var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}

/// A picture that is kept.
struct KeptPicture: Hashable, Sendable {
    var digest: String
    var size: Int64
    /// Whether it is to be sent.
    var isNeeded = false

    /// The pictures that go, so that the rest fits the limit.
    ///
    /// - Parameters:
    ///   - pictures: All pictures, the oldest first.
    ///   - limit: The most bytes of those that are not needed.
    /// - Returns: Their SHA-256s.
    static func removed(_ pictures: [KeptPicture], limit: Int64) -> [String] {
        let others = pictures.filter { !$0.isNeeded }
        var size = others.reduce(0) { $0 + $1.size }
        return others.prefix { picture in
            defer { size -= picture.size }
            return size > limit
        }
        .map(\.digest)
    }
}

/// The pictures that this machine has, and the service's identifiers for them. All SQL of their tables is here.
struct PictureRows {
    let db: Database

    /// Notes a picture that came last.
    func add(_ digest: String, size: Int64) throws {
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO picture (digest, size, number)
                VALUES (?, ?, (SELECT COALESCE(MAX(number), 0) + 1 FROM picture))
                """,
            arguments: [digest, size]
        )
    }

    /// Notes the service's identifier of a picture.
    func name(_ digest: String, _ image: String) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO picture_name (image, digest) VALUES (?, ?)",
            arguments: [image, digest]
        )
    }

    /// The picture with an identifier of the service, if it is on this machine.
    func digest(of image: String) throws -> String? {
        try String.fetchOne(
            db,
            sql: "SELECT digest FROM picture_name JOIN picture USING (digest) WHERE image = ?",
            arguments: [image]
        )
    }

    func contains(_ digest: String) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM picture WHERE digest = ?)", arguments: [digest])
            ?? false
    }

    /// All pictures, the oldest first. Those of tastings that the service does not have are needed.
    func all() throws -> [KeptPicture] {
        let sql = """
            SELECT digest, size, digest IN (SELECT picture FROM own_tasting WHERE service IS NULL) AS is_needed
            FROM picture ORDER BY number
            """
        return try Row.fetchAll(db, sql: sql).map {
            KeptPicture(digest: $0["digest"], size: $0["size"], isNeeded: $0["is_needed"] ?? false)
        }
    }

    func remove(_ digest: String) throws {
        try db.execute(sql: "DELETE FROM picture WHERE digest = ?", arguments: [digest])
        try db.execute(sql: "DELETE FROM picture_name WHERE digest = ?", arguments: [digest])
    }
}

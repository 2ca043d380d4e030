import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

/// The files that are in the folder beside the database, `mist_content`, with the names that the service has for them,
/// `mist_content_name`.
///
/// A program without the tables does not miss them, so they need no new format.
struct Contents: TableOwner {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_content (
            -- The SHA-256, which is the name of the file.
            hash TEXT PRIMARY KEY,
            size INTEGER NOT NULL,
            -- Since when nothing refers to the file, in the machine's time; NULL where something does.
            unused_since INTEGER
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS mist_content_name (
            -- The service's signature of the content. Its algorithm is not known.
            checksum TEXT NOT NULL,
            size INTEGER NOT NULL,
            hash TEXT NOT NULL,
            PRIMARY KEY (checksum, size)
        ) WITHOUT ROWID;
        """

    let db: Database

    /// Whether there are no files.
    var isEmpty: Bool {
        get throws { try db.value("SELECT NOT EXISTS (SELECT 1 FROM mist_content)", as: Bool.self) ?? true }
    }

    /// Adds a file that nothing refers to yet.
    func add(_ content: ContentHash, size: Int64, at now: MachineTime) throws {
        try db.run(
            """
            INSERT INTO mist_content (hash, size, unused_since) VALUES (?, ?, ?)
            ON CONFLICT (hash) DO UPDATE SET unused_since = excluded.unused_since
            """,
            [content.rawValue, size, now]
        )
    }

    func has(_ content: ContentHash) throws -> Bool {
        try db.value("SELECT EXISTS (SELECT 1 FROM mist_content WHERE hash = ?)", [content.rawValue], as: Bool.self)
            ?? false
    }

    /// Notes the service's signature of a content.
    func name(_ content: ContentHash, as asset: Asset) throws {
        guard let checksum = asset.fileChecksum, let size = asset.size else { return }
        try db.run(
            """
            INSERT INTO mist_content_name (checksum, size, hash) VALUES (?, ?, ?)
            ON CONFLICT (checksum, size) DO UPDATE SET hash = excluded.hash
            """,
            [checksum, size, content.rawValue]
        )
    }

    /// The content of an asset of the service; `nil` where it is not on this machine.
    func content(of asset: Asset) throws -> ContentHash? {
        guard let checksum = asset.fileChecksum, let size = asset.size else { return nil }
        return try db.value(
            """
            SELECT hash FROM mist_content_name WHERE checksum = ? AND size = ?
                AND hash IN (SELECT hash FROM mist_content)
            """,
            [checksum, size],
            as: String.self
        ).flatMap(ContentHash.init(rawValue:))
    }

    /// The service's signature of a content; `nil` where it was never uploaded or downloaded here.
    func checksum(of content: ContentHash) throws -> String? {
        try db.value(
            "SELECT checksum FROM mist_content_name WHERE hash = ? LIMIT 1",
            [content.rawValue],
            as: String.self
        )
    }

    /// The service's signatures of a content, with the size.
    func names(of content: ContentHash) throws -> [Asset] {
        try db.rows("SELECT checksum, size FROM mist_content_name WHERE hash = ?", [content.rawValue])
            .map { Asset(fileChecksum: $0["checksum"], size: $0["size"]) }
    }

    /// All files with their sizes.
    func all() throws -> [(content: ContentHash, size: Int64)] {
        try db.rows("SELECT hash, size FROM mist_content ORDER BY hash").compactMap { row in
            ContentHash(rawValue: row["hash"]).map { ($0, row["size"]) }
        }
    }

    /// Forgets a file.
    func forget(_ content: ContentHash) throws {
        try db.run("DELETE FROM mist_content_name WHERE hash = ?", [content.rawValue])
        try db.run("DELETE FROM mist_content WHERE hash = ?", [content.rawValue])
    }

    /// The hashes to which the records of some tables and the recovery log refer, as a query of one column.
    static func queryOfUsed(by tables: [RecordTable]) -> String {
        (tables.flatMap(\.contentQueries) + [RecoveryEntries.contents]).joined(separator: " UNION ALL ")
    }

    /// The files to which the records of some tables and the recovery log refer.
    func used(by tables: [RecordTable]) throws -> [ContentHash] {
        try db.rows(
            """
            WITH used (hash) AS (\(Self.queryOfUsed(by: tables)))
            SELECT DISTINCT hash FROM used WHERE typeof(hash) = 'text' ORDER BY hash
            """
        ).compactMap { ContentHash(rawValue: $0["hash"]) }
    }

    /// Notes which files something refers to, and forgets those that nothing has referred to since a time.
    ///
    /// - Parameters:
    ///   - used: The files that something refers to, as a query of one column.
    ///   - now: The machine's time.
    ///   - limit: The time.
    /// - Returns: The files that were forgotten.
    /// - Throws: A `DatabaseError` when the file fails.
    func forgetUnused(except used: String, at now: MachineTime, before limit: MachineTime) throws -> [ContentHash] {
        try db.run("UPDATE mist_content SET unused_since = NULL WHERE hash IN (\(used))")
        // A clock that was set back must not keep a file for good.
        try db.run(
            "UPDATE mist_content SET unused_since = min(coalesce(unused_since, ?1), ?1) WHERE hash NOT IN (\(used))",
            [now]
        )
        let unused = try db.rows("SELECT hash FROM mist_content WHERE unused_since < ?", [limit])
            .compactMap { ContentHash(rawValue: $0["hash"]) }
        for content in unused { try forget(content) }
        return unused
    }
}

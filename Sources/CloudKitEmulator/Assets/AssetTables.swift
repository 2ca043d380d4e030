import GRDB

/// The tables of files: the uploaded files, the receipts to attach them with, and the records that hold them.
///
/// - `asset_file` is a file, and `asset_chunk` holds its bytes in pieces of one size. So writing or reading a file of
///   any length needs the memory of one piece.
/// - `asset_upload` is an address to which one file may be sent, for one field of one record.
/// - `asset_receipt` is the right to attach a file. The receipt of an upload is valid for that record and field, the
///   receipt of a re-reference for any record of a zone. Where the upload named no record and the emulator made a name
///   (`is_name_made`), the receipt is also valid for a record that is saved without a name.
/// - `asset_use` says which records hold which files. A file without a record and without a receipt is removed.
enum AssetTables {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE asset_file (
                    id INTEGER PRIMARY KEY AUTOINCREMENT, checksum TEXT, size INTEGER NOT NULL DEFAULT 0,
                    wrapping_key TEXT, reference_checksum TEXT, keep_until INTEGER NOT NULL
                );
                CREATE TABLE asset_chunk (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
                CREATE TABLE asset_upload (
                    token TEXT PRIMARY KEY, zone INTEGER NOT NULL, record TEXT NOT NULL, type TEXT NOT NULL,
                    field TEXT NOT NULL, is_private INTEGER NOT NULL, expires INTEGER NOT NULL,
                    used INTEGER NOT NULL DEFAULT 0
                ) WITHOUT ROWID;
                CREATE TABLE asset_receipt (
                    receipt TEXT PRIMARY KEY, file INTEGER NOT NULL, zone INTEGER NOT NULL, record TEXT, type TEXT,
                    field TEXT, expires INTEGER NOT NULL
                ) WITHOUT ROWID;
                CREATE INDEX asset_receipt_file ON asset_receipt (file);
                CREATE TABLE asset_use (
                    record INTEGER NOT NULL, file INTEGER NOT NULL, PRIMARY KEY (record, file)
                ) WITHOUT ROWID;
                CREATE INDEX asset_use_file ON asset_use (file);
                """
        )
    }

    static func addMadeNames(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE asset_upload ADD COLUMN is_name_made INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE asset_receipt ADD COLUMN is_name_made INTEGER NOT NULL DEFAULT 0;
                """
        )
    }
}

/// A file that was uploaded whole.
struct AssetFile {
    let id: Int64
    let checksum: String
    let size: Int64
    let wrappingKey: String?
    let referenceChecksum: String?

    /// The columns that ``init(_:)`` reads.
    static let columns = """
        asset_file.id, asset_file.checksum, asset_file.size, asset_file.wrapping_key, asset_file.reference_checksum
        """

    init(_ row: Row) {
        id = row[0]
        checksum = row[1]
        size = row[2]
        wrappingKey = row[3]
        referenceChecksum = row[4]
    }

    static func fetch(_ id: Int64, _ db: Database) throws -> AssetFile? {
        try db.row("SELECT \(columns) FROM asset_file WHERE id = ? AND checksum IS NOT NULL", [id]).map(AssetFile.init)
    }

    // MARK: Pieces

    /// The length in bytes of every piece of a file except the last.
    static let chunkSize = 256 * 1024

    /// The row numbers of a file's pieces begin here; there is room for four tebibytes.
    static func firstChunk(of file: Int64) -> Int64 { file << 24 }

    // MARK: Removal

    /// Removes the files that have neither a record nor a receipt.
    static func removeUnused(_ files: some Sequence<Int64>, _ db: Database) throws {
        for file in files {
            let isWanted = try db.value(
                """
                SELECT EXISTS (SELECT 1 FROM asset_use WHERE file = ?1)
                    OR EXISTS (SELECT 1 FROM asset_receipt WHERE file = ?1)
                """,
                [file],
                as: Bool.self
            )
            if isWanted != true { try remove(file, db) }
        }
    }

    static func remove(_ file: Int64, _ db: Database) throws {
        try db.run(
            "DELETE FROM asset_chunk WHERE id >= ? AND id < ?",
            [firstChunk(of: file), firstChunk(of: file + 1)]
        )
        try db.run("DELETE FROM asset_file WHERE id = ?", [file])
    }

    /// Removes expired receipts, files that were not attached in time, interrupted uploads, and upload addresses that
    /// expired a day ago.
    static func sweep(now: Int64, _ db: Database) throws {
        try db.run("DELETE FROM asset_upload WHERE expires <= ?", [now - 24 * 60 * 60 * 1000])
        try db.run("DELETE FROM asset_receipt WHERE expires <= ?", [now])
        let old = try db.values(
            """
            SELECT id FROM asset_file
            WHERE keep_until <= ? AND NOT EXISTS (SELECT 1 FROM asset_use WHERE file = asset_file.id)
            """,
            [now],
            as: Int64.self
        )
        try removeUnused(old, db)
    }
}

import Crypto
import GRDB
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The key of the file, `mist_seal`: random bytes with which encrypted fields are sealed. It is sealed itself, with the
/// key of the program. A file without a row is not sealed.
///
/// A key of the program that seals no row is a wrong key. While the key is changed, there is a row for each of both.
struct Seals: TableOwner {
    static let guarded = ["mist_seal"]

    static let definition = """
        CREATE TABLE mist_seal (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            -- The key of the file, sealed with a key of the program.
            wrapped BLOB NOT NULL,
            -- 1: unused pages of the file, or the log, may still have values from before they were sealed.
            is_unclean INTEGER NOT NULL DEFAULT 0
        );
        """

    static func update(from format: Int64) -> [String] { format < 7 ? [definition] : [] }

    /// What a wrapped key is authenticated with.
    private static let purpose = Data("MistStore key of a file".utf8)

    let db: Database

    /// Whether the file is sealed, in a file of any format.
    var isSealed: Bool {
        get throws {
            guard try Self.exist(in: db) else { return false }
            return try hasRows
        }
    }

    /// Whether the file is sealed, in a file of the present format.
    private var hasRows: Bool {
        get throws { try db.value("SELECT EXISTS (SELECT 1 FROM mist_seal)", as: Bool.self) ?? false }
    }

    /// Opens the key of the file, in a file of any format.
    ///
    /// - Parameter key: The key of the program; `nil` for none.
    /// - Returns: The key of the file; `nil` where the file is not sealed.
    /// - Throws: A ``StoreError``: `keyMissing` or `wrongKey`.
    func open(with key: StoreEncryptionKey?) throws -> SymmetricKey? {
        guard try isSealed else {
            guard try RecordTypes(db: db).sealedFields().isEmpty else {
                throw StoreError(
                    .damaged,
                    """
                    The file has sealed values, and another program has removed the key of the file: they cannot be read any more. \
                    Restore the file from a backup; or move it away and open the store again, which fetches what was synchronised.
                    """
                )
            }
            return nil
        }
        guard let key else { throw StoreError.keyMissing }
        guard let opened = try rows().lazy.compactMap({ unwrapped($0.wrapped, key) }).first else {
            throw StoreError(
                .wrongKey,
                "The file is sealed with another key. Give the key with which it was sealed last. Nothing was changed."
            )
        }
        return opened
    }

    /// Refuses to go on without a key in a file that another process has sealed meanwhile.
    func checkIsNotSealed() throws {
        if try hasRows { throw StoreError.keyMissing }
    }

    /// Makes the key of a file that is not sealed.
    ///
    /// - Parameters:
    ///   - key: The key of the program.
    ///   - isUnclean: Whether the file may have values from before.
    /// - Returns: The key of the file.
    /// - Throws: A `DatabaseError` when the file fails.
    func create(with key: StoreEncryptionKey, isUnclean: Bool) throws -> SymmetricKey {
        let fileKey = SymmetricKey(size: .bits256)
        try db.run(
            "INSERT INTO mist_seal (wrapped, is_unclean) VALUES (?, ?)",
            [try wrapped(fileKey, key), isUnclean]
        )
        return fileKey
    }

    /// Lets a second key of the program open the file.
    func add(_ key: StoreEncryptionKey, besides present: StoreEncryptionKey) throws {
        guard let fileKey = try open(with: present) else { return }
        guard try !rows().contains(where: { unwrapped($0.wrapped, key) != nil }) else { return }
        try db.run(
            "INSERT INTO mist_seal (wrapped, is_unclean) SELECT ?, max(is_unclean) FROM mist_seal",
            [try wrapped(fileKey, key)]
        )
    }

    /// Lets no other key of the program open the file.
    func removeAll(except key: StoreEncryptionKey) throws {
        try db.applying {
            for row in try rows() where unwrapped(row.wrapped, key) == nil {
                try db.run("DELETE FROM mist_seal WHERE id = ?", [row.id])
            }
        }
    }

    /// Whether unused pages, or the log, may have values from before.
    var isUnclean: Bool {
        get throws {
            try db.value("SELECT EXISTS (SELECT 1 FROM mist_seal WHERE is_unclean)", as: Bool.self) ?? false
        }
    }

    func noteUnclean() throws { try db.run("UPDATE mist_seal SET is_unclean = 1") }
    func noteClean() throws { try db.run("UPDATE mist_seal SET is_unclean = 0") }

    private func rows() throws -> [(id: Int64, wrapped: Data)] {
        try db.rows("SELECT id, wrapped FROM mist_seal ORDER BY id").map { ($0["id"], $0["wrapped"]) }
    }

    private func wrapped(_ fileKey: SymmetricKey, _ key: StoreEncryptionKey) throws -> Data {
        let bytes = fileKey.withUnsafeBytes { Data($0) }
        let box = try AES.GCM.seal(bytes, using: key.symmetricKey, authenticating: Self.purpose)
        return Data(box.nonce) + box.ciphertext + box.tag
    }

    private func unwrapped(_ wrapped: Data, _ key: StoreEncryptionKey) -> SymmetricKey? {
        guard let box = try? AES.GCM.SealedBox(combined: wrapped),
            let bytes = try? AES.GCM.open(box, using: key.symmetricKey, authenticating: Self.purpose)
        else { return nil }
        return SymmetricKey(data: bytes)
    }
}

extension StoreError {
    /// The error of a sealed file that is opened without a key, or that was sealed since it was opened without one.
    static let keyMissing = StoreError(
        .keyMissing,
        """
        The file is sealed with a key. Open the store with it: StoreConfiguration.encryptionKey. Nothing was changed.
        """
    )
}

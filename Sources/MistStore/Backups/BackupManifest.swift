import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a backup has: the file `manifest.json` in its folder. ``MistStore/backup(to:)`` writes it last.
///
/// ```json
/// {"version": 2, "created": "2026-11-27T14:00:00Z", "owner": "_8d2…",
///  "files": [{"name": "user.sqlite", "size": 40960, "sha256": "60303a…"},
///            {"name": "user.sqlite-files/9f/9f86d0…", "size": 51682, "sha256": "9f86d0…"}],
///  "records": {"Todo": 12, "TodoList": 2}}
/// ```
public struct BackupManifest: Hashable, Sendable, Codable {
    /// A file of the backup.
    public struct File: Hashable, Sendable, Codable {
        /// The path within the folder of the backup.
        public var name: String
        /// The number of bytes.
        public var size: Int
        /// The SHA-256 of the bytes, in hexadecimal digits.
        public var sha256: String
    }

    /// The version of the backup's form: 2. Backups of version 1 have no files of records.
    public var version: Int
    /// When the backup was made, by the machine's clock, in whole seconds.
    public var created: Date
    /// The record name of the user whose private records the backup has; `nil` where no user was signed in yet.
    public var owner: String?
    /// The copies of the databases, and the files of their records.
    public var files: [File]
    /// The SHA-256 of the files that records have and that were missing or changed on this machine when the backup was
    /// made; `nil` where there were none. ``LocalDatabase/verifyFiles()`` fetches those that the service has.
    public var lostFiles: [String]?
    /// The number of records by type, of all files.
    public var records: [String: Int]

    static let fileName = "manifest.json"
    static let presentVersion = 2
}

extension BackupManifest {
    /// The manifest as JSON, with the members in the order of their names.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.dateEncodingStrategy = .iso8601
        return try encoder.encode(self)
    }

    /// Reads the manifest of a backup, and checks that its files are whole.
    ///
    /// - Parameter folder: The folder of the backup.
    /// - Throws: A ``StoreError``: `notAStore` where the folder has no manifest, `newerFormat` for that of a later
    ///   version, `damaged` where the manifest cannot be read, or where a file is missing, was cut off or changed.
    init(ofBackupAt folder: URL) throws {
        let path = folder.appendingPathComponent(Self.fileName)
        guard FileManager.default.fileExists(atPath: path.path) else {
            throw StoreError(
                .notAStore,
                "\(folder.path) is no backup: it has no \(Self.fileName), which is written last. Choose another folder."
            )
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        do {
            let data = try Data(contentsOf: path)
            let version = try decoder.decode(Version.self, from: data).version
            guard version <= Self.presentVersion else {
                throw StoreError(
                    .newerFormat,
                    "A later version of this library wrote the backup \(folder.path). Update the program to restore it."
                )
            }
            self = try decoder.decode(Self.self, from: data)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.damaged, "\(path.path) cannot be read: \(error). Use another backup.")
        }
        for file in files { try file.check(in: folder) }
    }

    private struct Version: Decodable {
        var version: Int
    }
}

extension BackupManifest.File {
    /// Describes a file.
    init(_ name: String, in folder: URL) throws {
        let (size, sha256) = try Self.digest(of: folder.appendingPathComponent(name))
        self.init(name: name, size: size, sha256: sha256)
    }

    /// Describes the file of a record, in the folder of files of a scope.
    init(_ content: ContentHash, size: Int64, of scope: DatabaseScope) {
        self.init(name: Self.name(of: content, in: scope), size: Int(size), sha256: content.rawValue)
    }

    private static func name(of content: ContentHash, in scope: DatabaseScope) -> String {
        "\(ContentFolder.path(ofDatabase: BackupFile.name(of: scope)))/\(ContentFolder.relativePath(of: content))"
    }

    private var isInFolder: Bool {
        if let content = ContentHash(rawValue: sha256),
            DatabaseScope.allCases.contains(where: { isFile(content, of: $0) })
        {
            return true
        }
        return !name.contains("/") && !name.contains("\\") && name != ".."
    }

    private func isFile(_ content: ContentHash, of scope: DatabaseScope) -> Bool {
        name == Self.name(of: content, in: scope)
    }

    /// The content, where the file is one of a record of the scope.
    func content(of scope: DatabaseScope) -> ContentHash? {
        ContentHash(rawValue: sha256).flatMap { isFile($0, of: scope) ? $0 : nil }
    }

    /// Checks that the file is as it was when the backup was made.
    fileprivate func check(in folder: URL) throws {
        // A manifest of another program must not make this one read elsewhere.
        guard isInFolder else {
            throw StoreError(
                .damaged,
                "The manifest of \(folder.path) names the file \(name), which is not in the folder."
            )
        }
        let path = folder.appendingPathComponent(name)
        guard FileManager.default.fileExists(atPath: path.path) else {
            throw StoreError(.damaged, "The backup is not whole: \(path.path) is missing. Use another backup.")
        }
        let found = try Self.digest(of: path)
        guard found.size == size else {
            throw StoreError(
                .damaged,
                "The backup is not whole: \(path.path) has \(found.size) bytes in place of \(size). Use another backup."
            )
        }
        guard found.sha256 == sha256 else {
            throw StoreError(
                .damaged,
                "\(path.path) was changed since the backup was made: its SHA-256 is another one. Use another backup."
            )
        }
    }

    /// The number of bytes of a file and their SHA-256.
    private static func digest(of url: URL) throws -> (size: Int, sha256: String) {
        do {
            let (content, size) = try ContentFolder.hash(url.path)
            return (Int(size), content.rawValue)
        } catch {
            throw StoreError(.storage, error.message)
        }
    }
}

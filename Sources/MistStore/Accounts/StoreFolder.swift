import FilePermissions
import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The folder of a store: opens its files, and removes those of a user.
struct StoreFolder: Sendable {
    let url: URL
    let types: StoreTypes
    let configuration: StoreConfiguration
    /// The program's key.
    let key: PresentKey

    static let publicPath = "public.sqlite"

    func path(of file: String) -> String { url.appendingPathComponent(file).path }

    func createFolder(_ url: URL) throws {
        do {
            try FileManager.default.createDirectory(
                at: url,
                withIntermediateDirectories: true,
                attributes: OwnerPermissions.ofFolder
            )
        } catch {
            throw StoreError(
                .readOnly,
                "The folder \(url.path) cannot be created: \(error). Check the path and its permissions."
            )
        }
    }

    /// Opens the file of the public database.
    ///
    /// - Parameter isExpected: Whether the file was there before. Then an empty file has lost its content.
    /// - Returns: The file.
    /// - Throws: A ``StoreError`` with a code about the file.
    func openPublic(isExpected: Bool) throws -> StoreFile {
        try open(Self.publicPath, [.public: .default], perRoot: false, isExpected: isExpected)
    }

    /// Opens a file of private records, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - isExpected: Whether the file was there before. Then an empty file has lost its content.
    /// - Returns: The file.
    /// - Throws: A ``StoreError``: `otherUser` when the file of a user belongs to another user; or a code about the file.
    func open(_ file: UserFile, isExpected: Bool) throws -> StoreFile {
        let layout = configuration.zones
        func opening() throws -> StoreFile {
            try open(file.path, [.private: layout.homeZone], perRoot: layout.isPerRoot, isExpected: isExpected)
        }
        let opened: StoreFile
        do {
            opened = try opening()
        } catch let error as StoreError where isWithdrawn(file, error) {
            // A crash, or another process, has left it to be removed.
            try remove(file)
            opened = try opening()
        }
        guard let user = file.user else { return opened }
        let isOwner = try opened.wrapping { try opened.database.write { db in try FileState(db).noteUser(user) } }
        guard isOwner else {
            let error = try StoreError.otherUser(opened)
            try opened.close(because: error)
            throw error
        }
        return opened
    }

    /// Opens the file of the public database for reading.
    ///
    /// - Throws: A ``StoreError``: `noStore`, `needsUpdate`, or another code about the file.
    func openPublicForReading() throws -> StoreFile {
        try openForReading(Self.publicPath, [.public: .default], perRoot: false)
    }

    /// Opens a file of private records for reading.
    ///
    /// - Throws: A ``StoreError``: `noStore`, `needsUpdate`, or another code about the file.
    func openForReading(_ file: UserFile) throws -> StoreFile {
        let layout = configuration.zones
        do {
            return try openForReading(file.path, [.private: layout.homeZone], perRoot: layout.isPerRoot)
        } catch let error as StoreError where isWithdrawn(file, error) {
            throw StoreError.noStore
        }
    }

    /// Whether a file was not opened because it is being removed. Its state is gone then, as in a damaged file.
    private func isWithdrawn(_ file: UserFile, _ error: StoreError) -> Bool {
        error.code == .damaged && StoreFile.isWithdrawn(atPath: path(of: file.path))
    }

    private func openForReading(
        _ name: String,
        _ zones: [DatabaseScope: ZoneID],
        perRoot: Bool
    ) throws -> StoreFile {
        let path = path(of: name)
        return try StoreError.naming(path) {
            try StoreFile(
                reading: StoreFile.openForReading(atPath: path),
                schemas: types.schemas(ofFileAtPath: path),
                models: types.models,
                scopes: zones,
                hasZonePerRoot: perRoot,
                filesPath: path,
                key: key
            )
        }
    }

    private func open(
        _ name: String,
        _ zones: [DatabaseScope: ZoneID],
        perRoot: Bool,
        isExpected: Bool
    ) throws -> StoreFile {
        let path = path(of: name)
        return try StoreError.naming(path) {
            if types.declaration == nil {
                try createFolder(URL(fileURLWithPath: path).deletingLastPathComponent())
                try StoreFile.check(atPath: path, isExpected: isExpected)
            } else {
                // A tool neither creates a file nor updates its format.
                try StoreFile.readPresentFormat(atPath: path) { _ in }
            }
            let pool = try StoreError.wrapping { try StoreFile.open(atPath: path) }
            if let observer = configuration.transactionObserver {
                pool.add(transactionObserver: observer, extent: .databaseLifetime)
            }
            let file = try StoreFile(
                pool,
                schemas: types.schemas(ofFileAtPath: path),
                models: types.models,
                requiredFields: types.declaration?.requiredFields ?? [:],
                scopes: zones,
                hasZonePerRoot: perRoot,
                key: key,
                newDevice: configuration.newDevice
            )
            try file.note(
                FileIdentity(ofFileAtPath: path),
                newDevice: configuration.newDevice,
                at: configuration.clock().machineTime
            )
            return file
        }
    }

    /// The user to whom the first file belongs; `nil` where no one was signed in yet, or where there is no file.
    func ownerOfFirstFile() throws -> String? {
        let path = path(of: UserFile.first.path)
        guard StoreFile.hasContent(atPath: path), !StoreFile.isWithdrawn(atPath: path) else { return nil }
        return try StoreFile.read(atPath: path) { db in try FileState(db).owner }
    }

    /// The file of a user: the one that the user has, or the one that the user gets.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - joining: The user whom records of no one are joining; `nil` where none are.
    /// - Returns: The place of the file.
    /// - Throws: A ``StoreError`` when the first file fails.
    func file(of user: String, joining: JoinTarget?) throws -> UserFile {
        let own = UserFile.user(user)
        switch try ownerOfFirstFile() ?? (joining?.place == .first ? joining?.user : nil) {
        case user: return .first
        case nil
        where configuration.joinsRecordsMadeSignedOut && !StoreFile.hasContent(atPath: path(of: own.path)):
            return .first
        default: return own
        }
    }

    /// The file of the records that are made while no one is signed in.
    ///
    /// A synchronisation gives the first file to the user who is signed in. So where a user may have another file, it is
    /// not used, unless its records stay those of no one.
    func signedOutFile() throws -> UserFile {
        let hasRecords = StoreFile.hasContent(atPath: path(of: UserFile.signedOut.path))
        guard try ownerOfFirstFile() == nil, !hasRecords else { return .signedOut }
        let hasUsers = FileManager.default.fileExists(atPath: path(of: UserFile.folder))
        return hasUsers && configuration.joinsRecordsMadeSignedOut ? .signedOut : .first
    }

    /// Removes a file that this process has withdrawn, unless another process has made a new one in its place.
    func removeWithdrawn(_ file: UserFile) throws {
        let path = path(of: file.path)
        guard !StoreFile.hasContent(atPath: path) || StoreFile.isWithdrawn(atPath: path) else { return }
        try remove(file)
    }

    /// Removes a file with what SQLite and the lease keep beside it. A file that is gone is not an error.
    func remove(_ file: UserFile) throws {
        let path = path(of: file.path)
        // The log first, which is empty after the file was closed: a log that is left would be read into a new file.
        for suffix in ["-wal", "-shm", "", "-sync", "-files"] {
            guard FileManager.default.fileExists(atPath: path + suffix) else { continue }
            do {
                try FileManager.default.removeItem(atPath: path + suffix)
            } catch {
                throw StoreError(
                    .storage,
                    "\(path)\(suffix) cannot be removed: \(error). It is removed when the store is opened again."
                )
            }
        }
    }
}

extension StoreFolder {
    /// The folder of a program.
    ///
    /// - Throws: A ``StoreError`` for settings that do not fit the types, or that the service does not accept.
    init(_ url: URL, of records: [any CloudKitRecord.Type], _ configuration: StoreConfiguration) throws {
        try configuration.check(records.map { $0.schema })
        try configuration.zones.check()
        self.init(
            url: url,
            types: .program(records),
            configuration: configuration,
            key: PresentKey(configuration.encryptionKey)
        )
    }
}

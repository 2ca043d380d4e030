import Crypto
import FilePermissions
import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The folder of files beside a database: `user.sqlite-files`. Each file has the name of its content, in one of 256
/// folders.
///
/// A file is first written as a whole under a random name in `incoming`. It gets its own name in the transaction that
/// writes its row, and loses it in the transaction that removes the row. So SQLite's write lock keeps a file that is added
/// again from being removed at the same time.
struct ContentFolder: Sendable {
    /// The path, without a slash at its end.
    let path: String

    /// The folder beside a database; `nil` for a database in memory.
    init?(ofDatabase path: String?) {
        guard let path else { return nil }
        self.path = Self.path(ofDatabase: path)
    }

    static func path(ofDatabase path: String) -> String { path + "-files" }

    /// A file that is complete and on the disk, and has no row yet.
    struct Incoming: Sendable {
        let path: String
        let content: ContentHash
        let size: Int64

        /// Removes the file, unless it was put in its place.
        func discard() { unlink(path) }
    }

    func path(of content: ContentHash) -> String { "\(path)/\(Self.relativePath(of: content))" }

    /// The path of a file within the folder.
    static func relativePath(of content: ContentHash) -> String { "\(content.rawValue.prefix(2))/\(content)" }

    /// The files that have their names.
    var contents: Set<ContentHash> {
        func names(in folder: String) -> [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        }
        let folders = names(in: path).filter { $0.utf8.count == 2 }
        return Set(folders.flatMap { names(in: "\(path)/\($0)") }.compactMap(ContentHash.init(rawValue:)))
    }

    /// The size of a file; `nil` where it is missing.
    func size(of content: ContentHash) -> Int64? {
        var status = stat()
        guard lstat(path(of: content), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// A path for a file that arrives.
    func incomingPath() throws(StoreError) -> String {
        try Self.create("\(path)/incoming")
        return "\(path)/incoming/\(String(UInt64.random(in: .min ... .max), radix: 16))"
    }

    /// The path for the file of the service: the same one whenever it is downloaded, so that a later process can go on.
    func incomingPath(of asset: Asset) throws(StoreError) -> String {
        try Self.create("\(path)/incoming")
        // The signature is any text.
        let name = SHA256.hash(data: Array("\(asset.size ?? -1) \(asset.fileChecksum ?? "")".utf8))
        return "\(path)/incoming/\(name.hexadecimal)"
    }

    /// Copies a file, a piece at a time, and hashes it meanwhile.
    ///
    /// - Parameter url: The file.
    /// - Returns: The copy, which is on the disk.
    /// - Throws: A ``StoreError``: `file` where the file cannot be read, `full` or `readOnly` where it cannot be copied.
    func copy(_ url: URL) throws(StoreError) -> Incoming {
        let source: OpenFile
        do throws(CloudKitError) {
            source = try OpenFile(reading: url)
            // A folder or a device has no length.
            _ = try source.size()
        } catch {
            throw StoreError(.file, "\(error.message) Nothing was changed.")
        }
        return try write { () throws(StoreError) in
            do throws(CloudKitError) {
                let bytes = try source.read(upTo: 1 << 18)
                return bytes.isEmpty ? nil : bytes
            } catch {
                throw StoreError(.file, "\(error.message) Nothing was changed.")
            }
        }
    }

    /// Copies a file of another folder, and checks that it is what its name says.
    ///
    /// - Parameters:
    ///   - content: The file.
    ///   - source: The other folder. It may be in another file system.
    /// - Returns: The copy, which is on the disk; `nil` where the file is missing, cannot be read or has other bytes.
    /// - Throws: A ``StoreError``: `full` or `readOnly` where the copy cannot be written.
    func copy(_ content: ContentHash, from source: ContentFolder) throws(StoreError) -> Incoming? {
        guard source.size(of: content) != nil else { return nil }
        let copy: Incoming
        do throws(StoreError) {
            copy = try self.copy(URL(fileURLWithPath: source.path(of: content)))
        } catch {
            guard error.code == .file else { throw error }
            return nil
        }
        guard copy.content == content else {
            copy.discard()
            return nil
        }
        return copy
    }

    /// Writes bytes into a file, and hashes them.
    func write(_ bytes: [UInt8]) throws(StoreError) -> Incoming {
        var rest: [UInt8]? = bytes
        return try write { () throws(StoreError) in
            defer { rest = nil }
            return rest
        }
    }

    private func write(_ next: () throws(StoreError) -> [UInt8]?) throws(StoreError) -> Incoming {
        let path = try incomingPath()
        do {
            let file = try OpenFile(path: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC)
            var hash = SHA256()
            var size: Int64 = 0
            while let bytes = try next() {
                bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
                size += Int64(bytes.count)
                try file.write(bytes[...])
            }
            try file.synchronize()
            return Incoming(path: path, content: ContentHash(bytes: hash.finalize()), size: size)
        } catch {
            let cause = errno
            unlink(path)
            if let error = error as? StoreError { throw error }
            throw StoreError(
                cause == ENOSPC ? .full : .readOnly,
                "\((error as? CloudKitError)?.message ?? "\(error)") Nothing was changed."
            )
        }
    }

    /// Hashes a file that was downloaded to a path of ``incomingPath()``.
    func received(at path: String) throws(CloudKitError) -> Incoming {
        let (content, size) = try Self.hash(path)
        return Incoming(path: path, content: content, size: size)
    }

    /// The content and the size of a file.
    static func hash(_ path: String) throws(CloudKitError) -> (ContentHash, Int64) {
        let file = try OpenFile(path: path, flags: O_RDONLY | O_CLOEXEC)
        var hash = SHA256()
        var size: Int64 = 0
        while true {
            let bytes = try file.read(upTo: 1 << 18)
            guard !bytes.isEmpty else { break }
            bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
            size += Int64(bytes.count)
        }
        return (ContentHash(bytes: hash.finalize()), size)
    }

    /// Notes a file that nothing refers to yet, and gives it its name, in one transaction of the caller.
    func keep(_ file: Incoming, at now: MachineTime, _ db: Database) throws {
        try Contents(db: db).add(file.content, size: file.size, at: now)
        try place(file)
    }

    /// Gives a file its name.
    func place(_ file: Incoming) throws(StoreError) {
        let target = path(of: file.content)
        let folder = String(target.dropLast(file.content.rawValue.utf8.count + 1))
        try Self.create(folder)
        guard rename(file.path, target) == 0 else { throw Self.failure("The file could not be put into", folder) }
        // The name is on the disk before the row is.
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        if descriptor >= 0 {
            fsync(descriptor)
            close(descriptor)
        }
    }

    /// Removes a file, in the transaction that removes its row.
    func remove(_ content: ContentHash) { unlink(path(of: content)) }

    /// Removes files whose writing was interrupted: those that are older than a day.
    func removeInterrupted() {
        let folder = "\(path)/incoming"
        let limit = time(nil) - 24 * 60 * 60
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0 else { continue }
            #if canImport(Darwin)
                let changed = status.st_mtimespec.tv_sec
            #else
                let changed = status.st_mtim.tv_sec
            #endif
            if changed < limit { unlink("\(folder)/\(name)") }
        }
    }

    /// The right to read the files of a folder, or to collect them. It ends with the value, or with the process.
    final class Hold: Sendable {
        private let descriptor: Int32

        fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    /// Keeps all files of the folder, until the value is released: none is collected, by any process.
    ///
    /// - Throws: A ``StoreError`` where there is no folder, and where none can be made.
    func keepAll() throws(StoreError) -> Hold {
        try Self.create(path)
        guard let hold = Self.hold(path, LOCK_SH) else { throw Self.failure("The folder cannot be locked:", path) }
        return hold
    }

    /// The right to collect files of the folder; `nil` while a backup or a restore keeps them.
    func collecting() -> Hold? { Self.hold(path, LOCK_EX | LOCK_NB) }

    /// Locks the folder itself, so that there is no other file.
    private static func hold(_ path: String, _ operation: Int32) -> Hold? {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        while flock(descriptor, operation) != 0 {
            guard errno == EINTR else {
                close(descriptor)
                return nil
            }
        }
        return Hold(descriptor)
    }

    private static func create(_ folder: String) throws(StoreError) {
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: OwnerPermissions.ofFolder
            )
        } catch {
            throw StoreError(.readOnly, "The folder \(folder) cannot be created: \(error). Check its permissions.")
        }
    }

    private static func failure(_ sentence: String, _ path: String) -> StoreError {
        let cause = errno
        return StoreError(
            cause == ENOSPC ? .full : .readOnly,
            "\(sentence) \(path): \(String(cString: strerror(cause)))."
        )
    }
}

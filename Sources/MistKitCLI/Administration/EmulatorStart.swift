import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import MistKit
import StreamingJSON
import Synchronization

/// How commands reach the administration of an emulator that runs: its address, and the secret of its start.
///
/// It is in a file of the data folder, `administration-<process>.json`, with the permissions 0600. The emulator holds a
/// lock on the file for as long as it runs, so a file without a lock is left over from a process that was killed.
struct EmulatorStart: Hashable, JSONReadable, JSONWritable {
    /// The address for this machine, such as `http://127.0.0.1:8181`.
    var address: String
    var secret: String

    /// The emulators that run with their data in a folder, the latest first. Files that were left over are deleted.
    static func running(in folder: String) -> [EmulatorStart] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        var found: [(start: EmulatorStart, written: timespec)] = []
        for name in names where name.hasPrefix(prefix) && name.hasSuffix(suffix) {
            guard let file = read(folder + "/" + name) else { continue }
            found.append(file)
        }
        return found.sorted { ($0.written.tv_sec, $0.written.tv_nsec) > ($1.written.tv_sec, $1.written.tv_nsec) }
            .map(\.start)
    }

    private static let prefix = "administration-"
    private static let suffix = ".json"

    /// The path of the file of this process.
    fileprivate static func path(in folder: String) -> String { "\(folder)/\(prefix)\(getpid())\(suffix)" }

    /// Reads a file; `nil` where its emulator no longer runs, and for a file of another user or one that others can
    /// read.
    private static func read(_ path: String) -> (start: EmulatorStart, written: timespec)? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            return nil
        }
        if flock(descriptor, LOCK_SH | LOCK_NB) == 0 {
            unlink(path)
            return nil
        }
        let data = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).readDataToEndOfFile()
        guard let start = try? JSONReader.read(EmulatorStart.self, from: [UInt8](data)) else { return nil }
        #if canImport(Darwin)
            return (start, status.st_mtimespec)
        #else
            return (start, status.st_mtim)
        #endif
    }

    private static let keys = JSONKeys("address", "secret")

    init(address: String, secret: String) {
        self.address = address
        self.secret = secret
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        var (address, secret): (String?, String?)
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: address = try reader.readString()
            case 1: secret = try reader.readString()
            default: try reader.skipValue()
            }
        }
        guard let address, let secret else {
            throw reader.error(.missingKey, "a start needs \"address\" and \"secret\"")
        }
        self.init(address: address, secret: secret)
    }

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("address")
        writer.write(address)
        writer.key("secret")
        writer.write(secret)
        writer.endObject()
    }

    /// Whether this is the emulator at an address of this machine.
    func isAt(_ address: URL) -> Bool {
        guard let host = address.host, HostName.isLocal(listeningOn: host), let own = URL(string: self.address) else {
            return false
        }
        return own.port == address.port
    }
}

/// The file of an emulator's start, from the moment it listens until it stops.
final class EmulatorStartFile: Sendable {
    private let path: String
    /// The open file, which has the lock.
    private let descriptor = Mutex<Int32?>(nil)

    init(folder: String) {
        path = EmulatorStart.path(in: folder)
    }

    /// Writes the file.
    ///
    /// - Throws: ``CommandError`` where the folder cannot be written.
    func write(_ start: EmulatorStart) throws(CommandError) {
        let draft = path + ".new"
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure() }
        // The file gets its name when it is locked and complete.
        let bytes = (try? JSONWriter.bytes(of: start)) ?? []
        guard flock(file, LOCK_EX) == 0, Foundation.write(file, bytes, bytes.count) == bytes.count,
            rename(draft, path) == 0
        else {
            let failure = failure()
            close(file)
            unlink(draft)
            throw failure
        }
        descriptor.withLock { $0 = file }
    }

    /// Deletes the file, if there is one.
    func remove() {
        descriptor.withLock { descriptor in
            guard let file = descriptor else { return }
            unlink(path)
            close(file)
            descriptor = nil
        }
    }

    deinit { remove() }

    private func failure() -> CommandError {
        CommandError(
            code: .cannotWrite,
            message: "The file \(path) cannot be written: \(String(cString: strerror(errno))).",
            remedy:
                "`mistkit faults` and other commands cannot administer this emulator. Check the permissions of the folder."
        )
    }
}

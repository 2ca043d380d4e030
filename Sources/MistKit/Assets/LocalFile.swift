#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Reads and writes local files in pieces. FoundationEssentials can only read and write whole files.
enum LocalFile {
    static let chunkSize = 256 * 1024

    /// The length of a file.
    static func size(of url: URL) throws(CloudKitError) -> Int64 {
        let file = try OpenFile(reading: url)
        defer { file.close() }
        return try file.size()
    }

    /// A file's bytes, read while the caller iterates over them.
    struct Chunks: AsyncSequence, Sendable {
        let url: URL
        let size: Int64

        struct AsyncIterator: AsyncIteratorProtocol {
            let chunks: Chunks
            var file: OpenFile?
            var count: Int64 = 0

            mutating func next() async throws -> ArraySlice<UInt8>? {
                let file = try self.file ?? OpenFile(reading: chunks.url)
                self.file = file
                let bytes = try file.read(upTo: LocalFile.chunkSize)
                count += Int64(bytes.count)
                if count > chunks.size || (bytes.isEmpty && count < chunks.size) {
                    throw CloudKitError(
                        code: .localData,
                        message: "The file at \(chunks.url.path()) changed while it was being uploaded."
                    )
                }
                return bytes.isEmpty ? nil : bytes[...]
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self) }
    }
}

/// A file that is written completely or not at all: the bytes are written to a temporary file in the same folder, which
/// replaces the file at the end.
final class ReplacementFile {
    private let target: String
    private let temporary: String
    private let file: OpenFile
    private var isSettled = false

    /// Makes the temporary file.
    init(for url: URL) throws(CloudKitError) {
        target = try url.localPath
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        let (folder, name) = Self.split(target)
        guard !name.isEmpty else {
            throw .invalidArgument("'\(url)' is a folder; name the file in it to download to.")
        }
        temporary = "\(folder).\(name).\(digits).part"
        file = try OpenFile(path: temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC)
    }

    deinit { discard() }

    /// The path up to the last slash, and what follows it.
    private static func split(_ path: String) -> (folder: Substring, name: Substring) {
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return (path[..<start], path[start...])
    }

    func write(_ bytes: ArraySlice<UInt8>) throws(CloudKitError) {
        try file.write(bytes)
    }

    /// Renames the temporary file to the file's name, and so replaces an existing file.
    func commit() throws(CloudKitError) {
        try file.synchronize()
        file.close()
        guard rename(temporary, target) == 0 else { throw .localData("could not be put in place", target, errno) }
        isSettled = true
    }

    /// Removes the temporary file, unless it was committed.
    func discard() {
        guard !isSettled else { return }
        isSettled = true
        file.close()
        unlink(temporary)
    }
}

/// A file that is written over several attempts and processes: the bytes are in `….part`, and `….state` says which of
/// them are on the disk, and of which file they are. One process writes it at a time.
final class PartialFile {
    /// How far a file was written.
    struct State: Equatable, Sendable {
        /// The number of bytes that are on the disk.
        var length: Int64
        /// The entity tag of the response that they come from.
        var validator: String
    }

    /// The number of bytes between two notes.
    private static let interval: Int64 = 1 << 20

    private let target: String
    private let file: OpenFile
    private var position: Int64 = 0
    private var validator: String?
    private var noted: Int64 = 0

    private var path: String { "\(target).part" }
    private var statePath: String { "\(target).state" }

    /// Opens the file, or makes it.
    ///
    /// - Throws: A ``CloudKitError``: `localData`, also while another process writes the file.
    init(for url: URL) throws(CloudKitError) {
        target = try url.localPath
        file = try OpenFile(locking: "\(target).part")
    }

    /// How far an earlier attempt has come; `nil` where the file begins again.
    func start(ofFileWith size: Int64?) -> State? {
        guard let state = readState(), state.length > 0, size.map({ state.length < $0 }) ?? true,
            let written = try? file.size(), written >= state.length
        else { return nil }
        (position, noted, validator) = (state.length, state.length, state.validator)
        return state
    }

    /// Writes the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - end: The offset of their end. Where they do not follow the last ones, the file begins again.
    ///   - validator: The validator of their response.
    /// - Throws: A ``CloudKitError``: `localData`.
    func write(_ bytes: ArraySlice<UInt8>, upTo end: Int64, _ validator: String?) throws(CloudKitError) {
        let start = end - Int64(bytes.count)
        if start != position || position == 0 || validator != self.validator {
            unlink(statePath)
            try file.truncate(to: start)
            (position, noted, self.validator) = (start, 0, validator)
        }
        try file.write(bytes, at: position)
        position = end
        if position - noted >= Self.interval { keep() }
    }

    /// Notes what is on the disk, for a later attempt. Without the note, the file begins again.
    func keep() {
        guard let validator, position > noted else { return }
        do {
            try file.synchronize()
            let state = try ReplacementFile(for: URL(filePath: statePath))
            try state.write(Array("\(position)\n\(validator)".utf8)[...])
            try state.commit()
            noted = position
        } catch {
            return
        }
    }

    private func readState() -> State? {
        guard let file = try? OpenFile(path: statePath, flags: O_RDONLY | O_CLOEXEC),
            let bytes = try? file.read(upTo: 1 << 16)
        else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        guard lines.count == 2, let length = Int64(lines[0]) else { return nil }
        return State(length: length, validator: String(lines[1]))
    }

    /// Gives the file its name.
    func commit() throws(CloudKitError) {
        try file.truncate(to: position)
        try file.synchronize()
        guard rename(path, target) == 0 else { throw .localData("could not be put in place", target, errno) }
        unlink(statePath)
    }

    /// Removes what was written.
    func discard() {
        unlink(statePath)
        unlink(path)
    }

    func close() { file.close() }
}

/// An open file, closed with its last reference. One task uses it at a time.
package final class OpenFile {
    private let path: String
    private var descriptor: CInt

    package convenience init(reading url: URL) throws(CloudKitError) {
        try self.init(path: url.localPath, flags: O_RDONLY | O_CLOEXEC)
    }

    package init(path: String, flags: CInt) throws(CloudKitError) {
        self.path = path
        descriptor = open(path, flags, 0o666)
        if descriptor < 0 { throw .localData("could not be opened", path, errno) }
    }

    /// Opens or makes a file that only one process writes at a time. The lock ends with the file, or with the process.
    ///
    /// - Throws: A ``CloudKitError``: `localData`, also while another process has the lock.
    fileprivate init(locking path: String) throws(CloudKitError) {
        self.path = path
        while true {
            descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw .localData("could not be opened", path, errno) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                closeDescriptor(descriptor)
                descriptor = -1
                throw .localData("is written by another process", path, nil)
            }
            // The other process may have renamed the file meanwhile.
            var (own, named) = (stat(), stat())
            if fstat(descriptor, &own) == 0, stat(path, &named) == 0, own.st_ino == named.st_ino { return }
            closeDescriptor(descriptor)
        }
    }

    deinit { close() }

    package func close() {
        guard descriptor >= 0 else { return }
        closeDescriptor(descriptor)
        descriptor = -1
    }

    package func size() throws(CloudKitError) -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .localData("could not be examined", path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .localData("is a folder or something else that has no length", path, nil)
        }
        return Int64(status.st_size)
    }

    /// Reads the next bytes; the array is empty at the end.
    package func read(upTo count: Int) throws(CloudKitError) -> [UInt8] {
        var failure: CInt?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while true {
                let result = readDescriptor(descriptor, buffer.baseAddress, count)
                if result >= 0 {
                    filled = result
                    return
                }
                if errno == EINTR { continue }
                failure = errno
                return
            }
        }
        if let failure { throw .localData("could not be read", path, failure) }
        return bytes
    }

    package func write(_ bytes: ArraySlice<UInt8>) throws(CloudKitError) {
        var failure: CInt?
        bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[written...])
                let result = writeDescriptor(descriptor, rest.baseAddress, rest.count)
                if result >= 0 {
                    written += result
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        if let failure { throw .localData("could not be written", path, failure) }
    }

    /// Writes bytes at an offset.
    fileprivate func write(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws(CloudKitError) {
        guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else {
            throw .localData("could not be written", path, errno)
        }
        try write(bytes)
    }

    fileprivate func truncate(to length: Int64) throws(CloudKitError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw .localData("could not be written", path, errno) }
    }

    /// Waits until the bytes are on the disk.
    package func synchronize() throws(CloudKitError) {
        guard fsync(descriptor) == 0 else { throw .localData("could not be written", path, errno) }
    }
}

// The system's functions under names that methods do not hide.
private func closeDescriptor(_ descriptor: CInt) { _ = close(descriptor) }
private func readDescriptor(_ descriptor: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
private func writeDescriptor(_ descriptor: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, buffer, count)
}

extension URL {
    fileprivate var localPath: String {
        get throws(CloudKitError) {
            guard isFileURL else {
                throw .invalidArgument("'\(self)' is not the URL of a file; use URL(filePath:).")
            }
            return path(percentEncoded: false)
        }
    }
}

extension CloudKitError {
    fileprivate static func localData(_ problem: String, _ path: String, _ code: CInt?) -> CloudKitError {
        let why = code.map { ": \(String(cString: strerror($0)))" } ?? ""
        return CloudKitError(code: .localData, message: "The file at \(path) \(problem)\(why).")
    }
}

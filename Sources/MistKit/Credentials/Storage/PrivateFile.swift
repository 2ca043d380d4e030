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
#elseif canImport(Android)
    import Android
#endif

/// A file that only this user can read, and that is replaced as a whole or not at all.
package struct PrivateFile {
    let path: String
    /// The word for the file in error texts.
    private let noun: String

    /// - Parameters:
    ///   - path: The path.
    ///   - noun: The word for the file in error texts.
    package init(_ path: String, noun: String = "token file") {
        self.path = path
        self.noun = noun
    }

    #if os(Windows)
        // On Windows, the access list of the folder protects a user's files, and `atomic` replaces the file as a whole.

        func read() throws(CloudKitError) -> [UInt8]? {
            guard FileManager.default.fileExists(atPath: path) else { return nil }
            guard let data = FileManager.default.contents(atPath: path) else {
                throw .tokenStorage("The \(noun) \(path) cannot be read.")
            }
            return Array(data)
        }

        package func replace(with bytes: [UInt8]) throws(CloudKitError) {
            do {
                try Data(bytes).write(to: URL(filePath: path), options: .atomic)
            } catch {
                throw .tokenStorage("The \(noun) \(path) cannot be written.", cause: error)
            }
        }

        func remove() throws(CloudKitError) {
            guard FileManager.default.fileExists(atPath: path) else { return }
            do {
                try FileManager.default.removeItem(atPath: path)
            } catch {
                throw .tokenStorage("The \(noun) \(path) cannot be removed.", cause: error)
            }
        }
    #else
        /// The bytes of the file; `nil` where there is none.
        ///
        /// A file that other users may read or write is refused, as ssh refuses such key files.
        func read() throws(CloudKitError) -> [UInt8]? {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                if errno == ENOENT || errno == ENOTDIR { return nil }
                throw failure("cannot be opened")
            }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw failure("cannot be examined") }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw .tokenStorage("The \(noun) \(path) is a folder or a device, not a file; name a file.")
            }
            guard status.st_mode & 0o077 == 0 else {
                throw .tokenStorage(
                    """
                    The \(noun) \(path) can be read or written by other users (mode \(String(status.st_mode & 0o777, radix: 8))), and \
                    anyone who reads it can act as that user. Restrict it: chmod 600 \(path)
                    """
                )
            }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while bytes.count <= Self.maximumSize {
                let count = retrying {
                    buffer.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress, $0.count) }
                }
                guard count >= 0 else { throw failure("cannot be read") }
                if count == 0 { return bytes }
                bytes += buffer[..<count]
            }
            throw .tokenStorage("The \(noun) \(path) is longer than any token can be. Check that it is the right file.")
        }

        /// Writes a temporary file beside the file, and renames it to the file's name.
        package func replace(with bytes: [UInt8]) throws(CloudKitError) {
            // A symbolic link stays a link: its target is replaced.
            let target = resolved
            let folder = target.prefix(through: target.lastIndex(of: "/") ?? target.startIndex)
            if folder.contains("/") { try makeFolder(String(folder)) }
            let temporary = "\(target).\(UInt64.random(in: .min ... .max)).tmp"
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw failure("cannot be made (\(temporary))") }
            do throws(CloudKitError) {
                defer { close(descriptor) }
                // The umask of the process must not remove the owner's permissions.
                guard fchmod(descriptor, 0o600) == 0 else { throw failure("cannot be made private") }
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = retrying { rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }
                    guard count > 0 else { throw failure("cannot be written") }
                    rest = rest.dropFirst(count)
                }
                // The bytes are on the disk before the file gets its name.
                guard fsync(descriptor) == 0 else { throw failure("cannot be written to the disk") }
            } catch {
                unlink(temporary)
                throw error
            }
            guard rename(temporary, target) == 0 else {
                let failure = failure("cannot be replaced")
                unlink(temporary)
                throw failure
            }
        }

        func remove() throws(CloudKitError) {
            guard unlink(resolved) == 0 || errno == ENOENT || errno == ENOTDIR else {
                throw failure("cannot be removed")
            }
        }

        private static let maximumSize = 1 << 20

        private var resolved: String {
            guard let real = realpath(path, nil) else { return path }
            defer { free(real) }
            return String(cString: real)
        }

        private func makeFolder(_ folder: String) throws(CloudKitError) {
            guard access(folder, F_OK) != 0 else { return }
            do {
                try FileManager.default.createDirectory(
                    atPath: folder,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            } catch {
                throw .tokenStorage("The folder \(folder) of the \(noun) cannot be made.", cause: error)
            }
        }

        private func failure(_ problem: String) -> CloudKitError {
            .tokenStorage("The \(noun) \(path) \(problem): \(String(cString: strerror(errno))).")
        }

        /// Repeats a system call that a signal interrupted.
        private func retrying(_ body: () -> Int) -> Int {
            while true {
                let result = body()
                if result >= 0 || errno != EINTR { return result }
            }
        }
    #endif
}

#if !os(Windows)
    /// The system function `read`, whose name is also a method of ``PrivateFile``.
    private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        read(descriptor, buffer, count)
    }
#endif

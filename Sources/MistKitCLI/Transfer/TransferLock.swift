import Foundation

/// Keeps two transfers of one file apart.
enum TransferLock {
    /// Locks a file until the process ends or the file is closed.
    ///
    /// - Parameters:
    ///   - handle: The file that is imported, or the unfinished file of an export.
    ///   - path: The path that the user gave.
    /// - Throws: ``CommandError`` where another process has the lock.
    static func take(_ handle: FileHandle, path: String) throws(CommandError) {
        while flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK:
                throw CommandError(
                    code: .unavailable,
                    message: "Another process transfers the records of \(path).",
                    remedy: "Wait until it ends, or name another file."
                )
            // The file system has no locks.
            default: return
            }
        }
    }

    /// Whether a file has a beginning and an end, and is no folder, pipe or device.
    static func isRegular(_ handle: FileHandle) -> Bool {
        var status = stat()
        return fstat(handle.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The size and the time of modification of a file, which change with its content.
    static func state(of handle: FileHandle) -> String {
        var status = stat()
        guard fstat(handle.fileDescriptor, &status) == 0 else { return "" }
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        return "\(status.st_size) bytes of \(time.tv_sec).\(time.tv_nsec)"
    }
}

import FilePermissions

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A lock that only one thread of one process holds at a time.
///
/// The lock is on an empty file. It ends when `body` returns, and also when the process dies. The file stays: a process
/// that removed it could take the lock away from another.
package enum FileLock {
    #if os(Windows)
        /// Runs `body`. There is no lock on Windows: only one process may open a new file first.
        package static func withLock<Value>(atPath path: String, _ body: () throws -> Value) throws -> Value {
            try body()
        }
    #else
        /// Waits for the lock, and runs `body` while it is held.
        ///
        /// - Parameters:
        ///   - path: The file. It is created when it does not exist; its folder must exist.
        ///   - body: The work that other processes must not do at the same time.
        /// - Returns: What `body` returns.
        /// - Throws: What `body` throws; a ``FileFailure`` when the file cannot be opened or locked.
        package static func withLock<Value>(atPath path: String, _ body: () throws -> Value) throws -> Value {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw FileFailure(path: path, problem: "locked", code: errno) }
            defer { close(descriptor) }
            // `flock` locks the open file, not the process: two threads that opened the file wait for each other as
            // well.
            while flock(descriptor, LOCK_EX) != 0 {
                guard errno == EINTR else { throw FileFailure(path: path, problem: "locked", code: errno) }
            }
            return try body()
        }
    #endif
}

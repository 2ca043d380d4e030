#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The lock of a file that ends with the process, however it ends.
///
/// It shows at once that the holder of a lease is dead, and no more: the lease is right without it. A file of its own is
/// locked, because closing the database's file would end SQLite's locks. iOS ends a suspended program that has locked a
/// file of a shared container, so the lock is used on macOS and Linux only.
package final class ProcessLock: Sendable {
    private let descriptor: Int32

    /// Locks a file, which is created when it does not exist; `nil` where another process or store has locked it, or
    /// where the file system has no locks.
    package init?(path: String) {
        #if os(Linux) || os(macOS)
            descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return nil }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                return nil
            }
        #else
            return nil
        #endif
    }

    deinit {
        #if os(Linux) || os(macOS)
            close(descriptor)
        #endif
    }
}

import Foundation

/// Notes that a process uses the data folder of an emulator, so that no other process deletes the data meanwhile.
///
/// All processes share a lock on a file of the folder. A process that ends gives its part up, however it ends.
final class FolderUse: Sendable {
    private let descriptor: Int32

    /// Shares the lock until the object is gone.
    ///
    /// - Throws: ``CommandError`` where the file cannot be opened.
    init(_ folder: String) throws(CommandError) {
        let path = folder + "/emulator.in-use"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError(
                code: .cannotWrite,
                message: "The folder \(folder) cannot be written: \(String(cString: strerror(errno))).",
                remedy: "Check its permissions, or name another folder with --data-folder."
            )
        }
        while flock(descriptor, LOCK_SH) != 0, errno == EINTR {}
    }

    deinit { close(descriptor) }

    /// Whether no other process uses the folder. From then on, others wait until this object is gone. A file system
    /// without locks does not show other processes.
    func isExclusive() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }
}

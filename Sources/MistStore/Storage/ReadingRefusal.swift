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

/// Why SQLite cannot read a file that is there.
enum ReadingRefusal: Hashable, Sendable {
    /// The process may not read the file.
    case unreadable
    /// The index of the write-ahead log cannot be created, and another process may begin to write.
    case needsIndex
    /// The file system is read-only, and changes are in the log, which cannot be read without its index.
    case hasLog

    /// Decides whether a file may be read without the index of the log; then there is no refusal.
    ///
    /// - Parameters:
    ///   - isReadable: Whether the process may read the file.
    ///   - isUnchanging: Whether the file system is read-only, so that no process can change the file.
    ///   - hasLog: Whether there is a log with changes that are not in the file.
    init?(isReadable: Bool, isUnchanging: Bool, hasLog: Bool) {
        switch (isReadable, isUnchanging, hasLog) {
        case (false, _, _): self = .unreadable
        case (_, false, _): self = .needsIndex
        case (_, _, true): self = .hasLog
        default: return nil
        }
    }

    /// The refusal for a file that SQLite could not open; `nil` where it may be read without the index of the log.
    init?(ofFileAtPath path: String) {
        let isUnwritable = access(path, W_OK) != 0
        // The error belongs to the call before.
        let isUnchanging = isUnwritable && errno == EROFS
        self.init(
            isReadable: access(path, R_OK) == 0,
            isUnchanging: isUnchanging,
            hasLog: StoreFile.hasContent(atPath: path + "-wal")
        )
    }

    var error: StoreError {
        switch self {
        case .unreadable:
            StoreError(.storage, "The file cannot be read. Check the permissions of the file and of its folder.")
        case .needsIndex:
            StoreError(
                .readOnly,
                """
                The folder cannot be written to, and no other process has the store open. SQLite needs an index beside the file, \
                also for reading. Give this process the permission to write to the folder, or keep the store open in a process \
                that has it.
                """
            )
        case .hasLog:
            StoreError(
                .readOnly,
                """
                The file system is read-only, and the log beside the file has changes that are not in the file yet. Copy the \
                folder to where it can be written to, and open the copy.
                """
            )
        }
    }
}

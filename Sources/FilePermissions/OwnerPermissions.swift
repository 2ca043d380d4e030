#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
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

/// Files and folders that only their owner may use.
package enum OwnerPermissions {
    /// The attributes of a folder that is created. An existing folder keeps its own.
    package static var ofFolder: [FileAttributeKey: Any] { [.posixPermissions: 0o700] }

    #if os(Windows)
        /// Does nothing. Windows has no permissions of this kind.
        package static func createFile(atPath path: String) throws {}

        /// Does nothing. Windows has no permissions of this kind.
        package static func restrict(atPath path: String) throws {}
    #else
        /// Creates an empty file that only its owner may use, unless there is a file.
        ///
        /// A file that exists is not opened: closing it would take away the locks that SQLite has on it in this process.
        ///
        /// - Throws: A ``FileFailure`` when the file cannot be created.
        package static func createFile(atPath path: String) throws {
            let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                if errno == EEXIST { return }
                throw FileFailure(path: path, problem: "created for its owner alone", code: errno)
            }
            close(descriptor)
        }

        /// Takes the permissions of other users away from a file or a folder, if it exists and belongs to this user.
        ///
        /// What belongs to another user stays as it is, and so does a folder like `/tmp`, which is for all.
        ///
        /// - Throws: A ``FileFailure`` when the permissions cannot be changed.
        package static func restrict(atPath path: String) throws {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & 0o077 != 0, status.st_uid == geteuid() else { return }
            // A folder with this bit, such as /tmp, is for all users.
            guard status.st_mode & S_ISVTX == 0 else { return }
            guard chmod(path, status.st_mode & 0o700) == 0 else {
                throw FileFailure(path: path, problem: "taken from other users", code: errno)
            }
        }
    #endif
}

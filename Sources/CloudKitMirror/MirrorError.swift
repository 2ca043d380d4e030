import GRDB
import MistKit

/// A failure of a mirror's file. What an earlier page saved stays.
///
/// A refusal of the service is no `MirrorError`: it is thrown as the `CloudKitError` of the request.
public struct MirrorError: Error, Hashable, Sendable {
    /// The kind of failure.
    public var code: Code
    /// What was wrong, with the file's path.
    public var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The kinds of failure.
    public struct Code: Hashable, Sendable {
        private enum Kind: String, Hashable {
            case notAMirror, otherVersion, otherDatabase, otherUser, unreadable, unwritable, storage
            case changedMeanwhile, refusedToken, busy, closed
        }

        private let kind: Kind

        /// The file is not a mirror: it is not an SQLite database, or it is the database of another program.
        public static let notAMirror = Self(kind: .notAMirror)

        /// Another version of this library made the file. A mirror has everything from the service, so that a new file
        /// loses nothing.
        public static let otherVersion = Self(kind: .otherVersion)

        /// The file has the records of another container, environment or database.
        public static let otherDatabase = Self(kind: .otherDatabase)

        /// The file has the private database of another user.
        public static let otherUser = Self(kind: .otherUser)

        /// The file cannot be read.
        public static let unreadable = Self(kind: .unreadable)

        /// The file cannot be written: the path, its permissions, or the space on the disk.
        public static let unwritable = Self(kind: .unwritable)

        /// SQLite reported another failure, such as a damaged file.
        public static let storage = Self(kind: .storage)

        /// Another process wrote the file during an update, or while it was read. One at a time can.
        public static let changedMeanwhile = Self(kind: .changedMeanwhile)

        /// The service refused a change token that it had just issued.
        public static let refusedToken = Self(kind: .refusedToken)

        /// The file is in use: an update of this mirror is under way, here or in another process.
        public static let busy = Self(kind: .busy)

        /// The mirror was closed.
        public static let closed = Self(kind: .closed)
    }
}

extension MirrorError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}

extension MirrorError.Code: CustomStringConvertible {
    /// The name of the code.
    public var description: String { kind.rawValue }
}

extension MirrorError {
    static func notAMirror(_ path: String) -> MirrorError {
        MirrorError(.notAMirror, "\(path) is not a mirror.")
    }

    static func unreadable(_ path: String) -> MirrorError {
        MirrorError(.unreadable, "The file \(path) cannot be read.")
    }

    /// An error of the file as a mirror's error. Errors of requests stay as they are.
    static func of(_ error: any Error, at path: String) -> any Error {
        if error is MirrorError || error is CloudKitError || error is CancellationError { return error }
        guard let error = error as? DatabaseError else {
            return MirrorError(.storage, "\(path) cannot be used: \(error).")
        }
        if error.resultCode == .SQLITE_NOTADB { return notAMirror(path) }
        if [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) {
            return MirrorError(.busy, "Another process is writing \(path).")
        }
        let isUnwritable = [.SQLITE_CANTOPEN, .SQLITE_FULL, .SQLITE_PERM, .SQLITE_READONLY].contains(error.resultCode)
        return MirrorError(
            isUnwritable ? .unwritable : .storage,
            "\(path) cannot be used: \(error.message ?? "SQLite reported \(error.resultCode)")."
        )
    }
}

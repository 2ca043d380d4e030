import GRDB

/// A failure of a queue. Nothing was changed by the operation that threw it.
///
/// A refusal of the service is not a `MutationQueueError`: the mutation is kept, and ``MutationQueue/failures()``
/// reports it.
public struct MutationQueueError: Error, Hashable, Sendable {
    /// The kind of failure.
    public var code: Code
    /// What was wrong, and what to do.
    public var message: String

    /// Makes an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The kinds of failure.
    public struct Code: Hashable, Sendable {
        fileprivate enum Kind: String, Hashable, Sendable {
            case notADatabase, otherTables, newerFormat, damaged, storage, busy, full, readOnly
            case text, encoding, identifierTaken, limit
            case notFound, underWay, dependencyDiscarded
        }

        fileprivate let kind: Kind

        fileprivate init(_ kind: Kind) { self.kind = kind }
    }
}

// MARK: The file

extension MutationQueueError.Code {
    /// The file is not an SQLite database.
    public static let notADatabase = Self(.notADatabase)

    /// The file has tables with the names of the queue's that another program made. Use another file.
    public static let otherTables = Self(.otherTables)

    /// A later version of this library wrote the tables.
    public static let newerFormat = Self(.newerFormat)

    /// The file is damaged, or another program has removed a table of the queue.
    public static let damaged = Self(.damaged)

    /// The file cannot be read or written, for a reason that no other code covers.
    public static let storage = Self(.storage)

    /// Another process was writing to the file for longer than the connection waits. The same call may work later.
    public static let busy = Self(.busy)

    /// The disk is full.
    public static let full = Self(.full)

    /// The file or its folder cannot be written to.
    public static let readOnly = Self(.readOnly)
}

// MARK: Mutations

extension MutationQueueError.Code {
    /// A name is empty, longer than 1,000 bytes, or has a NUL, at which SQLite's texts end.
    public static let text = Self(.text)

    /// The mutation cannot be written as JSON.
    public static let encoding = Self(.encoding)

    /// The file has a mutation with this identifier already, or had one that was discarded.
    public static let identifierTaken = Self(.identifierTaken)

    /// The limit of attempts is not at least 1.
    public static let limit = Self(.limit)

    /// The queue has no mutation with this identifier: it was done, discarded or never added.
    public static let notFound = Self(.notFound)

    /// The mutation is being sent, so that its outcome is not known yet.
    public static let underWay = Self(.underWay)

    /// The mutation depends on one that was discarded, so that it could never be sent.
    public static let dependencyDiscarded = Self(.dependencyDiscarded)
}

extension MutationQueueError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { kind.rawValue }
}

extension MutationQueueError: CustomStringConvertible {
    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}

extension MutationQueueError {
    /// Runs a closure that uses SQLite, and throws a failure of SQLite as a `MutationQueueError`.
    static func wrapping<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw MutationQueueError(error)
        }
    }

    init(_ error: DatabaseError) {
        let said = error.message ?? "no message"
        switch error.resultCode {
        case .SQLITE_NOTADB: self.init(.notADatabase, "The file is not an SQLite database. Choose another file.")
        case .SQLITE_CORRUPT: self.init(.damaged, "The file is damaged: \(said). Restore it from a backup.")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.busy, "Another process was writing to the file for too long: \(said). Try again.")
        case .SQLITE_FULL: self.init(.full, "The disk is full. Free some space and try again.")
        // SQLite extends the index of the write-ahead log before it uses it. This fails only where the disk is full.
        case .SQLITE_IOERR where [.SQLITE_IOERR_SHMSIZE, .SQLITE_IOERR_WRITE].contains(error.extendedResultCode):
            self.init(.full, "The disk is full, or does not take what is written to it: \(said). Free some space.")
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            self.init(.readOnly, "The file cannot be opened for writing: \(said). Check its permissions.")
        case .SQLITE_ERROR where said.contains("mist_"):
            self.init(.damaged, "SQLite reported: \(said). Another program has changed a table of the queue.")
        default: self.init(.storage, "SQLite reported \(error.extendedResultCode): \(said).")
        }
    }
}

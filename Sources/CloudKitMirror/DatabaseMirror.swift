public import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A copy of a database's records in an SQLite file, which updates keep up to date.
///
/// ```swift
/// let mirror = try DatabaseMirror(at: URL(fileURLWithPath: "notes.sqlite"), of: service.privateDatabase)
/// let counts = try await mirror.update(.allZones)
/// try await mirror.close()
/// print("\(counts.written) records written, \(counts.deleted) deleted")
/// // POST .../private/changes/database  {}
/// // POST .../private/changes/zone  {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"..."}]}
/// ```
///
/// The first update copies everything. Each later one fetches only what changed, deletions included. The rows of a page and
/// its change token are saved in one transaction, so that an update which was killed continues where it stopped. If the
/// service no longer accepts a token, the zone is read from the start; its rows stay until all of it was read.
///
/// The file has a table for each record type and a column for each field. Its name is that of the type; another table has
/// it where two types differ only in upper and lower case, or where the name is reserved, and then `mirror_type` says which.
///
/// | field | column |
/// | --- | --- |
/// | `STRING` | `TEXT` |
/// | `INT64` | `INTEGER` |
/// | `DOUBLE` | `REAL` |
/// | `TIMESTAMP` | `TEXT`, such as `2026-01-31T12:00:00.000Z`; milliseconds outside of the years 0 to 9999 |
/// | `BYTES` | `BLOB` |
/// | `REFERENCE` | `TEXT`: the record name |
/// | `LOCATION`, `ASSETID` | `TEXT`: a JSON object |
/// | lists | `TEXT`: a JSON array |
///
/// The columns `recordName`, `zone`, `zoneOwner`, `changeTag`, `created`, `createdBy`, `modified`, `modifiedBy`, `parent`
/// and `share` come first. The record as the service sent it is in `mirror_record`, from where ``MirroredRecords`` reads
/// it. The bytes of assets are not copied.
///
/// From the second update on, other programs can read the file while it is written. Several processes may update it, one
/// after the other.
public actor DatabaseMirror {
    /// The SQLite file; `nil` for a mirror in memory.
    public nonisolated let url: URL?
    /// The database whose records the file has.
    public nonisolated let database: CloudKitDatabase

    private let file: MirrorFile
    private var state = State.idle

    private enum State {
        case idle, busy, closed
    }

    /// Opens a mirror, or makes one.
    ///
    /// - Parameters:
    ///   - url: The SQLite file. Its folder exists.
    ///   - database: The database whose records the file has, or is to have.
    /// - Throws: ``MirrorError`` for a file that is not a mirror, has the records of another database, or cannot be used.
    ///   Such a file is not changed.
    public init(at url: URL, of database: CloudKitDatabase) throws {
        self.url = url
        self.database = database
        file = try MirrorFile(at: url, origin: MirrorOrigin(database))
    }

    /// Makes a mirror in memory, for a preview of a first update.
    ///
    /// - Parameter database: The database whose records the mirror is to have.
    /// - Throws: ``MirrorError`` when there is not enough memory.
    public init(inMemoryOf database: CloudKitDatabase) throws {
        url = nil
        self.database = database
        file = try MirrorFile(at: nil, origin: MirrorOrigin(database))
    }

    /// The database whose records a file has.
    ///
    /// - Parameter url: The file.
    /// - Returns: The database; `nil` where there is no file, or an empty one.
    /// - Throws: ``MirrorError`` for a file that is not a mirror, or cannot be read.
    public static func origin(ofFileAt url: URL) throws -> MirrorOrigin? {
        try MirrorFile.origin(ofFileAt: url)
    }

    /// Fetches what changed since the last update, and saves it.
    ///
    /// - Parameters:
    ///   - selection: What is copied.
    ///   - time: The time that the file names as that of its last update.
    ///   - progress: Called after each page with what was written so far.
    /// - Returns: What was written.
    /// - Throws: ``MirrorError``, the `CloudKitError` of a request, or `CancellationError`. The pages before stay, and the
    ///   next update continues after them.
    @discardableResult
    public func update(
        _ selection: MirrorSelection,
        at time: Date = Date(),
        progress: @escaping @Sendable (MirrorCounts) -> Void = { _ in }
    ) async throws -> MirrorCounts {
        try begin()
        defer { state = .idle }
        do {
            var update = MirrorUpdate(file, from: database, report: progress)
            try await update.run(selection, at: time)
            return file.counts
        } catch {
            // The error of the update says more than one of this commit, which may have the same cause.
            try? file.commit()
            throw error
        }
    }

    /// Fetches everything that an update would fetch, and writes nothing.
    ///
    /// - Parameter selection: What an update would copy.
    /// - Returns: The numbers of what an update would fetch and remove.
    /// - Throws: ``MirrorError`` or the `CloudKitError` of a request.
    public func preview(_ selection: MirrorSelection) async throws -> MirrorPreview {
        try begin()
        defer { state = .idle }
        return try await MirrorUpdate(file, from: database, report: { _ in }).preview(selection)
    }

    /// Writes a copy of the file beside it, named by the time, such as `notes-2026-11-23T020000Z.sqlite`. A second copy of
    /// the same second has the number 2 in its name.
    ///
    /// - Parameter time: The time for the name.
    /// - Returns: The copy, which appears when it is complete.
    /// - Throws: ``MirrorError``.
    public func writeCopy(at time: Date = Date()) throws -> URL {
        try begin()
        defer { state = .idle }
        return try file.writeCopy(at: time)
    }

    /// Closes the file. A closed mirror throws the code ``MirrorError/Code/closed``.
    ///
    /// - Throws: ``MirrorError``, with the code ``MirrorError/Code/busy`` during an update.
    public func close() throws {
        guard state != .closed else { return }
        try begin()
        state = .idle
        try file.close()
        state = .closed
    }

    private func begin() throws(MirrorError) {
        switch state {
        case .idle: state = .busy
        case .busy: throw MirrorError(.busy, "An update of \(file.name) is under way.")
        case .closed: throw MirrorError(.closed, "\(file.name) was closed.")
        }
    }
}

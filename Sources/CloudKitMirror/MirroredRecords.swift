import GRDB
public import MistKit
import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The records of a mirror as the service sent them, one after the other.
///
/// ```swift
/// var records = try MirroredRecords(ofFileAt: file, in: ZoneID(zoneName: "Notes"))
/// while let item = try records.next() {
///     try await database.forceReplace(item.record())
/// }
/// ```
///
/// Shares are left out, since they cannot be saved again. Records without references that the service validates come
/// first, and in each group the oldest one, so that a record mostly follows those that it refers to.
public struct MirroredRecords: Sendable {
    /// The number of records.
    public var count: Int { order.count }
    /// The bytes of all records as JSON.
    public let size: Int64
    /// The number of shares, which are left out.
    public let shares: Int

    private let queue: DatabaseQueue
    private let name: String
    /// The IDs of the records in their order.
    private let order: [Int64]
    private var position: Int

    /// Opens a mirror for reading.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - zone: The zone whose records are read; all when `nil`. Without an owner, it is the zones of this name of all
    ///     owners.
    ///   - position: The number of records to skip: the ``MirroredRecord/position`` of the last one that was handled. A
    ///     negative number counts as 0.
    /// - Throws: ``MirrorError`` for a file that is not a mirror, or cannot be read.
    public init(ofFileAt url: URL, in zone: ZoneID? = nil, startingAfter position: Int = 0) throws {
        name = url.relativePath
        guard try MirrorFile.origin(ofFileAt: url) != nil else { throw MirrorError.unreadable(name) }
        self.position = max(0, position)
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            let queue = try DatabaseQueue(path: url.path, configuration: configuration)
            self.queue = queue
            (order, size, shares) = try queue.read { db in
                let records = """
                    FROM mirror_record r JOIN mirror_type t ON t.id = r.type JOIN mirror_zone z ON z.id = r.zone
                    WHERE (t.recordType <> 'cloudkit.share') = ?1 AND z.zone = coalesce(?2, z.zone)
                        AND z.zoneOwner = coalesce(?3, z.zoneOwner)
                    """
                // The target of a reference was usually created before the record that refers to it.
                let order = try Int64.fetchAll(
                    db,
                    sql: """
                        SELECT r.id \(records)
                        ORDER BY instr(r.record, '"VALIDATE"') > 0, json_extract(r.record, '$.created.timestamp'), r.id
                        """,
                    arguments: [true, zone?.zoneName, zone?.owner]
                )
                let sum = "SELECT sum(length(CAST(r.record AS BLOB))) \(records)"
                let size = try Int64.fetchOne(db, sql: sum, arguments: [true, zone?.zoneName, zone?.owner]) ?? 0
                let shares =
                    try Int.fetchOne(
                        db,
                        sql: "SELECT count(*) \(records)",
                        arguments: [false, zone?.zoneName, zone?.owner]
                    ) ?? 0
                return (order, size, shares)
            }
        } catch {
            throw MirrorError.of(error, at: name)
        }
    }

    /// Reads the next record.
    ///
    /// - Returns: The record; `nil` after the last one.
    /// - Throws: ``MirrorError``, with the code ``MirrorError/Code/changedMeanwhile`` where an update removed the record.
    public mutating func next() throws -> MirroredRecord? {
        guard position < order.count else { return nil }
        let row: (name: String, zone: ZoneID, json: Data)?
        do {
            row = try queue.read { [order, position] db in
                let row = try Row.fetchOne(
                    db.cachedStatement(
                        sql: """
                            SELECT r.recordName, z.*, CAST(r.record AS BLOB) AS json FROM mirror_record r
                            JOIN mirror_zone z ON z.id = r.zone WHERE r.id = ?
                            """
                    ),
                    arguments: [order[position]]
                )
                return row.map { ($0["recordName"], MirrorZone($0).zoneID, $0["json"]) }
            }
        } catch {
            throw MirrorError.of(error, at: name)
        }
        guard let row else {
            throw MirrorError(.changedMeanwhile, "A record of \(name) disappeared while the file was read.")
        }
        position += 1
        return MirroredRecord(recordName: row.name, zoneID: row.zone, json: Array(row.json), position: position)
    }
}

/// A record of a mirror.
public struct MirroredRecord: Hashable, Sendable {
    /// The record's name.
    public var recordName: String
    /// Its zone; with the owner in a mirror of the shared database.
    public var zoneID: ZoneID
    /// The record dictionary, UTF-8.
    public var json: [UInt8]
    /// The number of records up to this one.
    public var position: Int

    /// Reads the record dictionary. The record is in ``zoneID``.
    ///
    /// - Returns: The record.
    /// - Throws: A `JSONError` where the file was changed by hand.
    public func record() throws -> MistKit.Record {
        var record = try JSONReader.read(MistKit.Record.self, from: json)
        record.zoneID = zoneID
        return record
    }
}

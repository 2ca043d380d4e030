import Foundation
import GRDB
import MistKit
import MistStore
import StreamingJSON

/// The records of a mirror in the order in which they are restored.
struct MirrorReader: TransferSource {
    private let queue: DatabaseQueue
    private let path: String
    /// The IDs of the records in the order in which they are restored.
    ///
    /// Records without references that the service validates come first. In each group the oldest record is first.
    private let order: [Int64]
    private var index: Int
    /// The bytes of the records before the next one.
    private var bytes: Int64
    /// The bytes of all records.
    let size: Int64
    /// The number of shares, which cannot be restored.
    let shares: Int

    /// Opens a mirror.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - zone: The zone whose records are restored; all when `nil`.
    ///   - journal: The progress of an earlier run.
    /// - Throws: ``CommandError`` for a file that is not a mirror.
    init(path: String, zone: String?, after journal: TransferJournal) throws(CommandError) {
        guard try MirrorFile.origin(ofFileAt: path) != nil else { throw CommandError.unreadable(path) }
        self.path = path
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            self.queue = queue
            (order, size, shares) = try queue.read { db in
                let records = """
                    FROM mirror_record r JOIN mirror_type t ON t.id = r.type JOIN mirror_zone z ON z.id = r.zone
                    WHERE (t.recordType <> 'cloudkit.share') = ?1 AND z.zone = coalesce(?2, z.zone)
                    """
                // The target of a reference was usually created before the record that refers to it.
                let order = try Int64.fetchAll(
                    db,
                    sql: """
                        SELECT r.id \(records)
                        ORDER BY instr(r.record, '"VALIDATE"') > 0, json_extract(r.record, '$.created.timestamp'), r.id
                        """,
                    arguments: [true, zone]
                )
                let sum = "SELECT sum(length(CAST(r.record AS BLOB))) \(records)"
                let size = try Int64.fetchOne(db, sql: sum, arguments: [true, zone]) ?? 0
                let shares = try Int.fetchOne(db, sql: "SELECT count(*) \(records)", arguments: [false, zone]) ?? 0
                return (order, size, shares)
            }
        } catch {
            throw MirrorFile.commandError(error, path)
        }
        index = journal.position.flatMap { Int($0) } ?? 0
        bytes = journal.bytes
    }

    mutating func next() throws -> ImportReader.Item? {
        guard index < order.count else { return nil }
        let row: (name: String, zone: String, json: String)?
        do {
            row = try queue.read { [order, index] db in
                let row = try Row.fetchOne(
                    db.cachedStatement(
                        sql: """
                            SELECT r.recordName, z.zone, CAST(r.record AS BLOB) FROM mirror_record r
                            JOIN mirror_zone z ON z.id = r.zone WHERE r.id = ?
                            """
                    ),
                    arguments: [order[index]]
                )
                return row.map { ($0[0], $0[1], String(decoding: $0[2] as Data, as: UTF8.self)) }
            }
        } catch {
            throw MirrorFile.commandError(error, path)
        }
        guard let row else {
            throw CommandError(
                code: .data,
                message: "A record of \(path) disappeared while it was restored.",
                remedy: "Run the command again while no other command writes the file."
            )
        }
        index += 1
        let json = Array(row.json.utf8)
        bytes += Int64(json.count)
        return ImportReader.Item(
            line: index,
            label: "record \(row.name) of \(row.zone)",
            bytes: json,
            record: ImportReader.record(inJSON: json).map { record in
                var record = record
                record.zoneID = ZoneID(zoneName: row.zone)
                return record
            },
            end: bytes,
            position: String(index)
        )
    }
}

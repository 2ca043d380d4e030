import CloudKitMirror
import Foundation
import MistKit

/// The records of a mirror, as those of an import.
struct MirrorSource: TransferSource {
    private var records: MirroredRecords
    /// The bytes of the records before the next one.
    private var bytes: Int64
    /// The bytes of all records.
    var size: Int64 { records.size }
    /// The number of shares, which cannot be restored.
    var shares: Int { records.shares }

    /// Opens a mirror.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - zone: The zone whose records are restored; all when `nil`.
    ///   - journal: The progress of an earlier run.
    /// - Throws: `MirrorError` for a file that is not a mirror.
    init(path: String, zone: String?, after journal: TransferJournal) throws {
        let position = journal.position.flatMap { Int($0) } ?? 0
        records = try MirroredRecords(
            ofFileAt: URL(fileURLWithPath: path),
            in: zone.map { ZoneID(zoneName: $0) },
            startingAfter: position
        )
        bytes = journal.bytes
    }

    mutating func next() throws -> ImportReader.Item? {
        guard let item = try records.next() else { return nil }
        bytes += Int64(item.json.count)
        return ImportReader.Item(
            line: item.position,
            label: "record \(item.recordName) of \(item.zoneID.zoneName)",
            bytes: item.json,
            record: Result {
                var record = try item.record()
                // The zone of the same name in the database of the settings: its owner may be another user.
                record.zoneID = ZoneID(zoneName: item.zoneID.zoneName)
                return record
            }.mapError { error in
                CommandError(code: .data, message: "\(error)", remedy: "Make the mirror again in a new file.")
            },
            end: bytes,
            position: String(item.position)
        )
    }
}

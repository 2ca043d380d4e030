import Foundation
import MistKit
import StreamingJSON

/// A change as `mistkit watch` prints it.
enum WatchedChange: Sendable {
    case created(Record)
    case changed(Record)
    case deleted(Record)
    case zoneDeleted(ZoneID)

    /// A record of a feed. A record that was not modified after its creation is new.
    init(_ record: Record) {
        if record.isDeleted {
            self = .deleted(record)
        } else if let created = record.created?.timestamp, created == record.modified?.timestamp {
            self = .created(record)
        } else {
            self = .changed(record)
        }
    }

    private var word: String {
        switch self {
        case .created: "created"
        case .changed: "changed"
        case .deleted: "deleted"
        case .zoneDeleted: "zoneDeleted"
        }
    }

    /// `2026-11-23T12:00:00Z created Notes/milk Note title: Buy milk, rating: 4`
    func line(in zone: ZoneID, at time: Date) -> String {
        let start = FieldText.describe(Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.down)))
        switch self {
        case .zoneDeleted(let zone): return TextTable.singleLine("\(start) deleted zone \(zone)")
        case .created(let record), .changed(let record), .deleted(let record):
            let fields = record.fields.map { "\($0.name): \(FieldText.describe($0.value))" }.joined(separator: ", ")
            let parts = [start, word, "\(zone.zoneName)/\(record.recordName ?? "")", record.recordType ?? "", fields]
            return TextTable.singleLine(parts.filter { !$0.isEmpty }.joined(separator: " "))
        }
    }

    /// `{"change":"created","record":{…}}`
    func json(in zone: ZoneID) throws -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("change")
        writer.write(word)
        switch self {
        case .zoneDeleted(let zone):
            writer.key("zoneID")
            writer.write(zone)
        case .created(var record), .changed(var record), .deleted(var record):
            record.zoneID = record.zoneID ?? zone
            writer.key("record")
            writer.write(record)
        }
        writer.endObject()
        return String(decoding: try writer.finish(), as: UTF8.self)
    }
}

/// Prints changes, up to a limit.
struct WatchOutput: Sendable {
    private let format: WatchCommand.Format
    private var left: Int?

    init(_ format: WatchCommand.Format, limit: Int?) {
        self.format = format
        left = limit
    }

    /// Whether the limit is reached, or the reader of the output has stopped.
    var isFull: Bool { left == 0 || Terminal.isOutputClosed }

    mutating func print(_ change: WatchedChange, in zone: ZoneID) throws {
        guard !isFull else { return }
        left = left.map { $0 - 1 }
        switch format {
        case .text: Terminal.writeLine(change.line(in: zone, at: Date()))
        case .ndjson: Terminal.writeLine(try change.json(in: zone))
        }
    }
}

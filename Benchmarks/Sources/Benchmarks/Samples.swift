import CloudKitModel
import Foundation
import StreamingJSON

/// The body of a response with records, read with CloudKitModel's types.
struct Page: JSONReadable {
    var records: [RecordResult] = []
    var continuationMarker: String?
    var syncToken: String?

    private static let keys = JSONKeys("records", "continuationMarker", "syncToken")

    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: records = try reader.read()
            case 1: continuationMarker = try reader.read()
            case 2: syncToken = try reader.read()
            default: try reader.skipValue()
            }
        }
    }
}

/// A request of `records/modify`, written with CloudKitModel's types.
struct ModifyRequest: JSONWritable {
    var operations: [RecordOperation]
    var zoneID: ZoneID

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operations")
        writer.write(operations)
        writer.key("zoneID")
        writer.write(zoneID)
        writer.key("atomic")
        writer.write(true)
        writer.endObject()
    }
}

enum Samples {
    static let recordCount = 200

    // A page of records with 12 fields of mixed types, as the service would send it, but without spaces. It is the same
    // every time. With `hasMore` it says that another page follows.
    static func page(hasMore: Bool = true) throws -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("records")
        writer.beginArray()
        for index in 0..<recordCount {
            writer.write(record(index))
        }
        writer.endArray()
        if hasMore {
            writer.key("continuationMarker")
            writer.write("EgYZYs4rPu8aKAokNTFBQjhGN0YtQ0YxRi00MENELTlBODUtNEEwQjE3NDUzRkY0EAE=")
        }
        writer.endObject()
        return try writer.finish()
    }

    /// Two hundred operations that save the page's records.
    static func operations() -> [RecordOperation] {
        (0..<recordCount).map { index in
            var record = record(index)
            record.created = nil
            record.modified = nil
            record.zoneID = nil
            record.pluginFields = nil
            return RecordOperation(.update, record: Record(request: record))
        }
    }

    private static func record(_ index: Int) -> Record {
        let user = "_cfcd54372a11173505ad48f023ba188d"
        let zone = ZoneID(
            zoneName: "Notes",
            ownerRecordName: user,
            zoneType: .regularCustomZone
        )
        var record = Record(
            recordType: "Note",
            recordName: String(format: "A5A7C0F1-BE37-46D8-9A99-%012X", index * 7919),
            recordChangeTag: String(index + 46656, radix: 36),
            fields: fields(index),
            created: Record.Stamp(
                timestamp: Date(timeIntervalSince1970: 1_686_106_171.024 + Double(index)),
                userRecordName: user,
                deviceID: "10D26FAEB98CF62382056A6813126093E3CC11C07B3DF3BDEBC4B50A7649973B"
            ),
            modified: Record.Stamp(
                timestamp: Date(timeIntervalSince1970: 1_686_106_458.41 + Double(index)),
                userRecordName: user,
                deviceID: "2"
            ),
            isDeleted: false,
            zoneID: zone
        )
        record.pluginFields = [:]
        return record
    }

    private static func fields(_ index: Int) -> Record.Fields {
        [
            "title": .string("Note number \(index), about nothing in particular"),
            "body": .string(String(repeating: "The quick brown fox jumps over the lazy dog. ", count: 2 + index % 3)),
            "author": .string(index % 5 == 0 ? "Zoë Müller" : "Mei Chen"),
            "count": .int64(Int64(index) * 37),
            "rating": .double(Double(index % 50) / 10 + 0.05),
            "createdOn": .timestamp(Date(timeIntervalSince1970: 1_600_000_000 + Double(index) * 86_400)),
            "digest": .bytes(Data((0..<24).map { UInt8(truncatingIfNeeded: $0 * 31 + index) })),
            "parentNote": .reference(
                Reference(
                    recordName: "Parent-\(index % 20)",
                    action: .deleteSelf,
                    zoneID: ZoneID(zoneName: "Notes", ownerRecordName: "_cfcd54372a11173505ad48f023ba188d")
                )
            ),
            "place": .location(
                Location(latitude: 59.9 + Double(index) / 1000, longitude: 10.7 - Double(index) / 1000, altitude: 12.5)
            ),
            "tags": .list(["swift", "cloud", "tag\(index % 7)"]),
            "scores": .list([index, index * 2, index * 3]),
            "isPinned": .bool(index % 2 == 0),
        ]
    }

    /// The same operations in the model of the baseline.
    static func codableOperations() throws -> CodableModifyRequest {
        let request = ModifyRequest(operations: operations(), zoneID: ZoneID(zoneName: "Notes"))
        return try JSONDecoder().decode(CodableModifyRequest.self, from: Data(JSONWriter.bytes(of: request)))
    }
}

extension Record {
    /// The part of a record that a request sends.
    fileprivate init(request record: Record) {
        self.init(
            recordType: record.recordType,
            recordName: record.recordName,
            recordChangeTag: record.recordChangeTag,
            fields: record.fields
        )
    }
}

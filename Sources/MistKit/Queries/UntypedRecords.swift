import CloudKitModel
import CloudKitWebServices
import StreamingJSON

/// The body of a page of a query, for records of any type.
///
/// The generated type of the response has its records as `RecordOutput`, which a server also writes records of its storage
/// with. Reading through it costs two more copies of each record, 5 % of the instructions of a call
/// (`Scripts/measure-call`).
struct UntypedRecords: QueryPageBody {
    private var items: [RecordResult] = []
    private(set) var continuationMarker: String?

    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey(in: recordsKeys) {
            switch key {
            case 0:
                items = []
                guard try !reader.readNullIfPresent() else { continue }
                try reader.beginArray()
                while try reader.nextElement() { items.append(try RecordResult(json: &reader)) }
            case 1: continuationMarker = try reader.readNullIfPresent() ? nil : try reader.readString()
            default: try reader.skipValue()
            }
        }
    }

    func results(in origin: ResponseOrigin) -> [Result<Record, CloudKitError>] {
        items.map { $0.result(requested: nil, in: origin) }
    }
}

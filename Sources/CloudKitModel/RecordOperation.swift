public import StreamingJSON

/// One operation of `records/modify`. A request has at most 200 operations, and at most one for each record.
///
/// ```swift
/// RecordOperation(.create, record: Record(recordType: "Note", fields: ["title": "Hello"]))
/// // {"operationType":"create","record":{"recordType":"Note","fields":{"title":{"value":"Hello","type":"STRING"}}}}
/// ```
public struct RecordOperation: Hashable, Sendable {
    /// What to do.
    public var operationType: OperationType
    /// The record to change.
    public var record: Record
    /// The fields of the record in the response; `nil` means all fields, an empty list means no fields.
    public var desiredKeys: [String]?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes an operation.
    public init(_ operationType: OperationType, record: Record, desiredKeys: [String]? = nil) {
        self.operationType = operationType
        self.record = record
        self.desiredKeys = desiredKeys
    }
}

extension RecordOperation: JSONBackedCodable {
    private enum Key: String, NounKey { case operationType, record, desiredKeys }
    private static let keys = NounKeys<Key>()

    /// Reads an operation; `operationType` and `record` are required.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var operationType: OperationType?
        var record: Record?
        var desiredKeys: [String]?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .operationType: operationType = try otherKeys.read(key, from: &reader)
            case .record: record = try otherKeys.read(key, from: &reader)
            case .desiredKeys: desiredKeys = try otherKeys.read(key, from: &reader)
            }
        }
        guard let operationType, let record else {
            throw reader.error(.missingKey, "a record operation needs \"operationType\" and \"record\"")
        }
        self.init(operationType, record: record, desiredKeys: desiredKeys)
        self.otherKeys = otherKeys
    }

    /// Writes `{"operationType":…,"record":{…},"desiredKeys":[…]}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        writer.write(operationType.rawValue)
        writer.key("record")
        record.write(json: &writer)
        otherKeys.write("desiredKeys", desiredKeys, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}

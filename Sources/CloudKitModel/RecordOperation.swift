public import StreamingJSON

/// One operation of `records/modify`. A request takes at most 200 of them, and at most one for a record.
///
/// ```swift
/// RecordOperation(.create, record: Record(recordType: "Note", fields: ["title": "Hello"]))
/// // {"operationType":"create","record":{"recordType":"Note","fields":{"title":{"value":"Hello","type":"STRING"}}}}
/// ```
public struct RecordOperation: Hashable, Sendable {
    /// What to do with a record.
    public struct OperationType: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the operation spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `create`: makes a record; fails when there is one of that name.
        public static let create: OperationType = "create"
        /// `update`: changes the given fields; fails when the change tag is old.
        public static let update: OperationType = "update"
        /// `forceUpdate`: changes the given fields whatever the change tag; creates a missing record.
        public static let forceUpdate: OperationType = "forceUpdate"
        /// `replace`: replaces all fields; fails when the change tag is old.
        public static let replace: OperationType = "replace"
        /// `forceReplace`: replaces all fields whatever the change tag; creates a missing record.
        public static let forceReplace: OperationType = "forceReplace"
        /// `delete`: removes the record; fails when the change tag is old.
        public static let delete: OperationType = "delete"
        /// `forceDelete`: removes the record whatever the change tag.
        public static let forceDelete: OperationType = "forceDelete"
    }

    /// What to do.
    public var operationType: OperationType
    /// The record to do it to.
    public var record: Record
    /// The fields that the reply shall have; `nil` means all, an empty list none.
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
    private static let keys = JSONKeys("operationType", "record", "desiredKeys")

    /// Reads an operation; `operationType` and `record` are needed.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var operationType: OperationType?
        var record: Record?
        var desiredKeys: [String]?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: operationType = try otherKeys.read(key, from: &reader)
            case 1: record = try otherKeys.read(key, from: &reader)
            case 2: desiredKeys = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
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
        otherKeys.write(2, "desiredKeys", desiredKeys, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

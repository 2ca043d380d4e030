public import StreamingJSON

/// A pointer from one record to another.
///
/// ```swift
/// Reference(recordName: "Mei Chen", action: .deleteSelf)
/// // {"recordName":"Mei Chen","action":"DELETE_SELF"}
/// ```
public struct Reference: Hashable, Sendable {
    /// What the service does when the target of a reference is deleted.
    public struct Action: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the action spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `NONE`: nothing; the reference dangles.
        public static let none: Action = "NONE"
        /// `DELETE_SELF`: the referring record is deleted too. At most 750 records may refer to one target this way.
        public static let deleteSelf: Action = "DELETE_SELF"
        /// `VALIDATE`: the target must exist when the reference is saved, and cannot be deleted while it is referred to.
        public static let validate: Action = "VALIDATE"
    }

    /// The name of the record that is pointed to.
    public var recordName: String
    /// What happens when the target is deleted. Required in records, left out of ``Record/parent`` when it is `.none`.
    public var action: Action
    /// The target's zone; `nil` means the zone of the referring record.
    public var zoneID: ZoneID? {
        get { zone?.value }
        set { zone = newValue.map(Box.init) }
    }
    private var zone: Box<ZoneID>?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var hadNoAction = WireNote(false)

    /// Makes a reference to the record `recordName`.
    public init(recordName: String, action: Action = .none, zoneID: ZoneID? = nil) {
        self.recordName = recordName
        self.action = action
        self.zone = zoneID.map(Box.init)
    }
}

extension Reference: JSONBackedCodable {
    private static let keys = JSONKeys("recordName", "action", "zoneID")

    /// Reads a reference; `action` may be absent, as it is in queries and parents.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var recordName: String?
        var action: Action?
        var zone: Box<ZoneID>?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: recordName = try otherKeys.read(key, from: &reader)
            case 1: action = try otherKeys.read(key, from: &reader)
            case 2: zone = try otherKeys.readBox(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
        guard let recordName else {
            throw reader.error(.missingKey, "a reference needs \"recordName\"")
        }
        self.init(recordName: recordName, action: action ?? .none)
        self.zone = zone
        self.otherKeys = otherKeys
        hadNoAction.value = action == nil
    }

    /// Writes `{"recordName":…,"action":…,"zoneID":{…}}`.
    public func write(json writer: inout JSONWriter) {
        write(json: &writer, omittingNoAction: false)
    }

    /// Writes the reference; without `action` where that is `NONE` and not asked for.
    func write(json writer: inout JSONWriter, omittingNoAction: Bool) {
        writer.beginObject()
        writer.key("recordName")
        writer.write(recordName)
        let omits = action == .none && (omittingNoAction || hadNoAction.value)
        otherKeys.write(1, "action", omits ? nil : action, to: &writer)
        otherKeys.write(2, "zoneID", zoneID, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

public import StreamingJSON

/// A reference from one record to another.
///
/// ```swift
/// Reference(recordName: "Mei Chen", action: .deleteSelf)
/// // {"recordName":"Mei Chen","action":"DELETE_SELF"}
/// ```
public struct Reference: Hashable, Sendable {
    /// The name of the target record.
    public var recordName: String
    /// What happens to the referring record when the target is deleted. Fields require it; ``Record/parent`` leaves it
    /// out when it is `.none`.
    public var action: Action
    /// The target's zone; `nil` means the zone of the referring record.
    public var zoneID: ZoneID? {
        get { zone?.value }
        set { zone = newValue.map(Box.init) }
    }
    private var zone: Box<ZoneID>?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var hadNoAction = ExcludedFromEquality(false)
}

// In an extension, so that the compiler still makes the memberwise initialiser.
extension Reference {
    /// Makes a reference to the record `recordName`.
    public init(recordName: String, action: Action = .none, zoneID: ZoneID? = nil) {
        self.init(recordName: recordName, action: action, zone: zoneID.map(Box.init))
    }
}

extension Reference: JSONBackedCodable {
    private enum Key: String, NounKey { case recordName, action, zoneID }
    private static let keys = NounKeys<Key>()

    /// Reads a reference; `action` may be absent, as it is in queries and parents.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var recordName: String?
        var action: Action?
        var zone: Box<ZoneID>?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .recordName: recordName = try otherKeys.read(key, from: &reader)
            case .action: action = try otherKeys.read(key, from: &reader)
            case .zoneID: zone = try otherKeys.readBox(key, from: &reader)
            }
        }
        guard let recordName else {
            throw reader.error(.missingKey, "a reference needs \"recordName\"")
        }
        self.init(
            recordName: recordName,
            action: action ?? .none,
            zone: zone,
            otherKeys: otherKeys,
            hadNoAction: ExcludedFromEquality(action == nil)
        )
    }

    /// Writes `{"recordName":…,"action":…,"zoneID":{…}}`.
    public func write(json writer: inout JSONWriter) {
        write(json: &writer, omittingNoAction: false)
    }

    /// Writes the reference; without `action` when it is `NONE` and the caller, or the JSON that was read, leaves it
    /// out.
    func write(json writer: inout JSONWriter, omittingNoAction: Bool) {
        writer.beginObject()
        writer.key("recordName")
        writer.write(recordName)
        let omits = action == .none && (omittingNoAction || hadNoAction.value)
        otherKeys.write("action", omits ? nil : action, to: &writer)
        otherKeys.write("zoneID", zoneID, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}

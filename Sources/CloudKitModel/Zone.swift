public import StreamingJSON

/// The name of a record zone.
///
/// ```swift
/// ZoneID(zoneName: "Notes")
/// // {"zoneName":"Notes"}
/// ```
///
/// Every `zoneID` of a request to the shared database must carry `ownerRecordName`.
public struct ZoneID: Hashable, Sendable {
    /// The zone's name: `_defaultZone`, or ASCII of at most 255 characters that does not begin with `_`.
    public var zoneName: String
    /// The user record name of the zone's owner; absent means the caller. `_defaultOwner` also stands for the caller.
    public var ownerRecordName: String?
    /// The kind of the zone; only in responses.
    public var zoneType: ZoneType?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a zone's name.
    public init(zoneName: String, ownerRecordName: String? = nil, zoneType: ZoneType? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
        self.zoneType = zoneType
    }

    /// The zone that every database has, `_defaultZone`.
    public static let `default` = ZoneID(zoneName: "_defaultZone")

    /// The owner's user record name, from `ownerRecordName` or `ownerName`.
    ///
    /// Some clients send `ownerName` in requests, and the service accepts it as `ownerRecordName` (observed by a public
    /// client; Apple's pages and CloudKit JS use `ownerRecordName` in requests and responses). `ownerName` is kept in
    /// ``otherKeys``, so that it is written as it was read. This property reads both keys, `ownerRecordName` first.
    public var owner: String? {
        if let ownerRecordName { return ownerRecordName }
        guard let raw = otherKeys["ownerName"] else { return nil }
        return try? raw.read(String.self)
    }
}

extension ZoneID: CustomStringConvertible {
    /// The zone's name, and its owner if that is another user: `Notes`, `Notes of _a1b2`.
    public var description: String {
        guard let owner, owner != "_defaultOwner" else { return zoneName }
        return "\(zoneName) of \(owner)"
    }
}

extension ZoneID: JSONBackedCodable {
    private enum Key: String, NounKey { case zoneName, ownerRecordName, zoneType }
    private static let keys = NounKeys<Key>()

    /// Reads a zone ID; a missing `zoneName` means `_defaultZone`, as it does for the service.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(zoneName: Self.default.zoneName)
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .zoneName: zoneName = try otherKeys.readRepeated(key, from: &reader) ?? Self.default.zoneName
            case .ownerRecordName: ownerRecordName = try otherKeys.readRepeated(key, from: &reader)
            case .zoneType: zoneType = try otherKeys.read(key, from: &reader)
            }
        }
    }

    /// Writes `{"zoneName":…,"ownerRecordName":…,"zoneType":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        let wasNull = zoneName == ZoneID.default.zoneName && otherKeys.nulls.contains("zoneName")
        otherKeys.write("zoneName", wasNull ? nil : zoneName, to: &writer)
        otherKeys.write("ownerRecordName", ownerRecordName, to: &writer)
        otherKeys.write("zoneType", zoneType, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}

extension Zone {
    /// Whether the zone was removed (`deleted`); only in change feeds.
    public var isDeleted: Bool {
        get { deleted ?? false }
        set { deleted = newValue }
    }
}

extension ZoneOperation {
    /// Makes an operation.
    ///
    /// ```swift
    /// ZoneOperation(.create, zone: Zone(zoneID: ZoneID(zoneName: "Notes")))
    /// // {"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}}
    /// ```
    public init(_ operationType: OperationType, zone: Zone) {
        self.init(operationType: operationType, zone: zone)
    }
}

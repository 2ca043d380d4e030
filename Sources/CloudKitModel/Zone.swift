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
    /// What kind of zone it is; only in responses.
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

    /// The owner, under whichever key it came.
    ///
    /// Some clients send `ownerName` in requests, and the service takes it for `ownerRecordName` (observed by a public
    /// client; Apple's pages and CloudKit JS use `ownerRecordName` both ways). `ownerName` is kept in ``otherKeys``, so
    /// that it is written as it came; this property reads both, `ownerRecordName` first.
    public var owner: String? {
        if let ownerRecordName { return ownerRecordName }
        guard let raw = otherKeys["ownerName"] else { return nil }
        return try? raw.read(String.self)
    }
}

extension ZoneID: CustomStringConvertible {
    /// The zone's name, and its owner where that is another user: `Notes`, `Notes of _a1b2`.
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
        var zoneName: String?
        var ownerRecordName: String?
        var zoneType: ZoneType?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .zoneName: zoneName = try otherKeys.readRepeated(key, from: &reader)
            case .ownerRecordName: ownerRecordName = try otherKeys.readRepeated(key, from: &reader)
            case .zoneType: zoneType = try otherKeys.read(key, from: &reader)
            }
        }
        self.init(
            zoneName: zoneName ?? ZoneID.default.zoneName,
            ownerRecordName: ownerRecordName,
            zoneType: zoneType
        )
        self.otherKeys = otherKeys
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

/// One item of a zone response: the zone, or its error.
public enum ZoneResult: Hashable, Sendable {
    /// The zone.
    case zone(Zone)
    /// The item's error; it says nothing of the other items of the batch.
    case failure(ZoneError)

    /// The zone; throws the item's error, a ``ZoneError``.
    public func get() throws -> Zone {
        switch self {
        case .zone(let zone): return zone
        case .failure(let error): throw error
        }
    }
}

extension ZoneResult: JSONBackedCodable {
    /// Reads an item; it is an error when it has `serverErrorCode` or `extensionErrorCode`, as CloudKit JS decides.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.isAtErrorDictionary() ? .failure(ZoneError(json: &reader)) : .zone(Zone(json: &reader))
    }

    /// Writes the zone or the error dictionary.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .zone(let zone): writer.write(zone)
        case .failure(let error): writer.write(error)
        }
    }
}

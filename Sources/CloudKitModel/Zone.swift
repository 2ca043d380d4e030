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

/// The kind of a zone, `zoneType` of a zone ID. Not all values are known.
public struct ZoneType: OpenString {
    /// The spelling on the wire.
    public var rawValue: String

    /// Makes the kind spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// `REGULAR_CUSTOM_ZONE`: a zone that a client created.
    public static let regularCustomZone: ZoneType = "REGULAR_CUSTOM_ZONE"
    /// `DEFAULT_ZONE`: the zone `_defaultZone`.
    public static let defaultZone: ZoneType = "DEFAULT_ZONE"
}

extension ZoneID: JSONBackedCodable {
    private static let keys = JSONKeys("zoneName", "ownerRecordName", "zoneType")

    /// Reads a zone ID; a missing `zoneName` means `_defaultZone`, as it does for the service.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var zoneName: String?
        var ownerRecordName: String?
        var zoneType: ZoneType?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: zoneName = try otherKeys.readRepeated(key, from: &reader)
            case 1: ownerRecordName = try otherKeys.readRepeated(key, from: &reader)
            case 2: zoneType = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
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
        writer.key("zoneName")
        if otherKeys.wasNull(0), zoneName == ZoneID.default.zoneName {
            writer.writeNull()
        } else {
            writer.write(zoneName)
        }
        otherKeys.write(1, "ownerRecordName", ownerRecordName, to: &writer)
        otherKeys.write(2, "zoneType", zoneType, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// A record zone as the service describes it.
///
/// ```json
/// {"zoneID":{"zoneName":"Notes"},"syncToken":"AQAAAW…","atomic":true}
/// ```
public struct Zone: Hashable, Sendable {
    /// The zone's name.
    public var zoneID: ZoneID
    /// The point in the zone's history to fetch changes from.
    public var syncToken: String?
    /// Whether the zone takes atomic batches (`atomic`); custom zones do.
    public var isAtomic: Bool?
    /// Whether the zone was removed (`deleted`); only in change feeds.
    public var isDeleted: Bool {
        get { deleted ?? false }
        set { deleted = newValue }
    }
    private var deleted: Bool?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a zone's description. Absent parts are left out of the JSON.
    public init(zoneID: ZoneID, syncToken: String? = nil, isAtomic: Bool? = nil, isDeleted: Bool? = nil) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.isAtomic = isAtomic
        self.deleted = isDeleted
    }
}

extension Zone: JSONBackedCodable {
    private static let keys = JSONKeys(
        "zoneID",
        "syncToken",
        "atomic",
        "deleted",
        "serverErrorCode",
        "extensionErrorCode"
    )

    /// Reads a zone dictionary.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var isError = false
        try self.init(json: &reader, stoppingAtError: &isError, stops: false)
    }

    /// Reads a zone dictionary; stops in its midst with `isError` set when it turns out to be an error dictionary.
    init(json reader: inout JSONReader, stoppingAtError isError: inout Bool, stops: Bool) throws(JSONError) {
        var zoneID: ZoneID?
        var syncToken: String?
        var isAtomic: Bool?
        var isDeleted: Bool?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: zoneID = try otherKeys.read(key, from: &reader)
            case 1: syncToken = try otherKeys.read(key, from: &reader)
            case 2: isAtomic = try otherKeys.read(key, from: &reader)
            case 3: isDeleted = try otherKeys.read(key, from: &reader)
            case 4, 5:
                if stops, try reader.peekKind() != .null {
                    isError = true
                    self.init(zoneID: .default)
                    return
                }
                try otherKeys.keep(from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
        guard let zoneID else {
            throw reader.error(.missingKey, "a zone needs \"zoneID\"")
        }
        self.init(zoneID: zoneID, syncToken: syncToken, isAtomic: isAtomic, isDeleted: isDeleted)
        self.otherKeys = otherKeys
    }

    /// Writes `{"zoneID":{…},"syncToken":…,"atomic":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("zoneID")
        writer.write(zoneID)
        otherKeys.write(1, "syncToken", syncToken, to: &writer)
        otherKeys.write(2, "atomic", isAtomic, to: &writer)
        otherKeys.write(3, "deleted", deleted, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// One item of a zone response: the zone, or why there is none.
public enum ZoneResult: Hashable, Sendable {
    /// The zone.
    case zone(Zone)
    /// The item's error; the others of the batch stand on their own.
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
        let start = reader.position
        var isError = false
        let zone = try Zone(json: &reader, stoppingAtError: &isError, stops: true)
        if isError {
            reader.rewind(to: start)
            self = .failure(try ZoneError(json: &reader))
        } else {
            self = .zone(zone)
        }
    }

    /// Writes the zone or the error dictionary.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .zone(let zone): writer.write(zone)
        case .failure(let error): writer.write(error)
        }
    }
}

/// One operation of `zones/modify`.
///
/// ```swift
/// ZoneOperation(.create, zone: Zone(zoneID: ZoneID(zoneName: "Notes")))
/// // {"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}}
/// ```
public struct ZoneOperation: Hashable, Sendable {
    /// What to do with the zone.
    public struct OperationType: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the operation spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `create`: makes a custom zone.
        public static let create: OperationType = "create"
        /// `delete`: removes the zone with all its records.
        public static let delete: OperationType = "delete"
    }

    /// What to do.
    public var operationType: OperationType
    /// The zone to do it to.
    public var zone: Zone
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes an operation.
    public init(_ operationType: OperationType, zone: Zone) {
        self.operationType = operationType
        self.zone = zone
    }
}

extension ZoneOperation: JSONBackedCodable {
    private static let keys = JSONKeys("operationType", "zone")

    /// Reads an operation; both keys are needed.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var operationType: OperationType?
        var zone: Zone?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: operationType = try otherKeys.read(key, from: &reader)
            case 1: zone = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
        guard let operationType, let zone else {
            throw reader.error(.missingKey, "a zone operation needs \"operationType\" and \"zone\"")
        }
        self.init(operationType, zone: zone)
        self.otherKeys = otherKeys
    }

    /// Writes `{"operationType":…,"zone":{…}}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        writer.write(operationType)
        writer.key("zone")
        writer.write(zone)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

public import StreamingJSON

/// What a push carries: how it presents itself, and what happened.
///
/// ```swift
/// let push: PushPayload = try JSONReader.read(from: body)
/// push.content?.query?.recordName  // "93B69669-AF9B-4400-AE69-290A12083C5A"
/// ```
///
/// No page of Apple's describes it. The keys are those that CloudKit JS reads (`qry`, `fet`, `aps.category`,
/// `aps.alert.body`) and that samples of native pushes show.
public struct PushPayload: Hashable, Sendable {
    /// How the push presents itself (`aps`).
    public var presentation: Presentation?
    /// What happened (`ck`); absent in pushes that are not CloudKit's.
    public var content: Content?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a payload of whatever parts there are. Absent parts are left out of the JSON.
    public init(presentation: Presentation? = nil, content: Content? = nil) {
        self.presentation = presentation
        self.content = content
    }
}

extension PushPayload: JSONBackedCodable {
    private static let keys = JSONKeys("aps", "ck")

    /// Reads a payload.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: presentation = try otherKeys.readLeniently(key, from: &reader)
            case 1: content = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "aps", presentation, to: &writer)
        otherKeys.write(1, "ck", content, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

// MARK: - How it presents itself

extension PushPayload {
    /// How a push presents itself: the part that Apple's push service reads.
    public struct Presentation: Hashable, Sendable {
        /// 1 where the app is woken in the background (`content-available`).
        public var contentAvailable: Int64?
        /// The words.
        public var alert: Alert?
        /// The number on the app's badge.
        public var badge: Int64?
        /// The sound file.
        public var sound: String?
        /// The category of actions.
        public var category: String?
        /// The members that have no property here.
        public var otherKeys = OtherKeys()

        /// Makes a presentation of whatever parts there are.
        public init(
            contentAvailable: Int64? = nil,
            alert: Alert? = nil,
            badge: Int64? = nil,
            sound: String? = nil,
            category: String? = nil
        ) {
            self.contentAvailable = contentAvailable
            self.alert = alert
            self.badge = badge
            self.sound = sound
            self.category = category
        }
    }

    /// The words of a push.
    public struct Alert: Hashable, Sendable {
        /// The text.
        public var body: String?
        /// The key of the text in the app's strings (`loc-key`).
        public var localizationKey: String?
        /// What is put into the localised text: values of the record's fields (`loc-args`).
        public var localizationArguments: [String]?
        /// The key of the button's text in the app's strings (`action-loc-key`).
        public var actionLocalizationKey: String?
        /// The image to show while the app starts (`launch-image`).
        public var launchImage: String?
        /// The members that have no property here.
        public var otherKeys = OtherKeys()

        /// Makes the words of a push of whatever parts there are.
        public init(
            body: String? = nil,
            localizationKey: String? = nil,
            localizationArguments: [String]? = nil,
            actionLocalizationKey: String? = nil,
            launchImage: String? = nil
        ) {
            self.body = body
            self.localizationKey = localizationKey
            self.localizationArguments = localizationArguments
            self.actionLocalizationKey = actionLocalizationKey
            self.launchImage = launchImage
        }
    }
}

extension PushPayload.Presentation: JSONBackedCodable {
    private static let keys = JSONKeys("content-available", "alert", "badge", "sound", "category")

    /// Reads a presentation. The push service takes a bare text for an alert's body; so does this.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: contentAvailable = try otherKeys.readLeniently(key, from: &reader)
            case 1:
                if try reader.peekKind() == .string {
                    alert = PushPayload.Alert(body: try reader.readString())
                } else {
                    alert = try otherKeys.readLeniently(key, from: &reader)
                }
            case 2: badge = try otherKeys.readLeniently(key, from: &reader)
            case 3: sound = try otherKeys.readLeniently(key, from: &reader)
            case 4: category = try otherKeys.readLeniently(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "content-available", contentAvailable, to: &writer)
        otherKeys.write(1, "alert", alert, to: &writer)
        otherKeys.write(2, "badge", badge, to: &writer)
        otherKeys.write(3, "sound", sound, to: &writer)
        otherKeys.write(4, "category", category, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

extension PushPayload.Alert: JSONBackedCodable {
    private static let keys = JSONKeys("body", "loc-key", "loc-args", "action-loc-key", "launch-image")

    /// Reads the words of a push.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: body = try otherKeys.readLeniently(key, from: &reader)
            case 1: localizationKey = try otherKeys.readLeniently(key, from: &reader)
            case 2: localizationArguments = try otherKeys.readLeniently(key, from: &reader)
            case 3: actionLocalizationKey = try otherKeys.readLeniently(key, from: &reader)
            case 4: launchImage = try otherKeys.readLeniently(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "body", body, to: &writer)
        otherKeys.write(1, "loc-key", localizationKey, to: &writer)
        otherKeys.write(2, "loc-args", localizationArguments, to: &writer)
        otherKeys.write(3, "action-loc-key", actionLocalizationKey, to: &writer)
        otherKeys.write(4, "launch-image", launchImage, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

// MARK: - What happened

extension PushPayload {
    /// What happened: one of ``query``, ``zone`` and ``database``, by the kind of the subscription.
    public struct Content: Hashable, Sendable {
        /// The version of the format (`ce`): 2 in every sample.
        public var version: Int64?
        /// The container (`cid`).
        public var containerIdentifier: String?
        /// The push's own identifier (`nid`).
        public var notificationID: String?
        /// The user record name of the person who is told (`ckuserid`).
        public var userRecordName: String?
        /// From a query subscription (`qry`).
        public var query: Change?
        /// From a zone subscription (`fet`).
        public var zone: Change?
        /// From a database subscription (`met`).
        public var database: Change?
        /// The members that have no property here.
        public var otherKeys = OtherKeys()

        /// Makes the description of what happened.
        public init(
            version: Int64? = 2,
            containerIdentifier: String? = nil,
            notificationID: String? = nil,
            userRecordName: String? = nil,
            query: Change? = nil,
            zone: Change? = nil,
            database: Change? = nil
        ) {
            self.version = version
            self.containerIdentifier = containerIdentifier
            self.notificationID = notificationID
            self.userRecordName = userRecordName
            self.query = query
            self.zone = zone
            self.database = database
        }

        /// Whether parts were left out to keep the push small (`p` is there, whatever it is).
        public var isPruned: Bool {
            get { otherKeys["p"] != nil }
            set { otherKeys["p"] = newValue ? try? JSONRawValue(parsing: "1") : nil }
        }
    }

    /// Where something changed.
    public struct Change: Hashable, Sendable {
        /// The database (`dbs`): 1 public, 2 private, 3 shared in native samples. CloudKit JS takes 0 for public.
        public var databaseNumber: Int64?
        /// The zone's name (`zid`).
        public var zoneName: String?
        /// The zone's owner (`zoid`), `_defaultOwner` for the person's own zones.
        public var zoneOwner: String?
        /// The record's name (`rid`), of a query subscription.
        public var recordName: String?
        /// The subscription's name (`sid`).
        public var subscriptionID: String?
        /// What was done (`fo`), of a query subscription: 1 created, 2 updated, 3 deleted.
        public var reason: Int64?
        /// Values of the record's fields without their types (`af`), of a query subscription that asks for them.
        public var fields: [String: JSONValue]?
        /// The members that have no property here.
        public var otherKeys = OtherKeys()

        /// Makes the description of a change.
        public init(
            databaseNumber: Int64? = nil,
            zoneName: String? = nil,
            zoneOwner: String? = nil,
            recordName: String? = nil,
            subscriptionID: String? = nil,
            reason: Int64? = nil,
            fields: [String: JSONValue]? = nil
        ) {
            self.databaseNumber = databaseNumber
            self.zoneName = zoneName
            self.zoneOwner = zoneOwner
            self.recordName = recordName
            self.subscriptionID = subscriptionID
            self.reason = reason
            self.fields = fields
        }
    }
}

extension PushPayload.Content: JSONBackedCodable {
    private static let keys = JSONKeys("ce", "cid", "nid", "ckuserid", "qry", "fet", "met")

    /// Reads the description of what happened.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(version: nil)
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: version = try otherKeys.readLeniently(key, from: &reader)
            case 1: containerIdentifier = try otherKeys.readLeniently(key, from: &reader)
            case 2: notificationID = try otherKeys.readLeniently(key, from: &reader)
            case 3: userRecordName = try otherKeys.readLeniently(key, from: &reader)
            case 4: query = try otherKeys.readLeniently(key, from: &reader)
            case 5: zone = try otherKeys.readLeniently(key, from: &reader)
            case 6: database = try otherKeys.readLeniently(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "ce", version, to: &writer)
        otherKeys.write(1, "cid", containerIdentifier, to: &writer)
        otherKeys.write(2, "nid", notificationID, to: &writer)
        otherKeys.write(3, "ckuserid", userRecordName, to: &writer)
        otherKeys.write(4, "qry", query, to: &writer)
        otherKeys.write(5, "fet", zone, to: &writer)
        otherKeys.write(6, "met", database, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

extension PushPayload.Change: JSONBackedCodable {
    private static let keys = JSONKeys("dbs", "zid", "zoid", "rid", "sid", "fo", "af")

    /// Reads the description of a change.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: databaseNumber = try otherKeys.readLeniently(key, from: &reader)
            case 1: zoneName = try otherKeys.readLeniently(key, from: &reader)
            case 2: zoneOwner = try otherKeys.readLeniently(key, from: &reader)
            case 3: recordName = try otherKeys.readLeniently(key, from: &reader)
            case 4: subscriptionID = try otherKeys.readLeniently(key, from: &reader)
            case 5: reason = try otherKeys.readLeniently(key, from: &reader)
            case 6: fields = try otherKeys.readLeniently(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "dbs", databaseNumber, to: &writer)
        otherKeys.write(1, "zid", zoneName, to: &writer)
        otherKeys.write(2, "zoid", zoneOwner, to: &writer)
        otherKeys.write(3, "rid", recordName, to: &writer)
        otherKeys.write(4, "sid", subscriptionID, to: &writer)
        otherKeys.write(5, "fo", reason, to: &writer)
        otherKeys.write(6, "af", fields.map(JSONValue.object), to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

public import StreamingJSON

/// A standing order to be told of changes.
///
/// ```swift
/// Subscription(subscriptionID: "changedArtwork", zoneID: ZoneID(zoneName: "publicArtwork"))
/// // {"subscriptionID":"changedArtwork","subscriptionType":"zone","zoneID":{"zoneName":"publicArtwork"}}
/// ```
///
/// A delete is acknowledged with a bare `{"subscriptionID":…}`.
public struct Subscription: Hashable, Sendable {
    /// What a subscription watches.
    public struct SubscriptionType: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the type spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `query`: the records that a query finds
        public static let query: SubscriptionType = "query"
        /// `zone`: all records of a zone
        public static let zone: SubscriptionType = "zone"
        /// `database`: all zones of a database (among the constants of CloudKit JS, on no page of Apple's)
        public static let database: SubscriptionType = "database"
    }

    /// A change that makes a query subscription fire.
    public struct Event: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the event spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `create`
        public static let create: Event = "create"
        /// `update`
        public static let update: Event = "update"
        /// `delete`
        public static let delete: Event = "delete"
    }

    /// The subscription's name.
    public var subscriptionID: String?
    /// What it watches.
    public var subscriptionType: SubscriptionType?
    /// The query, for query subscriptions.
    public var query: RecordQuery?
    /// The zone that is watched; absent means the default zone, or all with ``zoneWide``.
    public var zoneID: ZoneID?
    /// The changes that make it fire, for query subscriptions.
    public var firesOn: [Event]?
    /// Whether it fires a single time; the service takes absence for `false`.
    public var firesOnce: Bool?
    /// Whether all zones are watched. Apple's page contradicts itself about the default.
    public var zoneWide: Bool?
    /// What the notification shows.
    public var notificationInfo: NotificationInfo?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a subscription of whatever parts there are. Absent parts are left out of the JSON.
    public init(
        subscriptionID: String?,
        subscriptionType: SubscriptionType? = nil,
        query: RecordQuery? = nil,
        zoneID: ZoneID? = nil,
        firesOn: [Event]? = nil,
        firesOnce: Bool? = nil,
        zoneWide: Bool? = nil,
        notificationInfo: NotificationInfo? = nil
    ) {
        self.subscriptionID = subscriptionID
        self.subscriptionType = subscriptionType
        self.query = query
        self.zoneID = zoneID
        self.firesOn = firesOn
        self.firesOnce = firesOnce
        self.zoneWide = zoneWide
        self.notificationInfo = notificationInfo
    }

    /// Makes a subscription to the changes of a zone.
    public init(subscriptionID: String, zoneID: ZoneID, notificationInfo: NotificationInfo? = nil) {
        self.init(
            subscriptionID: subscriptionID,
            subscriptionType: .zone,
            zoneID: zoneID,
            notificationInfo: notificationInfo
        )
    }

    /// Makes a subscription to the records that a query finds.
    public init(
        subscriptionID: String,
        query: RecordQuery,
        firesOn: [Event],
        zoneID: ZoneID? = nil,
        notificationInfo: NotificationInfo? = nil
    ) {
        self.init(
            subscriptionID: subscriptionID,
            subscriptionType: .query,
            query: query,
            zoneID: zoneID,
            firesOn: firesOn,
            notificationInfo: notificationInfo
        )
    }
}

extension Subscription: JSONBackedCodable {
    private static let keys = JSONKeys(
        "subscriptionID",
        "subscriptionType",
        "query",
        "zoneID",
        "firesOn",
        "firesOnce",
        "zoneWide",
        "notificationInfo",
        "serverErrorCode",
        "extensionErrorCode"
    )

    /// Reads a subscription dictionary.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var isError = false
        try self.init(json: &reader, stops: false, isError: &isError)
    }

    /// Reads a subscription dictionary; with `stops` it ends in its midst, `isError` set, when it turns out to be an error
    /// dictionary.
    init(json reader: inout JSONReader, stops: Bool, isError: inout Bool) throws(JSONError) {
        self.init(subscriptionID: nil)
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: subscriptionID = try otherKeys.read(key, from: &reader)
            case 1: subscriptionType = try otherKeys.read(key, from: &reader)
            case 2: query = try otherKeys.read(key, from: &reader)
            case 3: zoneID = try otherKeys.read(key, from: &reader)
            case 4: firesOn = try otherKeys.read(key, from: &reader)
            case 5: firesOnce = try otherKeys.read(key, from: &reader)
            case 6: zoneWide = try otherKeys.read(key, from: &reader)
            case 7: notificationInfo = try otherKeys.read(key, from: &reader)
            case 8, 9:
                if stops, try reader.peekKind() != .null {
                    isError = true
                    return
                }
                try otherKeys.keep(from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "subscriptionID", subscriptionID, to: &writer)
        otherKeys.write(1, "subscriptionType", subscriptionType, to: &writer)
        otherKeys.write(2, "query", query, to: &writer)
        otherKeys.write(3, "zoneID", zoneID, to: &writer)
        otherKeys.write(4, "firesOn", firesOn, to: &writer)
        otherKeys.write(5, "firesOnce", firesOnce, to: &writer)
        otherKeys.write(6, "zoneWide", zoneWide, to: &writer)
        otherKeys.write(7, "notificationInfo", notificationInfo, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// What a notification shows and does.
///
/// ```swift
/// NotificationInfo(alertBody: "New artwork", shouldBadge: true)
/// // {"alertBody":"New artwork","shouldBadge":true}
/// ```
public struct NotificationInfo: Hashable, Sendable {
    /// The text.
    public var alertBody: String?
    /// The key of the text in the app's strings.
    public var alertLocalizationKey: String?
    /// The names of the fields whose values are put into the localised text.
    public var alertLocalizationArgs: [String]?
    /// The key of the button's text in the app's strings.
    public var alertActionLocalizationKey: String?
    /// The image to show while the app starts.
    public var alertLaunchImage: String?
    /// The sound to play.
    public var soundName: String?
    /// Whether the app's badge counts up; the service takes absence for `false`.
    public var shouldBadge: Bool?
    /// Whether the app is woken in the background; the service takes absence for `false`.
    public var shouldSendContentAvailable: Bool?
    /// The fields whose values the notification brings along, for query subscriptions.
    ///
    /// The native framework calls them desired keys and takes at most three. No page says how they are spelled for web
    /// services; `additionalFields` goes with the `af` of the pushes.
    public var additionalFields: [String]?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a notification's description. Absent parts are left out of the JSON.
    public init(
        alertBody: String? = nil,
        alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [String]? = nil,
        alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil,
        soundName: String? = nil,
        shouldBadge: Bool? = nil,
        shouldSendContentAvailable: Bool? = nil,
        additionalFields: [String]? = nil
    ) {
        self.alertBody = alertBody
        self.alertLocalizationKey = alertLocalizationKey
        self.alertLocalizationArgs = alertLocalizationArgs
        self.alertActionLocalizationKey = alertActionLocalizationKey
        self.alertLaunchImage = alertLaunchImage
        self.soundName = soundName
        self.shouldBadge = shouldBadge
        self.shouldSendContentAvailable = shouldSendContentAvailable
        self.additionalFields = additionalFields
    }
}

extension NotificationInfo: JSONBackedCodable {
    private static let keys = JSONKeys(
        "alertBody",
        "alertLocalizationKey",
        "alertLocalizationArgs",
        "alertActionLocalizationKey",
        "alertLaunchImage",
        "soundName",
        "shouldBadge",
        "shouldSendContentAvailable",
        "additionalFields"
    )

    /// Reads a notification's description.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: alertBody = try otherKeys.read(key, from: &reader)
            case 1: alertLocalizationKey = try otherKeys.read(key, from: &reader)
            case 2: alertLocalizationArgs = try otherKeys.read(key, from: &reader)
            case 3: alertActionLocalizationKey = try otherKeys.read(key, from: &reader)
            case 4: alertLaunchImage = try otherKeys.read(key, from: &reader)
            case 5: soundName = try otherKeys.read(key, from: &reader)
            case 6: shouldBadge = try otherKeys.read(key, from: &reader)
            case 7: shouldSendContentAvailable = try otherKeys.read(key, from: &reader)
            case 8: additionalFields = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "alertBody", alertBody, to: &writer)
        otherKeys.write(1, "alertLocalizationKey", alertLocalizationKey, to: &writer)
        otherKeys.write(2, "alertLocalizationArgs", alertLocalizationArgs, to: &writer)
        otherKeys.write(3, "alertActionLocalizationKey", alertActionLocalizationKey, to: &writer)
        otherKeys.write(4, "alertLaunchImage", alertLaunchImage, to: &writer)
        otherKeys.write(5, "soundName", soundName, to: &writer)
        otherKeys.write(6, "shouldBadge", shouldBadge, to: &writer)
        otherKeys.write(7, "shouldSendContentAvailable", shouldSendContentAvailable, to: &writer)
        otherKeys.write(8, "additionalFields", additionalFields, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// One item of a batch of subscriptions: the subscription, or why there is none.
public enum SubscriptionResult: Hashable, Sendable {
    /// The subscription.
    case subscription(Subscription)
    /// The item's error; the others of the batch stand on their own.
    case failure(SubscriptionError)

    /// The subscription; throws the item's error, a ``SubscriptionError``.
    public func get() throws -> Subscription {
        switch self {
        case .subscription(let subscription): return subscription
        case .failure(let error): throw error
        }
    }
}

extension SubscriptionResult: JSONBackedCodable {
    /// Reads an item; it is an error when it has `serverErrorCode` or `extensionErrorCode`, as CloudKit JS decides.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        var isError = false
        let subscription = try Subscription(json: &reader, stops: true, isError: &isError)
        if isError {
            reader.rewind(to: start)
            self = .failure(try SubscriptionError(json: &reader))
        } else {
            self = .subscription(subscription)
        }
    }

    /// Writes the subscription or the error dictionary.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .subscription(let subscription): subscription.write(json: &writer)
        case .failure(let error): error.write(json: &writer)
        }
    }
}

/// One operation of `subscriptions/modify`. A request takes at most 200 of them.
public struct SubscriptionOperation: Hashable, Sendable {
    /// What to do with a subscription.
    public struct OperationType: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the operation spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `create`
        public static let create: OperationType = "create"
        /// `update`
        public static let update: OperationType = "update"
        /// `delete`
        public static let delete: OperationType = "delete"
    }

    /// What to do.
    public var operationType: OperationType
    /// The subscription to do it to.
    public var subscription: Subscription
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes an operation.
    public init(_ operationType: OperationType, subscription: Subscription) {
        self.operationType = operationType
        self.subscription = subscription
    }
}

extension SubscriptionOperation: JSONBackedCodable {
    private static let keys = JSONKeys("operationType", "subscription")

    /// Reads an operation; both keys are needed.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var operationType: OperationType?
        var subscription: Subscription?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: operationType = try otherKeys.read(key, from: &reader)
            case 1: subscription = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
        guard let operationType, let subscription else {
            throw reader.error(.missingKey, "a subscription operation needs \"operationType\" and \"subscription\"")
        }
        self.init(operationType, subscription: subscription)
        self.otherKeys = otherKeys
    }

    /// Writes `{"operationType":…,"subscription":{…}}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        writer.write(operationType.rawValue)
        writer.key("subscription")
        subscription.write(json: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

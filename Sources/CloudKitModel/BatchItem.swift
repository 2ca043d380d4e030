public import StreamingJSON

/// An item of a batch: a ``Record``, a ``Zone``, a ``Subscription`` or the ``ShareMetadata`` of a short GUID.
public protocol BatchItem: JSONBackedCodable, Hashable, Sendable {
    /// The type of an item's name.
    associatedtype ItemID: JSONReadable, JSONWritable, Hashable, Sendable
    /// The key under which an error dictionary has the item's name.
    static var errorKey: String { get }
    /// The item's name.
    var itemID: ItemID? { get }
    /// Reads an item of a response. Like in CloudKit JS, it is an error if it has `serverErrorCode` or
    /// `extensionErrorCode`.
    static func readResult(json reader: inout JSONReader) throws(JSONError) -> ItemResult<Self>
}

extension BatchItem {
    /// Reads an item of a response. Like in CloudKit JS, it is an error if it has `serverErrorCode` or
    /// `extensionErrorCode`.
    public static func readResult(json reader: inout JSONReader) throws(JSONError) -> ItemResult<Self> {
        try reader.isAtErrorDictionary() ? .failure(ItemError(json: &reader)) : .success(Self(json: &reader))
    }
}

extension Record: BatchItem {
    /// The type of a record's name.
    public typealias ItemID = String
    /// `recordName`
    public static var errorKey: String { "recordName" }
    /// `recordName`
    public var itemID: String? { recordName }
}

extension Zone: BatchItem {
    /// The type of a zone's name, with its owner.
    public typealias ItemID = ZoneID
    /// `zoneID`
    public static var errorKey: String { "zoneID" }
    /// `zoneID`
    public var itemID: ZoneID? { zoneID }
}

extension Subscription: BatchItem {
    /// The type of a subscription's name.
    public typealias ItemID = String
    /// `subscriptionID`
    public static var errorKey: String { "subscriptionID" }
    /// `subscriptionID`
    public var itemID: String? { subscriptionID }
}

extension ShareMetadata: BatchItem {
    /// The type of a share's short GUID.
    public typealias ItemID = ShortGUID
    /// `shortGUID`
    public static var errorKey: String { "shortGUID" }
    /// `shortGUID`
    public var itemID: ShortGUID? { shortGUID }
}

/// The error of one record of a batch.
public typealias RecordError = ItemError<Record>
/// The error of one zone of a batch.
public typealias ZoneError = ItemError<Zone>
/// The error of one subscription of a batch.
public typealias SubscriptionError = ItemError<Subscription>
/// The error of one short GUID of a batch.
public typealias ShareError = ItemError<ShareMetadata>

/// One item of a response about records: the record, or its error.
public typealias RecordResult = ItemResult<Record>
/// One item of a response about zones: the zone, or its error.
public typealias ZoneResult = ItemResult<Zone>
/// One item of a response about subscriptions: the subscription, or its error.
public typealias SubscriptionResult = ItemResult<Subscription>
/// One item of a response about short GUIDs: the share, or its error.
public typealias ShareResult = ItemResult<ShareMetadata>

/// One item of a batch, or its error. The error of one item says nothing about the other items.
public enum ItemResult<Item: BatchItem>: Hashable, Sendable {
    /// The item.
    case success(Item)
    /// The item's error.
    case failure(ItemError<Item>)

    /// The item; throws its error, an ``ItemError``.
    @inlinable public func get() throws -> Item {
        switch self {
        case .success(let item): return item
        case .failure(let error): throw error
        }
    }

    /// The item's name; `nil` if the service did not send it.
    @inlinable public var itemID: Item.ItemID? {
        switch self {
        case .success(let item): item.itemID
        case .failure(let error): error.id
        }
    }
}

extension ItemResult: JSONBackedCodable {
    /// Reads an item of a response.
    @inlinable public init(json reader: inout JSONReader) throws(JSONError) {
        self = try Item.readResult(json: &reader)
    }

    /// Writes the item or the error dictionary.
    @inlinable public func write(json writer: inout JSONWriter) {
        switch self {
        case .success(let item): item.write(json: &writer)
        case .failure(let error): error.write(json: &writer)
        }
    }
}

/// The error of one item of a batch.
///
/// ```json
/// {"recordName":"A","reason":"client oplock error updating record","serverErrorCode":"CONFLICT"}
/// {"zoneID":{"zoneName":"Notes"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"…"}
/// {"subscriptionID":"second","serverErrorCode":"INTERNAL_ERROR","reason":"could not find subscription we just created"}
/// ```
///
/// The parts of ``ErrorResponse`` can be used on it directly: `error.serverErrorCode`, `error.reason`.
@dynamicMemberLookup
public struct ItemError<Item: BatchItem>: Error, Hashable, Sendable {
    /// The item's name; `nil` if the service did not send it.
    public var id: Item.ItemID?
    /// The error dictionary's common members.
    public var response: ErrorResponse

    /// Makes an item's error.
    public init(id: Item.ItemID?, response: ErrorResponse) {
        self.id = id
        self.response = response
    }

    /// Makes an item's error.
    public init(
        id: Item.ItemID?,
        serverErrorCode: ServerErrorCode,
        reason: String? = nil,
        retryAfter: Double? = nil
    ) {
        self.id = id
        self.response = ErrorResponse(serverErrorCode: serverErrorCode, reason: reason, retryAfter: retryAfter)
    }

    /// A part of ``response``.
    public subscript<Part>(dynamicMember path: WritableKeyPath<ErrorResponse, Part>) -> Part {
        get { response[keyPath: path] }
        set { response[keyPath: path] = newValue }
    }
}

extension ItemError: JSONBackedCodable {
    /// Reads the error dictionary of an item. The keys that name items of other kinds are kept among the other keys.
    public init(json reader: inout JSONReader) throws(JSONError) {
        response = try ErrorResponse(json: &reader)
        guard let name = response.otherKeys[Item.errorKey], name.kind != .null else { return }
        id = try name.read()
        response.otherKeys[Item.errorKey] = nil
    }

    /// Writes `{"recordName":…,"serverErrorCode":…,"reason":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        if let id {
            writer.key(Item.errorKey)
            writer.write(id)
        }
        response.writeMembers(to: &writer)
        writer.endObject()
    }
}

extension JSONReader {
    private static let errorKeys = JSONKeys("serverErrorCode", "extensionErrorCode")

    /// Whether an item of a batch is an error. Like in CloudKit JS, it is one if it has `serverErrorCode` or
    /// `extensionErrorCode`.
    ///
    /// The reader stays in front of the item.
    mutating func isAtErrorDictionary() throws(JSONError) -> Bool {
        let start = position
        defer { rewind(to: start) }
        try beginObject()
        while let index = try nextKey(in: Self.errorKeys) {
            if index != JSONKeys.unknown, try peekKind() != .null { return true }
            try skipValue()
        }
        return false
    }
}

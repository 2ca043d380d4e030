public import StreamingJSON

extension ServerErrorCode {
    /// `UNKNOWN_ERROR`: never on the wire; the code of an error dictionary without a code.
    public static let unknownError: ServerErrorCode = "UNKNOWN_ERROR"
}

/// An error dictionary of the service: the whole body of a failed request, and the core of every failed item.
///
/// ```json
/// {"uuid":"4f02…","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"request needs authorization",
///  "redirectURL":"https://…"}
/// ```
public struct ErrorResponse: Error, Hashable, Sendable {
    /// What went wrong; ``ServerErrorCode/unknownError`` when the dictionary has no `serverErrorCode`.
    public var serverErrorCode: ServerErrorCode
    /// The service's words for it. Apple's own containers send `serverErrorMessage` instead, which is read as well.
    public var reason: String?
    /// Seconds to wait before the request may be sent again; `nil` means it should not be.
    public var retryAfter: Double?
    /// The service's name for this request, to be quoted to Apple.
    public var uuid: String?
    /// Where a user can sign in; with `AUTHENTICATION_REQUIRED` only. `redirectUrl` is read as well.
    public var redirectURL: String?
    /// A code that an extension of the container gave.
    public var extensionErrorCode: String?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var spelling = ExcludedFromEquality(Spelling())

    /// Makes an error dictionary. Absent parts are left out of the JSON.
    public init(
        serverErrorCode: ServerErrorCode,
        reason: String? = nil,
        retryAfter: Double? = nil,
        uuid: String? = nil,
        redirectURL: String? = nil
    ) {
        self.serverErrorCode = serverErrorCode
        self.reason = reason
        self.retryAfter = retryAfter
        self.uuid = uuid
        self.redirectURL = redirectURL
    }
}

extension ErrorResponse {
    /// Which name or form a part had on the wire, where several are known.
    private struct Spelling: Sendable {
        var message = false
        var url = false
        /// `retryAfter` as a string.
        var retryAfter: String?
    }
}

extension ErrorResponse: JSONBackedCodable {
    private enum Key: String, NounKey {
        case uuid, serverErrorCode, reason, retryAfter, redirectURL, extensionErrorCode, serverErrorMessage, redirectUrl
    }
    private static let keys = NounKeys<Key>()

    /// Reads an error dictionary. A member of an odd kind is kept in ``otherKeys`` rather than to lose the error's code.
    ///
    /// An item's own key (`recordName`, `zoneID`, `subscriptionID`) is kept in ``otherKeys``.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(serverErrorCode: .unknownError)
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .uuid: uuid = try otherKeys.readLeniently(key, from: &reader)
            case .serverErrorCode: serverErrorCode = try otherKeys.readLeniently(key, from: &reader) ?? .unknownError
            case .reason: reason = try otherKeys.readLeniently(key, from: &reader) ?? reason
            case .retryAfter:
                if try reader.peekKind() == .string {
                    let text = try reader.readString()
                    retryAfter = Self.seconds(in: text)
                    spelling.value.retryAfter = text
                } else {
                    retryAfter = try otherKeys.readLeniently(key, from: &reader)
                }
            case .redirectURL: redirectURL = try otherKeys.readLeniently(key, from: &reader) ?? redirectURL
            case .extensionErrorCode: extensionErrorCode = try otherKeys.readLeniently(key, from: &reader)
            case .serverErrorMessage:
                guard reason == nil else {
                    try otherKeys.keep(key, from: &reader)
                    continue
                }
                reason = try otherKeys.readLeniently(key, from: &reader)
                spelling.value.message = reason != nil
            case .redirectUrl:
                guard redirectURL == nil else {
                    try otherKeys.keep(key, from: &reader)
                    continue
                }
                redirectURL = try otherKeys.readLeniently(key, from: &reader)
                spelling.value.url = redirectURL != nil
            }
        }
    }

    private static func seconds(in text: String) -> Double? {
        Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    /// Writes `{"uuid":…,"serverErrorCode":…,"reason":…,…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }

    /// Writes the members alone, into an object that is open.
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        otherKeys.write("uuid", uuid, to: &writer)
        otherKeys.write("serverErrorCode", serverErrorCode == .unknownError ? nil : serverErrorCode, to: &writer)
        otherKeys.write("extensionErrorCode", extensionErrorCode, to: &writer)
        if spelling.value.message {
            otherKeys.write("serverErrorMessage", reason, to: &writer)
        } else {
            otherKeys.write("reason", reason, to: &writer)
        }
        if let text = spelling.value.retryAfter, Self.seconds(in: text) == retryAfter {
            otherKeys.write("retryAfter", text, to: &writer)
        } else {
            otherKeys.write("retryAfter", retryAfter, to: &writer)
        }
        if spelling.value.url {
            otherKeys.write("redirectUrl", redirectURL, to: &writer)
        } else {
            otherKeys.write("redirectURL", redirectURL, to: &writer)
        }
        writer.writeMembers(otherKeys)
    }
}

/// What a batch is about: a ``Record``, a ``Zone``, a ``Subscription`` or the ``ShareMetadata`` of a short name.
public protocol BatchItem: Hashable, Sendable {
    /// What names an item.
    associatedtype ItemID: JSONReadable, JSONWritable, Hashable, Sendable
    /// The key under which an error dictionary has the item's name.
    static var errorKey: String { get }
}

extension Record: BatchItem {
    /// Records have names.
    public typealias ItemID = String
    /// `recordName`
    public static var errorKey: String { "recordName" }
}

extension Zone: BatchItem {
    /// Zones have names and owners.
    public typealias ItemID = ZoneID
    /// `zoneID`
    public static var errorKey: String { "zoneID" }
}

extension Subscription: BatchItem {
    /// Subscriptions have names.
    public typealias ItemID = String
    /// `subscriptionID`
    public static var errorKey: String { "subscriptionID" }
}

extension ShareMetadata: BatchItem {
    /// Shares have short names.
    public typealias ItemID = ShortGUID
    /// `shortGUID`
    public static var errorKey: String { "shortGUID" }
}

/// Why one record of a batch failed.
public typealias RecordError = ItemError<Record>
/// Why one zone of a batch failed.
public typealias ZoneError = ItemError<Zone>
/// Why one subscription of a batch failed.
public typealias SubscriptionError = ItemError<Subscription>
/// Why one short name of a batch failed.
public typealias ShareError = ItemError<ShareMetadata>

/// Why one item of a batch failed.
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
    /// The item's name, as far as the service gave it.
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
    /// Reads the error dictionary of an item. Names of other kinds of items are kept among the other keys.
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

    /// Whether an item of a batch is an error: when it has `serverErrorCode` or `extensionErrorCode`, as CloudKit JS decides.
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

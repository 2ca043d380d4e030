public import StreamingJSON

/// The service's code for what went wrong, `serverErrorCode`. Codes that are not listed here are kept as they came.
///
/// From the archived "CloudKit Web Services Reference", page Error Codes, and CloudKit JS 2.6.4.
public struct ServerErrorCode: OpenString {
    /// The spelling on the wire.
    public var rawValue: String

    /// Makes the code spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// `ACCESS_DENIED` (403): no permission for the endpoint, record, zone or database.
    public static let accessDenied: ServerErrorCode = "ACCESS_DENIED"
    /// `ATOMIC_ERROR` (400): another operation of the atomic batch failed.
    public static let atomicError: ServerErrorCode = "ATOMIC_ERROR"
    /// `AUTHENTICATION_FAILED` (401): the credentials were rejected.
    public static let authenticationFailed: ServerErrorCode = "AUTHENTICATION_FAILED"
    /// `AUTHENTICATION_REQUIRED` (421): a user has to sign in; `redirectURL` says where.
    public static let authenticationRequired: ServerErrorCode = "AUTHENTICATION_REQUIRED"
    /// `BAD_REQUEST` (400): the request is not valid.
    public static let badRequest: ServerErrorCode = "BAD_REQUEST"
    /// `CONFLICT` (409): the record's change tag is old.
    public static let conflict: ServerErrorCode = "CONFLICT"
    /// `EXISTS` (409): what was to be created exists already.
    public static let exists: ServerErrorCode = "EXISTS"
    /// `INTERNAL_ERROR` (500): a fault of the service; also the answer to a duplicate subscription.
    public static let internalError: ServerErrorCode = "INTERNAL_ERROR"
    /// `NOT_FOUND` (404): no such thing, or no such endpoint.
    public static let notFound: ServerErrorCode = "NOT_FOUND"
    /// `QUOTA_EXCEEDED` (413): the app's quota (public database) or the user's (private) is used up.
    public static let quotaExceeded: ServerErrorCode = "QUOTA_EXCEEDED"
    /// `THROTTLED` (429): too many requests; `retryAfter` says when to come back.
    public static let throttled: ServerErrorCode = "THROTTLED"
    /// `TRY_AGAIN_LATER` (503): a passing fault.
    public static let tryAgainLater: ServerErrorCode = "TRY_AGAIN_LATER"
    /// `UNIQUE_FIELD_ERROR`: the rule of a unique field was broken.
    public static let uniqueFieldError: ServerErrorCode = "UNIQUE_FIELD_ERROR"
    /// `VALIDATING_REFERENCE_ERROR` (412): the rule of a validating reference was broken.
    public static let validatingReferenceError: ServerErrorCode = "VALIDATING_REFERENCE_ERROR"
    /// `ZONE_NOT_FOUND` (404): there is no such zone.
    public static let zoneNotFound: ServerErrorCode = "ZONE_NOT_FOUND"
    /// `ZONE_BUSY`: the zone is busy.
    public static let zoneBusy: ServerErrorCode = "ZONE_BUSY"
    /// `UNKNOWN_ERROR`: never on the wire; stands where an error dictionary holds no code.
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
    private var spelling = WireNote(Spelling())

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
    /// How parts stood on the wire that are known under more than one name or form.
    private struct Spelling: Sendable {
        var message = false
        var url = false
        /// `retryAfter` as a string.
        var retryAfter: String?
    }
}

extension ErrorResponse: JSONBackedCodable {
    private static let keys = JSONKeys(
        "uuid",
        "serverErrorCode",
        "reason",
        "retryAfter",
        "redirectURL",
        "extensionErrorCode",
        "serverErrorMessage",
        "redirectUrl",
        "recordName",
        "zoneID",
        "subscriptionID"
    )

    /// Reads an error dictionary. A member of an odd kind is kept in ``otherKeys`` rather than to lose the error's code.
    ///
    /// An item's own key (`recordName`, `zoneID`, `subscriptionID`) is kept in ``otherKeys``.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var names: [ItemKey: JSONRawValue] = [:]
        try self.init(json: &reader, itemNames: &names)
        for key in ItemKey.allCases {
            if let name = names[key] { otherKeys["\(key.name)"] = name }
        }
    }

    /// Reads an error dictionary, and the values of the keys that tell which item it belongs to.
    init(json reader: inout JSONReader, itemNames: inout [ItemKey: JSONRawValue]) throws(JSONError) {
        self.init(serverErrorCode: .unknownError)
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: uuid = try otherKeys.readLeniently(key, from: &reader)
            case 1: serverErrorCode = try otherKeys.readLeniently(key, from: &reader) ?? .unknownError
            case 2: reason = try otherKeys.readLeniently(key, from: &reader) ?? reason
            case 3:
                if try reader.peekKind() == .string {
                    let text = try reader.readString()
                    retryAfter = Self.seconds(in: text)
                    spelling.value.retryAfter = text
                } else {
                    retryAfter = try otherKeys.readLeniently(key, from: &reader)
                }
            case 4: redirectURL = try otherKeys.readLeniently(key, from: &reader) ?? redirectURL
            case 5: extensionErrorCode = try otherKeys.readLeniently(key, from: &reader)
            case 6:
                guard reason == nil else {
                    try otherKeys.keep(from: &reader)
                    continue
                }
                reason = try otherKeys.readLeniently(key, from: &reader)
                spelling.value.message = reason != nil
            case 7:
                guard redirectURL == nil else {
                    try otherKeys.keep(from: &reader)
                    continue
                }
                redirectURL = try otherKeys.readLeniently(key, from: &reader)
                spelling.value.url = redirectURL != nil
            default:
                if let item = ItemKey(rawValue: key) {
                    itemNames[item] = try otherKeys.read(key, from: &reader)
                } else {
                    try otherKeys.keep(from: &reader)
                }
            }
        }
    }

    private static func seconds(in text: String) -> Double? {
        Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    /// Writes `{"uuid":…,"serverErrorCode":…,"reason":…,…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer, as: nil, String?.none)
        writer.endObject()
    }

    /// The keys that tell which item an error dictionary belongs to, by their place in the key table.
    enum ItemKey: Int, CaseIterable {
        case recordName = 8
        case zoneID, subscriptionID

        var name: StaticString {
            switch self {
            case .recordName: "recordName"
            case .zoneID: "zoneID"
            case .subscriptionID: "subscriptionID"
            }
        }
    }

    /// Writes the members alone, those that name the item first.
    func writeMembers<Item: JSONWritable>(to writer: inout JSONWriter, as key: ItemKey?, _ item: Item?) {
        for other in ItemKey.allCases {
            otherKeys.write(other.rawValue, other.name, other == key ? item : nil, to: &writer)
        }
        otherKeys.write(0, "uuid", uuid, to: &writer)
        otherKeys.write(1, "serverErrorCode", serverErrorCode == .unknownError ? nil : serverErrorCode, to: &writer)
        otherKeys.write(5, "extensionErrorCode", extensionErrorCode, to: &writer)
        if spelling.value.message {
            otherKeys.write(6, "serverErrorMessage", reason, to: &writer)
        } else {
            otherKeys.write(2, "reason", reason, to: &writer)
        }
        if let text = spelling.value.retryAfter, Self.seconds(in: text) == retryAfter {
            otherKeys.write(3, "retryAfter", text, to: &writer)
        } else {
            otherKeys.write(3, "retryAfter", retryAfter, to: &writer)
        }
        if spelling.value.url {
            otherKeys.write(7, "redirectUrl", redirectURL, to: &writer)
        } else {
            otherKeys.write(4, "redirectURL", redirectURL, to: &writer)
        }
        otherKeys.writeMembers(to: &writer)
    }
}

/// What a batch is about: a ``Record``, a ``Zone`` or a ``Subscription``.
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

/// Why one record of a batch failed.
public typealias RecordError = ItemError<Record>
/// Why one zone of a batch failed.
public typealias ZoneError = ItemError<Zone>
/// Why one subscription of a batch failed.
public typealias SubscriptionError = ItemError<Subscription>

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
        var names: [ErrorResponse.ItemKey: JSONRawValue] = [:]
        response = try ErrorResponse(json: &reader, itemNames: &names)
        for key in ErrorResponse.ItemKey.allCases {
            guard let name = names[key] else { continue }
            if "\(key.name)" == Item.errorKey {
                id = try name.read()
            } else {
                response.otherKeys["\(key.name)"] = name
            }
        }
    }

    /// Writes `{"recordName":…,"serverErrorCode":…,"reason":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        response.writeMembers(
            to: &writer,
            as: ErrorResponse.ItemKey.allCases.first { "\($0.name)" == Item.errorKey },
            id
        )
        writer.endObject()
    }
}

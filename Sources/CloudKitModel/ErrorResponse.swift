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
    /// The service's explanation. Apple's own containers send `serverErrorMessage` instead, which is read, too.
    public var reason: String?
    /// The number of seconds to wait before the request is sent again; `nil` means that it should not be sent again.
    public var retryAfter: Double?
    /// The service's identifier of this request, for a report to Apple.
    public var uuid: String?
    /// The address where a user can sign in; with `AUTHENTICATION_REQUIRED` only. `redirectUrl` is read, too.
    public var redirectURL: String?
    /// A code of an extension of the container.
    public var extensionErrorCode: String?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var spelling = ExcludedFromEquality(Spelling())

    /// Makes an error dictionary. Parts that are `nil` are left out of the JSON.
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
    /// The name or form that a part had on the wire, for parts with several known names or forms.
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

    /// Reads an error dictionary. A member of an unexpected JSON type is kept in ``otherKeys``, so that the error's
    /// code is not lost.
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

    /// Writes only the members, into an object that the caller began.
    func writeMembers(to writer: inout JSONWriter) {
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

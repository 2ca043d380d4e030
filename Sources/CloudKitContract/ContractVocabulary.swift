import StreamingJSON

/// The destination of a rule's request: a database, maybe one zone of it, and the credentials.
struct Destination: Sendable {
    /// The credentials with which a request is made.
    enum Identity: Sendable {
        /// No credentials.
        case anonymous
        /// The API token alone.
        case apiToken
        /// The API token and the web authentication token of the first user.
        case user
        /// The API token and the web authentication token of the second user.
        case secondUser
        /// The signature of the server-to-server key.
        case serverKey
    }

    /// `public`, `private` or `shared`.
    var scope: String
    var identity: Identity
    /// The `zoneID` of requests; `nil` for the default zone.
    var zoneID: JSONValue?

    static let privateDatabase = Destination(scope: "private", identity: .user)
    static let sharedDatabase = Destination(scope: "shared", identity: .user)

    static func publicDatabase(as identity: Identity) -> Destination {
        Destination(scope: "public", identity: identity)
    }

    /// The same database and zone, with the credentials of another caller.
    func seen(by identity: Identity) -> Destination {
        Destination(scope: scope, identity: identity, zoneID: zoneID)
    }

    /// A zone of the same database.
    func zone(_ name: String) -> Destination {
        Destination(scope: scope, identity: identity, zoneID: ["zoneName": .string(name)])
    }

    var zoneName: String { zoneID?["zoneName"]?.stringValue ?? "_defaultZone" }
}

/// A field of a record as JSON: a value, and usually its type.
struct Field: Sendable {
    var json: JSONValue

    /// A value without a type, which the service has to infer.
    static func untyped(_ value: JSONValue) -> Field { Field(json: ["value": value]) }
    static func typed(_ value: JSONValue, _ type: String) -> Field {
        Field(json: ["value": value, "type": .string(type)])
    }
    static func encrypted(_ value: JSONValue, _ type: String) -> Field {
        Field(json: ["value": value, "type": .string(type), "isEncrypted": true])
    }

    static let null = untyped(nil)
    static func string(_ value: String) -> Field { typed(.string(value), "STRING") }
    static func int64(_ value: Int64) -> Field { typed(.integer(value), "INT64") }
    static func double(_ value: Double) -> Field { typed(.double(value), "DOUBLE") }
    static func timestamp(_ milliseconds: Int64) -> Field { typed(.integer(milliseconds), "TIMESTAMP") }
    static func bytes(_ base64: String) -> Field { typed(.string(base64), "BYTES") }
    static func location(_ latitude: Double, _ longitude: Double) -> Field {
        typed(["latitude": .double(latitude), "longitude": .double(longitude)], "LOCATION")
    }
    static func reference(_ recordName: String, _ action: String = "NONE") -> Field {
        typed(Self.referenceValue(recordName, action), "REFERENCE")
    }
    static func referenceValue(_ recordName: String, _ action: String = "NONE") -> JSONValue {
        ["recordName": .string(recordName), "action": .string(action)]
    }
    static func list(_ type: String, _ values: [JSONValue]) -> Field { typed(.array(values), type + "_LIST") }

    var value: JSONValue { json["value"] ?? .null }
    var type: String? { json["type"]?.stringValue }

    /// The pattern of the field in a reply: the same value, except that a reference may also have its zone.
    var pattern: JSONPattern {
        guard var members = json.objectValue?.mapValues(JSONPattern.value) else { return .value(json) }
        if type == "REFERENCE" {
            members["value"] = Self.referencePattern(value)
        } else if type == "REFERENCE_LIST" {
            members["value"] = .array((value.arrayValue ?? []).map(Self.referencePattern))
        }
        return .object(JSONPattern.Members(required: members))
    }

    private static func referencePattern(_ value: JSONValue) -> JSONPattern {
        let members = (value.objectValue ?? [:]).mapValues(JSONPattern.value)
        return .object(JSONPattern.Members(required: members, optional: ["zoneID": .including(["zoneName": .text])]))
    }
}

extension Field: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .int64(value) }
    init(floatLiteral value: Double) { self = .double(value) }
}

typealias Fields = [String: Field]

/// The record type of most rules.
let noteType = "ContractNote"

/// One operation of records/modify.
struct Operation: Sendable {
    var json: JSONValue

    init(json: JSONValue) {
        self.json = json
    }

    init(
        _ operationType: String,
        _ recordName: String?,
        _ fields: Fields? = nil,
        type: String? = noteType,
        tag: String? = nil,
        record others: [String: JSONValue] = [:],
        beside: [String: JSONValue] = [:]
    ) {
        var record = others
        record["recordName"] = recordName.map(JSONValue.string)
        record["recordType"] = type.map(JSONValue.string)
        record["recordChangeTag"] = tag.map(JSONValue.string)
        record["fields"] = fields.map { .object($0.mapValues(\.json)) }
        var operation = beside
        operation["operationType"] = .string(operationType)
        operation["record"] = .object(record)
        json = .object(operation)
    }

    static func create(_ recordName: String?, _ fields: Fields = [:], type: String = noteType) -> Operation {
        Operation("create", recordName, fields, type: type)
    }
    static func update(_ recordName: String, _ fields: Fields, tag: String?) -> Operation {
        Operation("update", recordName, fields, tag: tag)
    }
    static func forceUpdate(_ recordName: String, _ fields: Fields, type: String = noteType) -> Operation {
        Operation("forceUpdate", recordName, fields, type: type)
    }
    static func delete(_ recordName: String, tag: String?) -> Operation {
        Operation("delete", recordName, type: nil, tag: tag)
    }
    static func forceDelete(_ recordName: String) -> Operation {
        Operation("forceDelete", recordName, type: nil)
    }

    var recordName: String? { json["record"]?["recordName"]?.stringValue }
}

// MARK: - What replies hold

extension JSONPattern {
    /// A live record with this name and type and exactly these fields. It must also have a change tag and both stamps.
    ///
    /// - Parameters:
    ///   - name: The record's name, or `nil` for any.
    ///   - fields: All fields of the record.
    ///   - cleared: Fields that were set to null: they are absent or null.
    ///   - type: The record's type.
    ///   - tag: The pattern of the change tag.
    ///   - others: The patterns of further members.
    /// - Returns: The pattern.
    static func record(
        _ name: String?,
        _ fields: Fields = [:],
        cleared: [String] = [],
        type: String = noteType,
        tag: JSONPattern = .text,
        and others: [String: JSONPattern] = [:]
    ) -> JSONPattern {
        let fieldMembers = JSONPattern.object(
            Members(
                required: fields.mapValues(\.pattern),
                optional: Dictionary(uniqueKeysWithValues: cleared.map { ($0, .including(["value": nil])) })
            )
        )
        var required: [String: JSONPattern] = [
            "recordName": name.map { .value(.string($0)) } ?? .text,
            "recordType": .value(.string(type)),
            "recordChangeTag": tag,
            "created": .stamp,
            "modified": .stamp,
        ]
        var optional: [String: JSONPattern] = ["deleted": false, "zoneID": .including(["zoneName": .text])]
        if fields.isEmpty { optional["fields"] = fieldMembers } else { required["fields"] = fieldMembers }
        required.merge(others) { _, new in new }
        return .including(required, optional: optional, without: ["serverErrorCode", "reason"])
    }

    /// The user and the time of a write.
    static let stamp = including(["timestamp": .wholeNumber], optional: ["userRecordName": .text, "deviceID": .text])

    /// The failure of one record of a batch.
    static func failure(_ name: String?, _ codes: String..., reason: String? = nil) -> JSONPattern {
        .including(
            [
                "serverErrorCode": .anyOf(codes.map { .value(.string($0)) }),
                "reason": reason.map(JSONPattern.reason) ?? .text,
            ].merging(name.map { ["recordName": .value(.string($0))] } ?? [:]) { _, new in new },
            without: ["fields", "recordChangeTag", "created", "modified"]
        )
    }

    /// The result of a deletion.
    static func deleted(_ name: String) -> JSONPattern {
        .including(
            ["recordName": .value(.string(name)), "deleted": true],
            without: ["fields", "serverErrorCode", "reason"]
        )
    }

    /// A deleted record in a change feed.
    static func tombstone(_ name: String) -> JSONPattern {
        .including(
            ["recordName": .value(.string(name)), "deleted": true],
            optional: ["recordType": nil, "recordChangeTag": .text],
            without: ["fields", "serverErrorCode"]
        )
    }

    /// A zone in a reply.
    static func zone(_ name: String, type: String = "REGULAR_CUSTOM_ZONE") -> JSONPattern {
        .including(
            ["zoneID": .zoneID(name, type: type)],
            optional: ["syncToken": .text, "atomic": .value(.bool(type == "REGULAR_CUSTOM_ZONE"))],
            without: ["serverErrorCode", "reason"]
        )
    }

    /// A zone ID in a reply. Every user has a default zone, so its ID may omit the owner.
    static func zoneID(_ name: String, type: String = "REGULAR_CUSTOM_ZONE") -> JSONPattern {
        var required: [String: JSONPattern] = ["zoneName": .value(.string(name))]
        if type == "REGULAR_CUSTOM_ZONE" { required["ownerRecordName"] = .text }
        return .including(required, optional: ["zoneType": .value(.string(type)), "ownerRecordName": .text])
    }

    /// The failure of one zone of a batch.
    static func zoneFailure(_ name: String?, _ codes: String..., reason: String? = nil) -> JSONPattern {
        .including(
            [
                "serverErrorCode": .anyOf(codes.map { .value(.string($0)) }),
                "reason": reason.map(JSONPattern.reason) ?? .text,
            ].merging(name.map { ["zoneID": .including(["zoneName": .value(.string($0))])] } ?? [:]) { _, new in new },
            without: ["syncToken", "records", "moreComing"]
        )
    }
}

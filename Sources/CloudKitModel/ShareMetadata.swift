public import StreamingJSON

/// The short name that opens a share, with what to fetch along with it.
///
/// ```swift
/// ShortGUID("02aPe3Jgy3COgyPaWfUJPyfFw", shouldFetchRootRecord: true)
/// // {"value":"02aPe3Jgy3COgyPaWfUJPyfFw","shouldFetchRootRecord":true}
/// ```
public struct ShortGUID: Hashable, Sendable {
    /// The name itself; its first three characters route the request.
    public var value: String
    /// Whether the reply shall hold the root record; `nil` leaves that to the service.
    public var shouldFetchRootRecord: Bool?
    /// The fields of the root record to fetch; `nil` for all.
    public var rootRecordDesiredKeys: [String]?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a short name. Absent parts are left out of the JSON.
    public init(_ value: String, shouldFetchRootRecord: Bool? = nil, rootRecordDesiredKeys: [String]? = nil) {
        self.value = value
        self.shouldFetchRootRecord = shouldFetchRootRecord
        self.rootRecordDesiredKeys = rootRecordDesiredKeys
    }
}

extension ShortGUID: JSONBackedCodable {
    private static let keys = JSONKeys("value", "shouldFetchRootRecord", "rootRecordDesiredKeys")

    /// Reads a short name: a dictionary, or the bare string for which CloudKit JS takes one as well.
    public init(json reader: inout JSONReader) throws(JSONError) {
        if try reader.peekKind() == .string {
            self.init(try reader.readString())
            return
        }
        var value: String?
        var shouldFetchRootRecord: Bool?
        var rootRecordDesiredKeys: [String]?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: value = try otherKeys.read(key, from: &reader)
            case 1: shouldFetchRootRecord = try otherKeys.read(key, from: &reader)
            case 2: rootRecordDesiredKeys = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
        guard let value else { throw reader.error(.missingKey, "a short GUID needs \"value\"") }
        self.init(value, shouldFetchRootRecord: shouldFetchRootRecord, rootRecordDesiredKeys: rootRecordDesiredKeys)
        self.otherKeys = otherKeys
    }

    /// Writes `{"value":…,"shouldFetchRootRecord":…,"rootRecordDesiredKeys":[…]}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("value")
        writer.write(value)
        otherKeys.write(1, "shouldFetchRootRecord", shouldFetchRootRecord, to: &writer)
        otherKeys.write(2, "rootRecordDesiredKeys", rootRecordDesiredKeys, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// What stands behind the short name of a share: the share, whose it is, and what the caller is to it.
///
/// Replies of `records/resolve` and `records/accept` hold one for each short name.
public struct ShareMetadata: Hashable, Sendable {
    /// Where the caller finds the records of a share, `databaseScope`.
    public struct Scope: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the scope spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `PRIVATE`: the share is the caller's own.
        public static let `private`: Scope = "PRIVATE"
        /// `SHARED`: the share is somebody else's.
        public static let shared: Scope = "SHARED"
    }

    /// The short name that was asked for.
    public var shortGUID: ShortGUID?
    /// The container of the share.
    public var containerIdentifier: String?
    /// The environment, `development` or `production`.
    public var environment: String?
    /// Where the caller finds the records.
    public var databaseScope: Scope?
    /// The zone of the records, with its owner.
    public var zoneID: ZoneID?
    /// The share's record.
    public var share: Record? {
        get { records.share?.value }
        set { records.share = newValue.map(Box.init) }
    }
    /// The name of the record that is shared; `nil` where a zone is shared as a whole.
    public var rootRecordName: String?
    /// The record that is shared, where it was asked for and the caller may see it.
    public var rootRecord: Record? {
        get { records.root?.value }
        set { records.root = newValue.map(Box.init) }
    }
    /// The records above the root; recorded replies have none.
    public var ancestorRecords: [Record]?
    /// Whose share it is.
    public var ownerIdentity: UserIdentity?
    /// The part that the caller has in the share.
    public var participantType: Participant.ParticipantType?
    /// Whether the caller accepted.
    public var participantStatus: Participant.AcceptanceStatus?
    /// What the caller may do.
    public var participantPermission: SharePermission?
    /// Invitations that may be meant for the caller, who is not known by the address that they went to.
    public var potentialMatchList: [PotentialMatch]?
    /// A page about the share.
    public var webpageURL: String?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    private var records = Records()

    private struct Records: Hashable, Sendable {
        var share: Box<Record>?
        var root: Box<Record>?
    }

    /// Makes a description of nothing, to be filled in.
    public init(shortGUID: ShortGUID? = nil) {
        self.shortGUID = shortGUID
    }

    /// A participant of a share that the caller might be.
    public struct PotentialMatch: Hashable, Sendable {
        /// The participant's name in the share.
        public var participantID: String?
        /// How the participant was invited.
        public var contactInformation: LookupInfo?
        /// The members that have no property here.
        public var otherKeys = OtherKeys()

        /// Makes a match. Absent parts are left out of the JSON.
        public init(participantID: String? = nil, contactInformation: LookupInfo? = nil) {
            self.participantID = participantID
            self.contactInformation = contactInformation
        }
    }
}

extension ShareMetadata: JSONBackedCodable {
    private static let keys = JSONKeys(
        "shortGUID",
        "containerIdentifier",
        "environment",
        "databaseScope",
        "zoneID",
        "share",
        "rootRecordName",
        "rootRecord",
        "ancestorRecords",
        "ownerIdentity",
        "participantType",
        "participantStatus",
        "participantPermission",
        "potentialMatchList",
        "webpageURL",
        "serverErrorCode"
    )

    /// Reads a description.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var isError = false
        try self.init(json: &reader, isError: &isError)
    }

    /// Reads a description, and notes whether it is an error dictionary.
    init(json reader: inout JSONReader, isError: inout Bool) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: shortGUID = try otherKeys.read(key, from: &reader)
            case 1: containerIdentifier = try otherKeys.read(key, from: &reader)
            case 2: environment = try otherKeys.read(key, from: &reader)
            case 3: databaseScope = try otherKeys.read(key, from: &reader)
            case 4: zoneID = try otherKeys.read(key, from: &reader)
            case 5: share = try otherKeys.read(key, from: &reader)
            case 6: rootRecordName = try otherKeys.read(key, from: &reader)
            case 7: rootRecord = try otherKeys.read(key, from: &reader)
            case 8: ancestorRecords = try otherKeys.read(key, from: &reader)
            case 9: ownerIdentity = try otherKeys.read(key, from: &reader)
            case 10: participantType = try otherKeys.read(key, from: &reader)
            case 11: participantStatus = try otherKeys.read(key, from: &reader)
            case 12: participantPermission = try otherKeys.read(key, from: &reader)
            case 13: potentialMatchList = try otherKeys.read(key, from: &reader)
            case 14: webpageURL = try otherKeys.read(key, from: &reader)
            case 15:
                if try reader.peekKind() != .null { isError = true }
                try otherKeys.keep(from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "shortGUID", shortGUID, to: &writer)
        otherKeys.write(1, "containerIdentifier", containerIdentifier, to: &writer)
        otherKeys.write(2, "environment", environment, to: &writer)
        otherKeys.write(3, "databaseScope", databaseScope, to: &writer)
        otherKeys.write(4, "zoneID", zoneID, to: &writer)
        otherKeys.write(5, "share", share, to: &writer)
        otherKeys.write(6, "rootRecordName", rootRecordName, to: &writer)
        otherKeys.write(7, "rootRecord", rootRecord, to: &writer)
        otherKeys.write(8, "ancestorRecords", ancestorRecords, to: &writer)
        otherKeys.write(9, "ownerIdentity", ownerIdentity, to: &writer)
        otherKeys.write(10, "participantType", participantType, to: &writer)
        otherKeys.write(11, "participantStatus", participantStatus, to: &writer)
        otherKeys.write(12, "participantPermission", participantPermission, to: &writer)
        otherKeys.write(13, "potentialMatchList", potentialMatchList, to: &writer)
        otherKeys.write(14, "webpageURL", webpageURL, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

extension ShareMetadata.PotentialMatch: JSONBackedCodable {
    private static let keys = JSONKeys("participantId", "contactInformation")

    /// Reads a match.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: participantID = try otherKeys.read(key, from: &reader)
            case 1: contactInformation = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes `{"participantId":…,"contactInformation":{…}}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "participantId", participantID, to: &writer)
        otherKeys.write(1, "contactInformation", contactInformation, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// One item of a reply about short names: what stands behind one, or why that is not told.
public enum ShareResult: Hashable, Sendable {
    /// What stands behind the short name.
    case share(ShareMetadata)
    /// The item's error; the others of the batch stand on their own.
    case failure(ShareError)

    /// What stands behind the short name; throws the item's error, a ``ShareError``.
    public func get() throws -> ShareMetadata {
        switch self {
        case .share(let metadata): return metadata
        case .failure(let error): throw error
        }
    }

    /// The short name, as far as the service gave it.
    public var shortGUID: ShortGUID? {
        switch self {
        case .share(let metadata): metadata.shortGUID
        case .failure(let error): error.shortGUID
        }
    }
}

extension ShareResult: JSONBackedCodable {
    /// Reads an item; it is an error when it has `serverErrorCode`.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        var isError = false
        let metadata = try ShareMetadata(json: &reader, isError: &isError)
        if isError {
            reader.rewind(to: start)
            self = .failure(try ShareError(json: &reader))
        } else {
            self = .share(metadata)
        }
    }

    /// Writes the description or the error dictionary.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .share(let metadata): writer.write(metadata)
        case .failure(let error): writer.write(error)
        }
    }
}

/// Why nothing is told of one short name of a batch.
///
/// ```json
/// {"shortGUID":{"value":"0no"},"serverErrorCode":"NOT_FOUND","reason":"…"}
/// ```
///
/// The parts of ``ErrorResponse`` can be used on it directly: `error.serverErrorCode`, `error.reason`.
@dynamicMemberLookup
public struct ShareError: Error, Hashable, Sendable {
    /// The short name, as far as the service gave it.
    public var shortGUID: ShortGUID?
    /// The error dictionary's common members.
    public var response: ErrorResponse

    /// Makes an error.
    public init(shortGUID: ShortGUID?, response: ErrorResponse) {
        self.shortGUID = shortGUID
        self.response = response
    }

    /// A part of ``response``.
    public subscript<Part>(dynamicMember path: WritableKeyPath<ErrorResponse, Part>) -> Part {
        get { response[keyPath: path] }
        set { response[keyPath: path] = newValue }
    }
}

extension ShareError: JSONBackedCodable {
    /// Reads the error dictionary of a short name.
    public init(json reader: inout JSONReader) throws(JSONError) {
        response = try ErrorResponse(json: &reader)
        shortGUID = try response.otherKeys["shortGUID"]?.read()
        response.otherKeys["shortGUID"] = nil
    }

    /// Writes `{"serverErrorCode":…,"reason":…,"shortGUID":{…}}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        if let shortGUID {
            writer.key("shortGUID")
            writer.write(shortGUID)
        }
        response.writeMembers(to: &writer, as: nil, String?.none)
        writer.endObject()
    }
}

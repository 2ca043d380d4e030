public import StreamingJSON

/// A person in a share.
///
/// ```json
/// {"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED",
///  "userIdentity":{"lookupInfo":{"emailAddress":"guest@example.com"}}}
/// ```
///
/// Replies also carry keys of the share's encryption (`protectionInfo`, `outOfNetworkPrivateKey` …), which are kept whole
/// in ``otherKeys``.
public struct Participant: Hashable, Sendable {
    /// The part a person has in a share, `type`.
    public struct ParticipantType: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the type spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `OWNER`
        public static let owner: ParticipantType = "OWNER"
        /// `ADMINISTRATOR`
        public static let administrator: ParticipantType = "ADMINISTRATOR"
        /// `USER`: was invited
        public static let user: ParticipantType = "USER"
        /// `PUBLIC_USER`: came by the public link
        public static let publicUser: ParticipantType = "PUBLIC_USER"
        /// `UNKNOWN`
        public static let unknown: ParticipantType = "UNKNOWN"
    }

    /// What has become of an invitation.
    public struct AcceptanceStatus: OpenString {
        /// The spelling on the wire.
        public var rawValue: String

        /// Makes the status spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `INVITED`, Apple's page
        public static let invited: AcceptanceStatus = "INVITED"
        /// `PENDING`, the constant of CloudKit JS
        public static let pending: AcceptanceStatus = "PENDING"
        /// `ACCEPTED`
        public static let accepted: AcceptanceStatus = "ACCEPTED"
        /// `REMOVED`
        public static let removed: AcceptanceStatus = "REMOVED"
        /// `UNKNOWN`
        public static let unknown: AcceptanceStatus = "UNKNOWN"
    }

    /// The participant's name in this share.
    public var participantID: String?
    /// The person.
    public var userIdentity: UserIdentity?
    /// The part they have.
    public var type: ParticipantType?
    /// Whether they accepted.
    public var acceptanceStatus: AcceptanceStatus?
    /// What they may do.
    public var permission: SharePermission?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a participant. Absent parts are left out of the JSON.
    public init(
        userIdentity: UserIdentity? = nil,
        type: ParticipantType? = nil,
        acceptanceStatus: AcceptanceStatus? = nil,
        permission: SharePermission? = nil,
        participantID: String? = nil
    ) {
        self.participantID = participantID
        self.userIdentity = userIdentity
        self.type = type
        self.acceptanceStatus = acceptanceStatus
        self.permission = permission
    }
}

extension Participant {
    /// Invites somebody to a share.
    ///
    /// ```swift
    /// Participant.invited(.emailAddress("guest@example.com"), permission: .readWrite)
    /// // {"userIdentity":{"lookupInfo":{"emailAddress":"guest@example.com"}},"type":"USER",
    /// //  "acceptanceStatus":"INVITED","permission":"READ_WRITE"}
    /// ```
    ///
    /// - Parameters:
    ///   - lookup: Whom: by e-mail address, telephone number or user record name.
    ///   - permission: What they may do.
    /// - Returns: The participant, as Apple's page on sharing shows one.
    public static func invited(_ lookup: LookupInfo, permission: SharePermission = .readOnly) -> Participant {
        Participant(
            userIdentity: UserIdentity(userRecordName: lookup.userRecordName, lookupInfo: lookup),
            type: .user,
            acceptanceStatus: .invited,
            permission: permission
        )
    }
}

/// What people may do with the records of a share.
public struct SharePermission: OpenString {
    /// The spelling on the wire.
    public var rawValue: String

    /// Makes the permission spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// `NONE`
    public static let none: SharePermission = "NONE"
    /// `READ_ONLY`
    public static let readOnly: SharePermission = "READ_ONLY"
    /// `READ_WRITE`
    public static let readWrite: SharePermission = "READ_WRITE"
    /// `UNKNOWN`
    public static let unknown: SharePermission = "UNKNOWN"
}

extension Participant: JSONBackedCodable {
    private static let keys = JSONKeys("participantId", "userIdentity", "type", "acceptanceStatus", "permission")

    /// Reads a participant.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: participantID = try otherKeys.read(key, from: &reader)
            case 1: userIdentity = try otherKeys.read(key, from: &reader)
            case 2: type = try otherKeys.read(key, from: &reader)
            case 3: acceptanceStatus = try otherKeys.read(key, from: &reader)
            case 4: permission = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "participantId", participantID, to: &writer)
        otherKeys.write(1, "userIdentity", userIdentity, to: &writer)
        otherKeys.write(2, "type", type, to: &writer)
        otherKeys.write(3, "acceptanceStatus", acceptanceStatus, to: &writer)
        otherKeys.write(4, "permission", permission, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// A record in one of its versions: what a new share is for.
///
/// ```swift
/// var share = Record(recordType: "cloudkit.share")
/// share.forRecord = RecordVersion(recordName: "RecordA", recordChangeTag: "2")
/// // {"recordType":"cloudkit.share","forRecord":{"recordName":"RecordA","recordChangeTag":"2"}}
/// ```
public struct RecordVersion: Hashable, Sendable {
    /// The record's name.
    public var recordName: String?
    /// The record's change tag.
    public var recordChangeTag: String?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a record's version.
    public init(recordName: String?, recordChangeTag: String?) {
        self.recordName = recordName
        self.recordChangeTag = recordChangeTag
    }
}

extension RecordVersion: JSONBackedCodable {
    private static let keys = JSONKeys("recordName", "recordChangeTag")

    /// Reads a record's version.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(recordName: nil, recordChangeTag: nil)
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: recordName = try otherKeys.read(key, from: &reader)
            case 1: recordChangeTag = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes `{"recordName":…,"recordChangeTag":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "recordName", recordName, to: &writer)
        otherKeys.write(1, "recordChangeTag", recordChangeTag, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

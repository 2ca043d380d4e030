#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A share, which lets other people read or write a record and all records below it, or a whole zone.
///
/// ```swift
/// var share = try await database.share(album, title: "Holidays", participants: [.invited(.emailAddress("ben@example.com"))])
/// print(share.url)                                             // https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw
/// share[.emailAddress("ben@example.com")]?.permission = .readWrite
/// share.invite(.phoneNumber("+4712345678"))
/// share = try await database.update(share)
/// ```
///
/// A `Share` is a value: call ``CloudKitDatabase/update(_:)-(Share)`` to send its changes to the service.
///
/// ## Topics
///
/// ### Participants
/// - ``participants``
/// - ``subscript(_:)``
/// - ``invite(_:permission:)``
/// - ``publicPermission``
/// - ``owner``
/// - ``currentUserParticipant``
///
/// ### What people see
/// - ``title``
/// - ``type``
/// - ``thumbnail``
/// - ``url``
/// - ``link``
///
/// ### Its record
/// - ``record``
/// - ``recordName``
/// - ``zoneID``
/// - ``rootRecordName``
public struct Share: Hashable, Sendable {
    /// The record type of shares. Apple's page spells it `cloudKit.share`, which the service does not know.
    public static let recordType = "cloudkit.share"

    /// The record name of the share of a whole zone (native framework).
    static let zoneRecordName = "cloudkit.zoneshare"

    /// The share's record.
    public var record: Record

    /// The zone of the share and of all records that it shares. In the shared database it names the zone's owner.
    public var zoneID: ZoneID

    /// The name of the root record, if it is known; `nil` for a share of a whole zone. The share's own record does not
    /// have this name.
    public var rootRecordName: String?

    /// The root record as the service had it directly after it was shared, with its new change tag, so that it can be
    /// updated; `nil` in shares that were fetched.
    public var rootRecord: Record? {
        get { root?.record }
        set { root = newValue.map(Root.init) }
    }
    private var root: Root?

    /// A record on the heap, so that shares stay small.
    private final class Root: Hashable, Sendable {
        let record: Record

        init(_ record: Record) {
            self.record = record
        }

        static func == (left: Root, right: Root) -> Bool { left.record == right.record }

        func hash(into hasher: inout Hasher) { hasher.combine(record) }
    }

    /// Makes a share from its record.
    ///
    /// - Parameters:
    ///   - record: A record of the type ``recordType``.
    ///   - zoneID: The zone of the share; with `nil`, the zone that the record names.
    ///   - rootRecordName: The name of the root record, if it is known.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` for a record of another type,
    ///   and for a record without a zone.
    public init(_ record: Record, zoneID: ZoneID? = nil, rootRecordName: String? = nil) throws {
        guard record.recordType == Self.recordType else {
            throw CloudKitError.invalidArgument(
                "A record of the type \(record.recordType ?? "none") is no share; shares are \(Self.recordType).",
                item: record.recordName.map { .record(name: $0) }
            )
        }
        guard let zoneID = zoneID ?? record.zoneID else {
            throw CloudKitError.invalidArgument("The record of the share does not say its zone; give zoneID.")
        }
        self.record = record
        self.zoneID = zoneID
        self.rootRecordName = rootRecordName
    }

    /// The name of the share's record.
    public var recordName: String? { record.recordName }

    /// The title that people see for the shared content, `cloudkit.title`.
    public var title: String? {
        get { record["cloudkit.title"]?.stringValue }
        set { record["cloudkit.title"] = newValue.map(FieldValue.string) ?? .null }
    }

    /// The type of the shared content, `cloudkit.type`: a uniform type identifier of the app.
    public var type: String? {
        get { record["cloudkit.type"]?.stringValue }
        set { record["cloudkit.type"] = newValue.map(FieldValue.string) ?? .null }
    }

    /// The bytes of a small picture of the shared content, `cloudkit.thumbnailImageData`.
    public var thumbnail: Data? {
        get { record["cloudkit.thumbnailImageData"]?.bytesValue }
        set { record["cloudkit.thumbnailImageData"] = newValue.map(FieldValue.bytes) ?? .null }
    }

    /// The permission of people who have the link and no invitation. `.none` closes the public link, and people who
    /// joined by it lose access.
    public var publicPermission: SharePermission {
        get { record.shareAccess.publicPermission ?? SharePermission.none }
        set { record.shareAccess.publicPermission = newValue }
    }

    /// The owner, the users who accepted the share, and the users who are invited. An update sends the whole list, and
    /// a user who is missing from it is no longer a participant.
    public var participants: [Participant] {
        get { record.shareAccess.participants ?? [] }
        set { record.shareAccess.participants = newValue }
    }

    /// The owner of the share.
    public var owner: Participant? {
        record.shareAccess.owner ?? record.shareAccess.participants?.first { $0.type == .owner }
    }

    /// The caller, if the caller is a participant.
    public var currentUserParticipant: Participant? { record.shareAccess.currentUserParticipant }

    /// The link to give to people.
    public var link: ShareLink? { record.shortGUID.map(ShareLink.init(shortGUID:)) }

    /// The link to give to people, such as `https://www.icloud.com/share/02aPe3Jgy3COgyPaWfUJPyfFw`.
    public var url: URL? { link?.url }

    /// Invites a person, or changes the permission of a participant.
    ///
    /// The share is changed with the next ``CloudKitDatabase/update(_:)-(Share)``.
    ///
    /// - Parameters:
    ///   - lookup: The person: an e-mail address, phone number or user record name. People who are not discoverable
    ///     and people who do not use the app yet can be invited as well.
    ///   - permission: What the person may do.
    public mutating func invite(_ lookup: LookupInfo, permission: SharePermission = .readOnly) {
        if self[lookup] == nil {
            participants.append(.invited(lookup, permission: permission))
        } else {
            self[lookup]?.permission = permission
        }
    }

    /// The participant with an address or a user record name. Assign `nil` to remove the participant.
    ///
    /// ```swift
    /// share[.emailAddress("ben@example.com")]?.permission = .readWrite
    /// share[.userRecordName(tom)] = nil
    /// ```
    public subscript(_ lookup: LookupInfo) -> Participant? {
        get { participants.first { $0.isMeant(by: lookup) } }
        set {
            var others = participants
            let place = others.firstIndex { $0.isMeant(by: lookup) }
            switch (place, newValue) {
            case (let place?, let participant?): others[place] = participant
            case (let place?, nil): others.remove(at: place)
            case (nil, let participant?): others.append(participant)
            case (nil, nil): return
            }
            participants = others
        }
    }
}

extension Share {
    /// Makes a share from the metadata that the service returns for its link.
    ///
    /// - Parameter metadata: The result of
    ///   ``CloudKitService/resolve(_:fetchingRootRecord:rootRecordDesiredKeys:)-(ShareLink,_,_)`` or
    ///   ``CloudKitService/accept(_:)-(ShareLink)``.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` where the metadata has no
    ///   share. A possible reason is that another user was invited, not the caller.
    public init(_ metadata: ShareMetadata) throws {
        guard let record = metadata.share else {
            throw CloudKitError.invalidArgument(
                """
                The service returned no share: the invitation probably went to an address that is not known to be the caller's \
                (see potentialMatchList).
                """
            )
        }
        try self.init(record, zoneID: metadata.zoneID, rootRecordName: metadata.rootRecordName)
        rootRecord = metadata.rootRecord
    }
}

extension ShareMetadata {
    /// The link of the share.
    public var link: ShareLink? { shortGUID.map { ShareLink(shortGUID: $0.value) } }
}

extension Participant {
    fileprivate func isMeant(by lookup: LookupInfo) -> Bool {
        if let name = lookup.userRecordName {
            return userIdentity?.userRecordName == name || userIdentity?.lookupInfo?.userRecordName == name
        }
        if let address = lookup.emailAddress {
            return userIdentity?.lookupInfo?.emailAddress?.lowercased() == address.lowercased()
        }
        return lookup.phoneNumber != nil && userIdentity?.lookupInfo?.phoneNumber == lookup.phoneNumber
    }
}

import CloudKitWebServices

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension CloudKitDatabase {
    /// Shares a record of the private database, with all records that have it as their `parent`, and those below them.
    ///
    /// ```swift
    /// let share = try await service.privateDatabase.share(
    ///     album,
    ///     title: "Holidays",
    ///     participants: [.invited(.emailAddress("ben@example.com"), permission: .readWrite)]
    /// )
    /// // POST /database/1/iCloud.com.example/development/private/records/modify
    /// // {"operations":[{"operationType":"update","record":{"recordName":"album","recordChangeTag":"1","createShortGUID":true,…}}],…}
    /// // then {"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share",
    /// //   "forRecord":{"recordName":"album","recordChangeTag":"2"},"publicPermission":"NONE","participants":[…],…}}],…}
    /// // then POST …/records/lookup {"records":[{"recordName":"album"}],…}
    /// ```
    ///
    /// The call has three steps. First the record gets a short GUID, if it has none; a new record is created in this
    /// step. Then the share is created, with the change tag that the record has after the first step. Then the record
    /// is fetched, because sharing changes it again. The service was observed to work like this: the change tag cannot
    /// be known in the same request. If a later step fails, the results of the earlier steps stay, and a second call
    /// continues from there. Changed fields of an existing record are not saved: update the record before.
    ///
    /// The service sends no invitations: send ``Share/url`` to people yourself. They find the records in their shared
    /// database after ``CloudKitService/accept(_:)-(ShareLink)``.
    ///
    /// - Parameters:
    ///   - record: The record, in a custom zone. A record whose parent is in a share cannot be shared separately.
    ///   - title: The title that people see for the shared content.
    ///   - type: The type of the shared content, a uniform type identifier.
    ///   - thumbnail: The bytes of a small picture of the shared content.
    ///   - publicPermission: The permission of people who have the link and no invitation.
    ///   - participants: The invited people. A share has at most 100 participants, with the owner (native framework).
    ///   - zone: The record's zone; with `nil`, the zone that the record names.
    /// - Returns: The share. ``Share/rootRecord`` is the record with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` where the database is not the
    ///   private one, or the record is in the default zone or shared already;
    ///   ``CloudKitError/Code-swift.struct/conflict`` where another client changed the record meanwhile.
    public func share<R: WritableRecord>(
        _ record: R,
        title: String? = nil,
        type: String? = nil,
        thumbnail: Data? = nil,
        publicPermission: SharePermission = .none,
        participants: [Participant] = [],
        inZone zone: ZoneID? = nil
    ) async throws -> Share {
        let record = R.writing.untyped(record)
        let zoneID = try checkSharing(of: record, inZone: zone)
        let root = try await withShortGUID(record, inZone: zoneID)
        var draft = Record(recordType: Share.recordType, recordName: "Share-\(UUID().uuidString)")
        draft.shareAccess.forRecord = RecordVersion(recordName: root.recordName, recordChangeTag: root.recordChangeTag)
        draft.shareAccess.publicPermission = publicPermission
        draft.shareAccess.participants = participants
        var share = try Share(draft, zoneID: zoneID, rootRecordName: root.recordName)
        share.describe(title: title, type: type, thumbnail: thumbnail)
        share.record = try await create(share.record, inZone: zoneID)
        share.record.shortGUID = share.record.shortGUID ?? root.shortGUID
        share.rootRecord = try await fetch(root.recordName ?? "", inZone: zoneID)
        return share
    }

    /// Shares a custom zone of the private database, with all records that it has and will have.
    ///
    /// ```swift
    /// let share = try await service.privateDatabase.shareZone(
    ///     ZoneID(zoneName: "Lists"),
    ///     title: "Shopping",
    ///     participants: [.invited(.emailAddress("ben@example.com"), permission: .readWrite)]
    /// )
    /// // POST /database/1/iCloud.com.example/development/private/records/modify
    /// // {"operations":[{"operationType":"create","record":{"recordName":"cloudkit.zoneshare",
    /// //   "recordType":"cloudkit.share","publicPermission":"NONE","participants":[…],…}}],"zoneID":{"zoneName":"Lists"},…}
    /// ```
    ///
    /// The record name of the share is the one of the native framework, so native apps find the share. Apple's pages on
    /// web services do not mention shares of zones, and no web service call that creates one was observed.
    ///
    /// The service sends no invitations: send ``Share/url`` to people yourself. They find the zone in their shared
    /// database after ``CloudKitService/accept(_:)-(ShareLink)``.
    ///
    /// - Parameters:
    ///   - zone: The zone.
    ///   - title: The title that people see for the shared content.
    ///   - type: The type of the shared content, a uniform type identifier.
    ///   - thumbnail: The bytes of a small picture of the shared content.
    ///   - publicPermission: The permission of people who have the link and no invitation.
    ///   - participants: The invited people. A share has at most 100 participants, with the owner (native framework).
    /// - Returns: The share, which has no root record.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` for the default zone, and in
    ///   a database that is not the private one; ``CloudKitError/Code-swift.struct/exists`` where the zone, or a record
    ///   of it, is shared already.
    public func shareZone(
        _ zone: ZoneID,
        title: String? = nil,
        type: String? = nil,
        thumbnail: Data? = nil,
        publicPermission: SharePermission = .none,
        participants: [Participant] = []
    ) async throws -> Share {
        let item = CloudKitError.Item.zone(name: zone.zoneName)
        guard scope == .private else {
            throw CloudKitError.invalidArgument(
                "Zones of the private database can be shared; this is the \(scope.rawValue) one.",
                item: item
            )
        }
        guard zone.zoneName != ZoneID.default.zoneName else {
            throw CloudKitError.invalidArgument(
                "The default zone cannot be shared; make one with createZone(_:).",
                item: item
            )
        }
        var draft = Record(recordType: Share.recordType, recordName: Share.zoneRecordName)
        draft.shareAccess.publicPermission = publicPermission
        draft.shareAccess.participants = participants
        var share = try Share(draft, zoneID: zone)
        share.describe(title: title, type: type, thumbnail: thumbnail)
        do {
            share.record = try await create(share.record, inZone: zone)
        } catch let error as CloudKitError where error.code == .conflict {
            // Some services say CONFLICT for a name that exists already, and the share of a zone has only one name.
            var error = error
            error.code = .exists
            throw error
        }
        return share
    }

    /// Fetches the share of a record, which has to be the root of the share.
    ///
    /// ```swift
    /// let share = try await database.fetchShare(of: album)
    /// // POST /database/1/iCloud.com.example/development/private/records/lookup
    /// // {"records":[{"recordName":"Share-C1FB…"}],"zoneID":{"zoneName":"Albums"}}
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched.
    ///   - zone: The record's zone; with `nil`, the zone that the record names.
    /// - Returns: The share, with its participants.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` for a record that is not the
    ///   root of a share, ``CloudKitError/Code-swift.struct/notFound`` where it is no longer shared.
    public func fetchShare<R: WritableRecord>(of record: R, inZone zone: ZoneID? = nil) async throws -> Share {
        let record = R.writing.untyped(record)
        guard let name = record.share?.recordName else {
            throw CloudKitError.invalidArgument(
                """
                The record is not shared, or it is below the record that is: only the root of a share names it. If it was \
                shared after it was fetched, fetch it again.
                """,
                item: record.recordName.map { .record(name: $0) }
            )
        }
        guard let zoneID = zone ?? record.zoneID ?? record.share?.zoneID else {
            throw CloudKitError.zoneOfShareMissing(name)
        }
        var share = try Share(try await fetch(name, inZone: zoneID), zoneID: zoneID)
        share.rootRecordName = record.recordName
        return share
    }

    /// Fetches the share of a whole zone.
    ///
    /// ```swift
    /// let share = try await database.fetchShare(ofZone: lists)
    /// // POST /database/1/iCloud.com.example/development/private/records/lookup
    /// // {"records":[{"recordName":"cloudkit.zoneshare"}],"zoneID":{"zoneName":"Lists"}}
    /// ```
    ///
    /// - Parameter zone: The zone; in the shared database also its owner's name.
    /// - Returns: The share, with its participants.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where the zone is not shared as a
    ///   whole.
    public func fetchShare(ofZone zone: ZoneID) async throws -> Share {
        try Share(try await fetch(Share.zoneRecordName, inZone: zone), zoneID: zone)
    }

    /// Changes a share: its title, its participants and what they may do, its public link.
    ///
    /// ```swift
    /// share.publicPermission = .readOnly
    /// share.invite(.emailAddress("tom@example.com"))
    /// share = try await database.update(share)
    /// // POST /database/1/iCloud.com.example/development/private/records/modify
    /// // {"operations":[{"operationType":"update","record":{"recordName":"Share-C1FB…","recordType":"cloudkit.share",
    /// //   "recordChangeTag":"3","publicPermission":"READ_ONLY","participants":[…],"fields":{…}}}],…}
    /// ```
    ///
    /// - Parameter share: The share as it was made or fetched, with your changes. All its participants are sent. A user
    ///   who is missing from the list is no longer a participant, and the shared records disappear from the user's
    ///   shared database.
    /// - Returns: The share as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where the share was changed
    ///   meanwhile, also by a participant who accepted it: fetch it again;
    ///   ``CloudKitError/Code-swift.struct/accessDenied`` where the caller is not the owner, who alone may change a
    ///   share.
    @discardableResult
    public func update(_ share: Share) async throws -> Share {
        var record = Record(
            recordType: Share.recordType,
            recordName: share.record.recordName,
            recordChangeTag: share.record.recordChangeTag,
            fields: share.record.fields
        )
        record.shareAccess.publicPermission = share.record.shareAccess.publicPermission
        record.shareAccess.participants = share.record.shareAccess.participants
        var updated = share
        updated.record = try await update(record, inZone: share.zoneID)
        updated.record.shortGUID = updated.record.shortGUID ?? share.record.shortGUID
        return updated
    }

    /// Ends a share that the caller owns. The records stay, and **the participants no longer see them**.
    ///
    /// ```swift
    /// try await service.privateDatabase.stopSharing(share)
    /// // POST /database/1/iCloud.com.example/development/private/records/modify
    /// // {"operations":[{"operationType":"forceDelete","record":{"recordName":"Share-C1FB…"}}],"zoneID":{"zoneName":"Albums"},…}
    /// ```
    ///
    /// - Parameter share: The share. Its change tag does not matter.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` in a database that is not the
    ///   private one. To leave another user's share, call ``leave(_:)``.
    public func stopSharing(_ share: Share) async throws {
        guard scope == .private else {
            throw CloudKitError.invalidArgument(
                "A share is ended by its owner, in the private database. In the shared database, leave(_:) takes the caller out."
            )
        }
        try await deleteShare(share)
    }

    /// Removes the caller from another user's share.
    ///
    /// The share's records disappear from the caller's shared database, and so does their zone if it has no other
    /// records for the caller.
    ///
    /// ```swift
    /// try await service.sharedDatabase.leave(share)
    /// // POST /database/1/iCloud.com.example/development/shared/records/modify
    /// // {"operations":[{"operationType":"forceDelete","record":{"recordName":"Share-C1FB…"}}],
    /// //  "zoneID":{"zoneName":"Albums","ownerRecordName":"_8e1c…"},…}
    /// ```
    ///
    /// - Parameter share: The share, as it was accepted or fetched from the shared database.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidArgument`` in a database that is not the
    ///   shared one, ``CloudKitError/Code-swift.struct/zoneNotFound`` where the caller is not a participant.
    public func leave(_ share: Share) async throws {
        guard scope == .shared else {
            throw CloudKitError.invalidArgument(
                "Leave another user's share in the shared database. End your own share with stopSharing(_:)."
            )
        }
        try await deleteShare(share)
    }

    private func deleteShare(_ share: Share) async throws {
        guard let name = share.recordName else {
            throw CloudKitError.invalidArgument("The share has no record name; it was never saved.")
        }
        try await forceDelete(name, inZone: share.zoneID)
    }

    /// Refuses a record that cannot be shared, before a request is sent, and returns the record's zone.
    private func checkSharing(of record: Record, inZone zone: ZoneID?) throws(CloudKitError) -> ZoneID {
        let item = record.recordName.map { CloudKitError.Item.record(name: $0) }
        guard scope == .private else {
            throw .invalidArgument(
                "Records of the private database can be shared; this is the \(scope.rawValue) one.",
                item: item
            )
        }
        guard let zoneID = zone ?? record.zoneID, zoneID.zoneName != ZoneID.default.zoneName else {
            throw .invalidArgument(
                """
                Only records of custom zones can be shared, and this record names none. Make a zone with createZone(_:), save the \
                record there, and give inZone where the record does not say its zone.
                """,
                item: item
            )
        }
        guard record.share == nil else {
            throw .invalidArgument("The record is shared already; see fetchShare(of:).", item: item)
        }
        return zoneID
    }

    /// Returns the record with a short GUID, which the service makes on request.
    private func withShortGUID(_ record: Record, inZone zoneID: ZoneID) async throws -> Record {
        var request = record
        request.createShortGUID = true
        request.zoneID = nil
        guard record.recordChangeTag != nil else {
            if request.recordName == nil { request.recordName = UUID().uuidString }
            return try await create(request, inZone: zoneID)
        }
        guard record.shortGUID == nil else { return record }
        request.fields = [:]
        return try await update(request, inZone: zoneID)
    }
}

extension CloudKitError {
    fileprivate static func zoneOfShareMissing(_ name: String) -> CloudKitError {
        .invalidArgument("The record does not say its zone; give inZone.", item: .record(name: name))
    }
}

extension Share {
    fileprivate mutating func describe(title: String?, type: String?, thumbnail: Data?) {
        if let title { self.title = title }
        if let type { self.type = type }
        if let thumbnail { self.thumbnail = thumbnail }
    }
}

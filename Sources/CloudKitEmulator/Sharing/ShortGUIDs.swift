import CloudKitModel
package import CloudKitWebServices
import GRDB

extension RequestContext {
    /// Resolves the short names of shares (`records/resolve`).
    ///
    /// Every caller that has the name of a public share may resolve it, signed in or not (recorded). Other shares are
    /// resolved only for the owner and for invited users.
    ///
    /// - Parameter request: At most 200 short names.
    /// - Returns: One result for each name, in order. Where invitations went to addresses of unknown people, a caller
    ///   without an invitation gets these addresses in `potentialMatchList`, and no other part of the share.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for another database and for too many names.
    package func resolveShares(
        _ request: Components.Schemas.ResolveSharesRequest
    ) throws -> Components.Schemas.ResolveSharesResponse {
        try checkShortGUIDs(request.shortGUIDs)
        let results = try read { context in
            try request.shortGUIDs.map(\.withoutNulls).map { shortGUID in
                try ShareResult(shortGUID) {
                    try context.description(of: try SharedRecord(shortGUID, in: context), asked: shortGUID)
                }
            }
        }
        return Components.Schemas.ResolveSharesResponse(results: results)
    }

    /// Accepts shares on the caller's behalf (`records/accept`).
    ///
    /// Afterwards their zones are in the caller's shared database. The caller can read their records there, and also
    /// write them where the permission allows it.
    ///
    /// A user who accepts a public share without an invitation becomes a participant of the type `PUBLIC_USER`. Nothing
    /// changes when a user accepts again, or when the owner accepts.
    ///
    /// - Parameter request: At most 200 short names.
    /// - Returns: One result for each name, in order, of the same form as with ``resolveShares(_:)``.
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED` without a user, `AUTHENTICATION_FAILED` for a
    ///   server-to-server key, `BAD_REQUEST` for another database and for too many names.
    package func acceptShares(
        _ request: Components.Schemas.AcceptSharesRequest
    ) throws -> Components.Schemas.AcceptSharesResponse {
        try checkShortGUIDs(request.shortGUIDs)
        let user = try signedInUser()
        let results = try inDatabase(.shared).write { context in
            try request.shortGUIDs.map(\.withoutNulls).map { shortGUID in
                try ShareResult(shortGUID) {
                    try context.accept(try SharedRecord(shortGUID, in: context), as: user)
                    return try context.description(of: try SharedRecord(shortGUID, in: context), asked: shortGUID)
                }
            }
        }
        return Components.Schemas.AcceptSharesResponse(results: results)
    }

    private func checkShortGUIDs(_ shortGUIDs: [ShortGUID]) throws(EmulatorError) {
        guard database.scope == .public else { throw .notApplicable(in: database.scope) }
        try configuration.limits.check(shortGUIDs.count, of: "short GUIDs")
    }
}

/// A share behind its short name, with its record and its zone.
private struct SharedRecord {
    let share: ShareRow
    /// The zone, with its owner.
    let zone: ZoneRow
    let owner: String
    let row: RecordRow
    let content: Record

    init(_ shortGUID: ShortGUID, in context: DatabaseContext) throws {
        let db = context.db
        guard
            let share = try ShareRow.fetch(shortGUID: shortGUID.value, container: context.containerID, db),
            let zone = try db.row(
                """
                SELECT zone.id, zone.name, zone.sequence, zone.database_sequence, zone.deleted, database.owner
                FROM zone JOIN database ON database.id = zone.database WHERE zone.id = ?
                """,
                [share.zone]
            ).map(ZoneRow.init),
            let row = try RecordRow.fetch(share.name, in: zone, db), !row.isDeleted
        else {
            throw EmulatorError(
                context.configuration.unsettled.unknownShortGUID,
                "there is no share '\(shortGUID.value)'"
            )
        }
        self.share = share
        self.zone = zone
        self.owner = zone.owner ?? ""
        self.row = row
        self.content = try row.content()
    }

    var publicPermission: SharePermission { content.shareAccess.publicPermission ?? SharePermission.none }

    /// The index of a user among the participants: by name, or by the address that the invitation went to.
    func participantIndex(of user: String, _ db: Database) throws -> Int? {
        let participants = content.shareAccess.participants ?? []
        if let index = participants.firstIndex(where: { $0.userIdentity?.userRecordName == user }) { return index }
        guard let person = try Person.fetch(user, db) else { return nil }
        return participants.firstIndex { participant in
            guard participant.userIdentity?.userRecordName == nil, let lookup = participant.userIdentity?.lookup else {
                return false
            }
            if let address = lookup.emailAddress { return address.lowercased() == person.emailAddress?.lowercased() }
            if let number = lookup.phoneNumber { return number == person.phoneNumber }
            return false
        }
    }

    /// Invitations to addresses of unknown people.
    var openInvitations: [ShareMetadata.PotentialMatch] {
        (content.shareAccess.participants ?? []).filter { $0.userIdentity?.userRecordName == nil }.map { participant in
            ShareMetadata.PotentialMatch(
                participantID: participant.participantID,
                contactInformation: participant.userIdentity?.lookup
            )
        }
    }
}

extension DatabaseContext {
    private var notInvited: EmulatorError {
        EmulatorError(configuration.unsettled.uninvitedToShare, "the caller is not invited to the share")
    }

    /// The description of a share in a reply.
    fileprivate func description(of shared: SharedRecord, asked shortGUID: ShortGUID) throws -> ShareMetadata {
        let user: String? = if case .user(let name) = request.caller { name } else { nil }
        let isPublic = shared.publicPermission != SharePermission.none
        let index = try user.flatMap { try shared.participantIndex(of: $0, db) }
        let own = index.flatMap { shared.content.shareAccess.participants?[$0] }
        var metadata = ShareMetadata(shortGUID: shortGUID)
        metadata.containerIdentifier = address.container
        metadata.environment = address.environment.rawValue
        metadata.databaseScope = user == shared.owner ? .private : .shared
        metadata.zoneID = shared.zone.zoneID(in: self)
        metadata.ownerIdentity = shared.content.shareAccess.owner?.userIdentity
        metadata.potentialMatchList = []

        if let own, own.permission != SharePermission.none {
            metadata.participantType = own.type
            metadata.participantStatus = own.acceptanceStatus
            metadata.participantPermission = own.permission
        } else if own == nil, isPublic {
            metadata.participantType = .publicUser
            metadata.participantStatus = .invited
            metadata.participantPermission = shared.publicPermission
        } else if user == nil {
            throw EmulatorError.authenticationRequired
        } else if own == nil, !shared.openInvitations.isEmpty {
            metadata.participantType = .unknown
            metadata.participantStatus = .unknown
            metadata.participantPermission = .unknown
            metadata.potentialMatchList = shared.openInvitations
            return metadata
        } else {
            throw notInvited
        }

        let schema = try schema()
        var presentation = request.presentation(zoneID: metadata.zoneID)
        metadata.share = try presentation.record(shared.row, content: shared.content, schema: schema)
        metadata.rootRecordName = shared.share.root
        // A recorded reply holds the root although the request did not ask for it.
        if shortGUID.shouldFetchRootRecord ?? true, let root = shared.share.root,
            let row = try RecordRow.fetch(root, in: shared.zone, db), !row.isDeleted
        {
            presentation.desiredKeys = shortGUID.rootRecordDesiredKeys.map(Set.init)
            metadata.rootRecord = try presentation.record(row, schema: schema)
            metadata.ancestorRecords = []
        }
        return metadata
    }

    fileprivate func accept(_ shared: SharedRecord, as user: String) throws {
        guard user != shared.owner else { return }
        var participants = shared.content.shareAccess.participants ?? []
        let person = try Person.fetch(user, db) ?? Person(userRecordName: user)
        let permission: SharePermission
        if let index = try shared.participantIndex(of: user, db) {
            permission = participants[index].permission ?? .readOnly
            guard permission != SharePermission.none else { throw notInvited }
            if participants[index].acceptanceStatus == .accepted, try shared.share.users(db).contains(user) { return }
            participants[index].acceptanceStatus = .accepted
            participants[index].userIdentity = person.identity(foundBy: participants[index].userIdentity?.lookup)
        } else {
            permission = shared.publicPermission
            guard permission != SharePermission.none else { throw notInvited }
            guard participants.count < configuration.limits.participantsPerShare else {
                throw EmulatorError.badRequest(
                    "a share has at most \(configuration.limits.participantsPerShare) participants"
                )
            }
            participants.append(
                Participant(
                    userIdentity: person.identity(),
                    type: .publicUser,
                    acceptanceStatus: .accepted,
                    permission: permission,
                    participantID: identifiers.uuid()
                )
            )
        }
        let writer = try RecordWriter(self, shared.zone)
        _ = try writer.rewrite(shared.row) { $0.shareAccess.participants = participants }
        try db.run(
            """
            INSERT OR REPLACE INTO participation (user, zone, share, permission, accepted, ended)
            VALUES (?, ?, ?, ?, ?, NULL)
            """,
            [user, shared.zone.id, shared.share.id, permission.rawValue, writer.zone.sequence]
        )
        try show(shared.zone, owner: shared.owner, to: user)
        try writer.finish()
    }
}

extension ShortGUID {
    /// The short GUID without members that are null. The items of a response repeat no nulls.
    fileprivate var withoutNulls: ShortGUID {
        var shortGUID = ShortGUID(
            value,
            shouldFetchRootRecord: shouldFetchRootRecord,
            rootRecordDesiredKeys: rootRecordDesiredKeys
        )
        shortGUID.otherKeys = otherKeys.withoutNulls
        return shortGUID
    }
}

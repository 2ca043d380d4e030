import CloudKitModel

/// The participants of a share and their permissions.
struct ShareTerms {
    var publicPermission: SharePermission
    /// All participants, the owner first.
    var participants: [Participant]

    /// Reads the terms of a request, with the terms of `old` as defaults. `people` are the known users, by the lookups
    /// of the request's participants.
    ///
    /// - Throws: `BAD_REQUEST` for invalid permissions, for a participant who is named twice or not identified, and for
    ///   too many participants.
    init(
        _ request: Record,
        over old: Record?,
        owner: Person,
        people: [LookupInfo: Person],
        limit: Int,
        identifiers: IdentifierSource
    ) throws(EmulatorError) {
        publicPermission =
            request.shareAccess.publicPermission ?? old?.shareAccess.publicPermission ?? SharePermission.none
        guard publicPermission.canBeGiven else { throw .badRequest("'\(publicPermission)' is not a publicPermission") }
        let present = old?.shareAccess.participants ?? []
        var ownerEntry = present.first { $0.type == .owner } ?? Participant(participantID: identifiers.uuid())
        ownerEntry.type = .owner
        ownerEntry.acceptanceStatus = .accepted
        ownerEntry.permission = .readWrite
        ownerEntry.userIdentity = owner.identity(foundBy: owner.emailAddress.map { LookupInfo(emailAddress: $0) })

        participants = [ownerEntry]
        for participant in request.shareAccess.participants ?? present {
            let identity = participant.userIdentity
            guard participant.type != .owner, identity?.userRecordName != owner.userRecordName else { continue }
            guard participant.acceptanceStatus != .removed else { continue }
            // Users who joined by the public link lose access when the share is no longer public.
            if participant.type == .publicUser, publicPermission == .none { continue }
            let person = identity?.lookup.flatMap { people[$0] }
            try add(participant, over: present, person, identifiers: identifiers)
        }
        guard participants.count <= limit else {
            throw .badRequest("a share has at most \(limit) participants, not \(participants.count)")
        }
    }

    private mutating func add(
        _ participant: Participant,
        over present: [Participant],
        _ person: Person?,
        identifiers: IdentifierSource
    ) throws(EmulatorError) {
        let lookup = participant.userIdentity?.lookup
        let known = present.first { $0.isSame(as: participant) }
        guard known != nil || lookup != nil else {
            throw .badRequest("a participant needs a userIdentity with a lookupInfo or a userRecordName")
        }
        var entry = known ?? Participant(participantID: identifiers.uuid())
        if known == nil {
            entry.userIdentity = person?.identity(foundBy: lookup) ?? UserIdentity(lookupInfo: lookup)
            // Only the invited user can accept.
            entry.acceptanceStatus = .invited
        }
        entry.type = participant.type ?? entry.type ?? .user
        entry.permission = participant.permission ?? entry.permission ?? .readOnly
        if entry.type == .publicUser { entry.permission = publicPermission }
        guard entry.type == .user || entry.type == .administrator || entry.type == .publicUser else {
            throw .badRequest("'\(entry.type ?? .unknown)' is not a type of participants")
        }
        let permission = entry.permission ?? .unknown
        guard permission.canBeGiven else {
            throw .badRequest("'\(permission)' is not a permission of participants")
        }
        guard !participants.contains(where: { $0.isSame(as: entry) }) else {
            throw .badRequest("a participant is in the list twice")
        }
        participants.append(entry)
    }

    /// The permission of a participant; `nil` for other users, and for a participant without access.
    func permission(of user: String) -> SharePermission? {
        guard
            let permission = participants.first(where: { $0.userIdentity?.userRecordName == user })?.permission,
            permission != SharePermission.none
        else { return nil }
        return permission
    }
}

extension SharePermission {
    fileprivate var canBeGiven: Bool {
        self == SharePermission.none || self == .readOnly || self == .readWrite
    }
}

extension Participant {
    /// Whether both are the same participant.
    fileprivate func isSame(as other: Participant) -> Bool {
        if let participantID, participantID == other.participantID { return true }
        if let name = userIdentity?.userRecordName, let other = other.userIdentity?.userRecordName {
            return name == other
        }
        guard let lookup = userIdentity?.lookup, let other = other.userIdentity?.lookup else { return false }
        return lookup.isSame(as: other)
    }
}

import CloudKitModel
import GRDB

extension Record {
    /// The type of shares, as the service spells it (recorded, CloudKit JS).
    static let shareType = "cloudkit.share"
    /// How Apple's page spells it. The service does not know it, and says so in words of its own (observed live).
    static let misspelledShareType = "cloudKit.share"
    /// The name of the share of a whole zone (native framework).
    static let zoneShareName = "cloudkit.zoneshare"
}

extension RecordOperation {
    /// Whether the operation is about a share, as the request or what is there says.
    func isAboutShare(over row: RecordRow?, schema: Schema) -> Bool {
        guard let row, !row.isDeleted else { return record.recordType == Record.shareType }
        return schema.name(of: row.type) == Record.shareType
    }
}

// MARK: - Saving shares

extension RecordWriter {
    /// Creates or changes a share.
    ///
    /// A new share makes its root, and all records below that, members. The list of participants of a request is the
    /// whole list: who is not in it takes part no longer. The owner always does.
    ///
    /// - Throws: What is wrong with the share; then nothing was written.
    func saveShare(
        _ request: Record,
        as name: String,
        over existing: RecordRow?,
        replacesAll: Bool
    ) throws -> (row: RecordRow, content: Record) {
        let present = existing.flatMap { $0.isDeleted ? nil : $0 }
        guard let present, let share = try ShareRow.fetch(named: name, zone: zone.id, db) else {
            return try createShare(request, as: name, over: existing)
        }
        let old = try present.content()
        let wanted = try ShareTerms(
            request,
            over: old,
            owner: zone.ownerRecordName(in: context),
            in: context
        )
        let saved = try save(request, as: name, over: present, replacesAll: replacesAll) { content in
            content.take(wanted, from: old)
        }
        try admit(wanted, to: share)
        return saved
    }

    private func createShare(
        _ request: Record,
        as name: String,
        over existing: RecordRow?
    ) throws -> (row: RecordRow, content: Record) {
        guard context.address.scope != .shared else {
            throw EmulatorError(.accessDenied, "CREATE operation not permitted")
        }
        guard context.address.scope == .private, !zone.isDefault else {
            // Native: shares live in custom zones of private databases.
            throw EmulatorError.badRequest("Cannot share - records of zone '\(zone.name)' cannot be shared")
        }
        let root = try root(of: request, named: name)
        let wanted = try ShareTerms(request, over: nil, owner: context.ownerRecordName, in: context)
        let rootContent = try root?.content()
        let shortGUID = rootContent?.shortGUID ?? context.identifiers.shortGUID()
        let reference = Reference(recordName: name, zoneID: zone.zoneID(in: context))

        let saved = try save(request, as: name, over: existing, replacesAll: true) { content in
            content.take(wanted, from: nil)
            content.shortGUID = shortGUID
            content.share = reference
            content.parent = nil
        }
        try db.execute(
            sql: "INSERT INTO share (container, zone, name, root, short_guid) VALUES (?, ?, ?, ?, ?)",
            arguments: [context.containerID, zone.id, name, root?.name, shortGUID]
        )
        let share = db.lastInsertedRowID
        hasShares = true
        if let root {
            _ = try rewrite(root) { content in
                content.share = reference
                content.shortGUID = shortGUID
            }
            try setMembership(of: root.id, named: root.name, in: share)
        } else {
            let records = try Row.fetchAll(
                db,
                sql: "SELECT id, name FROM record WHERE zone = ? AND deleted = 0",
                arguments: [zone.id]
            )
            for record in records { try setMembership(of: record[0], named: record[1], in: share) }
        }
        try setMembership(of: saved.row.id, named: name, in: share)
        return saved
    }

    /// The record that a new share is for; `nil` for the share of a whole zone.
    private func root(of request: Record, named name: String) throws -> RecordRow? {
        guard let version = request.forRecord, let rootName = version.recordName else {
            guard name == Record.zoneShareName else {
                throw EmulatorError(
                    context.configuration.unsettled.shareOfMissingRecord,
                    "Cannot share - no such record exists to share"
                )
            }
            guard try !ShareRow.exists(inZone: zone.id, db) else {
                throw EmulatorError(.exists, "zone '\(zone.name)' is shared already")
            }
            return nil
        }
        guard let root = try RecordRow.fetch(rootName, in: zone, db), !root.isDeleted else {
            throw EmulatorError(
                context.configuration.unsettled.shareOfMissingRecord,
                "Cannot share - no such record exists to share"
            )
        }
        // Who saves the root in the same request cannot know the tag that this gives it.
        let isFresh = written[rootName] != nil
        let tags = [root.changeTag, written[rootName] ?? nil].compactMap(\.self)
        if let tag = version.recordChangeTag {
            guard tags.contains(tag) else {
                throw EmulatorError(.conflict, "client oplock error updating record")
            }
        } else if !isFresh {
            throw EmulatorError.badRequest("forRecord needs the recordChangeTag of the record")
        }
        // Native: a record is in one share at most.
        try checkIsUnshared(root.name)
        return root
    }

    private func checkIsUnshared(_ rootName: String) throws {
        guard hasShares else { return }
        if try ShareRow.fetch(ofRoot: rootName, zone: zone.id, db) != nil {
            throw EmulatorError(.exists, "record '\(rootName)' is shared already")
        }
        if try share(ofMember: rootName) != nil {
            throw EmulatorError.badRequest("Cannot share - record '\(rootName)' is part of another share")
        }
        var seen: Set<String> = [rootName]
        var queue = [rootName]
        while let parent = queue.popLast() {
            for child in try children(of: parent) where seen.insert(child.name).inserted {
                guard child.share == nil else {
                    throw EmulatorError.badRequest("Cannot share - record '\(child.name)' below is shared already")
                }
                queue.append(child.name)
            }
        }
    }

    /// Brings those who accepted to what a share says of them now.
    private func admit(_ terms: ShareTerms, to share: ShareRow) throws {
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT user FROM participation WHERE share = ? AND ended IS NULL",
            arguments: [share.id]
        )
        for row in rows {
            let user: String = row[0]
            if let permission = terms.permission(of: user) {
                try db.execute(
                    sql: "UPDATE participation SET permission = ? WHERE share = ? AND user = ?",
                    arguments: [permission.rawValue, share.id, user]
                )
            } else {
                try endParticipation(of: user, in: share)
            }
        }
    }

    /// Ends a person's part in a share: what they saw of it is gone for them.
    func endParticipation(of user: String, in share: ShareRow) throws {
        try db.execute(
            sql: "UPDATE participation SET ended = ? WHERE share = ? AND user = ? AND ended IS NULL",
            arguments: [zone.sequence, share.id, user]
        )
        try context.hide(zone.id, from: user)
    }
}

// MARK: - Deleting shares

extension RecordWriter {
    /// Deletes a share: its owner stops sharing, a participant leaves.
    func deleteShare(_ row: RecordRow) throws {
        guard let share = try ShareRow.fetch(named: row.name, zone: zone.id, db) else {
            _ = try delete(row)
            return
        }
        guard context.address.scope == .shared, let user else {
            _ = try delete(row)
            return
        }
        _ = try rewrite(row) { content in
            content.participants?.removeAll { $0.userIdentity?.userRecordName == user }
        }
        try endParticipation(of: user, in: share)
    }

    /// Ends the share that a deleted record was, or was the root of.
    func endShare(ofDeleted row: RecordRow) throws {
        guard hasShares else { return }
        if let share = try ShareRow.fetch(named: row.name, zone: zone.id, db) {
            try end(share)
            guard let name = share.root, let root = try RecordRow.fetch(name, in: zone, db), !root.isDeleted else {
                return
            }
            let parent = try rewrite(root) { $0.share = nil }.content().parent
            // What was a root of its own may be below another one.
            try setMembership(
                of: root.id,
                named: root.name,
                in: self.share(ofRecord: root.name, parent: parent?.recordName)
            )
        } else if let share = try ShareRow.fetch(ofRoot: row.name, zone: zone.id, db) {
            try end(share)
            if let own = try RecordRow.fetch(share.name, in: zone, db), !own.isDeleted { _ = try delete(own) }
        }
    }

    private func end(_ share: ShareRow) throws {
        let users = try String.fetchAll(
            db,
            sql: "SELECT user FROM participation WHERE share = ? AND ended IS NULL",
            arguments: [share.id]
        )
        for user in users { try endParticipation(of: user, in: share) }
        try db.execute(
            sql: "UPDATE share_member SET left_at = ? WHERE share = ? AND left_at IS NULL",
            arguments: [zone.sequence, share.id]
        )
        try db.execute(sql: "DELETE FROM share WHERE id = ?", arguments: [share.id])
        hasShares = try ShareRow.exists(inZone: zone.id, db)
    }
}

// MARK: - What a share says

/// What a share says of who may do what.
struct ShareTerms {
    var publicPermission: SharePermission
    /// Everybody who takes part, the owner first.
    var participants: [Participant]

    /// Reads the terms of a request, over those that held so far.
    ///
    /// - Throws: `BAD_REQUEST` for permissions that are none, people who cannot be told apart, and too many of them.
    init(
        _ request: Record,
        over old: Record?,
        owner: String,
        in context: DatabaseContext
    ) throws {
        publicPermission = request.publicPermission ?? old?.publicPermission ?? SharePermission.none
        guard publicPermission.isOneThatCanBeGiven else {
            throw EmulatorError.badRequest("'\(publicPermission)' is no publicPermission")
        }
        let present = old?.participants ?? []
        let person = try Person.fetch(owner, context.db)
        var ownerEntry =
            present.first { $0.type == .owner }
            ?? Participant(participantID: context.identifiers.uuid())
        ownerEntry.type = .owner
        ownerEntry.acceptanceStatus = .accepted
        ownerEntry.permission = .readWrite
        ownerEntry.userIdentity =
            person?.identity(foundBy: person?.emailAddress.map { LookupInfo(emailAddress: $0) })
            ?? UserIdentity(userRecordName: owner)

        participants = [ownerEntry]
        for participant in request.participants ?? present {
            guard participant.type != .owner, participant.userIdentity?.userRecordName != owner else { continue }
            guard participant.acceptanceStatus != .removed else { continue }
            // Who came by the public link goes with it.
            if participant.type == .publicUser, publicPermission == .none { continue }
            try add(participant, over: present, in: context)
        }
        let limit = context.configuration.limits.participantsPerShare
        guard participants.count <= limit else {
            throw EmulatorError.badRequest("a share has at most \(limit) participants, not \(participants.count)")
        }
    }

    private mutating func add(
        _ participant: Participant,
        over present: [Participant],
        in context: DatabaseContext
    ) throws {
        let lookup = participant.userIdentity?.lookup
        let known = present.first { $0.isSame(as: participant) }
        guard known != nil || lookup != nil else {
            throw EmulatorError.badRequest(
                "a participant needs a userIdentity with a lookupInfo or a userRecordName"
            )
        }
        var entry = known ?? Participant(participantID: context.identifiers.uuid())
        if known == nil {
            let person = try lookup.flatMap { try Person.find($0, context.db) }
            entry.userIdentity = person?.identity(foundBy: lookup) ?? UserIdentity(lookupInfo: lookup)
            // Whether people accepted is theirs to say.
            entry.acceptanceStatus = .invited
        }
        entry.type = participant.type ?? entry.type ?? .user
        entry.permission = participant.permission ?? entry.permission ?? .readOnly
        if entry.type == .publicUser { entry.permission = publicPermission }
        guard entry.type == .user || entry.type == .administrator || entry.type == .publicUser else {
            throw EmulatorError.badRequest("'\(entry.type ?? .unknown)' is no type of a participant")
        }
        let permission = entry.permission ?? .unknown
        guard permission.isOneThatCanBeGiven else {
            throw EmulatorError.badRequest("'\(permission)' is no permission of a participant")
        }
        guard !participants.contains(where: { $0.isSame(as: entry) }) else {
            throw EmulatorError.badRequest("a participant is in the list twice")
        }
        participants.append(entry)
    }

    /// What a person who takes part may do; `nil` for others.
    func permission(of user: String) -> SharePermission? {
        guard
            let permission = participants.first(where: { $0.userIdentity?.userRecordName == user })?.permission,
            permission != SharePermission.none
        else { return nil }
        return permission
    }
}

extension SharePermission {
    fileprivate var isOneThatCanBeGiven: Bool {
        self == SharePermission.none || self == .readOnly || self == .readWrite
    }
}

extension Participant {
    /// Whether both are one person's part in a share.
    fileprivate func isSame(as other: Participant) -> Bool {
        if let participantID, participantID == other.participantID { return true }
        if let name = userIdentity?.userRecordName, let other = other.userIdentity?.userRecordName {
            return name == other
        }
        guard let lookup = userIdentity?.lookup, let other = other.userIdentity?.lookup else { return false }
        return lookup.isSame(as: other)
    }
}

extension UserIdentity {
    /// What a person was invited by.
    var lookup: LookupInfo? {
        if let lookupInfo, lookupInfo.userRecordName ?? lookupInfo.emailAddress ?? lookupInfo.phoneNumber != nil {
            return lookupInfo
        }
        return userRecordName.map { LookupInfo(userRecordName: $0) }
    }
}

extension LookupInfo {
    func isSame(as other: LookupInfo) -> Bool {
        userRecordName == other.userRecordName && phoneNumber == other.phoneNumber
            && emailAddress?.lowercased() == other.emailAddress?.lowercased()
    }
}

extension Record {
    /// Takes over what a share says, and what it keeps for good.
    fileprivate mutating func take(_ terms: ShareTerms, from old: Record?) {
        publicPermission = terms.publicPermission
        participants = terms.participants
        owner = terms.participants.first
        shortGUID = old?.shortGUID
        share = old?.share
    }
}

extension IdentifierSource {
    /// A short name like the recorded ones: a routing key of three characters, then random ones; 25 in all.
    func shortGUID() -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        return "0" + String(decoding: next(24).map { letters[Int($0) % letters.count] }, as: UTF8.self)
    }
}

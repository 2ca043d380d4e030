import CloudKitModel
import GRDB

extension Record {
    /// The type of shares, as the service spells it (recorded, CloudKit JS).
    static let shareType = "cloudkit.share"
    /// The spelling on Apple's page. The service does not know it, and refuses it with a text of its own (observed
    /// live).
    static let misspelledShareType = "cloudKit.share"
    /// The name of the share of a whole zone (native framework).
    static let zoneShareName = "cloudkit.zoneshare"
}

// MARK: - Saving shares

extension RecordWriter {
    /// Creates or changes a share.
    ///
    /// A new share includes its root and all records below the root. The list of participants of a request is the whole
    /// list: a user who is not in it is no longer a participant. The owner always stays a participant.
    ///
    /// - Throws: An ``EmulatorError`` when the share is refused; nothing is written then.
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
        let terms = try terms(of: request, over: old, owner: zone.ownerRecordName(in: context))
        let saved = try save(request, as: name, over: present, replacesAll: replacesAll) { $0.take(terms, from: old) }
        try admit(terms, to: share)
        return saved
    }

    private func createShare(
        _ request: Record,
        as name: String,
        over existing: RecordRow?
    ) throws -> (row: RecordRow, content: Record) {
        let facts = try facts(ofNewShare: request, named: name)
        try ShareRules.all.check(facts)
        let root = facts.root
        let terms = try terms(of: request, over: nil, owner: context.ownerRecordName)
        let rootContent = try root?.content()
        let shortGUID = rootContent?.shortGUID ?? context.identifiers.shortGUID()
        let reference = Reference(recordName: name, zoneID: zone.zoneID(in: context))

        let saved = try save(request, as: name, over: existing, replacesAll: true) { content in
            content.take(terms, from: nil)
            content.shortGUID = shortGUID
            content.share = reference
            content.parent = nil
        }
        try db.run(
            "INSERT INTO share (container, zone, name, root, short_guid) VALUES (?, ?, ?, ?, ?)",
            [context.containerID, zone.id, name, root?.name, shortGUID]
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
            let records = try db.rows("SELECT id, name FROM record WHERE zone = ? AND deleted = 0", [zone.id])
            for record in records { try setMembership(of: record[0], named: record[1], in: share) }
        }
        try setMembership(of: saved.row.id, named: name, in: share)
        return saved
    }

    private func terms(of request: Record, over old: Record?, owner: String) throws -> ShareTerms {
        let lookups = (request.shareAccess.participants ?? []).compactMap(\.userIdentity?.lookup)
        let people = try lookups.map { ($0, try Person.find($0, db)) }
        return try ShareTerms(
            request,
            over: old,
            owner: Person.fetch(owner, db) ?? Person(userRecordName: owner),
            people: Dictionary(people) { first, _ in first }.compactMapValues(\.self),
            limit: context.configuration.limits.participantsPerShare,
            identifiers: context.identifiers
        )
    }

    private func facts(ofNewShare request: Record, named name: String) throws -> ShareFacts {
        let version = request.shareAccess.forRecord.flatMap { $0.recordName == nil ? nil : $0 }
        let row = try version?.recordName.flatMap { try RecordRow.fetch($0, in: zone, db) }
        let root = row.flatMap { $0.isDeleted ? nil : $0 }
        let before = root.flatMap { written[$0.name] }
        return ShareFacts(
            name: name,
            zone: zone,
            version: version,
            root: root,
            tagBeforeBatch: before ?? nil,
            isWrittenByBatch: before != nil,
            isZoneShared: hasShares,
            obstacle: try root.flatMap { try obstacle(toSharing: $0.name) },
            scope: context.address.scope,
            configuration: context.configuration
        )
    }

    private func obstacle(toSharing rootName: String) throws -> ShareFacts.Obstacle? {
        guard hasShares else { return nil }
        if try ShareRow.fetch(ofRoot: rootName, zone: zone.id, db) != nil { return .shareOfRoot }
        if try share(ofMember: rootName) != nil { return .shareAbove }
        var seen: Set<String> = [rootName]
        var queue = [rootName]
        while let parent = queue.popLast() {
            for child in try children(of: parent) where seen.insert(child.name).inserted {
                if child.share != nil { return .shareBelow(name: child.name) }
                queue.append(child.name)
            }
        }
        return nil
    }

    /// Updates the permissions of the users who accepted a share, and ends the participation of those whom it no longer
    /// names.
    private func admit(_ terms: ShareTerms, to share: ShareRow) throws {
        for user in try share.users(db) {
            if let permission = terms.permission(of: user) {
                try db.run(
                    "UPDATE participation SET permission = ? WHERE share = ? AND user = ?",
                    [permission.rawValue, share.id, user]
                )
            } else {
                try endParticipation(of: user, in: share)
            }
        }
    }

    /// Ends the participation of a user in a share. The user no longer sees its records.
    func endParticipation(of user: String, in share: ShareRow) throws {
        try db.run(
            "UPDATE participation SET ended = ? WHERE share = ? AND user = ? AND ended IS NULL",
            [zone.sequence, share.id, user]
        )
        try context.hide(zone.id, from: user)
    }
}

// MARK: - Deleting shares

extension RecordWriter {
    /// Deletes a share. The owner ends it for all participants; a participant only leaves it.
    func deleteShare(_ row: RecordRow) throws {
        guard let share = try ShareRow.fetch(named: row.name, zone: zone.id, db) else {
            try delete(row)
            return
        }
        guard context.address.scope == .shared, let user = context.user else {
            try delete(row)
            return
        }
        _ = try rewrite(row) { content in
            content.shareAccess.participants?.removeAll { $0.userIdentity?.userRecordName == user }
        }
        try endParticipation(of: user, in: share)
    }

    /// Ends the share whose own record, or whose root, was deleted.
    func endShare(ofDeleted row: RecordRow) throws {
        guard hasShares else { return }
        if let share = try ShareRow.fetch(named: row.name, zone: zone.id, db) {
            try end(share)
            guard let name = share.root, let root = try RecordRow.fetch(name, in: zone, db), !root.isDeleted else {
                return
            }
            let parent = try rewrite(root) { $0.share = nil }.content().parent
            // The former root may be below the root of another share.
            try setMembership(
                of: root.id,
                named: root.name,
                in: self.share(ofRecord: root.name, parent: parent?.recordName)
            )
        } else if let share = try ShareRow.fetch(ofRoot: row.name, zone: zone.id, db) {
            try end(share)
            if let own = try RecordRow.fetch(share.name, in: zone, db), !own.isDeleted { try delete(own) }
        }
    }

    private func end(_ share: ShareRow) throws {
        for user in try share.users(db) { try endParticipation(of: user, in: share) }
        try db.run(
            "UPDATE share_member SET left_at = ? WHERE share = ? AND left_at IS NULL",
            [zone.sequence, share.id]
        )
        try db.run("DELETE FROM share WHERE id = ?", [share.id])
        hasShares = try ShareRow.exists(inZone: zone.id, db)
    }
}

extension UserIdentity {
    /// The address, number or name by which a participant was invited.
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
    /// Sets the terms of a share, and keeps the parts that never change.
    fileprivate mutating func take(_ terms: ShareTerms, from old: Record?) {
        shareAccess.publicPermission = terms.publicPermission
        shareAccess.participants = terms.participants
        shareAccess.owner = terms.participants.first
        shortGUID = old?.shortGUID
        share = old?.share
    }
}

extension IdentifierSource {
    /// A short name of 25 letters and digits that begins with `0`, like the recorded ones. In those, the first three
    /// characters are a routing key and the others are random.
    func shortGUID() -> String {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        return "0" + String(decoding: next(24).map { letters[Int($0) % letters.count] }, as: UTF8.self)
    }
}

import CloudKitModel
import GRDB

/// Writes records of one zone within one transaction.
///
/// Each write has three stages:
///
/// 1. The writer reads the facts for the rules, and checks the rules (the folder `Rules`). Every refusal happens here,
///    before the first row is written.
/// 2. ``RecordStorage`` writes the record's row.
/// 3. The observers follow (the folder `Observers`): the index, the links of references, the files, the hierarchy of
///    shares, and the pushes. They never refuse a write.
final class RecordWriter {
    let context: DatabaseContext
    let db: Database
    private let storage: RecordStorage
    private(set) var schema: Schema
    /// The request's zone, with its count of writes. References stay within a zone, so no write reaches another.
    private(set) var zone: ZoneRow
    private var isZoneChanged = false
    /// The access of the caller in a zone of another user; `nil` elsewhere.
    private let access: SharedAccess?
    private let roles: CallerRoles
    /// Whether anything of the zone is shared.
    var hasShares: Bool
    /// The names of the records that were written so far, with the change tags that they had before.
    private(set) var written: [String: String?] = [:]
    /// The changes so far, for the subscriptions; none are kept where there is no subscription.
    private var changes: [RecordChange] = []
    private let fanout: PushFanout?
    /// The names of records that later operations of the batch will create: `VALIDATE` may refer to them.
    var pendingNames: Set<String> = []

    init(_ context: DatabaseContext, _ zone: ZoneRow) throws {
        self.context = context
        db = context.db
        self.zone = zone
        storage = try RecordStorage(context, zone: zone.id)
        schema = try context.schema()
        access = try context.sharedAccess(to: [zone])
        roles = try context.callerRoles(in: schema)
        hasShares = try !zone.isDefault && ShareRow.exists(inZone: zone.id, context.db)
        fanout = try PushFanout(for: zone, in: context)
    }

    /// Ends the batch: if the zone changed, moves it to the end of the database's feed, and notifies the subscribers.
    func finish() throws {
        guard isZoneChanged else { return }
        try context.noteChange(of: zone)
        try fanout?.send(changes, schema: schema)
    }

    /// The next number in the zone's count of writes.
    private func nextSequence() -> Int64 {
        isZoneChanged = true
        zone.sequence += 1
        return zone.sequence
    }

    private func tellObservers(_ change: RecordChange) throws {
        try IndexRows(db: db, zone: zone.id).update(for: change)
        try LinkRows(db: db, zone: zone).update(for: change)
        try AssetUses(db: db).update(for: change)
        try updateMembership(for: change)
        if fanout != nil { changes.append(change) }
    }
}

/// The change of one record, for the observers of a write.
struct RecordChange {
    /// The row after the change; for a deleted record, before it.
    let row: RecordRow
    let type: Schema.RecordType?
    /// The content before the change; `nil` where the record did not exist.
    let old: Record?
    /// The content after the change; `nil` where the record was deleted.
    let new: Record?
    /// The row of a deleted record of the same name, which the new row replaces.
    var replacedRow: Int64?
    var spentReceipts: Set<String> = []
}

// MARK: - Applying an operation

extension RecordWriter {
    enum Outcome {
        case saved(RecordRow, content: Record)
        case deleted(name: String)
    }

    /// Applies one operation of a request.
    ///
    /// - Throws: An ``EmulatorError`` when the operation is refused; nothing is written then.
    func apply(_ operation: RecordOperation) throws -> Outcome {
        let request = operation.record
        let name = try request.recordName ?? recordName(ofUploadsFor: request) ?? context.identifiers.uuid()
        try OperationRules.name.check(name)
        let row = try RecordRow.fetch(name, in: zone, db)
        let facts = try facts(OperationRequirements(operation.operationType), request, as: name, over: row)
        try OperationRules.all.check(facts)

        if facts.requirements.deletes {
            if let existing = facts.existing {
                if facts.isShare { try deleteShare(existing) } else { try delete(existing) }
            }
            return .deleted(name: name)
        }
        let replacesAll = facts.requirements.replacesAll
        let saved =
            facts.isShare
            ? try saveShare(request, as: name, over: row, replacesAll: replacesAll)
            : try save(request, as: name, over: row, replacesAll: replacesAll)
        return .saved(saved.row, content: saved.content)
    }

    private func facts(
        _ requirements: OperationRequirements,
        _ request: Record,
        as name: String,
        over row: RecordRow?
    ) throws -> OperationFacts {
        let live = row.flatMap { $0.isDeleted ? nil : $0 }
        let isSeen = try live.map { try access?.sees($0.id) ?? true } ?? false
        let existing = isSeen ? live : nil
        let existingType = existing.flatMap { schema.name(of: $0.type) }
        var participation: OperationFacts.Participation?
        if let access, let existing {
            let isShare = existingType == Record.shareType
            participation = OperationFacts.Participation(
                permission: try access.permission(on: existing.id),
                administers: try isShare && existing.content().hasAdministrator(access.user),
                isRoot: try ShareRow.fetch(ofRoot: name, zone: zone.id, db) != nil
            )
        }
        return OperationFacts(
            requirements: requirements,
            request: request,
            name: name,
            existing: existing,
            existingType: existingType,
            isHidden: live != nil && !isSeen,
            participation: participation,
            scope: context.address.scope,
            user: context.user,
            permissions: roles.permissions(
                for: schema[existingType ?? request.recordType ?? ""],
                creator: existing.map(\.creator) ?? nil
            ),
            configuration: context.configuration
        )
    }
}

extension Record {
    fileprivate func hasAdministrator(_ user: String) -> Bool {
        shareAccess.participants?.contains {
            $0.userIdentity?.userRecordName == user && $0.type == .administrator
        } ?? false
    }
}

// MARK: - Saving

extension RecordWriter {
    /// Saves a record over the row of its name, deleted or not. `amend` adds the parts of the content that no request
    /// can set.
    ///
    /// - Throws: An ``EmulatorError`` when the record is refused; nothing is written then.
    @discardableResult
    func save(
        _ request: Record,
        as name: String,
        over row: RecordRow?,
        replacesAll: Bool,
        amend: (inout Record) -> Void = { _ in }
    ) throws -> (row: RecordRow, content: Record) {
        let present = row.flatMap { $0.isDeleted ? nil : $0 }
        let old = try present?.content()
        let typeName = try typeName(of: request, over: present)
        var (content, newFields) = try content(of: request, over: old, type: typeName, replacesAll: replacesAll)
        amend(&content)
        let receipts = try attachAssets(to: &content, from: request, over: old, as: name, of: typeName)
        try ContentRules.content.check(
            facts(of: content, newFields: newFields.count, as: name, over: present, old, type: typeName)
        )
        let body = try RecordRow.body(of: content)

        // From here on nothing is refused.
        let type = try extendSchema(newFields, of: typeName)
        let saved = try storage.save(name, type: type.id, body: body, sequence: nextSequence(), over: row)
        written.updateValue(present?.changeTag, forKey: name)
        try tellObservers(
            RecordChange(
                row: saved,
                type: type,
                old: old,
                new: content,
                replacedRow: present == nil ? row?.id : nil,
                spentReceipts: receipts
            )
        )
        return (saved, content)
    }

    /// Changes the parts of a record beside its fields, such as its share. It is a write like any other: the record
    /// gets a new change tag, and is in the feed again.
    func rewrite(_ row: RecordRow, _ change: (inout Record) -> Void) throws -> RecordRow {
        var content = try row.content()
        change(&content)
        try storage.update(row.id, body: RecordRow.body(of: content), sequence: nextSequence())
        return try RecordRow.fetch(id: row.id, db) ?? row
    }

    private func typeName(of request: Record, over present: RecordRow?) throws(EmulatorError) -> String {
        let existing = present.flatMap { schema.name(of: $0.type) }
        let name = existing ?? request.recordType ?? ""
        try ContentRules.type.check(
            TypeFacts(
                requested: request.recordType,
                existing: existing,
                isKnown: schema[name] != nil,
                extendsSchema: context.writesExtend(schema),
                isProduction: context.address.environment == .production,
                limits: context.configuration.limits,
                unknownTypeCode: context.request.caller.isServerKey
                    ? context.configuration.unsettled.unknownTypeOfServerKey : .badRequest
            )
        )
        return name
    }

    /// The content of the record after the operation, with the kinds of new fields.
    private func content(
        of request: Record,
        over old: Record?,
        type: String,
        replacesAll: Bool
    ) throws(EmulatorError) -> (content: Record, newFields: [(name: String, kind: FieldKind)]) {
        let known = schema[type]?.fields
        let values = FieldRules(
            scope: context.address.scope,
            zone: zone,
            zoneOwner: zone.ownerRecordName(in: context),
            acceptsOtherZones: context.configuration.acceptsRecordsOfService
        )
        var newFields: [(name: String, kind: FieldKind)] = []
        var content = Record(recordName: nil)
        content.parent = request.parent ?? (replacesAll ? nil : old?.parent)
        guard content.parent?.recordName.hasControlCharacters != true else {
            throw .controlCharacter(in: "the record name of a parent")
        }
        content.share = old?.share
        content.shortGUID =
            old?.shortGUID ?? (request.createShortGUID == true ? context.identifiers.shortGUID() : nil)
        if let old {
            content.fields = old.fields
            if replacesAll {
                // Fields that the request lacks become null.
                for (name, _) in old.fields where request.fields[name] == nil { content.fields[name] = .null }
            }
        }
        for (name, value) in request.fields {
            let kind = known?[name]?.kind
            try ContentRules.field.check(
                FieldFacts(
                    name: name,
                    type: type,
                    isKnown: kind != nil,
                    extendsSchema: context.writesExtend(schema),
                    isProduction: context.address.environment == .production,
                    limits: context.configuration.limits
                )
            )
            let stored = try values.stored(value, for: name, of: type, known: kind)
            if kind == nil, let newKind = FieldKind(inferredFrom: value, stored: stored) {
                newFields.append((name, newKind))
            }
            content.fields[name] = stored
        }
        return (content, newFields)
    }

    private func facts(
        of content: Record,
        newFields: Int,
        as name: String,
        over present: RecordRow?,
        _ old: Record?,
        type: String
    ) throws -> ContentFacts {
        let parent = content.parent?.recordName
        let isPlaced = access != nil && (present == nil || parent != old?.parent?.recordName)
        var permission: SharePermission?
        if let access, isPlaced, try ShareRow.fetch(ofRoot: name, zone: zone.id, db) == nil {
            permission = try share(ofRecord: name, parent: parent).flatMap { access.shares[$0] }
        }
        return ContentFacts(
            name: name,
            type: type,
            exists: present != nil,
            newFieldCount: newFields,
            knownFieldCount: schema[type]?.fields.count ?? 0,
            permissionAtParent: permission,
            isPlacedByParticipant: isPlaced,
            links: try linkFacts(of: content, of: present?.id, as: name),
            size: content.sizeWithoutAssets,
            configuration: context.configuration
        )
    }

    private func linkFacts(of content: Record, of record: Int64?, as name: String) throws -> [ContentFacts.LinkFacts] {
        let rows = LinkRows(db: db, zone: zone)
        return try content.links(within: zone).map { link in
            ContentFacts.LinkFacts(
                target: link.name,
                action: link.action,
                targetExists: try link.action == .deleteSelf || link.name == name || pendingNames.contains(link.name)
                    || RecordRow.exists(link.name, in: zone, db),
                otherSources: try link.action == .validate ? 0 : rows.count(of: link, except: record)
            )
        }
    }

    /// The record type, with these fields added to the schema.
    private func extendSchema(
        _ fields: [(name: String, kind: FieldKind)],
        of type: String
    ) throws -> Schema.RecordType {
        if let known = schema[type], fields.isEmpty { return known }
        let isNewType = schema[type] == nil
        if isNewType {
            try db.run("INSERT INTO record_type (container, name) VALUES (?, ?)", [context.containerID, type])
            schema.insert(Schema.RecordType(id: db.lastInsertedRowID, name: type))
        }
        guard let recordType = schema[type] else {
            throw EmulatorError(.internalError, "the new record type is missing")
        }
        for (name, kind) in fields {
            try db.run("INSERT INTO field (type, name, kind) VALUES (?, ?, ?)", [recordType.id, name, kind.rawValue])
            let field = Schema.Field(id: db.lastInsertedRowID, name: name, kind: kind)
            schema.insert(field, in: type)
            if !isNewType { try field.indexAbsence(inRecordsOf: recordType, container: context.containerID, db) }
        }
        return schema[type] ?? recordType
    }
}

// MARK: - Deleting

extension RecordWriter {
    /// Deletes a record and its cascade: all records that refer to it with `DELETE_SELF`, those that refer to these,
    /// and so on.
    ///
    /// - Throws: `VALIDATING_REFERENCE_ERROR` when a record outside of the cascade refers with `VALIDATE` to a record
    ///   that would be deleted.
    /// - Returns: The row of the record, deleted.
    @discardableResult
    func delete(_ row: RecordRow) throws -> RecordRow {
        let links = LinkRows(db: db, zone: zone)
        var cascade = [row.id: row]
        var queue = [row]
        while let target = queue.popLast() {
            for source in try links.sources(of: target, action: .deleteSelf) where cascade[source] == nil {
                guard let row = try RecordRow.fetch(id: source, db), !row.isDeleted else { continue }
                cascade[source] = row
                queue.append(row)
            }
        }
        let required = try cascade.values.first { target in
            try links.sources(of: target, action: .validate).contains { cascade[$0] == nil }
        }
        try OperationRules.deletion.check(DeletionFacts(requiredName: required?.name))
        // The record itself is deleted last, as in the native framework, where the referring records are deleted first.
        // The others are deleted in creation order.
        for source in cascade.values.sorted(by: { $0.id < $1.id }) where source.id != row.id {
            try tombstone(source)
        }
        try tombstone(row)
        return try RecordRow.fetch(id: row.id, db) ?? row
    }

    private func tombstone(_ row: RecordRow) throws {
        let content = try row.content()
        try storage.tombstone(row.id, sequence: nextSequence())
        try tellObservers(
            RecordChange(row: row, type: schema.name(of: row.type).flatMap { schema[$0] }, old: content, new: nil)
        )
    }
}

extension DatabaseContext {
    /// Removes all records of a zone without tombstones, because the whole zone is deleted.
    func eraseRecords(of zone: ZoneRow) throws {
        try eraseShares(of: zone)
        try eraseAssets(of: zone)
        try IndexRows(db: db, zone: zone.id).erase(try schema())
        try LinkRows(db: db, zone: zone).erase()
        try db.run("DELETE FROM record WHERE zone = ?", [zone.id])
    }
}

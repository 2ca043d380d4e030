import CloudKitModel
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes records within one transaction, and everything that must change with them: the rows that find them, the
/// references that bind them, the zone's count of writes.
///
/// Whatever can be refused is refused before the first row is written, so an operation that throws has changed nothing.
final class RecordWriter {
    let context: DatabaseContext
    let db: Database
    let now: Int64
    /// The user record name of the caller, and its row.
    let user: String?
    private let userID: Int64?
    private(set) var schema: Schema
    private let rules: FieldRules
    /// The request's zone, with its count of writes. References stay within a zone, so no write reaches another.
    private(set) var zone: ZoneRow
    private var isZoneChanged = false
    /// What the caller may do, in a zone that is somebody else's.
    let access: SharedAccess?
    /// Whether anything of the zone is shared.
    var hasShares: Bool
    /// The records that were written so far, with the tags that they had before.
    private(set) var written: [String: String?] = [:]
    /// What happened so far, for the subscriptions of the database; nothing is kept where there is none.
    private var events: [RecordEvent] = []
    private let fanout: PushFanout?
    /// The names of records that later operations of the batch will create: `VALIDATE` may refer to them.
    var pendingNames: Set<String> = []

    init(_ context: DatabaseContext, _ zone: ZoneRow) throws {
        self.context = context
        let db = context.db
        self.db = db
        now = context.now
        user = context.user
        userID = try user.map { user in
            try db.cachedStatement(sql: "INSERT OR IGNORE INTO identity (name) VALUES (?)").execute(arguments: [user])
            return try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT id FROM identity WHERE name = ?"),
                arguments: [user]
            ) ?? 0
        }
        schema = try context.schema()
        rules = FieldRules(context: context, zone: zone, limits: context.configuration.limits)
        self.zone = zone
        access = try context.sharedAccess(to: [zone])
        hasShares = try !zone.isDefault && ShareRow.exists(inZone: zone.id, db)
        fanout = try PushFanout(for: zone, in: context)
    }

    /// Gives the zone, if it changed, its place in the database's feed, and tells those who subscribed.
    func finish() throws {
        guard isZoneChanged else { return }
        try context.noteChange(of: zone)
        try fanout?.send(events, schema: schema)
    }

    private func note(_ kind: Subscription.Event, _ row: RecordRow, _ content: Record) {
        if fanout != nil { events.append(RecordEvent(kind: kind, row: row, content: content)) }
    }

    /// The next number in the zone's count of writes.
    private func nextSequence() -> Int64 {
        isZoneChanged = true
        zone.sequence += 1
        return zone.sequence
    }
}

// MARK: - Saving

extension RecordWriter {
    /// What a record holds after an operation: the content, with the kinds that its fields have or get.
    private struct Draft {
        var content: Record
        var newFields: [(name: String, kind: FieldKind)] = []
    }

    /// Saves a record.
    ///
    /// - Parameters:
    ///   - request: The record of the request.
    ///   - name: Its name.
    ///   - existing: The row of that name, deleted or not.
    ///   - replacesAll: Whether fields that the request does not have are cleared.
    ///   - amend: Adds what no request may say.
    /// - Returns: The row and its content.
    /// - Throws: What is wrong with the record; then nothing was written.
    func save(
        _ request: Record,
        as name: String,
        over existing: RecordRow?,
        replacesAll: Bool,
        amend: (inout Record) throws -> Void = { _ in }
    ) throws -> (row: RecordRow, content: Record) {
        let present = existing.flatMap { $0.isDeleted ? nil : $0 }
        let type = try typeName(of: request, over: present)
        let old = try present?.content()
        var draft = try draft(request, over: old, type: type, replacesAll: replacesAll)
        try checkHierarchy(of: draft.content, as: name, over: present, old)
        try amend(&draft.content)
        let receipts = try attachAssets(to: &draft.content, from: request, over: old, as: name, of: type)
        let links = links(of: draft.content)
        try check(links, of: present?.id, as: name)
        let body = try RecordRow.body(of: draft.content)
        let (size, limit) = (draft.content.sizeWithoutAssets, context.configuration.limits.recordSize)
        guard size <= limit else {
            throw EmulatorError(
                context.configuration.unsettled.oversizedRecord,
                "record '\(name)' has \(size) bytes; at most \(limit) are allowed"
            )
        }

        // From here on nothing is refused.
        let recordType = try learn(draft.newFields, of: type)
        let sequence = nextSequence()
        let id: Int64
        if let present {
            id = present.id
            try db.cachedStatement(
                sql: "UPDATE record SET sequence = ?, modified = ?, modifier = ?, body = ? WHERE id = ?"
            ).execute(arguments: [sequence, now, userID, Data(body), id])
        } else {
            if let existing {
                try db.cachedStatement(sql: "DELETE FROM record WHERE id = ?").execute(arguments: [existing.id])
            }
            try db.cachedStatement(
                sql: """
                    INSERT INTO record (zone, name, type, sequence, created, creator, modified, modifier, body)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """
            ).execute(
                arguments: [zone.id, name, recordType.id, sequence, now, userID, now, userID, Data(body)]
            )
            id = db.lastInsertedRowID
            if let existing, hasShares {
                // Those who saw the record that had this name go on from there.
                try db.execute(
                    sql: "UPDATE OR REPLACE share_member SET record = ? WHERE record = ?",
                    arguments: [id, existing.id]
                )
            }
        }
        written.updateValue(present?.changeTag, forKey: name)
        try index(draft.content, over: old, of: recordType, record: id)
        try write(links, of: id, hadLinks: old.map { !Self.references(of: $0).isEmpty } ?? false)
        try settleAssets(of: id, content: draft.content, over: old, spending: receipts)
        let row = RecordRow(
            id: id,
            zone: zone.id,
            name: name,
            type: recordType.id,
            sequence: sequence,
            created: present?.created ?? now,
            creator: present == nil ? user : present?.creator,
            modified: now,
            modifier: user
        )
        if draft.content.parent != nil || old?.parent != nil || hasShares {
            try place(row, parent: draft.content.parent?.recordName, over: old?.parent?.recordName)
        }
        note(present == nil ? .create : .update, row, draft.content)
        return (row, draft.content)
    }

    /// Changes what the service keeps in a record beside its fields. It is a write like any other: the record gets a new
    /// change tag, and stands in the feed again.
    func rewrite(_ row: RecordRow, _ change: (inout Record) -> Void) throws -> RecordRow {
        var content = try row.content()
        change(&content)
        let sequence = nextSequence()
        try db.cachedStatement(
            sql: "UPDATE record SET sequence = ?, modified = ?, modifier = ?, body = ? WHERE id = ?"
        ).execute(arguments: [sequence, now, userID, Data(try RecordRow.body(of: content)), row.id])
        return try RecordRow.fetch(id: row.id, db) ?? row
    }

    private func typeName(of request: Record, over present: RecordRow?) throws(EmulatorError) -> String {
        if let present, let type = schema.name(of: present.type) {
            if let other = request.recordType, other != type {
                throw .badRequest("invalid attempt to update record from type '\(type)' to '\(other)'")
            }
            return type
        }
        guard let type = request.recordType else {
            throw .badRequest("recordType is required to create a record")
        }
        guard FieldRules.isIdentifier(type) || type == Record.shareType else {
            throw .badRequest("'\(type)' is not a valid record type name")
        }
        return type
    }

    private func draft(
        _ request: Record,
        over old: Record?,
        type: String,
        replacesAll: Bool
    ) throws(EmulatorError) -> Draft {
        let limits = context.configuration.limits
        let known = schema[type]?.fields
        let extendsSchema = context.writesExtendSchema
        guard known != nil || extendsSchema || FieldRules.isSystemType(type) else { throw .notDeployed(type: type) }
        var draft = Draft(content: Record(recordName: nil))
        draft.content.parent = request.parent ?? (replacesAll ? nil : old?.parent)
        draft.content.share = old?.share
        draft.content.shortGUID =
            old?.shortGUID ?? (request.createShortGUID == true ? context.identifiers.shortGUID() : nil)
        if let old {
            draft.content.fields = old.fields
            if replacesAll {
                // Fields that the request lacks become null.
                for (name, _) in old.fields where request.fields[name] == nil { draft.content.fields[name] = .null }
            }
        }
        for (name, value) in request.fields {
            let kind = known?[name]?.kind
            let isOfShares = type == Record.shareType && name.hasPrefix("cloudkit.")
            if kind == nil, !FieldRules.isIdentifier(name) && !isOfShares || name.utf8.count > limits.nameLength {
                throw .badRequest("'\(name)' is not a valid field name")
            }
            guard kind != nil || extendsSchema || isOfShares else { throw .notDeployed(field: name, of: type) }
            let stored = try rules.stored(value, for: name, of: type, known: kind)
            if kind == nil, let newKind = FieldKind(learnedFrom: value, stored: stored) {
                draft.newFields.append((name, newKind))
            }
            draft.content.fields[name] = stored
        }
        if !draft.newFields.isEmpty, draft.newFields.count + (known?.count ?? 0) > limits.fieldsPerRecordType {
            throw .badRequest("record type '\(type)' would have more than \(limits.fieldsPerRecordType) fields")
        }
        return draft
    }

    /// The record type, with these fields added to what is known.
    private func learn(
        _ fields: [(name: String, kind: FieldKind)],
        of type: String
    ) throws -> Schema.RecordType {
        if let known = schema[type], fields.isEmpty { return known }
        let isNewType = schema[type] == nil
        if isNewType {
            try db.execute(
                sql: "INSERT INTO record_type (container, name) VALUES (?, ?)",
                arguments: [context.containerID, type]
            )
            schema.insert(Schema.RecordType(id: db.lastInsertedRowID, name: type))
        }
        guard let recordType = schema[type] else {
            throw EmulatorError(.internalError, "the record type that was just made is not there")
        }
        for (name, kind) in fields {
            try db.execute(
                sql: "INSERT INTO field (type, name, kind) VALUES (?, ?, ?)",
                arguments: [recordType.id, name, kind.rawValue]
            )
            let field = Schema.Field(id: db.lastInsertedRowID, name: name, kind: kind)
            schema.insert(field, in: type)
            if !isNewType { try field.indexAbsence(inRecordsOf: recordType, container: context.containerID, db) }
        }
        return schema[type] ?? recordType
    }
}

extension Schema.Field {
    /// Gives all records of a type their index rows for this field, which the type did not have so far.
    func indexAbsence(inRecordsOf type: Schema.RecordType, container: Int64, _ db: Database) throws {
        guard kind.isSortable else { return }
        try db.execute(
            sql: """
                INSERT INTO entry (field, zone, value, record)
                SELECT ?, record.zone, ?, record.id
                FROM database JOIN zone ON zone.database = database.id
                CROSS JOIN record INDEXED BY record_created_order ON record.zone = zone.id
                WHERE database.container = ? AND record.type = ? AND record.deleted = 0
                """,
            arguments: [id, IndexValue.absent, container, type.id]
        )
    }
}

extension RecordRow {
    init(
        id: Int64,
        zone: Int64,
        name: String,
        type: Int64,
        sequence: Int64,
        created: Int64,
        creator: String?,
        modified: Int64,
        modifier: String?
    ) {
        self.id = id
        self.zone = zone
        self.name = name
        self.type = type
        self.sequence = sequence
        self.isDeleted = false
        self.created = created
        self.creator = creator
        self.modified = modified
        self.modifier = modifier
        self.body = nil
    }
}

// MARK: - Deleting

extension RecordWriter {
    /// Deletes a record, and with it all records that refer to it with `DELETE_SELF`, and those that refer to these.
    ///
    /// - Throws: `VALIDATING_REFERENCE_ERROR` when a record that stays refers to one that goes with `VALIDATE`.
    /// - Returns: The row of the record, gone.
    func delete(_ row: RecordRow) throws -> RecordRow {
        var doomed = [row.id: row]
        var queue = [row]
        while let target = queue.popLast() {
            for source in try sources(of: target, action: .deleteSelf) where doomed[source] == nil {
                guard let row = try RecordRow.fetch(id: source, db), !row.isDeleted else { continue }
                doomed[source] = row
                queue.append(row)
            }
        }
        for target in doomed.values {
            for source in try sources(of: target, action: .validate) where doomed[source] == nil {
                throw EmulatorError(
                    .validatingReferenceError,
                    "record '\(target.name)' cannot be deleted while another record refers to it with VALIDATE"
                )
            }
        }
        // The record itself last, as the sources natively go first; otherwise in the order of their making.
        for source in doomed.values.sorted(by: { $0.id < $1.id }) where source.id != row.id {
            try bury(source)
        }
        try bury(row)
        return try RecordRow.fetch(id: row.id, db) ?? row
    }

    private func bury(_ row: RecordRow) throws {
        let content = try row.content()
        if let name = schema.name(of: row.type), let type = schema[name] {
            try index(nil, over: content, of: type, record: row.id)
        }
        try write([], of: row.id, hadLinks: !Self.references(of: content).isEmpty)
        try settleAssets(of: row.id, content: nil, over: content, spending: SpentReceipts())
        let sequence = nextSequence()
        try db.cachedStatement(
            sql: "UPDATE record SET sequence = ?, deleted = 1, modified = ?, modifier = ?, body = NULL WHERE id = ?"
        ).execute(arguments: [sequence, now, userID, row.id])
        try displace(row)
        try endShare(ofDeleted: row)
        note(.delete, row, content)
    }

    private func sources(of row: RecordRow, action: Link.Action) throws -> [Int64] {
        try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT source FROM link WHERE zone = ? AND name = ? AND action = ?"),
            arguments: [row.zone, row.name, action.rawValue]
        )
    }
}

// MARK: - References that bind

/// A reference with `DELETE_SELF` or `VALIDATE`, as the table `link` holds it.
struct Link: Hashable {
    enum Action: Int {
        case deleteSelf = 1
        case validate = 2
    }

    let zone: Int64
    let name: String
    let action: Action
}

extension RecordWriter {
    /// The references of a record that bind.
    static func references(of content: Record) -> [Reference] {
        content.fields.flatMap { field -> [Reference] in
            switch field.value {
            case .reference(let reference): [reference]
            case .referenceList(let references): references
            default: []
            }
        }.filter { $0.action == .deleteSelf || $0.action == .validate }
    }

    private func links(of content: Record) -> Set<Link> {
        Set(
            Self.references(of: content).map { reference in
                Link(
                    zone: zone.id,
                    name: reference.recordName,
                    action: reference.action == .validate ? .validate : .deleteSelf
                )
            }
        )
    }

    /// Refuses references that may not be: `VALIDATE` to nothing, too many `DELETE_SELF` to one.
    private func check(_ links: Set<Link>, of record: Int64?, as name: String) throws {
        for link in links {
            switch link.action {
            case .validate:
                if link.name == name || pendingNames.contains(link.name) { continue }
                let target = try Row.fetchOne(
                    db.cachedStatement(sql: "SELECT 1 FROM record WHERE zone = ? AND name = ? AND deleted = 0"),
                    arguments: [link.zone, link.name]
                )
                guard target != nil else {
                    throw EmulatorError(
                        .validatingReferenceError,
                        "the record '\(link.name)', referred to with VALIDATE, does not exist"
                    )
                }
            case .deleteSelf:
                let limit = context.configuration.limits.deleteSelfReferencesPerTarget
                let others = try Int.fetchOne(
                    db.cachedStatement(
                        sql: """
                            SELECT count(*) FROM link
                            WHERE zone = ? AND name = ? AND action = ? AND source <> coalesce(?, 0)
                            """
                    ),
                    arguments: [link.zone, link.name, link.action.rawValue, record]
                )
                if (others ?? 0) >= limit {
                    throw EmulatorError.badRequest(
                        "more than \(limit) records would refer to record '\(link.name)' with DELETE_SELF"
                    )
                }
            }
        }
    }

    private func write(_ links: Set<Link>, of record: Int64, hadLinks: Bool) throws {
        if hadLinks {
            try db.cachedStatement(sql: "DELETE FROM link WHERE source = ?").execute(arguments: [record])
        }
        for link in links {
            try db.cachedStatement(sql: "INSERT INTO link (zone, name, action, source) VALUES (?, ?, ?, ?)")
                .execute(arguments: [link.zone, link.name, link.action.rawValue, record])
        }
    }
}

// MARK: - The rows that find a record

extension RecordWriter {
    /// Brings the index from a record's old content to its new one; `nil` is a record that is not there.
    private func index(_ new: Record?, over old: Record?, of type: Schema.RecordType, record: Int64) throws {
        var rows: [(field: Int64, value: IndexValue)] = []
        for (name, field) in type.fields where !field.kind.isEncrypted {
            let (before, after) = (old?.fields[name], new?.fields[name])
            // Strings of Swift are equal when they look alike already; the rows hold their bytes.
            let holdsText = field.kind.base == .string || field.kind.base == .reference
            if !holdsText, old != nil, new != nil, before == after { continue }
            if field.kind == FieldKind(.location) {
                try indexPlace(after?.locationValue, over: before?.locationValue, field: field.id, record: record)
                continue
            }
            let present = old == nil ? [] : IndexValue.values(of: before, in: field.kind)
            let wanted = new == nil ? [] : IndexValue.values(of: after, in: field.kind)
            let (presentSet, wantedSet) = (Set(present), Set(wanted))
            for value in present where !wantedSet.contains(value) {
                try db.cachedStatement(
                    sql: "DELETE FROM entry WHERE field = ? AND zone = ? AND value = ? AND record = ?"
                ).execute(arguments: [field.id, zone.id, value, record])
            }
            for value in wanted where !presentSet.contains(value) { rows.append((field.id, value)) }
        }
        try insert(rows[...], of: record)
    }

    /// Writes rows of `entry`, several in one statement.
    private func insert(_ rows: ArraySlice<(field: Int64, value: IndexValue)>, of record: Int64) throws {
        let rowsOfStatement = 16
        var rest = rows
        while !rest.isEmpty {
            let chunk = rest.prefix(rowsOfStatement)
            rest = rest.dropFirst(rowsOfStatement)
            var arguments: [DatabaseValue] = []
            arguments.reserveCapacity(4 * chunk.count)
            for row in chunk {
                arguments.append(row.field.databaseValue)
                arguments.append(zone.id.databaseValue)
                arguments.append(row.value.databaseValue)
                arguments.append(record.databaseValue)
            }
            try db.cachedStatement(sql: Self.insertions[chunk.count - 1]).execute(
                arguments: StatementArguments(arguments)
            )
        }
    }

    /// The statements that insert 1, 2, … 16 rows.
    private static let insertions = (1...16).map { count in
        "INSERT INTO entry VALUES " + Array(repeating: "(?, ?, ?, ?)", count: count).joined(separator: ", ")
    }

    private func indexPlace(_ new: Location?, over old: Location?, field: Int64, record: Int64) throws {
        if new?.latitude == old?.latitude, new?.longitude == old?.longitude { return }
        if let old {
            try db.cachedStatement(
                sql: """
                    DELETE FROM place
                    WHERE field = ? AND zone = ? AND latitude = ? AND longitude = ? AND record = ?
                    """
            ).execute(arguments: [field, zone.id, old.latitude, old.longitude, record])
        }
        if let new {
            try db.cachedStatement(sql: "INSERT INTO place VALUES (?, ?, ?, ?, ?)")
                .execute(arguments: [field, zone.id, new.latitude, new.longitude, record])
        }
    }
}

extension DatabaseContext {
    /// Removes all records of a zone, without a trace in its feed: the zone goes as a whole.
    func eraseRecords(of zone: ZoneRow) throws {
        try eraseShares(of: zone)
        try eraseAssets(of: zone)
        let schema = try schema()
        for field in schema.types.values.flatMap(\.fields.values) {
            try db.execute(sql: "DELETE FROM entry WHERE field = ? AND zone = ?", arguments: [field.id, zone.id])
            try db.execute(sql: "DELETE FROM place WHERE field = ? AND zone = ?", arguments: [field.id, zone.id])
        }
        try db.execute(
            sql: "DELETE FROM link WHERE source IN (SELECT id FROM record WHERE zone = ?)",
            arguments: [zone.id]
        )
        try db.execute(sql: "DELETE FROM link WHERE zone = ?", arguments: [zone.id])
        try db.execute(sql: "DELETE FROM record WHERE zone = ?", arguments: [zone.id])
    }
}

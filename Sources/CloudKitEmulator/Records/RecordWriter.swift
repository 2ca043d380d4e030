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
    let emulator: CloudKitEmulator
    let db: Database
    let ground: Ground
    let now: Int64
    /// The user record name of the caller, and its row.
    let user: String?
    private let userID: Int64?
    private(set) var schema: Schema
    private var isSchemaChanged = false
    private let rules: FieldRules
    private let zoneID: Int64
    /// The zones written to, with their counts: the request's own, and those that a cascade reached.
    private var zones: [Int64: ZoneRow]
    private var changedZones: [Int64] = []

    init(_ emulator: CloudKitEmulator, _ ground: Ground, _ zone: ZoneRow, _ db: Database) throws {
        self.emulator = emulator
        self.db = db
        self.ground = ground
        now = emulator.now
        user = ground.caller.userRecordName
        userID = try user.map { user in
            try db.cachedStatement(sql: "INSERT OR IGNORE INTO identity (name) VALUES (?)").execute(arguments: [user])
            return try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT id FROM identity WHERE name = ?"),
                arguments: [user]
            ) ?? 0
        }
        schema = try emulator.schemas.schema(of: ground.container, in: db)
        rules = FieldRules(ground: ground, zone: zone, limits: emulator.configuration.limits)
        zoneID = zone.id
        zones = [zone.id: zone]
    }

    /// Gives every changed zone its place in the database's feed, and keeps the schema.
    ///
    /// - Returns: The request's zone, as it is now.
    func finish() throws -> ZoneRow {
        for id in changedZones {
            if let zone = zones[id] { try emulator.noteChange(of: zone, in: ground, db) }
        }
        if isSchemaChanged { emulator.schemas.keep(schema, of: ground.container, after: db) }
        return zones[zoneID] ?? rules.zone
    }

    /// The next number in a zone's count of writes.
    private func nextSequence(of zone: Int64) throws -> Int64 {
        if zones[zone] == nil {
            zones[zone] = try Row.fetchOne(
                db.cachedStatement(
                    sql: "SELECT id, name, sequence, database_sequence, deleted FROM zone WHERE id = ?"
                ),
                arguments: [zone]
            ).map(ZoneRow.init)
        }
        if !changedZones.contains(zone) { changedZones.append(zone) }
        zones[zone]?.sequence += 1
        return zones[zone]?.sequence ?? 1
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
    /// - Returns: The row and its content.
    func save(
        _ request: Record,
        as name: String,
        over existing: RecordRow?,
        replacesAll: Bool
    ) throws -> (row: RecordRow, content: Record) {
        let present = existing.flatMap { $0.isDeleted ? nil : $0 }
        let type = try typeName(of: request, over: present)
        let old = try present?.content()
        let draft = try draft(request, over: old, type: type, replacesAll: replacesAll)
        let links = try links(of: draft.content, name: name)
        try check(links, of: present?.id, as: name)
        let body = try RecordRow.body(of: draft.content)
        guard body.count <= emulator.configuration.limits.recordSize else {
            throw EmulatorError.badRequest(
                "record '\(name)' has \(body.count) bytes; at most \(emulator.configuration.limits.recordSize) are allowed"
            )
        }

        // From here on nothing is refused.
        let recordType = try learn(draft.newFields, of: type)
        let sequence = try nextSequence(of: zoneID)
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
                arguments: [zoneID, name, recordType.id, sequence, now, userID, now, userID, Data(body)]
            )
            id = db.lastInsertedRowID
        }
        try index(draft.content, over: old, of: recordType, record: id, zone: zoneID)
        try write(links, of: id, hadLinks: old.map { !Self.references(of: $0).isEmpty } ?? false)
        let row = RecordRow(
            id: id,
            zone: zoneID,
            name: name,
            type: recordType.id,
            sequence: sequence,
            created: present?.created ?? now,
            creator: present == nil ? user : present?.creator,
            modified: now,
            modifier: user
        )
        return (row, draft.content)
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
        guard FieldRules.isIdentifier(type) else {
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
        let limits = emulator.configuration.limits
        let known = schema[type]?.fields
        var draft = Draft(content: Record(recordName: nil))
        draft.content.parent = request.parent ?? (replacesAll ? nil : old?.parent)
        if let old {
            draft.content.fields = old.fields
            if replacesAll {
                // Fields that the request lacks become null.
                for (name, _) in old.fields where request.fields[name] == nil { draft.content.fields[name] = .null }
            }
        }
        for (name, value) in request.fields {
            let kind = known?[name]?.kind
            if kind == nil, !FieldRules.isIdentifier(name) || name.utf8.count > limits.nameLength {
                throw .badRequest("'\(name)' is not a valid field name")
            }
            let value = try rules.stored(value, for: name, of: type, known: kind)
            if kind == nil, let newKind = FieldKind(of: value) { draft.newFields.append((name, newKind)) }
            draft.content.fields[name] = value
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
        isSchemaChanged = true
        if schema[type] == nil {
            try db.execute(
                sql: "INSERT INTO record_type (container, name) VALUES (?, ?)",
                arguments: [ground.container, type]
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
            schema.insert(Schema.Field(id: db.lastInsertedRowID, name: name, kind: kind), in: type)
        }
        return schema[type] ?? recordType
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
            try index(Record(recordName: nil), over: content, of: type, record: row.id, zone: row.zone)
        }
        try write([], of: row.id, hadLinks: !Self.references(of: content).isEmpty)
        let sequence = try nextSequence(of: row.zone)
        try db.cachedStatement(
            sql: "UPDATE record SET sequence = ?, deleted = 1, modified = ?, modifier = ?, body = NULL WHERE id = ?"
        ).execute(arguments: [sequence, now, userID, row.id])
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

    private func links(of content: Record, name: String) throws -> Set<Link> {
        var links = Set<Link>()
        for reference in Self.references(of: content) {
            let action = reference.action == .validate ? Link.Action.validate : .deleteSelf
            var zone = zoneID
            if let other = reference.zoneID, other.zoneName != rules.zone.name {
                do {
                    zone = try emulator.zone(other, of: ground, in: db).id
                } catch let error as EmulatorError {
                    if action == .validate { throw missingTarget(reference.recordName, error) }
                    continue
                }
            }
            links.insert(Link(zone: zone, name: reference.recordName, action: action))
        }
        return links
    }

    private func missingTarget(_ name: String, _ cause: EmulatorError? = nil) -> EmulatorError {
        EmulatorError(.validatingReferenceError, "the record '\(name)', referred to with VALIDATE, does not exist")
    }

    /// Refuses references that may not be: `VALIDATE` to nothing, too many `DELETE_SELF` to one.
    private func check(_ links: Set<Link>, of record: Int64?, as name: String) throws {
        for link in links {
            switch link.action {
            case .validate:
                if link.zone == zoneID, link.name == name { continue }
                let target = try Row.fetchOne(
                    db.cachedStatement(sql: "SELECT 1 FROM record WHERE zone = ? AND name = ? AND deleted = 0"),
                    arguments: [link.zone, link.name]
                )
                if target == nil { throw missingTarget(link.name) }
            case .deleteSelf:
                let limit = emulator.configuration.limits.deleteSelfReferencesPerTarget
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
    /// Brings the index from the record's old content to its new one.
    private func index(
        _ new: Record,
        over old: Record?,
        of type: Schema.RecordType,
        record: Int64,
        zone: Int64
    ) throws {
        let fields = type.fields
        for (name, value) in old?.fields ?? [:] where new.fields[name] != value {
            guard let field = fields[name] else { continue }
            if case .location(let location) = value {
                try db.cachedStatement(
                    sql:
                        "DELETE FROM place WHERE field = ? AND zone = ? AND latitude = ? AND longitude = ? AND record = ?"
                ).execute(arguments: [field.id, zone, location.latitude, location.longitude, record])
                continue
            }
            let kept = Set(new.fields[name].map(IndexValue.values(of:)) ?? [])
            for value in IndexValue.values(of: value) where !kept.contains(value) {
                try db.cachedStatement(
                    sql: "DELETE FROM entry WHERE field = ? AND zone = ? AND value = ? AND record = ?"
                ).execute(arguments: [field.id, zone, value, record])
            }
        }
        for (name, value) in new.fields where old == nil || old?.fields[name] != value {
            guard let field = fields[name] else { continue }
            if case .location(let location) = value {
                try db.cachedStatement(sql: "INSERT OR IGNORE INTO place VALUES (?, ?, ?, ?, ?)")
                    .execute(arguments: [field.id, zone, location.latitude, location.longitude, record])
                continue
            }
            for value in IndexValue.values(of: value) {
                try db.cachedStatement(sql: "INSERT OR IGNORE INTO entry VALUES (?, ?, ?, ?)")
                    .execute(arguments: [field.id, zone, value, record])
            }
        }
    }
}

extension CloudKitEmulator {
    /// Removes all records of a zone, without a trace in its feed: the zone goes as a whole.
    func eraseRecords(of zone: ZoneRow, in ground: Ground, _ db: Database) throws {
        let schema = try schemas.schema(of: ground.container, in: db)
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

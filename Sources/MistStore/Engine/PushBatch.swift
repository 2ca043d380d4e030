import CloudKitModel
import GRDB
import MistKit
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The operations of one request, all in one zone: creates and updates with targets first, then deletes with children
/// first.
struct PushBatch {
    let zone: ZoneRow
    var operations: [RecordOperation] = []
    /// Whether the service is to carry out all of them or none.
    var isAtomic = false
}

extension PushBatch {
    /// Chooses the changes to send, and stores them as sent.
    ///
    /// - Parameters:
    ///   - transaction: The transaction of the engine.
    ///   - limit: The most operations.
    ///   - now: The machine's time in milliseconds since 1970.
    /// - Returns: The batch; `nil` when nothing can be sent.
    /// - Throws: A ``StoreError`` when the file fails.
    static func next(
        in transaction: SyncEngine.Transaction,
        limit: Int64,
        at now: Int64
    ) throws -> PushBatch? {
        let (scope, db) = (transaction.scope, transaction.db)
        // A zone that is read from its start may be a new zone of the same name.
        let isKnown = "state = 1 AND is_uncertain = 0 AND NOT (is_stale = 1 AND is_refetching = 1)"
        var zones = try ZoneRow.all(in: scope, where: isKnown, db)
        if zones.count > 1 {
            let pending = try transaction.zonesWithPendingWork()
            zones.removeAll { !pending.contains($0.id) }
        }
        for zone in zones {
            var builder = try BatchBuilder(transaction: transaction, zone: zone, limit: Int(limit), now: now)
            let batch = try builder.batch()
            if !batch.operations.isEmpty { return batch }
        }
        return nil
    }
}

extension SyncEngine.Transaction {
    /// The zones with changes that were not acknowledged.
    fileprivate func zonesWithPendingWork() throws -> Set<Int64> {
        let edits = file.orderedTables.map { table in
            "SELECT _zone FROM mist_edit JOIN \(table.name) ON _id = row WHERE type = \(table.id)"
        }
        let all = (["SELECT zone FROM mist_tombstone"] + edits).joined(separator: " UNION ")
        return try Set(Int64.fetchAll(db.cachedStatement(sql: all)))
    }
}

/// Collects the operations of a zone.
private struct BatchBuilder {
    let transaction: SyncEngine.Transaction
    let zone: ZoneRow
    let limit: Int
    let now: Int64
    /// `now` in the service's time.
    let serviceTime: Int64
    /// The changes that may go into the request, targets first. A family is collected to its end, beyond the limit.
    private var items: [Item] = []
    /// The names of the items.
    private var names: Set<String> = []
    /// The names of records that wait because a record that they depend on waits.
    private var excluded: Set<String> = []
    /// Whether the service does not know a type, by the number of the type.
    private var parkedTypes: [Int64: Bool] = [:]
    private var size = 0

    /// A change with its operation.
    private struct Item {
        let row: LocalRow
        let table: RecordTable
        let known: KnownVersion?
        let edits: [EditRow]
        let emptied: Set<String>
        let operation: RecordOperation
        let times: EditTimes?
        let candidate: PushCandidate
    }

    init(transaction: SyncEngine.Transaction, zone: ZoneRow, limit: Int, now: Int64) throws {
        serviceTime = try transaction.serviceTime(now)
        self.transaction = transaction
        self.zone = zone
        self.limit = limit
        self.now = now
    }

    private var db: Database { transaction.db }
    private var bytes: Int { transaction.settings.bytesOfRequest }
    private var isFull: Bool { items.count >= limit || size >= bytes }
    /// Whether collecting stops even in the middle of a family.
    private var isOverfull: Bool { items.count >= 2 * limit || size >= 2 * bytes }
    private var mayBeAtomic: Bool {
        transaction.scope != .public && zone.zoneID.zoneName != ZoneID.default.zoneName && !zone.avoidsAtomic
    }

    /// Collects the changes, chooses from them, and stores the chosen ones as sent.
    mutating func batch() throws -> PushBatch {
        try collectSaves()
        let plan = PushPlan(items.map(\.candidate), count: limit, bytes: bytes, mayBeAtomic: mayBeAtomic)
        var batch = PushBatch(zone: zone, isAtomic: plan.isAtomic)
        for index in plan.chosen {
            try note(items[index])
            batch.operations.append(items[index].operation)
        }
        // Deletes are sent after all saves.
        if !plan.isAtomic, plan.chosen.count == items.count, !isFull { try collectDeletes(&batch) }
        return batch
    }

    // MARK: Saves

    private mutating func collectSaves() throws {
        for table in transaction.file.orderedTables {
            guard try !isParked(table) else { continue }
            var last: Int64 = 0
            // The edits are read in pages, because some of the rows have to wait.
            while !isFull {
                let end = try db.value(
                    """
                    SELECT max(row) FROM (
                        SELECT DISTINCT row FROM mist_edit WHERE type = ? AND row > ? ORDER BY row LIMIT 400
                    )
                    """,
                    [table.id, last],
                    as: Int64.self
                )
                guard let end else { break }
                let candidates = try table.rows(
                    """
                    _id IN (SELECT row FROM mist_edit WHERE type = ?1 AND row > ?2 AND row <= ?5)
                    AND _zone = ?3 AND NOT EXISTS (\(Self.waiting(table))) ORDER BY _id
                    """,
                    [.integer(table.id), .integer(last), .integer(zone.id), .integer(now), .integer(end)],
                    db
                )
                for row in candidates where !isFull { try add(row, of: table) }
                last = end
            }
        }
    }

    /// A statement that finds a reason why a record is not sent now: the service refused it, its version is to be
    /// looked up, or an earlier life of the name is still to be deleted.
    ///
    /// A record that was refused without a time for the next attempt is sent again after an edit. The statement's
    /// fourth parameter is the machine's time.
    private static func waiting(_ table: RecordTable) -> String {
        """
        SELECT 1 FROM mist_parked AS parked WHERE parked.zone = _zone AND parked.name = _recordName
            AND CASE WHEN parked.until IS NOT NULL THEN parked.until > ?4 ELSE NOT EXISTS (
                SELECT 1 FROM mist_edit AS edit
                WHERE edit.type = \(table.id) AND edit.row = _id AND edit.raw > parked.since
            ) END
        UNION ALL SELECT 1 FROM mist_record AS known WHERE known.zone = _zone AND known.name = _recordName
            AND known.is_conflicting = 1
        UNION ALL SELECT 1 FROM mist_tombstone AS tombstone WHERE tombstone.zone = _zone
            AND tombstone.name = _recordName
        """
    }

    private mutating func isParked(_ table: RecordTable) throws -> Bool {
        if let isParked = parkedTypes[table.id] { return isParked }
        let isParked =
            try db.value("SELECT parked IS NOT NULL FROM mist_type WHERE id = ?", [table.id], as: Bool.self) ?? false
        parkedTypes[table.id] = isParked
        return isParked
    }

    /// Adds a record, after the new records that it refers to, and before the new records below it.
    private mutating func add(_ row: LocalRow, of table: RecordTable) throws {
        var open = [(row, table)]
        while !isOverfull, let (row, table) = open.popLast() {
            for item in try addPath(to: row, of: table) where item.candidate.isCreate && mayBeAtomic {
                open += try newChildren(of: item.row).reversed()
            }
        }
    }

    /// Adds a record, after the new records that it refers to.
    ///
    /// The path is an array and not a recursion, because a chain of new records may be longer than the stack allows.
    private mutating func addPath(to row: LocalRow, of table: RecordTable) throws -> [Item] {
        guard !names.contains(row.name), !excluded.contains(row.name) else { return [] }
        let first = items.count
        var path = [Visit(row, table)]
        var visiting: Set<String> = [row.name]
        while !isOverfull, var visit = path.popLast() {
            if let target = try nextTarget(of: &visit, visiting) {
                path.append(visit)
                path.append(target)
                visiting.insert(target.row.name)
                continue
            }
            visiting.remove(visit.row.name)
            if !visit.bindings.isDisjoint(with: excluded) {
                excluded.insert(visit.row.name)
            } else if names.insert(visit.row.name).inserted {
                try append(visit)
            }
        }
        return Array(items[first...])
    }

    /// A record on the way into the batch, with the references that were not followed yet.
    private struct Visit {
        let row: LocalRow
        let table: RecordTable
        var links: ArraySlice<StoredField>
        /// The fields whose link is left out of the request.
        var emptied: Set<String> = []
        /// The new records that this one is not sent without.
        var bindings: Set<String> = []

        init(_ row: LocalRow, _ table: RecordTable) {
            self.row = row
            self.table = table
            links = table.fields.filter { $0.type == .reference }[...]
        }
    }

    /// The largest number of new records in a path from reference to reference. A longer chain is cut there, like a
    /// cycle: the link is sent in a later request. So the work for one request is limited.
    private static let longestPath = 10_000

    /// The next new record that must be in the batch before the visited one, which refers to it; `nil` when there is no
    /// other.
    private mutating func nextTarget(of visit: inout Visit, _ visiting: Set<String>) throws -> Visit? {
        while let field = visit.links.popFirst() {
            guard let link = visit.row.fields[field.name]?.referenceValue else { continue }
            let name = link.recordName
            guard !names.contains(name), try !isKnown(name) else { continue }
            if visiting.contains(name) {
                visit.emptied.insert(field.name)
                continue
            }
            if field.schema.isParent || link.action == .validate { visit.bindings.insert(name) }
            guard !excluded.contains(name) else { continue }
            switch try target(named: name, first: visit.table) {
            case .absent: visit.bindings.remove(name)
            case .waiting: excluded.insert(name)
            case .new(let row, let table):
                guard visiting.count >= Self.longestPath else { return Visit(row, table) }
                visit.emptied.insert(field.name)
            }
        }
        return nil
    }

    /// Whether the service has a record of the name.
    private func isKnown(_ name: String) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_record WHERE zone = ? AND name = ? AND tag IS NOT NULL)",
            [zone.id, name],
            as: Bool.self
        ) ?? false
    }

    /// A record that the service does not have, and that another record refers to.
    private enum Target {
        /// It is not on this machine either.
        case absent
        /// It is on this machine, and is not sent now.
        case waiting
        /// It can be sent.
        case new(LocalRow, RecordTable)
    }

    /// Finds the target of a reference.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - table: The table to search first: long chains are of one type.
    /// - Returns: The target's state on this machine.
    /// - Throws: A ``StoreError`` when the file fails.
    private mutating func target(named name: String, first table: RecordTable) throws -> Target {
        for table in [table] + transaction.file.orderedTables.filter({ $0.id != table.id }) {
            let sendable = try table.rows(
                "_zone = ?1 AND _recordName = ?2 AND ?3 AND NOT EXISTS (\(Self.waiting(table)))",
                [.integer(zone.id), .text(name), .integer(1), .integer(now)],
                db
            ).first
            if let row = sendable { return try isParked(table) ? .waiting : .new(row, table) }
            if try table.row(named: name, in: zone.id, db) != nil { return .waiting }
        }
        return .absent
    }

    /// The new records directly below a new record.
    private mutating func newChildren(of row: LocalRow) throws -> [(LocalRow, RecordTable)] {
        var children: [(LocalRow, RecordTable)] = []
        for table in transaction.file.orderedTables {
            guard let parent = table.parentField, children.count < 2 * limit, try !isParked(table) else { continue }
            children += try table.rows(
                """
                \(parent.column) = ?1 AND _zone = ?2 AND NOT EXISTS (\(Self.waiting(table))) AND EXISTS (
                    SELECT 1 FROM mist_edit AS new WHERE new.type = ?3 AND new.row = _id AND new.field = 0
                ) ORDER BY _id LIMIT ?5
                """,
                [
                    .text(row.name), .integer(zone.id), .integer(table.id), .integer(now),
                    .integer(Int64(2 * limit - children.count)),
                ],
                db
            ).map { ($0, table) }
        }
        return children
    }

    /// Adds a record with its operation.
    private mutating func append(_ visit: Visit) throws {
        let (table, emptied) = (visit.table, visit.emptied)
        var row = visit.row
        let known = try KnownVersion.fetch(named: row.name, in: zone.id, db)
        if let known, known.type != table.id {
            return try transaction.park(
                row.name,
                in: zone.id,
                reason: "nameTaken",
                message: """
                    A \(transaction.file.tablesByID[known.type]?.recordType ?? "record of another type") has the name of this \
                    \(table.recordType). Record names are unique in a zone: change the name.
                    """,
                until: nil,
                since: now
            )
        }
        if let problem = transaction.file.problem(of: row, table) {
            // The new records that depend on it wait, too.
            names.remove(row.name)
            excluded.insert(row.name)
            try transaction.noteUnreadable(row.id, table)
            let edited = try transaction.edits(of: row, table).map(\.raw).max() ?? now
            return try transaction.park(
                row.name,
                in: zone.id,
                reason: "value",
                message: problem,
                until: nil,
                since: max(now, edited)
            )
        }
        try transaction.noteUnknownFields(of: row.id, table)
        let edits = try joined(try transaction.edits(of: row, table), of: &row, table)
        guard !edits.isEmpty else { return }
        let isCreate = known?.tag == nil
        let writer = RecordWriter(
            row: row,
            table: table,
            known: known,
            edits: edits,
            emptied: emptied,
            device: try transaction.device(),
            serviceTime: serviceTime,
            writesTimes: !transaction.settings.typesWithoutEditTimes.contains(table.recordType)
        )
        let (operation, times) = writer.operation(isCreate: isCreate)
        let links = table.fields.filter { $0.type == .reference && !emptied.contains($0.name) }
        let candidate = PushCandidate(
            name: row.name,
            isCreate: isCreate,
            parent: table.parentField.flatMap { emptied.contains($0.name) ? nil : row.fields[$0.name]?.referenceValue }?
                .recordName,
            targets: Set(links.compactMap { row.fields[$0.name]?.referenceValue?.recordName }),
            size: operation.estimatedSize
        )
        items.append(
            Item(
                row: row,
                table: table,
                known: known,
                edits: edits,
                emptied: emptied,
                operation: operation,
                times: times,
                candidate: candidate
            )
        )
        size += candidate.size
    }

    /// Stores the operation of a record, and the values in it, as sent.
    private func note(_ item: Item) throws {
        let (row, table) = (item.row, item.table)
        if item.candidate.isCreate, item.known == nil {
            try db.run(
                "INSERT INTO mist_record (type, zone, name, row) VALUES (?, ?, ?, ?)",
                [table.id, zone.id, row.name, row.id]
            )
        }
        let record = item.known?.id ?? db.lastInsertedRowID
        try db.run(
            "INSERT OR REPLACE INTO mist_sent (record, zone, name, operation, times) VALUES (?, ?, ?, ?, ?)",
            [
                record, zone.id, row.name, item.candidate.isCreate ? "create" : "update",
                item.times.map { Data($0.bytes) },
            ]
        )
        if let times = item.times, table.fields.contains(where: { $0.schema.merge == .counter }) {
            var written = EditTimes()
            written.parts = CounterParts.writes(
                item.known?.writes ?? [],
                adding: times,
                to: item.known?.times ?? EditTimes()
            )
            try db.run("UPDATE mist_record SET written = ? WHERE id = ?", [Data(written.bytes), record])
        }
        try db.run("DELETE FROM mist_sent_field WHERE record = ?", [record])
        for edit in item.edits where !item.emptied.contains(edit.field?.name ?? "") {
            let value = try edit.field.map { try ColumnPair(row.fields[$0.name], of: $0, in: zone.zoneID).value }
            let statement = try db.cachedStatement(
                sql: "INSERT INTO mist_sent_field (record, field, time, value) VALUES (?, ?, ?, ?)"
            )
            try statement.bind([
                .integer(record), .integer(edit.field?.id ?? 0), .integer(edit.time), value ?? .null,
            ])
            try statement.execute()
        }
        // A link that was left out is an edit of its own, for the next batch.
        for field in table.fields where item.emptied.contains(field.name) {
            try db.run(
                """
                INSERT INTO mist_edit (type, row, field, time, raw, base)
                    SELECT type, row, ?, time, raw, NULL FROM mist_edit WHERE type = ? AND row = ? AND field = 0
                    ON CONFLICT (type, row, field) DO NOTHING
                """,
                [field.id, table.id, row.id]
            )
        }
    }

    /// Joins the edits of fields that only grow with the service's values. An edit that adds nothing to the service's
    /// value is dropped.
    private func joined(_ edits: [EditRow], of row: inout LocalRow, _ table: RecordTable) throws -> [EditRow] {
        var rest: [EditRow] = []
        var putBack: [String: FieldValue?] = [:]
        for edit in edits {
            guard let field = edit.field, edit.base != nil else {
                rest.append(edit)
                continue
            }
            let value = row.fields[field.name]
            let joined = join(value, edit.base, by: field.schema.merge)
            if field.schema.merge.putsBack(value, beside: edit.base) { putBack[field.name] = .some(value) }
            if !joined.isSame(as: value) {
                row.fields[field.name] = joined
                let pair = try ColumnPair(joined, of: field, in: zone.zoneID)
                try table.update(row.id, [field.name: pair], at: nil, db)
            }
            if field.schema.merge == .latest || field.schema.merge == .counter || !joined.isSame(as: edit.base) {
                rest.append(edit)
            } else {
                try db.run(
                    "DELETE FROM mist_edit WHERE type = ? AND row = ? AND field = ?",
                    [table.id, row.id, field.id]
                )
            }
        }
        if !putBack.isEmpty {
            try transaction.log(.policy, putBack, of: table.recordType, row.name, in: zone, at: now)
        }
        return rest
    }

    // MARK: Deletes

    private func collectDeletes(_ batch: inout PushBatch) throws {
        let tombstones = try db.rows(
            """
            SELECT record, name, tag FROM mist_tombstone
            WHERE zone = ?1 AND is_conflicting = 0 AND NOT EXISTS (
                SELECT 1 FROM mist_parked AS parked WHERE parked.zone = mist_tombstone.zone
                    AND parked.name = mist_tombstone.name AND (parked.until IS NULL OR parked.until > ?2)
            )
            ORDER BY depth DESC, time, record LIMIT ?3
            """,
            [zone.id, now, limit - batch.operations.count]
        )
        // A request has one operation for each name. If the name is saved in this request, the delete waits for the
        // next one.
        for row in tombstones where !names.contains(row["name"]) {
            let name: String = row["name"]
            var record = Record(recordName: name)
            record.recordChangeTag = row["tag"]
            batch.operations.append(RecordOperation(.delete, record: record))
            try db.run(
                "INSERT OR REPLACE INTO mist_sent (record, zone, name, operation) VALUES (?, ?, ?, 'delete')",
                [row["record"] as Int64, zone.id, name]
            )
        }
    }
}

/// A row of `mist_edit`.
struct EditRow {
    /// `nil` for the insert.
    let field: StoredField?
    let time: Int64
    /// The time by the machine's clock, without a correction.
    let raw: Int64
    /// The service's value before the edit.
    let base: FieldValue?
}

extension SyncEngine.Transaction {
    /// The edits of a row that the service has not acknowledged.
    func edits(of row: LocalRow, _ table: RecordTable) throws -> [EditRow] {
        let statement = try db.cachedStatement(
            sql: "SELECT field, time, raw, base FROM mist_edit WHERE type = ? AND row = ? ORDER BY field"
        )
        try statement.bind([.integer(table.id), .integer(row.id)])
        var edits: [EditRow] = []
        let cursor = try Row.fetchCursor(statement)
        while let found = try cursor.next() {
            let number: Int64 = found[0]
            let field = table.fields.first { $0.id == number }
            // The edit of a field that only a newer program knows stays for that program.
            if number != 0, field == nil { continue }
            let base = field?.serviceValue(ColumnValue(sqliteStatement: statement.sqliteStatement, index: 3))
            edits.append(EditRow(field: field, time: found[1], raw: found[2], base: base))
        }
        return edits
    }
}

/// Makes the operation of a record.
private struct RecordWriter {
    let row: LocalRow
    let table: RecordTable
    let known: KnownVersion?
    let edits: [EditRow]
    let emptied: Set<String>
    let device: Int64
    let serviceTime: Int64
    let writesTimes: Bool

    /// Makes the operation, and the edit times in it.
    ///
    /// - Parameter isCreate: Whether the service does not have the record.
    /// - Returns: The operation, and its edit times; `nil` where the type's records have no edit times.
    func operation(isCreate: Bool) -> (RecordOperation, EditTimes?) {
        var record = Record(recordType: table.recordType, recordName: row.name)
        let times = writesTimes ? times(isCreate: isCreate) : nil
        if isCreate {
            for field in table.fields where !emptied.contains(field.name) {
                if let value = row.fields[field.name] { record.fields[field.name] = value.saved(as: field) }
            }
        } else {
            record.recordChangeTag = known?.tag
            for case let edit in edits {
                guard let field = edit.field, !emptied.contains(field.name) else { continue }
                record.fields[field.name] = row.fields[field.name]?.saved(as: field) ?? .null
            }
        }
        if let parent = table.parentField, !emptied.contains(parent.name),
            isCreate || edits.contains(where: { $0.field?.id == parent.id }),
            let target = row.fields[parent.name]?.referenceValue
        {
            record.parent = Reference(recordName: target.recordName)
        }
        if let times { record.fields[EditTimes.fieldName] = .bytes(Data(times.bytes)) }
        return (RecordOperation(isCreate ? .create : .update, record: record, desiredKeys: []), times)
    }

    /// The times of all fields: of edited fields the times of the edits, of other fields those of the service's
    /// version.
    private func times(isCreate: Bool) -> EditTimes {
        var times = EditTimes()
        times.movedFrom = known?.times.movedFrom
        times.parts = known?.times.parts ?? []
        let own = Dictionary(edits.map { ($0.field?.name ?? "", $0) }, uniquingKeysWith: { $1 })
        var remote: RemoteVersion?
        if let known, !isCreate {
            var fields = known.other
            // The service's value under the present name of a renamed field is among the other fields.
            for field in table.fields where own[field.name] == nil && fields[field.name] == nil {
                fields[field.name] = row.fields[field.name]
            }
            remote = RemoteVersion(fields: fields, times: known.times, modified: known.modified ?? 0)
        }
        let insert = own[""]
        times.creation = known?.times.creation
        if isCreate, let insert { times.creation = EditTime(milliseconds: insert.time, device: device) }
        for field in table.fields {
            let value = row.fields[field.name]
            let isEmptied = emptied.contains(field.name)
            if isEmptied || (isCreate && value == nil && own[field.name] == nil) {
                // A field that was never set loses to every edit.
                if isCreate {
                    times.set(EditTime(milliseconds: 0, device: 0), of: field.name, nil)
                } else if let remote, let edit = own[field.name] {
                    let time = remote.times.time(of: field.name, edit.base)
                    times.set(time ?? EditTime(milliseconds: remote.modified, device: 0), of: field.name, edit.base)
                }
            } else if let edit = own[field.name] ?? insert {
                let time = EditTime(milliseconds: edit.time, device: device)
                times.set(time.clamped(toVersionOf: serviceTime), of: field.name, value)
                if field.schema.merge == .counter {
                    // If the service does not have the record, this device has added the whole value.
                    let pending = PendingEdit(
                        value: value,
                        base: isCreate ? nil : edit.base,
                        time: EditTime(milliseconds: edit.time, device: device)
                    )
                    times.set(
                        CounterParts.part(
                            of: field.name,
                            device: device,
                            edit: pending,
                            known: known?.times ?? EditTimes(),
                            at: serviceTime
                        )
                    )
                }
            } else if let remote {
                let value = remote.fields[field.name]
                // An absent value without a noted time gets no time.
                if let value, value.isNull, remote.times.time(of: field.name, value) == nil { continue }
                times.set(remote.time(of: field.name), of: field.name, value)
            }
        }
        if let remote {
            for (name, value) in remote.fields where table[name] == nil {
                times.set(remote.time(of: name), of: name, value)
            }
        }
        times.parts = CounterParts.folded(times.parts)
        return times
    }
}

extension FieldValue {
    /// The value as it is sent: encrypted fields are marked as such.
    fileprivate func saved(as field: StoredField) -> FieldValue {
        field.schema.isEncrypted ? .encrypted(plain) : plain
    }
}

extension RecordOperation {
    /// About how many bytes the operation takes in a request.
    fileprivate var estimatedSize: Int {
        record.fields.reduce(200) { sum, field in sum + field.name.utf8.count + 40 + field.value.plain.estimatedSize }
    }
}

extension FieldValue {
    fileprivate var estimatedSize: Int {
        switch self {
        case .string(let text): text.utf8.count * 5 / 4
        case .bytes(let data): data.count * 4 / 3
        case .int64, .double, .timestamp, .null: 20
        case .reference(let reference): reference.recordName.utf8.count + 60
        default: Checksum.bytes(of: self).count
        }
    }
}

import CloudKitModel
import GRDB
import MistKit
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The operations of one request, all in one zone: creates and updates with targets first, then deletes with children first.
struct PushBatch {
    let zone: ZoneRow
    var operations: [RecordOperation] = []
}

extension PushBatch {
    /// Chooses what to send, and notes it as sent.
    ///
    /// - Parameters:
    ///   - transaction: The transaction of the engine.
    ///   - limit: The most operations.
    ///   - now: The machine's time in milliseconds since 1970.
    /// - Returns: `nil` when nothing can be sent.
    /// - Throws: A ``StoreError`` when the file fails.
    static func next(
        in transaction: SyncEngine.Transaction,
        limit: Int64,
        at now: Int64
    ) throws -> PushBatch? {
        for zone in try ZoneRow.all(in: transaction.scope, where: "state = 1 AND is_uncertain = 0", transaction.db) {
            var builder = try BatchBuilder(transaction: transaction, zone: zone, limit: Int(limit), now: now)
            try builder.collectSaves()
            try builder.collectDeletes()
            guard !builder.batch.operations.isEmpty else { continue }
            return builder.batch
        }
        return nil
    }
}

/// Collects the operations of a zone.
private struct BatchBuilder {
    let transaction: SyncEngine.Transaction
    let zone: ZoneRow
    let limit: Int
    let now: Int64
    /// The same in the service's time.
    let serviceTime: Int64
    var batch: PushBatch
    /// The names of the batch.
    private var names: Set<String> = []
    private var size = 0

    init(transaction: SyncEngine.Transaction, zone: ZoneRow, limit: Int, now: Int64) throws {
        serviceTime = try transaction.serviceTime(now)
        self.transaction = transaction
        self.zone = zone
        self.limit = limit
        self.now = now
        batch = PushBatch(zone: zone)
    }

    private var db: Database { transaction.db }
    private var isFull: Bool { batch.operations.count >= limit || size >= transaction.settings.bytesOfRequest }

    // MARK: Saves

    mutating func collectSaves() throws {
        for table in transaction.file.orderedTables {
            guard try !isParked(table) else { continue }
            var last: Int64 = 0
            // Pages, as some of the rows have to wait.
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

    /// Why a record is not sent now: the service refused it, its version is to be looked up, or an earlier life of the name is still
    /// to be deleted.
    ///
    /// What was refused for good is sent again after an edit. The statement's fourth parameter is the machine's time.
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

    private func isParked(_ table: RecordTable) throws -> Bool {
        try db.value("SELECT parked IS NOT NULL FROM mist_type WHERE id = ?", [table.id], as: Bool.self) ?? false
    }

    /// Adds a record, after the new records that it refers to.
    ///
    /// The path is an array and no recursion, since programs choose how long a chain of new records is.
    private mutating func add(_ row: LocalRow, of table: RecordTable) throws {
        guard !names.contains(row.name) else { return }
        var path = [Visit(row, table)]
        var visiting: Set<String> = [row.name]
        while !isFull, var visit = path.popLast() {
            if let target = try nextTarget(of: &visit, visiting) {
                path.append(visit)
                path.append(target)
                visiting.insert(target.row.name)
            } else {
                visiting.remove(visit.row.name)
                guard names.insert(visit.row.name).inserted else { continue }
                try append(visit.row, of: visit.table, without: visit.emptied)
            }
        }
    }

    /// A record on the way into the batch, with the references that were not followed yet.
    private struct Visit {
        let row: LocalRow
        let table: RecordTable
        var links: ArraySlice<StoredField>
        /// The fields whose link is left out of the request.
        var emptied: Set<String> = []

        init(_ row: LocalRow, _ table: RecordTable) {
            self.row = row
            self.table = table
            links = table.fields.filter { $0.type == .reference }[...]
        }
    }

    /// The most new records that are walked through from one reference to the next. A longer chain is cut there, as a cycle is: the
    /// link is sent in a later request. So the work of a request has a bound.
    private static let longestPath = 10_000

    /// The next new record that must be in the batch before one that refers to it; `nil` when there is no other.
    private func nextTarget(of visit: inout Visit, _ visiting: Set<String>) throws -> Visit? {
        while let field = visit.links.popFirst() {
            guard let name = visit.row.fields[field.name]?.referenceValue?.recordName, !names.contains(name),
                try !isKnown(name)
            else { continue }
            if visiting.contains(name) {
                visit.emptied.insert(field.name)
            } else if let (row, table) = try pendingRow(named: name) {
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

    private func pendingRow(named name: String) throws -> (LocalRow, RecordTable)? {
        for table in transaction.file.orderedTables {
            let row = try table.rows(
                "_zone = ?1 AND _recordName = ?2 AND ?3 AND NOT EXISTS (\(Self.waiting(table)))",
                [.integer(zone.id), .text(name), .integer(1), .integer(now)],
                db
            ).first
            if let row { return (row, table) }
        }
        return nil
    }

    /// Appends the operation of a record, and notes what is sent.
    private mutating func append(_ row: LocalRow, of table: RecordTable, without emptied: Set<String>) throws {
        let known = try KnownVersion.fetch(named: row.name, in: zone.id, db)
        var row = row
        let edits = try joined(try transaction.edits(of: row, table), of: &row, table)
        guard !edits.isEmpty else { return }
        let isCreate = known?.tag == nil
        let writer = RecordWriter(
            row: row,
            table: table,
            known: known,
            edits: edits,
            emptied: emptied,
            device: transaction.file.device,
            serviceTime: serviceTime,
            writesTimes: !transaction.settings.typesWithoutEditTimes.contains(table.recordType)
        )
        let (operation, times) = writer.operation(isCreate: isCreate)
        if isCreate, known == nil {
            try db.run(
                "INSERT INTO mist_record (type, zone, name, row) VALUES (?, ?, ?, ?)",
                [table.id, zone.id, row.name, row.id]
            )
        }
        let record = known?.id ?? db.lastInsertedRowID
        try db.run(
            "INSERT OR REPLACE INTO mist_sent (record, zone, name, operation, times) VALUES (?, ?, ?, ?, ?)",
            [record, zone.id, row.name, isCreate ? "create" : "update", Data(times.bytes)]
        )
        try db.run("DELETE FROM mist_sent_field WHERE record = ?", [record])
        for edit in edits where !emptied.contains(edit.field?.name ?? "") {
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
        for field in table.fields where emptied.contains(field.name) {
            try db.run(
                """
                INSERT INTO mist_edit (type, row, field, time, raw, base)
                    SELECT type, row, ?, time, raw, NULL FROM mist_edit WHERE type = ? AND row = ? AND field = 0
                    ON CONFLICT (type, row, field) DO NOTHING
                """,
                [field.id, table.id, row.id]
            )
        }
        batch.operations.append(operation)
        size += operation.estimatedSize
    }

    /// Values of fields that only grow are joined with what the service has: a smaller one is no edit.
    private func joined(_ edits: [EditRow], of row: inout LocalRow, _ table: RecordTable) throws -> [EditRow] {
        var rest: [EditRow] = []
        for edit in edits {
            guard let field = edit.field, edit.base != nil else {
                rest.append(edit)
                continue
            }
            let value = row.fields[field.name]
            let joined = join(value, edit.base, by: field.schema.merge)
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
        return rest
    }

    // MARK: Deletes

    mutating func collectDeletes() throws {
        guard !isFull else { return }
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
        for row in tombstones {
            let name: String = row["name"]
            // Two operations on one name are two requests.
            guard names.insert(name).inserted else { continue }
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
    /// The time by the machine's clock alone.
    let raw: Int64
    let base: FieldValue?
}

extension SyncEngine.Transaction {
    /// What was edited in a row and not acknowledged.
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
            // A field that only a newer program knows stays for that.
            if number != 0, field == nil { continue }
            let base = try field.flatMap {
                try $0.value(ColumnValue(sqliteStatement: statement.sqliteStatement, index: 3), in: table)
            }
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

    func operation(isCreate: Bool) -> (RecordOperation, EditTimes) {
        var record = Record(recordType: table.recordType, recordName: row.name)
        let times = times(isCreate: isCreate)
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
        if writesTimes { record.fields[EditTimes.fieldName] = .bytes(Data(times.bytes)) }
        return (RecordOperation(isCreate ? .create : .update, record: record, desiredKeys: []), times)
    }

    /// The times of all fields: those of the edits, and for the others what the service's version says.
    private func times(isCreate: Bool) -> EditTimes {
        var times = EditTimes()
        times.movedFrom = known?.times.movedFrom
        times.parts = known?.times.parts ?? []
        let own = Dictionary(edits.map { ($0.field?.name ?? "", $0) }, uniquingKeysWith: { $1 })
        var remote: RemoteVersion?
        if let known, !isCreate {
            var fields = known.other
            for field in table.fields where own[field.name] == nil { fields[field.name] = row.fields[field.name] }
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
                    // Of a record that the service does not have, all is this device's.
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
                            knownParts: known?.times ?? EditTimes()
                        )
                    )
                }
            } else if let remote {
                times.set(remote.time(of: field.name), of: field.name, value)
            }
        }
        if let remote {
            for (name, value) in remote.fields where table[name] == nil {
                times.set(remote.time(of: name), of: name, value)
            }
        }
        return times
    }
}

extension FieldValue {
    /// The value as it is sent.
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

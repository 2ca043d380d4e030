import CloudKitModel
import GRDB
import MistKit
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// MARK: - A record of the service

extension SyncEngine.Transaction {
    /// Applies a record of a feed, a lookup or a query. This is the only way from the service into the tables.
    func apply(_ record: Record, in zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws {
        guard let name = record.recordName else { return }
        if record.isDeleted {
            try applyDelete(of: name, in: zone, at: now, &summary)
        } else {
            try applyVersion(record, named: name, in: zone, at: now, &summary)
        }
    }

    private func applyVersion(
        _ record: Record,
        named name: String,
        in zone: ZoneRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        if let table = record.recordType.flatMap({ file.tables[$0] }),
            try addIfUnknown(record, named: name, into: table, in: zone)
        {
            summary.fetched += 1
            return
        }
        let created = record.created?.milliseconds
        if let tombstone = try db.row(
            "SELECT created, record FROM mist_tombstone WHERE zone = ? AND name = ?",
            [zone.id, name]
        ) {
            let ours: Int64? = tombstone["created"]
            if try ours == nil ? isCreatedHere(record) : ours == created || created == nil {
                // The same life: the delete wins. It is sent with the tag of the version that was just seen.
                try db.run(
                    """
                    UPDATE mist_tombstone SET tag = ?, created = ?, epoch = ?, is_conflicting = 0
                    WHERE zone = ? AND name = ?
                    """,
                    [record.recordChangeTag, created, zone.epoch, zone.id, name]
                )
                try forgetSent(named: name, in: zone.id)
                return
            }
            try db.run("DELETE FROM mist_tombstone WHERE zone = ? AND name = ?", [zone.id, name])
        }
        var known = try KnownVersion.fetch(named: name, in: zone.id, db)
        // The known version is of another life, so its row may be in the table of another type.
        if let version = known, version.tag != nil, let old = version.created, let created, old != created {
            if let table = file.tablesByID[version.type] {
                try endLife(of: version, table, .replaced, at: now, &summary)
            }
            known = nil
        }
        guard let table = record.recordType.flatMap({ file.tables[$0] }) else {
            return try keepForeign(record, named: name, in: zone)
        }
        if let version = known, let tag = version.tag {
            try db.run("UPDATE mist_record SET epoch = ? WHERE id = ?", [zone.epoch, version.id])
            if tag == record.recordChangeTag {
                try db.run("UPDATE mist_record SET is_conflicting = 0 WHERE id = ?", [version.id])
                return
            }
            // An older copy, delivered late.
            if let seen = version.modified, let modified = record.modified?.milliseconds, modified < seen { return }
        }
        try merge(record, named: name, known, into: table, in: zone, at: now, &summary)
    }

    /// Whether this device may have created a record. Without edit times, any device may have.
    private func isCreatedHere(_ record: CloudKitModel.Record) throws -> Bool {
        guard case .bytes(let data)? = record.fields[EditTimes.fieldName]?.plain, let times = EditTimes(data) else {
            return true
        }
        return try times.creation.map { try devices().contains($0.device) } ?? false
    }

    /// Merges a version into the row of its name, or adds a row.
    private func merge(
        _ record: Record,
        named name: String,
        _ known: KnownVersion?,
        into table: RecordTable,
        in zone: ZoneRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        let row = try table.row(named: name, in: zone.id, db)
        var counters = CounterHistory(
            known: known?.times ?? EditTimes(),
            writes: known?.writes ?? [],
            devices: try devices()
        )
        var (remote, parts) = try remoteVersion(record, table, zone)
        hear(remote.times, ofVersion: remote.modified)
        if row != nil { try noticeCopies(of: table, counters, in: remote.times, at: now) }
        var pending: [String: PendingEdit] = [:]
        var raws: [String: Int64] = [:]
        /// Edits whose value no field can have. There is nothing to merge: they stay as they are, and wait.
        var misfits: [String: EditRow] = [:]
        if let row {
            (pending, raws) = try pendingEdits(of: row, table)
            misfits = try misfitEdits(of: row, table)
        }
        readFormerFields(of: table, in: &remote, &parts, row, pending, known)
        let modified = record.modified?.milliseconds ?? 0
        let rules = rules(of: table)
        var isOwnWrite = false
        if let row, !pending.isEmpty, let sent = try uncertainWrite(of: row, table, in: zone) {
            counters.isUncertain = true
            isOwnWrite = sent.isSame(as: remote, ignoresEditTimes: rules.ignoresEditTimes)
            // Without edit times, only an equal value shows that this device wrote it.
            for (field, value) in sent.values where rules.ignoresEditTimes && value.isSame(as: remote.fields[field]) {
                pending[field]?.base = value
            }
        }
        guard let row, !pending.isEmpty || !misfits.isEmpty else {
            let fields = Dictionary(uniqueKeysWithValues: table.fields.map { ($0.name, remote.fields[$0.name]) })
            let pairs = try table.pairs(of: fields, in: zone.zoneID)
            let id: Int64
            if let row {
                id = row.id
                try table.update(id, pairs, at: nil, db)
                try clearEdits(of: row.id, table)
            } else {
                id = try table.insert(pairs, named: name, in: zone.id, at: modified, db)
            }
            try store(record, parts, in: table, row: id, zone: zone)
            try noteFit(of: remote.fields, row: id, table)
            summary.fetched += 1
            return
        }
        let nowTime = EditTime(milliseconds: try serviceTime(now), device: try device())
        let result: MergeResult
        do {
            result = try MergeResult(
                edits: pending,
                counters: counters,
                remote: remote,
                rules: rules,
                now: nowTime
            )
        } catch {
            try park(
                name,
                in: zone.id,
                reason: "merge",
                message: "The merge closure of \(table.recordType) failed: \(error)",
                until: nil,
                since: now
            )
            // The version is known. Another lookup would bring the same failure.
            try db.run("UPDATE mist_record SET is_conflicting = 0 WHERE zone = ? AND name = ?", [zone.id, name])
            summary.parked += 1
            return
        }
        if isOwnWrite { summary.sent += 1 } else { summary.merged += 1 }
        let losses: [(LossReason, [String: FieldValue?])] = [
            (.laterEdit, result.lost), (.policy, result.putBack), (.unclearCount, result.unclear),
        ]
        for (reason, values) in losses where !values.isEmpty {
            try log(reason, values, of: table.recordType, name, in: zone, at: now)
        }
        if losses.contains(where: { !$1.isEmpty }) { summary.lost += 1 }
        var fields: [String: FieldValue?] = [:]
        for field in table.fields where misfits[field.name] == nil { fields[field.name] = result.fields[field.name] }
        try table.update(row.id, try table.pairs(of: fields, in: zone.zoneID), at: nil, db)
        try clearEdits(of: row.id, table)
        func keep(_ name: String, time: Int64, raw: Int64, base: FieldValue?) throws {
            guard let field = table[name] else { return }
            let statement = try db.cachedStatement(
                sql: "INSERT INTO mist_edit (type, row, field, time, raw, base) VALUES (?, ?, ?, ?, ?, ?)"
            )
            try statement.bind([
                .integer(table.id), .integer(row.id), .integer(field.id), .integer(time), .integer(raw),
                try ColumnPair(base, of: field, in: zone.zoneID).value,
            ])
            try statement.execute()
        }
        for (name, edit) in result.remaining {
            try keep(name, time: edit.time.milliseconds, raw: raws[name] ?? now, base: edit.base)
        }
        for (name, edit) in misfits { try keep(name, time: edit.time, raw: edit.raw, base: remote.fields[name]) }
        try noteFit(of: fields.compactMapValues(\.self), row: row.id, table)
        try store(record, parts, in: table, row: row.id, zone: zone)
        // A change that was refused with the old version gets a new attempt.
        try db.run("DELETE FROM mist_parked WHERE zone = ? AND name = ?", [zone.id, name])
    }

    /// The values that this device has sent of a record, in a request whose reply was lost.
    private struct UncertainWrite {
        let times: EditTimes?
        /// The values of the fields that were sent.
        let values: [String: FieldValue?]

        /// Whether a version is this write: it has the values that were sent, and their edit times.
        func isSame(as version: RemoteVersion, ignoresEditTimes: Bool) -> Bool {
            guard values.allSatisfy({ $1.isSame(as: version.fields[$0]) }) else { return false }
            return ignoresEditTimes || times == version.times
        }
    }

    private func uncertainWrite(of row: LocalRow, _ table: RecordTable, in zone: ZoneRow) throws -> UncertainWrite? {
        guard
            let sent = try db.row(
                "SELECT record, times, operation FROM mist_sent WHERE zone = ? AND name = ? AND is_uncertain = 1",
                [zone.id, row.name]
            )
        else { return nil }
        let (times, operation): (Data?, String) = (sent["times"], sent["operation"])
        var values: [String: FieldValue?] = [:]
        if operation == "create" {
            // The base of a later edit is the value that was sent.
            values = Dictionary(uniqueKeysWithValues: table.fields.map { ($0.name, row.fields[$0.name]) })
            for edit in try edits(of: row, table) {
                if let field = edit.field { values[field.name] = .some(edit.base) }
            }
        }
        let statement = try db.cachedStatement(sql: "SELECT field, value FROM mist_sent_field WHERE record = ?")
        try statement.bind([.integer(sent["record"])])
        let cursor = try Row.fetchCursor(statement)
        while let found = try cursor.next() {
            let number: Int64 = found[0]
            guard let field = table.fields.first(where: { $0.id == number }) else { continue }
            let value = ColumnValue(sqliteStatement: statement.sqliteStatement, index: 1)
            values[field.name] = .some(field.serviceValue(value))
        }
        return UncertainWrite(times: times.flatMap { EditTimes($0) }, values: values)
    }

    /// Reads a renamed field under its former name, where that value counts.
    ///
    /// The service's value under the present name is then kept among the fields without a column, because the record's
    /// edit times are still about that value.
    private func readFormerFields(
        of table: RecordTable,
        in remote: inout RemoteVersion,
        _ other: inout [String: FieldValue],
        _ row: LocalRow?,
        _ pending: [String: PendingEdit],
        _ known: KnownVersion?
    ) {
        for former in table.fields {
            guard let field = table.fields.first(where: { $0.id == former.successor }) else { continue }
            func version(_ field: StoredField) -> FormerField {
                let value = remote.fields[field.name]
                let own = pending[field.name].map(\.base) ?? row?.fields[field.name]
                let before = known?.other[field.name] ?? own
                return FormerField(
                    value: value,
                    noted: remote.times.time(of: field.name, value)?.clamped(toVersionOf: remote.modified),
                    isChanged: row != nil && !before.isSame(as: value)
                )
            }
            let (old, current) = (version(former), version(field))
            guard FormerField.counts(old, over: current, modified: remote.modified) else { continue }
            other[field.name] = current.value ?? .null
            remote.fields[field.name] = old.value
            let time = old.noted ?? EditTime(milliseconds: remote.modified, device: 0)
            remote.times.set(time, of: field.name, old.value)
        }
    }

    func rules(of table: RecordTable) -> MergeRules {
        var rules = MergeRules(closures: settings.closures[table.recordType] ?? [:])
        for field in table.fields where field.schema.merge != .latest {
            rules.policies[field.name] = field.schema.merge
        }
        rules.ignoresEditTimes = settings.typesWithoutEditTimes.contains(table.recordType)
        return rules
    }

    /// The record's fields and times, and its fields that have no column.
    private func remoteVersion(
        _ record: Record,
        _ table: RecordTable,
        _ zone: ZoneRow
    ) throws -> (RemoteVersion, other: [String: FieldValue]) {
        var fields: [String: FieldValue] = [:]
        var other: [String: FieldValue] = [:]
        var times = EditTimes()
        for (name, value) in record.fields where !value.isNull {
            if name == EditTimes.fieldName, case .bytes(let data) = value.plain {
                times = EditTimes(data) ?? EditTimes()
            } else if let field = table[name], (try? ColumnPair(value, of: field, in: zone.zoneID)) != nil {
                fields[name] = value.plain
            } else {
                other[name] = value
            }
        }
        let modified = record.modified?.milliseconds ?? 0
        return (RemoteVersion(fields: fields, times: times, modified: modified), other)
    }

    /// The edited fields of a row, with their present values. An insert is an edit of all fields that have a value.
    private func pendingEdits(of row: LocalRow, _ table: RecordTable) throws -> (
        [String: PendingEdit], raws: [String: Int64]
    ) {
        var pending: [String: PendingEdit] = [:]
        var raws: [String: Int64] = [:]
        let device = try device()
        let edits = try edits(of: row, table)
        let isNew = edits.contains { $0.field == nil }
        if let insert = edits.first(where: { $0.field == nil }) {
            let time = EditTime(milliseconds: insert.time, device: device)
            for (name, value) in row.fields {
                pending[name] = PendingEdit(value: value, base: nil, time: time)
                raws[name] = insert.raw
            }
        }
        for edit in edits {
            guard let field = edit.field, row.misfits[field.name] == nil else { continue }
            pending[field.name] = PendingEdit(
                value: row.fields[field.name],
                // The service has no value of a record that was never acknowledged.
                base: isNew ? nil : edit.base,
                time: EditTime(milliseconds: edit.time, device: device)
            )
            raws[field.name] = edit.raw
        }
        return (pending, raws)
    }

    /// The edits of a row whose value no field can have, by the names of the fields. An insert is an edit of all of
    /// them.
    private func misfitEdits(of row: LocalRow, _ table: RecordTable) throws -> [String: EditRow] {
        guard !row.misfits.isEmpty else { return [:] }
        let edits = try edits(of: row, table)
        let insert = edits.first { $0.field == nil }
        var found: [String: EditRow] = [:]
        for name in row.misfits.keys { found[name] = edits.first { $0.field?.name == name } ?? insert }
        return found
    }

    /// Forgets the edits of a row, except for those of fields that only a newer program knows.
    func clearEdits(of row: Int64, _ table: RecordTable) throws {
        try noteUnknownFields(of: row, table)
        try db.run(
            "DELETE FROM mist_edit WHERE type = ? AND row = ? AND field <= ?",
            [table.id, row, file.lastFieldID]
        )
    }

    /// Adds edits for fields that a newer program has added to the file since this program opened it. An insert is an
    /// edit of each of these fields, too; the edit stays until the newer program sends it.
    func noteUnknownFields(of row: Int64, _ table: RecordTable) throws {
        guard let last = try db.value("SELECT max(id) FROM mist_field", as: Int64.self), last > file.lastFieldID else {
            return
        }
        try db.run(
            """
            INSERT INTO mist_edit (type, row, field, time, raw, base)
                SELECT edit.type, edit.row, field.id, edit.time, edit.raw, NULL
                FROM mist_edit AS edit JOIN mist_field AS field ON field.type = edit.type AND field.id > ?3
                WHERE edit.type = ?1 AND edit.row = ?2 AND edit.field = 0
                ON CONFLICT (type, row, field) DO NOTHING
            """,
            [table.id, row, file.lastFieldID]
        )
    }

    /// Takes note of the times of a version: later edits of this device have times after them.
    func hear(_ times: EditTimes, ofVersion modified: Int64) {
        let clamped = Set(times.times.values).map { ($0, $0.clamped(toVersionOf: modified)) }
        memory.clampedTimes += clamped.count { $0 != $1 }
        let latest = clamped.map(\.1.milliseconds).max()
        memory.heard = max(memory.heard ?? .min, max(latest ?? 0, modified) + 1)
    }

    /// Writes the values that the transaction has kept in memory until its end.
    func writeMemory() throws {
        guard let heard = memory.heard else { return }
        try db.run("UPDATE mist_state SET heard = max(heard, ?)", [heard])
    }

    /// Stores the service's version of a record, and its system fields in the row. The outcome of what was sent is
    /// known then.
    private func store(
        _ record: Record,
        _ other: [String: FieldValue],
        in table: RecordTable,
        row: Int64,
        zone: ZoneRow
    ) throws {
        let stamps = try stamps(of: record)
        var times: Data?
        if case .bytes(let data)? = record.fields[EditTimes.fieldName]?.plain { times = data }
        let name = record.recordName ?? ""
        try storeVersion(of: record, named: name, stamps, times: times, other, in: table, row: row, zone: zone)
        try set(stamps, ofRow: row, table)
        try forgetSent(named: name, in: zone.id)
    }

    /// Writes the service's version of a record into `mist_record`.
    func storeVersion(
        of record: Record,
        named name: String,
        _ stamps: Stamps,
        times: Data?,
        _ other: [String: FieldValue],
        in table: RecordTable,
        row: Int64,
        zone: ZoneRow
    ) throws {
        try db.run(
            """
            INSERT INTO mist_record
                (type, zone, name, row, tag, created, creator, modified, modifier, parent, share, times, other, epoch)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (zone, name) DO UPDATE SET
                type = excluded.type, row = excluded.row, tag = excluded.tag, created = excluded.created,
                creator = excluded.creator, modified = excluded.modified, modifier = excluded.modifier,
                parent = excluded.parent, share = excluded.share, times = excluded.times, other = excluded.other,
                epoch = excluded.epoch, is_conflicting = 0
            """,
            binding: [
                .integer(table.id), .integer(zone.id), .text(name), .integer(row), ColumnValue(stamps.tag),
                ColumnValue(stamps.created), ColumnValue(stamps.creator), ColumnValue(stamps.modified),
                ColumnValue(stamps.modifier), ColumnValue(record.parent?.recordName),
                ColumnValue(record.share?.recordName), times.map { .blob($0) } ?? .null,
                ColumnValue(try OtherFields.text(other)), .integer(zone.epoch),
            ]
        )
    }

    /// The system fields of a version, in the form of the tables: its tag, its times and the numbers of its users.
    struct Stamps {
        let tag: String?
        let created: Int64?
        let creator: Int64?
        let modified: Int64?
        let modifier: Int64?
    }

    func stamps(of record: Record) throws -> Stamps {
        Stamps(
            tag: record.recordChangeTag,
            created: record.created?.milliseconds,
            creator: try user(record.created?.userRecordName),
            modified: record.modified?.milliseconds,
            modifier: try user(record.modified?.userRecordName)
        )
    }

    func set(_ stamps: Stamps, ofRow row: Int64, _ table: RecordTable) throws {
        try db.run(
            """
            UPDATE \(table.name) SET
                _createdTimestamp = ?, _createdUser = ?, _modifiedTimestamp = ?, _modifiedUser = ?, _changeTag = ?
            WHERE _id = ?
            """,
            [stamps.created, stamps.creator, stamps.modified, stamps.modifier, stamps.tag, row]
        )
    }

    private func user(_ name: String?) throws -> Int64? {
        guard let name else { return nil }
        if let id = memory.users[name] { return id }
        var id = try db.value("SELECT id FROM mist_user WHERE name = ?", [name], as: Int64.self)
        if id == nil {
            try db.run("INSERT INTO mist_user (name) VALUES (?)", [name])
            id = db.lastInsertedRowID
        }
        memory.users[name] = id
        return id
    }

    /// Forgets what was sent, because its outcome is known: of one record, or of all records in a zone.
    func forgetSent(named name: String? = nil, in zone: Int64) throws {
        let condition = "zone = ?1 AND (?2 IS NULL OR name = ?2)"
        try db.run(
            "DELETE FROM mist_sent_field WHERE record IN (SELECT record FROM mist_sent WHERE \(condition))",
            [zone, name]
        )
        try db.run("DELETE FROM mist_sent WHERE \(condition)", [zone, name])
    }

    /// Forgets what was sent of a record, because its outcome is known.
    func forgetSent(record: Int64) throws {
        try db.run("DELETE FROM mist_sent_field WHERE record = ?", [record])
        try db.run("DELETE FROM mist_sent WHERE record = ?", [record])
    }

    /// Keeps the whole JSON of a record whose type the program does not know.
    private func keepForeign(_ record: Record, named name: String, in zone: ZoneRow) throws {
        try db.run(
            "INSERT OR REPLACE INTO mist_foreign (zone, name, type, record, epoch) VALUES (?, ?, ?, ?, ?)",
            [
                zone.id, name, record.recordType ?? "",
                String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self), zone.epoch,
            ]
        )
    }

    /// Makes rows of the records that were kept for a type that the program knows now.
    func adoptForeign(at now: Int64, _ summary: inout SyncSummary) throws {
        for type in file.tables.keys.sorted() {
            let kept = try db.rows(
                """
                SELECT zone, mist_foreign.name AS name, record FROM mist_foreign JOIN mist_zone ON mist_zone.id = zone
                WHERE type = ? AND scope = ?
                """,
                [type, scope.number]
            )
            for row in kept {
                guard let zone = try ZoneRow.fetch(row["zone"], db) else { continue }
                let record = try JSONReader.read(Record.self, from: row["record"] as String)
                try apply(record, in: zone, at: now, &summary)
                try db.run("DELETE FROM mist_foreign WHERE zone = ? AND name = ?", [zone.id, row["name"] as String])
            }
        }
    }
}

// MARK: - Deletes

/// The reason why values are in the recovery log.
public enum LossReason: String, Hashable, Sendable {
    /// A later edit of the same field won.
    case laterEdit
    /// The record was deleted on another device.
    case deleted
    /// The record was deleted, and another record with the same name was created.
    case replaced
    /// The parent of the record was deleted, or a record that it refers to with the action `deleteSelf`.
    case deletedWithTarget
    /// The zone was deleted.
    case zoneDeleted
    /// The value of a counter, of which the store cannot tell whether the service's value contains it: the reply to the
    /// request was lost, and then another copy of the file has counted, or many other devices. It was not added again.
    case unclearCount
    /// The policy of the field put another value back: a field that is the greatest value was lowered, or elements were
    /// removed from a list that only grows.
    case policy
}

extension SyncEngine.Transaction {
    /// Applies a delete that the service reports: of another device, or this device's own.
    func applyDelete(of name: String, in zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws {
        try db.run("DELETE FROM mist_foreign WHERE zone = ? AND name = ?", [zone.id, name])
        // A delete of this device whose reply was lost. It counts as done, even if another device has deleted the
        // record as well.
        let isOwnDelete = try db.value(
            """
            SELECT EXISTS (
                SELECT 1 FROM mist_sent WHERE zone = ? AND name = ? AND operation = 'delete' AND is_uncertain = 1
            )
            """,
            [zone.id, name],
            as: Bool.self
        )
        if isOwnDelete == true { summary.deleted += 1 }
        try db.run("DELETE FROM mist_tombstone WHERE zone = ? AND name = ?", [zone.id, name])
        try forgetSent(named: name, in: zone.id)
        // Without a known version, a row of the name is a record that was never sent. It is of another life, and stays.
        guard let known = try KnownVersion.fetch(named: name, in: zone.id, db) else { return }
        // A record whose create has an unknown outcome stays, too, where the delete is this device's own, of the life
        // before.
        if known.tag == nil, try isDeletedHere(of: name, in: zone.id) { return }
        guard let table = file.tablesByID[known.type] else {
            try db.run("DELETE FROM mist_record WHERE id = ?", [known.id])
            return
        }
        try endLife(of: known, table, .deleted, at: now, &summary)
        summary.removed += 1
        if scope == .public {
            try cascadeDelete(from: name, in: zone, at: now, &summary)
        } else if try hasDependents(name, in: zone) {
            // Records that refer to it here may refer to another record at the service. That is known after the zone
            // has been read to its end.
            try db.run(
                "INSERT INTO mist_deleted (zone, name, is_own) VALUES (?, ?, 0) ON CONFLICT (zone, name) DO NOTHING",
                [zone.id, name]
            )
            try db.run("UPDATE mist_zone SET is_stale = 1 WHERE id = ?", [zone.id])
        }
    }

    /// Whether this device has deleted a record of the name since the zone was read, and the service has acknowledged
    /// it.
    func isDeletedHere(of name: String, in zone: Int64) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_deleted WHERE zone = ? AND name = ? AND is_own = 1)",
            [zone, name],
            as: Bool.self
        ) ?? false
    }

    /// The rows that are removed with a record.
    private func dependents(of name: String, in zone: ZoneRow, _ table: RecordTable) throws -> [LocalRow] {
        try table.fields.filter { $0.type == .reference }.flatMap { field in
            try table.rows(
                "\(field.column) = ? AND _zone = ?\(field.bindingCondition)",
                [.text(name), .integer(zone.id)],
                db
            )
        }
    }

    private func hasDependents(_ name: String, in zone: ZoneRow) throws -> Bool {
        try file.allTables.contains { try !dependents(of: name, in: zone, $0).isEmpty }
    }

    /// Removes the rows that go with records that were deleted elsewhere, after the zone has been read to its end.
    func completeDeletes(in zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws {
        // An error may stand for the delete of a record that was not delivered.
        try db.run(
            """
            DELETE FROM mist_deleted WHERE zone = ?1 AND is_own = 1
                AND name NOT IN (SELECT name FROM mist_undelivered WHERE zone = ?1)
            """,
            [zone.id]
        )
        // A record that the service could not deliver may refer to another record at the service.
        guard try !lacksRecords(of: zone) else { return }
        let deleted = try db.rows("SELECT name FROM mist_deleted WHERE zone = ? AND is_own = 0", [zone.id])
        try db.run("DELETE FROM mist_deleted WHERE zone = ?", [zone.id])
        for row in deleted {
            let name: String = row["name"]
            // If there is a new record of the name, the records that refer to it stay.
            let isBack = try file.allTables.contains { try $0.row(named: name, in: zone.id, db) != nil }
            if !isBack { try cascadeDelete(from: name, in: zone, at: now, &summary) }
        }
    }

    /// Removes a record whose life has ended; its edits go to the recovery log.
    func endLife(
        of known: KnownVersion,
        _ table: RecordTable,
        _ reason: LossReason,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        if let row = try table.row(id: known.row, db), let zone = try ZoneRow.fetch(known.zone, db) {
            try logEdits(of: row, table, reason, in: zone, at: now, &summary)
            try clearEdits(of: row.id, table)
            try table.delete(row.id, db)
        }
        try forgetSent(named: known.name, in: known.zone)
        try db.run("DELETE FROM mist_record WHERE id = ?", [known.id])
        try db.run("DELETE FROM mist_parked WHERE zone = ? AND name = ?", [known.zone, known.name])
    }

    /// Removes the rows that go with a record that was deleted elsewhere. A row that the service has gets a tombstone,
    /// so the delete is sent unless the service has carried it out itself.
    private func cascadeDelete(from name: String, in zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws
    {
        for table in file.allTables {
            for row in try dependents(of: name, in: zone, table) {
                try logEdits(of: row, table, .deletedWithTarget, in: zone, at: now, &summary)
            }
        }
        try Cascades(file: file, db: db).run(from: name, in: zone.id)
        while let row = try db.row("SELECT name FROM mist_cascade WHERE zone = ? LIMIT 1", [zone.id]) {
            let next: String = row["name"]
            try db.run("DELETE FROM mist_cascade WHERE zone = ? AND name = ?", [zone.id, next])
            try cascadeDelete(from: next, in: zone, at: now, &summary)
        }
    }

    private func logEdits(
        of row: LocalRow,
        _ table: RecordTable,
        _ reason: LossReason,
        in zone: ZoneRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        let (pending, _) = try pendingEdits(of: row, table)
        guard try !pending.isEmpty || !misfitEdits(of: row, table).isEmpty else { return }
        // The whole row, so that the record can be restored as it was.
        var fields = row.fields.mapValues { Optional($0) }.merging(pending.mapValues(\.value)) { $1 }
        for (name, misfit) in row.misfits { fields[name] = .string(misfit.value.receipt) }
        try log(reason, fields, of: table.recordType, row.name, in: zone, at: now)
        summary.lost += 1
    }

    /// Completes the cascades that the triggers began.
    func completeCascades(at now: Int64) throws {
        guard try db.value("SELECT EXISTS (SELECT 1 FROM mist_cascade)", as: Bool.self) == true else { return }
        try Cascades(file: file, db: db).complete()
    }
}

// MARK: - Zones

extension SyncEngine.Transaction {
    /// Removes the rows of a zone that was seen before and is gone. The edits in it go into the recovery log.
    func zoneIsGone(_ zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws {
        for table in file.allTables {
            for row in try table.rows("_zone = ?", [.integer(zone.id)], db) {
                try logEdits(of: row, table, .zoneDeleted, in: zone, at: now, &summary)
                try clearEdits(of: row.id, table)
                try table.delete(row.id, db)
                summary.removed += 1
            }
        }
        try forgetSent(in: zone.id)
        for table in [
            "mist_record", "mist_tombstone", "mist_parked", "mist_foreign", "mist_deleted", "mist_undelivered",
        ] {
            try db.run("DELETE FROM \(table) WHERE zone = ?", [zone.id])
        }
        try db.run(
            """
            UPDATE mist_zone SET state = 2, token = NULL, is_stale = 0, is_uncertain = 0, is_refetching = 0, rests_until = 0,
                failures = 0, failure = NULL
            WHERE id = ?
            """,
            [zone.id]
        )
    }

    /// Removes the rows that a full refetch did not meet: their records were deleted meanwhile.
    func sweep(_ zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws {
        let missing = try db.rows(
            "SELECT name FROM mist_record WHERE zone = ? AND epoch <> ? AND tag IS NOT NULL",
            [zone.id, zone.epoch]
        )
        for row in missing { try applyDelete(of: row["name"], in: zone, at: now, &summary) }
        try db.run("DELETE FROM mist_foreign WHERE zone = ? AND epoch <> ?", [zone.id, zone.epoch])
        let tombstones = try db.rows(
            "SELECT name FROM mist_tombstone WHERE zone = ? AND epoch <> ?",
            [zone.id, zone.epoch]
        )
        for row in tombstones {
            try db.run("DELETE FROM mist_tombstone WHERE zone = ? AND name = ?", [zone.id, row["name"] as String])
        }
        try db.run("UPDATE mist_zone SET is_refetching = 0 WHERE id = ?", [zone.id])
    }
}

// MARK: - The recovery log and what is parked

extension SyncEngine.Transaction {
    /// Writes values that lost into the recovery log. A field that was cleared is written as a null.
    func log(
        _ reason: LossReason,
        _ fields: [String: FieldValue?],
        of type: String,
        _ name: String,
        in zone: ZoneRow,
        at now: Int64
    ) throws {
        let text = try OtherFields.text(fields.mapValues { $0 ?? .null }) ?? "{}"
        try db.run(
            """
            INSERT INTO mist_recovery (time, scope, zone, owner, type, name, reason, fields, size)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                now, scope.number, zone.zoneID.zoneName, zone.zoneID.owner ?? "", type, name, reason.rawValue, text,
                text.utf8.count,
            ]
        )
    }

    /// Parks a record: it is not sent again for now.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - zone: Its zone.
    ///   - reason: The code of the failure.
    ///   - message: The service's message.
    ///   - until: When the record is sent again without an edit, in milliseconds since 1970; `nil` for never.
    ///   - since: When the refused values were read from the tables. A later edit is a new attempt, also an edit that
    ///     was made while the request was under way.
    /// - Throws: A `DatabaseError` when the file fails.
    func park(_ name: String, in zone: Int64, reason: String, message: String, until: Int64?, since: Int64) throws {
        try db.run(
            """
            INSERT INTO mist_parked (zone, name, reason, message, since, until, attempts) VALUES (?, ?, ?, ?, ?, ?, 1)
            ON CONFLICT (zone, name) DO UPDATE SET
                reason = excluded.reason, message = excluded.message, since = excluded.since, until = excluded.until,
                attempts = attempts + 1
            """,
            [zone, name, reason, message, since, until]
        )
    }

    /// Lets records whose values no field can have be read again for the next push: the program's types may have changed,
    /// and an edit that repairs a value counts as older than the parking where the clock was ahead.
    func checkParkedValuesAgain() throws {
        try db.run(
            "DELETE FROM mist_parked WHERE reason = 'value' AND zone IN (SELECT id FROM mist_zone WHERE scope = ?)",
            [scope.number]
        )
    }
}

extension RecordTable {
    /// Values of the service in the form of columns. A field whose value is `nil` becomes null; a field without an
    /// entry is left out.
    fileprivate func pairs(of fields: [String: FieldValue?], in zone: ZoneID) throws -> [String: ColumnPair] {
        var pairs: [String: ColumnPair] = [:]
        for field in self.fields {
            guard let value = fields[field.name] else { continue }
            pairs[field.name] = try ColumnPair(value, of: field, in: zone)
        }
        return pairs
    }
}

extension CloudKitModel.Record.Stamp {
    /// The latest time that counts, 285,000 years from 1970: sums of times stay far from the limits of 64 bits.
    private static let limit: Int64 = 1 << 53

    /// Whole milliseconds since 1970; `nil` for a time that makes no sense.
    var milliseconds: Int64? {
        Int64(exactly: (timestamp.timeIntervalSince1970 * 1000).rounded())
            .flatMap { $0.magnitude <= Self.limit ? $0 : nil }
    }
}

extension Date {
    /// Whole milliseconds since 1970, of a clock.
    var milliseconds: Int64 { CloudKitModel.Record.Stamp(timestamp: self).milliseconds ?? 0 }
}

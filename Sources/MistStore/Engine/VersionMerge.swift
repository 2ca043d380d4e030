import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Merges a version of the service into the row of its name, or adds a row.
struct VersionMerge: EngineProcedure {
    let transaction: EngineTransaction
    let record: Record
    let name: String
    /// The version that was here before; `nil` for another life, and for a record that was never sent.
    let known: KnownVersion?
    let table: RecordTable
    let zone: StoredZone
    /// The row of a record that was moved here to another zone, and whose copy was never sent.
    var movedRow: LocalRow?

    func apply() throws {
        let row = try movedRow ?? table.row(named: name, in: zone.id, db)
        var former: (version: KnownVersion, values: RemoteVersion)?
        if let row, let version = try formerVersion(of: row) {
            former = (version, try movedRecords.values(of: row, version, table))
        }
        try applyVersion(to: row, editedSince: former?.version ?? known)
        if let former, let row {
            try movedRecords.absorb(former.values, into: row, table, .all)
            try movedRecords.keepMove(of: row, table, to: zone)
        }
    }

    /// The version in the former zone that the edits of a moved row were made on, where this version is the first one
    /// of its copy: another device may have moved the record to the same zone, with other values.
    private func formerVersion(of row: LocalRow) throws -> KnownVersion? {
        guard movedRow == nil, known?.tag == nil, let former = try movedRecords.former(of: row, table),
            former.tag != nil
        else { return nil }
        return former
    }

    private func applyVersion(to row: LocalRow?, editedSince base: KnownVersion?) throws {
        var counters = CounterHistory(
            known: base?.times ?? EditTimes(),
            writes: known?.writes ?? [],
            devices: try fileState.devices
        )
        var version = IncomingVersion(record, of: table, in: zone)
        noteTimes(version.remote.times, ofVersion: ServiceTime(version.remote.modified))
        if let row { try noticeCopies(of: row, table, counters, in: version.remote.times) }
        var local = try row.map { try localEdits(of: $0, table) } ?? LocalEdits()
        version.readFormerFields(of: table, row, local, known)
        if let row, known?.isDistrusted == true { try saveReplacedValues(of: row, local, version) }
        let rules = rules(of: table)
        var isOwnWrite = false
        if let row, !local.fields.isEmpty, let sent = try uncertainWrite(of: row) {
            counters.isUncertain = true
            isOwnWrite = sent.isSame(as: version.remote, ignoresEditTimes: rules.ignoresEditTimes)
            // Without edit times, only an equal value shows that this device wrote it.
            for (field, value) in sent.values
            where rules.ignoresEditTimes && value.isSame(as: version.remote.fields[field]) {
                local.fields[field]?.base = value
            }
        }
        guard let row, !local.isEmpty else { return try take(version, row) }
        let result: MergeResult
        do {
            result = try merge(
                local.fields,
                into: version.remote,
                counters,
                rules,
                now: EditTime(try serviceTime, device: try fileState.device)
            )
        } catch {
            return try park(because: error)
        }
        if isOwnWrite { summary.sent += 1 } else { summary.merged += 1 }
        try write(result, local, version, row)
    }

    /// Takes a version over as it is, because this device has no edits of the record.
    private func take(_ version: IncomingVersion, _ row: LocalRow?) throws {
        let fields = Dictionary(uniqueKeysWithValues: table.fields.map { ($0.name, version.remote.fields[$0.name]) })
        let pairs = try table.pairs(of: fields, in: zone.zoneID)
        let id: RecordRowID
        if let row {
            id = row.id
            try table.update(id, pairs, at: nil, db)
            try forgetEdits(of: id, table)
        } else {
            id = try table.insert(pairs, named: name, in: zone.id, at: version.remote.modified, db)
        }
        try store(version, row: id)
        try noteFit(of: version.remote.fields, row: id, table)
        summary.fetched += 1
    }

    // MARK: Verifications

    /// Whether a row without edits has other values than its version: another program has changed it while the triggers
    /// of its table were missing.
    func hasOtherValues() throws -> Bool {
        guard let row = try table.row(named: name, in: zone.id, db) else { return false }
        var version = IncomingVersion(record, of: table, in: zone)
        let local = try localEdits(of: row, table)
        version.readFormerFields(of: table, row, local, known)
        return !unrecordedChanges(of: row, local, version).isEmpty
    }

    /// The fields whose values are neither edits nor those of a version. An asset is left out: its address changes.
    private func unrecordedChanges(of row: LocalRow, _ local: LocalEdits, _ version: IncomingVersion) -> [StoredField] {
        table.fields.filter { field in
            guard local.fields[field.name] == nil, local.misfits[field.name] == nil, field.successor == nil,
                field.knownType != .asset, field.knownType != .assetList
            else { return false }
            if row.misfits[field.name] != nil { return true }
            return !row.fields[field.name].isSame(as: version.remote.fields[field.name])
        }
    }

    /// Writes the whole row into the recovery log, where a version replaces values that are not edits.
    private func saveReplacedValues(of row: LocalRow, _ local: LocalEdits, _ version: IncomingVersion) throws {
        guard !unrecordedChanges(of: row, local, version).isEmpty else { return }
        try recovery.add(.verification, row.receipt(), of: table.recordType, name, in: zone, at: now)
    }

    /// Parks the record, because its merge closure failed.
    private func park(because error: any Error) throws {
        let message = "The merge closure of \(table.recordType) failed: \(error)"
        try parking.park(name, because: .merge, message, in: zone.id, since: now)
        // The version is known. Another lookup would bring the same failure.
        try knownVersions.endConflict(named: name, in: zone.id)
        summary.parked += 1
    }

    /// Writes the result of a merge into the row, and keeps the edits that are still to be sent.
    private func write(
        _ result: MergeResult,
        _ local: LocalEdits,
        _ version: IncomingVersion,
        _ row: LocalRow
    ) throws {
        let losses: [(LossReason, [String: FieldValue?])] = [
            (.laterEdit, result.lost), (.policy, result.putBack), (.unclearCount, result.unclear),
        ]
        for (reason, values) in losses where !values.isEmpty {
            try recovery.add(reason, values, of: table.recordType, name, in: zone, at: now)
        }
        if losses.contains(where: { !$1.isEmpty }) { summary.lost += 1 }
        var fields: [String: FieldValue?] = [:]
        for field in table.fields where local.misfits[field.name] == nil {
            fields[field.name] = result.fields[field.name]
        }
        try table.update(row.id, try table.pairs(of: fields, in: zone.zoneID), at: nil, db)
        try forgetEdits(of: row.id, table)
        for (name, edit) in result.remaining {
            if let inherited = edit.inherited, let field = table[name] {
                try inheritedCounts.insert(inherited, field.id, of: row.id, table.id)
            }
            for count in edit.carried {
                if let field = table[name] { try carriedCounts.add(count, field.id, of: row.id, table.id) }
            }
            let time = ServiceTime(edit.time.milliseconds)
            try keep(name, time: time, raw: local.raws[name] ?? now, base: edit.base, row)
        }
        for (name, edit) in local.misfits {
            try keep(name, time: edit.time, raw: edit.raw, base: version.remote.fields[name], row)
        }
        try noteFit(of: fields.compactMapValues(\.self), row: row.id, table)
        try store(version, row: row.id)
        // A change that was refused with the old version gets a new attempt.
        try parking.forget(name, in: zone.id)
    }

    /// Keeps an edit that is still to be sent.
    private func keep(
        _ name: String,
        time: ServiceTime,
        raw: MachineTime,
        base: FieldValue?,
        _ row: LocalRow
    ) throws {
        guard let field = table[name] else { return }
        let value = try ColumnPair(base, of: field, in: zone.zoneID).value
        try pendingEdits.insert(field, of: row.id, table, time: time, raw: raw, base: value)
    }

    /// Stores the service's version, and its system fields in the row. The outcome of what was sent is known then.
    private func store(_ version: IncomingVersion, row: RecordRowID) throws {
        let stamps = try Stamps(of: record, users)
        try knownVersions.store(
            record,
            named: name,
            stamps,
            times: version.timesBytes,
            other: version.other,
            in: table,
            row: row,
            zone: zone
        )
        try table.set(stamps, row, db)
        try keepWrites(after: version.remote.times)
        try sentOperations.forget(name, in: zone.id)
    }

    /// Keeps the parts of counters that this file has sent to another zone, where this version is the first one of a
    /// copy: the device that made the copy may find them there, and carry them over.
    private func keepWrites(after times: EditTimes) throws {
        guard table.hasCounters, let known, known.zone != zone.id,
            let stored = try knownVersions.fetch(named: name, in: zone.id)
        else { return }
        var written = EditTimes()
        written.parts = CounterParts.writes(known.writes, adding: EditTimes(), to: times)
        if !written.parts.isEmpty { try knownVersions.setWritten(written, stored.id, named: name) }
    }

    private func rules(of table: RecordTable) -> MergeRules {
        var rules = MergeRules(closures: configuration.closures[table.recordType] ?? [:])
        for field in table.fields where field.schema.merge != .latest {
            rules.policies[field.name] = field.schema.merge
        }
        rules.ignoresEditTimes = configuration.typesWithoutEditTimes.contains(table.recordType)
        return rules
    }
}

// MARK: - A write of unknown outcome

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

extension VersionMerge {
    private func uncertainWrite(of row: LocalRow) throws -> UncertainWrite? {
        guard let sent = try sentOperations.uncertain(row.name, in: zone.id) else { return nil }
        var values: [String: FieldValue?] = [:]
        if sent.kind == .create {
            // The base of a later edit is the value that was sent.
            values = Dictionary(uniqueKeysWithValues: table.fields.map { ($0.name, row.fields[$0.name]) })
            for edit in try pendingEdits.edits(of: row.id, table) {
                if let field = edit.field { values[field.name] = .some(edit.base) }
            }
        }
        values.merge(try sentOperations.values(of: sent.record, table)) { $1 }
        return UncertainWrite(times: sent.times.flatMap { EditTimes($0) }, values: values)
    }
}

// MARK: - The version of the service

/// A version of the service, with what of it has no column.
struct IncomingVersion {
    /// The fields that have a column, and the edit times.
    var remote: RemoteVersion
    /// The fields that have none.
    var other: [String: FieldValue] = [:]
    /// The bytes of `mist_edits`.
    let timesBytes: Data?

    init(_ record: Record, of table: RecordTable, in zone: StoredZone) {
        var fields: [String: FieldValue] = [:]
        var bytes: Data?
        for (name, value) in record.fields where !value.isNull {
            if name == EditTimes.fieldName, case .bytes(let data) = value.plain {
                bytes = data
            } else if let field = table[name], (try? ColumnPair(value, of: field, in: zone.zoneID)) != nil {
                fields[name] = value.plain
            } else {
                other[name] = value
            }
        }
        timesBytes = bytes
        let times = bytes.flatMap { EditTimes($0) } ?? EditTimes()
        remote = RemoteVersion(fields: fields, times: times, modified: record.modified?.milliseconds ?? 0)
    }

    /// Reads a renamed field under its former name, where that value counts.
    ///
    /// The service's value under the present name is then kept among the fields without a column, because the record's
    /// edit times are still about that value.
    mutating func readFormerFields(
        of table: RecordTable,
        _ row: LocalRow?,
        _ local: LocalEdits,
        _ known: KnownVersion?
    ) {
        for former in table.fields {
            guard let field = former.successor.flatMap(table.field) else { continue }
            func version(_ field: StoredField) -> FormerField {
                let value = remote.fields[field.name]
                let own = local.fields[field.name].map(\.base) ?? row?.fields[field.name]
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

    /// Sets the system fields of a row.
    func set(_ stamps: Stamps, _ row: RecordRowID, _ db: Database) throws {
        try db.run(
            """
            UPDATE \(name) SET
                _createdTimestamp = ?, _createdUser = ?, _modifiedTimestamp = ?, _modifiedUser = ?, _changeTag = ?
            WHERE _id = ?
            """,
            binding: [
                ColumnValue(stamps.created), ColumnValue(stamps.creator), ColumnValue(stamps.modified),
                ColumnValue(stamps.modifier), ColumnValue(stamps.tag), ColumnValue(row),
            ]
        )
    }
}

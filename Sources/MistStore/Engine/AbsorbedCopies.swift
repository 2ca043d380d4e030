import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

extension MovedRecords {
    /// What a row takes over from another copy of its record.
    enum Absorption {
        /// Values of later edits, and what all devices have added to counters.
        case all
        /// The same without what this device has added to counters: that is in the row, with what is pending.
        case allButOwnCounts
        /// What this device has added to counters. The device that made the copy takes over the rest.
        case ownCounts

        func takes(_ field: StoredField) -> Bool { self != .ownCounts || field.schema.merge == .counter }

        func takesCounts(ofThisDevice isOwn: Bool) -> Bool {
            switch self {
            case .all: true
            case .allButOwnCounts: !isOwn
            case .ownCounts: isOwn
            }
        }
    }

    /// Takes over what a version of another copy of a record has, and this row has not: values of later edits, and what
    /// was added to counters since.
    ///
    /// The parts of counters are carried over as they are, because several devices may take over the same one. A device
    /// counts on from its own latest part, so it takes over its own parts, too, before it writes another one.
    ///
    /// - Parameters:
    ///   - version: The version.
    ///   - row: The row.
    ///   - table: Its table.
    ///   - absorption: What is taken over.
    ///   - base: The edit times of an earlier version that was taken over: its parts of counters are in the row.
    ///   - pending: Edits of this device in the version that were not acknowledged.
    ///   - known: The version that the row's edits are made on, where the row is in another zone since.
    /// - Throws: A ``StoreError`` when the file fails.
    func absorb(
        _ version: RemoteVersion,
        into row: LocalRow,
        _ table: RecordTable,
        _ absorption: Absorption,
        since base: EditTimes = EditTimes(),
        pending: LocalEdits = LocalEdits(),
        over known: KnownVersion? = nil
    ) throws {
        guard let row = try table.row(id: row.id, db), let zone = try zones.fetch(row.zone) else { return }
        let edits = try pendingEdits.edits(of: row.id, table)
        let known = try known ?? knownVersions.fetch(named: row.name, in: row.zone)
        let copy = AbsorbedCopy(
            version: version,
            pending: pending.fields,
            absorption: absorption,
            base: base.adding(known?.times.parts ?? []),
            own: RemoteVersion(
                fields: row.fields,
                times: known?.times ?? EditTimes(),
                modified: known?.modified?.rawValue ?? 0
            ),
            carried: try carriedCounts.counts(of: row.id, table),
            device: try fileState.device,
            devices: try fileState.devices
        )
        var lost: [String: FieldValue?] = [:]
        for field in table.fields
        where field.successor == nil && row.misfits[field.name] == nil && absorption.takes(field) {
            let edit = edits.first { $0.field?.id == field.id }
            let change = copy.change(of: field, edit)
            if let value = change.lost { lost[field.name] = value }
            let present = row.fields[field.name]
            guard !change.value.isSame(as: present) || !change.counts.isEmpty else { continue }
            let before = try ColumnPair(present, of: field, in: zone.zoneID).value
            let pair = try ColumnPair(change.value?.withoutZones, of: field, in: zone.zoneID)
            try table.update(row.id, [field.name: pair], at: nil, db)
            let base = try edit.map { try ColumnPair($0.base, of: field, in: zone.zoneID).value } ?? before
            if edit != nil { try pendingEdits.forget(field.id, of: row.id, table.id) }
            try pendingEdits.insert(field, of: row.id, table, time: change.time, raw: now, base: base)
            for count in change.counts { try carriedCounts.add(count, field.id, of: row.id, table.id) }
        }
        if !lost.isEmpty { try recovery.add(.laterEdit, lost, of: table.recordType, row.name, in: zone, at: now) }
    }
}

/// Another copy of a record beside the row that takes over its changes: decides about each field.
private struct AbsorbedCopy {
    let version: RemoteVersion
    /// Edits of this device in the version that were not acknowledged.
    let pending: [String: PendingEdit]
    let absorption: MovedRecords.Absorption
    /// The edit times of the version that the row was made of, and of the one that was taken over before.
    let base: EditTimes
    /// The row, with the edit times of its version.
    let own: RemoteVersion
    /// What the row has taken over of counters, and not sent.
    let carried: [String: [CarriedCount]]
    let device: Int64
    let devices: Set<Int64>

    /// What a field takes over.
    struct Change {
        var value: FieldValue?
        /// The value that lost to another one; the inner `nil` is an absent value.
        var lost: FieldValue??
        var counts: [CarriedCount] = []
        /// The time of the edit that the row gets.
        var time: ServiceTime
    }

    func change(of field: StoredField, _ edit: EditRow?) -> Change {
        let name = field.name
        let (theirs, present) = (version.fields[name], own.fields[name])
        let time = pending[name]?.time ?? version.time(of: name)
        var change = Change(value: present, time: ServiceTime(max(time.milliseconds, edit?.time.rawValue ?? 0)))
        switch field.schema.merge {
        case .latest:
            let ownTime = edit.map { EditTime($0.time, device: device) } ?? own.time(of: name)
            if time > ownTime, !theirs.isSame(as: present) {
                if edit != nil { change.lost = .some(present) }
                change.value = theirs
            } else if pending[name] != nil, !theirs.isSame(as: present) {
                change.lost = .some(theirs)
            }
        case .counter:
            change.counts = counts(in: name)
            let uncounted = pending[name].map(CounterParts.ownChange) ?? 0
            let added = change.counts.map(\.amount).reduce(uncounted, &+)
            if added != 0 { change.value = .int64((present?.int64Value ?? 0) &+ added) }
            if !change.counts.isEmpty {
                // A version with the time of an edit contains it, and the row's one contains none of the counts.
                change.time = max(change.time, ServiceTime(own.time(of: name).milliseconds + 1))
            }
        case .greatest, .smallest, .union:
            change.value = join(present, theirs, by: field.schema.merge)
        }
        return change
    }

    private func counts(in name: String) -> [CarriedCount] {
        let base = base.adding((carried[name] ?? []).map(\.part))
        return CounterParts.added(to: name, version.times, since: base).filter { count in
            absorption.takesCounts(ofThisDevice: devices.contains(count.part.device))
        }
    }
}

extension FieldValue {
    /// The value without the zones of its references, which are those of the record that it comes from.
    fileprivate var withoutZones: FieldValue {
        func withoutZone(_ reference: Reference) -> Reference {
            Reference(recordName: reference.recordName, action: reference.action)
        }
        return switch plain {
        case .reference(let reference): .reference(withoutZone(reference))
        case .referenceList(let references): .referenceList(references.map(withoutZone))
        default: self
        }
    }
}

import CloudKitModel
import GRDB
import MistKit

/// Applies records of feeds, lookups and queries: the only way from the service into the tables.
///
/// A life of a name begins with a create and ends with a delete.
struct RemoteChanges: EngineProcedure {
    let transaction: EngineTransaction

    /// Applies a record. It looks for these cases, in this order: a delete; a name that the file has never met; a
    /// pending delete of the same life; another life; a type that the program does not know; a version that is known,
    /// or an older one. What remains is merged.
    func apply(_ record: Record, in zone: StoredZone) throws {
        guard let name = record.recordName else { return }
        if !record.isDeleted, try movedRecords.apply(record, ofFormer: name, in: zone) { return }
        if record.isDeleted { return try deletes.apply(of: name, in: zone) }
        guard let table = record.recordType.flatMap({ file.tables[$0] }) else {
            return try apply(record, named: name, nil, in: zone)
        }
        if try movedRecords.rebase(onto: record, named: name, table, in: zone) { return }
        if try movedRecords.leaveOut(record, named: name, table, in: zone) { return }
        let arrival = try movedRecords.arrival(of: record, named: name, table, in: zone)
        if table.assetFields.isEmpty {
            try apply(record, named: name, table, in: zone, base: arrival?.base)
        } else {
            try apply(try files.adopted(record, table), named: name, table, in: zone, base: arrival?.base)
            try files.wantDownloads(of: name, table, in: zone)
        }
        if let arrival { try movedRecords.complete(arrival, named: name, table, in: zone) }
    }

    /// Applies a record. `base` is the version that the edits of a row were made on that was in another zone before.
    private func apply(
        _ record: Record,
        named name: String,
        _ table: RecordTable?,
        in zone: StoredZone,
        base: KnownVersion? = nil
    ) throws {
        if let table, try isUnknown(name, table, in: zone) {
            try add(record, named: name, to: table, in: zone)
            summary.fetched += 1
            return
        }
        if let created = try tombstones.created(name, in: zone.id) {
            if try isSameLife(record, asDeletedLifeCreatedAt: created) {
                // The delete wins. It is sent with the tag of the version that was just seen.
                try tombstones.renew(name, tag: record.recordChangeTag, created: record.created?.time, in: zone)
                return try sentOperations.forget(name, in: zone.id)
            }
            try tombstones.forget(name, in: zone.id)
        }
        let known = try versionOfSameLife(as: record, named: name, in: zone)
        guard let table else {
            if let known {
                // The row of another program: it gets the version when that program opens the file, and is not gone.
                try knownVersions.note(zone.epoch, known.id)
                try knownVersions.endConflict(known.id)
            }
            return try foreignRecords.keep(record, named: name, in: zone)
        }
        if let known, let tag = known.tag {
            try knownVersions.note(zone.epoch, known.id)
            if tag == record.recordChangeTag { return try knownVersions.endConflict(known.id) }
            // An older copy, delivered late.
            if let seen = known.modified, let modified = record.modified?.time, modified < seen { return }
        }
        try VersionMerge(
            transaction: transaction,
            record: record,
            name: name,
            known: known ?? base,
            table: table,
            zone: zone
        ).apply()
    }

    /// Whether a version is of the life that was deleted here.
    private func isSameLife(_ record: Record, asDeletedLifeCreatedAt created: ServiceTime?) throws -> Bool {
        guard let created else { return try isCreatedHere(record) }
        guard let theirs = record.created?.time else { return true }
        return created == theirs
    }

    /// Whether this device may have created a record. Without edit times, any device may have.
    private func isCreatedHere(_ record: Record) throws -> Bool {
        guard let times = record.editTimesBytes.flatMap({ EditTimes($0) }) else { return true }
        return try times.creation.map { try fileState.devices.contains($0.device) } ?? false
    }

    /// The known version of a record; `nil` where there is none. A known version of another life ends: its row may be
    /// in the table of another type. A record that was moved away and back is of the same life, although the service has
    /// created it again.
    private func versionOfSameLife(as record: Record, named name: String, in zone: StoredZone) throws -> KnownVersion? {
        let known = try knownVersions.fetch(named: name, in: zone.id)
        guard let known, known.tag != nil, let old = known.created, let created = record.created?.time, old != created,
            !movedRecords.isBack(record, createdAt: known.creation)
        else { return known }
        if let table = file.tablesByID[known.type] { try deletes.endLife(of: known, table, .replaced) }
        return nil
    }

    /// Makes rows of the records that were kept for a type that the program knows now.
    func adoptForeign() throws {
        for type in file.tables.keys.sorted() {
            for kept in try foreignRecords.records(of: type) {
                guard let zone = try zones.fetch(kept.zone) else { continue }
                try apply(kept.record, in: zone)
                try foreignRecords.forget(kept.name, in: zone.id)
            }
        }
    }
}

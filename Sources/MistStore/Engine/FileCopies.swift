import GRDB
import MistKit
package import SQLiteTables

extension StoreFile {
    /// Notes where the file is: after it was opened, and before anything is sent. A file that was copied, or restored
    /// from a backup, gets a new number.
    ///
    /// What is pending may have been sent by the other copy: its outcome is unknown. So the zones are read to their end
    /// first. A record that was created and deleted meanwhile does not come back, and an edit that was sent is not sent
    /// again.
    ///
    /// - Parameters:
    ///   - identity: Where the file is.
    ///   - newDevice: Gives the number of a file that was copied.
    ///   - now: The machine's time.
    /// - Throws: A ``StoreError`` when the file fails.
    package func note(_ identity: FileIdentity, newDevice: () -> Int64, at now: MachineTime) throws {
        try wrapping {
            try database.write { db in try note(identity, newDevice: newDevice, at: now, db) }
        }
    }

    private func note(
        _ identity: FileIdentity,
        newDevice: () -> Int64,
        at now: MachineTime,
        _ db: Database
    ) throws {
        let state = FileState(db)
        let earlier = try state.identity
        guard earlier != identity else { return }
        try state.setIdentity(identity)
        guard let earlier, !identity.isSameFile(as: earlier) else { return }
        for table in orderedTables where table.hasCounters {
            try noteInheritedCounts(of: table, device: try state.device, db)
        }
        try state.setDevice(newDevice(), at: now)
        for table in allTables {
            try KnownVersions(db: db, sealer: sealer).insertUnsent(of: table)
            try SentOperations(db: db, sealer: sealer).insertUncertainCreates(of: table)
        }
        try Zones.markUncertainWhereSent(db)
    }

    /// Notes what is pending of counters: another copy of the file may send it, too.
    private func noteInheritedCounts(of table: RecordTable, device: Int64, _ db: Database) throws {
        let edited = "_id IN (\(PendingEdits.rows(where: "type = ?")))"
        for row in try table.rows(edited, [ColumnValue(table.id)], db) {
            let edits = try PendingEdits(db: db).edits(of: row.id, table)
            let isNew = edits.contains { $0.field == nil }
            let carried = try CarriedCounts(db: db).counts(of: row.id, table)
            for field in table.fields where field.schema.merge == .counter {
                let edit = edits.first { $0.field?.id == field.id }
                guard edit != nil || isNew else { continue }
                // Both copies send what was carried as the same part anyway.
                let amount = CounterParts.ownChange(
                    by: PendingEdit(
                        value: row.fields[field.name],
                        base: isNew ? nil : edit?.base,
                        time: EditTime(milliseconds: 0, device: device),
                        carried: carried[field.name] ?? []
                    )
                )
                guard amount != 0 else { continue }
                let count = InheritedCount(device: device, amount: amount)
                try InheritedCounts(db: db).insert(count, field.id, of: row.id, table.id)
            }
        }
    }
}

/// Copies of a file: a folder that was copied, or a backup that was restored.
///
/// Two copies have the same device number, and write the parts of counters under the same number. So neither finds its
/// own part in a version after the other one has written, and would count a lost reply twice. The copy that notices the
/// other one takes a new number.
extension VersionMerge {
    /// Takes a new number if a version has a part of a counter under this file's number that this file has not written.
    ///
    /// - Parameters:
    ///   - row: The row of the record.
    ///   - table: Its table.
    ///   - counters: The version that this file knew before, and its writes.
    ///   - version: The edit times of the version.
    /// - Throws: A `DatabaseError` when the file fails.
    func noticeCopies(
        of row: LocalRow,
        _ table: RecordTable,
        _ counters: CounterHistory,
        in version: EditTimes
    ) throws {
        guard !version.parts.isEmpty else { return }
        let device = try fileState.device
        let isForeign = try table.fields.contains { field in
            guard field.schema.merge == .counter, let theirs = version.part(of: field.name, device: device) else {
                return false
            }
            let known = counters.known.part(of: field.name, device: device)
            guard theirs.sequence > known?.sequence ?? .min, !counters.writes.contains(theirs) else { return false }
            // What a former zone had of this device, and the known version has not, comes back in the parts of others.
            let carried = try carriedCounts.counts(of: row.id, table)[field.name] ?? []
            return !carried.contains { $0.part == theirs }
        }
        if isForeign { try fileState.setDevice(configuration.newDevice(), at: now) }
    }
}

import CloudKitModel
import GRDB
import MistKit
import MistStore
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What programs do.
extension SimulatedWorld {
    mutating func operate(_ device: SimulatedDevice) throws {
        counts.operations += 1
        let now = now(of: device)
        let table = device.file.orderedTables[Int.random(in: 0..<device.file.orderedTables.count, using: &generator)]
        let kind = Double.random(in: 0..<1, using: &generator)
        if simulation.moves > 0, generator.chance(simulation.moves), try moveARecord(of: table, on: device) { return }
        var generator = self.generator
        var lines: [String] = []
        var model = self.model
        var names = self.names
        let file = device.file
        let (scope, faults, hasMoves) = (simulation.scope, simulation.faults, simulation.moves > 0)
        var staleForms = 0
        let trueTime = simulation.faults.lastingClockError > 0 ? time.withLock { $0 } : nil
        let assignment = { (db: Database) in ZoneAssignment(file: file, scope: scope, db: db) }
        let present = time.withLock { $0 }
        try device.database.write { db in
            // A program adds a file, or takes one that it has added within the last 50 minutes.
            func makeFile(_ number: Int64?) throws -> FieldValue {
                device.added.removeAll { present - $0.time > 50 * 60 * 1000 }
                if number == nil, let held = device.added.first { return .asset(held.asset) }
                let asset = try file.addFile(SimulatedFile(number: Int(number ?? 0)).bytes, at: now, db)
                device.added.append((asset, present))
                return .asset(asset)
            }
            try db.execute(sql: "UPDATE mist_state SET clock = ?", arguments: [now])
            let rows = try table.allRows(db)
            if kind < 0.3 || rows.isEmpty {
                names += 1
                // Several devices choose some of the names, as for a key from outside of the app. With a zone for each
                // root, each device has a record of its own for such a key.
                let isShared = Double.random(in: 0..<1, using: &generator) < 0.1 && !file.hasZonePerRoot
                let name = isShared ? "key\(table.id)-\(Int.random(in: 1...3, using: &generator))" : "r\(names)"
                if try table.row(named: name, in: file.homeZones[scope] ?? 0, db) != nil { return }
                var fields = try randomFields(of: table, file, &generator, hasMoves: hasMoves, makeFile, db)
                let newZone = { "Z\(UInt64.random(in: 0...UInt64.max, using: &generator))" }
                let zone: ZoneRowID
                do {
                    zone = try assignment(db).zone(for: fields, named: name, in: table, newName: newZone)
                } catch let error as StoreError where hasMoves && error.code == .link {
                    // The parent is at the service both in its former zone and in its new one.
                    return
                }
                let zoneID = try assignment(db).removeOutside(&fields, of: table, zone: zone)
                let pairs = try table.columnPairs(of: fields, named: name, in: zoneID)
                try table.insert(pairs, named: name, in: zone, at: now.rawValue, db)
                lines.append("\(device.name) adds \(table.recordType) \(name) \(fields.summary)")
                try model.note(
                    table,
                    by: device.name,
                    named: name,
                    in: zone,
                    isShared: isShared,
                    fields,
                    at: trueTime,
                    db
                )
            } else if kind < 0.85 {
                let chosenRow = rows[Int.random(in: 0..<rows.count, using: &generator)]
                if generator.chance(faults.staleForm) {
                    device.forms.append((table, chosenRow))
                    lines.append("\(device.name) shows \(table.recordType) \(chosenRow.name) in a form")
                    return
                }
                let form = generator.chance(faults.staleForm * 3) ? try device.closeStaleForm(of: table, db) : nil
                let (read, row) = form ?? (chosenRow, chosenRow)
                if form != nil { staleForms += 1 }
                let all = try randomFields(of: table, file, &generator, hasMoves: hasMoves, makeFile, db)
                var chosen = table.fields.filter { _ in Double.random(in: 0..<1, using: &generator) < 0.4 }
                // Records change their places by moves.
                if hasMoves { chosen.removeAll { $0.schema.isParent } }
                var typed: [String: FieldValue] = [:]
                for field in chosen {
                    var value = all[field.name] ?? .null
                    switch field.schema.merge {
                    case .counter:
                        let step = Int64.random(in: -5...5, using: &generator)
                        value = .int64((read.fields[field.name]?.int64Value ?? 0) + step)
                        model.add(step, to: row.name, field.name)
                    case .union:
                        let old = read.fields[field.name]?.stringListValue ?? []
                        value = .stringList(Array(Set(old + (value.stringListValue ?? []))).sorted())
                    case .latest, .greatest, .smallest: break
                    }
                    typed[field.name] = value
                }
                let zoneID = try assignment(db).removeOutside(&typed, of: table, zone: row.zone)
                let written = read.fields.merging(typed) { $1 }
                var fields: [String: FieldValue] = [:]
                for (field, change) in table.changes(from: read.fields, to: written, in: row) {
                    fields[field.name] = change.value(by: field.schema.merge)
                }
                guard !fields.isEmpty else { return }
                let pairs = try table.columnPairs(of: fields, named: row.name, in: zoneID)
                try table.update(row.id, pairs, at: now.rawValue, db)
                let place = form == nil ? "" : " in a stale form"
                lines.append("\(device.name) changes \(table.recordType) \(row.name)\(place) \(fields.summary)")
                // What the form only shows is no edit.
                let edited = fields.filter { typed.keys.contains($0.key) }
                try model.note(
                    table,
                    by: device.name,
                    named: row.name,
                    in: row.zone,
                    isShared: false,
                    edited,
                    at: trueTime,
                    db
                )
            } else {
                for table in file.orderedTables {
                    device.unsent.formUnion(
                        try String.fetchAll(
                            db,
                            sql: """
                                SELECT _recordName FROM "\(table.recordType)"
                                WHERE _id IN (SELECT row FROM mist_edit WHERE type = ?)
                                """,
                            arguments: [table.id]
                        )
                    )
                }
                let isMass = faults.massDeletion > 0 && generator.chance(faults.massDeletion)
                let one = rows[Int.random(in: 0..<rows.count, using: &generator)]
                let chosen = isMass ? rows.filter { _ in generator.chance(0.8) } : [one]
                for row in chosen {
                    try table.delete(row.id, db)
                    lines.append("\(device.name) deletes \(table.recordType) \(row.name)")
                    model.deletedBy[row.name, default: []].insert(device.name)
                }
                try Cascades(file: file, db: db).complete()
                // Their edits that were not sent have ended, even if a copy in another zone outlives the delete.
                if hasMoves {
                    let present = try file.orderedTables.flatMap { try $0.allRows(db).map(\.name) }
                    model.noteEndedEdits(of: device.unsent.subtracting(present))
                }
            }
        }
        (self.generator, self.model, self.names) = (generator, model, names)
        counts.staleForms += staleForms
        for line in lines { tell(line) }
    }
}

/// Programs that delete many records, and what people decide about it.
extension SimulatedWorld {
    /// The names of the deletes that a device has to send, without those of what moves leave: before the end of a move, as
    /// long as it goes with the delete of a copy (`is_permitted` is 2), and after that.
    func deletedNames(of device: SimulatedDevice) throws -> Set<String> {
        try device.read { db in
            try Set(
                String.fetchAll(
                    db,
                    sql: """
                        SELECT name FROM mist_tombstone
                        WHERE (zone, name) NOT IN (SELECT zone, name FROM mist_move) AND is_permitted <> 2
                            AND NOT (is_permitted = 1 AND (zone, name) IN (SELECT zone, name FROM mist_moved))
                        """
                )
            )
        }
    }

    /// The deletes that a request carries must not be more than the limit, with those of the last day, except for those
    /// that were permitted. The model counts by the requests and not by the engine's tables.
    func checkDeletes(in request: SyncRequest, of device: SimulatedDevice) throws {
        guard let limit = configuration.massDeletionLimit, case .modify(let operations, let zone, _) = request
        else { return }
        let all = Set(operations.filter { $0.operationType == .delete }.compactMap(\.record.recordName))
        device.underWay.formUnion(all)
        let names = all.subtracting(device.permitted).subtracting(try device.namesMoved(from: zone))
        guard !names.isEmpty else { return }
        let earlier = device.sentDeletes.count { now(of: device) - $0.time < 23 * 3_600_000 }
        // The engine also counts deletes of earlier hours, which makes the whole larger.
        let known = try device.read { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM mist_record) + (SELECT count(*) FROM mist_tombstone)
                        + (SELECT coalesce(sum(deletes), 0) FROM mist_delete_count)
                    """
            ) ?? 0
        }
        let deletes = names.count + earlier
        guard deletes > limit.records, Double(deletes) > limit.fraction * Double(known) else { return }
        throw failure("\(device.name) sends \(deletes) deletes of \(known) records without a permission.")
    }

    /// A person looks at the deletes that wait, and permits them or takes them back.
    mutating func decideAboutDeletes(of device: SimulatedDevice) throws {
        let (names, isHeld) = try device.read { db in
            (
                try String.fetchAll(db, sql: "SELECT name FROM mist_tombstone WHERE NOT is_permitted"),
                try device.engine.holdsDeletes(at: now(of: device), db)
            )
        }
        guard isHeld else { return }
        counts.massDeletions += 1
        let local = LocalDatabase(file: device.file, scope: simulation.scope, configuration: configuration)
        if generator.chance(0.5) {
            try device.database.write { db in _ = try local.allowMassDeletion(db) }
            let permitted = try deletedNames(of: device)
            tell("\(device.name) permits to delete \(permitted.sorted().joined(separator: ", "))")
            device.permitted.formUnion(permitted)
        } else {
            try device.database.write { db in _ = try local.undoMassDeletion(db) }
            let undone = Set(names).subtracting(try deletedNames(of: device))
            tell("\(device.name) takes back that it has deleted \(undone.sorted().joined(separator: ", "))")
            for name in undone.subtracting(device.underWay) { model.deletedBy[name]?.remove(device.name) }
            // A delete that was sent may have been carried out.
            model.isShared.formUnion(undone.intersection(device.underWay))
            // Edits that were not sent have ended with the delete, and so have records that were never sent.
            let present = try device.read { db in
                try device.file.orderedTables.flatMap { try $0.allRows(db).map(\.name) }
            }
            model.isShared.formUnion(device.unsent.subtracting(present))
            // And so have the edits of a record that was deleted with one above it, which another device has deleted.
            let ended = try device.read { db in
                try String.fetchAll(
                    db,
                    sql: "SELECT name FROM mist_recovery WHERE reason = ?",
                    arguments: [LossReason.deletedWithTarget.rawValue]
                )
            }
            model.isShared.formUnion(undone.intersection(ended))
        }
    }
}

/// A random value for each field.
private func randomFields(
    of table: RecordTable,
    _ file: StoreFile,
    _ generator: inout SplitMix64,
    hasMoves: Bool,
    _ makeFile: (Int64?) throws -> FieldValue,
    _ db: Database
) throws -> [String: FieldValue] {
    var fields: [String: FieldValue] = [:]
    for field in table.fields {
        if field.schema.merge != .counter, generator.chance(0.1) { continue }
        let number = Int64.random(in: 0...9, using: &generator)
        switch field.type {
        case .int64: fields[field.name] = .int64(field.schema.merge == .counter ? 0 : number)
        case .double: fields[field.name] = .double(Double(number) / 4)
        case .timestamp: fields[field.name] = .timestamp(Date(timeIntervalSince1970: Double(number)))
        case .bytes: fields[field.name] = .bytes(Data([UInt8(number)]))
        case .stringList: fields[field.name] = .stringList((0...number % 3).map { "t\($0)" })
        case .int64List: fields[field.name] = .int64List([number])
        case .reference:
            var targets: [(name: String, isSelf: Bool)] = []
            for other in file.orderedTables {
                targets += try other.allRows(db).map { ($0.name, other.id == table.id) }
            }
            // A parent of the same type would make cycles, which the service refuses.
            if !hasMoves { targets.removeAll { $0.isSelf && field.schema.isParent } }
            // References that are no parents keep records from moving.
            if hasMoves, !field.schema.isParent, generator.chance(0.9) { continue }
            guard let target = targets.randomElement(using: &generator) else { continue }
            let isPlain = field.schema.isParent || number < 7
            let action: Reference.Action = isPlain ? .none : .deleteSelf
            fields[field.name] = .reference(Reference(recordName: target.name, action: action))
        case .asset:
            // Some files are those of many records. Most others are of one, so that a receipt alone may refer to them.
            let rare = Int64.random(in: 8...99, using: &generator)
            fields[field.name] = try makeFile(number < 4 ? number : number < 7 ? rare : nil)
        case .location: fields[field.name] = .location(Location(latitude: Double(number), longitude: 0))
        case .string: fields[field.name] = .string("v\(Int.random(in: 0...99, using: &generator))")
        default: continue
        }
    }
    return fields
}

extension ZoneAssignment {
    /// Removes references to records outside of the zone, which programs cannot write.
    ///
    /// - Returns: The name of the zone.
    func removeOutside(
        _ fields: inout [String: FieldValue],
        of table: RecordTable,
        zone: ZoneRowID
    ) throws -> ZoneID {
        for field in table.fields {
            guard let name = fields[field.name]?.referenceValue?.recordName else { continue }
            if try !file.orderedTables.contains(where: { try $0.row(named: name, in: zone, db) != nil }) {
                fields[field.name] = nil
            }
        }
        return ZoneID(
            zoneName: try String.fetchOne(db, sql: "SELECT name FROM mist_zone WHERE id = ?", arguments: [zone]) ?? ""
        )
    }
}

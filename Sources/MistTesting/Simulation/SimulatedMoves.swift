import CloudKitModel
import GRDB
import MistKit
import MistStore
import ProcessLeases

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rows of the type ?1 that were moved, and whose former record the service has.
let movedRows = """
    SELECT move.row FROM mist_move AS move JOIN mist_record AS known
    ON known.zone = move.zone AND known.name = move.name AND known.row = move.row
    WHERE move.type = ?1 AND known.tag IS NOT NULL
    """

/// A record in a zone.
struct RecordPlace: Hashable {
    let zone: String
    let name: String
}

/// What the service has done about records that moved, as far as the reference model needs it: where the copies came
/// from, and which deletes a copy may have outlived.
///
/// Once a copy was sent, a delete of the old record is not taken for a delete of a user: it may be the end of another
/// move.
final class MoveLedger {
    /// The records that a copy in another zone may have outlived.
    private(set) var outlived: Set<String> = []
    /// The records that were deleted everywhere when such a copy was made: it has what the device knew that made it, and
    /// the later edits have ended with the delete.
    private(set) var revived: Set<String> = []
    /// The records of the service, with the zones that their copies came from.
    private var places: [RecordPlace: Set<String>] = [:]

    /// The zones in which the service has a record.
    private func zones(of name: String) -> Set<String> {
        Set(places.keys.filter { $0.name == name }.map(\.zone))
    }

    /// Notes the changes that the service has carried out.
    func note(_ request: SyncRequest, _ reply: SyncReply, from device: SimulatedDevice?) {
        guard case .modify(let operations, let zone, _) = request, case .records(let results) = reply else { return }
        for (operation, result) in zip(operations, results) {
            guard case .success = result, let name = operation.record.recordName else { continue }
            let place = RecordPlace(zone: zone.zoneName, name: name)
            switch operation.operationType {
            case .create: noteCreate(at: place, from: device)
            case .delete, .forceDelete: noteDelete(at: place)
            default: break
            }
        }
    }

    private func noteCreate(at place: RecordPlace, from device: SimulatedDevice?) {
        let sources = (try? device?.formerZones(of: place.name)) ?? []
        if !sources.isEmpty, zones(of: place.name).isEmpty,
            device?.seenDeletes.isDisjoint(with: sources.map { RecordPlace(zone: $0, name: place.name) }) ?? true
        {
            // The old record was deleted meanwhile, and the device that moved it cannot know it.
            outlived.insert(place.name)
            revived.insert(place.name)
        }
        places[place] = sources
    }

    private func noteDelete(at place: RecordPlace) {
        let sources = places.removeValue(forKey: place) ?? []
        // The records that this one is a copy of are deleted with it.
        if !zones(of: place.name).subtracting(sources).isEmpty { outlived.insert(place.name) }
    }

    /// Notes that a zone was deleted.
    func forget(_ zone: ZoneID) {
        places = places.filter { $0.key.zone != zone.zoneName }
    }
}

extension SimulatedDevice {
    /// The names of the records that this device has moved out of a zone. If it deletes one there, this is the end of its
    /// move.
    func namesMoved(from zone: ZoneID) throws -> Set<String> {
        try read { db in
            let names = try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM (SELECT zone, name FROM mist_move UNION SELECT zone, name FROM mist_moved)
                    WHERE zone IN (SELECT id FROM mist_zone WHERE name = ?)
                    """,
                arguments: [zone.zoneName]
            )
            return Set(names)
        }
    }

    /// The zones that a record was moved from, and in which its delete was not acknowledged.
    fileprivate func formerZones(of name: String) throws -> Set<String> {
        try read { db in
            let zones = try String.fetchAll(
                db,
                sql: """
                    SELECT zone.name FROM mist_move AS move JOIN mist_zone AS zone ON zone.id = move.zone
                    WHERE move.name = ?
                    """,
                arguments: [name]
            )
            return Set(zones)
        }
    }
}

extension SimulatedDevice {
    /// What the device knows about the places of a record.
    fileprivate func places(of name: String) throws -> String {
        try read { db in
            let zone = "(SELECT substr(name, -4) FROM mist_zone WHERE id = zone)"
            let rows = try file.orderedTables.flatMap { table in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT 'row ' || _id || ' in ' || (SELECT substr(name, -4) FROM mist_zone WHERE id = _zone)
                        FROM "\(table.recordType)" WHERE _recordName = ?
                        """,
                    arguments: [name]
                )
            }
            let others = try String.fetchAll(
                db,
                sql: """
                    SELECT 'version in ' || \(zone) || ' of row ' || row FROM mist_record WHERE name = ?1
                    UNION ALL SELECT 'tombstone in ' || \(zone) FROM mist_tombstone WHERE name = ?1
                    UNION ALL SELECT 'move from ' || \(zone) || ' of row ' || row FROM mist_move WHERE name = ?1
                    UNION ALL SELECT 'moved from ' || \(zone) || ' of row ' || row FROM mist_moved WHERE name = ?1
                    UNION ALL SELECT 'held in ' || \(zone) FROM mist_held WHERE name = ?1
                    """,
                arguments: [name]
            )
            return (rows + others).joined(separator: ", ")
        }
    }
}

extension RecordTable {
    /// The rows with a name, in whatever zone.
    func rows(ofAnyZone name: String, _ db: Database) throws -> [LocalRow] {
        let zones = try ZoneRowID.fetchAll(
            db.cachedStatement(sql: "SELECT _zone FROM \"\(recordType)\" WHERE _recordName = ? ORDER BY _zone"),
            arguments: [name]
        )
        return try zones.compactMap { try row(named: name, in: $0, db) }
    }
}

extension SimulatedWorld {
    /// A program moves a record, with the records below it, below another one or out of its parent.
    ///
    /// - Returns: Whether there is a record that may move.
    mutating func moveARecord(of table: RecordTable, on device: SimulatedDevice) throws -> Bool {
        guard let parent = table.parentField else { return false }
        let present = time.withLock { $0 }
        let now = now(of: device)
        let trueTime = simulation.faults.lastingClockError > 0 ? present : nil
        var configuration = configuration
        configuration.clock = { Date(timeIntervalSince1970: Double(present) / 1000) }
        let local = LocalDatabase(file: device.file, scope: simulation.scope, configuration: configuration)
        var (generator, model) = (generator, model)
        defer { (self.generator, self.model) = (generator, model) }
        let newZone = "Z\(UInt64.random(in: 0...UInt64.max, using: &generator))"
        var (line, hasMoved) = ("", false)
        try device.database.write { db in
            try db.execute(sql: "UPDATE mist_state SET clock = ?", arguments: [now])
            let rows = try table.allRows(db)
            guard let row = rows.randomElement(using: &generator) else { return }
            let others = try device.file.orderedTables.flatMap { try $0.allRows(db) }.filter { $0.name != row.name }
            let target = generator.chance(0.75) ? others.randomElement(using: &generator) : nil
            let place = target.map { "below \($0.name)" } ?? "to the root"
            line = "\(device.name) moves \(table.recordType) \(row.name) \(place)"
            do {
                var zone = row.zone
                try db.inSavepoint {
                    zone = try local.move(row, of: table, below: target, newZoneName: { newZone }, db)
                    return .commit
                }
                hasMoved = zone != row.zone
                let names = try [row.zone, zone].map { zone in
                    try String.fetchOne(db, sql: "SELECT name FROM mist_zone WHERE id = ?", arguments: [zone]) ?? ""
                }
                line += " from zone \(names[0].suffix(4)) to \(names[1].suffix(4))"
                // A record that has this parent already was not edited.
                guard row.fields[parent.name]?.referenceValue?.recordName != target?.name else { return }
                let value = target.map { FieldValue.reference(Reference(recordName: $0.name)) } ?? .null
                try model.note(
                    table,
                    by: device.name,
                    named: row.name,
                    in: zone,
                    isShared: false,
                    [parent.name: value],
                    at: trueTime,
                    db
                )
            } catch let error as StoreError where [.link, .move, .nameTaken, .file].contains(error.code) {
                line += ", which is refused: \(error.code)"
            }
        }
        guard !line.isEmpty else { return false }
        if hasMoved { counts.moves += 1 }
        tell(line)
        return true
    }

    /// Notes the deletes that a reply brings, if the device applies it.
    func noteDeletes(
        in reply: Result<SyncReply, CloudKitError>,
        to number: RequestNumber,
        on device: SimulatedDevice
    ) throws {
        guard case .success(.zoneChanges(let pages)) = reply, device.file.lease.isHeld else { return }
        // Empty for a reply that is not applied, because its request is not under way.
        let zones = try device.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT zone.name FROM mist_request AS request
                    JOIN mist_request_item AS item ON item.scope = request.scope
                    JOIN mist_zone AS zone ON zone.id = item.zone
                    WHERE request.number = ? ORDER BY item.position
                    """,
                arguments: [number]
            )
        }
        for case (let zone, .success(let page)) in zip(zones, pages) {
            for case .success(let record) in page.results where record.isDeleted {
                device.seenDeletes.insert(RecordPlace(zone: zone, name: record.recordName ?? ""))
            }
        }
    }

    /// The recovery logs, a line for each entry.
    func receipts() throws -> String {
        try devices.map { device in
            let entries = try device.read { db in
                try String.fetchAll(db, sql: "SELECT reason || ' ' || name || ' ' || fields FROM mist_recovery")
            }
            return "\nThe recovery log of \(device.name): " + entries.joined(separator: "; ")
        }.joined()
    }

    /// The values of records in the recovery logs, of entries with one of the reasons.
    func receipts(of reasons: [LossReason]) throws -> [String: [[String: FieldValue]]] {
        var receipts: [String: [[String: FieldValue]]] = [:]
        for device in devices {
            let rows = try device.read { db in
                try Row.fetchAll(db, sql: "SELECT name, reason, fields FROM mist_recovery")
            }
            for row in rows where reasons.map(\.rawValue).contains(row["reason"]) {
                receipts[row["name"], default: []].append(try OtherFields.read(row["fields"]))
            }
        }
        return receipts
    }

    /// Each record is in one zone at the end.
    func checkPlaces(of records: [CloudKitModel.Record]) throws {
        for (name, records) in Dictionary(grouping: records, by: \.recordName) where records.count > 1 {
            let zones = records.map { $0.zoneID?.zoneName ?? "" }.sorted()
            let known = try devices.map { "\($0.name): \(try $0.places(of: name ?? ""))" }.joined(separator: "\n")
            let list = zones.map { $0.suffix(4) }.joined(separator: ", ")
            throw failure("\(name ?? "") is in the zones \(list):\n\(known)")
        }
    }
}

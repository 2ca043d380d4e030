import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

extension LocalDatabase {
    /// The zone of records that are added without a zone.
    var homeZone: ZoneRowID { file.homeZones[scope] ?? 0 }

    /// The row of a record. It is searched in the zone `zoneID`, then in the home zone, then in all zones of the scope.
    func row(
        named name: String,
        in zoneID: ZoneID? = nil,
        _ table: RecordTable,
        _ db: Database
    ) throws -> LocalRow? {
        if let zoneID, let zone = try ZoneAssignment(file: file, scope: scope, db: db).number(of: zoneID),
            let row = try table.row(named: name, in: zone, db)
        {
            return row
        }
        if let row = try table.row(named: name, in: homeZone, db) { return row }
        return try table.rows(
            "_recordName = ? AND _zone IN (\(Zones.presentIDs(in: "?"))) ORDER BY _zone LIMIT 1",
            [.text(name), .integer(scope.number)],
            db
        ).first
    }

    /// The row of a record that the caller has the zone of. It is searched in no other zone, because another zone may
    /// have another record of the name. Without a zone, all zones of the scope are searched.
    func row(
        named name: String,
        onlyIn zoneID: ZoneID?,
        _ table: RecordTable,
        _ db: Database
    ) throws -> LocalRow? {
        guard let zoneID else { return try row(named: name, table, db) }
        let zone = try ZoneAssignment(file: file, scope: scope, db: db).number(of: zoneID)
        return try zone.flatMap { try table.row(named: name, in: $0, db) }
    }

    /// Adds a record, or changes the fields of the record with its name.
    ///
    /// - Returns: The record's zone.
    func save(
        _ fields: [String: FieldValue],
        named name: String,
        in zoneID: ZoneID?,
        _ table: RecordTable,
        _ db: Database
    ) throws -> ZoneRowID {
        let assignment = ZoneAssignment(file: file, scope: scope, db: db)
        // Another zone may have another record of the name.
        let known = try row(named: name, onlyIn: zoneID, table, db)
        let number = try known?.zone ?? assignment.zone(for: fields, named: name, in: table)
        let row = try known ?? table.row(named: name, in: number, db)
        guard let zone = try StoredZone.fetch(number, db) else {
            throw StoreError(.damaged, "The file does not have the record's zone.")
        }
        let pairs = try table.columnPairs(of: fields, named: name, in: zone.zoneID)
        try assignment.checkLinks(of: fields, named: name, in: table, zone: zone)
        let now = configuration.clock().milliseconds
        if let row {
            try table.update(row.id, pairs, at: now, db)
        } else {
            try table.checkMaking(of: name)
            try table.insert(pairs, named: name, in: zone.id, at: now, db)
        }
        return zone.id
    }

    /// The record with a name, of any zone; `nil` where this machine has none.
    func record<Model: CloudKitRecord>(
        named name: String,
        as type: Model.Type,
        _ table: RecordTable,
        _ db: Database
    ) throws -> StoredRecord<Model>? {
        try row(named: name, table, db).map { try record($0, as: type, table, db) }
    }

    /// A row as a typed record.
    func record<Model: CloudKitRecord>(
        _ row: LocalRow,
        as type: Model.Type,
        _ table: RecordTable,
        _ db: Database
    ) throws -> StoredRecord<Model> {
        let known = try KnownVersion.fetch(named: row.name, in: row.zone, file.sealer, db)
        let zone = try StoredZone.zoneID(row.zone, db)
        if let misfit = Model.misfit(in: row) {
            throw StoreError(
                .value,
                misfit.reason,
                recordType: table.recordType,
                recordName: row.name,
                fieldName: misfit.field
            )
        }
        do {
            return try StoredRecord(CloudKitModel.Record(row, of: table, known, in: zone))
        } catch let error as CloudKitError {
            throw StoreError(.value, error.message, recordType: table.recordType, recordName: row.name)
        }
    }
}

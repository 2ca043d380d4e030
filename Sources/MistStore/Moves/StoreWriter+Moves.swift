import CloudKitModel
package import GRDB
public import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StoreWriter {
    /// Moves a record, with all records below it, to a place below another record, which may be in another zone.
    ///
    /// See ``LocalDatabase/move(_:below:)``.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - parent: The record that it is to be below.
    /// - Returns: The record as it is now, with its new zone.
    /// - Throws: A ``StoreError``, and then nothing was moved.
    @discardableResult
    public func move<Model: CloudKitRecord, Parent: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        below parent: RecordReference<Parent>
    ) throws -> StoredRecord<Model> {
        let parentTable = try database.file.table(of: Parent.recordType)
        let target = try reader.row(named: parent.recordName, in: parent.zoneID, parentTable)
        return try move(record) { move in try move.toPlace(below: target, action: parent.action) }
    }

    /// Moves a record, with all records below it, out of its parent.
    ///
    /// See ``LocalDatabase/moveToRoot(_:)``.
    ///
    /// - Parameter record: The record.
    /// - Returns: The record as it is now, with its new zone.
    /// - Throws: A ``StoreError``, and then nothing was moved.
    @discardableResult
    public func moveToRoot<Model: CloudKitRecord>(_ record: StoredRecord<Model>) throws -> StoredRecord<Model> {
        try move(record) { move in try move.toRoot() }
    }

    private func move<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        _ body: (RecordMove) throws -> ZoneRowID
    ) throws -> StoredRecord<Model> {
        let table = try database.file.table(of: Model.recordType)
        let row = try reader.row(named: record.recordName, in: record.zoneID, table)
        let zone = try body(RecordMove(database: database, db: db, row: row, table: table))
        return try database.record(
            try reader.row(named: row.name, in: try StoredZone.fetch(zone, db)?.zoneID, table),
            as: Model.self,
            table,
            db
        )
    }
}

extension LocalDatabase {
    /// Moves a record, with all records below it, to a place below another record, which may be in another zone.
    ///
    /// ```swift
    /// try await todos.move(milk, below: weekend.reference())
    /// // The next synchronisation, where weekend is in another zone than milk:
    /// // POST …/private/records/modify  zone of weekend: create milk, with all fields that it had
    /// // POST …/private/records/modify  former zone: delete milk
    /// ```
    ///
    /// The service cannot move a record between zones. So the next synchronisation creates copies in the new zone, with
    /// the same names, the fields that no property has, and the files. It deletes the old records when the service has
    /// all copies of this call. Where both records are in one zone, this only sets the reference to the parent.
    ///
    /// Edits of other devices are not lost: those of fields are merged into the copy by their times, wherever they were
    /// made. Of two moves of a record on two devices the later one wins. The deletes of a move are not counted by
    /// ``StoreConfiguration/massDeletionLimit``.
    ///
    /// - Parameters:
    ///   - record: The record, of a type with a parent.
    ///   - parent: The record that it is to be below.
    /// - Returns: The record as it is now, with its new zone.
    /// - Throws: A ``StoreError``, and then nothing was moved: `notFound` when this machine does not have one of the
    ///   records; `link` when a reference would lead from one zone to another, with the names of both records; `move`
    ///   for a type without a parent, a place below the record itself, a database other than the private one, a type
    ///   without edit times, and a record that is still being moved out of that zone; `nameTaken` when the new zone has
    ///   another record with the name; `file` when a file of a record was not downloaded.
    @discardableResult
    public func move<Model: CloudKitRecord, Parent: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        below parent: RecordReference<Parent>
    ) async throws -> StoredRecord<Model> {
        try await write { try $0.move(record, below: parent) }
    }

    /// Moves a record, with all records below it, out of its parent.
    ///
    /// ```swift
    /// try await todos.moveToRoot(errands)
    /// // The next synchronisation, with zones = .perRoot:
    /// // POST …/private/zones/modify    create a zone, named by a UUID
    /// // POST …/private/records/modify  new zone: create errands and the records below it
    /// // POST …/private/records/modify  former zone: delete the records below errands, then errands
    /// ```
    ///
    /// With ``ZoneLayout/perRoot`` the record gets a zone of its own. With ``ZoneLayout/single(_:)`` it is in the zone
    /// of the layout afterwards; a record that was in it already only loses its parent. See ``move(_:below:)`` for what
    /// the synchronisation does.
    ///
    /// - Parameter record: The record.
    /// - Returns: The record as it is now, with its new zone.
    /// - Throws: A ``StoreError``, and then nothing was moved: those of ``move(_:below:)``, and `tooManyZones`.
    @discardableResult
    public func moveToRoot<Model: CloudKitRecord>(_ record: StoredRecord<Model>) async throws -> StoredRecord<Model> {
        try await write { try $0.moveToRoot(record) }
    }
}

extension LocalDatabase {
    /// Moves a row, with all rows below it, as ``StoreWriter/move(_:below:)`` and ``StoreWriter/moveToRoot(_:)`` do. The
    /// types of the records need not be known.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - table: Its table.
    ///   - target: The row that it is to be below; `nil` to move it out of its parent.
    ///   - newZoneName: Chooses the name of a zone.
    ///   - db: The transaction. The caller ends it without its changes when the move is refused.
    /// - Returns: The row's new zone.
    /// - Throws: A ``StoreError``; see ``move(_:below:)``.
    @discardableResult
    package func move(
        _ row: LocalRow,
        of table: RecordTable,
        below target: LocalRow?,
        newZoneName: @escaping () -> String,
        _ db: Database
    ) throws -> ZoneRowID {
        let move = RecordMove(database: self, db: db, row: row, table: table, newZoneName: newZoneName)
        return try target.map { try move.toPlace(below: $0, action: .none) } ?? move.toRoot()
    }
}

/// A call that moves a record: checks everything, and then changes the rows.
struct RecordMove {
    let database: LocalDatabase
    let db: Database
    let row: LocalRow
    let table: RecordTable
    /// Chooses the name of a zone.
    var newZoneName: () -> String = { UUID().uuidString }

    private var file: StoreFile { database.file }
    private var assignment: ZoneAssignment { ZoneAssignment(file: file, scope: database.scope, db: db) }

    /// Moves the record below another one.
    ///
    /// - Returns: The record's new zone.
    func toPlace(below target: LocalRow, action: Reference.Action) throws -> ZoneRowID {
        try checkScope()
        guard let field = table.parentField else {
            throw error(.move, "The type \(table.recordType) has no parent. Declare one with @CloudKitParent.")
        }
        let family = try RecordRelocation.family(of: row, table, file, db)
        if target.zone == row.zone, family.contains(where: { $0.row.name == target.name }) {
            throw error(.move, "The record \(target.name) is the record itself or below it, and cannot be above it.")
        }
        let zone = try zone(target.zone)
        let reference = Reference(recordName: target.name, action: action, zoneID: zone.zoneID)
        try move(family, to: zone)
        return try set(.reference(reference), field, in: zone)
    }

    /// Moves the record out of its parent.
    ///
    /// - Returns: The record's new zone.
    func toRoot() throws -> ZoneRowID {
        try checkScope()
        let family = try RecordRelocation.family(of: row, table, file, db)
        let zone = try zone(try zoneOfRoot(family))
        try move(family, to: zone)
        guard let field = table.parentField, row.fields[field.name] != nil else { return zone.id }
        return try set(.null, field, in: zone)
    }

    /// The zone of the record as a root: its own one, where roots have zones of their own.
    private func zoneOfRoot(_ family: [RecordRelocation.Item]) throws -> ZoneRowID {
        guard file.hasZonePerRoot else { return database.homeZone }
        if row.zone != database.homeZone {
            let names = Set(family.map(\.row.name))
            let isAlone = try file.allTables.allSatisfy { table in
                try table.rows("_zone = ?", [ColumnValue(row.zone)], db).allSatisfy { names.contains($0.name) }
            }
            if isAlone { return row.zone }
        }
        return try assignment.newZone(named: row.name, in: table, newName: newZoneName)
    }

    private func zone(_ id: ZoneRowID) throws -> StoredZone {
        guard let zone = try StoredZone.fetch(id, db), zone.state != .gone else {
            throw StoreError(.damaged, "The file does not have the record's zone.")
        }
        return zone
    }

    private func set(_ value: FieldValue, _ field: StoredField, in zone: StoredZone) throws -> ZoneRowID {
        try database.save([field.name: value], named: row.name, in: zone.zoneID, table, db)
    }

    private func error(_ code: StoreError.Code, _ message: String, _ item: RecordRelocation.Item? = nil) -> StoreError {
        StoreError(
            code,
            message + " Nothing was moved.",
            recordType: item?.table.recordType ?? table.recordType,
            recordName: item?.row.name ?? row.name
        )
    }

    // MARK: Moving

    private func move(_ family: [RecordRelocation.Item], to zone: StoredZone) throws {
        guard zone.id != row.zone else { return }
        try check(family, zone)
        let times = try FileState(db).presentEditTimes()
        let relocation = RecordRelocation(
            file: file,
            scope: database.scope,
            db: db,
            number: try Moves(db: db, sealer: database.file.sealer).nextNumber(),
            time: times.time,
            raw: times.raw
        )
        try db.applying {
            for item in family { try relocation.relocate(item, to: zone) }
        }
    }

    // MARK: Checks

    private func checkScope() throws {
        guard database.scope != .private else { return }
        throw error(.move, "Records move between the zones of the private database only.")
    }

    private func check(_ family: [RecordRelocation.Item], _ zone: StoredZone) throws {
        let names = Set(family.map(\.row.name))
        for item in family {
            try checkType(item)
            try checkFiles(item)
            try checkName(item, zone)
            try checkLinks(from: item, names, zone)
        }
        try checkLinks(to: names)
    }

    private func checkType(_ item: RecordRelocation.Item) throws {
        // `mist_edits` says where a record came from.
        if database.configuration.typesWithoutEditTimes.contains(item.table.recordType) {
            throw error(
                .move,
                "Records of the type \(item.table.recordType) have no edit times, and cannot move.",
                item
            )
        }
        if file.tables[item.table.recordType] == nil {
            throw error(.move, "The store was opened without the type \(item.table.recordType).", item)
        }
    }

    /// A copy needs its files: a file that was not downloaded cannot be uploaded.
    private func checkFiles(_ item: RecordRelocation.Item) throws {
        for field in item.table.assetFields {
            guard let asset = item.row.fields[field.name]?.assetValue else { continue }
            guard try asset.content != nil || Contents(db: db).content(of: asset) != nil else {
                let message = "The file of \(field.name) was not downloaded. Call requestFile(_:of:named:) first."
                throw error(.file, message, item)
            }
        }
    }

    private func checkName(_ item: RecordRelocation.Item, _ zone: StoredZone) throws {
        let name = item.row.name
        let entries = try Moves(db: db, sealer: database.file.sealer).entries(of: item.row.id, item.table.id)
        let isStillThere = entries.contains { $0.zone == zone.id }
        let wasSent = try KnownVersion.fetch(named: name, in: item.row.zone, database.file.sealer, db) != nil
        if isStillThere, !wasSent { return }
        if try isStillThere || Tombstones(db: db).created(name, in: zone.id) != nil {
            let message = "The record is still being moved out of the zone \(zone.zoneID.zoneName). Synchronise first."
            throw error(.move, message, item)
        }
        let hasRow = try file.allTables.contains { try $0.row(named: name, in: zone.id, db) != nil }
        if try hasRow || KnownVersion.fetch(named: name, in: zone.id, database.file.sealer, db) != nil {
            throw error(.nameTaken, "The zone \(zone.zoneID.zoneName) has another record with the name \(name).", item)
        }
    }

    /// The reference to the new parent replaces the one of the record itself.
    private func checkLinks(from item: RecordRelocation.Item, _ names: Set<String>, _ zone: StoredZone) throws {
        for field in item.table.fields {
            if item.row.id == row.id, item.table.id == table.id, field.schema.isParent { continue }
            for target in item.row.fields[field.name]?.references ?? []
            where !names.contains(target.recordName) {
                let isLeft = try file.allTables.contains {
                    try $0.row(named: target.recordName, in: row.zone, db) != nil
                }
                guard isLeft else { continue }
                throw linkError(from: item.row.name, field, item.table, to: target.recordName)
            }
        }
    }

    private func checkLinks(to names: Set<String>) throws {
        for table in file.allTables {
            for field in table.fields where field.type == .reference || field.type == .referenceList {
                let rows = try table.rows("_zone = ? AND \(field.column) IS NOT NULL", [ColumnValue(row.zone)], db)
                for other in rows where !names.contains(other.name) {
                    let targets = other.fields[field.name]?.references ?? []
                    guard let target = targets.first(where: { names.contains($0.recordName) }) else { continue }
                    throw linkError(from: other.name, field, table, to: target.recordName)
                }
            }
        }
    }

    private func linkError(from name: String, _ field: StoredField, _ table: RecordTable, to target: String)
        -> StoreError
    {
        StoreError(
            .link,
            """
            The reference \(field.name) of \(name) to \(target) would lead from one zone to another, because only one of the two \
            moves. Nothing was moved. Clear the reference, or move both.
            """,
            recordType: table.recordType,
            recordName: name,
            fieldName: field.name
        )
    }
}

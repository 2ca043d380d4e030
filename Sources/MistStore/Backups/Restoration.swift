import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension LocalDatabase {
    /// Says what ``restore(from:removesOthers:encryptionKey:)`` would change now, and changes nothing.
    ///
    /// - Parameters:
    ///   - folder: The folder of the backup.
    ///   - removesOthers: Whether records that the backup does not have would be removed.
    ///   - key: The key that the store had when the backup was made; `nil` for the present one.
    /// - Returns: The changes, and what cannot be brought back.
    /// - Throws: A ``StoreError``, as ``restore(from:removesOthers:encryptionKey:)``.
    public func restorePlan(
        from folder: URL,
        removesOthers: Bool = false,
        encryptionKey key: StoreEncryptionKey? = nil
    ) async throws -> RestorePlan {
        try await restoring(from: folder, removesOthers: removesOthers, key, keepsChanges: false)
    }

    /// Brings the values of a backup back, as edits of the present.
    ///
    /// ```swift
    /// let plan = try await store.privateDatabase.restorePlan(from: folder)
    /// print(plan)  // 2 created, 1 changed, 0 removed, 14 unchanged, 0 not restored
    /// try await store.privateDatabase.restore(from: folder)
    /// // INSERT INTO "Todo" …; UPDATE "Todo" SET "title" = 'Milk' WHERE _id = …
    /// ```
    ///
    /// The values win on all devices as any latest edit does: the next synchronisation sends them. A record that was
    /// deleted since is created again under its name. A record that the backup does not have stays, unless
    /// `removesOthers` is set. A counter gets the value of the backup by a difference, so what other devices add
    /// meanwhile is kept. All is one transaction, in which other writers wait. A record that cannot be written costs
    /// this record: ``RestorePlan/obstacles``.
    ///
    /// A file of a record that is missing on this machine is copied from the backup before the transaction begins. A value
    /// whose file the backup does not have is not brought back; ``RestorePlan/obstacles`` names it.
    ///
    /// The values that are replaced, and all values of records that are removed, are in the recovery log with the reason
    /// ``LossReason/restored``, so a restore can be undone.
    ///
    /// - Parameters:
    ///   - folder: The folder of the backup, which ``MistStore/backup(to:)`` made.
    ///   - removesOthers: Whether records that the backup does not have are removed. More of them than
    ///     ``StoreConfiguration/massDeletionLimit`` wait for a permission, as always.
    ///   - key: The key that the store had when the backup was made; `nil` for the present one.
    /// - Returns: What was changed.
    /// - Throws: A ``StoreError``: `notAStore`, `newerFormat` or `damaged` for a folder that is no backup, or no whole
    ///   one; `keyMissing` or `wrongKey` for a backup that is sealed; `otherUser` for the private records of another user;
    ///   or a code about the file. Then nothing was changed.
    @discardableResult
    public func restore(
        from folder: URL,
        removesOthers: Bool = false,
        encryptionKey key: StoreEncryptionKey? = nil
    ) async throws -> RestorePlan {
        try await restoring(from: folder, removesOthers: removesOthers, key, keepsChanges: true)
    }

    /// A plan is a restore that is rolled back, so that both say the same.
    private func restoring(
        from folder: URL,
        removesOthers: Bool,
        _ key: StoreEncryptionKey?,
        keepsChanges: Bool
    ) async throws -> RestorePlan {
        let manifest = try BackupManifest(ofBackupAt: folder)
        let backup = try BackupFile(of: scope, in: folder, key: key ?? file.key.value)
        defer { backup.close() }
        // What is copied, and what it will refer to, is not collected before the end.
        let hold = try file.folder?.keepAll()
        defer { withExtendedLifetime(hold) {} }
        let contents = Set(manifest.files.compactMap { $0.content(of: scope) })
        // Before the files of another user are copied.
        try await read { try checkOwner(of: manifest, $0.db) }
        if keepsChanges { try await copy(contents.sorted { $0.rawValue < $1.rawValue }, of: backup) }
        return try await write { writer in
            try checkOwner(of: manifest, writer.db)
            let restoration = Restoration(backup: backup, contents: contents, database: self, db: writer.db)
            try writer.db.inSavepoint {
                try restoration.restore()
                if removesOthers { try restoration.removeOthers() }
                try Cascades(file: file, db: writer.db).complete()
                return keepsChanges ? .commit : .rollback
            }
            return restoration.plan
        }
    }

    /// Refuses the private records of another user.
    private func checkOwner(of manifest: BackupManifest, _ db: Database) throws {
        guard scope != .public, let owner = manifest.owner, let user = try FileState(db).owner, owner != user else {
            return
        }
        throw StoreError(
            .otherUser,
            "The backup has the records of the user \(owner), and this store those of \(user). Nothing was changed."
        )
    }

    /// Copies the files of a backup that are missing here. Each is kept by a transaction of its own, so that a long file
    /// holds up no other writer.
    private func copy(_ contents: [ContentHash], of backup: BackupFile) async throws {
        guard let source = backup.folder, let folder = file.folder else { return }
        for content in contents {
            try Task.checkCancellation()
            let isKept = try await read { try Contents(db: $0.db).has(content) }
            if isKept, folder.size(of: content) == source.size(of: content) { continue }
            guard let incoming = try folder.copy(content, from: source) else {
                throw StoreError(
                    .damaged,
                    "The backup is not whole: \(source.path(of: content)) was changed. Use another backup."
                )
            }
            defer { incoming.discard() }
            let names = try backup.names(of: content)
            try await write { writer in
                try folder.keep(incoming, at: configuration.clock().machineTime, writer.db)
                for name in names { try Contents(db: writer.db).name(content, as: name) }
            }
        }
    }
}

/// Brings the records of a backup back, within one transaction.
private final class Restoration {
    let backup: BackupFile
    /// The files that the backup has.
    let contents: Set<ContentHash>
    let database: LocalDatabase
    let db: Database
    var plan = RestorePlan()

    /// A record that is gone, and is created.
    private struct Missing {
        let row: RecordRowID
        let table: RecordTable
        let zone: ZoneID
    }

    /// The rows that the backup has, too, by table.
    private var kept: [TableID: Set<RecordRowID>] = [:]
    /// The names to which references of the backup lead.
    private var targets: Set<String> = []

    init(backup: BackupFile, contents: Set<ContentHash>, database: LocalDatabase, db: Database) {
        (self.backup, self.contents, self.database, self.db) = (backup, contents, database, db)
    }

    /// A record of the backup, with the files that are here or in the backup.
    private func withFiles(_ row: LocalRow, _ table: RecordTable) throws -> LocalRow {
        var row = row
        for field in table.assetFields {
            guard let asset = row.fields[field.name]?.assetValue else { continue }
            row.fields[field.name] = .asset(asset.stored(with: try content(of: asset)))
        }
        return row
    }

    private func content(of asset: Asset) throws -> ContentHash? {
        let here = Contents(db: db)
        guard database.file.folder != nil, let content = try asset.content ?? here.content(of: asset) else {
            return nil
        }
        if contents.contains(content) { return content }
        return try here.has(content) ? content : nil
    }

    func restore() throws {
        var missing: [Missing] = []
        for table in backup.tables {
            guard let own = database.file.tables[table.recordType] else {
                plan.obstacles.append(
                    .init(
                        recordType: table.recordType,
                        recordName: nil,
                        fieldName: nil,
                        reason: "The store was opened without the type. Open it with all types of the backup."
                    )
                )
                continue
            }
            try backup.forEachRow(of: table) { row, zone in
                let row = try withFiles(row, table)
                targets.formUnion(row.fields.values.flatMap { $0.references.map(\.recordName) })
                if let present = try present(row.name, zone, own) {
                    kept[own.id, default: []].insert(present.id)
                    try change(present, to: row, of: table, own)
                } else {
                    missing.append(Missing(row: row.id, table: table, zone: zone))
                }
            }
        }
        for record in missing { try create(record) }
    }

    /// The record of a name. Where the zone is gone, the record may be in another one now.
    private func present(_ name: String, _ zone: ZoneID, _ table: RecordTable) throws -> LocalRow? {
        let zones = Zones(scope: database.scope, db: db)
        if let number = try zones.number(of: zone) { return try table.row(named: name, in: number, db) }
        return try database.row(named: name, table, db)
    }

    private func change(
        _ present: LocalRow,
        to row: LocalRow,
        of table: RecordTable,
        _ own: RecordTable
    ) throws {
        let fields = RestoredFields(row, of: table, over: present, in: own)
        note(fields, row.name, own)
        guard !fields.values.isEmpty else {
            plan.unchanged += 1
            return
        }
        guard let zone = try StoredZone.fetch(present.zone, db) else { return }
        try refusing(row.name, own) {
            _ = try database.save(fields.values, named: row.name, in: zone.zoneID, own, db)
            try receipt(fields.replaced, row.name, zone, own)
            return change(.changed, own, row.name, zone.zoneID, fields)
        }
    }

    /// Creates a record that is gone. The record above it may follow: it goes into the same zone.
    private func create(_ record: Missing) throws {
        guard let own = database.file.tables[record.table.recordType],
            let (stored, others) = try backup.record(id: record.row, of: record.table)
        else { return }
        let row = try withFiles(stored, record.table)
        var fields = RestoredFields(row, of: record.table, over: nil, in: own)
        fields.addObstacles(for: others.keys, in: own)
        note(fields, row.name, own)
        try refusing(row.name, own) {
            try own.checkMaking(of: row.name)
            let zone = try zone(of: record, row, own)
            let pairs = try own.columnPairs(of: fields.values, named: row.name, in: zone.zoneID)
            try ZoneAssignment(file: database.file, scope: database.scope, db: db)
                .checkLinks(of: fields.values, named: row.name, in: own, zone: zone)
            let now = database.configuration.clock().milliseconds
            kept[own.id, default: []].insert(try own.insert(pairs, named: row.name, in: zone.id, at: now, db))
            return change(.created, own, row.name, zone.zoneID, fields)
        }
    }

    /// The zone of a record that is created: the one that it had, unless that is gone, or its parent is in another one now.
    private func zone(of record: Missing, _ row: LocalRow, _ own: RecordTable) throws -> StoredZone {
        let assignment = ZoneAssignment(file: database.file, scope: database.scope, db: db)
        let parent = own.parentField.flatMap { row.fields[$0.name]?.referenceValue?.recordName }
        let former = try assignment.number(of: record.zone).flatMap { zone in
            try parent.map { try isElsewhere($0, than: zone) } == true ? nil : zone
        }
        let number = try former ?? assignment.zone(for: row.fields, named: row.name, in: own)
        guard let zone = try StoredZone.fetch(number, db) else {
            throw StoreError(.damaged, "The file does not have the record's zone.")
        }
        return zone
    }

    /// Whether a record is in other zones only.
    private func isElsewhere(_ name: String, than zone: ZoneRowID) throws -> Bool {
        let tables = database.file.orderedTables
        guard try !tables.contains(where: { try $0.row(named: name, in: zone, db) != nil }) else { return false }
        return try tables.contains { try database.row(named: name, $0, db) != nil }
    }

    /// Removes the records that the backup does not have.
    func removeOthers() throws {
        let zones = try Dictionary(
            uniqueKeysWithValues: Zones(scope: database.scope, db: db).all().map { ($0.id, $0) }
        )
        for table in database.file.orderedTables {
            let kept = kept[table.id] ?? []
            for row in try table.allRows(db) where !kept.contains(row.id) {
                guard let zone = zones[row.zone] else { continue }
                guard !targets.contains(row.name) else {
                    plan.obstacles.append(
                        .init(
                            recordType: table.recordType,
                            recordName: row.name,
                            fieldName: nil,
                            reason: "It is not in the backup, and stays: records of the backup refer to it."
                        )
                    )
                    continue
                }
                try refusing(row.name, table) {
                    try receipt(row.receipt(), row.name, zone, table)
                    try table.delete(row.id, db)
                    return RestorePlan.Change(
                        kind: .removed,
                        recordType: table.recordType,
                        recordName: row.name,
                        zoneID: zone.zoneID,
                        fields: []
                    )
                }
            }
        }
    }

    /// Makes a change. A record that the store refuses costs this record.
    private func refusing(
        _ name: String,
        _ table: RecordTable,
        _ body: () throws -> RestorePlan.Change
    ) throws {
        do {
            var change: RestorePlan.Change?
            try db.inSavepoint {
                change = try StoreError.wrapping(body)
                return .commit
            }
            if let change { plan.changes.append(change) }
        } catch let error as StoreError where !error.code.isAboutFile {
            plan.obstacles.append(
                .init(
                    recordType: table.recordType,
                    recordName: name,
                    fieldName: error.fieldName,
                    reason: error.message
                )
            )
        }
    }

    private func change(
        _ kind: RestorePlan.ChangeKind,
        _ table: RecordTable,
        _ name: String,
        _ zone: ZoneID,
        _ fields: RestoredFields
    ) -> RestorePlan.Change {
        RestorePlan.Change(
            kind: kind,
            recordType: table.recordType,
            recordName: name,
            zoneID: zone,
            fields: table.fields.map(\.name).filter { fields.values[$0] != nil }
        )
    }

    private func note(_ fields: RestoredFields, _ name: String, _ table: RecordTable) {
        plan.obstacles += fields.obstacles.map { field, reason in
            .init(recordType: table.recordType, recordName: name, fieldName: field, reason: reason)
        }
    }

    private func receipt(
        _ values: [String: FieldValue?],
        _ name: String,
        _ zone: StoredZone,
        _ table: RecordTable
    ) throws {
        guard !values.isEmpty else { return }
        let now = database.configuration.clock().machineTime
        try RecoveryEntries(scope: database.scope, db: db, sealer: database.file.sealer)
            .add(.restored, values, of: table.recordType, name, in: zone, at: now)
    }
}

import CloudKitModel
import GRDB
import MistKit
import MistStore

/// The edits of a device that are not acknowledged, with their values.
struct PendingValues {
    private struct Edit {
        let table: RecordTable
        let field: StoredField
        let name: String
        let zone: ZoneRowID
        let value: FieldValue?
        /// Whether the edit was sent with an unknown outcome: the service may have it.
        let isUncertain: Bool
    }

    private var edits: [Edit] = []
    private let lastReceipt: Int64

    init(_ file: StoreFile, _ db: Database) throws {
        lastReceipt = try Int64.fetchOne(db, sql: "SELECT max(id) FROM mist_recovery") ?? 0
        for table in file.orderedTables {
            let pending = try Self.pendingFields(of: table, db)
            guard !pending.isEmpty else { continue }
            let sent = try Set(
                String.fetchAll(
                    db,
                    sql: "SELECT name FROM mist_sent UNION SELECT name FROM mist_record WHERE is_conflicting = 1"
                )
            )
            for row in try table.allRows(db) {
                guard let fields = pending[row.id] else { continue }
                for field in table.fields {
                    let value = row.fields[field.name]
                    guard fields.contains(field.id) || (fields.contains(.insert) && value != nil) else { continue }
                    edits.append(
                        Edit(
                            table: table,
                            field: field,
                            name: row.name,
                            zone: row.zone,
                            value: value,
                            isUncertain: sent.contains(row.name)
                        )
                    )
                }
            }
        }
    }

    /// The numbers of the edited fields by row.
    private static func pendingFields(of table: RecordTable, _ db: Database) throws -> [RecordRowID: Set<FieldID>] {
        // The insert of a moved record says that its copy is to be created. Its fields were not edited.
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT row, field FROM mist_edit WHERE type = ?1 AND NOT (field = 0 AND row IN (\(movedRows)))"
            ),
            arguments: [table.id]
        )
        return Dictionary(rows.map { ($0[0], [$0[1]]) }, uniquingKeysWith: { $0.union($1) })
    }

    /// An edit that is no longer pending, is not the value of its record, and has no recovery record.
    ///
    /// - Parameters:
    ///   - file: The device's file.
    ///   - db: A reader of it.
    ///   - reply: The reply that was applied.
    /// - Returns: A description of the lost edit; `nil` when no edit was lost.
    /// - Throws: A `DatabaseError` when the file fails.
    func lost(_ file: StoreFile, _ db: Database, after reply: Result<SyncReply, CloudKitError>) throws -> String? {
        let arrived = Dictionary(grouping: reply.records, by: { $0.recordName ?? "" })
        var pending: [TableID: [RecordRowID: Set<FieldID>]] = [:]
        for table in file.orderedTables { pending[table.id] = try Self.pendingFields(of: table, db) }
        for edit in edits {
            let rows = try edit.table.rows(ofAnyZone: edit.name, db)
            let row = rows.first { $0.zone == edit.zone } ?? rows.first
            if let row {
                let fields = pending[edit.table.id]?[row.id] ?? []
                if fields.contains(edit.field.id) || fields.contains(.insert) { continue }
                if row.fields[edit.field.name]?.brief == edit.value?.brief { continue }
                // The value is merged into that of the record.
                if [.counter, .union].contains(edit.field.schema.merge) { continue }
            }
            // The service may have the edit, and then the record was deleted with another record.
            if row == nil, edit.isUncertain { continue }
            // The service may have had the edit in one zone, and a later one in another zone.
            if row == nil || rows.first?.zone != edit.zone, let versions = arrived[edit.name] {
                let isSame = versions.contains { version in
                    version.fields[edit.field.name].flatMap { $0.isNull ? nil : $0 }?.brief == edit.value?.brief
                }
                if isSame || edit.field.schema.merge != .latest { continue }
            }
            if try hasReceipt(edit, db) { continue }
            return "\(edit.table.recordType) \(edit.name) \(edit.field.name)=\(edit.value?.brief ?? "absent")"
        }
        return nil
    }

    private func hasReceipt(_ edit: Edit, _ db: Database) throws -> Bool {
        let texts = try String.fetchAll(
            db,
            sql: "SELECT fields FROM mist_recovery WHERE id > ? AND type = ? AND name = ?",
            arguments: [lastReceipt, edit.table.recordType, edit.name]
        )
        return try texts.contains { text in
            guard let value = edit.value else { return true }
            let receipt = try OtherFields.read(text)[edit.field.name]
            // Another policy may have merged the value before it was lost.
            return edit.field.schema.merge != .latest || receipt?.brief == value.brief
        }
    }
}

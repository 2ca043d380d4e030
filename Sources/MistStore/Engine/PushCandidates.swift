import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

/// A change that may go into the next request: the record with its operation, and what the choice depends on.
struct OutgoingChange {
    let record: OutgoingRecord
    let operation: RecordOperation
    /// The edit times in the operation.
    let times: EditTimes?
    let candidate: PushCandidate

    var isCreate: Bool { candidate.isCreate }
}

/// Collects the changes of a zone that may go into the next request, targets first. A family is collected to its end,
/// beyond the limit.
struct PushCandidates: EngineProcedure {
    let transaction: EngineTransaction
    let zone: StoredZone
    /// The most operations of the request.
    let limit: Int
    private(set) var changes: [OutgoingChange] = []
    /// The names of the changes.
    private(set) var names: Set<String> = []
    /// The names of records that wait because a record that they depend on waits.
    private var excluded: Set<String> = []
    /// Whether the service does not know a type, by the number of the type.
    private var parkedTypes: [TableID: Bool] = [:]
    /// Whether a newer program has added fields that this one does not know; `nil` where it was not asked yet.
    private var hasNewerFields: Bool?
    private var size = 0

    init(transaction: EngineTransaction, zone: StoredZone, limit: Int) {
        self.transaction = transaction
        self.zone = zone
        self.limit = limit
    }

    private var bytes: Int { configuration.bytesOfRequest }
    var isFull: Bool { changes.count >= limit || size >= bytes }
    /// Whether collecting stops even in the middle of a family.
    private var isOverfull: Bool { changes.count >= 2 * limit || size >= 2 * bytes }
    /// Whether the zone accepts atomic requests.
    var mayBeAtomic: Bool {
        scope != .public && zone.zoneID.zoneName != ZoneID.default.zoneName && !zone.avoidsAtomic
    }

    /// Collects the changes of rows.
    mutating func collect() throws {
        for table in file.orderedTables {
            guard try !isParked(table) else { continue }
            var last: RecordRowID = 0
            // The edits are read in pages, because some of the rows have to wait.
            while !isFull, let end = try pendingEdits.endOfPage(after: last, of: table.id) {
                let candidates = try table.rows(
                    """
                    _id IN (\(PendingEdits.rows(where: "type = ?1 AND row > ?2 AND row <= ?5")))
                    AND _zone = ?3 AND NOT EXISTS (\(Self.waiting(table))) ORDER BY _id
                    """,
                    [
                        ColumnValue(table.id), ColumnValue(last), ColumnValue(zone.id), ColumnValue(now),
                        ColumnValue(end),
                    ],
                    db
                )
                for row in candidates where !isFull { try add(row, of: table) }
                last = end
            }
        }
    }

    /// A statement that finds a reason why a record is not sent now: the service refused it, its version is to be
    /// looked up, or an earlier life of the name is still to be deleted.
    ///
    /// Its fourth parameter is the machine's time.
    private static func waiting(_ table: RecordTable) -> String {
        """
        \(Parking.blocking(table.id, at: "?4"))
        UNION ALL \(KnownVersions.conflicting("_recordName", in: "_zone"))
        UNION ALL \(Tombstones.ofSameName)
        UNION ALL \(Transfers.awaitingFile)
        UNION ALL \(Moves.holding)
        """
    }

    private mutating func isParked(_ table: RecordTable) throws -> Bool {
        if let isParked = parkedTypes[table.id] { return isParked }
        let isParked = try recordTypes.missingField(of: table.id) != nil
        parkedTypes[table.id] = isParked
        return isParked
    }

    private mutating func knowsNewerFields() throws -> Bool {
        if let hasNewerFields { return hasNewerFields }
        let hasFields = try recordTypes.hasFields(after: file.lastFieldID)
        hasNewerFields = hasFields
        return hasFields
    }

    /// Adds a record, after the new records that it refers to, and before the new records below it.
    private mutating func add(_ row: LocalRow, of table: RecordTable) throws {
        var open = [(row, table)]
        while !isOverfull, let (row, table) = open.popLast() {
            for change in try addPath(to: row, of: table) where change.isCreate && mayBeAtomic {
                open += try newChildren(of: change.record.row).reversed()
            }
        }
    }

    /// Adds a record, after the new records that it refers to.
    ///
    /// The path is an array and not a recursion, because a chain of new records may be longer than the stack allows.
    private mutating func addPath(to row: LocalRow, of table: RecordTable) throws -> [OutgoingChange] {
        guard !names.contains(row.name), !excluded.contains(row.name) else { return [] }
        let first = changes.count
        var path = [Visit(row, table)]
        var visiting: Set<String> = [row.name]
        while !isOverfull, var visit = path.popLast() {
            if let target = try nextTarget(of: &visit, visiting) {
                path.append(visit)
                path.append(target)
                visiting.insert(target.row.name)
                continue
            }
            visiting.remove(visit.row.name)
            if !visit.bindings.isDisjoint(with: excluded) {
                excluded.insert(visit.row.name)
            } else if names.insert(visit.row.name).inserted {
                try append(visit)
            }
        }
        return Array(changes[first...])
    }

    /// A record on the way into the batch, with the references that were not followed yet.
    private struct Visit {
        let row: LocalRow
        let table: RecordTable
        var links: ArraySlice<StoredField>
        /// The fields whose link is left out of the request.
        var emptied: Set<String> = []
        /// The new records that this one is not sent without.
        var bindings: Set<String> = []

        init(_ row: LocalRow, _ table: RecordTable) {
            self.row = row
            self.table = table
            links = table.fields.filter { $0.type == .reference }[...]
        }
    }

    /// The largest number of new records in a path from reference to reference. A longer chain is cut there, like a
    /// cycle: the link is sent in a later request. So the work for one request is limited.
    private static let longestPath = 10_000

    /// The next new record that must be in the batch before the visited one, which refers to it; `nil` when there is no
    /// other.
    private mutating func nextTarget(of visit: inout Visit, _ visiting: Set<String>) throws -> Visit? {
        while let field = visit.links.popFirst() {
            guard let link = visit.row.fields[field.name]?.referenceValue else { continue }
            let name = link.recordName
            guard !names.contains(name), try !knownVersions.isAcknowledged(name, in: zone.id) else { continue }
            if visiting.contains(name) {
                visit.emptied.insert(field.name)
                continue
            }
            if try field.schema.isParent || link.action == .validate || endsWithEarlierLife(link) {
                visit.bindings.insert(name)
            }
            guard !excluded.contains(name) else { continue }
            switch try target(named: name, first: visit.table) {
            case .absent: visit.bindings.remove(name)
            case .waiting: excluded.insert(name)
            case .new(let row, let table):
                guard visiting.count >= Self.longestPath else { return Visit(row, table) }
                visit.emptied.insert(field.name)
            }
        }
        return nil
    }

    /// Whether the service would remove a record with its target now: a record of the target's name is still to be
    /// deleted there, and takes with it what refers to it.
    private func endsWithEarlierLife(_ link: Reference) throws -> Bool {
        try link.action == .deleteSelf && tombstones.created(link.recordName, in: zone.id) != nil
    }

    /// A record that the service does not have, and that another record refers to.
    private enum Target {
        /// It is not on this machine either.
        case absent
        /// It is on this machine, and is not sent now.
        case waiting
        /// It can be sent.
        case new(LocalRow, RecordTable)
    }

    /// Finds the target of a reference.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - table: The table to search first: long chains are of one type.
    /// - Returns: The target's state on this machine.
    /// - Throws: A ``StoreError`` when the file fails.
    private mutating func target(named name: String, first table: RecordTable) throws -> Target {
        for table in [table] + file.orderedTables.filter({ $0.id != table.id }) {
            let sendable = try table.rows(
                "_zone = ?1 AND _recordName = ?2 AND ?3 AND NOT EXISTS (\(Self.waiting(table)))",
                [ColumnValue(zone.id), .text(name), .integer(1), ColumnValue(now)],
                db
            ).first
            if let row = sendable { return try isParked(table) ? .waiting : .new(row, table) }
            if try table.row(named: name, in: zone.id, db) != nil { return .waiting }
        }
        return .absent
    }

    /// The new records directly below a new record.
    private mutating func newChildren(of row: LocalRow) throws -> [(LocalRow, RecordTable)] {
        var children: [(LocalRow, RecordTable)] = []
        for table in file.orderedTables {
            guard let parent = table.parentField, children.count < 2 * limit, try !isParked(table) else { continue }
            children += try table.rows(
                """
                \(parent.column) = ?1 AND _zone = ?2 AND NOT EXISTS (\(Self.waiting(table)))
                AND EXISTS (\(PendingEdits.insert(of: table.id, row: "_id"))) ORDER BY _id LIMIT ?3
                """,
                [
                    .text(row.name), ColumnValue(zone.id), .integer(Int64(2 * limit - children.count)),
                    ColumnValue(now),
                ],
                db
            ).map { ($0, table) }
        }
        return children
    }

    /// Adds a record with its operation.
    private mutating func append(_ visit: Visit) throws {
        let (table, emptied) = (visit.table, visit.emptied)
        var row = visit.row
        let known = try knownVersions.fetch(named: row.name, in: zone.id)
        if let known, known.type != table.id { return try parkSameName(row, table, known.type) }
        if let problem = file.problem(of: row, table) {
            // The new records that depend on it wait, too.
            names.remove(row.name)
            excluded.insert(row.name)
            return try parkMisfit(row, table, problem)
        }
        if try knowsNewerFields() { try pendingEdits.noteFields(after: file.lastFieldID, of: row.id, table.id) }
        let edits = try joined(try pendingEdits.edits(of: row.id, table), of: &row, table)
        guard !edits.isEmpty else { return }
        guard try files.prepare(&row, of: table, edits, isCreate: known?.tag == nil, in: zone) == .ready else {
            // The new records that depend on it wait, too.
            names.remove(row.name)
            excluded.insert(row.name)
            return
        }
        let record = OutgoingRecord(
            row: row,
            table: table,
            known: known,
            move: try movedRecords.outgoing(row, table),
            edits: edits,
            inherited: try inheritedCounts.counts(of: row.id, table),
            carried: try carriedCounts.counts(of: row.id, table),
            emptied: emptied,
            device: try fileState.device,
            serviceTime: try serviceTime,
            writesTimes: !configuration.typesWithoutEditTimes.contains(table.recordType)
        )
        let (operation, times) = record.operation()
        let candidate = PushCandidate(record, size: operation.estimatedSize)
        changes.append(OutgoingChange(record: record, operation: operation, times: times, candidate: candidate))
        size += candidate.size
    }

    private func parkSameName(_ row: LocalRow, _ table: RecordTable, _ other: TableID) throws {
        let message = """
            A \(file.tablesByID[other]?.recordType ?? "record of another type") has the name of this \
            \(table.recordType). Record names are unique in a zone: change the name.
            """
        try parking.park(row.name, because: .nameTaken, message, in: zone.id, since: now)
    }

    private func parkMisfit(_ row: LocalRow, _ table: RecordTable, _ problem: String) throws {
        try unreadableRows.note(row.id, of: table.id)
        let edited = try pendingEdits.edits(of: row.id, table).map(\.raw).max() ?? now
        try parking.park(row.name, because: .value, problem, in: zone.id, since: max(now, edited))
    }

    /// Joins the edits of fields that only grow with the service's values. An edit that adds nothing to the service's
    /// value is dropped.
    private func joined(_ edits: [EditRow], of row: inout LocalRow, _ table: RecordTable) throws -> [EditRow] {
        var rest: [EditRow] = []
        var putBack: [String: FieldValue?] = [:]
        for edit in edits {
            guard let field = edit.field, edit.base != nil else {
                rest.append(edit)
                continue
            }
            let value = row.fields[field.name]
            let joined = join(value, edit.base, by: field.schema.merge)
            if field.schema.merge.putsBack(value, beside: edit.base) { putBack[field.name] = .some(value) }
            if !joined.isSame(as: value) {
                row.fields[field.name] = joined
                let pair = try ColumnPair(joined, of: field, in: zone.zoneID)
                try table.update(row.id, [field.name: pair], at: nil, db)
            }
            if field.schema.merge == .latest || field.schema.merge == .counter || !joined.isSame(as: edit.base) {
                rest.append(edit)
            } else {
                try pendingEdits.forget(field.id, of: row.id, table.id)
            }
        }
        if !putBack.isEmpty {
            try recovery.add(.policy, putBack, of: table.recordType, row.name, in: zone, at: now)
        }
        return rest
    }
}

extension PushCandidate {
    fileprivate init(_ record: OutgoingRecord, size: Int) {
        func target(_ field: StoredField) -> String? {
            record.emptied.contains(field.name) ? nil : record.row.fields[field.name]?.referenceValue?.recordName
        }
        let table = record.table
        self.init(
            name: record.row.name,
            isCreate: record.isCreate,
            parent: table.parentField.flatMap(target),
            targets: Set(table.fields.filter { $0.type == .reference }.compactMap(target)),
            size: size
        )
    }
}

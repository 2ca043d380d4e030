import CloudKitModel
import GRDB
import MistKit
import MistStore

/// The expected final state: the edits of all devices as dictionaries, and the merge by its definition.
struct ReferenceModel {
    struct Edit {
        let time: Int64
        let device: Int64
        /// The device whose file has the edit. A file that was copied is another device for the service from then on.
        let owner: String
        let value: FieldValue?
    }

    /// The edits by record name and field.
    var edits: [String: [String: [Edit]]] = [:]
    var added: [String: [String: Int64]] = [:]
    /// The devices that have deleted a record and did not take it back.
    var deletedBy: [String: Set<String>] = [:]
    private var isDeleted: Set<String> { Set(deletedBy.filter { !$0.value.isEmpty }.keys) }
    /// The records with which a record may be deleted, by all its edits: its parents, and the targets of its references
    /// with `DELETE_SELF`.
    var targets: [String: Set<String>] = [:]
    /// Names that several devices may have chosen.
    var isShared: Set<String> = []
    /// Whether something happened after which the model cannot predict the final state.
    var isRelaxed = false
    /// The records whose values that only grow, and counters, cannot be predicted.
    var isJoinedNoMore: Set<String> = []
    /// The records of which edits have ended with a delete, while a copy of the record outlived it.
    var hasEndedEdits: Set<String> = []
    /// The references that a device has cleared because their targets were moved, by record. There are receipts of them.
    var clearedLinks: [String: Set<String>] = [:]
    /// The records of which a device has undone a move.
    var hasUndoneMoves: Set<String> = []
    /// How much earlier than the latest edit the winner may be, in milliseconds.
    var tolerance: Int64 = 0

    mutating func add(_ step: Int64, to name: String, _ field: String) {
        added[name, default: [:]][field, default: 0] += step
    }

    /// Adds an edit, with its true time, or with the time that the store has given it.
    mutating func note(
        _ table: RecordTable,
        by owner: String,
        named name: String,
        in zone: ZoneRowID,
        isShared: Bool,
        _ fields: [String: FieldValue],
        at trueTime: Int64?,
        _ db: Database
    ) throws {
        if isShared { self.isShared.insert(name) }
        let device = try Int64.fetchOne(db, sql: "SELECT device FROM mist_state") ?? 0
        guard let row = try table.row(named: name, in: zone, db) else { return }
        for field in table.fields where fields[field.name] != nil {
            let time = try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(time) FROM mist_edit WHERE type = ?1 AND row = ?2
                    AND (field = ?3 OR (field = 0 AND row NOT IN (\(movedRows))))
                    """,
                arguments: [table.id, row.id, field.id]
            )
            // Without a time there was no edit: the value was the same as before.
            guard let time else { continue }
            let value = fields[field.name].flatMap { $0.isNull ? nil : $0 }
            if let target = value?.referenceValue, field.schema.isParent || target.action == .deleteSelf {
                targets[name, default: []].insert(target.recordName)
            }
            edits[name, default: [:]][field.name, default: []].append(
                Edit(time: trueTime ?? time, device: device, owner: owner, value: value)
            )
        }
    }

    /// Forgets the edits that ended with a delete of their record, of which a copy in another zone has outlived it.
    ///
    /// - Parameters:
    ///   - receipts: The values that ended. Among them are some that the service had as well.
    ///   - records: The service's records. Edits that have won in them did not end.
    mutating func forgetEditsThatEnded(
        as receipts: [String: [[String: FieldValue]]],
        besides records: [CloudKitModel.Record]
    ) {
        func brief(_ value: FieldValue?) -> String? { value.flatMap { $0.isNull ? nil : $0.brief } }
        let present = Dictionary(records.map { ($0.recordName ?? "", $0.fields) }, uniquingKeysWith: { $1 })
        for (name, fields) in edits {
            guard let ended = receipts[name] else { continue }
            for (field, list) in fields {
                edits[name]?[field] = list.filter { edit in
                    let value = brief(edit.value)
                    if let record = present[name], brief(record[field]) == value { return true }
                    return !ended.contains { $0[field].map { brief($0) == value } ?? false }
                }
            }
            // What of the other values was pending is not in a receipt.
            isJoinedNoMore.insert(name)
        }
    }

    /// Notes records of which edits have ended with a delete, while the record is there.
    mutating func noteEndedEdits(of names: Set<String>) {
        isJoinedNoMore.formUnion(names)
        hasEndedEdits.formUnion(names)
    }

    /// Whether a record has no parent because its move was undone when the former parent had been deleted.
    private func isRoot(
        _ name: String,
        _ field: RecordSchema.Field,
        _ value: FieldValue?,
        in records: [String: CloudKitModel.Record],
        after winner: Edit
    ) -> Bool {
        guard field.isParent, value == nil, hasUndoneMoves.contains(name), let former = winner.value?.referenceValue
        else {
            return false
        }
        return records[former.recordName] == nil && mayBeDeleted(former.recordName)
    }

    /// Whether a record was deleted, or may have been deleted with another record.
    private func mayBeDeleted(_ name: String) -> Bool {
        var seen: Set<String> = []
        var names = [name]
        while let next = names.popLast() {
            if deletedBy[next]?.isEmpty == false { return true }
            if seen.insert(next).inserted { names += targets[next] ?? [] }
        }
        return false
    }

    /// Finds the first difference of the service's records from the expected state.
    ///
    /// - Parameters:
    ///   - records: The service's records.
    ///   - schemas: The record types.
    ///   - unclear: The counters that may have another value, by record.
    ///   - outlived: The records of which a copy in another zone may have outlived a delete.
    /// - Returns: A description of the difference; `nil` where there is none.
    func problem(
        with records: [CloudKitModel.Record],
        _ schemas: [RecordSchema],
        unclear: [String: Set<String>],
        outlived: Set<String>
    ) -> String? {
        let byName = Dictionary(records.map { ($0.recordName ?? "", $0) }, uniquingKeysWith: { $1 })
        for name in isDeleted.subtracting(isShared).subtracting(outlived) where byName[name] != nil {
            return "\(name) was deleted, and is at the service."
        }
        for (name, fields) in edits.sorted(by: { $0.key < $1.key }) where !isShared.contains(name) {
            guard let record = byName[name] else {
                if mayBeDeleted(name) { continue }
                return "\(name) was added and never deleted, and is not at the service."
            }
            guard let schema = schemas.first(where: { $0.recordType == record.recordType }) else { continue }
            for field in schema.fields where field.merge == .latest || !isJoinedNoMore.contains(name) {
                let edits = fields[field.name] ?? []
                let value = record.fields[field.name].flatMap { $0.isNull ? nil : $0 }
                switch field.merge {
                case .latest:
                    if hasEndedEdits.contains(name) { continue }
                    let winner = edits.max { ($0.time, $0.device) < ($1.time, $1.device) }
                    guard let winner, value?.brief != winner.value?.brief else { continue }
                    let isClose = edits.contains {
                        $0.time > winner.time - tolerance && $0.value?.brief == value?.brief
                    }
                    if isClose || isRoot(name, field, value, in: byName, after: winner) { continue }
                    if value == nil, clearedLinks[name]?.contains(field.name) == true { continue }
                    return """
                        \(name).\(field.name) is \(value?.brief ?? "absent"), and the latest edit was \
                        \(winner.value?.brief ?? "absent") at \(winner.time).
                        """
                case .greatest, .smallest:
                    // A device may have made several edits before it sent the first one. Then only the last one counts.
                    let last = Dictionary(edits.map { ($0.owner, $0.value?.int64Value) }, uniquingKeysWith: { $1 })
                        .values.compactMap(\.self)
                    let expected = field.merge == .greatest ? last.max() : last.min()
                    guard let expected else { continue }
                    let isJoined = value?.int64Value.map { field.merge == .greatest ? $0 >= expected : $0 <= expected }
                    if isJoined == true { continue }
                    return "\(name).\(field.name) is \(value?.brief ?? "absent"), and should be \(expected)."
                case .union:
                    let union = Set(edits.flatMap { $0.value?.stringListValue ?? [] })
                    guard Set(value?.stringListValue ?? []) != union else { continue }
                    return "\(name).\(field.name) is \(value?.brief ?? "absent"), and should have \(union.sorted())."
                case .counter:
                    let expected = added[name]?[field.name] ?? 0
                    let isUnclear = unclear[name]?.contains(field.name) ?? false
                    guard value?.int64Value ?? 0 != expected, !isUnclear else { continue }
                    return
                        "\(name).\(field.name) is \(value?.int64Value ?? 0), and the sum of all steps is \(expected)."
                }
            }
        }
        return nil
    }
}

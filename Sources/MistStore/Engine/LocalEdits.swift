import MistKit
import SQLiteTables

/// The edits of a row as a merge needs them.
struct LocalEdits {
    /// The edited fields with their present values, by name. An insert is an edit of all fields that have a value.
    var fields: [String: PendingEdit] = [:]
    /// The times of the edits by the machine's clock.
    var raws: [String: MachineTime] = [:]
    /// Edits whose value no field can have. There is nothing to merge: they stay as they are, and wait. An insert is an
    /// edit of all of them.
    var misfits: [String: EditRow] = [:]

    var isEmpty: Bool { fields.isEmpty && misfits.isEmpty }
}

extension EngineProcedure {
    func localEdits(of row: LocalRow, _ table: RecordTable) throws -> LocalEdits {
        let edits = try pendingEdits.edits(of: row.id, table)
        guard !edits.isEmpty else { return LocalEdits() }
        var local = LocalEdits()
        let device = try fileState.device
        // The insert of a moved row says that its copy is to be created. Its fields were not edited.
        let insert = try movedRecords.former(of: row, table)?.tag == nil ? edits.first { $0.field == nil } : nil
        if let insert {
            let time = EditTime(insert.time, device: device)
            for (name, value) in row.fields {
                local.fields[name] = PendingEdit(value: value, base: nil, time: time)
                local.raws[name] = insert.raw
            }
        }
        for edit in edits {
            guard let field = edit.field, row.misfits[field.name] == nil else { continue }
            local.fields[field.name] = PendingEdit(
                value: row.fields[field.name],
                // The service has no value of a record that was never acknowledged.
                base: insert == nil ? edit.base : nil,
                time: EditTime(edit.time, device: device)
            )
            local.raws[field.name] = edit.raw
        }
        for (name, count) in try inheritedCounts.counts(of: row.id, table) { local.fields[name]?.inherited = count }
        for (name, counts) in try carriedCounts.counts(of: row.id, table) { local.fields[name]?.carried = counts }
        for name in row.misfits.keys { local.misfits[name] = edits.first { $0.field?.name == name } ?? insert }
        return local
    }
}

extension EditTime {
    init(_ time: ServiceTime, device: Int64) {
        self.init(milliseconds: time.rawValue, device: device)
    }
}

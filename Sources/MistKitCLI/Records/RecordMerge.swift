import MistKit

/// The merge of a record that was changed in two places.
///
/// A field that one side changed has that side's value. Where both gave a field different values, it is a conflict.
struct RecordMerge: Hashable {
    /// A field to save.
    struct Change: Hashable {
        var name: String
        var value: FieldValue
    }

    /// A field that both sides changed.
    struct Conflict: Hashable {
        var name: String
        var mine: FieldValue
        var theirs: FieldValue
    }

    /// Whose value a conflict takes.
    enum Side: String, CaseIterable {
        case mine, theirs
    }

    /// The fields to save, because they differ from the service's record; a null removes a field.
    ///
    /// Fields that both sides began with come first, in their order.
    private(set) var changes: [Change] = []
    /// The fields that both sides changed to different values.
    private(set) var conflicts: [Conflict] = []

    /// Merges the two sides.
    ///
    /// - Parameters:
    ///   - base: The record that both sides began with.
    ///   - mine: The record as one side wants it.
    ///   - theirs: The record as the service has it.
    ///   - side: Whose value a conflict takes; without it conflicts are kept for the caller.
    init(base: Record.Fields, mine: Record.Fields, theirs: Record.Fields, preferring side: Side? = nil) {
        for name in Self.names(base, mine, theirs) {
            let (old, own, other) = (Self.value(name, base), Self.value(name, mine), Self.value(name, theirs))
            guard own != old, own != other else { continue }
            if other != old, side == nil {
                conflicts.append(Conflict(name: name, mine: own, theirs: other))
            } else if other == old || side == .mine {
                changes.append(Change(name: name, value: own))
            }
        }
    }

    /// The operation that saves the changes, with the change tag of the record that the service has.
    func update(of record: Record) -> RecordOperation {
        var change = Record(recordType: record.recordType ?? "", recordName: record.recordName)
        change.recordChangeTag = record.recordChangeTag
        for field in changes { change[field.name] = field.value }
        return .update(change)
    }

    /// The names of all fields, those of the first record first.
    private static func names(_ records: Record.Fields...) -> [String] {
        var known: Set<String> = []
        return records.flatMap { $0.map(\.name) }.filter { known.insert($0).inserted }
    }

    /// The value to compare: a missing field is null, and the forms of an encrypted value are made the same.
    private static func value(_ name: String, _ fields: Record.Fields) -> FieldValue {
        guard let value = fields[name] else { return .null }
        return value.isEncrypted ? .encrypted(value.plain) : value.plain
    }
}

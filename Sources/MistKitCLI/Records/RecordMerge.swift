import MistKit

/// The fields of a record that were changed in two places, brought together.
///
/// A field that one side changed has that side's value. Where both gave a field different values, it is a conflict.
struct RecordMerge: Hashable {
    /// A field to save, or one that has to be decided.
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

    /// What differs from the service's record, in the order of its fields; a null removes a field.
    private(set) var changes: [Change] = []
    /// What both sides changed.
    private(set) var conflicts: [Conflict] = []

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

    /// The operation that saves the changes, in the state of the record that the service has.
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

    /// A field that is not there is null, and encrypted values are compared by what they hold.
    private static func value(_ name: String, _ fields: Record.Fields) -> FieldValue {
        guard let value = fields[name] else { return .null }
        return value.isEncrypted ? .encrypted(value.plain) : value.plain
    }
}

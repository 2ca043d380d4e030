package import CloudKitModel
import MistKit

/// A field that a program has changed in a record that it had read, and the value that the record has now.
///
/// A program may hold a record for a long time, for instance in a form. Meanwhile other values arrive from other
/// devices, or another part of the program writes them. So what counts is the difference between the value that was
/// read and the value that the program wrote.
package struct FieldChange: Hashable {
    /// The value that the program read.
    var read: FieldValue?
    /// The value that the program wrote over it.
    var written: FieldValue?
    /// The value that the record has now.
    var present: FieldValue?

    /// The value to store.
    ///
    /// - Parameter policy: The policy of the field.
    /// - Returns: For a counter, the present value plus what the program added. For a field that only grows, the join of
    ///   the present value and the written one. Otherwise the written value. `nil` where the sum of a counter has more
    ///   than 64 bits.
    package func value(by policy: FieldMerge) -> FieldValue? {
        if present.isSame(as: read) { return written ?? .null }
        switch policy {
        case .latest: return written ?? .null
        case .greatest, .smallest, .union: return join(written, present, by: policy) ?? .null
        case .counter:
            let (added, isTooFar) = Self.number(written).subtractingReportingOverflow(Self.number(read))
            let (sum, isTooLarge) = Self.number(present).addingReportingOverflow(added)
            return isTooFar || isTooLarge ? nil : .int64(sum)
        }
    }

    /// Whether the policy puts back a part of what the program wrote: a value that is less than the present one, or
    /// elements that the program took out of a list that only grows.
    func isPutBack(by policy: FieldMerge) -> Bool {
        guard !present.isSame(as: read) else { return false }
        switch policy {
        case .latest, .counter: return false
        case .greatest, .smallest: return policy.putsBack(written, beside: present)
        case .union: return policy.putsBack(written, beside: read)
        }
    }

    /// The number of a counter. An absent value counts as 0.
    private static func number(_ value: FieldValue?) -> Int64 { value?.present?.int64Value ?? 0 }
}

extension RecordTable {
    /// The fields that a program changed in a record since it was read.
    ///
    /// - Parameters:
    ///   - read: The values that the program read.
    ///   - written: All values that the record has in the program now.
    ///   - row: The record as it is now.
    /// - Returns: The changed fields, each with its three values.
    package func changes(
        from read: [String: FieldValue],
        to written: [String: FieldValue],
        in row: LocalRow
    ) -> [(field: StoredField, change: FieldChange)] {
        fields.compactMap { field in
            let (read, written) = (read[field.name], written[field.name])
            // References that differ only in their zone are a change: the zone is checked.
            guard read?.present != written?.present else { return nil }
            return (field, FieldChange(read: read, written: written, present: row.fields[field.name]))
        }
    }
}

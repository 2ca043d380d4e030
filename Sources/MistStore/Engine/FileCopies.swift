import MistKit

/// Copies of a file: a folder that was copied, or a backup that was restored.
///
/// Two copies have the same device number, and write the parts of counters under the same number. So neither finds its
/// own part in a version after the other one has written, and would count a lost reply twice. The copy that notices the
/// other one takes a new number.
extension VersionMerge {
    /// Takes a new number if a version has a part of a counter under this file's number that this file has not written.
    ///
    /// - Parameters:
    ///   - table: The table of the record.
    ///   - counters: The version that this file knew before, and its writes.
    ///   - version: The edit times of the version.
    /// - Throws: A `DatabaseError` when the file fails.
    func noticeCopies(of table: RecordTable, _ counters: CounterHistory, in version: EditTimes) throws {
        guard !version.parts.isEmpty else { return }
        let device = try fileState.device
        let isForeign = table.fields.contains { field in
            guard field.schema.merge == .counter, let theirs = version.part(of: field.name, device: device) else {
                return false
            }
            let known = counters.known.part(of: field.name, device: device)
            return theirs.sequence > known?.sequence ?? .min && !counters.writes.contains(theirs)
        }
        if isForeign { try fileState.setDevice(configuration.newDevice(), at: now) }
    }
}

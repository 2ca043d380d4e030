import BushelSources
import MistModels

/// The records of one kind that a run writes: new records, and records that differ, with only the fields that differ.
/// Nothing is deleted.
public struct SyncPlan<R: Release>: Sendable {
    /// Releases without a record.
    public private(set) var new: [StoredRecord<R>] = []
    /// Records that differ from their releases. An update sends the fields that differ.
    public private(set) var changed: [StoredRecord<R>] = []
    /// The number of records that stay as they are.
    public private(set) var unchanged = 0

    /// Compares releases with their records.
    ///
    /// - Parameters:
    ///   - releases: The new state of the history.
    ///   - stored: The records of the database by the keys of their releases.
    public init(_ releases: [R], stored: [String: StoredRecord<R>]) {
        for release in releases {
            guard var record = stored[release.key] else {
                new.append(StoredRecord(release, recordName: release.recordName))
                continue
            }
            record.model = release
            if record.hasChanges {
                changed.append(record)
            } else {
                unchanged += 1
            }
        }
    }
}

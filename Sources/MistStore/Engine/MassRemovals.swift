import GRDB
import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Records that left this machine because they were deleted elsewhere, more than
/// ``StoreConfiguration/massDeletionLimit`` in one synchronisation.
///
/// The deletes were applied. The values of these records are in the recovery log, as long as its limits allow:
/// ``LocalDatabase/recoveryLog(limit:)``.
public struct MassRemoval: Hashable, Sendable {
    /// When everything was fetched, by this machine's clock.
    public let time: Date
    /// The number of records that left.
    public let removed: Int
    /// The number of records that the database had before.
    public let records: Int
}

/// Decides about the receipts of rows that left without edits.
///
/// How many rows leave is known only after the last page of changes. So each of them has an entry in the recovery log at
/// first; the entries are kept where they are more than the limit, and removed otherwise.
struct MassRemovals: EngineProcedure {
    let transaction: EngineTransaction

    /// Decides, after everything was fetched.
    ///
    /// - Parameter removed: The number of rows that left since the last decision.
    /// - Throws: A `DatabaseError` when the file fails.
    func decide(about removed: Int) throws {
        guard removed > 0 else { return }
        let records = try knownVersions.count(in: scope) + removed
        let isMass = configuration.massDeletionLimit?.isExceeded(by: removed, of: records) ?? false
        try recovery.decideProvisional(keeps: isMass)
        try scopeState.endRemoval(isMass ? (removed, records, now) : nil)
    }
}

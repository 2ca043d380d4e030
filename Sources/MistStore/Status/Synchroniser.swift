import ProcessLeases
import SQLiteTables

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The store that synchronises a file: at most one of all that have the file open, in this process and in others.
///
/// ```swift
/// if let synchroniser = try await store.privateDatabase.status().synchroniser, !synchroniser.isThisStore {
///     print("\(synchroniser.programName) synchronises, process \(synchroniser.processIdentifier)")
/// }
/// ```
public struct Synchroniser: Hashable, Sendable {
    /// Whether it is the store whose status it is. Two stores in one process are two.
    public let isThisStore: Bool
    /// The name of its program.
    public let programName: String
    /// The number of its process. In a container, it is the number there.
    public let processIdentifier: Int32
    /// When it began, by the machine's clock.
    public let since: Date
    /// When it last showed that it lives, by the machine's clock: about once a second. Of a process that was stopped or
    /// killed, the time stays. Another process takes over when it next synchronises.
    public let lastSign: Date
}

extension Synchroniser {
    /// The holder of a lease.
    init(_ holder: LeaseHolder) {
        isThisStore = holder.isThisMember
        programName = holder.programName
        processIdentifier = holder.processIdentifier
        since = ColumnValue.date(holder.since)
        lastSign = ColumnValue.date(holder.lastSign)
    }
}

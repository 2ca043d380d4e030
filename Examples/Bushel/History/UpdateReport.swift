import BushelSources
import Foundation

/// The result of a run for one source.
public struct SourceReport: Sendable, Hashable, Codable {
    /// The outcome of a source.
    public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        /// There is a new document, and it was read.
        case fetched
        /// The document has not changed since the last run.
        case notModified
        /// There is no document, or it cannot be read. The source's earlier values stay.
        case failed
    }

    /// The source.
    public var source: SourceID
    /// The address.
    public var address: String
    /// The outcome.
    public var outcome: Outcome
    /// Why it failed.
    public var reason: String?
    /// The kind of failure in one word for programs, such as `timedOut`; `unreadable` for a document that cannot be
    /// read.
    public var failure: String?
    /// The number of releases in the document.
    public var releases = 0
    /// The entries and values of the document that were left out.
    public var problems: [SourceProblem] = []

    init(_ source: Source, _ outcome: Outcome) {
        self.source = source.id
        address = source.address
        self.outcome = outcome
    }
}

/// The result of a run for one kind of release.
public struct KindReport: Sendable, Hashable, Codable {
    /// The kind.
    public var kind: ReleaseKind
    /// The number of records that were created.
    public var created = 0
    /// The number of records that were updated.
    public var updated = 0
    /// The number of records that stay as they are.
    public var unchanged = 0
    /// The number of records that could not be saved.
    public var notSaved = 0
    /// Why the first of the records that were not saved could not be saved.
    public var reason: String?

    init(_ kind: ReleaseKind) {
        self.kind = kind
    }

    mutating func fail(_ reason: String, count: Int = 1) {
        notSaved += count
        self.reason = self.reason ?? reason
    }
}

/// What a run did.
public struct UpdateReport: Sendable, Hashable, Codable {
    /// When the run began.
    public var startedAt: Date
    /// When the run ended.
    public var endedAt: Date
    /// The sources, in their order.
    public var sources: [SourceReport]
    /// The kinds of releases.
    public var kinds: [KindReport]
    /// Versions that releases of Xcode name and the history does not have.
    public var missing: [References.Missing]
    /// Why the states of the sources could not be saved.
    public var stateFailure: String?

    /// Whether everything that was fetched is saved.
    public var isSaved: Bool { stateFailure == nil && kinds.allSatisfy { $0.notSaved == 0 } }

    /// The sources that failed.
    public var failures: [SourceReport] { sources.filter { $0.outcome == .failed } }
}

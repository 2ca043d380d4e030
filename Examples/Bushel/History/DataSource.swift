import BushelSources
import Foundation
import MistModels

/// The state of a source. It is a record of the database, so that each machine knows it.
@CloudKitRecord("DataSource")
public struct DataSource: Hashable, Sendable {
    /// The source.
    @CloudKitField(.queryable, .sortable) public var source: SourceID
    /// The address of the last request. The validators belong to this address.
    public var address: String
    /// When the source was last requested, with or without success.
    @CloudKitField(.queryable, .sortable) public var lastAttempt: Date?
    /// When the source was last fetched and read, or had not changed.
    @CloudKitField(.queryable, .sortable) public var lastSuccess: Date?
    /// When the source last sent a document.
    public var lastDocument: Date?
    /// The date of the source's statements.
    public var statedAt: Date?
    /// The ETag of the last document of which everything is saved; `nil` after a failure.
    public var etag: String?
    /// The Last-Modified of the last document of which everything is saved; `nil` after a failure.
    public var lastModified: String?
    /// Why the last attempt failed; `nil` after a success.
    public var lastError: String?
    /// The number of failures since the last success.
    @CloudKitField(.queryable) public var failureCount: Int = 0
    /// The number of releases in the last document.
    public var releaseCount: Int = 0
    /// The number of entries and values of the last document that were left out.
    public var problemCount: Int = 0

    /// Creates the state of a source that was not requested yet.
    public init(_ source: SourceID, address: String) {
        self.source = source
        self.address = address
    }

    /// The name of a source's record.
    public static func recordName(for source: SourceID) -> String { "\(recordType)-\(source)" }
}

/// One attempt to fetch a source, which can be applied to any version of its state.
///
/// Runs may overlap: the newest attempt describes the source. An older attempt changes only the time of the last
/// success.
public struct SourceAttempt: Sendable, Hashable {
    /// The result of an attempt.
    public enum Outcome: Sendable, Hashable {
        /// There is a document, and it was read.
        case fetched(Document)
        /// The document has not changed.
        case notModified
        /// There is no document, or it cannot be read.
        case failed(String)
    }

    /// The description of a document.
    public struct Document: Sendable, Hashable {
        /// The header field ETag.
        public var etag: String?
        /// The header field Last-Modified.
        public var lastModified: String?
        /// The date of the document's statements.
        public var statedAt: Date
        /// The number of releases.
        public var releaseCount: Int
        /// The number of entries and values that were left out.
        public var problemCount: Int

        /// Creates a description.
        public init(
            etag: String? = nil,
            lastModified: String? = nil,
            statedAt: Date,
            releaseCount: Int = 0,
            problemCount: Int = 0
        ) {
            self.etag = etag
            self.lastModified = lastModified
            self.statedAt = statedAt
            self.releaseCount = releaseCount
            self.problemCount = problemCount
        }
    }

    /// The source.
    public var source: Source
    /// When the source was requested, rounded down to whole seconds.
    public var date: Date
    /// The result of the attempt.
    public var outcome: Outcome

    /// Creates an attempt.
    public init(_ source: Source, at date: Date, _ outcome: Outcome) {
        self.source = source
        self.date = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
        self.outcome = outcome
    }

    /// Applies the attempt to a version of the state.
    ///
    /// - Parameters:
    ///   - state: The state.
    ///   - keepingValidators: Whether the next request may be conditional. It may not if something was not saved: then
    ///     the next run has to get the document again.
    public func apply(to state: inout DataSource, keepingValidators: Bool = true) {
        let isNewest = state.lastAttempt.map { $0 <= date } ?? true
        // After a lost reply, and after a run in the same second, the state may already have the attempt.
        if state.lastAttempt != date || state.failureCount == 0, case .failed = outcome, isNewest {
            state.failureCount += 1
        }
        state.lastAttempt = max(state.lastAttempt ?? date, date)
        if case .failed(let reason) = outcome {
            guard isNewest else { return }
            state.lastError = reason.count > 300 ? String(reason.prefix(299)) + "…" : reason
            // Other sources may have withdrawn values in the meantime, so the next run needs the whole document of this
            // source.
            state.etag = nil
            state.lastModified = nil
            return
        }
        state.lastSuccess = max(state.lastSuccess ?? date, date)
        guard isNewest else { return }
        state.address = source.address
        state.lastError = nil
        state.failureCount = 0
        switch outcome {
        case .failed: break
        case .notModified: if source.dating == .request { state.statedAt = date }
        case .fetched(let document):
            state.lastDocument = date
            state.statedAt = document.statedAt
            state.etag = keepingValidators ? document.etag : nil
            state.lastModified = keepingValidators ? document.lastModified : nil
            state.releaseCount = document.releaseCount
            state.problemCount = document.problemCount
        }
    }
}

extension Source: Hashable {
    /// Sources are equal if their names and addresses are equal.
    public static func == (left: Source, right: Source) -> Bool { left.id == right.id && left.address == right.address }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

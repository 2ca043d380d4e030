import CelestraFeeds
import Foundation
import MistModels
import WebFetching

/// A run over the feeds of a database: it fetches each feed, saves the changes of its articles, and counts the attempt.
///
/// Feeds of different hosts are fetched concurrently, feeds of one host one after another. Runs may overlap, on one
/// machine or on several: the record name of an article follows from its feed and guid, and counts are added under
/// optimistic locking.
///
/// ```swift
/// try await withWebFetcher(.celestra) { fetcher in
///     let run = UpdateRun(database: service.publicDatabase, fetcher: fetcher)
///     let report = try await run.update(FeedSelection())
///     print(report.count(.updated), report.newArticles)
/// }
/// ```
public struct UpdateRun: Sendable {
    /// The database.
    public var database: CloudKitDatabase
    /// The fetcher of the feeds.
    public var fetcher: WebFetcher
    /// The maximum number of hosts to which requests are sent at a time.
    public var concurrency = 8
    /// How long an article is kept after its feed no longer has it, in seconds; 30 days by default.
    public var articleLifetime = 30.0 * 86_400
    /// When the run has to end, for programs with a deadline; `nil` without a deadline.
    public var timeLimit: RunTimeLimit?
    /// Returns the current time.
    public var now: @Sendable () -> Date = { Date() }
    /// The clock that measures the time until ``RunTimeLimit/end``.
    public var timer: any Clock<Duration> = ContinuousClock()

    /// Creates a run.
    public init(database: CloudKitDatabase, fetcher: WebFetcher) {
        self.database = database
        self.fetcher = fetcher
    }

    /// Updates feeds and deletes expired articles.
    ///
    /// With a ``timeLimit``, the feeds that were fetched longest ago come first. Feeds for which the time is not enough
    /// have the outcome ``FeedReport/Outcome/outOfTime``, and the next run with a time limit begins
    /// with them.
    ///
    /// - Parameters:
    ///   - selection: The feeds to update.
    ///   - progress: Called after each feed, with its report.
    /// - Returns: The report. Feeds that fail are part of it and do not end the run.
    /// - Throws: A `CloudKitError` where the feeds cannot be listed, or `CancellationError`.
    public func update(
        _ selection: FeedSelection = FeedSelection(),
        progress: @Sendable @escaping (FeedReport) -> Void = { _ in }
    ) async throws -> UpdateReport {
        let start = now()
        let feeds = try await database.records(matching: selection.query).collect().filter {
            selection.includes($0.model)
        }
        let reports = try await update(feeds, ignoringIntervals: selection.ignoresIntervals, progress: progress)
        let expiry = try await deleteExpiredArticlesInTime()
        return UpdateReport(
            startedAt: start,
            endedAt: now(),
            feeds: reports,
            expiredArticles: expiry.deleted,
            expiryFailure: expiry.failure
        )
    }

    private func update(
        _ feeds: [StoredRecord<FeedRecord>],
        ignoringIntervals: Bool,
        progress: @Sendable @escaping (FeedReport) -> Void
    ) async throws -> [FeedReport] {
        var waiting = UpdateOrder.hosts(of: feeds.map(\.model), oldestFirst: timeLimit != nil)[...]
        var reports = [FeedReport?](repeating: nil, count: feeds.count)
        try await withThrowingTaskGroup(of: [(Int, FeedReport)].self) { group in
            func startNext() {
                guard let host = waiting.popFirst() else { return }
                group.addTask {
                    var results: [(Int, FeedReport)] = []
                    for index in host {
                        try Task.checkCancellation()
                        let report = try await updateInTime(feeds[index], ignoringInterval: ignoringIntervals)
                        progress(report)
                        results.append((index, report))
                    }
                    return results
                }
            }
            for _ in 0..<max(1, concurrency) { startNext() }
            while let results = try await group.next() {
                for (index, report) in results { reports[index] = report }
                startNext()
            }
        }
        return reports.compactMap(\.self)
    }

    // MARK: - One feed

    /// Updates a feed, unless the time of the run is over. If the time ends while the feed is under way, the update
    /// stops: articles may be saved without the attempt being counted, so the next run fetches the document again.
    private func updateInTime(_ feed: StoredRecord<FeedRecord>, ignoringInterval: Bool) async throws -> FeedReport {
        guard let timeLimit else { return try await update(feed, ignoringInterval: ignoringInterval) }
        guard now() < timeLimit.lastStart else {
            return FeedReport(feed, leftBecause: "The time of the run was over before the feed was fetched.")
        }
        let report = try await within(timeLimit.end.timeIntervalSince(now()), on: timer) {
            try await update(feed, ignoringInterval: ignoringInterval)
        }
        return report
            ?? FeedReport(feed, leftBecause: "The time of the run was over while the feed was fetched or saved.")
    }

    /// Updates one feed: fetches it, saves its articles and then the attempt.
    ///
    /// - Parameters:
    ///   - feed: The feed, as it was fetched from the database.
    ///   - ignoringInterval: Whether the feed is fetched even before its ``FeedRecord/minUpdateInterval`` is over.
    /// - Returns: The report of the feed.
    /// - Throws: `CancellationError`, or a `CloudKitError` of a call that was cancelled.
    public func update(_ feed: StoredRecord<FeedRecord>, ignoringInterval: Bool = false) async throws -> FeedReport {
        let date = now()
        guard ignoringInterval || feed.model.isDue(at: date) else {
            var report = FeedReport(
                recordName: feed.recordName,
                title: feed.title,
                feedURL: feed.feedURL,
                outcome: .postponed
            )
            report.reason = "The feed asks for \(Int(feed.minUpdateInterval ?? 0)) seconds between two requests."
            return report
        }
        let result = try await fetcher.fetch(feed.feedURL, etag: feed.etag, lastModified: feed.lastModified)
        return try await update(feed, with: result, fetchedAt: date)
    }

    /// Updates a feed with a response: saves its articles and then the attempt.
    ///
    /// - Parameters:
    ///   - feed: The feed, as it is in the database.
    ///   - result: The response to a request for the feed.
    ///   - date: When the request was sent.
    /// - Returns: The report of the feed.
    /// - Throws: `CancellationError`, or a `CloudKitError` of a call that was cancelled.
    public func update(
        _ feed: StoredRecord<FeedRecord>,
        with result: FetchResult,
        fetchedAt date: Date
    ) async throws -> FeedReport {
        var report = FeedReport(
            recordName: feed.recordName,
            title: feed.title,
            feedURL: feed.feedURL,
            outcome: .notModified
        )
        var attempt = FeedAttempt(
            feedURL: feed.feedURL,
            date: date,
            outcome: .notModified,
            newAddress: result.newAddress?.text
        )
        report.newAddress = attempt.newAddress
        switch result.answer {
        case .notModified: break
        case .failure(let failure) where failure.code == .postponed:
            report.outcome = .postponed
            report.reason = failure.message
            return report
        case .failure(let failure):
            report.fail(failure.message, code: failure.code.description)
            attempt.outcome = .failed(reason: failure.message, isGone: failure.code == .gone)
        case .document(let document):
            attempt.outcome = try await save(document, of: feed, report: &report)
            if case .fetched(let information) = attempt.outcome { report.title = information.title ?? report.title }
        }
        do {
            try await record(attempt, in: feed)
        } catch let error as CloudKitError where error.code != .cancelled && error.code != .outcomeUnknown {
            report.notSaved("The attempt was not counted: \(error)")
        }
        return report
    }

    /// Reads a document and saves its articles.
    ///
    /// - Returns: The outcome of the attempt. It has no validators if articles were not saved, so that the next run
    ///   gets the document again.
    private func save(
        _ document: FetchedDocument,
        of feed: StoredRecord<FeedRecord>,
        report: inout FeedReport
    ) async throws -> FeedAttempt.Outcome {
        let parsed: ParsedFeed
        do {
            parsed = try document.feed()
        } catch {
            let code = (error as? FeedError).map { "\($0.code)" } ?? "unreadable"
            report.fail("\(error)", code: code)
            return .failed(reason: "\(error)", isGone: false)
        }
        report.outcome = .updated
        report.problems = parsed.problems.map(\.description)
        var information = FeedInformation(parsed.feed, etag: document.etag, lastModified: document.lastModified)
        let articles = ArticlePlan.articles(
            of: parsed.feed,
            feedURL: feed.feedURL,
            feedRecordName: feed.recordName,
            now: now(),
            lifetime: articleLifetime
        )
        do {
            try await save(articles, report: &report)
        } catch let error as CloudKitError where error.code != .cancelled && error.code != .outcomeUnknown {
            report.notSaved("Articles were not saved: \(error)")
        }
        if report.outcome == .notSaved {
            information.etag = nil
            information.lastModified = nil
        }
        return .fetched(information)
    }

    private func save(_ articles: [NamedArticle], report: inout FeedReport) async throws {
        guard !articles.isEmpty else { return }
        var existing: [String: StoredRecord<ArticleRecord>] = [:]
        for result in try await database.fetch(ArticleRecord.self, named: articles.map(\.recordName)) {
            switch result {
            case .success(let record): existing[record.recordName] = record
            case .failure(let error) where error.code == .notFound: break
            case .failure(let error): throw error
            }
        }
        let plan = ArticlePlan(articles, existing: existing)
        report.unchangedArticles = plan.unchanged
        guard !plan.new.isEmpty || !plan.changed.isEmpty else { return }
        for result in try await database.save(plan.new + plan.changed) {
            switch result {
            case .success(let record):
                if existing[record.recordName] == nil { report.newArticles += 1 } else { report.changedArticles += 1 }
            case .failure(let error) where error.code == .exists || error.code == .conflict:
                // Another run saved the article.
                report.unchangedArticles += 1
            case .failure(let error):
                report.notSaved("An article was not saved: \(error)")
            }
        }
    }

    /// Adds an attempt to the feed's record. After a conflict, the attempt is added to the service's version of the
    /// record.
    private func record(_ attempt: FeedAttempt, in feed: StoredRecord<FeedRecord>) async throws {
        var feed = feed
        attempt.apply(to: &feed.model)
        try await database.update(feed) { conflict in
            var merged = conflict.server
            // After a lost reply the record may already have the attempt.
            if conflict.serverMayHoldOwnWrite, attempt.isLast(of: merged.model) { return merged }
            attempt.apply(to: &merged.model)
            return merged
        }
    }

    // MARK: - Expiry

    private func deleteExpiredArticlesInTime() async throws -> (deleted: Int, failure: String?) {
        guard let timeLimit else { return try await deleteExpiredArticles() }
        return try await within(timeLimit.expiryEnd.timeIntervalSince(now()), on: timer) {
            try await deleteExpiredArticles()
        } ?? (0, "The time of the run was over before expired articles were deleted. The next run deletes them.")
    }

    /// Deletes expired articles.
    ///
    /// An article whose lifetime another run has extended meanwhile has a new change tag, and stays.
    private func deleteExpiredArticles() async throws -> (deleted: Int, failure: String?) {
        let expired = Query(
            recordType: ArticleRecord.recordType,
            filters: [Filter("expiresAt", .lessThanOrEquals, .timestamp(now()))]
        )
        var deleted = 0
        var failure: CloudKitError?
        do {
            let articles = try await database.records(matching: expired, desiredKeys: []).collect()
            guard !articles.isEmpty else { return (0, nil) }
            for result in try await database.delete(articles) {
                switch result {
                case .success: deleted += 1
                case .failure(let error) where error.code == .notFound || error.code == .conflict: break
                case .failure(let error): failure = failure ?? error
                }
            }
        } catch let error as CloudKitError where error.code != .cancelled && error.code != .outcomeUnknown {
            failure = error
        }
        return (deleted, failure.map { "\($0)" })
    }
}

extension FetchedDocument {
    /// Reads the document as a feed.
    fileprivate func feed() throws -> ParsedFeed {
        try FeedParser.parse(body, contentType: contentType, address: address.text)
    }
}

extension FetchResult {
    /// Why the address has no feed: what was found there instead. `nil` for a feed, and for a failure that may pass,
    /// such as a host that does not answer now.
    public var reasonWithoutFeed: String? {
        switch answer {
        case .notModified: return nil
        case .document(let document):
            do {
                _ = try document.feed()
                return nil
            } catch {
                return "\(error)"
            }
        case .failure(let failure):
            switch failure.code {
            case .status:
                // 408, 425 and 429 ask for another attempt, and 5xx is about the host.
                let isTemporary = failure.status.map { [408, 425, 429].contains($0) || $0 >= 500 } ?? true
                return isTemporary ? nil : failure.message
            // Without a status, the file was read and forbids the address.
            case .refusedByRobots: return failure.status == nil ? failure.message : nil
            case .gone, .invalidAddress, .invalidRedirect, .redirectLoop, .tooManyRedirects, .tooLarge:
                return failure.message
            default: return nil
            }
        }
    }
}

extension FeedReport {
    fileprivate init(_ feed: StoredRecord<FeedRecord>, leftBecause reason: String) {
        self.init(recordName: feed.recordName, title: feed.title, feedURL: feed.feedURL, outcome: .outOfTime)
        self.reason = reason
    }

    fileprivate mutating func fail(_ reason: String, code: String) {
        outcome = .failed
        self.reason = reason
        failure = code
    }

    /// Sets the outcome, and keeps the reason of the first failure.
    fileprivate mutating func notSaved(_ reason: String) {
        if outcome != .notSaved { self.reason = reason }
        outcome = .notSaved
    }
}

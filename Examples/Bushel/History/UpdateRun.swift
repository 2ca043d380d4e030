import BushelSources
import Foundation
import MistModels
import WebFetching
import WebText

/// A run over the sources: it fetches them concurrently, merges their statements into the history, and writes the
/// changes.
///
/// A source that fails does not affect the others, and its earlier values stay. Runs may overlap, on one machine or on
/// several: after a conflict, the statements are merged into the service's record.
///
/// ```swift
/// try await withWebFetcher(.bushel) { fetcher in
///     let report = try await UpdateRun(database: service.publicDatabase, fetcher: fetcher).update()
///     print(report.kinds.map(\.created))
/// }
/// ```
public struct UpdateRun: Sendable {
    /// The database.
    public var database: CloudKitDatabase
    /// The fetcher of the sources.
    public var fetcher: WebFetcher
    /// The sources.
    public var sources = Source.all
    /// Whether documents that have not changed since the last run are fetched, too.
    public var isComplete = false
    /// Returns the current time.
    public var now: @Sendable () -> Date = { Date() }

    /// Creates a run.
    public init(database: CloudKitDatabase, fetcher: WebFetcher) {
        self.database = database
        self.fetcher = fetcher
    }

    /// The response of a source, read.
    private struct Answer: Sendable {
        var attempt: SourceAttempt
        var report: SourceReport
        var contents: SourceContents?
    }

    /// Updates the history.
    ///
    /// - Parameter progress: Called after each request to a source, with its report.
    /// - Returns: The report. Sources that fail are part of it and do not end the run.
    /// - Throws: A `CloudKitError` where the history cannot be read, or `CancellationError`.
    public func update(progress: (SourceReport) -> Void = { _ in }) async throws -> UpdateReport {
        let start = now()
        let history = try await History(database)
        let states = history.states.mapValues(\.model)
        var answers = try await answers(of: sources, at: start, states, progress)
        var (images, swift, xcode) = statements(answers, states, start)
        let successors = images.successors(history.images.values.map(\.model))
            .union(swift.successors(history.swift.values.map(\.model)))
            .union(xcode.successors(history.xcode.values.map(\.model)))
        let unchanged = answers.filter { $0.report.outcome == .notModified }.map(\.attempt.source)
        let again = unchanged.filter { successors.contains($0.id) }
        if !again.isEmpty {
            for answer in try await self.answers(of: again, at: start, [:], progress) {
                if let index = answers.firstIndex(where: { $0.report.source == answer.report.source }) {
                    answers[index] = answer
                }
            }
            (images, swift, xcode) = statements(answers, states, start)
        }
        let mergedSwift = swift.history(history.swift)
        let mergedImages = images.history(history.images)
        let references = References(images: mergedImages, swift: mergedSwift)
        let mergedXcode = xcode.history(history.xcode).map {
            references.resolved($0, stored: history.xcode[$0.key]?.model)
        }

        // The targets of references are written first.
        let kinds = [
            try await write(SyncPlan(mergedImages, stored: history.images)) { images.merged(key: $0.key, into: $0) },
            try await write(SyncPlan(mergedSwift, stored: history.swift)) { swift.merged(key: $0.key, into: $0) },
            try await write(SyncPlan(mergedXcode.map(\.xcode), stored: history.xcode)) {
                references.resolved(xcode.merged(key: $0.key, into: $0), stored: $0).xcode
            },
        ]
        let unsaved = Set(kinds.filter { $0.notSaved > 0 }.map(\.kind))
        let failure = try await save(answers.map(\.attempt), over: history.states, unsaved: unsaved)
        return UpdateReport(
            startedAt: start,
            endedAt: now(),
            sources: answers.map(\.report),
            kinds: kinds,
            missing: mergedXcode.flatMap(\.missing).sorted(),
            stateFailure: failure
        )
    }

    // MARK: - Fetching

    private func answers(
        of sources: [Source],
        at date: Date,
        _ states: [SourceID: DataSource],
        _ progress: (SourceReport) -> Void
    ) async throws -> [Answer] {
        try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for (index, source) in sources.enumerated() {
                group.addTask { (index, try await answer(of: source, states[source.id], at: date)) }
            }
            var answers = [Answer?](repeating: nil, count: sources.count)
            for try await (index, answer) in group {
                answers[index] = answer
                progress(answer.report)
            }
            return answers.compactMap(\.self)
        }
    }

    private func answer(of source: Source, _ state: DataSource?, at date: Date) async throws -> Answer {
        if let file = URL(string: source.address), file.isFileURL {
            guard let body = FileManager.default.contents(atPath: file.path) else {
                return failed(source, at: date, "\(file.path) cannot be read.", "unreachable")
            }
            return answer(of: source, with: [UInt8](body), etag: nil, lastModified: nil, at: date)
        }
        // The validators belong to an address, so they are not sent to another one.
        let known = isComplete || state?.address != source.address ? nil : state
        let result = try await fetcher.fetch(
            source.address,
            etag: known?.etag,
            lastModified: known?.lastModified,
            obeysRobots: source.isPage
        )
        switch result.answer {
        case .notModified:
            var report = SourceReport(source, .notModified)
            report.releases = state?.releaseCount ?? 0
            return Answer(attempt: SourceAttempt(source, at: date, .notModified), report: report)
        case .failure(let failure):
            return failed(source, at: date, failure.message, failure.code.description)
        case .document(let document):
            return answer(
                of: source,
                with: document.body,
                etag: document.etag,
                lastModified: document.lastModified,
                at: date
            )
        }
    }

    private func answer(
        of source: Source,
        with body: [UInt8],
        etag: String?,
        lastModified: String?,
        at date: Date
    ) -> Answer {
        let contents: SourceContents
        do throws(SourceError) {
            contents = try source.parse(body)
        } catch {
            return failed(source, at: date, "\(error)", "unreadable")
        }
        let modified = source.dating == .document ? lastModified.flatMap { WebDate.parse($0) } : nil
        let attempt = SourceAttempt(
            source,
            at: date,
            .fetched(
                SourceAttempt.Document(
                    etag: etag,
                    lastModified: lastModified,
                    statedAt: min(modified ?? date, date),
                    releaseCount: contents.count,
                    problemCount: contents.problems.count
                )
            )
        )
        var report = SourceReport(source, .fetched)
        report.releases = contents.count
        report.problems = contents.problems
        return Answer(attempt: attempt, report: report, contents: contents)
    }

    private func failed(_ source: Source, at date: Date, _ reason: String, _ failure: String) -> Answer {
        var report = SourceReport(source, .failed)
        report.reason = reason
        report.failure = failure
        return Answer(attempt: SourceAttempt(source, at: date, .failed(reason)), report: report)
    }

    /// The statements of the sources, with their dates.
    private func statements(
        _ answers: [Answer],
        _ states: [SourceID: DataSource],
        _ start: Date
    ) -> (Statements<RestoreImage>, Statements<SwiftVersion>, Statements<XcodeVersion>) {
        var states = states
        for answer in answers {
            let source = answer.attempt.source
            answer.attempt.apply(to: &states[source.id, default: DataSource(source.id, address: source.address)])
        }
        let statedAt = states.compactMapValues(\.statedAt)
        let contents = answers.reduce(into: [SourceID: SourceContents]()) { $0[$1.attempt.source.id] = $1.contents }
        return (
            Statements(contents.compactMapValues { $0.images.nonEmpty }, statedAt: statedAt, now: start),
            Statements(contents.compactMapValues { $0.swift.nonEmpty }, statedAt: statedAt, now: start),
            Statements(contents.compactMapValues { $0.xcode.nonEmpty }, statedAt: statedAt, now: start)
        )
    }

    // MARK: - Writing

    private func write<R: Release>(
        _ plan: SyncPlan<R>,
        merge: @escaping (R) -> R
    ) async throws -> KindReport {
        var report = KindReport(R.kind)
        report.unchanged = plan.unchanged
        let names = Set(plan.new.map(\.recordName))
        for (name, outcome) in try await save(plan.new + plan.changed, merge: merge) {
            switch outcome {
            case .saved where names.contains(name): report.created += 1
            case .saved, .merged: report.updated += 1
            case .unchanged: report.unchanged += 1
            case .failed(let reason): report.fail(reason)
            }
        }
        return report
    }

    /// Saves the states of the sources. Returns the reason if one of them cannot be saved.
    private func save(
        _ attempts: [SourceAttempt],
        over states: [SourceID: StoredRecord<DataSource>],
        unsaved: Set<ReleaseKind>
    ) async throws -> String? {
        let byID = Dictionary(attempts.map { ($0.source.id, $0) }) { first, _ in first }
        func applied(_ attempt: SourceAttempt, to state: DataSource) -> DataSource {
            var state = state
            attempt.apply(to: &state, keepingValidators: unsaved.isDisjoint(with: attempt.source.kinds))
            return state
        }
        let records = attempts.map { attempt in
            let source = attempt.source
            guard var record = states[source.id] else {
                let state = applied(attempt, to: DataSource(source.id, address: source.address))
                return StoredRecord(state, recordName: DataSource.recordName(for: source.id))
            }
            record.model = applied(attempt, to: record.model)
            return record
        }
        let outcomes = try await save(records) { state in byID[state.source].map { applied($0, to: state) } ?? state }
        for case (_, .failed(let reason)) in outcomes { return reason }
        return nil
    }

    /// The result of writing one record.
    private enum WriteOutcome {
        case saved, merged, unchanged
        case failed(String)
    }

    /// Saves records in as few requests as possible. After a conflict, and where another run has created the record,
    /// the service's record is merged again.
    private func save<Model: CloudKitRecord>(
        _ records: [StoredRecord<Model>],
        merge: (Model) -> Model
    ) async throws -> [(String, WriteOutcome)] {
        guard !records.isEmpty else { return [] }
        let results: [Result<StoredRecord<Model>, CloudKitError>]
        do {
            results = try await database.save(records)
        } catch let error as CloudKitError where error.code != .cancelled && error.code != .outcomeUnknown {
            return records.map { ($0.recordName, .failed("\(error)")) }
        }
        var outcomes: [(String, WriteOutcome)] = []
        for (record, result) in zip(records, results) {
            switch result {
            case .success: outcomes.append((record.recordName, .saved))
            case .failure(let error) where error.code == .exists || error.code == .conflict:
                outcomes.append((record.recordName, try await resolve(error, of: record, merge: merge)))
            case .failure(let error): outcomes.append((record.recordName, .failed("\(record.recordName): \(error)")))
            }
        }
        return outcomes
    }

    private func resolve<Model: CloudKitRecord>(
        _ error: CloudKitError,
        of record: StoredRecord<Model>,
        merge: (Model) -> Model
    ) async throws -> WriteOutcome {
        do {
            var server: StoredRecord<Model>
            if let known = error.serverRecord(as: Model.self) {
                server = known
            } else {
                server = try await database.fetch(Model.self, named: record.recordName)
            }
            server.model = merge(server.model)
            guard server.hasChanges else { return .unchanged }
            try await database.update(server) { conflict in
                var merged = conflict.server
                merged.model = merge(merged.model)
                return merged
            }
            return .merged
        } catch let error as CloudKitError where error.code != .cancelled && error.code != .outcomeUnknown {
            return .failed("\(record.recordName): \(error)")
        }
    }
}

extension Statements {
    /// The whole history: the stored releases merged with the statements of the sources, and the new releases.
    func history(_ stored: [String: StoredRecord<R>]) -> [R] {
        keys.union(stored.keys).sorted().map { merged(key: $0, into: stored[$0]?.model) }
    }
}

extension Array {
    fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}

extension FetchConfiguration {
    /// The configuration with which Bushel fetches its sources.
    public static var bushel: FetchConfiguration {
        var configuration = FetchConfiguration(product: "bushel")
        configuration.acceptedTypes = "application/json, application/xml;q=0.9, text/html;q=0.9, */*;q=0.5"
        // The list of AppleDB has all builds of macOS with all their updates.
        configuration.sizeLimit = 200 * 1024 * 1024
        configuration.timeLimit = .seconds(120)
        return configuration
    }
}

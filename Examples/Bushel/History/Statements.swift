import BushelSources
import Foundation

/// The statements of a run's sources about the releases of one kind.
///
/// The run has no document of a source that was not fetched, or that has not changed. The earlier values of such a
/// source are in the history, each with the name of its source, and compete from there. So runs over single sources,
/// one after the other, lead to the same history as one run over all sources.
///
/// ```swift
/// let statements = Statements([.ipswMe: images, .appleDB: others], statedAt: dates)
/// let image = statements.merged(key: "24B83", into: stored)
/// ```
public struct Statements<R: MergedRelease>: Sendable {
    /// The sources whose documents are part of the run.
    public let fetched: Set<SourceID>
    private let releases: [String: [SourceID: R]]
    private let statedAt: [SourceID: Date]
    private let now: Date

    /// Collects the statements of sources.
    ///
    /// - Parameters:
    ///   - contents: The releases of each source that was fetched.
    ///   - statedAt: The date of each source's statements, also for sources that were not fetched.
    ///   - now: The time of the run. It is the date of the statements of a source that is missing in `statedAt`, for
    ///     instance because another run is at work at the same time.
    public init(_ contents: [SourceID: [R]], statedAt: [SourceID: Date], now: Date = .distantPast) {
        self.now = now
        fetched = Set(contents.keys)
        self.statedAt = statedAt
        releases = contents.reduce(into: [:]) { releases, entry in
            for release in entry.value { releases[release.key, default: [:]][entry.key] = release }
        }
    }

    /// The keys of all releases that a source lists.
    public var keys: Set<String> { Set(releases.keys) }

    /// Merges the stored release with the statements of the sources.
    ///
    /// A value stays until its source gives another one, or a better source gives one. A value is withdrawn if its
    /// source no longer lists the release or no longer has the value. A withdrawn value stays as well, but the value of
    /// any other source replaces it.
    ///
    /// - Parameters:
    ///   - key: The key of the release.
    ///   - stored: The release in the history, or `nil` if it is new.
    /// - Returns: The merged release.
    public func merged(key: String, into stored: R?) -> R {
        let said = releases[key] ?? [:]
        var result = stored ?? R(key: key)
        for rule in R.rules {
            var candidates = said.filter { rule.has($0.value) }.map { statement(of: $0.key, $0.value) }
            let source = stored?.provenance[rule.name]
            if let stored, let source, rule.has(stored), !fetched.contains(source) {
                candidates.append(statement(of: source, stored))
            }
            guard let best = candidates.min(by: { rule.isBetter($0, than: $1) }) else {
                result.provenance[rule.name] = nil
                continue
            }
            rule.copy(best.release, &result)
            result.provenance[rule.name] = best.source
        }
        let others = (stored?.sources ?? []).filter { !fetched.contains($0) }
        result.sources = (others + said.keys).sorted()
        result.derive()
        return result
    }

    /// The sources whose whole documents are needed, because another source has withdrawn a value of a release that
    /// they list. The history has only the best value of each field, so it does not have their values for that field.
    ///
    /// - Parameter stored: The releases of the history.
    /// - Returns: The sources, without those that were fetched.
    public func successors(_ stored: some Sequence<R>) -> Set<SourceID> {
        stored.reduce(into: []) { sources, release in
            let isTakenBack = R.rules.contains { rule in
                guard let source = release.provenance[rule.name], fetched.contains(source) else { return false }
                return releases[release.key]?[source].map { !rule.has($0) } ?? true
            }
            if isTakenBack { sources.formUnion(Set(release.sources).subtracting(fetched)) }
        }
    }

    private func statement(of source: SourceID, _ release: R) -> Statement<R> {
        Statement(source: source, release: release, date: statedAt[source] ?? now)
    }
}

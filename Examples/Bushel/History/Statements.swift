import BushelSources
import Foundation

/// What the sources of a run say of the releases of one kind.
///
/// Of a source that was not fetched, or has not changed since, there is no document in the run. What it said before is in the history, with its
/// name beside each value, and competes from there. So a run over some of the sources, one after the other, makes the same history
/// as a run over all of them.
///
/// ```swift
/// let statements = Statements([.ipswMe: images, .appleDB: others], statedAt: dates)
/// let image = statements.merged(key: "24B83", into: stored)
/// ```
public struct Statements<R: MergedRelease>: Sendable {
    /// The sources whose documents are here.
    public let fetched: Set<SourceID>
    private let releases: [String: [SourceID: R]]
    private let statedAt: [SourceID: Date]
    private let now: Date

    /// Collects what sources say.
    ///
    /// - Parameters:
    ///   - contents: The releases of each source that was fetched.
    ///   - statedAt: From when the statements of each source are, also those of sources that were not fetched.
    ///   - now: The time of the run: from when the statements of a source are that is not known, as after a run at the same time.
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

    /// One release, of what the history has and what the sources say.
    ///
    /// A value stays until its source says something else, or a better source does. A value that its source has taken back, because
    /// it no longer lists the release or no longer has the value, stays as well, but gives way to every other source.
    ///
    /// - Parameters:
    ///   - key: The release.
    ///   - stored: The release as the history has it, or `nil` where it is new.
    /// - Returns: The release.
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

    /// The sources that have to be asked for their whole documents, because another source has taken back what it said of a release that
    /// they list. Only the best value of each field is in the history, so what they said of it has to be heard again.
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

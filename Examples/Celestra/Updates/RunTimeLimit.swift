import Foundation
import WebFetching

/// When a run has to end. Feeds are fetched until ``lastStart``; what is under way has until ``end``; then expired articles are deleted
/// until ``expiryEnd``.
public struct RunTimeLimit: Sendable, Hashable {
    /// No feed is begun after this time.
    public var lastStart: Date
    /// Feeds that are under way at this time are left.
    public var end: Date
    /// The deletion of expired articles ends at this time.
    public var expiryEnd: Date

    /// Creates a limit.
    public init(lastStart: Date, end: Date, expiryEnd: Date) {
        self.lastStart = lastStart
        self.end = end
        self.expiryEnd = expiryEnd
    }

    /// Divides the time until a deadline.
    ///
    /// The last fifth is for feeds that are under way, at most 20 seconds, and the last tenth for the expired articles, at most
    /// 10 seconds.
    ///
    /// - Parameters:
    ///   - start: When the run begins.
    ///   - deadline: When it has to be over.
    public init(from start: Date, to deadline: Date) {
        let whole = max(0, deadline.timeIntervalSince(start))
        let expiry = min(10, whole / 10)
        let underWay = min(20, whole / 5)
        expiryEnd = deadline
        end = deadline.addingTimeInterval(-expiry)
        lastStart = end.addingTimeInterval(-underWay)
    }
}

/// In which order a run fetches feeds.
enum UpdateOrder {
    /// The indexes of the feeds by their hosts, in the order in which hosts are begun.
    ///
    /// Hosts with many feeds take the longest, so they come first. Where the time may not be enough for all feeds, those that were
    /// fetched longest ago come first instead, and those that were never fetched before them: what one run leaves is first in
    /// the next.
    static func hosts(of feeds: [FeedRecord], oldestFirst: Bool) -> [[Int]] {
        let groups = Dictionary(grouping: feeds.indices) { WebAddress(feeds[$0].feedURL)?.authority ?? "" }
        func age(_ index: Int) -> Date { feeds[index].lastAttempted ?? .distantPast }
        let hosts = groups.values.map { host in
            oldestFirst ? host.sorted { (age($0), $0) < (age($1), $1) } : host
        }
        return hosts.sorted { left, right in
            oldestFirst
                ? (age(left[0]), left[0]) < (age(right[0]), right[0])
                : (-left.count, left[0]) < (-right.count, right[0])
        }
    }
}

/// Runs a closure for at most some seconds.
///
/// - Parameters:
///   - seconds: The longest time. The closure does not begin where it is not positive.
///   - timer: What it is measured with.
///   - body: What is cancelled at the end of the time.
/// - Returns: What the closure returns; `nil` where the time was over first.
/// - Throws: What the closure throws, and `CancellationError` where the task of the caller was cancelled.
public func within<Value: Sendable>(
    _ seconds: Double,
    on timer: any Clock<Duration>,
    _ body: @Sendable @escaping () async throws -> Value
) async throws -> Value? {
    guard seconds > 0 else { return nil }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await timer.sleep(for: .seconds(seconds))
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { return nil }
        guard first == nil else { return first }
        group.cancelAll()
        // The closure may have ended meanwhile, and what it has done counts.
        do {
            return try await group.next() ?? nil
        } catch {
            try Task.checkCancellation()
            return nil
        }
    }
}

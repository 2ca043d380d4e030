import Foundation
import WebFetching

/// The times at which the phases of a run end. Feeds are begun until ``lastStart``, feeds that are under way have until
/// ``end``, and expired articles are deleted until ``expiryEnd``.
public struct RunTimeLimit: Sendable, Hashable {
    /// No feed is begun after this time.
    public var lastStart: Date
    /// Feeds that are still under way at this time are cancelled.
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
    /// The last tenth, at most 10 seconds, is for the expired articles. The fifth before it, at most 20 seconds, is for
    /// feeds that are under way.
    ///
    /// - Parameters:
    ///   - start: When the run begins.
    ///   - deadline: When the run has to be over.
    public init(from start: Date, to deadline: Date) {
        let whole = max(0, deadline.timeIntervalSince(start))
        let expiry = min(10, whole / 10)
        let underWay = min(20, whole / 5)
        expiryEnd = deadline
        end = deadline.addingTimeInterval(-expiry)
        lastStart = end.addingTimeInterval(-underWay)
    }
}

/// The order in which a run fetches feeds.
enum UpdateOrder {
    /// The indexes of the feeds, grouped by host, in the order in which hosts are begun.
    ///
    /// Hosts with many feeds take the longest, so they come first. With `oldestFirst`, for a run that may not have
    /// enough time for all feeds, the feeds that were never fetched come first, and then those that were fetched
    /// longest ago: feeds that one run leaves out are the first of the next run.
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

/// Runs a closure for at most `seconds`.
///
/// - Parameters:
///   - seconds: The time limit. If it is not positive, the closure does not begin.
///   - timer: The clock of the time limit.
///   - body: The closure. It is cancelled at the end of the time.
/// - Returns: The result of the closure, or `nil` if the time was over first.
/// - Throws: The error of the closure, or `CancellationError` if the caller's task was cancelled.
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
        // The closure may have ended meanwhile. Then its result counts.
        do {
            return try await group.next() ?? nil
        } catch {
            try Task.checkCancellation()
            return nil
        }
    }
}

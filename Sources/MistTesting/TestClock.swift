import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A clock that moves only when the test moves it, or that skips each wait.
///
/// ```swift
/// let clock = TestClock()
/// try await withCloudKitEmulator(clock: clock) { emulator in
///     clock.advance(by: 31 * 60)
///     // the user's web authentication token has expired
/// }
/// ```
///
/// ``timer`` is the same clock for code that takes a `Clock`. With `skippingWaits` a wait moves the clock to its end
/// and takes no time. ``waits`` lists all waits:
///
/// ```swift
/// let clock = TestClock(skippingWaits: true)
/// let service = emulator.service(as: .user) {
///     $0.retryPolicy = RetryPolicy()
///     $0.clock = clock.timer
/// }
/// // … a request that is throttled, and succeeds at the second attempt
/// print(clock.waits.count)  // 1
/// ```
public final class TestClock: Sendable {
    private struct State {
        /// The time since the start of the clock.
        var elapsed = Duration.zero
        var waits: [Duration] = []
        var nextID = 0
        var sleepers: [Int: (deadline: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let start: Date
    private let skipsWaits: Bool
    private let state = Mutex(State())

    /// Makes a clock that shows a point in time.
    ///
    /// - Parameters:
    ///   - start: The point in time; 2026-01-01 00:00:00 UTC by default.
    ///   - skippingWaits: Whether a wait on ``timer`` ends at once and moves the clock by its length. Otherwise it ends
    ///     when ``advance(by:)`` has moved the clock to its end.
    public init(_ start: Date = Date(timeIntervalSince1970: 1_767_225_600), skippingWaits: Bool = false) {
        self.start = start
        skipsWaits = skippingWaits
    }

    /// The time that the clock shows.
    public var now: Date { start.addingTimeInterval(elapsed / .seconds(1)) }

    /// The time since the start of the clock.
    fileprivate var elapsed: Duration { state.withLock { $0.elapsed } }

    /// The length of each wait on ``timer``, in the order in which they began.
    public var waits: [Duration] { state.withLock { $0.waits } }

    /// Moves the clock, and wakes each task whose sleep is over.
    ///
    /// - Parameter seconds: The number of seconds; negative to move backwards.
    public func advance(by seconds: Double) {
        let woken = state.withLock { state in
            state.elapsed += .seconds(seconds)
            let due = state.sleepers.filter { $0.value.deadline <= state.elapsed }.sorted {
                ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key)
            }
            for (id, _) in due { state.sleepers[id] = nil }
            return due.map(\.value.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// The same clock for code that takes a `Clock`.
    ///
    /// Its sleepers wake when ``advance(by:)`` moves the clock to their deadline.
    public var timer: Timer { Timer(clock: self) }

    /// The number of tasks that sleep on ``timer`` now.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until at least `count` tasks sleep on ``timer``. Then the test can call ``advance(by:)``.
    ///
    /// - Parameter count: The number of tasks.
    public func waitForSleepers(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    fileprivate func sleep(until deadline: Duration) async throws {
        try Task.checkCancellation()
        let id = state.withLock { state -> Int? in
            state.waits.append(deadline - state.elapsed)
            if skipsWaits {
                state.elapsed = max(state.elapsed, deadline)
                return nil
            }
            state.nextID += 1
            return state.nextID
        }
        guard let id else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers): (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) =
                    state.withLock { state in
                        // If the task was cancelled before this, the cancellation handler found no continuation to
                        // resume.
                        if Task.isCancelled { return (.failure(CancellationError()), []) }
                        if deadline <= state.elapsed { return (.success(()), []) }
                        state.sleepers[id] = (deadline, continuation)
                        let count = state.sleepers.count
                        let ready = state.watchers.filter { $0.count <= count }.map(\.continuation)
                        state.watchers.removeAll { $0.count <= count }
                        return (nil, ready)
                    }
                if let isOver { continuation.resume(with: isOver) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
        }
    }
}

extension TestClock {
    /// A ``TestClock`` as a `Clock` of the standard library.
    public struct Timer: Clock {
        /// A point in time on the clock.
        public struct Instant: InstantProtocol {
            let elapsed: Duration

            /// The point in time that is `duration` later.
            public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }

            /// The duration until another point in time.
            public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }

            /// Whether a point comes before another.
            public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
        }

        let clock: TestClock

        /// The time that the clock shows.
        public var now: Instant { Instant(elapsed: clock.elapsed) }

        /// The clock does not tick by itself.
        public var minimumResolution: Duration { .zero }

        /// Sleeps until the clock is moved to a point in time, or past it.
        public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            try await clock.sleep(until: deadline.elapsed)
        }
    }
}

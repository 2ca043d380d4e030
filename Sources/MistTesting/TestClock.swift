import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A clock that moves only when the test moves it.
///
/// ```swift
/// let clock = TestClock()
/// try await withCloudKitEmulator(clock: clock) { emulator in
///     clock.advance(by: 31 * 60)
///     // the user's web authentication token has expired
/// }
/// ```
public final class TestClock: Sendable {
    private struct State {
        var now: Date
        var nextID = 0
        var sleepers: [Int: (deadline: Date, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// Makes a clock that shows a point in time.
    ///
    /// - Parameter start: The point; 2026-01-01 00:00:00 UTC by default.
    public init(_ start: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
        state = Mutex(State(now: start))
    }

    /// The time that the clock shows.
    public var now: Date { state.withLock { $0.now } }

    /// Moves the clock, and wakes each task whose sleep is over.
    ///
    /// - Parameter seconds: How far; backwards when it is negative.
    public func advance(by seconds: Double) {
        let woken = state.withLock { state in
            state.now = state.now.addingTimeInterval(seconds)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }.sorted {
                ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key)
            }
            for (id, _) in due { state.sleepers[id] = nil }
            return due.map(\.value.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// The same clock for code that sleeps: its sleepers wake when ``advance(by:)`` takes it past their time.
    public var timer: Timer { Timer(clock: self) }

    /// How many tasks sleep on ``timer`` at the moment.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until `count` tasks sleep on ``timer``. Then the test can call ``advance(by:)``.
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

    fileprivate func sleep(until deadline: Date) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers): (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) =
                    state.withLock { state in
                        // The handler of an earlier cancellation found no task to wake.
                        if Task.isCancelled { return (.failure(CancellationError()), []) }
                        if deadline <= state.now { return (.success(()), []) }
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
            let date: Date

            /// The point a while later.
            public func advanced(by duration: Duration) -> Instant {
                Instant(date: date.addingTimeInterval(duration / .seconds(1)))
            }

            /// How long it is until another point.
            public func duration(to other: Instant) -> Duration {
                .seconds(other.date.timeIntervalSince(date))
            }

            /// Whether a point comes before another.
            public static func < (left: Instant, right: Instant) -> Bool { left.date < right.date }
        }

        let clock: TestClock

        /// The time that the clock shows.
        public var now: Instant { Instant(date: clock.now) }

        /// The clock does not tick by itself.
        public var minimumResolution: Duration { .zero }

        /// Sleeps until the clock was moved to a point in time, or past it.
        public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            try await clock.sleep(until: deadline.date)
        }
    }
}

/// Bytes that look random and are the same for the same seed (SplitMix64).
final class SeededBytes: Sendable {
    private let state: Mutex<UInt64>

    init(seed: UInt64) {
        state = Mutex(seed)
    }

    func next(_ count: Int) -> [UInt8] {
        state.withLock { state in
            (0..<count).map { _ in
                state &+= 0x9E37_79B9_7F4A_7C15
                var mixed = state
                mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
                mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
                return UInt8(truncatingIfNeeded: (mixed ^ (mixed >> 31)) >> 24)
            }
        }
    }
}

import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A clock that stands still until it is told to move.
///
/// ```swift
/// let clock = TestClock()
/// try await withCloudKitEmulator(clock: clock) { emulator in
///     clock.advance(by: 31 * 60)
///     // the user's web authentication token has expired
/// }
/// ```
public final class TestClock: Sendable {
    private let time: Mutex<Date>

    /// Makes a clock that stands at a point in time.
    ///
    /// - Parameter start: The point; 2026-01-01 00:00:00 UTC unless told otherwise.
    public init(_ start: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
        time = Mutex(start)
    }

    /// What the clock shows.
    public var now: Date { time.withLock { $0 } }

    /// Moves the clock.
    ///
    /// - Parameter seconds: How far; backwards when it is negative.
    public func advance(by seconds: Double) {
        time.withLock { $0 = $0.addingTimeInterval(seconds) }
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

import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The clock of one device, which may be wrong. Another clock, such as that of the emulator, is right.
///
/// ```swift
/// let clock = TestClock()
/// let ofPhone = DeviceClock(clock, ahead: .seconds(86_400))
/// try await withCloudKitEmulator(clock: clock) { emulator in
///     var configuration = StoreConfiguration()
///     configuration.clock = { ofPhone.now }
///     // … a store whose edits are a day ahead …
///     ofPhone.ahead = .zero  // The user corrects the clock.
/// }
/// ```
public final class DeviceClock: Sendable {
    private let clock: TestClock
    private let error: Mutex<Duration>

    /// Makes the clock of a device.
    ///
    /// - Parameters:
    ///   - clock: The clock that is right.
    ///   - ahead: How far the device's clock is ahead; negative when it is behind.
    public init(_ clock: TestClock, ahead: Duration = .zero) {
        self.clock = clock
        error = Mutex(ahead)
    }

    /// How far the device's clock is ahead; negative when it is behind.
    public var ahead: Duration {
        get { error.withLock { $0 } }
        set { error.withLock { $0 = newValue } }
    }

    /// The time that the device's clock shows.
    public var now: Date { clock.now.addingTimeInterval(ahead / .seconds(1)) }
}

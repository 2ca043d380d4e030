import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Holds back the requests to a container's environment while the service throttles it.
final class ThrottleBrake: Sendable {
    /// What is throttled together: the service counts the requests of a container in an environment, not those of a token.
    struct Key: Hashable, Sendable {
        var serverURL: URL
        var containerIdentifier: String
        var environment: String
    }

    /// The longest time that a service can stop everybody for; then one request may try.
    private static let longest = Duration.seconds(3600)

    private let elapsed: @Sendable () -> Duration
    private let end = Mutex(Duration.zero)

    init(clock: any Clock<Duration>) {
        elapsed = clock.stopwatch()
    }

    /// How long the brake is still on; `nil` when it is off.
    var remaining: Duration? {
        let remaining = end.withLock { $0 } - elapsed()
        return remaining > .zero ? remaining : nil
    }

    /// Puts the brake on, or leaves it on longer.
    func hold(for duration: Duration) {
        let newEnd = elapsed() + min(duration, Self.longest)
        end.withLock { $0 = max($0, newEnd) }
    }

    private struct WeakBrake {
        weak var brake: ThrottleBrake?
    }

    private static let brakes = Mutex<[Key: WeakBrake]>([:])

    /// The brake that the services of this program share. A clock other than the machine's has a time of its own, and so a brake of
    /// its own.
    static func shared(for key: Key, clock: any Clock<Duration>) -> ThrottleBrake {
        guard clock is ContinuousClock else { return ThrottleBrake(clock: clock) }
        return brakes.withLock { brakes in
            if let brake = brakes[key]?.brake { return brake }
            brakes = brakes.filter { $0.value.brake != nil }
            let brake = ThrottleBrake(clock: clock)
            brakes[key] = WeakBrake(brake: brake)
            return brake
        }
    }
}

import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Holds back the requests to a container's environment while the service throttles it.
final class ContainerThrottle: Sendable {
    /// Names the requests that are throttled together: the service counts the requests of a container in an
    /// environment, not those of a token.
    struct Key: Hashable, Sendable {
        var serverURL: URL
        var containerIdentifier: String
        var environment: String
    }

    /// The longest time that requests wait, even if the service asks to wait longer.
    private static let longest = Duration.seconds(3600)

    private let elapsed: @Sendable () -> Duration
    private let end = Mutex(Duration.zero)

    init(clock: any Clock<Duration>) {
        elapsed = clock.stopwatch()
    }

    /// How long requests have to wait; `nil` when they do not have to wait.
    var remaining: Duration? {
        let remaining = end.withLock { $0 } - elapsed()
        return remaining > .zero ? remaining : nil
    }

    /// Makes requests wait, or wait longer.
    func hold(for duration: Duration) {
        let newEnd = elapsed() + min(duration, Self.longest)
        end.withLock { $0 = max($0, newEnd) }
    }

    private struct WeakThrottle {
        weak var throttle: ContainerThrottle?
    }

    private static let throttles = Mutex<[Key: WeakThrottle]>([:])

    /// The throttle that the services of this program share. A clock other than `ContinuousClock` has a time of its
    /// own, and so a throttle of its own.
    static func shared(for key: Key, clock: any Clock<Duration>) -> ContainerThrottle {
        guard clock is ContinuousClock else { return ContainerThrottle(clock: clock) }
        return throttles.withLock { throttles in
            if let throttle = throttles[key]?.throttle { return throttle }
            throttles = throttles.filter { $0.value.throttle != nil }
            let throttle = ContainerThrottle(clock: clock)
            throttles[key] = WeakThrottle(throttle: throttle)
            return throttle
        }
    }
}

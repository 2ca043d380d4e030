#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// The timeouts of a server's connections, their maximum number, and the time that the server has to stop.
///
/// A connection that exceeds a timeout is closed without a response. This can happen later than the timeout, by at most
/// a quarter of the shortest timeout. No timeout applies while the server works on a response and has nothing to send,
/// as in a long poll.
package struct ServerLimits: Hashable, Sendable {

    /// How long a connection can be open without a request, before the first one and between two: 75 seconds.
    ///
    /// AsyncHTTPClient, for example, keeps connections for reuse for 60 seconds. If the server closes a connection
    /// first, a request that is sent at that moment fails.
    package var idleTimeout: Duration = .seconds(75)

    /// How long the head of a request may take, from its first byte to its last: 30 seconds.
    package var headTimeout: Duration = .seconds(30)

    /// How long a body may make no progress, in either direction: 60 seconds.
    ///
    /// The time is counted from the last byte of a request's body that arrived while the server was ready to read, and
    /// from the last byte of a response that the client received.
    package var transferTimeout: Duration = .seconds(60)

    /// The number of connections above which new ones wait until another is closed.
    ///
    /// `nil` means three quarters of the file descriptors that the process can open when the server starts, at most
    /// 10,000.
    package var maximumConnections: Int?

    /// How long the server waits for requests in progress when it stops: 5 seconds. Then it closes their connections.
    package var shutdownTimeout: Duration

    /// Creates the default limits.
    /// - Parameter shutdownTimeout: How long the server waits for requests in progress when it stops.
    package init(shutdownTimeout: Duration = .seconds(5)) {
        self.shutdownTimeout = shutdownTimeout
    }

    /// The number of connections of a server that starts now.
    var effectiveMaximumConnections: Int {
        if let maximumConnections { return max(maximumConnections, 1) }
        var limit = rlimit()
        #if canImport(Glibc)
            let status = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            let status = getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        guard status == 0, let descriptors = Int(exactly: limit.rlim_cur) else { return 10_000 }
        return min(max(descriptors / 4 * 3, 1), 10_000)
    }

    /// How often a connection is compared with the timeouts.
    var checkInterval: Duration {
        max(min(idleTimeout, headTimeout, transferTimeout).bounded / 4, .milliseconds(1))
    }
}

extension Duration {

    /// The duration, but at most ten years: the nanoseconds of a longer one can exceed an integer.
    var bounded: Duration { min(max(self, .zero), .seconds(315_360_000)) }
}

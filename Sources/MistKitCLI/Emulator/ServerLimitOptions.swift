import ArgumentParser
import CloudKitEmulatorServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The options on how long clients of the emulator may take, and how many can be connected.
struct ServerLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How long the emulator waits for unfinished requests when it stops. (default: 5)",
            valueName: "seconds"
        )
    )
    var shutdownTimeout: Double?

    @Option(
        help: ArgumentHelp("How long a connection can be open without a request. (default: 75)", valueName: "seconds")
    )
    var idleTimeout: Double?

    @Option(help: ArgumentHelp("How long the head of a request can take. (default: 30)", valueName: "seconds"))
    var headTimeout: Double?

    @Option(help: ArgumentHelp("How long a body can make no progress. (default: 60)", valueName: "seconds"))
    var transferTimeout: Double?

    @Option(
        help: ArgumentHelp(
            "The number of connections above which new ones wait. (default: three quarters of the open files allowed)",
            valueName: "count"
        )
    )
    var maximumConnections: Int?

    func validate() throws {
        let timeouts = [
            ("--shutdown-timeout", shutdownTimeout, 0), ("--idle-timeout", idleTimeout, 0.001),
            ("--head-timeout", headTimeout, 0.001), ("--transfer-timeout", transferTimeout, 0.001),
        ]
        for (name, value, least) in timeouts {
            guard let value else { continue }
            guard value >= least, value <= 1e9 else {
                throw ValidationError("\(name) is out of range.\nGive a number of seconds from \(least).")
            }
        }
        guard maximumConnections ?? 1 >= 1 else {
            throw ValidationError("--maximum-connections is out of range.\nGive a number from 1.")
        }
    }

    /// Sets the limits that the command line gives; the others keep their defaults.
    func apply(to configuration: inout CloudKitEmulatorServer.Configuration) {
        if let shutdownTimeout { configuration.shutdownTimeout = .seconds(shutdownTimeout) }
        if let idleTimeout { configuration.idleTimeout = .seconds(idleTimeout) }
        if let headTimeout { configuration.headTimeout = .seconds(headTimeout) }
        if let transferTimeout { configuration.transferTimeout = .seconds(transferTimeout) }
        if let maximumConnections { configuration.maximumConnections = maximumConnections }
    }

    /// Raises the number of files that this process can open to what the system allows, at most 16,384.
    ///
    /// Each connection is an open file.
    static func raiseFileDescriptorLimit() {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < 16_384 else { return }
        limit.rlim_cur = min(limit.rlim_max, 16_384)
        _ = setrlimit(resource, &limit)
    }
}

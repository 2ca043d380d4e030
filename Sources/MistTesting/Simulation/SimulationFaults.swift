/// What may go wrong in a simulation, each as a probability from 0 to 1 for a request or a step.
public struct SimulationFaults: Hashable, Sendable {
    /// The request never reaches the service; the device sees a connection that broke.
    public var lostRequest = 0.0
    /// The service carries out the request; the device sees a connection that broke.
    public var lostReply = 0.0
    /// The request reaches the service twice, and the device sees the second reply; or one of the last replies comes once more.
    public var duplicate = 0.0
    /// Request or reply take their time: other devices, and the program on this one, go on meanwhile.
    public var delay = 0.0
    /// The service asks for fewer requests.
    public var throttle = 0.0
    /// One item of a batch is refused for the moment.
    public var failedItem = 0.0
    /// The service no longer knows the change token.
    public var expiredToken = 0.0
    /// The storage is full for the moment.
    public var quota = 0.0
    /// The process dies, and is started again with the file as it was.
    public var crash = 0.0
    /// The device has no network for 5 to 60 seconds, while its program goes on. It is five times as likely after a connection broke.
    public var offline = 0.0
    /// The zone is deleted at the service, by the person or another program.
    public var purge = 0.0
    /// The most that the clock of a device is wrong by, in seconds.
    public var clockError = 0.0

    /// Nothing goes wrong.
    public static let none = SimulationFaults()

    /// Everything but purges and wrong clocks, often enough that each occurs in most runs.
    public static let network = SimulationFaults(
        lostRequest: 0.05,
        lostReply: 0.08,
        duplicate: 0.05,
        delay: 0.4,
        throttle: 0.04,
        failedItem: 0.05,
        expiredToken: 0.03,
        quota: 0.02,
        crash: 0.05,
        offline: 0.04
    )

    /// Everything.
    public static let all: SimulationFaults = {
        var faults = SimulationFaults.network
        faults.purge = 0.002
        faults.clockError = 86_400
        return faults
    }()
}

/// What happened in a simulation, in numbers.
public struct SimulationCounts: Hashable, Sendable {
    /// Local operations that were acknowledged.
    public var operations = 0
    /// Requests that devices sent.
    public var requests = 0
    /// Requests of which the service did all or nothing.
    public var atomicRequests = 0
    /// Those of them that failed, because of an item that was refused for the moment.
    public var atomicFailures = 0
    /// Records whose changes of both sides were merged.
    public var conflicts = 0
    /// Crashes.
    public var crashes = 0
    /// How many times a device lost its network.
    public var networkLosses = 0
    /// Requests that never arrived.
    public var lostRequests = 0
    /// Replies that never arrived.
    public var lostReplies = 0
    /// Requests and replies that arrived twice.
    public var duplicates = 0
    /// Requests and items that were put off.
    public var throttles = 0
    /// Tokens that the service no longer knew.
    public var expiredTokens = 0
    /// Zones that were deleted at the service.
    public var purges = 0
    /// Rounds until all devices were silent at the end.
    public var rounds = 0

    /// Makes counts of nothing.
    public init() {}

    /// Adds what happened in another simulation.
    public static func += (left: inout SimulationCounts, right: SimulationCounts) {
        left.operations += right.operations
        left.requests += right.requests
        left.conflicts += right.conflicts
        left.crashes += right.crashes
        left.networkLosses += right.networkLosses
        left.lostRequests += right.lostRequests
        left.lostReplies += right.lostReplies
        left.duplicates += right.duplicates
        left.throttles += right.throttles
        left.expiredTokens += right.expiredTokens
        left.purges += right.purges
        left.rounds += right.rounds
        left.atomicRequests += right.atomicRequests
        left.atomicFailures += right.atomicFailures
    }
}

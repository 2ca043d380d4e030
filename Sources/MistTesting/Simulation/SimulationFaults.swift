/// The faults of a simulation, each as a probability from 0 to 1 for a request or a step.
///
/// Only ``clockError`` and ``lastingClockError`` are in seconds.
public struct SimulationFaults: Hashable, Sendable {
    /// The request never reaches the service; to the device, the connection breaks.
    public var lostRequest = 0.0
    /// The service carries out the request; to the device, the connection breaks.
    public var lostReply = 0.0
    /// The request reaches the service twice, and the device sees the second reply; or one of the last replies arrives
    /// again.
    public var duplicate = 0.0
    /// The request or the reply is delayed.
    ///
    /// Other devices, and the program on this device, go on meanwhile.
    public var delay = 0.0
    /// The service throttles the request.
    public var throttle = 0.0
    /// One item of a batch is refused temporarily.
    public var failedItem = 0.0
    /// The service refuses the receipt of an uploaded file, with the record that has it: the receipt has expired.
    public var refusedReceipt = 0.0
    /// One record of a page of changes, of a query or of a lookup has an error in place of its fields, temporarily.
    public var undeliveredRecord = 0.0
    /// The service no longer knows the change token.
    public var expiredToken = 0.0
    /// The storage is full temporarily.
    public var quota = 0.0
    /// The process dies, and is started again with the file as it was.
    public var crash = 0.0
    /// A process of a device that has several is stopped for 2 to 30 seconds, with its request under way. Another one
    /// takes over, and the stopped one goes on later.
    public var stop = 0.0
    /// The device has no network for 5 to 60 seconds, while its program goes on. This is five times as likely after a
    /// broken connection.
    public var offline = 0.0
    /// The zone is deleted at the service, by the user or another program.
    public var purge = 0.0
    /// Another program deletes a record whose state a device does not know: its create arrived twice, the reply to its
    /// create was lost, or the service could not deliver it.
    public var deleteElsewhere = 0.0
    /// A program shows a record in a form, and saves the form later, when other values have arrived or been written.
    /// Only what was changed in the form counts as an edit.
    public var staleForm = 0.0
    /// The file of a device is copied, and the copy is used on a device of its own. Two copies are made at most.
    public var copy = 0.0
    /// A program asks for a verification, which repairs or does not. In a private database it must find no difference.
    public var verification = 0.0
    /// The file of a device is copied with what is pending, and the store notices that it is a copy when it opens it.
    /// With ``copy``, two copies are made at most.
    public var noticedCopy = 0.0
    /// A delete is the delete of most records of a type. The limit of `StoreConfiguration.massDeletionLimit` is small
    /// then, and a person permits the deletes or takes them back.
    public var massDeletion = 0.0
    /// A person signs out, in as another user, or in again, maybe while a request is under way. The other user has a zone
    /// and records of the same names. Use it with a private database.
    public var otherSession = 0.0
    /// The maximum error of the clock of a device, in seconds. The clock is right after the faults have ended.
    public var clockError = 0.0
    /// The maximum error of the clock of a device, in seconds. The clock stays wrong, and the latest edits win
    /// nevertheless: they are compared by the true times, to within five seconds.
    ///
    /// Use it without ``delay``. A device learns the service's time from replies, no better than to the time between a
    /// request and its reply.
    public var lastingClockError = 0.0

    /// No faults.
    public static let none = SimulationFaults()

    /// Every fault of the network and of processes, and the events elsewhere that make them worse, often enough that each
    /// occurs in most runs.
    public static let network = SimulationFaults(
        lostRequest: 0.05,
        lostReply: 0.08,
        duplicate: 0.05,
        delay: 0.4,
        throttle: 0.04,
        failedItem: 0.05,
        refusedReceipt: 0.2,
        undeliveredRecord: 0.05,
        expiredToken: 0.03,
        quota: 0.02,
        crash: 0.05,
        stop: 0.05,
        offline: 0.04,
        deleteElsewhere: 0.3,
        staleForm: 0.15,
        copy: 0.005,
        verification: 0.03,
        massDeletion: 0.2
    )

    /// The faults of the network without delays, and clocks that are wrong by up to a day and stay so.
    public static let wrongClocks: SimulationFaults = {
        var faults = SimulationFaults.network
        faults.delay = 0
        faults.lastingClockError = 86_400
        return faults
    }()

    /// The faults of the network, purges, and clocks that are wrong until the faults end.
    public static let all: SimulationFaults = {
        var faults = SimulationFaults.network
        faults.purge = 0.002
        faults.clockError = 86_400
        return faults
    }()
}

/// Counts of what happened in a simulation.
public struct SimulationCounts: Hashable, Sendable {
    /// Local operations that were acknowledged.
    public var operations = 0
    /// Requests that devices sent.
    public var requests = 0
    /// Atomic requests: the service carries out all operations or none.
    public var atomicRequests = 0
    /// Atomic requests that failed, because an item was refused temporarily.
    public var atomicFailures = 0
    /// Conflicts: records whose changes of both sides were merged.
    public var conflicts = 0
    /// Crashes.
    public var crashes = 0
    /// Processes that were stopped for some seconds.
    public var stops = 0
    /// The number of times that a process took the work over from one that was stopped or dead.
    public var takeOvers = 0
    /// Verifications that programs asked for.
    public var verifications = 0
    /// Records that the verifications at the end compared.
    public var compared = 0
    /// The number of times that a device lost its network.
    public var networkLosses = 0
    /// Requests that never arrived.
    public var lostRequests = 0
    /// Replies that never arrived.
    public var lostReplies = 0
    /// Requests and replies that arrived twice.
    public var duplicates = 0
    /// Requests and items that were throttled.
    public var throttles = 0
    /// Records that were left out of a page of changes or of a query.
    public var undeliveredRecords = 0
    /// Tokens that the service no longer knew.
    public var expiredTokens = 0
    /// Zones that were deleted at the service.
    public var purges = 0
    /// Records that another program deleted at the service.
    public var deletesElsewhere = 0
    /// Forms that were saved after the record had changed.
    public var staleForms = 0
    /// Files that were copied.
    public var copies = 0
    /// Records that were moved to another zone, without those below them.
    public var moves = 0
    /// The number of times that another session began on a device.
    public var sessions = 0
    /// The number of times that a person has decided about many deletes.
    public var massDeletions = 0
    /// Records with a counter of which a device could not know whether the service has its count. Only copies of a file
    /// have them.
    public var unclearCounts = 0
    /// Files that were transferred, or failed to be.
    public var transfers = 0
    /// Files that were used again at the service, and not uploaded.
    public var rereferences = 0
    /// Receipts of uploaded files that the service refused.
    public var refusedReceipts = 0
    /// The number of times that a device has collected files.
    public var collections = 0
    /// Rounds at the end, until no device had anything left to send or receive.
    public var rounds = 0

    /// Makes counts that are all zero.
    public init() {}

    /// Adds the counts of another simulation.
    public static func += (left: inout SimulationCounts, right: SimulationCounts) {
        left.operations += right.operations
        left.requests += right.requests
        left.conflicts += right.conflicts
        left.crashes += right.crashes
        left.stops += right.stops
        left.takeOvers += right.takeOvers
        left.verifications += right.verifications
        left.compared += right.compared
        left.networkLosses += right.networkLosses
        left.lostRequests += right.lostRequests
        left.lostReplies += right.lostReplies
        left.duplicates += right.duplicates
        left.throttles += right.throttles
        left.expiredTokens += right.expiredTokens
        left.purges += right.purges
        left.deletesElsewhere += right.deletesElsewhere
        left.staleForms += right.staleForms
        left.unclearCounts += right.unclearCounts
        left.copies += right.copies
        left.moves += right.moves
        left.sessions += right.sessions
        left.massDeletions += right.massDeletions
        left.rounds += right.rounds
        left.transfers += right.transfers
        left.rereferences += right.rereferences
        left.refusedReceipts += right.refusedReceipts
        left.collections += right.collections
        left.atomicRequests += right.atomicRequests
        left.atomicFailures += right.atomicFailures
        left.undeliveredRecords += right.undeliveredRecords
    }
}

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The state of a queue at a time.
public struct MutationQueueStatus: Hashable, Sendable {
    /// The number of mutations that wait, ``blocked`` included.
    public internal(set) var waiting = 0
    /// The number of those that wait for another mutation.
    public internal(set) var blocked = 0
    /// The number of mutations that are being sent.
    public internal(set) var sending = 0
    /// The number of mutations that the service refused, or whose last attempt has failed.
    public internal(set) var failed = 0
    /// The number of mutations that this version of the program cannot read.
    public internal(set) var unreadable = 0
    /// Why nothing is sent; `nil` where the queue does not pause.
    public internal(set) var pause: MutationPause?
    /// When the mutation was added that is in the queue for the longest time; `nil` for an empty queue.
    public internal(set) var oldest: Date?
    /// The age of that mutation at the time of the status; zero where the clock was set back.
    public internal(set) var age = Duration.zero
    /// When the next attempt is due; `nil` where none waits for its time.
    public internal(set) var nextAttempt: Date?
    /// The process that sends at present; `nil` for none.
    public internal(set) var sender: Sender?

    /// The number of all mutations.
    public var total: Int { waiting + sending + failed + unreadable }

    /// Whether nothing is left to do, not even by the user.
    public var isEmpty: Bool { total == 0 }

    /// A process that sends the mutations of a queue: at most one of all that have the file open.
    public struct Sender: Hashable, Sendable {
        /// Whether it is the queue whose status it is.
        public let isThisQueue: Bool
        /// The name of its program.
        public let programName: String
        /// The number of its process. In a container, it is the number there.
        public let processIdentifier: Int32
    }
}

/// A mutation that failed, with the reason. Each failure is reported once.
public struct MutationFailure: Hashable, Sendable {
    /// The mutation's identifier.
    public let id: MutationID
    /// What the mutation changes.
    public let entity: String
    /// ``MutationState/failed`` or ``MutationState/unreadable``.
    public let state: MutationState
    /// The attempts that were made.
    public let attempts: Int
    /// The reason, for people.
    public let message: String
}

/// What ``MutationQueue/drain()`` did.
public struct MutationDrain: Hashable, Sendable {
    /// The number of mutations that were sent and removed by this call.
    public internal(set) var sent = 0
    /// The number of attempts of this call that failed and are to be made again.
    public internal(set) var postponed = 0
    /// The number of mutations that this call gave up.
    public internal(set) var failed = 0
    /// The state of the queue at the end. What is left waits for its time, for the program, or for the end of a pause.
    public internal(set) var status = MutationQueueStatus()

    /// The number of attempts that ended.
    var attempts: Int { sent + postponed + failed }
}

/// The present value of something in a queue at once, then another after each commit that changes it.
///
/// When commits follow each other quickly, values in between may be left out, but never the last one. Commits of other
/// processes are seen within ``MutationQueueConfiguration/pollInterval``. Nothing is read before the iteration begins;
/// leaving the loop ends the observation.
public struct MutationQueueUpdates<Element: Sendable>: AsyncSequence, Sendable {
    let begin: @Sendable () -> @Sendable () async throws -> Element?

    /// The iterator of ``MutationQueueUpdates``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let following: @Sendable () async throws -> Element?

        /// Waits for the next value.
        ///
        /// - Returns: The value; `nil` when the task is cancelled.
        /// - Throws: A ``MutationQueueError`` when the file cannot be read.
        public mutating func next() async throws -> Element? { try await following() }
    }

    /// Begins to observe.
    public func makeAsyncIterator() -> Iterator { Iterator(following: begin()) }
}

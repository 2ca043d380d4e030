#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a program does for its queue: the closures that send mutations, judge errors, join mutations, and read those of
/// earlier versions.
///
/// ```swift
/// var handlers = MutationHandlers<Toast> { toast in
///     let answer = try await client.toast(id: toast.mutation.tasting, idempotencyKey: toast.id.rawValue)
///     return MutationEffects { db in try db.execute(sql: "UPDATE …", arguments: [answer.count]) }
/// }
/// handlers.join = { earlier, later in
///     later.isTakenBack && !earlier.isTakenBack ? .annihilated : .separate
/// }
/// ```
public struct MutationHandlers<Mutation: Codable & Sendable>: Sendable {
    /// Sends a mutation under its key, and returns what the answer changes in the file.
    ///
    /// It must be able to send the same mutation twice: after a crash, or when an answer was lost, it is called again
    /// with the same ``OutgoingMutation/id``.
    public var send: @Sendable (OutgoingMutation<Mutation>) async throws -> MutationEffects

    /// Decides what an error of ``send`` means. By default, the mutation is sent again.
    public var decide: @Sendable (any Error, MutationAttempt) -> MutationDecision = { _, _ in .again() }

    /// Joins a mutation that is added with the last one of its entity, if that was never sent, and no other mutation
    /// depends on it; `nil` to join none.
    public var join: (@Sendable (_ earlier: Mutation, _ later: Mutation) -> MutationJoin<Mutation>)?

    /// Reads the JSON of another version of the program; `nil` to try the present form.
    ///
    /// It is called with the version that has written the mutation. Where it throws, or the JSON does not decode, the
    /// mutation is kept as ``MutationState/unreadable`` and reported.
    public var readOlder: (@Sendable (_ version: Int, _ json: Data) throws -> Mutation)?

    /// Makes handlers.
    ///
    /// - Parameter send: Sends a mutation.
    public init(send: @escaping @Sendable (OutgoingMutation<Mutation>) async throws -> MutationEffects) {
        self.send = send
    }
}

/// What becomes of two mutations of one entity, of which the first was never sent.
public enum MutationJoin<Mutation: Sendable>: Sendable {
    /// Both are sent, one after the other.
    case separate
    /// One mutation is sent instead of both, under the identifier of the earlier one.
    case replaced(by: Mutation)
    /// None is sent, because they annihilate each other.
    case annihilated
}

/// What ``MutationQueue/enqueue(_:entity:after:attempts:id:in:)`` did.
public enum EnqueuedMutation: Hashable, Sendable {
    /// The mutation waits.
    case added(MutationID)
    /// It was joined with an earlier one, which has this identifier.
    case joined(MutationID)
    /// It and an earlier one with this identifier were removed.
    case annihilated(MutationID)

    /// The identifier of the mutation that has the content, or had it.
    public var id: MutationID {
        switch self {
        case .added(let id), .joined(let id), .annihilated(let id): id
        }
    }
}

/// A mutation that is to be sent.
public struct OutgoingMutation<Mutation: Sendable>: Sendable {
    /// The identifier, to be sent as the idempotency key. It is the same in all attempts.
    public let id: MutationID
    /// What the mutation changes.
    public let entity: String
    /// The mutation, with the service's identifiers for those that it has adopted.
    public let mutation: Mutation
    /// When it was added, by the machine's clock.
    public let created: Date
    /// The number of this attempt, from 1.
    public let attempt: Int
    /// The number of the last attempt.
    public let limit: Int
}

/// A mutation in the queue.
public struct QueuedMutation<Mutation: Sendable>: Sendable {
    /// The identifier and key.
    public let id: MutationID
    /// Its position: a mutation that was added later has a larger one.
    public let position: Int64
    /// What the mutation changes.
    public let entity: String
    /// The mutation; `nil` where this version of the program cannot read it.
    public let mutation: Mutation?
    /// The mutation as the file has it, with the identifiers that it was written with.
    public let json: Data
    /// The version of the program that wrote it.
    public let version: Int
    /// When it was added, by the machine's clock.
    public let created: Date
    /// What the queue does with it.
    public let state: MutationState
    /// Whether it waits for another mutation: an earlier one of its entity, or one that it depends on.
    public let isBlocked: Bool
    /// The attempts so far. Those that ended with a pause do not count.
    public let attempts: Int
    /// The limit of attempts.
    public let limit: Int
    /// The earliest time of the next attempt; `nil` unless it is waiting.
    public let nextAttempt: Date?
    /// Whether it was ever sent, so that the service may have done it.
    public let hasBeenSent: Bool
    /// The last error, as text; `nil` for none.
    public let lastError: String?
}

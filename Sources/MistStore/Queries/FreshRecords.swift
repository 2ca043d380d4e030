public import MistKit
import Synchronization

/// Whether a read asks the service first.
public struct Freshness: Hashable, Sendable {
    /// How long the read waits for the service; `nil` does not ask it.
    let wait: Duration?

    /// What is on this machine, at once.
    public static let local = Self(wait: nil)

    /// What the service has, if it answers within three seconds; otherwise what is on this machine.
    public static let fetchFirst = fetchFirst(within: .seconds(3))

    /// What the service has, if it answers in time; otherwise what is on this machine.
    ///
    /// - Parameter wait: How long the read waits.
    /// - Returns: The choice.
    public static func fetchFirst(within wait: Duration) -> Self { Self(wait: wait) }
}

/// The result of ``LocalDatabase/find(_:freshness:)``.
public struct FreshRecords<Model: CloudKitRecord>: Sendable {
    /// The records.
    public let records: [StoredRecord<Model>]
    /// Why the service may have newer ones; `nil` where its changes were fetched just now.
    public let staleness: Staleness?
}

/// Why a read that asked the service first gives what is on this machine.
public struct Staleness: Hashable, Sendable, CustomStringConvertible {
    /// The condition of the database; `nil` where the service did not answer in time, or was not asked.
    public let condition: SyncCondition?
    /// The reason, for people.
    public let description: String
}

extension LocalDatabase {
    /// Finds records after the changes of the service were fetched, or else on this machine.
    ///
    /// ```swift
    /// let found = try await todos.find(open, freshness: .fetchFirst)
    /// if let staleness = found.staleness { print("May be out of date: \(staleness)") }
    /// // the requests of a synchronisation of this database; then SELECT … FROM "Todo" …
    /// ```
    ///
    /// A network that is slow or gone is no error: the result has what is on this machine, and says why it may be out of
    /// date. A synchronisation that takes longer than the read waits goes on. It sends the changes of this machine, too.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - freshness: Whether the service is asked first, and how long.
    /// - Returns: The records, as ``find(_:)`` gives them.
    /// - Throws: A ``StoreError``, as ``find(_:)``; `CancellationError` when the task is cancelled while it waits.
    public func find<Model: CloudKitRecord>(
        _ query: Query<Model>,
        freshness: Freshness
    ) async throws -> FreshRecords<Model> {
        let staleness = try await fetch(freshness)
        return FreshRecords(records: try await find(query), staleness: staleness)
    }

    private func fetch(_ freshness: Freshness) async throws -> Staleness? {
        guard let wait = freshness.wait else {
            return Staleness(condition: nil, description: "The service was not asked.")
        }
        guard let loop else { return Staleness(condition: nil, description: "The store has no service.") }
        let database = self
        let answer = FirstAnswer()
        // It goes on when the read does not wait any more.
        Task {
            do {
                _ = try await loop.sync(by: .program, of: [database.scope])
                answer.give(.success(Staleness(try await database.status())))
            } catch let error as StoreError where error.code == .otherUser {
                answer.give(.success(Staleness(condition: .otherUser, description: error.message)))
            } catch {
                answer.give(.failure(error))
            }
        }
        let timer = Task {
            try await Task.sleep(for: wait)
            answer.give(
                .success(Staleness(condition: nil, description: "The service did not answer within \(wait)."))
            )
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { answer.set($0) }
        } onCancel: {
            answer.give(.failure(CancellationError()))
        }
    }
}

extension Staleness {
    /// The reason why the changes of a database were not all fetched; `nil` where they were.
    ///
    /// A wait that has no reason any more, since its time is over, has not fetched anything yet. So what is left to fetch
    /// counts, too.
    init?(_ status: ScopeStatus) {
        // With the others, changes of this machine wait; those of the service were fetched.
        let reasons: Set<SyncCondition> = [.offline, .throttled, .signedOut, .otherUser, .undelivered]
        let condition = status.conditions.first { reasons.contains($0) }
        guard condition != nil || status.hasChangesToFetch else { return nil }
        let text = condition.map { status.detail ?? "\($0)" } ?? "Not all changes were fetched."
        self.init(condition: condition, description: text)
    }
}

/// The first of several answers, for one task that waits.
private final class FirstAnswer: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Staleness?, any Error>?)
        case answered(Result<Staleness?, any Error>)
    }

    private let state = Mutex(State.waiting(nil))

    func set(_ continuation: CheckedContinuation<Staleness?, any Error>) {
        let result = state.withLock { state -> Result<Staleness?, any Error>? in
            if case .answered(let result) = state { return result }
            state = .waiting(continuation)
            return nil
        }
        if let result { continuation.resume(with: result) }
    }

    func give(_ result: Result<Staleness?, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Staleness?, any Error>? in
            guard case .waiting(let continuation) = state else { return nil }
            state = .answered(result)
            return continuation
        }
        continuation?.resume(with: result)
    }
}

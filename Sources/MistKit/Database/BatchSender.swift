import HTTPTypes

/// How far a call about many items has come.
///
/// ```swift
/// let results = try await database.save(articles, progress: { print("\($0.completed) of \($0.total)") })
/// // 200 of 500
/// // 400 of 500
/// // 500 of 500
/// ```
public struct BatchProgress: Hashable, Sendable {
    /// The items that have a result, a failure included. Items that are not sent, because an earlier request failed or the task was
    /// cancelled, are not among them.
    public var completed: Int
    /// The items that failed; they are among the completed ones.
    public var failed: Int
    /// The items that were sent and whose outcome is unknown, as no reply could be read. They are not among the completed ones.
    public var unknown: Int
    /// All items of the call.
    public var total: Int

    /// Makes a state of progress, for tests of what shows it.
    ///
    /// - Parameters:
    ///   - completed: The items that have a result.
    ///   - failed: The items that failed.
    ///   - unknown: The items whose outcome is unknown.
    ///   - total: All items.
    public init(completed: Int, failed: Int = 0, unknown: Int = 0, total: Int) {
        self.completed = completed
        self.failed = failed
        self.unknown = unknown
        self.total = total
    }
}

/// Sends many items in as many requests as needed, and gives one result for each, in their order.
///
/// A part of the items is one request. ``BatchDecision`` says what happens after each: items that the service did not carry out are sent
/// again alone, all of them after a lost reply, halves of a part that is too large.
struct BatchSender<Item: Sendable, Value: Sendable>: Sendable {
    let items: [Item]
    let service: CloudKitService
    /// The items that go together in a request; `nil` for as many as a request takes.
    var parts: [Range<Int>]?
    /// Whether a part is done as a whole or not at all.
    var isAtomic = false
    /// Whether the requests are sent one after the other.
    var isSequential = false
    var progress: ProgressHandler<BatchProgress>?
    /// How to tell whether items were done; `nil` where items may be done twice.
    var lostReplies: LostReplies<Item, Value>?
    /// The same error for one item.
    let about: @Sendable (CloudKitError, Item) -> CloudKitError
    /// Sends items, and gives one result for each.
    let send: @Sendable ([Item], CallContext) async throws(CloudKitError) -> [Result<Value, CloudKitError>]

    private typealias Decision = BatchDecision<Value>

    /// Sends all.
    ///
    /// - Returns: One result per item. When a request fails as a whole after others succeeded, what these did must not get lost: the
    ///   items of that request have its error, and those of requests that are then not sent have one that says so.
    /// - Throws: The error of the first request, when no item was answered and none may have been done.
    func results() async throws(CloudKitError) -> [Result<Value, CloudKitError>] {
        var collected = Collected(count: items.count)
        await forEachConcurrently(
            parts ?? items.parts(ofAtMost: CloudKitDatabase.batchSize),
            atMost: isSequential ? 1 : service.concurrency
        ) { _, part in
            await settle(part.map { PendingItem(index: $0) })
        } receive: { _, settled in
            collected.add(settled, reporting: progress)
            // After a request that failed as a whole no further one is begun.
            return collected.failure == nil
        }
        if let failure = collected.failure, !collected.isAnswered, !collected.mayHaveBeenDone { throw failure }
        let unsent = collected.failure.map(CloudKitError.notSent(after:)) ?? .cancelled(operation: nil)
        return collected.results.enumerated().map { index, result in
            result ?? .failure(about(unsent, items[index]))
        }
    }

    /// What became of some items.
    struct Settled: Sendable {
        var results: [(index: Int, result: Result<Value, CloudKitError>)] = []
        /// Whether the service answered for any of them.
        var isAnswered = false
        /// The error of a request that failed as a whole.
        var failure: CloudKitError?
    }

    private struct Collected {
        var results: [Result<Value, CloudKitError>?]
        var isAnswered = false
        /// Whether an item without an answer may have been done.
        var mayHaveBeenDone = false
        var failure: CloudKitError?
        var progress: BatchProgress

        init(count: Int) {
            results = Array(repeating: nil, count: count)
            progress = BatchProgress(completed: 0, failed: 0, total: count)
        }

        mutating func add(_ settled: Settled, reporting report: ProgressHandler<BatchProgress>?) {
            for (index, result) in settled.results {
                results[index] = result
                switch result {
                case .success:
                    progress.completed += 1
                case .failure(let error):
                    if error.mayHaveBeenDone { mayHaveBeenDone = true }
                    if error.code == .cancelled {
                        continue
                    } else if error.mayHaveBeenDone, error.leavesOutcomeOpen {
                        progress.unknown += 1
                    } else {
                        progress.completed += 1
                        progress.failed += 1
                    }
                }
            }
            if settled.isAnswered { isAnswered = true }
            failure = failure ?? settled.failure
            report?(progress)
        }
    }

    // MARK: One part

    /// An item that has no result yet.
    fileprivate struct PendingItem {
        var index: Int
        /// Whether a reply to it was lost.
        var isInDoubt = false
    }

    /// Sends items until each has its last result.
    fileprivate func settle(_ items: [PendingItem]) async -> Settled {
        let call = service.begin()
        let budget = call.budget
        var settled = Settled()
        var pending = items
        while !pending.isEmpty {
            let sent = pending
            let outcome = await attempt(sent, call)
            if case .answered = outcome { settled.isAnswered = true }
            let decision = Decision(
                outcome,
                of: sent.map(facts),
                isAtomic: isAtomic,
                isWrite: lostReplies != nil
            ) { call.connection.pipeline.retrier.delay(after: $0, within: budget, .repeatable) }
            pending = await apply(decision, to: sent, &settled)
            switch decision.next {
            case .split:
                await settled.add(halves: pending, of: self)
                return settled
            case .stop(let error):
                settled.failure = error
                return settled
            case .goOn(let wait?):
                do throws(CloudKitError) {
                    try await service.retrier.wait(wait.duration, after: wait.error, within: budget)
                } catch {
                    settled.fail(pending, with: error, in: self)
                    settled.failure = error
                    return settled
                }
                pending = await lookBeforeRepeating(pending, &settled)
            case .goOn(nil): break
            }
        }
        return settled
    }

    private func facts(of item: PendingItem) -> Decision.Item {
        guard let lostReplies else { return Decision.Item() }
        let subject = items[item.index]
        return Decision.Item(
            isInDoubt: item.isInDoubt,
            mayRepeat: lostReplies.mayRepeat(subject),
            mayMeanDone: { lostReplies.mayMeanDone(subject, $0) }
        )
    }

    private func attempt(_ sent: [PendingItem], _ call: CallContext) async -> Decision.Outcome {
        let earlierAttempts = call.budget.attempts
        do throws(CloudKitError) {
            var results = try await send(sent.map { items[$0.index] }, call)
            for (position, result) in results.enumerated() {
                guard case .failure(var error) = result else { continue }
                error.attempts = call.budget.attempts
                results[position] = .failure(error)
            }
            return .answered(results)
        } catch {
            if call.budget.attempts == earlierAttempts { return .failed(error.ofUnsentRequest) }
            // Apple's table of codes has an atomic failure as the failure of the whole request; others saw it in each item. Here it is
            // always the latter. So is what a request with a single item says about it.
            if error.item == nil, error.code == .atomicError || (sent.count == 1 && error.isAboutItem) {
                return .answered(sent.map { .failure(about(error, items[$0.index])) })
            }
            return .failed(error)
        }
    }

    /// Keeps the results of a decision, and gives the items that are to be sent.
    private func apply(
        _ decision: Decision,
        to sent: [PendingItem],
        _ settled: inout Settled
    ) async -> [PendingItem] {
        var pending: [PendingItem] = []
        var suspects: [(index: Int, error: CloudKitError)] = []
        for (item, state) in zip(sent, decision.items) {
            switch state {
            case .finished(.success(let value)): settled.results.append((item.index, .success(value)))
            case .finished(.failure(let error)):
                settled.results.append((item.index, .failure(about(error, items[item.index]))))
            case .toSend(let isInDoubt): pending.append(PendingItem(index: item.index, isInDoubt: isInDoubt))
            case .toVerify(let error): suspects.append((item.index, error))
            }
        }
        guard !suspects.isEmpty, let lostReplies else { return pending }
        let results = Decision.results(
            verifying: suspects.map(\.error),
            found: await lostReplies.done(suspects.map { items[$0.index] }),
            isWhole: suspects.count == sent.count,
            isAtomic: isAtomic
        )
        settled.results += zip(suspects, results).map { ($0.index, $1) }
        return pending
    }

    /// Takes out the items that were done already, of those that must not be done a second time without a look.
    private func lookBeforeRepeating(_ pending: [PendingItem], _ settled: inout Settled) async -> [PendingItem] {
        guard let lostReplies,
            pending.contains(where: { $0.isInDoubt && lostReplies.looksFirst(items[$0.index]) })
        else { return pending }
        let looked = pending.filter { isAtomic || $0.isInDoubt && lostReplies.looksFirst(items[$0.index]) }
        let values = await lostReplies.done(looked.map { items[$0.index] })
        if isAtomic, values.contains(where: { $0 == nil }) { return pending }
        var found: Set<Int> = []
        for (item, value) in zip(looked, values) {
            guard let value else { continue }
            settled.results.append((item.index, .success(value)))
            settled.isAnswered = true
            found.insert(item.index)
        }
        return pending.filter { !found.contains($0.index) }
    }
}

extension BatchSender.Settled {
    /// Gives items the error of a request that is not sent any more.
    fileprivate mutating func fail(
        _ items: [BatchSender<Item, Value>.PendingItem],
        with error: CloudKitError,
        in sender: BatchSender<Item, Value>
    ) {
        for item in items {
            let itemError = item.isInDoubt && sender.lostReplies != nil ? error.afterLostReply : error
            results.append((item.index, .failure(sender.about(itemError, sender.items[item.index]))))
        }
    }

    /// Sends the halves of items that are too many for the service.
    fileprivate mutating func add(
        halves items: [BatchSender<Item, Value>.PendingItem],
        of sender: BatchSender<Item, Value>
    ) async {
        let middle = items.count / 2
        for half in [items[..<middle], items[middle...]] {
            if let failure {
                // The others have no result, like all that is not sent.
                fail(half.filter(\.isInDoubt), with: .notSent(after: failure), in: sender)
            } else {
                let settled = await sender.settle(Array(half))
                results += settled.results
                isAnswered = isAnswered || settled.isAnswered
                failure = settled.failure
            }
        }
    }
}

/// How to go on with writes of which it is not known whether they were done.
struct LostReplies<Item: Sendable, Value: Sendable>: Sendable {
    /// Whether the answer to a second one tells what became of the first.
    var mayRepeat: @Sendable (Item) -> Bool
    /// Whether to look what became of the first before a second one is sent.
    var looksFirst: @Sendable (Item) -> Bool
    /// Whether a refusal of the second one may mean that the first was done.
    var mayMeanDone: @Sendable (Item, CloudKitError) -> Bool
    /// What the service has of items, for those that were done; `nil` for those that were not.
    var done: @Sendable ([Item]) async -> [Value?]
}

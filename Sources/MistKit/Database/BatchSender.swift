import HTTPTypes

/// The progress of a call about many items.
///
/// ```swift
/// let results = try await database.save(articles, progress: { print("\($0.completed) of \($0.total)") })
/// // 200 of 500
/// // 400 of 500
/// // 500 of 500
/// ```
public struct BatchProgress: Hashable, Sendable {
    /// The number of items that have a result, failures included. Items that are not sent, because an earlier request
    /// failed or the task was cancelled, are not among them.
    public var completed: Int
    /// The number of items that failed; they are among the completed ones.
    public var failed: Int
    /// The number of items that were sent and whose outcome is unknown, as no reply could be read. They are not among
    /// the completed ones.
    public var unknown: Int
    /// The number of items that the call has to send. Unchanged records, and duplicates that are not sent, are not
    /// among them.
    public var total: Int

    /// Makes a progress value, for tests of code that shows progress.
    ///
    /// - Parameters:
    ///   - completed: The number of items that have a result.
    ///   - failed: The number of items that failed.
    ///   - unknown: The number of items whose outcome is unknown.
    ///   - total: The number of all items.
    public init(completed: Int, failed: Int = 0, unknown: Int = 0, total: Int) {
        self.completed = completed
        self.failed = failed
        self.unknown = unknown
        self.total = total
    }
}

/// Sends many items in as many requests as needed, and gives one result for each, in their order.
///
/// A part of the items is one request. ``BatchDecision`` says what happens after each request. Items that the service
/// did not carry out are sent again without the others. After a lost reply all items are sent again. A part that is too
/// large is sent again in halves.
struct BatchSender<Item: Sendable, Value: Sendable>: Sendable {
    let items: [Item]
    let service: CloudKitService
    /// The items that go together in a request; `nil` to put as many into each as a request takes.
    var parts: [Range<Int>]?
    /// Whether a part is done as a whole or not at all.
    var isAtomic = false
    /// Whether the requests are sent one after the other.
    var isSequential = false
    var progress: ProgressHandler<BatchProgress>?
    /// How to find out whether items were done; `nil` if items may be done twice.
    var lostReplies: LostReplies<Item, Value>?
    /// The error of a request as the error of one of its items.
    let about: @Sendable (CloudKitError, Item) -> CloudKitError
    /// Sends items, and gives one result for each.
    let send: @Sendable ([Item], CallContext) async throws(CloudKitError) -> [Result<Value, CloudKitError>]

    private typealias Decision = BatchDecision<Value>

    /// Sends all items.
    ///
    /// - Returns: One result per item. When a request fails as a whole after others succeeded, their results are not
    ///   lost: the items of that request have its error, and items that are then not sent have an error that says so.
    /// - Throws: The error of the first request, when no item got a result and none may have been done.
    func results() async throws(CloudKitError) -> [Result<Value, CloudKitError>] {
        var collected = Collected(count: items.count)
        await forEachConcurrently(
            parts ?? items.parts(ofAtMost: CloudKitDatabase.batchSize),
            atMost: isSequential ? 1 : service.concurrency
        ) { _, part in
            await settle(part.map { PendingItem(index: $0) })
        } receive: { _, settled in
            collected.add(settled, reporting: progress)
            // After a request that failed as a whole, no further request begins.
            return collected.failure == nil
        }
        if let failure = collected.failure, !collected.isAnswered, !collected.mayHaveBeenDone { throw failure }
        let unsent = collected.failure.map(CloudKitError.notSent(after:)) ?? .cancelled(operation: nil)
        return collected.results.enumerated().map { index, result in
            result ?? .failure(about(unsent, items[index]))
        }
    }

    /// The results of the items of one part.
    struct Settled: Sendable {
        var results: [(index: Int, result: Result<Value, CloudKitError>)] = []
        /// Whether the service gave a result for any of them.
        var isAnswered = false
        /// The error of a request that failed as a whole.
        var failure: CloudKitError?
    }

    private struct Collected {
        var results: [Result<Value, CloudKitError>?]
        var isAnswered = false
        /// Whether an item that failed may have been done.
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
            // In Apple's table of codes an atomic failure is an error of the whole request; others observed it as an
            // error of each item. Here it becomes an error of each item. So does the error of a request with a single
            // item, if it is about that item.
            if error.item == nil, error.code == .atomicError || (sent.count == 1 && error.isAboutItem) {
                return .answered(sent.map { .failure(about(error, items[$0.index])) })
            }
            return .failed(error)
        }
    }

    /// Keeps the results of a decision, and returns the items that are to be sent.
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

    /// Removes the items that were done already, if they are of the kind that must be looked up before they are sent
    /// again.
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
    /// Gives items the error of a request that is no longer sent.
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
                // The other items get no result, like all items that are not sent.
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

/// How to continue with writes whose reply was lost: the service may have done them or not.
struct LostReplies<Item: Sendable, Value: Sendable>: Sendable {
    /// Whether the result of a second attempt shows if the first was done.
    var mayRepeat: @Sendable (Item) -> Bool
    /// Whether to find out if the first attempt was done before a second one is sent.
    var looksFirst: @Sendable (Item) -> Bool
    /// Whether a refusal of the second attempt may mean that the first was done.
    var mayMeanDone: @Sendable (Item, CloudKitError) -> Bool
    /// For each item that was done, the value that the service has; `nil` for the others.
    var done: @Sendable ([Item]) async -> [Value?]
}

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
/// A part of the items is one request. What is not done of it is sent again by the rules of ``RetryPolicy``: items that the service
/// says it did not do, alone; all of them after a lost reply, where ``LostReplies`` says how to tell what became of the first; halves of
/// a part that is too large.
struct BatchSender<Item: Sendable, Value: Sendable>: Sendable {
    let items: [Item]
    let retrier: Retrier
    /// The places of the items that go together.
    var parts: [Range<Int>]
    /// Whether a part is done as a whole or not at all.
    var isAtomic = false
    /// How many requests are sent at a time.
    var concurrency = 1
    var progress: ProgressHandler<BatchProgress>?
    /// How to go on when nobody knows whether items were done; `nil` where items may be done twice.
    var lostReplies: LostReplies<Item, Value>?
    /// Whether the items change something at the service.
    fileprivate var isWrite: Bool { lostReplies != nil }
    /// The same error for one item.
    let about: @Sendable (CloudKitError, Item) -> CloudKitError
    /// Sends items, and gives one result for each.
    let send: @Sendable ([Item]) async throws(CloudKitError) -> [Result<Value, CloudKitError>]

    /// Sends all.
    ///
    /// - Returns: One result per item. When a request fails as a whole after others succeeded, what these did must not get lost: the
    ///   items of that request have its error, and those of requests that are then not sent have one that says so.
    /// - Throws: The error of the first request, when no item was answered and none may have been done.
    func results() async throws(CloudKitError) -> [Result<Value, CloudKitError>] {
        var collected = Collected(count: items.count)
        if concurrency <= 1 || parts.count <= 1 {
            for part in parts where collected.failure == nil {
                collected.add(await settle(Array(part)), reporting: progress)
            }
        } else {
            await withTaskGroup(of: Settled.self) { group in
                var waiting = parts[...]
                func sendNext() {
                    guard let part = waiting.popFirst() else { return }
                    group.addTask { await settle(Array(part)) }
                }
                for _ in 0..<concurrency { sendNext() }
                while let settled = await group.next() {
                    collected.add(settled, reporting: progress)
                    // After a request that failed as a whole no further one is begun.
                    if collected.failure == nil { sendNext() }
                }
            }
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

    /// Sends items until each has its last result.
    private func settle(_ indices: [Int], inDoubt: Set<Int> = []) async -> Settled {
        let budget = retrier.begin()
        var settled = Settled()
        var pending = indices
        // The items of which a reply was lost.
        var inDoubt = inDoubt
        while !pending.isEmpty {
            let sent = pending
            pending = []
            let again: Again
            switch await RetryBudget.$current.withValue(budget, operation: { await attempt(sent, budget) }) {
            case .failure(let error) where error.isTooLarge && sent.count > 1:
                if isAtomic {
                    settled.fail(sent, with: error.ofAtomicBatch(count: sent.count), inDoubt: inDoubt, in: self)
                } else {
                    await settled.add(halves: sent, inDoubt: inDoubt, of: self)
                }
                return settled
            case .failure(let error):
                again = await lost(sent, error, inDoubt: inDoubt, budget, &settled)
                inDoubt.formUnion(again.indices)
            case .success(let results):
                settled.isAnswered = true
                again = await sort(results, of: sent, inDoubt: &inDoubt, budget, &settled)
            }
            guard let delay = again.delay, let error = again.error else { continue }
            do throws(CloudKitError) {
                try await retrier.wait(delay, after: error, attempt: budget.attempts)
                pending = again.indices
            } catch {
                settled.fail(again.indices, with: error, inDoubt: inDoubt, in: self)
            }
            if !inDoubt.isEmpty { await look(at: &pending, inDoubt: inDoubt, &settled) }
        }
        return settled
    }

    /// Items to be sent again.
    private struct Again {
        var indices: [Int] = []
        var delay: Duration?
        var error: CloudKitError?

        mutating func add(_ index: Int, after itemDelay: Duration, _ itemError: CloudKitError) {
            indices.append(index)
            if itemDelay >= delay ?? .zero {
                delay = itemDelay
                error = itemError
            }
        }
    }

    private func attempt(
        _ indices: [Int],
        _ budget: RetryBudget
    ) async -> Result<[Result<Value, CloudKitError>], CloudKitError> {
        let earlierAttempts = budget.attempts
        do throws(CloudKitError) {
            return .success(try await send(indices.map { items[$0] }))
        } catch {
            if budget.attempts == earlierAttempts { return .failure(error.ofUnsentRequest) }
            // Apple's table of codes has an atomic failure as the failure of the whole request; others saw it in each item. Here it is
            // always the latter. So is what a request with a single item says about it.
            if error.item == nil, error.code == .atomicError || (indices.count == 1 && error.isAboutItem) {
                return .success(indices.map { .failure(about(error, items[$0])) })
            }
            return .failure(error)
        }
    }

    /// Decides about items whose request failed as a whole.
    private func lost(
        _ indices: [Int],
        _ error: CloudKitError,
        inDoubt: Set<Int>,
        _ budget: RetryBudget,
        _ settled: inout Settled
    ) async -> Again {
        var again = Again()
        // All else was repeated by the middleware as often as it may be.
        guard error.fate == .unknown, let lostReplies else {
            settled.fail(indices, with: error, inDoubt: inDoubt, in: self)
            return again
        }
        var repeated = indices.filter { lostReplies.mayRepeat(items[$0]) }
        if isAtomic, repeated.count < indices.count { repeated = [] }
        guard !repeated.isEmpty, let delay = retrier.delay(after: error, within: budget, repeatsUnknown: true) else {
            settled.fail(indices, with: error, inDoubt: inDoubt, in: self)
            return again
        }
        for index in repeated { again.add(index, after: delay, error) }
        let chosen = Set(repeated)
        let others = indices.filter { !chosen.contains($0) }
        settled.fail(others, with: error, inDoubt: inDoubt, in: self, stops: false)
        return again
    }

    /// Sorts the results of an answer: those that are the last, and items to send again.
    private func sort(
        _ results: [Result<Value, CloudKitError>],
        of indices: [Int],
        inDoubt: inout Set<Int>,
        _ budget: RetryBudget,
        _ settled: inout Settled
    ) async -> Again {
        var again = Again()
        var suspects: [(index: Int, error: CloudKitError)] = []
        // Of an atomic batch all or nothing was done.
        if isAtomic, let error = results.lazy.compactMap(\.failure).first(where: { $0.fate == .notDone }),
            let delay = retrier.delay(after: error, within: budget, repeatsUnknown: false)
        {
            for index in indices { again.add(index, after: delay, error) }
            return again
        }
        for (index, result) in zip(indices, results) {
            guard case .failure(var error) = result else {
                settled.results.append((index, result))
                continue
            }
            error.attempts = budget.attempts
            if isWrite, error.leavesOutcomeOpen || inDoubt.contains(index) { error.mayHaveBeenDone = true }
            if !isAtomic, let delay = delay(after: error, for: items[index], budget) {
                again.add(index, after: delay, error)
                if error.fate == .unknown { inDoubt.insert(index) }
            } else if inDoubt.contains(index), lostReplies?.mayMeanDone(items[index], error) == true {
                suspects.append((index, error))
            } else {
                settled.results.append((index, .failure(error)))
            }
        }
        guard !suspects.isEmpty, let lostReplies else { return again }
        let done = await lostReplies.done(suspects.map { items[$0.index] })
        let counts = !isAtomic || (suspects.count == indices.count && !done.contains { $0 == nil })
        for (suspect, value) in zip(suspects, done) {
            if let value, counts {
                settled.results.append((suspect.index, .success(value)))
            } else {
                settled.results.append((suspect.index, .failure(suspect.error)))
            }
        }
        return again
    }

    private func delay(after error: CloudKitError, for item: Item, _ budget: RetryBudget) -> Duration? {
        let repeatsUnknown = lostReplies?.mayRepeat(item) ?? true
        guard error.fate != .final else { return nil }
        return retrier.delay(after: error, within: budget, repeatsUnknown: repeatsUnknown)
    }

    /// Takes out what was done already, of the items that must not be done a second time without a look.
    private func look(at pending: inout [Int], inDoubt: Set<Int>, _ settled: inout Settled) async {
        guard let lostReplies else { return }
        var looked = pending.filter { inDoubt.contains($0) && lostReplies.looksFirst(items[$0]) }
        guard !looked.isEmpty else { return }
        if isAtomic { looked = pending }
        let values = await lostReplies.done(looked.map { items[$0] })
        if isAtomic, values.contains(where: { $0 == nil }) { return }
        var found: Set<Int> = []
        for (index, value) in zip(looked, values) {
            guard let value else { continue }
            settled.results.append((index, .success(value)))
            settled.isAnswered = true
            found.insert(index)
        }
        pending.removeAll { found.contains($0) }
    }
}

extension BatchSender.Settled {
    /// Gives items the error of their request.
    fileprivate mutating func fail(
        _ indices: [Int],
        with error: CloudKitError,
        inDoubt: Set<Int>,
        in sender: BatchSender<Item, Value>,
        stops: Bool = true
    ) {
        for index in indices {
            let itemError = inDoubt.contains(index) && sender.isWrite ? error.afterLostReply : error
            results.append((index, .failure(sender.about(itemError, sender.items[index]))))
        }
        if stops, !indices.isEmpty { failure = failure ?? error }
    }

    /// Sends the halves of items that are too many for the service.
    fileprivate mutating func add(halves indices: [Int], inDoubt: Set<Int>, of sender: BatchSender<Item, Value>) async {
        let middle = indices.count / 2
        for half in [indices[..<middle], indices[middle...]] {
            if let failure {
                // The others have no result, like all that is not sent.
                let sentBefore = half.filter(inDoubt.contains)
                fail(sentBefore, with: .notSent(after: failure), inDoubt: inDoubt, in: sender, stops: false)
            } else {
                let settled = await sender.settle(Array(half), inDoubt: inDoubt)
                results += settled.results
                isAnswered = isAnswered || settled.isAnswered
                failure = settled.failure
            }
        }
    }
}

/// How to go on with writes of which nobody knows whether they were done.
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

extension Result {
    var failure: Failure? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }
}

extension CloudKitError {
    /// Whether the service calls the request too large. Which code it has for that no source says; natively it is "limit exceeded".
    var isTooLarge: Bool {
        if code == .limitExceeded { return true }
        if httpStatus?.code == 413 { return code != .quotaExceeded }
        return code == .badRequest && httpStatus != nil && (reason?.saysTooLarge ?? false)
    }

    /// Whether an error of a request can only be about what it holds.
    fileprivate var isAboutItem: Bool {
        isTooLarge || [.conflict, .exists, .validatingReferenceError, .uniqueFieldError].contains(code)
    }

    fileprivate func ofAtomicBatch(count: Int) -> CloudKitError {
        var error = self
        error.message = """
            The atomic batch of \(count) operations is too large for the service, and nothing of it was done. It is not split, as \
            its parts would not be atomic together. Send fewer operations at a time, or atomic: false.
            """
        return error
    }

    /// The error of an item that is not sent, because an earlier request of the call failed.
    fileprivate static func notSent(after failure: CloudKitError) -> CloudKitError {
        if failure.code == .cancelled || failure.code == .outcomeUnknown {
            var error = CloudKitError.cancelled(operation: failure.operation)
            error.message = "Not sent, because the task was cancelled."
            return error
        }
        var error = failure
        error.message = "Not sent, because an earlier request of this call failed: \(failure.message)"
        error.mayHaveBeenDone = false
        error.attempts = 0
        return error
    }

    /// The same error of a write whose request was not sent.
    fileprivate var ofUnsentRequest: CloudKitError {
        if code == .outcomeUnknown { return .cancelled(operation: operation) }
        var error = self
        error.mayHaveBeenDone = false
        return error
    }

    /// The same error of a write that was sent before and whose reply was lost.
    fileprivate var afterLostReply: CloudKitError {
        if code == .cancelled { return .outcomeUnknown(operation: operation) }
        var error = self
        error.mayHaveBeenDone = true
        return error
    }
}

extension String {
    fileprivate var saysTooLarge: Bool {
        let text = lowercased()
        return ["too large", "too many", "limit exceeded", "exceeds the limit", "longer than"].contains {
            text.contains($0)
        }
    }
}

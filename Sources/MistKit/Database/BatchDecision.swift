import HTTPTypes

/// What happens to the items of a request, now that its outcome is known.
///
/// It is a pure function of the items and the outcome; ``BatchSender`` carries it out. The reasons are in the
/// documentation of ``RetryPolicy``.
struct BatchDecision<Value> {
    /// The known state of an item before the outcome.
    struct Item {
        /// Whether the reply to an earlier request with the item was lost, so that the service may have carried it out.
        var isInDoubt = false
        /// Whether the item may be sent again after a lost reply, as the result of the second attempt shows whether the
        /// first was done.
        var mayRepeat = true
        /// Whether this refusal of a second attempt may mean that the first was done.
        var mayMeanDone: (CloudKitError) -> Bool = { _ in false }
    }

    enum Outcome {
        /// One result for each item.
        case answered([Result<Value, CloudKitError>])
        /// The request failed as a whole.
        case failed(CloudKitError)
    }

    /// The state of an item after the outcome.
    enum ItemState {
        case finished(Result<Value, CloudKitError>)
        case toSend(isInDoubt: Bool)
        /// An earlier request with the item may have been done; the service's records show it. If it was not done, the
        /// item fails with this error.
        case toVerify(CloudKitError)
    }

    /// What the batch does next.
    enum Next {
        /// The items that are `toSend`, if there are any, are sent after the wait.
        case goOn(after: Wait?)
        /// No further request of the batch is sent, as this one failed as a whole.
        case stop(CloudKitError)
        /// The items are sent again in two requests.
        case split
    }

    /// A wait, and the error that asks for it.
    struct Wait {
        var duration: Duration
        var error: CloudKitError
    }

    /// The states of the items, in the order of the request.
    var items: [ItemState]
    var next: Next

    /// Decides what happens to each item, and what the batch does next.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the request.
    ///   - items: The items of the request.
    ///   - isAtomic: Whether the service does all of them or none.
    ///   - isWrite: Whether they change something at the service.
    ///   - delay: How long to wait before another attempt after an error; `nil` when the retry policy allows none.
    init(
        _ outcome: Outcome,
        of items: [Item],
        isAtomic: Bool,
        isWrite: Bool,
        delay: (CloudKitError) -> Duration?
    ) {
        switch outcome {
        case .failed(let error) where error.isTooLarge && items.count > 1:
            if isAtomic {
                self.init(stopping: items, with: error.ofAtomicBatch(count: items.count), isWrite: isWrite)
            } else {
                self.init(items: items.map { .toSend(isInDoubt: $0.isInDoubt) }, next: .split)
            }
        case .failed(let error):
            // The pipeline has repeated all other requests as often as the retry policy allows.
            let mayRepeat =
                isWrite && error.disposition == .unknown
                && (isAtomic ? items.allSatisfy(\.mayRepeat) : items.contains(where: \.mayRepeat))
            guard mayRepeat, let duration = delay(error) else {
                self.init(stopping: items, with: error, isWrite: isWrite)
                return
            }
            self.init(
                items: items.map { item in
                    item.mayRepeat ? .toSend(isInDoubt: true) : .failed(error, isInDoubt: item.isInDoubt)
                },
                next: .goOn(after: Wait(duration: duration, error: error))
            )
        case .answered(let results):
            if isAtomic, let error = results.lazy.compactMap(\.failure).first(where: { $0.disposition == .notDone }),
                let duration = delay(error)
            {
                // If one item of an atomic batch was not done, no item was done.
                self.init(
                    items: items.map { .toSend(isInDoubt: $0.isInDoubt) },
                    next: .goOn(after: Wait(duration: duration, error: error))
                )
                return
            }
            self.init(items: [], next: .goOn(after: nil))
            self.items.reserveCapacity(items.count)
            for (item, result) in zip(items, results) {
                add(result, of: item, isAtomic: isAtomic, isWrite: isWrite, delay: delay)
            }
        }
    }

    private init(items: [ItemState], next: Next) {
        self.items = items
        self.next = next
    }

    /// All items fail with the error of their request.
    private init(stopping items: [Item], with error: CloudKitError, isWrite: Bool) {
        self.init(items: items.map { .failed(error, isInDoubt: $0.isInDoubt && isWrite) }, next: .stop(error))
    }

    /// Adds the state of an item that has a result.
    private mutating func add(
        _ result: Result<Value, CloudKitError>,
        of item: Item,
        isAtomic: Bool,
        isWrite: Bool,
        delay: (CloudKitError) -> Duration?
    ) {
        guard case .failure(var error) = result else {
            items.append(.finished(result))
            return
        }
        if isWrite, error.leavesOutcomeOpen || item.isInDoubt { error.mayHaveBeenDone = true }
        let mayRepeat =
            switch error.disposition {
            case .notDone: true
            case .unknown: item.mayRepeat
            case .final: false
            }
        if !isAtomic, mayRepeat, let duration = delay(error) {
            items.append(.toSend(isInDoubt: item.isInDoubt || error.disposition == .unknown))
            if case .goOn(let wait) = next, duration >= wait?.duration ?? .zero {
                next = .goOn(after: Wait(duration: duration, error: error))
            }
        } else if item.isInDoubt, item.mayMeanDone(error) {
            items.append(.toVerify(error))
        } else {
            items.append(.finished(.failure(error)))
        }
    }

    /// The results of items that were looked up after a refusal.
    ///
    /// - Parameters:
    ///   - errors: The refusals.
    ///   - found: What the service has of each item that was done; `nil` for the others.
    ///   - isWhole: Whether these are all items of the request.
    ///   - isAtomic: Whether the service does all of them or none.
    /// - Returns: One result for each.
    static func results(
        verifying errors: [CloudKitError],
        found: [Value?],
        isWhole: Bool,
        isAtomic: Bool
    ) -> [Result<Value, CloudKitError>] {
        let counts = !isAtomic || (isWhole && found.allSatisfy { $0 != nil })
        return zip(errors, found).map { error, value in
            if counts, let value { .success(value) } else { .failure(error) }
        }
    }
}

extension BatchDecision.ItemState {
    /// An item whose request failed as a whole.
    fileprivate static func failed(_ error: CloudKitError, isInDoubt: Bool) -> Self {
        .finished(.failure(isInDoubt ? error.afterLostReply : error))
    }
}

extension Result {
    var failure: Failure? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }
}

extension Sequence {
    /// The values of the results that have one, in their order.
    package func successes<Value, Failure>() -> [Value] where Element == Result<Value, Failure> {
        compactMap { try? $0.get() }
    }

    /// The errors of the other results, in their order.
    func failures<Value, Failure>() -> [Failure] where Element == Result<Value, Failure> {
        compactMap(\.failure)
    }
}

extension CloudKitError {
    /// Whether the service calls the request too large. No source names the code for this; in Apple's framework it is
    /// "limit exceeded".
    var isTooLarge: Bool {
        if code == .limitExceeded { return true }
        if httpStatus?.code == 413 { return code != .quotaExceeded }
        return code == .badRequest && httpStatus != nil && (reason?.saysTooLarge ?? false)
    }

    /// Whether an error of a request can only be about the items in it.
    package var isAboutItem: Bool {
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
    static func notSent(after failure: CloudKitError) -> CloudKitError {
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

    /// The same error for a write whose request was not sent.
    var ofUnsentRequest: CloudKitError {
        if code == .outcomeUnknown { return .cancelled(operation: operation) }
        var error = self
        error.mayHaveBeenDone = false
        return error
    }

    /// The same error for a write that was sent before and whose reply was lost.
    var afterLostReply: CloudKitError {
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

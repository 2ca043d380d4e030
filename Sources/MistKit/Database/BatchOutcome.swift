extension Sequence {
    /// The values of a batch, if none of its items failed.
    ///
    /// ```swift
    /// let saved = try await database.save(articles, named: \.guid).allOrThrow()
    /// ```
    ///
    /// The items that succeeded are saved although this throws, unless the batch was atomic.
    ///
    /// - Returns: The values, in the order of the items.
    /// - Throws: A ``CloudKitError``: the error of the first item that failed, with the number of failures in its
    ///   message. For an atomic batch it is the error of the item that made the others fail.
    public func allOrThrow<Value>() throws -> [Value] where Element == Result<Value, CloudKitError> {
        let (successes, failures) = partitioned()
        // The error of an item that failed, or was not sent, because of another item does not name the cause.
        let cause = failures.first { $0.code != .atomicError && $0.code != .cancelled } ?? failures.first
        guard var cause else { return successes }
        let count = successes.count + failures.count
        if count > 1 { cause.message += " (\(failures.count) of the \(count) items of the batch failed.)" }
        throw cause
    }

    /// The values of the items that succeeded, and the errors of those that failed.
    ///
    /// ```swift
    /// let (saved, failures) = try await database.save(articles, named: \.guid).partitioned()
    /// for error in failures { print(error.item, error) }
    /// ```
    ///
    /// - Returns: Both in the order of the items. ``CloudKitError/item`` of an error names its record.
    public func partitioned<Value>() -> (successes: [Value], failures: [CloudKitError])
    where Element == Result<Value, CloudKitError> {
        var successes: [Value] = []
        var failures: [CloudKitError] = []
        for result in self {
            switch result {
            case .success(let value): successes.append(value)
            case .failure(let error): failures.append(error)
            }
        }
        return (successes, failures)
    }
}

import StreamingJSON

/// An operation of a batch, and its size in the request.
struct PreparedOperation: Sendable {
    let operation: RecordOperation
    /// The number of bytes that it takes in a request; 0 if it was not measured.
    let size: Int

    /// Prepares an operation.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - isMeasured: Whether its size matters. Then it is encoded here, which costs little beside a request.
    init(_ operation: RecordOperation, isMeasured: Bool) {
        self.operation = operation
        // An operation that cannot be encoded fails when it is sent.
        size = isMeasured ? (try? JSONWriter.bytes(of: operation))?.count ?? 0 : 0
    }
}

extension [PreparedOperation] {
    /// The bytes of JSON in one request. Apple's documentation of the framework advises 2 MB without assets; the limit
    /// of web services is not documented. 4096 bytes are left for the rest of the request.
    private static let maximumSize = 2_000_000 - 4096

    /// The ranges of the operations that go together: as many as fit into a request by count and by size. An operation
    /// that is larger than this limit is sent alone, and the service decides.
    func partsForSending() -> [Range<Int>] {
        guard count > 1 else { return isEmpty ? [] : [0..<1] }
        var parts: [Range<Int>] = []
        var start = 0
        var size = 0
        for (index, operation) in enumerated() {
            if index > start, index - start == CloudKitDatabase.batchSize || size + operation.size > Self.maximumSize {
                parts.append(start..<index)
                start = index
                size = 0
            }
            size += operation.size
        }
        parts.append(start..<count)
        return parts
    }

    /// Whether an operation refers to a record that an earlier request writes, so that the requests must be sent in order.
    func refersBackwards(over parts: [Range<Int>]) -> Bool {
        guard parts.count > 1 else { return false }
        var requests: [String: Int] = [:]
        for (number, part) in parts.enumerated() {
            for item in self[part] {
                if item.operation.record.refersTo(where: { requests[$0].map { $0 < number } ?? false }) { return true }
            }
            for item in self[part] {
                if let name = item.operation.record.recordName { requests[name] = number }
            }
        }
        return false
    }
}

extension Record {
    /// Whether the record refers to a record whose name the closure knows. References with the action `none` do not
    /// count.
    fileprivate func refersTo(where isKnown: (String) -> Bool) -> Bool {
        if let parent, isKnown(parent.recordName) { return true }
        if let root = shareAccess.forRecord?.recordName, isKnown(root) { return true }
        return fields.contains { field in
            let references = field.value.referenceListValue ?? field.value.referenceValue.map { [$0] } ?? []
            return references.contains { $0.action != .none && isKnown($0.recordName) }
        }
    }
}

extension CloudKitError {
    /// An atomic batch that does not fit into one request.
    static func tooLarge(atomicBatchOf count: Int, maximumCount: Int) -> CloudKitError {
        let problem =
            count > maximumCount
            ? "has \(count) operations, and a request takes \(maximumCount)"
            : "of \(count) operations is longer than the 2 MB that a request should have"
        return CloudKitError(
            code: .invalidArgument,
            message: """
                The atomic batch \(problem). It is not split, as its parts would not be atomic together. Nothing was sent. Send fewer \
                operations at a time, or atomic: false.
                """
        )
    }
}

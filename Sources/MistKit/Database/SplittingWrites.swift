import StreamingJSON

extension [RecordOperation] {
    /// The bytes of JSON in one request. Apple's documentation of the framework advises 2 MB without assets; what web services take is
    /// not documented. Some are left for what stands around the operations.
    private static let maximumSize = 2_000_000 - 4096

    /// The places of the operations that go together: as many as fit into a request by count and by size. One that is larger than a
    /// request should be goes alone, and the service says what it thinks of it.
    func partsForSending() -> [Range<Int>] {
        guard count > 1 else { return isEmpty ? [] : [0..<1] }
        var parts: [Range<Int>] = []
        var start = 0
        var size = 0
        for (index, operation) in enumerated() {
            // One that cannot be written at all is found when it is sent.
            let bytes = ((try? JSONWriter.bytes(of: operation))?.count ?? 0) + 1
            if index > start, index - start == CloudKitDatabase.batchSize || size + bytes > Self.maximumSize {
                parts.append(start..<index)
                start = index
                size = 0
            }
            size += bytes
        }
        parts.append(start..<count)
        return parts
    }

    /// Whether an operation refers to a record that an earlier request writes, so that the requests must be sent in order.
    func refersBackwards(over parts: [Range<Int>]) -> Bool {
        guard parts.count > 1 else { return false }
        var places: [String: Int] = [:]
        for (number, part) in parts.enumerated() {
            for operation in self[part] {
                if operation.record.refersTo(where: { places[$0].map { $0 < number } ?? false }) { return true }
            }
            for operation in self[part] {
                if let name = operation.record.recordName { places[name] = number }
            }
        }
        return false
    }
}

extension Record {
    /// Whether the record has a reference, other than one without consequences, to a record that a closure knows.
    fileprivate func refersTo(where isKnown: (String) -> Bool) -> Bool {
        if let parent, isKnown(parent.recordName) { return true }
        if let root = forRecord?.recordName, isKnown(root) { return true }
        return fields.contains { field in
            switch field.value {
            case .reference(let reference): reference.action != .none && isKnown(reference.recordName)
            case .referenceList(let references): references.contains { $0.action != .none && isKnown($0.recordName) }
            default: false
            }
        }
    }
}

extension CloudKitError {
    /// An atomic batch that does not fit into one request.
    static func tooLarge(atomic operations: [RecordOperation], maximumCount: Int) -> CloudKitError {
        let problem =
            operations.count > maximumCount
            ? "has \(operations.count) operations, and a request takes \(maximumCount)"
            : "of \(operations.count) operations is longer than the 2 MB that a request should have"
        return CloudKitError(
            code: .invalidArgument,
            message: """
                The atomic batch \(problem). It is not split, as its parts would not be atomic together. Nothing was sent. Send fewer \
                operations at a time, or atomic: false.
                """
        )
    }
}

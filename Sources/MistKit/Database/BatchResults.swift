extension CloudKitDatabase {
    /// Looks records up by name in as many requests as needed, and gives one result for each, in their order.
    func inBatches<ItemResult: BatchItemResult>(
        of names: [String],
        send: @escaping @Sendable ([String], CallContext) async throws(CloudKitError) -> Reply<[ItemResult]>
    ) async throws(CloudKitError) -> [Result<ItemResult.Value, CloudKitError>] {
        try await BatchSender<String, ItemResult.Value>(
            items: names,
            service: service,
            about: { error, name in error.about(name) },
            send: { (batch, call) async throws(CloudKitError) in
                BatchResults.align(try await send(batch, call), with: batch)
            }
        ).results()
    }
}

/// The body of a response, and what the errors of its items say about where they are from.
struct Reply<Body> {
    var body: Body
    var origin: ResponseOrigin

    init(_ body: Body, operation: String, requestUUID: String?) {
        self.body = body
        origin = ResponseOrigin(operation: operation, requestUUID: requestUUID)
    }

    init(_ body: Body, from origin: ResponseOrigin) {
        self.body = body
        self.origin = origin
    }
}

/// Which request an item's error is from.
struct ResponseOrigin: Sendable {
    var operation: String
    var requestUUID: String?
}

/// One item of a response's list: a record, typed or not, or why there is none.
protocol BatchItemResult: SendableMetatype {
    associatedtype Value: Sendable

    /// The record's name, as far as the service gave it.
    var recordName: String? { get }

    /// The record, or its error.
    func result(requested name: String?, in origin: ResponseOrigin) -> Result<Value, CloudKitError>
}

extension RecordResult: BatchItemResult {
    func result(requested name: String?, in origin: ResponseOrigin) -> Result<Record, CloudKitError> {
        Result(self, requested: name, in: origin)
    }
}

/// Which result of a response belongs to which item of the request.
enum BatchResults {
    /// The service keeps the order. Should a response hold too few results or other records, names decide, and an item
    /// without a result is a failed one.
    static func align<ItemResult: BatchItemResult>(
        _ reply: Reply<[ItemResult]>,
        with names: [String?]
    ) -> [Result<ItemResult.Value, CloudKitError>] {
        let results = reply.body
        let inOrder =
            results.count == names.count
            && zip(results, names).allSatisfy { result, name in
                name == nil || result.recordName == nil || result.recordName == name
            }
        if inOrder {
            return zip(results, names).map { $0.result(requested: $1, in: reply.origin) }
        }
        var byName: [String: ItemResult] = [:]
        for result in results {
            if let name = result.recordName { byName[name] = result }
        }
        return names.map { name in
            if let name, let result = byName[name] { return result.result(requested: name, in: reply.origin) }
            return .failure(
                .missingResult(count: results.count, of: names.count).about(name).from(reply.origin)
            )
        }
    }
}

extension Result where Success == Record, Failure == CloudKitError {
    /// An item of a response.
    init(_ result: RecordResult, requested name: String? = nil, in origin: ResponseOrigin) {
        switch result {
        case .record(let record):
            self = .success(record)
        case .failure(let error):
            self = .failure(CloudKitError(error, requested: name, in: origin))
        }
    }
}

extension CloudKitError {
    /// A failed item of a response.
    init(_ error: RecordError, requested name: String?, in origin: ResponseOrigin) {
        self = CloudKitError(error, requested: name).from(origin)
    }

    /// A failed item of a response, of whichever request.
    init(_ error: RecordError, requested name: String?) {
        let name = error.id ?? name
        self.init(error.response, item: name.map { .record(name: $0) })
    }

    fileprivate static func missingResult(count: Int, of expected: Int) -> CloudKitError {
        CloudKitError(
            code: .unexpectedResponse,
            message: """
                The response holds no result for this record (\(count) results for \(expected) records). A write may have \
                been done or not; fetch the record.
                """
        )
    }

    /// The same error with what its response says of the request.
    func from(_ origin: ResponseOrigin) -> CloudKitError {
        var error = self
        error.operation = origin.operation
        error.requestUUID = requestUUID ?? origin.requestUUID
        return error
    }

    /// The same error for one record of the request.
    func about(_ recordName: String?) -> CloudKitError {
        var error = self
        error.item = recordName.map { .record(name: $0) } ?? item
        return error
    }
}

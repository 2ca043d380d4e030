import CloudKitWebServices
public import StreamingJSON

/// The records of a response, read straight into models: what ``CloudKitRecord/_readItems(from:)`` gives.
public struct _TypedItems<Model: CloudKitRecord>: Sendable {
    /// The items, each a record or why there is none.
    @usableFromInline var results: [Result<StoredRecord<Model>, CloudKitError>] = []
    /// Where those stand that failed. Their errors do not know yet which request they are from.
    @usableFromInline var failures: [Int] = []

    // All of this is compiled for the model. So what does not depend on it is elsewhere, and the record is read where it is, as
    // copying one costs as much as reading three of its fields.
    @inlinable
    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginArray()
        while try reader.nextElement() {
            var record = Record(recordName: nil)
            var model: Model?
            var failure = try record.readItem(json: &reader, of: Model.self, table: Model.fieldTable) {
                (fields) throws(FieldError) in model = try Model(fields: &fields)
            }
            if failure == nil {
                if let model = consume model {
                    let content = StoredRecord.Content(
                        record: consume record,
                        model: consume model,
                        isSaved: true
                    )
                    results.append(.success(StoredRecord(content)))
                    continue
                }
                failure = .unreadable(record, as: Model.self, FieldError("it has no fields"), field: -1)
            }
            if let failure {
                failures.append(results.count)
                results.append(.failure(failure))
            }
        }
    }

    /// The items, whose errors say which request they are from.
    func results(in origin: ResponseOrigin) -> [Result<StoredRecord<Model>, CloudKitError>] {
        var results = results
        for index in failures {
            results[index] = results[index].result(requested: nil, in: origin)
        }
        return results
    }
}

extension Record {
    /// Reads an item of a response's `records` into this empty record, except that its fields go into a model.
    ///
    /// - Parameters:
    ///   - reader: In front of the item.
    ///   - model: The type of the records.
    ///   - table: The fields of the type.
    ///   - readModel: Takes the fields.
    /// - Returns: Why there is no such record: the service's error, or what of it is not what its type says.
    /// - Throws: A ``JSONError`` where the item is no object, or the grammar of JSON is broken.
    @usableFromInline
    mutating func readItem(
        json reader: inout JSONReader,
        of model: any CloudKitRecord.Type,
        table: FieldTable,
        readModel: (inout FieldReader) throws(FieldError) -> Void
    ) throws(JSONError) -> CloudKitError? {
        let start = reader.position
        var isError = false
        var hasFields = false
        var failure: (error: FieldError, field: Int)?
        try readMembers(json: &reader, stops: true, isError: &isError) { (json) throws(JSONError) in
            hasFields = true
            let place = json.position
            try json.beginObject()
            var unknown = Record.Fields()
            failure = withUnsafeMutablePointer(to: &json) { json in
                var fields = FieldReader(json: json, table: table)
                do throws(FieldError) {
                    try readModel(&fields)
                    unknown = fields.unknown
                    return nil
                } catch {
                    return (error, fields.current)
                }
            }
            if let failure {
                if let cause = failure.error.cause, cause.isBrokenJSON { throw cause }
                // The rest of the record tells which one it is.
                json.rewind(to: place)
                try json.skipValue()
            }
            return unknown
        }
        if isError {
            reader.rewind(to: start)
            return CloudKitError(try RecordError(json: &reader), requested: nil)
        }
        if let type = recordType, type != model.recordType {
            failure = (FieldError("its record type is \(type)"), -1)
        } else if recordName == nil {
            failure = (FieldError("it has no record name"), -1)
        } else if !hasFields {
            var fields = FieldReader(Record.Fields(), table: table)
            do {
                try readModel(&fields)
            } catch {
                failure = (error, fields.current)
            }
        }
        return failure.map { .unreadable(self, as: model, $0.error, field: $0.field) }
    }
}

extension Result: BatchItemResult where Success: NamedRecord, Failure == CloudKitError {
    var recordName: String? {
        switch self {
        case .success(let record): return record.recordName
        case .failure(let error):
            guard case .record(let name)? = error.item else { return nil }
            return name
        }
    }

    func result(requested name: String?, in origin: ResponseOrigin) -> Self {
        mapError { error in (error.item == nil ? error.about(name) : error).from(origin) }
    }
}

/// A record of whatever type that has a name.
protocol NamedRecord: Sendable {
    var recordName: String { get }
}

extension StoredRecord: NamedRecord {}

extension JSONError {
    /// Whether the error is one of the grammar, after which nothing that follows can be trusted.
    fileprivate var isBrokenJSON: Bool {
        [.malformed, .unexpectedEnd, .invalidUTF8, .depthLimitExceeded].contains(code)
    }
}

extension CloudKitRecord {
    /// Reads the records of a response, as ``CloudKitRecord/_readItems(from:)-swift.type.method`` says.
    ///
    /// - Parameter reader: In front of the list.
    /// - Returns: The records.
    /// - Throws: A `JSONError` where the response is not JSON.
    @inlinable
    public static func _readItems(from reader: inout JSONReader) throws(JSONError) -> _TypedItems<Self> {
        try _TypedItems(json: &reader)
    }
}

/// The body of a response that holds records of a type: a page of a query, or the results of a lookup.
struct TypedRecords<Model: CloudKitRecord>: JSONReadable {
    private static var keys: JSONKeys { recordsKeys }

    private var items: _TypedItems<Model>?
    private(set) var continuationMarker: String?

    /// The records, each with the item that failed in its place, which does not know yet which request it is from.
    var results: [Result<StoredRecord<Model>, CloudKitError>] { items?.results ?? [] }

    /// The records, each with the item that failed in its place.
    func results(in origin: ResponseOrigin) -> [Result<StoredRecord<Model>, CloudKitError>] {
        items?.results(in: origin) ?? []
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: items = try reader.readNullIfPresent() ? nil : try Model._readItems(from: &reader)
            case 1: continuationMarker = try reader.readNullIfPresent() ? nil : try reader.readString()
            default: try reader.skipValue()
            }
        }
    }
}

private let recordsKeys = JSONKeys("records", "continuationMarker")

/// Reads the body of a response into typed records without a service, for the benchmarks.
///
/// - Parameters:
///   - model: The type of the records.
///   - bytes: The body.
/// - Returns: The records, each with the item that failed in its place.
/// - Throws: ``CloudKitError/Code-swift.struct/decoding`` where the body is not JSON.
@_spi(Benchmarks)
public func readTypedRecords<Model: CloudKitRecord>(
    _ model: Model.Type,
    from bytes: [UInt8]
) throws(CloudKitError) -> [Result<StoredRecord<Model>, CloudKitError>] {
    do {
        let origin = ResponseOrigin(operation: Operations.QueryRecords.id, requestUUID: nil)
        return try JSONReader.read(TypedRecords<Model>.self, from: bytes).results(in: origin)
    } catch {
        throw CloudKitError(error, operation: Operations.QueryRecords.id)
    }
}

public import StreamingJSON

/// One item of a response's `records`, but for the model that its fields are read into.
@usableFromInline
enum RecordItem {
    /// A record whose fields have been read, with those that its type does not know.
    case record(Record)
    /// An error dictionary.
    case failure(RecordError)
    /// A record that is not what its type says.
    case unreadable(CloudKitError)

    /// Reads an item.
    ///
    /// - Parameters:
    ///   - reader: In front of the item.
    ///   - model: The type of the records.
    ///   - table: The fields of the type.
    ///   - readModel: Takes the fields.
    /// - Throws: A ``JSONError`` where the item is no object, or the grammar of JSON is broken.
    @usableFromInline
    init(
        json reader: inout JSONReader,
        of model: any CloudKitRecord.Type,
        table: FieldTable,
        readModel: (inout FieldReader) throws(FieldError) -> Void
    ) throws(JSONError) {
        let start = reader.position
        var isError = false
        var hasFields = false
        var failure: (error: FieldError, field: Int)?
        let record = try Record(json: &reader, stops: true, isError: &isError) { (json) throws(JSONError) in
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
            self = .failure(try RecordError(json: &reader))
            return
        }
        if let type = record.recordType, type != model.recordType {
            failure = (FieldError("its record type is \(type)"), -1)
        } else if record.recordName == nil {
            failure = (FieldError("it has no record name"), -1)
        } else if !hasFields {
            var fields = FieldReader([:], table: table)
            do {
                try readModel(&fields)
            } catch {
                failure = (error, fields.current)
            }
        }
        if let failure {
            self = .unreadable(.unreadable(record, as: model, failure.error, field: failure.field))
        } else {
            self = .record(record)
        }
    }
}

/// One item of a response's `records`, read straight into a model: the record, or why there is none.
@usableFromInline
struct TypedResult<Model: CloudKitRecord>: JSONReadable, BatchItemResult, Sendable {
    @usableFromInline
    enum Content: Sendable {
        case record(StoredRecord<Model>)
        case failure(RecordError)
        case unreadable(CloudKitError)
    }

    @usableFromInline let content: Content

    @inlinable
    init(json reader: inout JSONReader) throws(JSONError) {
        var model: Model?
        let item = try RecordItem(json: &reader, of: Model.self, table: Model.fieldTable) {
            (fields) throws(FieldError) in model = try Model(fields: &fields)
        }
        switch item {
        case .record(let record):
            content =
                if let model = model.take() {
                    .record(StoredRecord(StoredRecord.Content(record: record, model: model, isSaved: true)))
                } else {
                    .unreadable(.unreadable(record, as: Model.self, FieldError("it has no fields"), field: -1))
                }
        case .failure(let error):
            content = .failure(error)
        case .unreadable(let error):
            content = .unreadable(error)
        }
    }

    var recordName: String? {
        switch content {
        case .record(let record): return record.recordName
        case .failure(let error): return error.recordName
        case .unreadable(let error):
            guard case .record(let name)? = error.item else { return nil }
            return name
        }
    }

    func result(
        requested name: String?,
        in origin: ResponseOrigin
    ) -> Result<StoredRecord<Model>, CloudKitError> {
        switch content {
        case .record(let record): .success(record)
        case .failure(let error): .failure(CloudKitError(error, requested: name, in: origin))
        case .unreadable(let error): .failure(error.from(origin))
        }
    }
}

extension JSONError {
    /// Whether the error is one of the grammar, after which nothing that follows can be trusted.
    fileprivate var isBrokenJSON: Bool {
        [.malformed, .unexpectedEnd, .invalidUTF8, .depthLimitExceeded].contains(code)
    }
}

/// The records of a response, read straight into models: what ``CloudKitRecord/readItems(from:)`` gives.
public struct TypedItems<Model: CloudKitRecord>: Sendable {
    @usableFromInline let results: [TypedResult<Model>]

    @inlinable
    init(json reader: inout JSONReader) throws(JSONError) {
        results = try reader.read()
    }
}

extension CloudKitRecord {
    /// Reads the records of a response, as ``CloudKitRecord/readItems(from:)-swift.type.method`` says.
    ///
    /// - Parameter reader: In front of the list.
    /// - Returns: The records.
    /// - Throws: A `JSONError` where the response is not JSON.
    @inlinable
    public static func readItems(from reader: inout JSONReader) throws(JSONError) -> TypedItems<Self> {
        try TypedItems(json: &reader)
    }
}

/// The body of a response that holds records of a type: a page of a query, or the results of a lookup.
struct TypedRecords<Model: CloudKitRecord>: JSONReadable {
    private static var keys: JSONKeys { recordsKeys }

    var results: [TypedResult<Model>] = []
    var continuationMarker: String?

    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: results = try reader.readNullIfPresent() ? [] : try Model.readItems(from: &reader).results
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
        let origin = ResponseOrigin(operation: "queryRecords", requestUUID: nil)
        return try JSONReader.read(TypedRecords<Model>.self, from: bytes).results.map {
            $0.result(requested: nil, in: origin)
        }
    } catch {
        throw CloudKitError(error, operation: "queryRecords")
    }
}

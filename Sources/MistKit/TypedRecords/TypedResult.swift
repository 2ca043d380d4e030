import StreamingJSON

/// One item of a response's `records`, read straight into a model: the record, or why there is none.
struct TypedResult<Model: CloudKitRecord>: JSONReadable, BatchItemResult {
    let recordName: String?
    private let content: Content

    private enum Content {
        case record(StoredRecord<Model>)
        case failure(RecordError)
        case unreadable(CloudKitError)
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        var isError = false
        var model: Model?
        var failure: (error: FieldError, field: Int)?
        let record = try Record(json: &reader, stops: true, isError: &isError) { (json) throws(JSONError) in
            let place = json.position
            try json.beginObject()
            var unknown = Record.Fields()
            (model, failure) = withUnsafeMutablePointer(to: &json) { json in
                var fields = FieldReader(json: json, table: Model.fieldTable)
                do throws(FieldError) {
                    let model = try Model(fields: &fields)
                    unknown = fields.unknown
                    return (model, nil)
                } catch {
                    return (nil, (error, fields.current))
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
            let error = try RecordError(json: &reader)
            recordName = error.recordName
            content = .failure(error)
            return
        }
        recordName = record.recordName
        if let type = record.recordType, type != Model.recordType {
            failure = (FieldError("its record type is \(type)"), -1)
        } else if recordName == nil {
            failure = (FieldError("it has no record name"), -1)
        } else if model == nil, failure == nil {
            // A record that came without fields.
            var fields = FieldReader([:], table: Model.fieldTable)
            do {
                model = try Model(fields: &fields)
            } catch {
                failure = (error, fields.current)
            }
        }
        if let model, failure == nil {
            content = .record(
                StoredRecord(
                    model: model,
                    origin: StoredRecord.Origin(record: record, model: model, parent: record.parent)
                )
            )
        } else {
            let (error, field) = failure ?? (FieldError("it has no fields"), -1)
            content = .unreadable(.unreadable(record, as: Model.self, error, field: field))
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

/// The body of a response that holds records of a type: a page of a query, or the results of a lookup.
struct TypedRecords<Model: CloudKitRecord>: JSONReadable {
    private static var keys: JSONKeys { recordsKeys }

    var results: [TypedResult<Model>] = []
    var continuationMarker: String?

    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: results = try reader.readNullIfPresent() ? [] : try reader.read()
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

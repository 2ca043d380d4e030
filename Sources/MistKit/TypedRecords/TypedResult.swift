import CloudKitWebServices
public import StreamingJSON

/// The records of a response, read straight into models: the result of ``CloudKitRecord/_readItems(from:)``.
public struct _TypedItems<Model: CloudKitRecord>: Sendable {
    /// The items, each a record or an error.
    @usableFromInline var results: [Result<StoredRecord<Model>, CloudKitError>] = []
    /// The indexes of the items that failed. Their errors do not name their request yet.
    @usableFromInline var failures: [Int] = []

    @inlinable
    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginArray()
        while try reader.nextElement() {
            let start = reader.position
            if let record = StoredRecord<Model>.readUsualItem(json: &reader) {
                results.append(.success(record))
                continue
            }
            reader.rewind(to: start)
            let result = try StoredRecord<Model>.readItem(json: &reader)
            if case .failure = result { failures.append(results.count) }
            results.append(result)
        }
    }

    /// The items; their errors name the request.
    func results(in origin: ResponseOrigin) -> [Result<StoredRecord<Model>, CloudKitError>] {
        var results = results
        for index in failures {
            results[index] = results[index].result(requested: nil, in: origin)
        }
        return results
    }
}

extension StoredRecord {
    /// Reads an item of a response's `records` straight into the model, if it is a record whose fields fit its type.
    ///
    /// - Parameter reader: In front of the item.
    /// - Returns: The record; `nil` for any other item, and where the input is not valid JSON. ``readItem(json:)`` then
    ///   finds out which.
    // All of this is compiled once for each model. So code that does not depend on the model is elsewhere, and no
    // needless copies are made: a copy of a record costs as much as reading several of its fields.
    @inlinable
    static func readUsualItem(json reader: inout JSONReader) -> StoredRecord? {
        var record = Record(recordName: nil)
        guard record.readItemUpToFields(json: &reader),
            let model = FieldReader.readModel(Model.self, json: &reader, otherFields: &record.fields),
            record.readItemToEnd(json: &reader, recordType: Model.recordType)
        else { return nil }
        return StoredRecord(Content(record: record, model: model, isSaved: true))
    }

    /// Reads an item of a response's `records`, a record or an error.
    ///
    /// - Parameter reader: In front of the item.
    /// - Returns: The record, or an error: the service's, or one about the field that does not fit its type.
    /// - Throws: A `JSONError` where the item is not an object, or the input is not valid JSON.
    @usableFromInline
    static func readItem(json reader: inout JSONReader) throws(JSONError) -> Result<StoredRecord, CloudKitError> {
        switch try RecordResult(json: &reader) {
        case .failure(let error):
            return .failure(CloudKitError(error))
        case .success(let record):
            guard record.recordName != nil else {
                return .failure(.unreadable(record, as: Model.self, FieldError("it has no record name"), field: -1))
            }
            return read(record)
        }
    }
}

extension Record {
    /// Enters an item of a response's `records`, and reads its members into this empty record up to the fields.
    ///
    /// - Returns: Whether the reader is in front of the object of the fields.
    @usableFromInline
    mutating func readItemUpToFields(json reader: inout JSONReader) -> Bool {
        guard (try? reader.beginObject()) != nil else { return false }
        var isError = false
        return (try? readMembers(json: &reader, stops: true, isError: &isError)) == true
    }

    /// Reads the members after the fields.
    ///
    /// - Returns: Whether the reader is at the end of the item, and the item is a record of that type with a name.
    @usableFromInline
    mutating func readItemToEnd(json reader: inout JSONReader, recordType type: String) -> Bool {
        var isError = false
        guard (try? readMembers(json: &reader, stops: true, isError: &isError)) == false else { return false }
        return !isError && recordName != nil && (recordType == nil || recordType == type)
    }
}

extension Result: BatchItemResult where Success: NamedRecord, Failure == CloudKitError {
    package var itemID: String? {
        switch self {
        case .success(let record): return record.recordName
        case .failure(let error):
            guard case .record(let name)? = error.item else { return nil }
            return name
        }
    }

    package func result(requested name: String?, in origin: ResponseOrigin) -> Self {
        mapError { error in (error.item == nil ? error.about(name) : error).from(origin) }
    }

    package static func isSame(_ name: String, _ other: String) -> Bool { name == other }
    package static func errorItem(_ name: String) -> CloudKitError.Item { Record.errorItem(name) }
}

/// A record of any type that has a name.
package protocol NamedRecord: Sendable {
    var recordName: String { get }
}

extension StoredRecord: NamedRecord {}

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

    /// The records, in the order of the response. A failed item is an error, which does not name its request yet.
    var results: [Result<StoredRecord<Model>, CloudKitError>] { items?.results ?? [] }

    /// The records, in the order of the response. A failed item is an error.
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

/// The keys of the body of a response with records.
let recordsKeys = JSONKeys("records", "continuationMarker")

/// Reads the body of a response into typed records without a service, for the benchmarks.
///
/// - Parameters:
///   - model: The type of the records.
///   - bytes: The body.
/// - Returns: The records, in the order of the response. A failed item is an error.
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

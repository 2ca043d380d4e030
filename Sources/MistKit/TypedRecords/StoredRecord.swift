#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A typed record with what the service keeps about it: its name, its change tag, who touched it when.
///
/// ```swift
/// var user = try await database.fetch(User.self, "mei")
/// user.firstName          // the model's, read and written through
/// user.recordChangeTag    // the record's
/// user.created?.timestamp
/// user.firstName = "Mei Lin"
/// user.changedFields      // ["firstName": "Mei Lin"]
/// try await database.update(user)
/// ```
///
/// ## Why a type around yours
///
/// Your struct stays as you wrote it: with its memberwise initialiser, equal when its values are, made in a test without a service,
/// shown in a view, passed to code that knows nothing of CloudKit. Properties that the macro would put into it would be in every
/// initialiser, in `==` and in `Codable`, and a copy made with the initialiser would have lost its change tag without a word. Here it
/// cannot be lost: what `update`, `replace` and `delete` take is this type, and it comes from the service or says that it does not.
///
/// Where a property of yours has the name of one here, as `parent`, the record's is found first; yours is `record.model.parent`.
///
/// ## What it remembers
///
/// The model as it was when it was fetched or saved last, in ``original``; and the fields that the model has no property for, in
/// ``otherFields``. ``changedFields`` is the difference that an update sends.
///
/// ## Topics
///
/// ### The record's parts
/// - ``model``
/// - ``recordName``
/// - ``recordChangeTag``
/// - ``zoneID``
/// - ``created``
/// - ``modified``
/// - ``parent``
/// - ``share``
/// - ``otherFields``
///
/// ### Making one
/// - ``init(_:recordName:zoneID:parent:)``
/// - ``init(stored:recordName:recordChangeTag:zoneID:created:modified:)``
/// - ``init(_:)``
///
/// ### What changed
/// - ``original``
/// - ``hasChanges``
/// - ``changedFields``
///
/// ### Without the type
/// - ``record``
/// - ``reference(_:)``
@dynamicMemberLookup
public struct StoredRecord<Model: CloudKitRecord>: Sendable {
    /// What does not change with the model, in one object.
    final class Origin: Sendable {
        /// The system fields, with the fields that the model does not have.
        let record: Record
        /// The model as the service has it; `nil` when the record was never saved.
        let model: Model?
        /// The parent as the service has it.
        let parent: Reference?

        init(record: Record, model: Model?, parent: Reference?) {
            self.record = record
            self.model = model
            self.parent = parent
        }
    }

    /// Your values.
    public var model: Model

    var origin: Origin

    init(model: Model, origin: Origin) {
        self.model = model
        self.origin = origin
    }

    /// Makes a record that is yet to be saved.
    ///
    /// - Parameters:
    ///   - model: Your values.
    ///   - recordName: The record's name, unique in its zone; a new UUID when `nil`.
    ///   - zoneID: The zone to save it in; `nil` leaves that to the call that saves it.
    ///   - parent: The record above it in what is shared.
    public init(_ model: Model, recordName: String? = nil, zoneID: ZoneID? = nil, parent: Reference? = nil) {
        var record = Record(recordType: Model.recordType, recordName: recordName ?? UUID().uuidString)
        record.zoneID = zoneID
        if parent != nil { record.parent = parent }
        self.model = model
        origin = Origin(record: record, model: nil, parent: nil)
    }

    /// Makes a record as if it had been fetched, for tests and for records kept elsewhere.
    ///
    /// - Parameters:
    ///   - model: The values that the service has.
    ///   - recordName: The record's name.
    ///   - recordChangeTag: The version that the values are of.
    ///   - zoneID: The record's zone.
    ///   - created: Who created it.
    ///   - modified: Who changed it last.
    public init(
        stored model: Model,
        recordName: String,
        recordChangeTag: String,
        zoneID: ZoneID? = nil,
        created: Record.Stamp? = nil,
        modified: Record.Stamp? = nil
    ) {
        self.model = model
        let record = Record(
            recordName: recordName,
            recordType: Model.recordType,
            recordChangeTag: recordChangeTag,
            created: created,
            modified: modified,
            zoneID: zoneID
        )
        origin = Origin(record: record, model: model, parent: nil)
    }

    /// Reads a record without a type, such as one of a change feed.
    ///
    /// - Parameter record: The record.
    /// - Throws: ``CloudKitError/Code-swift.struct/decoding``, naming the record and the field, where its fields do not fit the
    ///   type, or it is of another record type.
    public init(_ record: Record) throws(CloudKitError) {
        var reader = FieldReader(record.fields, table: Model.fieldTable)
        let model: Model
        do {
            model = try Model(fields: &reader)
        } catch {
            throw .unreadable(record, as: Model.self, error, field: reader.current)
        }
        if let type = record.recordType, type != Model.recordType {
            throw .unreadable(record, as: Model.self, FieldError("its record type is \(type)"), field: -1)
        }
        var rest = record
        rest.fields = reader.unknown
        self.init(model: model, origin: Origin(record: rest, model: model, parent: record.parent))
    }

    /// A value of the model's.
    public subscript<Value>(dynamicMember path: WritableKeyPath<Model, Value>) -> Value {
        get { model[keyPath: path] }
        set { model[keyPath: path] = newValue }
    }

    /// A value of the model's that cannot be assigned.
    public subscript<Value>(dynamicMember path: KeyPath<Model, Value>) -> Value {
        model[keyPath: path]
    }
}

// MARK: System fields

extension StoredRecord {
    /// The record's name, unique in its zone.
    public var recordName: String { origin.record.recordName ?? "" }

    /// The version of the record, which the service compares before it changes anything; `nil` when it was never saved.
    public var recordChangeTag: String? { origin.record.recordChangeTag }

    /// The record's zone; `nil` where neither you nor the service said.
    public var zoneID: ZoneID? { origin.record.zoneID }

    /// Who created the record, and when.
    public var created: Record.Stamp? { origin.record.created }

    /// Who changed it last, and when.
    public var modified: Record.Stamp? { origin.record.modified }

    /// The share that it is the root of.
    public var share: Reference? { origin.record.share }

    /// The short name that opens the share.
    public var shortGUID: String? { origin.record.shortGUID }

    /// The record above it in what is shared. Assign one to put the record there when it is updated.
    public var parent: Reference? {
        get { origin.record.parent }
        set {
            var record = origin.record
            record.parent = newValue
            origin = Origin(record: record, model: origin.model, parent: origin.parent)
        }
    }

    /// The fields that the record has and the model does not.
    public var otherFields: Record.Fields { origin.record.fields }

    /// A pointer to this record, for a property of another one's.
    ///
    /// - Parameter action: What happens to the other record when this one is deleted.
    /// - Returns: The pointer.
    public func reference(_ action: Reference.Action = .none) -> RecordReference<Model> {
        RecordReference(recordName: recordName, action: action, zoneID: zoneID)
    }
}

// MARK: Changes

extension StoredRecord {
    /// The model as it was when it was fetched or saved last; `nil` when it was never saved.
    public var original: Model? { origin.model }

    /// Whether an update would send anything.
    public var hasChanges: Bool { !changedFields.isEmpty || parent != origin.parent }

    /// The fields that are not as they were, with their new values; `FieldValue.null` for those that were cleared.
    ///
    /// A value that cannot be saved is not among them; the call that saves it says so.
    public var changedFields: Record.Fields { (try? savedChanges()) ?? [:] }

    /// The whole record without a type, its other fields included.
    public var record: Record {
        var record = origin.record
        var writer = FieldWriter(Model.fieldTable)
        model.write(fields: &writer)
        let others = record.fields
        record.fields = writer.fields.withoutNulls
        for field in others { record.fields[field.name] = field.value }
        return record
    }

    func savedChanges() throws(FieldError) -> Record.Fields {
        let now = try model.savedFields()
        guard let original else { return now.withoutNulls }
        var before = FieldWriter(Model.fieldTable)
        original.write(fields: &before)
        let old = before.fields
        return Record.Fields(now.lazy.filter { old[$0.name] != $0.value }.map { ($0.name, $0.value) })
    }

    /// The same record with other values, to be saved over this version of it.
    func replacing(_ model: Model, parent: Reference?) -> StoredRecord {
        var record = StoredRecord(model: model, origin: origin)
        if record.parent != parent { record.parent = parent }
        return record
    }

    /// The record as it was fetched or saved last.
    var unchanged: StoredRecord {
        guard let original else { return self }
        return replacing(original, parent: origin.parent)
    }
}

extension StoredRecord: Equatable where Model: Equatable {
    /// Whether both have the same values and are the same version of the same record.
    public static func == (left: StoredRecord, right: StoredRecord) -> Bool {
        left.model == right.model && left.recordName == right.recordName
            && left.recordChangeTag == right.recordChangeTag && left.parent == right.parent
            && left.otherFields == right.otherFields
            && (left.zoneID ?? .default).zoneName == (right.zoneID ?? .default).zoneName
    }
}

extension StoredRecord: Hashable where Model: Hashable {
    /// Feeds the values, the record's name and its version to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(model)
        hasher.combine(recordName)
        hasher.combine(recordChangeTag)
    }
}

extension Record.Fields {
    var withoutNulls: Record.Fields {
        contains { $0.value.isNull }
            ? Record.Fields(lazy.filter { !$0.value.isNull }.map { ($0.name, $0.value) }) : self
    }
}

extension CloudKitError {
    /// A record that is not what its type says.
    static func unreadable<Model: CloudKitRecord>(
        _ record: Record,
        as model: Model.Type,
        _ failure: FieldError,
        field index: Int
    ) -> CloudKitError {
        let names = model.fieldTable.names
        let field = failure.field ?? (names.indices.contains(index) ? names[index] : nil)
        let place = field.map { "the field \"\($0)\" does not fit: " } ?? ""
        var error = CloudKitError(
            code: .decoding,
            message: "The record cannot be read as \(model): \(place)\(failure.message)."
        )
        error.item = record.recordName.map { .record(name: $0) }
        return error
    }

    /// A record that has no form to be saved in.
    static func unwritable<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        _ failure: FieldError
    ) -> CloudKitError {
        let what = failure.field.map { "The field \"\($0)\"" } ?? "A field"
        var error = CloudKitError(
            code: .encoding,
            message: "\(what) of \(Model.self) cannot be saved: \(failure.message). Nothing of this record was sent."
        )
        error.item = .record(name: record.recordName)
        return error
    }
}

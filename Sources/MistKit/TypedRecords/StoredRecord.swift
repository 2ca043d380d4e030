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
    /// Everything, in one object that copies share until one of them is changed. Only its one owner changes it.
    @usableFromInline
    final class Content: @unchecked Sendable {
        /// The system fields, with the fields that the model does not have.
        @usableFromInline var record: Record
        @usableFromInline var model: Model
        /// The record as the service has it; `nil` when that is this one, and when the service has none.
        @usableFromInline let saved: Content?
        /// Whether this is the record as the service has it.
        @usableFromInline let isSaved: Bool

        @inlinable
        init(record: consuming Record, model: consuming Model, isSaved: Bool, saved: Content? = nil) {
            self.record = record
            self.model = model
            self.isSaved = isSaved
            self.saved = saved
        }
    }

    @usableFromInline var content: Content

    @inlinable
    init(_ content: Content) {
        self.content = content
    }

    /// Makes the content unique to this value, and no longer the record that the service has.
    private mutating func prepareToChange() {
        if content.isSaved || !isKnownUniquelyReferenced(&content) {
            content = Content(record: content.record, model: content.model, isSaved: false, saved: saved)
        }
    }

    /// The record as it was fetched or saved last.
    private var saved: Content? { content.isSaved ? content : content.saved }

    /// Your values.
    public var model: Model {
        get { content.model }
        _modify {
            prepareToChange()
            yield &content.model
        }
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
        self.init(Content(record: record, model: model, isSaved: false))
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
        let record = Record(
            recordName: recordName,
            recordType: Model.recordType,
            recordChangeTag: recordChangeTag,
            created: created,
            modified: modified,
            zoneID: zoneID
        )
        self.init(Content(record: record, model: model, isSaved: true))
    }

    /// Reads a record without a type, such as one of a change feed.
    ///
    /// - Parameter record: The record.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/decoding``, naming the record and the field,
    ///   where its fields do not fit the type, or it is of another record type.
    public init(_ record: Record) throws {
        self = try Self.read(record).get()
    }

    /// Reads a record without a type.
    static func read(_ record: Record) -> Result<StoredRecord, CloudKitError> {
        if let type = record.recordType, type != Model.recordType {
            let error = FieldError("its record type is \(type)")
            return .failure(.unreadable(record, as: Model.self, error, field: -1))
        }
        var reader = FieldReader(record.fields, table: Model.fieldTable)
        let model: Model
        do {
            model = try Model(fields: &reader)
        } catch {
            return .failure(.unreadable(record, as: Model.self, error, field: reader.current))
        }
        var rest = record
        rest.fields = reader.unknown
        return .success(StoredRecord(Content(record: rest, model: model, isSaved: true)))
    }

    /// A value of the model's.
    public subscript<Value>(dynamicMember path: WritableKeyPath<Model, Value>) -> Value {
        get { content.model[keyPath: path] }
        _modify { yield &model[keyPath: path] }
    }

    /// A value of the model's that cannot be assigned.
    public subscript<Value>(dynamicMember path: KeyPath<Model, Value>) -> Value {
        content.model[keyPath: path]
    }
}

// MARK: System fields

extension StoredRecord {
    /// The record's name, unique in its zone.
    public var recordName: String { content.record.recordName ?? "" }

    /// The version of the record, which the service compares before it changes anything; `nil` when it was never saved.
    public var recordChangeTag: String? { content.record.recordChangeTag }

    /// The record's zone; `nil` where neither you nor the service said.
    public var zoneID: ZoneID? { content.record.zoneID }

    /// The user who created the record, and the time.
    public var created: Record.Stamp? { content.record.created }

    /// The user who changed it last, and the time.
    public var modified: Record.Stamp? { content.record.modified }

    /// The share that it is the root of.
    public var share: Reference? { content.record.share }

    /// The short name that opens the share.
    public var shortGUID: String? { content.record.shortGUID }

    /// The record above it in what is shared. Assign one to put the record there when it is updated.
    public var parent: Reference? {
        get { content.record.parent }
        set {
            prepareToChange()
            content.record.parent = newValue
        }
    }

    /// The fields that the record has and the model does not.
    public var otherFields: Record.Fields { content.record.fields }

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
    public var original: Model? { saved?.model }

    /// Whether an update would send anything.
    public var hasChanges: Bool { !changedFields.isEmpty || hasNewParent }

    /// Whether the parent is not as it was.
    var hasNewParent: Bool { parent != saved?.record.parent }

    /// The fields that are not as they were, with their new values; `FieldValue.null` for those that were cleared.
    ///
    /// A value that cannot be saved is not among them; the call that saves it says so.
    public var changedFields: Record.Fields { (try? savedChanges()) ?? [:] }

    /// The whole record without a type, its other fields included.
    public var record: Record {
        var record = content.record
        var writer = FieldWriter(Model.fieldTable)
        model.write(fields: &writer)
        let others = record.fields
        record.fields = writer.fields.withoutNulls
        for field in others { record.fields[field.name] = field.value }
        return record
    }

    func savedChanges() throws(FieldError) -> Record.Fields {
        guard let original else { return try model.savedFields().withoutNulls }
        if content.isSaved { return [:] }
        let now = try model.savedFields()
        var before = FieldWriter(Model.fieldTable)
        original.write(fields: &before)
        let old = before.fields
        return Record.Fields(now.lazy.filter { old[$0.name] != $0.value }.map { ($0.name, $0.value) })
    }

    /// The same record with other values, to be saved over this version of it.
    func replacing(_ model: Model, parent: Reference?) -> StoredRecord {
        var record = self
        record.model = model
        if record.parent != parent { record.parent = parent }
        return record
    }

    /// The record as it was fetched or saved last.
    var unchanged: StoredRecord { saved.map(StoredRecord.init) ?? self }
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
    static func unreadable(
        _ record: Record,
        as model: any CloudKitRecord.Type,
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

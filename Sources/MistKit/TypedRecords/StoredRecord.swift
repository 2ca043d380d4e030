#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A typed record with what the service keeps about it: its name, its change tag, and who created and changed it when.
///
/// ```swift
/// var user = try await database.fetch(User.self, named: "mei")
/// user.firstName          // the model's, read and written through
/// user.recordChangeTag    // the record's
/// user.created?.timestamp
/// user.firstName = "Mei Lin"
/// user.changedFields      // ["firstName": "Mei Lin"]
/// try await database.update(user)
/// ```
///
/// ## Why a wrapper
///
/// Your struct stays as you wrote it. It has its memberwise initialiser, it is equal when its values are equal, and
/// tests, views and code without CloudKit can use it. Properties that the macro added to it would be in every
/// initialiser, in `==` and in `Codable`, and a copy made with the initialiser would silently lose the change tag. Here
/// the change tag cannot be lost: `update`, `replace` and `delete` take this type, which knows whether the record was
/// ever saved.
///
/// If your struct has a property with the name of a property of this type, such as `parent`, then `record.parent` is
/// the property of this type, and `record.model.parent` is yours.
///
/// ## What it remembers
///
/// ``original`` is the model as it was when it was fetched or saved last. ``otherFields`` has the fields that the model
/// has no property for. ``changedFields`` is the difference that an update sends.
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
    /// All values, in one object that copies share until one of the copies is changed. An object is changed only while
    /// it has a single owner.
    @usableFromInline
    final class Content: @unchecked Sendable {
        /// The system fields, with the fields that the model does not have.
        @usableFromInline var record: Record
        @usableFromInline var model: Model
        /// The record as the service has it; `nil` when this content is that record, and when the record was never
        /// saved.
        @usableFromInline let saved: Content?
        /// Whether this content is the record as the service has it.
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

    /// Makes the content unique to this value, and marks it as different from the service's record.
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
    ///   - zoneID: The zone to save it in; with `nil`, the call that saves the record chooses the zone.
    ///   - parent: The parent of the record in a shared hierarchy.
    public init(_ model: Model, recordName: String? = nil, zoneID: ZoneID? = nil, parent: Reference? = nil) {
        var record = Record(recordType: Model.recordType, recordName: recordName ?? UUID().uuidString)
        record.zoneID = zoneID
        if parent != nil { record.parent = parent }
        self.init(Content(record: record, model: model, isSaved: false))
    }

    /// Makes a record as if it had been fetched, for tests and for records that are stored elsewhere.
    ///
    /// - Parameters:
    ///   - model: The values that the service has.
    ///   - recordName: The record's name.
    ///   - recordChangeTag: The version of the record that has these values.
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
            recordType: Model.recordType,
            recordName: recordName,
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
    /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/decoding``, which names the record and
    ///   the field, where a field does not fit the type, or the record is of another record type.
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

    /// A property of the model.
    public subscript<Value>(dynamicMember path: WritableKeyPath<Model, Value>) -> Value {
        get { content.model[keyPath: path] }
        _modify { yield &model[keyPath: path] }
    }

    /// A property of the model that cannot be assigned.
    public subscript<Value>(dynamicMember path: KeyPath<Model, Value>) -> Value {
        content.model[keyPath: path]
    }
}

// MARK: System fields

extension StoredRecord {
    /// The record's name, unique in its zone.
    public var recordName: String { content.record.recordName ?? "" }

    /// The version of the record, which the service compares before it changes the record; `nil` when it was never
    /// saved.
    public var recordChangeTag: String? { content.record.recordChangeTag }

    /// The record's zone; `nil` where neither you nor the service named a zone.
    public var zoneID: ZoneID? { content.record.zoneID }

    /// The user who created the record, and the time.
    public var created: Record.Stamp? { content.record.created }

    /// The user who changed the record last, and the time.
    public var modified: Record.Stamp? { content.record.modified }

    /// The share whose root record this record is.
    public var share: Reference? { content.record.share }

    /// The short GUID of the share's link, ``ShareLink/shortGUID``.
    public var shortGUID: String? { content.record.shortGUID }

    /// The parent of the record in a shared hierarchy. Assign a reference, and the next update moves the record below
    /// that parent.
    public var parent: Reference? {
        get { content.record.parent }
        set {
            prepareToChange()
            content.record.parent = newValue
        }
    }

    /// The fields that the record has and the model does not.
    public var otherFields: Record.Fields { content.record.fields }

    /// A reference to this record, for a property of another record.
    ///
    /// - Parameter action: What happens to the other record when this one is deleted.
    /// - Returns: The reference.
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

    /// Whether the parent differs from that of the saved record.
    var hasNewParent: Bool { parent != saved?.record.parent }

    /// The fields that have changed since the last fetch or save, with their new values; `FieldValue.null` for cleared
    /// fields.
    ///
    /// If a value cannot be saved, this is empty; the call that saves the record throws the error.
    public var changedFields: Record.Fields { (try? savedChanges()) ?? [:] }

    /// The whole record without the model's type, with its other fields.
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
        let changed = now.lazy.filter { field in
            guard let value = old[field.name] else { return true }
            return !value.isSame(as: field.value, inZone: zoneID)
        }
        return Record.Fields(changed.map { ($0.name, $0.value) })
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

extension FieldValue {
    /// Whether both are the same value of a record in a zone.
    ///
    /// The service names the zone in each reference, in public databases too (recorded traffic). A program leaves it out
    /// where it is the zone of the record.
    fileprivate func isSame(as other: FieldValue, inZone zoneID: ZoneID?) -> Bool {
        switch (self, other) {
        case (.reference(let left), .reference(let right)): left.isSame(as: right, inZone: zoneID)
        case (.referenceList(let left), .referenceList(let right)):
            left.elementsEqual(right) { $0.isSame(as: $1, inZone: zoneID) }
        default: self == other
        }
    }
}

extension Reference {
    fileprivate func isSame(as other: Reference, inZone own: ZoneID?) -> Bool {
        let (left, right) = (zoneID ?? own ?? .default, other.zoneID ?? own ?? .default)
        let isOfOneOwner = left.owner == nil || right.owner == nil || left.owner == right.owner
        return recordName == other.recordName && action == other.action && left.zoneName == right.zoneName
            && isOfOneOwner
    }
}

extension Record.Fields {
    var withoutNulls: Record.Fields {
        contains { $0.value.isNull }
            ? Record.Fields(lazy.filter { !$0.value.isNull }.map { ($0.name, $0.value) }) : self
    }
}

extension CloudKitError {
    /// The error of a record that does not fit its type.
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

    /// The error of a record that cannot be saved.
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

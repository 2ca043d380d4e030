import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The fields of a typed record, one property for each, for the key paths of queries.
///
/// The macro `@CloudKitRecord` writes the type ``CloudKitRecord/Fields``, which conforms to this protocol. Each set
/// also has the system fields, so that a query can filter and sort by both kinds:
///
/// ```swift
/// Query<User> {
///     Filter(\.age > 18)                        // {"fieldName":"age",…}
///     Filter(\.modifiedTimestamp > yesterday)   // {"systemFieldName":"modifiedTimestamp",…}
/// }
/// ```
///
/// A key path to a property that is not a field does not compile.
@dynamicMemberLookup
public protocol RecordFieldSet: Sendable {}

/// A field of a typed record: its name, and the type of its values.
public struct RecordField<Value: FieldStorable>: Sendable {
    let name: FieldName
    /// The field's name.
    public let key: StaticString
    let indexes: FieldIndexes
    let merge: FieldMerge
    let formerNames: [String]
    let isParent: Bool

    /// Makes a field.
    ///
    /// - Parameters:
    ///   - name: The field's name in the schema.
    ///   - indexes: The field's indexes in the schema, if you want to keep them in your code. They decide what queries
    ///     can do with the field.
    ///   - merge: Which of two values a local store keeps when both sides changed the field.
    ///   - formerNames: The names that the field had in earlier versions of the program, for a local store.
    ///   - isParent: Whether the field points to the record's parent. At most one field of a type does, and it is a
    ///     reference.
    public init(
        _ name: StaticString,
        indexes: FieldIndexes = [],
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = [],
        isParent: Bool = false
    ) {
        self.name = FieldName("\(name)")
        key = name
        self.indexes = indexes
        self.merge = merge
        self.formerNames = formerNames
        self.isParent = isParent
    }

    /// Makes a field, as the macro `@CloudKitRecord` does.
    ///
    /// - Parameters:
    ///   - name: The field's name in the schema.
    ///   - type: The type of its values.
    ///   - indexes: The field's indexes in the schema, which decide what queries can do with it.
    ///   - merge: Which of two values a local store keeps when both sides changed the field.
    ///   - formerNames: The names that the field had in earlier versions of the program, for a local store.
    ///   - isParent: Whether the field points to the record's parent.
    public init(
        _ name: StaticString,
        of type: Value.Type,
        indexes: FieldIndexes = [],
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = [],
        isParent: Bool = false
    ) {
        self.init(name, indexes: indexes, merge: merge, formerly: formerNames, isParent: isParent)
    }

    init(_ name: FieldName, key: StaticString) {
        self.name = name
        self.key = key
        indexes = []
        merge = .latest
        formerNames = []
        isParent = false
    }
}

extension RecordField where Value == String {
    /// A type without the conformance cannot be a field's.
    @available(
        *,
        unavailable,
        message:
            "A field cannot have this type. Write enum Status: String, FieldConvertible, or @CloudKitField(.json) var status: Status."
    )
    public init<Other>(
        _ name: StaticString,
        of type: Other.Type,
        indexes: FieldIndexes = [],
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = [],
        isParent: Bool = false
    ) {
        self.init(name)
    }
}

/// An encrypted field of a typed record.
///
/// Queries cannot filter or sort by it: a comparison with it does not compile.
public struct EncryptedRecordField<Value: FieldStorable>: Sendable {
    /// The field's name.
    public let key: StaticString
    let merge: FieldMerge
    let formerNames: [String]

    /// Makes a field.
    ///
    /// - Parameters:
    ///   - name: The field's name in the schema.
    ///   - merge: Which of two values a local store keeps when both sides changed the field.
    ///   - formerNames: The names that the field had in earlier versions of the program, for a local store.
    public init(_ name: StaticString, merge: FieldMerge = .latest, formerly formerNames: [String] = []) {
        key = name
        self.merge = merge
        self.formerNames = formerNames
    }

    /// Makes a field, as the macro `@CloudKitRecord` does.
    ///
    /// - Parameters:
    ///   - name: The field's name in the schema.
    ///   - type: The type of its values.
    ///   - merge: Which of two values a local store keeps when both sides changed the field.
    ///   - formerNames: The names that the field had in earlier versions of the program, for a local store.
    public init(
        _ name: StaticString,
        of type: Value.Type,
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = []
    ) {
        self.init(name, merge: merge, formerly: formerNames)
    }
}

extension EncryptedRecordField where Value == String {
    /// A type without the conformance cannot be a field's.
    @available(
        *,
        unavailable,
        message:
            "A field cannot have this type. Write enum Status: String, FieldConvertible, or @CloudKitField(.json) var status: Status."
    )
    public init<Other>(
        _ name: StaticString,
        of type: Other.Type,
        merge: FieldMerge = .latest,
        formerly formerNames: [String] = []
    ) {
        self.init(name)
    }
}

extension RecordFieldSet {
    /// The record's name. Compare it with a name or with a reference.
    public var recordName: RecordField<Reference> { RecordField(.recordName, key: "recordName") }
    /// The share that the record is in.
    public var share: RecordField<Reference> { RecordField(.share, key: "share") }
    /// The parent of this record in a shared hierarchy.
    public var parent: RecordField<Reference> { RecordField(.parent, key: "parent") }
    /// The user who created the record.
    public var createdUserRecordName: RecordField<Reference> {
        RecordField(.createdUserRecordName, key: "createdUserRecordName")
    }
    /// When the record was created.
    public var createdTimestamp: RecordField<Date> { RecordField(.createdTimestamp, key: "createdTimestamp") }
    /// The user who changed the record last.
    public var modifiedUserRecordName: RecordField<Reference> {
        RecordField(.modifiedUserRecordName, key: "modifiedUserRecordName")
    }
    /// When the record was changed last.
    public var modifiedTimestamp: RecordField<Date> { RecordField(.modifiedTimestamp, key: "modifiedTimestamp") }
}

/// The fields of a record type in order: their names, for reading, and their descriptions in the schema.
public final class FieldTable: Sendable {
    let keys: JSONKeys
    package let names: [String]
    package let fields: [RecordSchema.Field]
    /// The name of the field that points to the record's parent.
    let parentName: String?

    /// Makes a table.
    ///
    /// - Parameter fields: The fields. ``FieldReader`` and ``FieldWriter`` name a field by its index in this list.
    public init(_ fields: any FieldDescription...) {
        keys = JSONKeys(fields.map(\.key))
        self.fields = fields.map(\.schemaField)
        names = self.fields.map(\.name)
        parentName = self.fields.first(where: \.isParent)?.name
    }
}

/// A ``RecordField`` or an ``EncryptedRecordField``.
public protocol FieldDescription: Sendable {
    /// The field's name.
    var key: StaticString { get }
    /// The field in the schema.
    var schemaField: RecordSchema.Field { get }
}

/// Makes a struct a typed record: its stored properties become the fields of a record type.
///
/// ```swift
/// import MistModels
///
/// @CloudKitRecord("User")
/// struct User: Hashable {
///     @CloudKitField("firstName") var givenName: String
///     var age: Int?
///     var status: Status = .active
///     var tags: [String] = []
///     @CloudKitField(.encrypted) var note: String?
///     @CloudKitField(.json) var settings: Settings = Settings()
/// }
///
/// enum Status: String, FieldConvertible { case active, suspended }
/// struct Settings: Codable, Hashable { var theme = "light" }
///
/// let user = try await database.save(User(givenName: "Mei"), named: "mei")
/// // POST /database/1/iCloud.com.example/development/private/records/modify
/// // {"operations":[{"operationType":"create","record":{"recordName":"mei","recordType":"User","fields":{
/// //   "firstName":{"value":"Mei","type":"STRING"},
/// //   "status":{"value":"active","type":"STRING"},
/// //   "tags":{"value":[],"type":"STRING_LIST"},
/// //   "settings":{"value":"{\"theme\":\"light\"}","type":"STRING"}}}}],"atomic":false}
/// ```
///
/// The struct then conforms to the protocol `CloudKitRecord` of MistKit, whose documentation shows how to fetch, find
/// and update records.
///
/// ## Which properties are fields
///
/// | property | is |
/// | --- | --- |
/// | `var`, public or private, with observers or without | a field |
/// | `let` without a value | a field that is read and never changes |
/// | `let` with a value | no field: it is the same for all records |
/// | computed, `static`, `lazy` | no field |
/// | marked ``CloudKitIgnored()`` | no field; it needs a default value |
///
/// A field has the property's name unless ``CloudKitField(_:_:formerly:)`` gives it another. Names begin with a letter
/// and have only letters, digits and underscores. ``CloudKitParent()`` marks the reference to the record's parent.
///
/// ## The types of fields
///
/// `String`, `Int` and the integers of fixed width, `Double`, `Float`, `Bool`, `Date`, `Data`, `URL`, `UUID`,
/// `Location`, `Reference`, `RecordReference<Feed>`, `Asset`; enums and other types of yours that conform to
/// `FieldConvertible`; optionals and arrays of these types; and any `Codable` type with `@CloudKitField(.json)`. Write
/// the type of each property, unless its default value is a literal.
///
/// ## What the macro writes
///
/// The macro writes an extension that conforms to `CloudKitRecord`. It has the field set for key paths in queries, an
/// initialiser that reads the fields of a response once, in any order, and a method that writes the fields. The
/// memberwise initialiser and your own conformances stay unchanged.
///
/// - Parameter recordType: The record type's name in the schema, by default the struct's name.
@attached(
    extension,
    conformances: CloudKitRecord,
    names: named(Fields),
    named(recordType),
    named(fields),
    named(fieldTable),
    named(init(fields:)),
    named(write(fields:))
)
public macro CloudKitRecord(_ recordType: StaticString = "") =
    #externalMacro(module: "MistModelsMacros", type: "CloudKitRecordMacro")

/// Sets the field name of a property of a typed record, and options for how the field is stored.
///
/// ```swift
/// @CloudKitField("firstName") var givenName: String
/// // "firstName":{"value":"Mei","type":"STRING"}
/// @CloudKitField("secret", .encrypted) var note: String?
/// // "secret":{"value":"x","type":"STRING","isEncrypted":true}
/// @CloudKitField("prefs", .json) var settings: Settings
/// // "prefs":{"value":"{\"theme\":\"light\"}","type":"STRING"}
/// ```
///
/// ## Options for a local store
///
/// Merge policies and former names are for a local store, which merges the edits of several devices and keeps the data
/// of older versions of a program. The client without a local store ignores them.
///
/// ```swift
/// @CloudKitField("title", .queryable, formerly: "name", "heading") var title: String
/// @CloudKitField(.counter) var visits: Int
/// @CloudKitField("labels", .union) var tags: [String]
/// ```
///
/// A field has one policy; without one, the latest edit wins.
///
/// | policy | fields | what remains of two values |
/// | --- | --- | --- |
/// | ``FieldOption/counter`` | integers | the sum of what both sides added |
/// | ``FieldOption/union`` | lists of anything but files | the elements of both |
/// | ``FieldOption/greatest``, ``FieldOption/smallest`` | text, numbers, `Bool` and dates | the greater or the smaller value |
///
/// Encrypted fields can have any policy, because a store merges plain values. Fields with ``FieldOption/json`` cannot
/// have a policy: their text is merged as a whole.
///
/// - Parameters:
///   - name: The field's name in the schema.
///   - options: How the field is stored, what queries may do with it, and how it is merged.
///   - formerNames: The names that the field had in earlier versions of the program. Other fields must not have these
///     names.
@attached(peer)
public macro CloudKitField(_ name: StaticString, _ options: FieldOption..., formerly formerNames: StaticString...) =
    #externalMacro(module: "MistModelsMacros", type: "CloudKitFieldMacro")

/// Sets options for how a property of a typed record is stored. The field has the property's name.
///
/// ```swift
/// @CloudKitField(.encrypted) var note: String?
/// // "note":{"value":"x","type":"STRING","isEncrypted":true}
/// @CloudKitField(.queryable, .sortable) var age: Int
/// // User.schema has: age INT64 QUERYABLE SORTABLE
/// @CloudKitField(formerly: "name") var title: String
/// ```
///
/// - Parameters:
///   - options: How the field is stored, what queries may do with it, and how it is merged;
///     ``CloudKitField(_:_:formerly:)`` has the rules.
///   - formerNames: The names that the field had in earlier versions of the program.
@attached(peer)
public macro CloudKitField(_ options: FieldOption..., formerly formerNames: StaticString...) =
    #externalMacro(module: "MistModelsMacros", type: "CloudKitFieldMacro")

/// Marks the reference to the record's parent.
///
/// At most one property of a record has this mark. Its type is `RecordReference` or `Reference`, optional or not.
///
/// ```swift
/// @CloudKitRecord struct Todo {
///     @CloudKitParent var list: RecordReference<TodoList>
///     var title: String
/// }
///
/// try await database.save(Todo(list: list.reference(), title: "Milk"), named: "milk", inZone: zone)
/// // "record":{"recordName":"milk","recordType":"Todo","parent":{"recordName":"home"},"fields":{
/// //   "list":{"value":{"recordName":"home","action":"NONE"},"type":"REFERENCE"},…
/// ```
///
/// A share of a record contains all records below it, as their `parent` says. In a custom zone, where records can be
/// shared, the client sets the record's `parent` whenever it sends this field. In the default zone and in public
/// databases the client does not set `parent`. The service keeps the old `parent` when an update clears the reference;
/// `replace` clears both.
///
/// A local store puts the record into its parent's zone and removes it with its parent.
///
/// `@CloudKitField` on the same property gives the field a name and indexes.
@attached(peer)
public macro CloudKitParent() = #externalMacro(module: "MistModelsMacros", type: "CloudKitParentMacro")

/// Excludes a stored property from the record. The property needs a default value, which it gets whenever a record is
/// read.
///
/// ```swift
/// @CloudKitIgnored var isSelected = false
/// ```
@attached(peer)
public macro CloudKitIgnored() = #externalMacro(module: "MistModelsMacros", type: "CloudKitIgnoredMacro")

/// How a property of a typed record is stored, what queries may do with its field, and how a local store merges it; see
/// ``CloudKitField(_:_:formerly:)``.
public struct FieldOption: Hashable, Sendable {
    private enum Kind {
        case encrypted, json, queryable, sortable, searchable, counter, union, greatest, smallest
    }

    private let kind: Kind

    /// The service encrypts the value. Not for public databases; queries cannot compare the field. Files are always
    /// encrypted, and references cannot be encrypted.
    public static let encrypted = FieldOption(kind: .encrypted)

    /// The value, which is `Codable`, is stored as JSON text. Queries cannot compare its members.
    public static let json = FieldOption(kind: .json)

    /// Filters may compare the field. The option is part of the type's `schema`; the service uses the indexes of its
    /// own schema.
    public static let queryable = FieldOption(kind: .queryable)

    /// Sorts may use the field. The option is part of the type's `schema`; the service uses the indexes of its own
    /// schema.
    public static let sortable = FieldOption(kind: .sortable)

    /// Filters may search for words in the field. The option is part of the type's `schema`; the service uses the
    /// indexes of its own schema.
    public static let searchable = FieldOption(kind: .searchable)

    /// A local store adds up all additions and subtractions of all devices. For integers. Use a signed type, because
    /// the sum can become negative when two devices subtract.
    public static let counter = FieldOption(kind: .counter)

    /// A local store keeps the elements of all devices' lists, each once, in the order of their encoding. The list only
    /// grows.
    public static let union = FieldOption(kind: .union)

    /// A local store keeps the greatest value that any device wrote. For text, numbers, `Bool` and dates.
    public static let greatest = FieldOption(kind: .greatest)

    /// A local store keeps the smallest value that any device wrote. For text, numbers, `Bool` and dates.
    public static let smallest = FieldOption(kind: .smallest)
}

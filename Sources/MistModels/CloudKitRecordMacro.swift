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
/// How records are fetched, found, updated and merged is told at `CloudKitRecord` of MistKit, the protocol that the struct then
/// conforms to.
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
/// A field has the property's name unless ``CloudKitField(_:_:)`` gives it another. Names begin with a letter and hold letters,
/// digits and underscores.
///
/// ## Which types they may have
///
/// `String`, `Int` and the integers of fixed width, `Double`, `Float`, `Bool`, `Date`, `Data`, `URL`, `UUID`, `Location`, `Reference`,
/// `RecordReference<Feed>`, `Asset`; enums that conform to `FieldConvertible`, and other types of yours that do; optionals and arrays of
/// these; and any `Codable` one with `@CloudKitField(.json)`. A property needs its type written, unless its default value is a literal.
///
/// ## What the macro writes
///
/// An extension that conforms to `CloudKitRecord`: the field set for key paths in queries, a reader that goes through the fields of
/// a response once, in whatever order they come, and a writer. The memberwise initialiser stays as it is, and so do the conformances
/// of your own.
///
/// - Parameter recordType: The record type's name in the schema; the struct's name when it is left out.
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

/// Says how a property of a typed record is stored, where that is not the usual way.
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
/// - Parameters:
///   - name: The field's name in the schema.
///   - options: How it is stored, and what queries may do with it.
@attached(peer)
public macro CloudKitField(_ name: StaticString, _ options: FieldOption...) =
    #externalMacro(module: "MistModelsMacros", type: "CloudKitFieldMacro")

/// Says how a property of a typed record is stored, under its own name.
///
/// ```swift
/// @CloudKitField(.encrypted) var note: String?
/// // "note":{"value":"x","type":"STRING","isEncrypted":true}
/// @CloudKitField(.queryable, .sortable) var age: Int
/// // User.schema has: age INT64 QUERYABLE SORTABLE
/// ```
///
/// - Parameter options: How it is stored, and what queries may do with it.
@attached(peer)
public macro CloudKitField(_ options: FieldOption...) =
    #externalMacro(module: "MistModelsMacros", type: "CloudKitFieldMacro")

/// Keeps a stored property out of the record. It needs a default value, which it has whenever a record is read.
///
/// ```swift
/// @CloudKitIgnored var isSelected = false
/// ```
@attached(peer)
public macro CloudKitIgnored() = #externalMacro(module: "MistModelsMacros", type: "CloudKitIgnoredMacro")

/// How a property of a typed record is stored, and what queries may do with its field; see ``CloudKitField(_:_:)``.
public struct FieldOption: Hashable, Sendable {
    private enum Kind {
        case encrypted, json, queryable, sortable, searchable
    }

    private let kind: Kind

    /// The service encrypts the value. Not in public databases; queries cannot compare it. Files are encrypted anyway, and
    /// references cannot be.
    public static let encrypted = FieldOption(kind: .encrypted)

    /// The value, which is `Codable`, is stored as JSON text. Queries cannot look into it.
    public static let json = FieldOption(kind: .json)

    /// Filters may compare the field. It is noted in the type's schema; the service goes by its own.
    public static let queryable = FieldOption(kind: .queryable)

    /// Sorts may use the field. It is noted in the type's schema; the service goes by its own.
    public static let sortable = FieldOption(kind: .sortable)

    /// Filters may look for words in the field. It is noted in the type's schema; the service goes by its own.
    public static let searchable = FieldOption(kind: .searchable)
}
